//! The history of the ledger and of the pods, and the writes of a second process.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::e2e::support::{ControlPlane, Request, present};

const KEY: &str = "ledger.json";
const NAME: &str = "evenkeel-ledger";

/// Everything that was ever seen.
pub(super) struct Record<'c> {
    control_plane: &'c ControlPlane,
    ledger: Api<ConfigMap>,
    /// Names of pods that the ledger has had.
    written: RefCell<BTreeSet<String>>,
    /// Entries that another process has written.
    foreign: RefCell<BTreeSet<String>>,
    /// Creation times of pods by name.
    created: RefCell<BTreeMap<String, Timestamp>>,
    originals: BTreeSet<String>,
    kills: Cell<usize>,
}

impl<'c> Record<'c> {
    pub(super) async fn new(control_plane: &'c ControlPlane) -> Self {
        let mut record = Record {
            control_plane,
            ledger: Api::namespaced(control_plane.client.clone(), "kube-system"),
            written: RefCell::default(),
            foreign: RefCell::default(),
            created: RefCell::default(),
            originals: BTreeSet::new(),
            kills: Cell::default(),
        };
        record.look().await;
        record.originals = record.created.borrow().keys().cloned().collect();
        record
    }

    /// Looks at the cluster twice a second, forever.
    pub(super) async fn keep(&self) {
        loop {
            self.look().await;
            sleep(Duration::from_millis(500)).await;
        }
    }

    pub(super) async fn look(&self) {
        for pod in self.control_plane.list("/api/v1/namespaces/default/pods").await {
            let meta = &pod["metadata"];
            let created = meta["creationTimestamp"].as_str().unwrap();
            let name = meta["name"].as_str().unwrap().to_owned();
            let created = created.parse().unwrap();
            self.created.borrow_mut().insert(name, created);
        }
        let pods = pods_of(&self.text().await);
        self.written.borrow_mut().extend(pods);
    }

    async fn text(&self) -> String {
        let map = self.ledger.get(NAME).await.unwrap();
        let text = map.data.unwrap_or_default().remove(KEY);
        text.unwrap_or_default()
    }

    /// Changes the text of the ledger as another process does, with a resource version.
    async fn change(&self, change: impl Fn(String) -> String) {
        loop {
            let mut map = self.ledger.get(NAME).await.unwrap();
            let data = map.data.get_or_insert_default();
            let text = data.remove(KEY).unwrap_or_default();
            self.written.borrow_mut().extend(pods_of(&text));
            data.insert(KEY.to_owned(), change(text));
            let params = PostParams::default();
            if self.ledger.replace(NAME, &params, &map).await.is_ok() {
                return;
            }
        }
    }

    /// Adds an entry of another process.
    pub(super) async fn write_foreign(&self) {
        let name = format!("foreign-{}", self.foreign.borrow().len());
        let now = present();
        let entry = json!({
            "workload": "default/Job/batch", "pod": name, "uid": name, "node": "n1", "at": now,
            "newest": now, "state": "evicted",
        });
        self.change(|text| {
            let empty = || json!({"version": 1, "entries": [], "resting": {}});
            let mut ledger: Value = serde_json::from_str(&text).unwrap_or_else(|_| empty());
            ledger["entries"].as_array_mut().unwrap().push(entry.clone());
            ledger.to_string()
        })
        .await;
        self.foreign.borrow_mut().insert(name);
    }

    /// Replaces the ledger by this text for a while. Nothing may be evicted meanwhile, and the text
    /// must stay.
    pub(super) async fn corrupt(&self, text: &str, time: Duration) {
        let before = RefCell::new(String::new());
        self.change(|ledger| {
            before.replace(ledger);
            text.to_owned()
        })
        .await;
        sleep(time).await;
        assert_eq!(self.text().await, text, "an unreadable ledger was overwritten");
        let before = before.into_inner();
        self.change(|_| before.clone()).await;
    }

    pub(super) fn count_kill(&self) {
        self.kills.set(self.kills.get() + 1);
    }

    pub(super) fn kills(&self) -> usize {
        self.kills.get()
    }

    /// Fails if an eviction is missing in the ledger, was made twice, or hit a replacement during
    /// its rest, or if an entry of another process was erased.
    pub(super) fn check(&self, evicted: &[Request], rest: i64) {
        let (written, created) = (self.written.borrow(), self.created.borrow());
        let mut names = BTreeSet::new();
        for eviction in evicted {
            let name = &eviction.name;
            assert!(written.contains(name), "{name} is not in the ledger");
            assert!(names.insert(name), "{name} was evicted twice");
            if self.originals.contains(name) {
                continue;
            }
            // A pod that came and went between two looks is younger than a second.
            let created = created.get(name).copied().unwrap_or(eviction.at);
            let age = eviction.at.duration_since(created).as_secs();
            assert!(age >= rest - 1, "{name} was evicted after {age} s of rest");
        }
        for name in self.foreign.borrow().iter() {
            assert!(written.contains(name), "{name} was erased");
        }
    }
}

/// The pods in the text of a ledger; none in any other text.
fn pods_of(text: &str) -> Vec<String> {
    let ledger: Value = serde_json::from_str(text).unwrap_or_default();
    let entries = ledger["entries"].as_array().cloned().unwrap_or_default();
    let pods = entries.iter().filter_map(|e| e["pod"].as_str());
    pods.map(str::to_owned).collect()
}
