//! What the program did, by the API server's own record.

use jiff::Timestamp;
use serde_json::Value;

use super::control_plane::ControlPlane;

pub const USER: &str = "system:serviceaccount:kube-system:evenkeel";

/// API group, resource with subresource, verb.
pub type Right = (String, String, String);

/// A finished request of the program.
#[derive(Clone, Debug)]
pub struct Request {
    pub at: Timestamp,
    pub verb: String,
    pub group: String,
    /// With its subresource after a slash.
    pub resource: String,
    pub name: String,
    pub code: u64,
}

/// All requests so far, in the order of their beginning.
pub fn requests(control_plane: &ControlPlane) -> Vec<Request> {
    let text = std::fs::read_to_string(control_plane.dir.join("audit.log")).unwrap_or_default();
    let lines = text.lines().map(serde_json::from_str::<Value>);
    // The last line may still be being written.
    let mut all: Vec<Request> = lines
        .filter_map(Result::ok)
        .filter(is_finished)
        .map(|line| request(&line))
        .collect();
    all.sort_by_key(|r| r.at);
    all
}

/// The evictions that were made.
pub fn evictions(control_plane: &ControlPlane) -> Vec<Request> {
    eviction_calls(control_plane)
        .into_iter()
        .filter(|r| r.code == 201)
        .collect()
}

/// The evictions that were asked for, whatever the answer was.
pub fn eviction_calls(control_plane: &ControlPlane) -> Vec<Request> {
    requests(control_plane)
        .into_iter()
        .filter(|r| r.verb == "create" && r.resource == "pods/eviction")
        .collect()
}

/// Requests that the program's rights do not cover. While it starts, the API server forbids what it later allows.
pub fn forbidden(control_plane: &ControlPlane) -> Vec<Request> {
    let (refused, allowed): (Vec<_>, Vec<_>) = requests(control_plane)
        .into_iter()
        .partition(|r| r.code == 403);
    refused
        .into_iter()
        .filter(|r| !allowed.iter().any(|a| a.right() == r.right()))
        .collect()
}

impl Request {
    /// What it takes: API group, resource, verb.
    pub fn right(&self) -> Right {
        (self.group.clone(), self.resource.clone(), self.verb.clone())
    }
}

/// A watch counts from its start: it may outlive the test.
fn is_finished(line: &Value) -> bool {
    let stage = line["stage"].as_str().unwrap_or_default();
    line["user"]["username"] == USER
        && (stage == "ResponseComplete" || (stage == "ResponseStarted" && line["verb"] == "watch"))
}

fn request(line: &Value) -> Request {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &line["objectRef"];
    let subresource = object["subresource"]
        .as_str()
        .map(|s| format!("/{s}"))
        .unwrap_or_default();
    Request {
        at: word(&line["requestReceivedTimestamp"]).parse().unwrap(),
        verb: word(&line["verb"]),
        group: word(&object["apiGroup"]),
        resource: word(&object["resource"]) + &subresource,
        name: word(&object["name"]),
        code: line["responseStatus"]["code"].as_u64().unwrap_or_default(),
    }
}
