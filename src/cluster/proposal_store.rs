//! Stores the proposal that waits for an approval in a ConfigMap, whose annotations hold the
//! approval.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::model::approval::{APPROVED, APPROVED_BY, Proposal};

use super::ledger_store::{OwnConfigMap, StoreError};

/// The key of the proposal in the ConfigMap.
const KEY: &str = "proposal.json";

/// The ConfigMap of the proposal.
pub struct ProposalStore(OwnConfigMap);

/// The ConfigMap as it was read.
#[derive(Debug, Default)]
pub struct StoredProposal {
    /// `None` if it does not exist.
    map: Option<ConfigMap>,
    /// The proposal; `None` if there is none, or none that can be read.
    pub proposal: Option<Proposal>,
    /// The id that a person has approved.
    pub approved: Option<String>,
    /// The name of that person.
    pub approved_by: Option<String>,
}

impl ProposalStore {
    /// Creates the store without sending a request.
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        ProposalStore(OwnConfigMap::new(client, namespace, name))
    }

    /// Reads the proposal and its approval.
    ///
    /// # Errors
    /// The failed request, with the message of the API server.
    pub async fn read(&self) -> Result<StoredProposal, String> {
        let found = self.0.read().await.map_err(|error| error.to_string())?;
        Ok(found.map(StoredProposal::of).unwrap_or_default())
    }

    /// Writes a proposal in place of an earlier one, or removes that one. The approval goes with
    /// the earlier proposal. It fails if the ConfigMap has changed since it was read.
    ///
    /// # Errors
    /// The failed request, with the message of the API server.
    pub async fn write(
        &self,
        seen: StoredProposal,
        proposal: Option<&Proposal>,
    ) -> Result<(), String> {
        let text = proposal.map(Proposal::text);
        let written = self.0.write(seen.map.as_ref(), |map| with_text(map, text.clone())).await;
        written.map(drop).map_err(|error| error.to_string())
    }

    /// Approves a proposal by its id. It fails if the ConfigMap has changed since it was read:
    /// another proposal would get the name of this person.
    ///
    /// # Errors
    /// [`StoreError::Conflict`], or the failed request with the message of the API server.
    pub async fn approve(
        &self,
        seen: &StoredProposal,
        id: &str,
        by: Option<&str>,
    ) -> Result<(), StoreError> {
        let version = seen.map.as_ref().and_then(|map| map.metadata.resource_version.as_ref());
        let annotations = json!({APPROVED: id, APPROVED_BY: by});
        let patch = json!({"metadata": {"resourceVersion": version, "annotations": annotations}});
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
        let patched = self.0.api.patch(&self.0.name, &parameters, &patch);
        self.0.checked("patch", patched).await.map(drop)
    }
}

impl StoredProposal {
    /// Returns the proposal if a person has approved it. An approval of another id does not count.
    pub fn proposal_if_approved(&self) -> Option<&Proposal> {
        let approved = self.approved.as_ref();
        self.proposal.as_ref().filter(|proposal| Some(&proposal.id) == approved)
    }

    fn of(mut map: ConfigMap) -> Self {
        map.metadata.managed_fields = None;
        let text = map.data.as_ref().and_then(|data| data.get(KEY));
        let annotations = map.metadata.annotations.as_ref();
        let annotation = |name: &str| annotations.and_then(|all| all.get(name)).cloned();
        StoredProposal {
            proposal: text.and_then(|text| serde_json::from_str(text).ok()),
            approved: annotation(APPROVED),
            approved_by: annotation(APPROVED_BY),
            map: Some(map),
        }
    }
}

fn with_text(mut map: ConfigMap, text: Option<String>) -> ConfigMap {
    let data = map.data.get_or_insert_default();
    match text {
        Some(text) => data.insert(KEY.to_owned(), text),
        None => data.remove(KEY),
    };
    if let Some(annotations) = &mut map.metadata.annotations {
        annotations.remove(APPROVED);
        annotations.remove(APPROVED_BY);
    }
    map
}
