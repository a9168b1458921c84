//! Usage from the API metrics.k8s.io, which metrics-server serves.

use std::time::Duration;

use http::Request;
use kube::{Client, Error};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cluster::client::{code, why};
use crate::usage::{Readings, import};

use super::SourceError;

const API: &str = "metrics.k8s.io/v1beta1";
/// Usage that comes later than this is hardly better than none.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The API metrics.k8s.io of one cluster.
#[derive(Clone)]
pub struct MetricsApi {
    client: Client,
}

/// A list, each item as the text that it is.
#[derive(Deserialize)]
struct List<'t> {
    #[serde(borrow, default)]
    items: Option<Vec<&'t RawValue>>,
}

impl MetricsApi {
    /// The API that a client leads to.
    pub const fn new(client: Client) -> Self {
        MetricsApi { client }
    }

    /// Reads the usage of all nodes and pods: one list each, at the same time.
    pub async fn read(&self) -> Result<Readings, SourceError> {
        let (nodes, pods) = tokio::try_join!(self.list("nodes"), self.list("pods"))?;
        let mut readings = Readings::default();
        take(&nodes, "nodes", import::node, &mut readings)?;
        take(&pods, "pods", import::pod, &mut readings)?;
        Ok(readings)
    }

    async fn list(&self, resource: &'static str) -> Result<String, SourceError> {
        let what = || format!("{resource} of {API}");
        let request = Request::get(format!("/apis/{API}/{resource}")).body(Vec::new());
        let request = request.map_err(|e| SourceError::Failed { what: what(), why: e.to_string() })?;
        match tokio::time::timeout(TIMEOUT, self.client.request_text(request)).await {
            Ok(answer) => answer.map_err(|error| refused(resource, &error)),
            Err(_) => Err(SourceError::Slow { what: what(), limit: TIMEOUT }),
        }
    }
}

fn refused(resource: &'static str, error: &Error) -> SourceError {
    let why = why(error);
    match code(error) {
        Some(404) => SourceError::Absent { api: API },
        Some(403) => SourceError::Forbidden { api: API, resource, why },
        Some(503) => SourceError::Down { api: API, why },
        _ => SourceError::Failed { what: format!("{resource} of {API}"), why },
    }
}

/// Takes in a list item by item, so that one that makes no sense harms no other.
fn take(
    text: &str,
    resource: &str,
    one: impl Fn(&Value, &mut Readings),
    into: &mut Readings,
) -> Result<(), SourceError> {
    let list: List<'_> = serde_json::from_str(text)
        .map_err(|e| SourceError::Failed { what: format!("{resource} of {API}"), why: format!("no list: {e}") })?;
    for item in list.items.unwrap_or_default() {
        // What is no value, such as a number out of range, counts as an item of which nothing is known.
        one(&serde_json::from_str(item.get()).unwrap_or_default(), into);
    }
    Ok(())
}
