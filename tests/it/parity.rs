//! Exact mode evicts what descheduler evicts: recorded cases, and a list of intended differences.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Move;
use evenkeel::model::snapshot::Snapshot;
use evenkeel::model::snapshot::import;
use evenkeel::model::snapshot::objects::Objects;
use evenkeel::model::usage::{Readings, import as metrics};
use evenkeel::policy::Policy;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    name: String,
    now: Timestamp,
    policy: String,
    refused: bool,
    agree: Agree,
    runs: Vec<Vec<Eviction>>,
    objects: Vec<Value>,
}

#[derive(Deserialize)]
struct Agree {
    pods: bool,
}

/// Strategy, node, namespace and pod.
type Eviction = (String, String, String, String);
/// The number of evicted pods by strategy, node and owner.
type Count = BTreeMap<(String, String, String), usize>;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/parity")
}

/// All cases, by category.
static CASES: LazyLock<BTreeMap<String, Vec<Case>>> = LazyLock::new(read_cases);

fn read_cases() -> BTreeMap<String, Vec<Case>> {
    let files = fs::read_dir(data()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == "json"));
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    };
    files.map(read).collect()
}

/// Returns the intended differences: case name and reason.
fn known() -> BTreeMap<String, String> {
    let text = fs::read_to_string(data().join("known.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            line.split_once(": ").map(|(name, why)| (name.to_owned(), why.to_owned())).unwrap()
        })
        .collect()
}

/// Returns the moves of evenkeel, or the reason why it rejects the policy.
fn plan(case: &Case) -> Result<Vec<Move>, String> {
    let policy = Policy::parse("policy.yaml", &case.policy).map_err(|e| e.to_string())?.exactly();
    let (mut objects, mut readings) = (Objects::default(), Readings::default());
    for value in &case.objects {
        if !metrics::take(value, &mut readings) {
            match import::object(value) {
                Ok(object) => object.into_iter().for_each(|o| objects.apply(o)),
                Err((kind, skipped)) => objects.skip(kind, skipped),
            }
        }
    }
    let snapshot = Snapshot::join(&objects, policy.resources());
    if let Some(bad) = policy.bad_class(&snapshot.classes) {
        return Err(bad.to_string());
    }
    let mut engine = Engine::new(policy, Ledger::default());
    engine.observe_steady(&snapshot, &readings, case.now);
    Ok(engine.decide(&snapshot, case.now).moves)
}

impl Case {
    /// Returns the first owner of each pod.
    fn owners(&self) -> BTreeMap<(&str, &str), String> {
        let text = |value: &'_ Value, path: &str| {
            value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let pods = self.objects.iter().filter(|o| o["kind"] == "Pod");
        pods.map(|pod| {
            let (namespace, name) = (
                pod["metadata"]["namespace"].as_str().unwrap(),
                pod["metadata"]["name"].as_str().unwrap(),
            );
            let owner = match pod.pointer("/metadata/ownerReferences/0") {
                Some(owner) => format!("{}/{}", text(owner, "/kind"), text(owner, "/name")),
                None => format!("Pod/{name}"),
            };
            ((namespace, name), format!("{namespace}/{owner}"))
        })
        .collect()
    }

    /// Returns an error that describes the difference, if there is one.
    fn judge(&self) -> Result<(), String> {
        let moves = match plan(self) {
            Ok(_) if self.refused => {
                return Err("accepted a policy that descheduler rejects".to_owned());
            }
            Err(_) if self.refused || self.runs.iter().all(Vec::is_empty) => return Ok(()),
            Err(why) => return Err(format!("refused: {why}")),
            Ok(moves) => moves,
        };
        let ours: Vec<Eviction> = moves
            .into_iter()
            .map(|m| (m.strategy.to_owned(), m.node, m.namespace, m.pod))
            .collect();
        let pods = |evictions: &[Eviction]| -> BTreeSet<(String, String, String)> {
            evictions
                .iter()
                .map(|(strategy, _, namespace, pod)| {
                    (strategy.clone(), namespace.clone(), pod.clone())
                })
                .collect()
        };
        if self.agree.pods && pods(&ours) == pods(&self.runs[0]) {
            return Ok(());
        }
        let owners = self.owners();
        let count = |evictions: &[Eviction]| {
            let mut count = Count::new();
            for (strategy, node, namespace, pod) in evictions {
                let owner = owners[&(namespace.as_str(), pod.as_str())].clone();
                *count.entry((strategy.clone(), node.clone(), owner)).or_default() += 1;
            }
            count
        };
        let (mine, theirs) =
            (count(&ours), self.runs.iter().map(|run| count(run)).collect::<Vec<_>>());
        if theirs.contains(&mine) {
            Ok(())
        } else {
            Err(format!("ours {mine:?}\n  theirs {:?}", theirs[0]))
        }
    }
}

#[test]
fn exact_mode_evicts_what_descheduler_evicts() {
    let known = known();
    let (mut wrong, mut met) = (Vec::new(), BTreeSet::new());
    for (category, cases) in &*CASES {
        assert!(cases.len() > 5, "cases of {category} are missing");
        for case in cases {
            let expected = known.get(&case.name);
            met.extend(expected.map(|_| case.name.clone()));
            match (case.judge(), expected) {
                (Ok(()), None) | (Err(_), Some(_)) => {}
                (Ok(()), Some(_)) => {
                    wrong.push(format!(
                        "{}: no longer differs; remove it from known.txt",
                        case.name
                    ));
                }
                (Err(why), None) => wrong.push(format!("{}: {why}", case.name)),
            }
        }
    }
    wrong.extend(
        known
            .keys()
            .filter(|name| !met.contains(*name))
            .map(|name| format!("{name}: no such case")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_converted_policy_equals_the_original() {
    let mut seen = 0;
    for case in CASES.values().flatten() {
        let Ok(policy) = Policy::parse("policy.yaml", &case.policy) else {
            continue;
        };
        let native = policy.to_native();
        let again = Policy::parse("native.yaml", &native)
            .unwrap_or_else(|e| panic!("{}: {e}\n{native}", case.name));
        // Both may warn, at different places of the files. The exact mode is for the original only.
        let as_native = |mut policy: Policy| {
            policy.warnings.clear();
            for profile in &mut policy.profiles {
                profile.evictable.protected.resource_claims_exactly = None;
            }
            policy
        };
        assert_eq!(as_native(again), as_native(policy), "{}:\n{native}", case.name);
        seen += 1;
    }
    assert!(seen > 300, "{seen}");
}
