//! Everything once, whole: for those who want the objects and not the facts.

use std::time::Duration;

use http::Request;
use kube::Client;
use serde::Deserialize;
use serde_json::Value;

use super::client::{code, why};
use super::watch::{WATCHED, escaped};

/// Objects in one page.
const PAGE: u32 = 500;
/// How long a page may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How often a list is begun anew whose pages have expired on the way.
const ATTEMPTS: u32 = 3;

/// A kind that can be listed.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Such as `apps/v1`.
    pub api_version: String,
    /// As the API spells it.
    pub kind: &'static str,
    /// Where all of them are, of every namespace.
    pub path: String,
}

/// The kinds that decisions look at, usage aside.
pub fn watched() -> Vec<Listed> {
    let listed = |(kind, path): (&'static str, &'static str)| {
        // `/api/v1/nodes`, `/apis/apps/v1/replicasets`
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let api_version = parts.get(1..parts.len() - 1).unwrap_or_default().join("/");
        Listed {
            api_version,
            kind,
            path: path.to_owned(),
        }
    };
    WATCHED
        .iter()
        .map(|w| listed((w.kind.name(), w.path)))
        .collect()
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    #[serde(default)]
    items: Option<Vec<Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PageMetadata {
    r#continue: Option<String>,
}

/// Every object at a path, page by page.
///
/// # Errors
/// Why there is no whole list, in the words of the API server where it has any.
pub async fn pages(client: &Client, path: &str) -> Result<Vec<Value>, String> {
    for _ in 0..ATTEMPTS {
        if let Some(all) = attempt(client, path).await? {
            return Ok(all);
        }
    }
    Err(format!(
        "the list expired {ATTEMPTS} times before it was complete"
    ))
}

/// `None` where the API server has forgotten where the next page begins.
async fn attempt(client: &Client, path: &str) -> Result<Option<Vec<Value>>, String> {
    let (mut all, mut query) = (Vec::new(), format!("limit={PAGE}"));
    loop {
        let request = Request::get(format!("{path}?{query}"))
            .body(Vec::new())
            .map_err(|e| e.to_string())?;
        let text = match tokio::time::timeout(TIMEOUT, client.request_text(request)).await {
            Err(_) => return Err(format!("no answer within {} s", TIMEOUT.as_secs())),
            Ok(Err(error)) if code(&error) == Some(410) => return Ok(None),
            Ok(Err(error)) => return Err(why(&error)),
            Ok(Ok(text)) => text,
        };
        let page: Page = serde_json::from_str(&text).map_err(|e| format!("no list: {e}"))?;
        all.extend(page.items.unwrap_or_default());
        match page.metadata.r#continue.filter(|token| !token.is_empty()) {
            None => return Ok(Some(all)),
            Some(token) => query = format!("limit={PAGE}&continue={}", escaped(&token)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::tests::{fake, status};
    use super::*;

    #[test]
    fn a_kind_knows_its_version() {
        let versions: Vec<_> = watched()
            .into_iter()
            .map(|l| format!("{} {}", l.api_version, l.kind))
            .collect();
        for expected in [
            "v1 Node",
            "policy/v1 PodDisruptionBudget",
            "apps/v1 ReplicaSet",
            "batch/v1 Job",
        ] {
            assert!(versions.contains(&expected.to_owned()), "{versions:?}");
        }
    }

    #[tokio::test]
    async fn pages_are_put_together_and_tokens_escaped() {
        let (client, asked) = fake(|_, path, _| {
            let answer = match path {
                "/api/v1/pods?limit=500" => r#"{"metadata":{"continue":"a+b="},"items":[{"n":1}]}"#,
                "/api/v1/pods?limit=500&continue=a%2Bb%3D" => {
                    r#"{"metadata":{},"items":[{"n":2}]}"#
                }
                other => panic!("{other}"),
            };
            (200, answer.to_owned())
        })
        .await;
        let all = pages(&client, "/api/v1/pods").await.unwrap();
        assert_eq!((all.len(), asked.lock().unwrap().len()), (2, 2));
    }

    #[tokio::test]
    async fn what_is_forbidden_is_said_and_what_expires_is_begun_anew() {
        let (client, _) =
            fake(|_, _, _| status(403, "pods is forbidden: User \"me\" cannot list")).await;
        assert_eq!(
            pages(&client, "/api/v1/pods").await.unwrap_err(),
            "pods is forbidden: User \"me\" cannot list"
        );
        let (client, asked) = fake(|_, _, _| status(410, "too old")).await;
        assert!(
            pages(&client, "/api/v1/pods")
                .await
                .unwrap_err()
                .contains("expired 3 times")
        );
        assert_eq!(asked.lock().unwrap().len(), 3);
    }
}
