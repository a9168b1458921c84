//! Formats errors from other systems for one log line.

/// The longest text that is kept of a message, in characters.
const LONGEST: usize = 300;

/// Joins the causes of an error, without the error itself, which only names the failed operation.
///
/// Many errors repeat their own cause, so each repetition is removed.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if let Some(last) = parts.last_mut() {
            *last = last.replace(&format!(": {text}"), "");
        }
        parts.push(text);
        next = cause.source();
    }
    parts.dedup();
    if parts.is_empty() { error.to_string() } else { parts.join(": ") }
}

/// Says that RBAC denies a request for an object of this program, and what to do.
pub fn denied(verb: &str, object: &str, why: &str) -> String {
    let remedy = match verb {
        // The role of the manifests may not create it, since they contain it.
        "create" => "it does not exist, so apply the manifests again, or let the role create it",
        _ => "the role must allow it",
    };
    format!("cannot {verb} {object}: {remedy}: {why}")
}

/// Whether the API server says that a webhook or an admission policy denies a request. The status
/// of such an answer says nothing, because each of them chooses it (`pkg/admission/plugin/webhook`
/// and `pkg/admission/plugin/policy`).
pub fn is_denied_by_admission(message: &str) -> bool {
    let words = ["admission webhook \"", "ValidatingAdmissionPolicy '"];
    words.iter().any(|words| message.contains(words))
}

/// A message behind a colon; nothing if it is empty.
pub fn after_colon(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

/// Puts a message of another system on one line and shortens it. Control characters are dropped.
pub fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let printable = line.chars().filter(|c| !c.is_control());
    let short: String = printable.take(LONGEST).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}
