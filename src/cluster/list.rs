//! Lists whole objects once, for callers that need more than the facts which the watches keep.

use kube::Client;
use serde_json::Value;
use tokio::time::sleep;

use super::stream::{Format, Pages};
use super::watch::WATCHED_KINDS;

/// How often a list starts again after its pages expire, and how often a page is asked for.
const ATTEMPTS: u32 = 3;

/// A kind that [`pages`] can list.
#[derive(Clone, Debug)]
pub struct ListedKind {
    /// Such as `apps/v1`.
    pub api_version: String,
    /// As the API spells it.
    pub kind: &'static str,
    /// The path of the list over all namespaces.
    pub path: String,
}

/// The kinds that decisions need, except usage.
pub fn watched() -> Vec<ListedKind> {
    let listed = |(kind, path): (&'static str, &'static str)| {
        // `/api/v1/nodes`, `/apis/apps/v1/replicasets`
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let api_version = parts.get(1..parts.len() - 1).unwrap_or_default().join("/");
        ListedKind { api_version, kind, path: path.to_owned() }
    };
    WATCHED_KINDS.iter().map(|w| listed((w.kind.name(), w.path))).collect()
}

/// The reason why a list is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The API server has not responded to any of several requests.
    #[error("{0}")]
    Silent(String),
    /// It has refused the list, or sent one that is no list.
    #[error("{0}")]
    Failed(String),
}

/// Lists every object at a path, page by page.
///
/// # Errors
/// The message of the API server, or the reason why the list is incomplete.
pub async fn pages(client: &Client, path: &str) -> Result<Vec<Value>, ListError> {
    for _ in 0..ATTEMPTS {
        if let Some(all) = attempt(client, path).await? {
            return Ok(all);
        }
    }
    let expired = format!("the list expired {ATTEMPTS} times before it was complete");
    Err(ListError::Failed(expired))
}

/// Returns `None` if the API server no longer has the next page (410).
async fn attempt(client: &Client, path: &str) -> Result<Option<Vec<Value>>, ListError> {
    let mut pages = Pages::new(path, Format::Json);
    let mut all = Vec::new();
    let mut failures = 0;
    loop {
        let (complete, mut invalid) = (all.len(), None);
        let each = |_, item: &[u8]| match serde_json::from_slice(item) {
            Ok(value) => all.push(value),
            Err(error) => invalid = Some(format!("invalid list: {error}")),
        };
        let page = pages.next(client, each).await;
        match (page, invalid) {
            (_, Some(why)) => return Err(ListError::Failed(why)),
            (Ok(Some(_)), None) => return Ok(Some(all)),
            (Ok(None), None) => failures = 0,
            (Err(error), None) if error.is_expired() => return Ok(None),
            (Err(error), None) => {
                failures += 1;
                if failures == ATTEMPTS || !error.is_temporary() {
                    let is_silent = error.silent_for.is_some();
                    let kind = if is_silent { ListError::Silent } else { ListError::Failed };
                    return Err(kind(error.why));
                }
                // The page comes again as a whole.
                all.truncate(complete);
                sleep(error.pause(failures)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::tests::{fake, status};
    use super::*;

    #[test]
    fn every_kind_has_its_api_version() {
        let versions: Vec<_> =
            watched().into_iter().map(|l| format!("{} {}", l.api_version, l.kind)).collect();
        for expected in
            ["v1 Node", "policy/v1 PodDisruptionBudget", "apps/v1 ReplicaSet", "batch/v1 Job"]
        {
            assert!(versions.contains(&expected.to_owned()), "{versions:?}");
        }
    }

    #[tokio::test]
    async fn pages_are_joined_and_tokens_are_escaped() {
        let (client, requests) = fake(|_, path, _| {
            let page = match path {
                "/api/v1/pods?limit=500" => r#"{"metadata":{"continue":"a+b="},"items":[{"n":1}]}"#,
                "/api/v1/pods?limit=500&continue=a%2Bb%3D" => {
                    r#"{"metadata":{},"items":[{"n":2}]}"#
                }
                other => panic!("{other}"),
            };
            (200, page.to_owned())
        })
        .await;
        let all = pages(&client, "/api/v1/pods").await.unwrap();
        assert_eq!((all.len(), requests.lock().unwrap().len()), (2, 2));
    }

    #[tokio::test]
    async fn errors_carry_the_message_and_an_expired_list_starts_again() {
        let (client, _) =
            fake(|_, _, _| status(403, "pods is forbidden: User \"me\" cannot list")).await;
        assert_eq!(
            pages(&client, "/api/v1/pods").await.unwrap_err().to_string(),
            "pods is forbidden: User \"me\" cannot list"
        );
        let (client, requests) = fake(|_, _, _| status(410, "too old")).await;
        let expired = pages(&client, "/api/v1/pods").await.unwrap_err().to_string();
        assert!(expired.contains("expired 3 times"), "{expired}");
        assert_eq!(requests.lock().unwrap().len(), 3);
    }
}
