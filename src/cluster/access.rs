//! The rights of an account, compared with the roles of the manifests.

use std::fmt;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec,
};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use serde::Deserialize;

use super::client::within_deadline;

/// The roles that the manifests grant.
const ROLES: &str = include_str!("../../deploy/base/rbac.yaml");
/// The role for steering.
const STEERING_ROLES: &str = include_str!("../../deploy/base/steering.yaml");
/// The Lease in those roles.
const LEASE: &str = "evenkeel";
/// The ledger in those roles.
const LEDGER: &str = "evenkeel-ledger";
/// The proposal in those roles.
const PROPOSAL: &str = "evenkeel-proposal";

/// A right that evenkeel needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededRight {
    group: String,
    resource: String,
    verb: String,
    name: Option<String>,
    namespace: Option<String>,
}

impl fmt::Display for NeededRight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        write!(f, "{} {}{dot}{}", self.verb, self.resource, self.group)?;
        match &self.name {
            Some(name) => write!(f, " {name}"),
            None => Ok(()),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleManifest {
    kind: String,
    #[serde(default)]
    rules: Vec<RoleRule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleRule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
}

/// The objects that an instance writes.
#[derive(Clone, Copy, Debug)]
pub struct OwnObjects<'n> {
    /// The namespace of the ledger and the proposal.
    pub namespace: &'n str,
    /// The name of the Lease.
    pub lease: &'n str,
    /// The namespace of the Lease.
    pub lease_namespace: &'n str,
    /// The name of the ledger.
    pub ledger: &'n str,
    /// The name of the proposal; `None` if the policy requires no approval.
    pub proposal: Option<&'n str>,
}

/// The rights that an instance with these objects needs: those that the roles of the manifests
/// grant.
pub fn needed(own: OwnObjects<'_>, steers: bool) -> Vec<NeededRight> {
    let files = [Some(ROLES), steers.then_some(STEERING_ROLES)];
    let mut rights = Vec::new();
    for file in files.into_iter().flatten() {
        // The files are part of the program, and a test reads them.
        let roles: Vec<RoleManifest> = serde_saphyr::from_multiple(file).unwrap_or_default();
        for role in roles {
            for rule in &role.rules {
                let within = (role.kind == "Role").then(|| rule.namespace(own));
                rights.extend(rule.rights(within, own));
            }
        }
    }
    rights
}

impl RoleRule {
    /// The namespace of the objects that the rule names.
    fn namespace<'n>(&self, own: OwnObjects<'n>) -> &'n str {
        let is_of_lease = self.resource_names.iter().any(|name| name == LEASE);
        if is_of_lease { own.lease_namespace } else { own.namespace }
    }

    fn rights(&self, namespace: Option<&str>, own: OwnObjects<'_>) -> Vec<NeededRight> {
        let used = self.resource_names.iter().filter_map(|name| match name.as_str() {
            LEASE => Some(own.lease),
            LEDGER => Some(own.ledger),
            PROPOSAL => own.proposal,
            other => Some(other),
        });
        let mut names: Vec<Option<String>> = used.map(|name| Some(name.to_owned())).collect();
        if self.resource_names.is_empty() {
            names.push(None);
        }
        let mut rights = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    for name in &names {
                        rights.push(NeededRight {
                            group: group.clone(),
                            resource: resource.clone(),
                            verb: verb.clone(),
                            name: name.clone(),
                            namespace: namespace.map(str::to_owned),
                        });
                    }
                }
            }
        }
        rights
    }
}

/// Asks the API server for the rights that are missing: of this account, or of a ServiceAccount
/// given as namespace and name.
///
/// # Errors
/// The message of the API server, if it does not answer the question.
pub async fn missing(
    client: &Client,
    needed: &[NeededRight],
    account: Option<(&str, &str)>,
) -> Result<Vec<NeededRight>, String> {
    let mut missing = Vec::new();
    for right in needed {
        if !allowed(client, right, account).await? {
            missing.push(right.clone());
        }
    }
    Ok(missing)
}

/// The objects that an instance uses by name, if they do not exist and the account may not create
/// them.
///
/// # Errors
/// The message of the API server, if it does not say what the account may create.
pub async fn absent(
    client: &Client,
    needed: &[NeededRight],
    account: Option<(&str, &str)>,
) -> Result<Vec<String>, String> {
    let mut absent = Vec::new();
    for right in needed.iter().filter(|right| right.verb == "get") {
        let (Some(namespace), Some(name)) = (&right.namespace, &right.name) else { continue };
        let kind = GroupVersionKind::gvk(&right.group, "v1", "");
        let kind = ApiResource::from_gvk_with_plural(&kind, &right.resource);
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
        // Without the right to read it, nothing says that it is absent.
        let found = within_deadline(api.get_opt(name)).await;
        let create = NeededRight { verb: "create".to_owned(), name: None, ..right.clone() };
        if matches!(found, Ok(None)) && !allowed(client, &create, account).await? {
            absent.push(format!("{} {namespace}/{name}", right.resource.trim_end_matches('s')));
        }
    }
    Ok(absent)
}

async fn allowed(
    client: &Client,
    right: &NeededRight,
    account: Option<(&str, &str)>,
) -> Result<bool, String> {
    let asked = attributes(right);
    let parameters = PostParams::default();
    let answer = match account {
        None => {
            let review = SelfSubjectAccessReview {
                spec: SelfSubjectAccessReviewSpec {
                    resource_attributes: Some(asked),
                    ..SelfSubjectAccessReviewSpec::default()
                },
                ..SelfSubjectAccessReview::default()
            };
            let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
            within_deadline(api.create(&parameters, &review)).await?.status
        }
        Some((namespace, name)) => {
            let review = SubjectAccessReview {
                spec: SubjectAccessReviewSpec {
                    resource_attributes: Some(asked),
                    user: Some(format!("system:serviceaccount:{namespace}:{name}")),
                    groups: Some(account_groups(namespace)),
                    ..SubjectAccessReviewSpec::default()
                },
                ..SubjectAccessReview::default()
            };
            let api: Api<SubjectAccessReview> = Api::all(client.clone());
            within_deadline(api.create(&parameters, &review)).await?.status
        }
    };
    Ok(answer.is_some_and(|status| status.allowed))
}

fn attributes(right: &NeededRight) -> ResourceAttributes {
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (right.resource.as_str(), None),
    };
    ResourceAttributes {
        group: Some(right.group.clone()),
        resource: Some(resource.to_owned()),
        subresource,
        verb: Some(right.verb.clone()),
        name: right.name.clone(),
        namespace: right.namespace.clone(),
        ..ResourceAttributes::default()
    }
}

/// The groups that every ServiceAccount has.
fn account_groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        "system:authenticated".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::client::tests::{fake, status};
    use super::*;

    const OWN: OwnObjects<'_> = OwnObjects {
        namespace: "balance",
        lease: "own-lease",
        lease_namespace: "locks",
        ledger: "own-ledger",
        proposal: None,
    };

    #[test]
    fn the_proposal_needs_rights_only_where_approvals_are_required() {
        let of_proposal = |proposal| {
            let needed = needed(OwnObjects { proposal, ..OWN }, false);
            let names = needed.iter().map(ToString::to_string);
            names.filter(|name| name.contains("proposal")).count()
        };
        assert_eq!((of_proposal(None), of_proposal(Some("own-proposal"))), (0, 2));
    }

    #[test]
    fn the_rights_are_those_of_the_manifests() {
        let names = |steers| -> Vec<String> {
            let needed = needed(OWN, steers);
            needed.iter().map(ToString::to_string).collect()
        };
        let rights = names(false);
        for right in [
            "list nodes",
            "create pods/eviction",
            "list pods.metrics.k8s.io",
            "update configmaps own-ledger",
            "update leases.coordination.k8s.io own-lease",
        ] {
            assert!(rights.iter().any(|r| r == right), "{right}: {rights:#?}");
        }
        assert!(!rights.contains(&"patch nodes".to_owned()));
        assert!(names(true).contains(&"patch nodes".to_owned()));
    }

    #[test]
    fn the_lease_may_be_in_another_namespace_than_the_ledger() {
        let needed = needed(OWN, false);
        let namespaces = |resource: &str| -> Vec<Option<&str>> {
            let of_it = needed.iter().filter(|right| right.resource == resource);
            of_it.map(|right| right.namespace.as_deref()).collect()
        };
        assert_eq!(namespaces("leases"), [Some("locks"); 2]);
        assert_eq!(namespaces("configmaps"), [Some("balance"); 2]);
        assert_eq!(namespaces("pods/eviction"), [None]);
    }

    #[tokio::test]
    async fn an_object_that_is_gone_is_absent_unless_the_account_may_create_it() {
        for (may_create, expected) in [(false, &["configmap balance/own-ledger"][..]), (true, &[])]
        {
            let (client, _) = fake(move |method, path, _| match method {
                "GET" if path.contains("own-ledger") => status(404, "gone"),
                "GET" => (200, r#"{"metadata":{}}"#.to_owned()),
                _ => (201, format!(r#"{{"spec":{{}},"status":{{"allowed":{may_create}}}}}"#)),
            })
            .await;
            let absent = absent(&client, &needed(OWN, true), None).await.unwrap();
            assert_eq!(absent, expected);
        }
    }

    #[tokio::test]
    async fn a_right_that_is_denied_is_missing() {
        let (client, requests) = fake(|_, _, body| {
            let allowed = !body.contains("\"eviction\"");
            let status = format!("{{\"allowed\":{allowed}}}");
            (201, format!("{{\"spec\":{{}},\"status\":{status}}}"))
        })
        .await;
        let needed = needed(OWN, false);
        let missing = missing(&client, &needed, Some(("balance", "own"))).await.unwrap();
        let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["create pods/eviction"]);
        let requests = requests.lock().unwrap();
        assert_eq!(requests.len(), needed.len());
        assert!(requests[0].1.contains("subjectaccessreviews"));
    }
}
