//! Decisions in the log of kube-scheduler, written by schedule_one.go and eventhandlers.go of its
//! source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

/// Scores are logged at 10, events at 3 and 4.
pub const FLAGS: &str = "--vmodule=schedule_one=10,eventhandlers=4";
const PATIENCE: Duration = Duration::from_secs(20);

/// The log, read as it grows.
pub struct Log {
    file: BufReader<File>,
    line: String,
}

/// One line: its message, and the values by key.
struct Line {
    message: String,
    values: BTreeMap<String, String>,
}

/// The scheduler's decision about a pod.
#[derive(Debug, Default)]
pub struct Decision {
    pub node: Option<String>,
    pub why: Option<String>,
    /// By node and plugin.
    pub scores: BTreeMap<String, BTreeMap<String, i64>>,
}

impl Log {
    pub fn open(folder: &Path) -> Self {
        Log {
            file: BufReader::new(File::open(folder.join("scheduler.log")).unwrap()),
            line: String::new(),
        }
    }

    async fn next(&mut self, what: &str) -> Line {
        let line = self.next_within(PATIENCE).await;
        line.unwrap_or_else(|| panic!("no {what} in the scheduler's log"))
    }

    async fn next_within(&mut self, patience: Duration) -> Option<Line> {
        let deadline = Instant::now() + patience;
        loop {
            self.file.read_line(&mut self.line).unwrap();
            if self.line.ends_with('\n') {
                let line = Line::parse(&self.line);
                self.line.clear();
                if line.is_some() {
                    return line;
                }
                continue;
            }
            if Instant::now() > deadline {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until the scheduler has logged all these events: a message, and the name of a node or
    /// pod.
    pub async fn knows(&mut self, mut events: BTreeSet<(String, String)>) {
        while !events.is_empty() {
            let line = self.next(&format!("{events:?}")).await;
            let name = line.values.get("node").or(line.values.get("pod"));
            if let Some(name) = name {
                events.remove(&(line.message, name.clone()));
            }
        }
    }

    /// Waits until this pod, namespace and name, is bound or found to fit nowhere.
    pub async fn decision(&mut self, pod: &str) -> Decision {
        let decision = self.decision_within(PATIENCE, pod).await;
        decision.unwrap_or_else(|| panic!("no decision about {pod} in the scheduler's log"))
    }

    /// The decision, or `None` if the log is silent for this long. The scheduler does not retry
    /// every pod.
    pub async fn decision_within(&mut self, patience: Duration, pod: &str) -> Option<Decision> {
        let mut decision = Decision::default();
        loop {
            let line = self.next_within(patience).await?;
            if line.values.get("pod").map(String::as_str) != Some(pod) {
                continue;
            }
            let value = |key: &str| line.values[key].clone();
            match line.message.as_str() {
                "Plugin scored node for pod" => {
                    let scores = decision.scores.entry(value("node")).or_default();
                    scores.insert(value("plugin"), value("score").parse().unwrap());
                }
                "Successfully bound pod to node" => {
                    return Some(Decision { node: Some(value("node")), ..decision });
                }
                "Unable to schedule pod; no fit; waiting" => {
                    return Some(Decision { why: Some(value("err")), ..decision });
                }
                other => assert!(!other.contains("Failed"), "{pod}: {other} {:?}", line.values),
            }
        }
    }
}

impl Line {
    /// `I1121 11:05:23.1 99 file.go:1] "message" key="value" key=value`; nothing of a line that is
    /// not so.
    fn parse(line: &str) -> Option<Line> {
        let mut rest = line.split_once("] ")?.1.trim_end();
        let message = take_string(&mut rest)?;
        let mut values = BTreeMap::new();
        while let Some((key, after)) = rest.trim_start().split_once('=') {
            rest = after;
            let value = take_string(&mut rest).unwrap_or_else(|| {
                let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
                rest = after;
                word.to_owned()
            });
            values.insert(key.to_owned(), value);
        }
        Some(Line { message, values })
    }
}

/// A string as Go quotes it, taken off the front.
fn take_string(rest: &mut &str) -> Option<String> {
    let inner = rest.strip_prefix('"')?;
    let mut escaped = false;
    let end = inner.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    let text = inner[..end].replace("\\\"", "\"");
    *rest = &inner[end + 1..];
    Some(text)
}
