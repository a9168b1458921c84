//! Recordings of small clusters, minute by minute.

use jiff::SignedDuration;
use serde_json::json;

use crate::model::snapshot::import;
use crate::model::snapshot::objects::Objects;
use crate::model::usage::{ContainerSet, Sample};
use crate::values::Amount;

use super::*;

const STEPS: usize = 6;

fn at(minute: i64) -> Timestamp {
    let start: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
    start + SignedDuration::from_mins(minute)
}

/// The nodes n1 and n2 with pods, each with the kind and the name of its owner, its node, and the
/// minute of its creation.
fn snapshot(pods: &[(&str, &str, &str, &str, i64)]) -> Snapshot {
    let mut objects = Objects::default();
    let mut apply = |object| objects.apply(import::object(&object).unwrap().unwrap());
    for node in ["n1", "n2"] {
        apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node},
            "status": {"allocatable": {"cpu": "8", "memory": "32Gi"}}}));
    }
    for (name, kind, owner, node, minute) in pods {
        let time = at(*minute).to_string();
        let owner = json!({"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": "u",
            "controller": true});
        apply(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "shop", "name": name, "uid": name,
                "creationTimestamp": time, "ownerReferences": [owner],
                "labels": {"pod-template-hash": "5d8c7b9f64"}},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "c:1"}]},
            "status": {"phase": "Running", "startTime": time}}));
    }
    Snapshot::join(&objects, [])
}

fn sample(minute: i64, millicores: u64) -> Sample {
    let used =
        Measure { cpu: Amount::millicores(millicores), memory: Amount::new(millicores << 20) };
    Sample {
        at: at(minute),
        window: SignedDuration::ZERO,
        used,
        containers: ContainerSet::default(),
    }
}

/// Readings of one minute: nodes, then pods with their node.
fn readings(minute: i64, nodes: &[(&str, u64)], pods: &[(&str, &str, u64)]) -> Readings {
    let name = |pod: &str| ("shop".to_owned(), pod.to_owned());
    let nodes = nodes.iter();
    Readings {
        nodes: nodes.map(|(node, used)| ((*node).to_owned(), sample(minute, *used))).collect(),
        pods: pods.iter().map(|(pod, _, used)| (name(pod), sample(minute, *used))).collect(),
        placed: pods
            .iter()
            .filter(|(_, node, _)| !node.is_empty())
            .map(|(pod, node, _)| (name(pod), (*node).to_owned()))
            .collect(),
        ..Readings::default()
    }
}

fn record(snapshot: &Snapshot, of: impl Fn(i64) -> Readings) -> UsageHistory {
    let range = HistoryRange { start: at(0), step: SignedDuration::from_mins(1), steps: STEPS };
    let mut recorder = UsageRecorder::new(snapshot, range);
    for minute in 0..6 {
        recorder.add(at(minute), &of(minute));
    }
    recorder.finish()
}

/// The millicores of a row, with `-` for an unknown value.
fn row(usage: &RecordedUsage) -> String {
    let value = |step| {
        let used = usage.get(step);
        used.map_or("-".to_owned(), |used| (used.cpu.get() / 1_000_000).to_string())
    };
    (0..STEPS).map(value).collect::<Vec<_>>().join(" ")
}

fn pod<'h>(history: &'h UsageHistory, name: &str) -> &'h PodHistory {
    &history.pods[&("shop".to_owned(), name.to_owned())]
}

const WEB: (&str, &str, &str, &str, i64) =
    ("web-5d8c7b9f64-aaaaa", "ReplicaSet", "web-5d8c7b9f64", "n1", -60);

#[test]
fn a_missing_sample_is_a_gap_and_never_zero() {
    let snapshot = snapshot(&[WEB]);
    let history = record(&snapshot, |minute| match minute {
        2 => readings(minute, &[("n1", 300)], &[]),
        3 => Readings::default(),
        _ => readings(minute, &[("n1", 300)], &[(WEB.0, "n1", 100)]),
    });
    assert_eq!(row(&pod(&history, WEB.0).usage), "100 100 - - 100 100");
    assert_eq!(
        row(&history.nodes["n1"]),
        "200 - - - - 200",
        "without the usage of its pod, and next to that, the remainder is unknown"
    );
    assert!(!history.nodes.contains_key("n2"));
}

#[test]
fn a_replacement_continues_the_row_of_the_pod_that_ended_when_it_began() {
    let new = ("web-5d8c7b9f64-ccccc", "ReplicaSet", "web-5d8c7b9f64", "n2", 4);
    let snapshot = snapshot(&[WEB, new]);
    let history = record(&snapshot, |minute| {
        let mut pods = vec![(WEB.0, "n1", 100)];
        pods.extend(match minute {
            // Both were replaced: first on n1, then on n2.
            0 | 1 => Some(("web-5d8c7b9f64-first", "n1", 10)),
            2 | 3 => Some(("web-5d8c7b9f64-later", "n2", 20)),
            _ => Some((new.0, "n2", 30)),
        });
        readings(minute, &[("n1", 500), ("n2", 400)], &pods)
    });
    let joined = pod(&history, new.0);
    assert_eq!(row(&joined.usage), "10 10 20 20 30 30");
    assert_eq!(joined.node.as_deref(), Some("n1"), "the node of the first");
    assert_eq!(row(&pod(&history, WEB.0).usage), "100 100 100 100 100 100");
    assert_eq!(history.pods.len(), 2, "pods that are gone have no row");
    assert_eq!(
        [row(&history.nodes["n1"]), row(&history.nodes["n2"])],
        ["390 - - 400 400 400", "400 - - - - 370"],
        "when a pod comes or leaves, the remainder is uncertain"
    );
}

/// Two pods are first measured one step apart, as in a source that began to measure between them,
/// and both are replaced later.
#[test]
fn a_pod_that_existed_from_the_start_continues_no_row() {
    let [one, two] = ["web-5d8c7b9f64-ccccc", "web-5d8c7b9f64-ddddd"]
        .map(|name| (name, "ReplicaSet", "web-5d8c7b9f64", "n2", 3));
    let snapshot = snapshot(&[one, two]);
    let history = record(&snapshot, |minute| {
        let mut pods = Vec::new();
        if minute < 5 {
            pods.push(("web-5d8c7b9f64-early", "n1", 1));
        }
        if (1..4).contains(&minute) {
            pods.push(("web-5d8c7b9f64-late1", "n1", 2));
        }
        if minute >= 4 {
            pods.push((one.0, "n2", 3));
        }
        if minute >= 5 {
            pods.push((two.0, "n2", 4));
        }
        readings(minute, &[("n1", 500), ("n2", 500)], &pods)
    });
    let rows = [one.0, two.0].map(|name| pod(&history, name));
    assert_eq!(row(&rows[0].usage), "- 2 2 2 3 3");
    assert_eq!(row(&rows[1].usage), "1 1 1 1 1 4");
    assert_eq!(
        rows.map(|pod| pod.node.as_deref()),
        [Some("n1"), Some("n1")],
        "each begins on the node of the pod it replaced"
    );
}

/// Three old pods are first measured one step apart, and two of them are replaced soon after.
#[test]
fn an_old_pod_that_was_measured_late_continues_no_row() {
    let pods =
        [("web-5d8c7b9f64-ccccc", 3), ("web-5d8c7b9f64-ddddd", 3), ("web-5d8c7b9f64-stays", 0)];
    let pods = pods.map(|(name, minute)| (name, "ReplicaSet", "web-5d8c7b9f64", "n2", minute));
    let [one, two, stays] = pods.map(|(name, ..)| name);
    let history = record(&snapshot(&pods), |minute| {
        let mut pods = Vec::new();
        if minute < 4 {
            pods.push(("web-5d8c7b9f64-early", "n1", 1));
        }
        if (1..4).contains(&minute) {
            pods.push(("web-5d8c7b9f64-late1", "n1", 2));
        }
        if minute >= 2 {
            pods.push((stays, "n2", 5));
        }
        if minute >= 4 {
            pods.extend([(one, "n2", 3), (two, "n2", 4)]);
        }
        readings(minute, &[("n1", 500), ("n2", 500)], &pods)
    });
    let begins = |name| pod(&history, name).node.as_deref();
    assert_eq!([begins(one), begins(two)], [Some("n1"), Some("n1")]);
    let stays = pod(&history, stays);
    assert_eq!(row(&stays.usage), "- - 5 5 5 5");
    assert_eq!(stays.node.as_deref(), Some("n2"));
}

#[test]
fn a_pod_of_a_daemon_set_continues_only_a_pod_of_its_own_node() {
    let agents = [
        ("agent-bbbbb", "DaemonSet", "agent", "n1", 3),
        ("agent-ccccc", "DaemonSet", "agent", "n2", 3),
    ];
    let history = record(&snapshot(&agents), |minute| {
        let pods = match minute {
            0..=2 => [("agent-first", "n2", 7), ("agent-other", "n1", 5)],
            _ => [(agents[0].0, "n1", 6), (agents[1].0, "n2", 8)],
        };
        readings(minute, &[], &pods)
    });
    assert_eq!(row(&pod(&history, agents[0].0).usage), "5 5 5 6 6 6");
    assert_eq!(row(&pod(&history, agents[1].0).usage), "7 7 7 8 8 8");
}

#[test]
fn a_pod_of_a_stateful_set_keeps_its_row_when_it_moves() {
    let db = ("db-0", "StatefulSet", "db", "n2", 3);
    let history = record(&snapshot(&[db]), |minute| {
        let node = if minute < 3 { "n1" } else { "n2" };
        readings(minute, &[("n1", 50), ("n2", 50)], &[(db.0, node, 40)])
    });
    let moved = pod(&history, db.0);
    assert_eq!(row(&moved.usage), "40 40 40 40 40 40");
    assert_eq!(moved.node.as_deref(), Some("n1"));
    assert_eq!(row(&history.nodes["n1"]), "10 10 - - 50 50");
}

/// A source measures a pod only after its second scrape, and its node at once.
#[test]
fn the_first_usage_of_a_new_pod_is_not_taken_for_that_of_its_node() {
    let new = ("web-5d8c7b9f64-ccccc", "ReplicaSet", "web-5d8c7b9f64", "n2", 3);
    let left = "web-5d8c7b9f64-first";
    let history = record(&snapshot(&[new]), |minute| match minute {
        0 => readings(0, &[("n1", 50), ("n2", 50)], &[]),
        1 => readings(1, &[("n1", 150), ("n2", 50)], &[]),
        2 => readings(2, &[("n1", 150), ("n2", 50)], &[(left, "n1", 100)]),
        3 => readings(3, &[("n1", 50), ("n2", 150)], &[]),
        _ => readings(minute, &[("n1", 50), ("n2", 150)], &[(new.0, "n2", 100)]),
    });
    assert_eq!(row(&history.nodes["n1"]), "50 - - - 50 50");
    assert_eq!(row(&history.nodes["n2"]), "50 50 50 - - 50");
}

#[test]
fn a_source_that_reports_no_node_measures_pods_where_they_are_now() {
    let history =
        record(&snapshot(&[WEB]), |minute| readings(minute, &[("n1", 300)], &[(WEB.0, "", 100)]));
    assert_eq!(pod(&history, WEB.0).node.as_deref(), Some("n1"));
    assert_eq!(row(&history.nodes["n1"]), "200 200 200 200 200 200");
}

#[test]
fn a_node_whose_pods_change_at_every_step_has_all_its_values() {
    let names: Vec<String> = (0..STEPS).map(|i| format!("job-{i}")).collect();
    let history = record(&snapshot(&[]), |minute| {
        let job = names[usize::try_from(minute).unwrap()].as_str();
        readings(minute, &[("n1", 300)], &[(job, "n1", 100)])
    });
    assert_eq!(
        row(&history.nodes["n1"]),
        "200 200 200 200 200 200",
        "the uncertain ones too, because hardly any are certain"
    );
}
