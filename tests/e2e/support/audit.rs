//! Requests of the program, from the API server's audit log.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Mutex;

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
    /// Whether the API server was asked to change nothing.
    pub dry_run: bool,
}

/// An audit log that is read as it grows. Tests poll it, and parsing all of it each time would cost
/// more CPU than the program under test.
pub struct AuditLog {
    path: PathBuf,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    bytes: u64,
    requests: Vec<Request>,
}

impl AuditLog {
    pub fn at(path: PathBuf) -> Self {
        AuditLog { path, progress: Mutex::default() }
    }

    /// All finished requests of the program so far.
    fn requests(&self) -> Vec<Request> {
        let mut progress = self.progress.lock().unwrap();
        let mut added = String::new();
        // The API server creates the file with its first line.
        if let Ok(mut file) = File::open(&self.path) {
            file.seek(SeekFrom::Start(progress.bytes)).unwrap();
            file.read_to_string(&mut added).unwrap();
        }
        // The API server may still be writing the last line.
        let complete = added.rfind('\n').map_or(0, |end| end + 1);
        let lines = added[..complete].lines();
        let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        progress.requests.extend(lines.filter(is_finished).map(|line| request(&line)));
        progress.bytes += complete as u64;
        progress.requests.clone()
    }
}

/// All requests so far, in the order in which they began.
pub fn requests(control_plane: &ControlPlane) -> Vec<Request> {
    let mut all = control_plane.audit.requests();
    all.sort_by_key(|r| r.at);
    all
}

/// Evictions that succeeded.
pub fn evictions(control_plane: &ControlPlane) -> Vec<Request> {
    eviction_calls(control_plane).into_iter().filter(|r| r.code == 201).collect()
}

/// Requests for an eviction, successful or not.
pub fn eviction_calls(control_plane: &ControlPlane) -> Vec<Request> {
    requests(control_plane)
        .into_iter()
        .filter(|r| r.verb == "create" && r.resource == "pods/eviction")
        .collect()
}

/// Requests that the program has no right to. A starting API server forbids requests that it allows
/// later; those do not count.
pub fn forbidden(control_plane: &ControlPlane) -> Vec<Request> {
    let (refused, allowed): (Vec<_>, Vec<_>) =
        requests(control_plane).into_iter().partition(|r| r.code == 403);
    refused.into_iter().filter(|r| !allowed.iter().any(|a| a.right() == r.right())).collect()
}

impl Request {
    /// The right that the request needs.
    pub fn right(&self) -> Right {
        (self.group.clone(), self.resource.clone(), self.verb.clone())
    }
}

/// Whether this is a finished request of the program. A watch counts when it starts, because it may
/// outlive the test.
fn is_finished(line: &Value) -> bool {
    let stage = line["stage"].as_str().unwrap_or_default();
    line["user"]["username"] == USER
        && (stage == "ResponseComplete" || (stage == "ResponseStarted" && line["verb"] == "watch"))
}

fn request(line: &Value) -> Request {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &line["objectRef"];
    let subresource = object["subresource"].as_str().map(|s| format!("/{s}")).unwrap_or_default();
    Request {
        at: word(&line["requestReceivedTimestamp"]).parse().unwrap(),
        verb: word(&line["verb"]),
        group: word(&object["apiGroup"]),
        resource: word(&object["resource"]) + &subresource,
        name: word(&object["name"]),
        dry_run: word(&line["requestURI"]).contains("dryRun=All"),
        code: line["responseStatus"]["code"].as_u64().unwrap_or_default(),
    }
}
