//! What others say, made fit for a line of ours.

/// The causes of an error from the second on, for the first only says that there was one. Many repeat their own cause,
/// which is then left out.
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
    if parts.is_empty() {
        error.to_string()
    } else {
        parts.join(": ")
    }
}

/// What a server says, on one line and not too long.
pub fn said(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().filter(|c| !c.is_control()).take(300).collect();
    if short.len() < line.len() {
        format!("{short}…")
    } else {
        short
    }
}
