//! The ConfigMap in which the ledger outlives us.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client, Error};

use super::client::{code, why};

/// The key under which the text stands.
pub const KEY: &str = "ledger.json";
const TIMEOUT: Duration = Duration::from_secs(10);

/// One ConfigMap, and the version of it that was seen last.
pub struct LedgerStore {
    api: Api<ConfigMap>,
    namespace: String,
    name: String,
    /// The ConfigMap as it was seen last, without the text; `None` where there was none.
    seen: Option<ConfigMap>,
}

/// What was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The ledger; `None` where none was kept.
    pub text: Option<String>,
    /// The version of the ConfigMap; `None` where there is none.
    pub version: Option<String>,
}

/// Why the ledger was not loaded or saved.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process has written it since it was loaded: load it again.
    #[error("configmap {0} was written by someone else since it was read")]
    Conflict(String),
    /// Another instance may lead by now, and what it writes holds.
    #[error("the lead is lost, so the ledger is not written any more")]
    NotLeading,
    /// RBAC does not allow it.
    #[error("may not {verb} configmap {name}, which its role must allow: {why}")]
    Forbidden {
        /// The verb that is missing.
        verb: &'static str,
        /// Namespace and name.
        name: String,
        /// What the API server said.
        why: String,
    },
    /// The ConfigMap or its namespace is not there.
    #[error("cannot {verb} configmap {name}: {why}")]
    Missing {
        /// What was tried.
        verb: &'static str,
        /// Namespace and name.
        name: String,
        /// What the API server said.
        why: String,
    },
    /// No answer came: whether it was saved is not known. Load it again.
    #[error("no answer about configmap {name}: {why}")]
    Unanswered {
        /// Namespace and name.
        name: String,
        /// What went wrong.
        why: String,
    },
    /// The API server refused for another reason.
    #[error("cannot {verb} configmap {name}: {why}")]
    Failed {
        /// What was tried.
        verb: &'static str,
        /// Namespace and name.
        name: String,
        /// What the API server said.
        why: String,
    },
}

impl LedgerStore {
    /// The ConfigMap of this namespace and name. No request is made yet.
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        let api = Api::namespaced(client, namespace);
        LedgerStore {
            api,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            seen: None,
        }
    }

    /// Reads what was kept.
    pub async fn load(&mut self) -> Result<Loaded, StoreError> {
        let found = self.ask("get", self.api.get_opt(&self.name)).await?;
        let text = found
            .as_ref()
            .and_then(|map| map.data.as_ref()?.get(KEY).cloned());
        let version = found
            .as_ref()
            .and_then(|map| map.metadata.resource_version.clone());
        self.seen = found.map(without_text);
        Ok(Loaded { text, version })
    }

    /// Keeps this text, if nobody else has written since the last load or save. The ConfigMap is created where there is
    /// none, and what others have put into it stays.
    pub async fn save(&mut self, text: &str) -> Result<(), StoreError> {
        let params = PostParams::default();
        if let Some(seen) = &self.seen {
            let map = with_text(seen.clone(), text);
            match self
                .ask("update", self.api.replace(&self.name, &params, &map))
                .await
            {
                // Deleted meanwhile. What is in memory is newer than nothing, so it is kept again.
                Err(StoreError::Missing { .. }) => {}
                saved => {
                    self.seen = Some(without_text(saved?));
                    return Ok(());
                }
            }
        }
        let map = with_text(self.fresh(), text);
        let created = self.ask("create", self.api.create(&params, &map)).await?;
        self.seen = Some(without_text(created));
        Ok(())
    }

    fn fresh(&self) -> ConfigMap {
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

    async fn ask<T>(
        &self,
        verb: &'static str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        let name = format!("{}/{}", self.namespace, self.name);
        let error = match tokio::time::timeout(TIMEOUT, request).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(_) => {
                return Err(StoreError::Unanswered {
                    name,
                    why: format!("none within {} s", TIMEOUT.as_secs()),
                });
            }
        };
        let why = why(&error);
        Err(match code(&error) {
            Some(409) => StoreError::Conflict(name),
            Some(404) => StoreError::Missing { verb, name, why },
            Some(403) => StoreError::Forbidden { verb, name, why },
            Some(_) => StoreError::Failed { verb, name, why },
            None => StoreError::Unanswered { name, why },
        })
    }
}

fn with_text(mut map: ConfigMap, text: &str) -> ConfigMap {
    map.data
        .get_or_insert_default()
        .insert(KEY.to_owned(), text.to_owned());
    map
}

/// What others have put into the ConfigMap is written back with ours; who owns which field is the API server's affair.
fn without_text(mut map: ConfigMap) -> ConfigMap {
    map.data.get_or_insert_default().remove(KEY);
    map.metadata.managed_fields = None;
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::tests::{Asked, client_of, fake, status};
    use serde_json::{Value, json};
    use std::sync::{Arc, Mutex};

    /// An API server that keeps one ConfigMap, and the versions of it.
    async fn server() -> (Client, Asked, Arc<Mutex<Option<Value>>>) {
        let kept: Arc<Mutex<Option<Value>>> = Arc::default();
        let map = Arc::clone(&kept);
        let (client, asked) = fake(move |method, _, body| {
            let mut kept = map.lock().unwrap();
            let version = |value: &Value| {
                value["metadata"]["resourceVersion"]
                    .as_str()
                    .map(str::to_owned)
            };
            match (method, kept.as_ref().map(|value| version(value).unwrap())) {
                ("GET" | "PUT", None) => return status(404, "not found"),
                ("GET", Some(_)) => return (200, kept.as_ref().unwrap().to_string()),
                ("POST", Some(_)) => return status(409, "already exists"),
                ("PUT", Some(newest))
                    if version(&body.parse().unwrap()) != Some(newest.clone()) =>
                {
                    return status(409, "the object has been modified");
                }
                _ => {}
            }
            let next = kept
                .as_ref()
                .and_then(version)
                .map_or(1, |v| v.parse::<u64>().unwrap() + 1);
            let mut value: Value = body.parse().unwrap();
            value["metadata"]["resourceVersion"] = json!(next.to_string());
            *kept = Some(value.clone());
            (200, value.to_string())
        })
        .await;
        (client, asked, kept)
    }

    fn store(client: &Client) -> LedgerStore {
        LedgerStore::new(client.clone(), "system", "ledger")
    }

    #[tokio::test]
    async fn a_text_is_created_then_updated_and_read_by_the_next() {
        let (client, asked, kept) = server().await;
        let mut first = store(&client);
        assert_eq!(
            first.load().await,
            Ok(Loaded {
                text: None,
                version: None
            })
        );
        for text in ["one", "two", "three"] {
            first.save(text).await.unwrap();
        }
        let verbs: Vec<_> = asked
            .lock()
            .unwrap()
            .iter()
            .map(|(method, _, _)| method.clone())
            .collect();
        assert_eq!(verbs, ["GET", "POST", "PUT", "PUT"]);
        assert_eq!(
            kept.lock().unwrap().as_ref().unwrap()["metadata"]["labels"]["app.kubernetes.io/name"],
            "evenkeel"
        );
        let loaded = store(&client).load().await.unwrap();
        assert_eq!(
            loaded,
            Loaded {
                text: Some("three".to_owned()),
                version: Some("3".to_owned())
            }
        );
    }

    #[tokio::test]
    async fn of_two_who_write_one_is_told() {
        let (client, _, _) = server().await;
        let (mut one, mut other) = (store(&client), store(&client));
        one.save("one").await.unwrap();
        let conflict = Err(StoreError::Conflict("system/ledger".to_owned()));
        assert_eq!(other.save("other").await, conflict);
        other.load().await.unwrap();
        other.save("other").await.unwrap();
        assert_eq!(one.save("one again").await, conflict);
        assert_eq!(
            store(&client).load().await.unwrap().text.as_deref(),
            Some("other")
        );
    }

    #[tokio::test]
    async fn what_others_put_there_stays_and_what_was_deleted_is_kept_again() {
        let (client, _, kept) = server().await;
        *kept.lock().unwrap() = Some(json!({
            "metadata": {"name": "ledger", "resourceVersion": "7", "annotations": {"team": "a"}},
            "data": {"note": "by hand"},
        }));
        let mut store = store(&client);
        assert_eq!(store.load().await.unwrap().text, None);
        store.save("one").await.unwrap();
        let value = kept.lock().unwrap().clone().unwrap();
        assert_eq!(
            (
                &value["data"]["note"],
                &value["metadata"]["annotations"]["team"]
            ),
            (&json!("by hand"), &json!("a"))
        );
        *kept.lock().unwrap() = None;
        store.save("two").await.unwrap();
        assert_eq!(
            kept.lock().unwrap().as_ref().unwrap()["data"],
            json!({"ledger.json": "two"})
        );
    }

    #[tokio::test]
    async fn errors_say_what_is_missing() {
        let said = async |code| {
            let (client, _) = fake(move |_, _, _| status(code, "no")).await;
            store(&client).save("x").await.unwrap_err().to_string()
        };
        assert_eq!(
            said(403).await,
            "may not create configmap system/ledger, which its role must allow: no"
        );
        assert_eq!(said(404).await, "cannot create configmap system/ledger: no");
        assert_eq!(said(422).await, "cannot create configmap system/ledger: no");
        let nobody = store(&client_of("http://127.0.0.1:1"))
            .load()
            .await
            .unwrap_err()
            .to_string();
        assert!(
            nobody.starts_with("no answer about configmap system/ledger: client error"),
            "{nobody}"
        );
    }
}
