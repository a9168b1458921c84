//! The record: one line of JSON for each eviction, refusal, outcome, approval and relief, and for
//! each time that a guard begins or ceases to stop evictions.
//!
//! A line is an event of CloudEvents 1.0 in its JSON format. Its id follows from the fact, so a
//! line that is written twice has one id.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::snapshot::facts::OwnerKey;
use crate::values::Ratio;

/// The type of an eviction that the API server accepted, or that was made without a response.
pub const EVICTION: &str = "io.evenkeel.eviction.v1";
/// The type of an eviction that was not made, because the API server refused it or did not respond.
pub const REFUSAL: &str = "io.evenkeel.refusal.v1";
/// The type of an eviction whose effect is known.
pub const OUTCOME: &str = "io.evenkeel.outcome.v1";

/// The type of an approval that is carried out.
pub const APPROVAL: &str = "io.evenkeel.approval.v1";
/// The type of a guard that begins or ceases to stop evictions.
pub const GUARD: &str = "io.evenkeel.guard.v1";

/// The type of the moves of a cycle whose relief is known.
pub const RELIEF: &str = "io.evenkeel.relief.v1";

/// The version of CloudEvents.
const SPEC_VERSION: &str = "1.0";
/// The most nodes of a forecast that a line names.
const MOST_NODES: usize = 5;

/// A fact that belongs in the record. The ledger keeps it until a line is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The id, which is the same for every line about this fact.
    pub id: String,
    /// The type, with its version.
    #[serde(rename = "type")]
    pub kind: String,
    /// The time of the fact, by the local clock.
    pub time: Timestamp,
    /// The pod, as `namespace/name`, or another object.
    pub subject: String,
    /// The details, which depend on the type.
    pub data: Value,
    /// Another process may have written the line. True for facts that were read from a stored
    /// ledger.
    #[serde(skip, default = "was_stored")]
    pub possibly_repeated: bool,
}

impl Fact {
    pub(super) fn new(
        id: String,
        kind: &str,
        time: Timestamp,
        subject: String,
        data: Value,
    ) -> Self {
        Fact { id, kind: kind.to_owned(), time, subject, data, possibly_repeated: false }
    }
}

const fn was_stored() -> bool {
    true
}

/// The details of an eviction, a refusal or an outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvictionDetails {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The uid of the pod.
    pub uid: String,
    /// The top-level controller of the pod, or the pod itself if it has none.
    pub workload: OwnerKey,
    /// The node of the pod.
    pub node: String,
    /// The time of the decision, by the local clock.
    pub decided: Timestamp,
    /// The code of the result: of the request, or of the eviction.
    pub outcome: String,
    /// The result in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The strategy; `None` if the process that decided has ended before it knew the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// The reason of the strategy and the worth of the move; `None` as for `strategy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the eviction is a trial: the first of its workload, for whose result the next waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trial: bool,
    /// The nodes where the replacement may land, the most likely first, at most five.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_land: Vec<String>,
    /// The usage that left the node; `None` if that is unknown or not the purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relief: Option<NodeRelief>,
    /// The node of the replacement; `None` before the outcome, and without a replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How that node compares with the forecast: `as_foreseen`, `elsewhere` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<String>,
}

/// The usage that leaves a hot node with a pod, by the usage at the decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRelief {
    /// The resource that was furthest above its target.
    pub resource: String,
    /// The usage of the pod, as a share of the node.
    pub share: Ratio,
}

impl EvictionDetails {
    /// Returns the fact of this type at this time.
    pub fn fact(mut self, kind: &str, time: Timestamp) -> Fact {
        self.may_land.truncate(MOST_NODES);
        let end = match (kind, self.outcome.as_str()) {
            (OUTCOME, "landed") => "/landed",
            (OUTCOME, _) => "/outcome",
            _ => "",
        };
        let id = format!("{}/{}{end}", self.uid, self.decided);
        let subject = format!("{}/{}", self.namespace, self.pod);
        Fact::new(id, kind, time, subject, json!(self))
    }
}

/// The details of an event that is not about one eviction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventDetails {
    /// The code of the event.
    pub outcome: String,
    /// The event in words.
    pub message: String,
}

impl EventDetails {
    /// Returns the fact of this type about a subject.
    pub fn fact(self, kind: &str, subject: &str, time: Timestamp) -> Fact {
        let mut id = format!("{subject}/{}", self.outcome);
        // A proposal is approved once, however many cycles see that.
        if kind != APPROVAL {
            id = format!("{id}/{time}");
        }
        Fact::new(id, kind, time, subject.to_owned(), json!(self))
    }
}

/// A line of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordLine {
    /// The version of CloudEvents.
    specversion: String,
    /// The id. Lines with one source and one id are about one fact.
    pub id: String,
    /// The cluster, as the operator names it.
    pub source: String,
    /// The type, with its version.
    #[serde(rename = "type")]
    pub kind: String,
    /// The time of the fact.
    pub time: Timestamp,
    /// The pod, as `namespace/name`, or another object.
    pub subject: String,
    /// The media type of `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    datacontenttype: Option<String>,
    /// An earlier line may have the same id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub possiblyrepeated: bool,
    /// The details, which depend on the type.
    pub data: Value,
}

/// A line that is no line of the record.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum LineError {
    #[error("expected a CloudEvent in JSON: {}", at_column(.0))]
    Form(#[from] serde_json::Error),
    #[error("specversion: found {0:?}, expected \"{SPEC_VERSION}\"")]
    Version(String),
    #[error("data of {kind}: {error}")]
    Details {
        /// The type.
        kind: String,
        error: serde_json::Error,
    },
}

/// Formats an error without the number of the line, because the text is one line of a file.
fn at_column(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.replace(" at line 1 column ", " at column ")
}

impl RecordLine {
    /// Returns the line about a fact in the cluster that `source` names.
    pub fn of(fact: &Fact, source: &str) -> Self {
        RecordLine {
            specversion: SPEC_VERSION.to_owned(),
            id: fact.id.clone(),
            source: source.to_owned(),
            kind: fact.kind.clone(),
            time: fact.time,
            subject: fact.subject.clone(),
            datacontenttype: Some("application/json".to_owned()),
            possiblyrepeated: fact.possibly_repeated,
            data: fact.data.clone(),
        }
    }

    /// Reads a line. Types and attributes that are not known are accepted.
    ///
    /// Returns an error if the text is not a CloudEvent of a supported version, or if the details
    /// of an eviction, a refusal or an outcome cannot be read.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let line: RecordLine = serde_json::from_str(text)?;
        if line.specversion != SPEC_VERSION {
            return Err(LineError::Version(line.specversion));
        }
        line.details()?;
        Ok(line)
    }

    /// Returns the details of an eviction, a refusal or an outcome; `None` for other types.
    pub fn details(&self) -> Result<Option<EvictionDetails>, LineError> {
        if ![EVICTION, REFUSAL, OUTCOME].contains(&self.kind.as_str()) {
            return Ok(None);
        }
        let details = EvictionDetails::deserialize(&self.data);
        details.map(Some).map_err(|error| LineError::Details { kind: self.kind.clone(), error })
    }

    /// Returns the details of an event that is not about one eviction; `None` for other types.
    pub fn event(&self) -> Option<EventDetails> {
        let is_event = [APPROVAL, GUARD, RELIEF].contains(&self.kind.as_str());
        let details = is_event.then(|| EventDetails::deserialize(&self.data));
        details?.ok()
    }

    /// Returns the text of the line, without a newline.
    pub fn json(&self) -> String {
        // This cannot fail: every key is text, and every value is text, a number or a list.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the line as one sentence for people.
    pub fn sentence(&self) -> String {
        let text = match self.details() {
            Ok(Some(details)) => details.sentence(&self.kind),
            Ok(None) | Err(_) => match self.event() {
                Some(event) => event.message,
                None => format!("{}: {}", self.kind, self.subject),
            },
        };
        let again = if self.possiblyrepeated { " (possibly repeated)" } else { "" };
        format!("{}: {text}{again}", self.source)
    }
}

impl EvictionDetails {
    fn sentence(&self, kind: &str) -> String {
        let pod = format!("{}/{}", self.namespace, self.pod);
        let (node, outcome) = (&self.node, &self.outcome);
        let message = self.message.as_deref().unwrap_or(outcome);
        let reason = match &self.reason {
            Some(reason) => format!(": {reason}"),
            None => String::new(),
        };
        match kind {
            OUTCOME => {
                let to = self.to.as_deref().map(|to| format!(" to {to}"));
                let to = to.unwrap_or_default();
                format!("eviction of {pod} from {node}{to}: {message}")
            }
            REFUSAL => format!("{pod} stays on {node}, {message}"),
            _ => match &self.message {
                Some(message) => format!("evicted {pod} from {node}, {message}{reason}"),
                None => format!("evicted {pod} from {node}{reason}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn details(outcome: &str) -> EvictionDetails {
        EvictionDetails {
            namespace: "shop".to_owned(),
            pod: "web-1".to_owned(),
            uid: "u-1".to_owned(),
            workload: OwnerKey::try_from("shop/Deployment/web".to_owned()).unwrap(),
            node: "n1".to_owned(),
            decided: "2026-11-21T12:00:00Z".parse().unwrap(),
            outcome: outcome.to_owned(),
            message: None,
            strategy: Some("LowNodeUtilization".to_owned()),
            reason: Some("node usage: cpu 89% is above its target of 50%".to_owned()),
            relief: Some(NodeRelief {
                resource: "cpu".to_owned(),
                share: Ratio::percent(12.0).unwrap(),
            }),
            trial: false,
            may_land: (2..9).map(|i| format!("n{i}")).collect(),
            to: None,
            forecast: None,
        }
    }

    fn evicted() -> Fact {
        let details = details("evicted");
        let time = details.decided;
        details.fact(EVICTION, time)
    }

    #[test]
    fn the_line_of_an_eviction_has_the_attributes_of_cloudevents() {
        let expected = concat!(
            r#"{"specversion":"1.0","id":"u-1/2026-11-21T12:00:00Z","source":"evenkeel/prod","#,
            r#""type":"io.evenkeel.eviction.v1","time":"2026-11-21T12:00:00Z","#,
            r#""subject":"shop/web-1","datacontenttype":"application/json","#,
            r#""data":{"decided":"2026-11-21T12:00:00Z","may_land":["n2","n3","n4","n5","n6"],"#,
            r#""namespace":"shop","node":"n1","outcome":"evicted","pod":"web-1","#,
            r#""reason":"node usage: cpu 89% is above its target of 50%","#,
            r#""relief":{"resource":"cpu","share":0.12},"#,
            r#""strategy":"LowNodeUtilization","uid":"u-1","workload":"shop/Deployment/web"}}"#
        );
        assert_eq!(RecordLine::of(&evicted(), "evenkeel/prod").json(), expected);
    }

    #[test]
    fn a_line_reads_back_the_same_and_a_repeated_one_has_the_same_id() {
        let mut fact = evicted();
        let first = RecordLine::of(&fact, "evenkeel");
        fact.possibly_repeated = true;
        let second = RecordLine::of(&fact, "evenkeel");
        assert_eq!(RecordLine::parse(&second.json()).unwrap(), second);
        assert!(second.json().contains("\"possiblyrepeated\":true"));
        assert!(!first.json().contains("possiblyrepeated"));
        assert_eq!(first.id, second.id);
    }

    #[test]
    fn the_outcome_of_an_eviction_has_an_id_of_its_own() {
        let outcome = details("helped").fact(OUTCOME, Timestamp::UNIX_EPOCH);
        assert_ne!(outcome.id, evicted().id);
    }

    #[test]
    fn an_event_is_told_by_its_message() {
        let event = EventDetails {
            outcome: "stopped".to_owned(),
            message: "guard errors stops the evictions of shop/Deployment/web".to_owned(),
        };
        let fact = event.fact(GUARD, "errors", Timestamp::UNIX_EPOCH);
        let line = RecordLine::parse(&RecordLine::of(&fact, "prod").json()).unwrap();
        assert_snapshot!(
            line.sentence(),
            @"prod: guard errors stops the evictions of shop/Deployment/web"
        );
    }

    #[test]
    fn a_stored_fact_may_have_been_written() {
        let stored = serde_json::to_string(&evicted()).unwrap();
        let read: Fact = serde_json::from_str(&stored).unwrap();
        assert!(read.possibly_repeated && !evicted().possibly_repeated);
    }

    #[test]
    fn newer_types_and_fields_are_read() {
        let text = r#"{"specversion":"1.0","id":"1","source":"s","type":"io.evenkeel.trial.v1",
            "time":"2026-11-21T12:00:00Z","subject":"shop/web","traceparent":"x","data":{"a":1}}"#;
        let line = RecordLine::parse(text).unwrap();
        assert_eq!(line.details().unwrap(), None);
        assert_eq!(line.sentence(), "s: io.evenkeel.trial.v1: shop/web");
        let mut fact = evicted();
        fact.data["newer"] = json!(1);
        let newer = RecordLine::of(&fact, "s").json();
        let newer = RecordLine::parse(&newer).unwrap().details().unwrap();
        assert_eq!(newer.unwrap().pod, "web-1");
    }

    #[test]
    fn errors_name_what_is_missing() {
        let error = |text: &str| RecordLine::parse(text).unwrap_err().to_string();
        assert_snapshot!(
            error("{\"specver"),
            @"expected a CloudEvent in JSON: EOF while parsing a string at column 9"
        );
        assert_snapshot!(
            error("{}"),
            @"expected a CloudEvent in JSON: missing field `specversion` at column 2"
        );
        let line = RecordLine::of(&evicted(), "s").json();
        assert_snapshot!(
            error(&line.replace("\"1.0\"", "\"2.0\"")),
            @r#"specversion: found "2.0", expected "1.0""#
        );
        assert_snapshot!(
            error(&line.replace("\"uid\"", "\"uuid\"")),
            @"data of io.evenkeel.eviction.v1: missing field `uid`"
        );
    }

    #[test]
    fn sentences_say_what_happened() {
        let sentence = |details: EvictionDetails, kind: &str| {
            RecordLine::of(&details.fact(kind, Timestamp::UNIX_EPOCH), "prod").sentence()
        };
        assert_snapshot!(
            sentence(details("evicted"), EVICTION),
            @"prod: evicted shop/web-1 from n1: node usage: cpu 89% is above its target of 50%"
        );
        let refused = EvictionDetails {
            message: Some("refused by a PodDisruptionBudget: web".to_owned()),
            ..details("refused")
        };
        assert_snapshot!(
            sentence(refused, REFUSAL),
            @"prod: shop/web-1 stays on n1, refused by a PodDisruptionBudget: web"
        );
        let helped = EvictionDetails {
            message: Some("the replacement is Ready on another node that is not hot".to_owned()),
            to: Some("n2".to_owned()),
            ..details("helped")
        };
        assert_snapshot!(
            sentence(helped, OUTCOME),
            @"prod: eviction of shop/web-1 from n1 to n2: the replacement is Ready on another node that is not hot"
        );
    }
}
