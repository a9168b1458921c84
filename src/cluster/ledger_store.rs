//! Stores the ledger in a ConfigMap.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client, Error};

use crate::model::ledger::{Ledger, StartTimes};

use super::client::{TIMEOUT, error_message, status_code};
use super::error_text::denied;

/// The key of the ledger in the ConfigMap.
const KEY: &str = Ledger::KEY;
/// The key of the times that replacements took to start. Not part of the ledger, because
/// older versions refuse a ledger with parts that they do not know.
const STARTS_KEY: &str = "starts.json";

/// A ConfigMap of this program, by its name.
pub(super) struct OwnConfigMap {
    pub(super) api: Api<ConfigMap>,
    namespace: String,
    pub(super) name: String,
}

/// A ConfigMap and its last seen version.
pub struct LedgerStore {
    map: OwnConfigMap,
    /// The ConfigMap as last read or written, without own keys; `None` if it did not exist.
    /// Taken from a response only if its ledger was understood, so that an unreadable one is never
    /// overwritten.
    seen: Option<ConfigMap>,
    /// The ledger as last read or written, with the intentions of writes that have failed since.
    base: Ledger,
    /// Whether the last read has found a ledger.
    found: bool,
    /// Why the stored ledger may differ from `base`; `None` if it does not.
    uncertain: Option<String>,
}

/// Why the ledger, or another ConfigMap of this program, could not be loaded or saved.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process has written it since it was loaded, so it has to be loaded again.
    #[error("configmap {0} was changed by another process since it was read")]
    Conflict(String),
    /// Another instance may lead by now, and its ledger must not be overwritten.
    #[error("leadership lost, the ledger is no longer written")]
    NotLeading,
    /// The program is stopping, and there was no response in the time left.
    #[error("no response before the end of the program")]
    Stopping,
    /// The ConfigMap holds no ledger that this version understands. It stays as it is.
    #[error(
        "cannot parse the ledger: {why}; no evictions; {remedy}, or remove key {KEY} of configmap \
            {name} to start with an empty one"
    )]
    Unreadable {
        /// Namespace and name.
        name: String,
        /// The reason.
        why: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// RBAC denies it.
    #[error("{}", denied(verb, &format!("configmap {name}"), why))]
    Forbidden {
        /// The missing verb.
        verb: &'static str,
        /// Namespace and name.
        name: String,
        /// The message of the API server.
        why: String,
    },
    /// The ConfigMap or its namespace does not exist.
    #[error("cannot {verb} configmap {name}: {why}")]
    Missing {
        /// The verb of the request.
        verb: &'static str,
        /// Namespace and name.
        name: String,
        /// The message of the API server.
        why: String,
    },
    /// No response came. The ledger may have been saved, so it has to be loaded again.
    #[error("no response for configmap {name}: {why}")]
    Unanswered {
        /// Namespace and name.
        name: String,
        /// The reason.
        why: String,
    },
    /// Any other error status.
    #[error("cannot {verb} configmap {name}: {why}")]
    Failed {
        /// The verb of the request.
        verb: &'static str,
        /// Namespace and name.
        name: String,
        /// The message of the API server.
        why: String,
    },
}

impl StoreError {
    /// Returns true if the stored ledger may differ from the one that was last read or written.
    pub const fn may_have_changed(&self) -> bool {
        matches!(
            self,
            StoreError::Conflict(_)
                | StoreError::Unanswered { .. }
                | StoreError::Stopping
                | StoreError::Failed { .. }
        )
    }
}

impl LedgerStore {
    /// Creates the store without sending a request.
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        LedgerStore {
            map: OwnConfigMap::new(client, namespace, name),
            seen: None,
            base: Ledger::default(),
            found: false,
            uncertain: None,
        }
    }

    /// Reads the ledger; an empty one if there is none.
    pub async fn load(&mut self) -> Result<Ledger, StoreError> {
        let loaded = self.read().await;
        self.uncertain = loaded.as_ref().err().map(StoreError::to_string);
        loaded
    }

    async fn read(&mut self) -> Result<Ledger, StoreError> {
        let found = self.map.read().await?;
        let text = |key| found.as_ref().and_then(|map| map.data.as_ref()?.get(key));
        let ledger = match text(KEY) {
            Some(text) => Ledger::parse(text).map_err(|error| StoreError::Unreadable {
                name: self.map.full_name(),
                why: error.to_string(),
                remedy: error.remedy(),
            })?,
            None => Ledger::default(),
        };
        self.found = text(KEY).is_some();
        let starts = text(STARTS_KEY).map(|text| StartTimes::parse(text));
        let ledger = ledger.with_starts(starts.unwrap_or_default());
        self.seen = found.map(without_text);
        self.base = ledger.clone();
        Ok(ledger)
    }

    /// Reads the ledger again and joins it with ours, because another process may have written it.
    pub async fn merge(&mut self, ours: &Ledger) -> Result<Ledger, StoreError> {
        let base = self.base.clone();
        let theirs = self.load().await?;
        // A ledger that was deleted as a whole does not say which of its parts were removed.
        let base = if self.found { base } else { Ledger::default() };
        Ok(ours.merged(&base, &theirs))
    }

    /// Returns true if this ledger is certainly the stored one.
    pub fn holds(&self, ledger: &Ledger) -> bool {
        self.uncertain.is_none() && self.base == *ledger
    }

    /// Returns why the stored ledger may not be the one that was last read or written.
    pub fn uncertain(&self) -> Option<&str> {
        self.uncertain.as_deref()
    }

    /// Writes the ledger if no other process has written since the last load or save.
    ///
    /// Creates the ConfigMap if it does not exist. Keys and annotations of others stay.
    pub async fn save(&mut self, ledger: &Ledger) -> Result<(), StoreError> {
        // Until the response, in case it never arrives.
        self.uncertain = Some("the last write was not confirmed".to_owned());
        let written = self.map.write(self.seen.as_ref(), |map| with_text(map, ledger)).await;
        match &written {
            Ok(map) => {
                self.seen = Some(without_text(map.clone()));
                self.base = ledger.clone();
                self.uncertain = None;
            }
            Err(error) if error.may_have_changed() => {
                self.uncertain = Some(error.to_string());
                self.base.add_intentions(ledger);
            }
            // Rejected, so the ledger is as it was.
            Err(_) => self.uncertain = None,
        }
        written.map(drop)
    }
}

impl OwnConfigMap {
    pub(super) fn new(client: Client, namespace: &str, name: &str) -> Self {
        OwnConfigMap {
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Reads it; `None` if it does not exist.
    pub(super) async fn read(&self) -> Result<Option<ConfigMap>, StoreError> {
        self.checked("get", self.api.get_opt(&self.name)).await
    }

    /// Fills it and writes it, if no other process has written it since it was seen. Creates it if
    /// it was not there.
    pub(super) async fn write(
        &self,
        seen: Option<&ConfigMap>,
        fill: impl Fn(ConfigMap) -> ConfigMap,
    ) -> Result<ConfigMap, StoreError> {
        let params = PostParams::default();
        if let Some(seen) = seen {
            let map = fill(seen.clone());
            let request = self.api.replace(&self.name, &params, &map);
            match self.checked("update", request).await {
                // Deleted in the meantime. The text in memory is still valid, so the ConfigMap is
                // created again.
                Err(StoreError::Missing { .. }) => {}
                written => return written,
            }
        }
        let map = fill(self.empty());
        self.checked("create", self.api.create(&params, &map)).await
    }

    fn empty(&self) -> ConfigMap {
        let label = ("app.kubernetes.io/name".to_owned(), "evenkeel".to_owned());
        ConfigMap {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                labels: Some(BTreeMap::from([label])),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        }
    }

    fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    pub(super) async fn checked<T>(
        &self,
        verb: &'static str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        let name = self.full_name();
        let error = match tokio::time::timeout(TIMEOUT, request).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(error)) => error,
            Err(_) => {
                return Err(StoreError::Unanswered {
                    name,
                    why: format!("none within {} s", TIMEOUT.as_secs()),
                });
            }
        };
        let why = error_message(&error);
        Err(match status_code(&error) {
            Some(409) => StoreError::Conflict(name),
            Some(404) => StoreError::Missing { verb, name, why },
            Some(403) => StoreError::Forbidden { verb, name, why },
            Some(_) => StoreError::Failed { verb, name, why },
            None => StoreError::Unanswered { name, why },
        })
    }
}

fn with_text(mut map: ConfigMap, ledger: &Ledger) -> ConfigMap {
    let data = map.data.get_or_insert_default();
    data.insert(KEY.to_owned(), ledger.write());
    if !ledger.starts().is_empty() {
        data.insert(STARTS_KEY.to_owned(), ledger.starts().write());
    }
    map
}

/// Keeps the data of others, which is written back with the ledger. Field ownership is left to the
/// API server.
fn without_text(mut map: ConfigMap) -> ConfigMap {
    let data = map.data.get_or_insert_default();
    data.remove(KEY);
    data.remove(STARTS_KEY);
    map.metadata.managed_fields = None;
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::tests::{ApiRequests, FakeObject, client_of, fake, status};
    use crate::model::record::Fact;
    use serde_json::json;
    use std::sync::{Arc, Mutex};

    /// An API server that stores one ConfigMap and counts its versions.
    async fn server() -> (Client, ApiRequests, Arc<Mutex<FakeObject>>) {
        let kept: Arc<Mutex<FakeObject>> = Arc::default();
        let map = Arc::clone(&kept);
        let (client, requests) =
            fake(move |method, _, body| map.lock().unwrap().answer(method, body)).await;
        (client, requests, kept)
    }

    /// A ledger that can be told from others.
    fn ledger(workload: &str) -> Ledger {
        let times =
            r#""attempt":"2026-11-21T12:00:00Z","until":"2026-11-21T13:00:00Z","useless":1"#;
        let text = format!(
            r#"{{"version":1,"entries":[],"resting":{{"shop/Deployment/{workload}":{{{times}}}}}}}"#
        );
        Ledger::parse(&text).unwrap()
    }

    fn store(client: &Client) -> LedgerStore {
        LedgerStore::new(client.clone(), "system", "ledger")
    }

    #[tokio::test]
    async fn the_ledger_is_created_then_updated_and_read_by_another_store() {
        let (client, requests, kept) = server().await;
        let mut first = store(&client);
        assert_eq!(first.load().await, Ok(Ledger::default()));
        for name in ["one", "two", "three"] {
            first.save(&ledger(name)).await.unwrap();
            assert!(first.holds(&ledger(name)));
        }
        let verbs: Vec<_> =
            requests.lock().unwrap().iter().map(|(method, _, _)| method.clone()).collect();
        assert_eq!(verbs, ["GET", "POST", "PUT", "PUT"]);
        assert_eq!(
            kept.lock().unwrap().kept.as_ref().unwrap()["metadata"]["labels"]["app.kubernetes.io/name"],
            "evenkeel"
        );
        assert_eq!(store(&client).load().await, Ok(ledger("three")));
        assert_eq!(kept.lock().unwrap().kept.as_ref().unwrap()["metadata"]["resourceVersion"], "3");
    }

    #[tokio::test]
    async fn of_two_concurrent_writes_one_is_a_conflict() {
        let (client, _, _) = server().await;
        let (mut one, mut other) = (store(&client), store(&client));
        one.save(&ledger("one")).await.unwrap();
        let conflict = Err(StoreError::Conflict("system/ledger".to_owned()));
        assert_eq!(other.save(&ledger("other")).await, conflict);
        other.load().await.unwrap();
        other.save(&ledger("other")).await.unwrap();
        assert_eq!(one.save(&ledger("one-again")).await, conflict);
        assert_eq!(store(&client).load().await, Ok(ledger("other")));
    }

    #[tokio::test]
    async fn data_of_others_stays_and_a_deleted_configmap_is_created_again() {
        let (client, _, kept) = server().await;
        kept.lock().unwrap().kept = Some(json!({
            "metadata": {"name": "ledger", "resourceVersion": "7", "annotations": {"team": "a"}},
            "data": {"note": "by hand"},
        }));
        let mut store = store(&client);
        assert_eq!(store.load().await, Ok(Ledger::default()));
        store.save(&ledger("one")).await.unwrap();
        let value = kept.lock().unwrap().kept.clone().unwrap();
        assert_eq!(
            (&value["data"]["note"], &value["metadata"]["annotations"]["team"]),
            (&json!("by hand"), &json!("a"))
        );
        kept.lock().unwrap().kept = None;
        store.save(&ledger("two")).await.unwrap();
        assert_eq!(
            kept.lock().unwrap().kept.as_ref().unwrap()["data"],
            json!({"ledger.json": ledger("two").write()})
        );
    }

    /// As when somebody deletes the ConfigMap and applies the manifests again.
    #[tokio::test]
    async fn a_deleted_ledger_takes_no_line_of_the_record_along() {
        let (client, _, kept) = server().await;
        let mut ledger = ledger("one");
        ledger.add_fact(Fact {
            id: "u-1/evicted".to_owned(),
            kind: "io.evenkeel.eviction.v1".to_owned(),
            time: "2026-11-21T12:00:00Z".parse().unwrap(),
            subject: "shop/web-1".to_owned(),
            data: json!({}),
            possibly_repeated: false,
        });
        let mut store = store(&client);
        store.save(&ledger).await.unwrap();
        kept.lock().unwrap().kept = Some(json!({"metadata": {"resourceVersion": "9"}}));
        assert!(matches!(store.save(&ledger).await, Err(StoreError::Conflict(_))));
        let merged = store.merge(&ledger).await.unwrap();
        assert_eq!(merged.facts().len(), 1);
        store.save(&merged).await.unwrap();
        // A line that another process has written stays removed.
        let written = super::tests::ledger("one");
        let mut other = super::tests::store(&client);
        other.load().await.unwrap();
        other.save(&written).await.unwrap();
        assert_eq!(store.merge(&merged).await.unwrap().facts(), []);
    }

    #[tokio::test]
    async fn starts_are_stored_beside_the_ledger_which_stays_as_it_was() {
        let (client, _, kept) = server().await;
        let starts = r#"{"shop/Deployment/web":[20]}"#;
        let learned = ledger("one").with_starts(StartTimes::parse(starts));
        let mut store = super::tests::store(&client);
        store.save(&learned).await.unwrap();
        let data = kept.lock().unwrap().kept.as_ref().unwrap()["data"].clone();
        let expected = json!({"ledger.json": ledger("one").write(), "starts.json": starts});
        assert_eq!(data, expected);
        assert_eq!(store.load().await, Ok(learned));
        kept.lock().unwrap().kept.as_mut().unwrap()["data"]["starts.json"] = json!("scribbles");
        assert_eq!(store.load().await, Ok(ledger("one")), "learned again");
    }

    #[tokio::test]
    async fn an_unreadable_ledger_is_never_overwritten() {
        let (client, _, kept) = server().await;
        let mut store = store(&client);
        store.load().await.unwrap();
        store.save(&ledger("one")).await.unwrap();
        for foreign in ["scribbles", r#"{"version":7,"evictions":[]}"#] {
            kept.lock().unwrap().kept = Some(json!({
                "metadata": {"name": "ledger", "resourceVersion": "7"},
                "data": {"ledger.json": foreign},
            }));
            for _ in 0..3 {
                assert!(store.save(&ledger("two")).await.is_err());
                assert!(matches!(
                    store.merge(&ledger("two")).await,
                    Err(StoreError::Unreadable { .. })
                ));
                assert!(store.uncertain().is_some());
            }
            let value = kept.lock().unwrap().kept.clone().unwrap();
            assert_eq!(value["data"]["ledger.json"], foreign);
        }
        // The operator removes the key.
        kept.lock().unwrap().kept.as_mut().unwrap()["data"] = json!({});
        let merged = store.merge(&ledger("two")).await.unwrap();
        assert_eq!(merged, ledger("two"), "our memory is kept");
        store.save(&merged).await.unwrap();
        assert!(store.holds(&ledger("two")));
    }

    #[tokio::test]
    async fn errors_about_an_unreadable_ledger_say_what_to_do() {
        let message = async |text: &str| {
            let body = json!({"metadata": {"resourceVersion": "7"}, "data": {KEY: text}});
            let (client, _) = fake(move |_, _, _| (200, body.to_string())).await;
            store(&client).load().await.unwrap_err().to_string()
        };
        assert_eq!(
            message(r#"{"version":7,"evictions":[]}"#).await,
            "cannot parse the ledger: unsupported version 7, expected 1; no evictions; run the \
             evenkeel that wrote it, or remove key ledger.json of configmap system/ledger to \
             start with an empty one"
        );
    }

    #[tokio::test]
    async fn errors_name_the_missing_permission_or_object() {
        let message = async |code| {
            let (client, _) = fake(move |_, _, _| status(code, "no")).await;
            store(&client).save(&ledger("x")).await.unwrap_err().to_string()
        };
        assert_eq!(
            message(403).await,
            "cannot create configmap system/ledger: it does not exist, so apply the manifests \
             again, or let the role create it: no"
        );
        assert_eq!(message(404).await, "cannot create configmap system/ledger: no");
        assert_eq!(message(422).await, "cannot create configmap system/ledger: no");
        let unreachable =
            store(&client_of("http://127.0.0.1:1")).load().await.unwrap_err().to_string();
        assert!(
            unreachable.starts_with("no response for configmap system/ledger: client error"),
            "{unreachable}"
        );
    }
}
