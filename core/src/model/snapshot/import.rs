//! Conversion of API objects to facts.
//!
//! A missing field gets the default of the API server. An invalid field makes this object
//! [`Skipped`], with a sentence that names the field, and does not affect other objects.

use jiff::Timestamp;
use serde_json::Value;

use crate::model::api::{
    ApiBudget, ApiBudgetSpec, ApiBudgetStatus, ApiClaim, ApiCsiNode, ApiIntOrString, ApiMetadata,
    ApiNode, ApiOwner, ApiPersistentVolume, ApiPod, ApiPriorityClass, ApiSelector, ApiService,
    ApiStorageClass, ApiTime, ApiVolumeAttachment, MetadataOnly,
};
use crate::values::selector::Selector;

use super::facts::{BudgetFacts, Effect, NamespaceFacts, Owner, Skipped, UidHash};
use super::objects::{Name, Object, ObjectKind};

use self::encoding::{Encoding, Json, Outline, Protobuf, Tree};

mod affinity;
mod containers;
mod controllers;
mod encoding;
mod gang;
mod killed;
mod limits;
mod node;
mod pod;
mod requests;
mod spread;
mod storage;

/// A description of an invalid field: its path, the value found and the expected form.
type Wrong = String;

/// Converts an object from a file. Returns `None` for a kind that is not kept, and the error for an
/// unreadable object.
#[expect(clippy::result_large_err, reason = "errors are rare and stored as they are")]
pub fn object(value: &Value) -> Result<Option<Object>, (ObjectKind, Skipped)> {
    let word = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (word("apiVersion"), word("kind"));
    let of_group =
        |one: &(&str, ObjectKind)| group(one.0) == group(version) && one.1.name() == kind;
    let Some((expected, kind)) = KINDS.into_iter().find(of_group) else {
        return Ok(None);
    };
    let tree = Tree(value);
    let read = if version == expected {
        read(kind, &tree)
    } else {
        let why = format!("apiVersion: found {version:?}, expected {expected}");
        Err(skipped(kind, &tree, why))
    };
    read.map(Some).map_err(|skipped| (kind, skipped))
}

/// Converts an object from JSON.
pub fn json(kind: ObjectKind, text: &[u8]) -> Result<Object, Skipped> {
    read(kind, &Json(text))
}

/// Converts an object from a protobuf message, without the envelope of Kubernetes.
pub fn protobuf(kind: ObjectKind, message: &[u8]) -> Result<Object, Skipped> {
    read(kind, &Protobuf(message))
}

/// The kinds that are kept, with the watched version of their group. No other one is supported.
const KINDS: [(&str, ObjectKind); 15] = [
    ("v1", ObjectKind::Node),
    ("v1", ObjectKind::Pod),
    ("policy/v1", ObjectKind::Budget),
    ("v1", ObjectKind::Namespace),
    ("scheduling.k8s.io/v1", ObjectKind::Class),
    ("v1", ObjectKind::Claim),
    ("v1", ObjectKind::Volume),
    ("storage.k8s.io/v1", ObjectKind::StorageClass),
    ("storage.k8s.io/v1", ObjectKind::CsiNode),
    ("storage.k8s.io/v1", ObjectKind::Attachment),
    ("v1", ObjectKind::Service),
    ("apps/v1", ObjectKind::ReplicaSet),
    ("v1", ObjectKind::ReplicationController),
    ("apps/v1", ObjectKind::StatefulSet),
    ("batch/v1", ObjectKind::Job),
];

/// Returns the kind for an apiVersion and kind; `None` if it is not kept.
pub fn kind_of(api_version: &str, kind: &str) -> Option<ObjectKind> {
    let mut kinds = KINDS.into_iter();
    let found = kinds.find(|(version, one)| *version == api_version && one.name() == kind);
    found.map(|(_, kind)| kind)
}

/// Returns the group of an apiVersion; an empty one for core kinds.
fn group(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

fn read(kind: ObjectKind, from: &impl Encoding) -> Result<Object, Skipped> {
    convert(kind, from).map_err(|why| skipped(kind, from, why))
}

fn skipped(kind: ObjectKind, from: &impl Encoding, why: Wrong) -> Skipped {
    let outline = from.outline(kind);
    let node = node_of(kind, &outline);
    Skipped {
        kind: kind.name().to_owned(),
        namespace: match outline.namespace.as_str() {
            _ if !namespaced(kind) => String::new(),
            "" => "default".to_owned(),
            _ => outline.namespace,
        },
        name: outline.name,
        node,
        why,
    }
}

/// Returns the node that an unreadable object tells something about.
#[expect(clippy::wildcard_enum_match_arm, reason = "other kinds belong to no node")]
fn node_of(kind: ObjectKind, outline: &Outline) -> Option<String> {
    match kind {
        ObjectKind::Pod | ObjectKind::Attachment => filled(&outline.node),
        ObjectKind::Node | ObjectKind::CsiNode => filled(&outline.name),
        _ => None,
    }
}

fn convert(kind: ObjectKind, from: &impl Encoding) -> Result<Object, Wrong> {
    Ok(match kind {
        ObjectKind::Node => Object::Node(node::read(&from.decode::<ApiNode>()?)?),
        ObjectKind::Pod => Object::Pod(Box::new(pod::read(&from.decode::<ApiPod>()?)?)),
        ObjectKind::Budget => Object::Budget(budget(&from.decode()?)?),
        ObjectKind::Namespace => {
            let meta = from.decode::<MetadataOnly>()?.metadata;
            let name = name_of(&meta)?;
            let facts = NamespaceFacts {
                deleting: meta.deletion_timestamp.is_some(),
                labels: meta.labels,
                annotations: meta.annotations,
            };
            Object::Namespace(name, facts)
        }
        ObjectKind::Class => {
            let class: ApiPriorityClass = from.decode()?;
            Object::Class(name_of(&class.metadata)?, class.value)
        }
        ObjectKind::Claim => {
            let (name, claim) = storage::claim(&from.decode::<ApiClaim>()?)?;
            Object::Claim(name, claim)
        }
        ObjectKind::Volume => {
            let (name, volume) = storage::volume(&from.decode::<ApiPersistentVolume>()?)?;
            Object::Volume(name, volume)
        }
        ObjectKind::StorageClass => {
            let (name, class) = storage::class(&from.decode::<ApiStorageClass>()?)?;
            Object::StorageClass(name, class)
        }
        ObjectKind::CsiNode => {
            let (name, drivers) = storage::csi_node(&from.decode::<ApiCsiNode>()?)?;
            Object::CsiNode(name, drivers)
        }
        ObjectKind::Attachment => {
            let (name, attachment) = storage::attachment(&from.decode::<ApiVolumeAttachment>()?)?;
            Object::Attachment(name, attachment)
        }
        ObjectKind::Service => {
            let service: ApiService = from.decode()?;
            Object::Service(full_name(&service.metadata)?, service.spec.selector)
        }
        ObjectKind::ReplicaSet | ObjectKind::ReplicationController => {
            let (name, facts) = controllers::replica_set(&from.decode()?)?;
            Object::Owner(kind, name, facts)
        }
        ObjectKind::StatefulSet => {
            let (name, facts) = controllers::stateful_set(&from.decode()?)?;
            Object::Owner(kind, name, facts)
        }
        ObjectKind::Job => {
            let (name, facts) = controllers::job(&from.decode()?)?;
            Object::Owner(kind, name, facts)
        }
    })
}

fn controller(meta: &ApiMetadata) -> Option<Owner> {
    owners_of(meta).into_iter().find(|owner| owner.controller)
}

const fn namespaced(kind: ObjectKind) -> bool {
    !matches!(
        kind,
        ObjectKind::Node
            | ObjectKind::Namespace
            | ObjectKind::Class
            | ObjectKind::Volume
            | ObjectKind::StorageClass
            | ObjectKind::CsiNode
            | ObjectKind::Attachment
    )
}

fn name_of(meta: &ApiMetadata) -> Result<String, Wrong> {
    filled(&meta.name).ok_or_else(|| "metadata.name is missing".to_owned())
}

fn namespace_of(meta: &ApiMetadata) -> String {
    filled(&meta.namespace).unwrap_or_else(|| "default".to_owned())
}

fn full_name(meta: &ApiMetadata) -> Result<Name, Wrong> {
    Ok((namespace_of(meta), name_of(meta)?))
}

/// Returns the uid. An object of a hand-written file may have none, and gets one that no other
/// object of the file has: pods would otherwise be taken for each other.
fn uid_of(kind: &str, meta: &ApiMetadata) -> Result<String, Wrong> {
    match filled(&meta.uid) {
        Some(uid) => Ok(uid),
        None => Ok(format!("{kind}/{}/{}", namespace_of(meta), name_of(meta)?)),
    }
}

/// Returns the text unless it is empty, which means missing.
fn filled(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn time(field: &str, found: Option<ApiTime>) -> Result<Option<Timestamp>, Wrong> {
    let Some(time) = found else { return Ok(None) };
    time.timestamp().map_err(|error| format!("{field}: {error}"))
}

fn annotation<'m>(meta: &'m ApiMetadata, name: &str) -> Option<&'m str> {
    meta.annotations.get(name).map(String::as_str)
}

fn owners_of(meta: &ApiMetadata) -> Vec<Owner> {
    let owner = |o: &ApiOwner| Owner {
        kind: o.kind.clone(),
        name: o.name.clone(),
        controller: o.controller,
        // Kinds of the core have no group: `v1`.
        group: o.api_version.split_once('/').map_or("", |(group, _)| group).to_owned(),
        uid: UidHash::of(&o.uid),
    };
    meta.owner_references.iter().map(owner).collect()
}

fn effect(field: &str, found: &str) -> Result<Effect, Wrong> {
    match found {
        "NoSchedule" => Ok(Effect::NoSchedule),
        "PreferNoSchedule" => Ok(Effect::PreferNoSchedule),
        "NoExecute" => Ok(Effect::NoExecute),
        _ => Err(format!(
            "{field}: found {found:?}, expected NoSchedule, PreferNoSchedule or NoExecute"
        )),
    }
}

fn budget(budget: &ApiBudget) -> Result<BudgetFacts, Wrong> {
    let (meta, spec, status) = (&budget.metadata, &budget.spec, &budget.status);
    let selector = spec.selector.as_ref();
    Ok(BudgetFacts {
        namespace: namespace_of(meta),
        name: name_of(meta)?,
        controller: controller(meta),
        selector: selector.map(|s| label_selector("spec.selector", s)).transpose()?,
        allowed: count("status.disruptionsAllowed", status.disruptions_allowed)?,
        healthy: count("status.currentHealthy", status.current_healthy)?,
        desired: count("status.desiredHealthy", status.desired_healthy)?,
        expected: count("status.expectedPods", status.expected_pods)?,
        forbids: forbids(spec),
        sync_failed: sync_failed(status),
        stale: status.observed_generation < meta.generation,
        always_unhealthy: always_unhealthy(&spec.unhealthy_pod_eviction_policy)?,
    })
}

/// The field that never allows a disruption, however many replicas there are.
fn forbids(spec: &ApiBudgetSpec) -> Option<String> {
    let share = |value: &ApiIntOrString| value.shown().strip_suffix('%')?.parse::<u32>().ok();
    let none = |value: &&ApiIntOrString| value.shown() == "0" || share(value) == Some(0);
    let all = |value: &&ApiIntOrString| share(value).is_some_and(|percent| percent >= 100);
    let most = spec.max_unavailable.as_ref().filter(none);
    let least = spec.min_available.as_ref().filter(all);
    let most = most.map(|value| format!("maxUnavailable: {}", value.shown()));
    most.or_else(|| least.map(|value| format!("minAvailable: {}", value.shown())))
}

fn sync_failed(status: &ApiBudgetStatus) -> Option<String> {
    let failed = status.conditions.iter().find(|condition| {
        condition.kind == "DisruptionAllowed"
            && condition.status == "False"
            && condition.reason == "SyncFailed"
    });
    failed.map(|condition| match condition.message.as_str() {
        "" => condition.reason.clone(),
        message => message.to_owned(),
    })
}

fn always_unhealthy(policy: &str) -> Result<bool, Wrong> {
    match policy {
        "AlwaysAllow" => Ok(true),
        "" | "IfHealthyBudget" => Ok(false),
        other => Err(format!(
            "spec.unhealthyPodEvictionPolicy: found {other:?}, expected IfHealthyBudget or AlwaysAllow"
        )),
    }
}

fn count(field: &str, found: i32) -> Result<u32, Wrong> {
    u32::try_from(found).map_err(|_| format!("{field}: found {found}, expected a count"))
}

fn label_selector(field: &str, selector: &ApiSelector) -> Result<Selector, Wrong> {
    let parts = selector
        .match_expressions
        .iter()
        .map(|e| (e.key.clone(), e.operator.clone(), e.values.clone()));
    Selector::from_parts(&selector.match_labels, parts).map_err(|error| format!("{field}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::snapshot::facts::{
        CreationFailure, Image, NodeClosure, NodeFacts, NodeFeature, OwnerFacts, Taint, WhenEvicted,
    };
    use crate::values::Amount;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json as tree;

    /// Parses an object from YAML.
    pub(super) fn yaml(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap()
    }

    pub(super) fn facts_of(text: &str) -> Object {
        object(&yaml(text)).unwrap().unwrap()
    }

    pub(super) fn why_not(text: &str) -> Skipped {
        object(&yaml(text)).unwrap_err().1
    }

    fn node_of(text: &str) -> NodeFacts {
        let Object::Node(node) = facts_of(text) else { panic!("{text}") };
        node
    }

    fn budget_of(text: &str) -> BudgetFacts {
        let Object::Budget(budget) = facts_of(text) else { panic!("{text}") };
        budget
    }

    #[test]
    fn a_node_is_converted() {
        let node = node_of(
            "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}},
              spec: {unschedulable: true, taints: [{key: gpu, value: t4, effect: NoSchedule},
                {key: x, effect: NoExecute}]},
              status: {images: [{names: ['web:7'], sizeBytes: 9}],
                allocatable: {cpu: 7910m, memory: 4Ki, pods: 110}, capacity: {cpu: 8},
                       conditions: [{type: Ready, status: 'True'}, {type: DiskPressure, status: \
                'False'}]}}",
        );
        let taint =
            |key: &str, value: &str, effect| Taint { key: key.into(), value: value.into(), effect };
        let expected = NodeFacts {
            name: "n1".into(),
            labels: [("zone".to_owned(), "a".to_owned())].into(),
            taints: vec![taint("gpu", "t4", Effect::NoSchedule), taint("x", "", Effect::NoExecute)],
            ready: true,
            closures: vec![NodeClosure::Cordoned],
            allocatable: vec![
                ("cpu".into(), Amount::millicores(7910)),
                ("memory".into(), Amount::new(4096)),
                ("pods".into(), Amount::new(110)),
            ],
            capacity: vec![("cpu".into(), Amount::millicores(8000))],
            images: vec![Image { names: vec!["web:7".into()], size: 9 }.into()],
            ..NodeFacts::default()
        };
        assert_eq!(node, expected);
    }

    #[test]
    fn only_the_value_true_of_these_annotations_keeps_a_node() {
        let keeps = |annotation: &str, value: &str| {
            let node = format!(
                "{{apiVersion: v1, kind: Node, metadata: {{name: n1,
                  annotations: {{{annotation}: '{value}'}}}}}}"
            );
            node_of(&node).unremovable
        };
        let [autoscaler, karpenter] =
            ["cluster-autoscaler.kubernetes.io/scale-down-disabled", "karpenter.sh/do-not-disrupt"];
        assert_eq!(
            ["true", "false", "True", ""].map(|value| keeps(autoscaler, value)),
            [Some(autoscaler), None, None, None]
        );
        assert_eq!(keeps(karpenter, "true"), Some(karpenter));
        assert_eq!(keeps("other", "true"), None);
    }

    #[test]
    fn a_node_without_allocatable_uses_its_capacity() {
        let node = node_of(
            "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {}, capacity: {pods: '9'}}}",
        );
        assert_eq!(node.allocatable, [("pods".to_owned(), Amount::new(9))]);
        let bare = node_of("{apiVersion: v1, kind: Node, metadata: {name: n1}}");
        assert!(bare.allocatable.is_empty() && bare.ready);
        assert_eq!(bare.closures, [NodeClosure::NeverReady]);
    }

    #[test]
    fn a_node_without_a_ready_condition_is_ready_for_descheduler_and_takes_no_pods() {
        for (conditions, ready) in [
            ("[]", true),
            ("[{type: Ready, status: 'False'}]", false),
            ("[{type: Ready, status: Unknown}]", false),
        ] {
            let text = format!(
                "{{apiVersion: v1, kind: Node, metadata: {{name: n1}},
                  status: {{conditions: {conditions}}}}}"
            );
            let node = node_of(&text);
            assert_eq!(node.ready, ready, "{conditions}");
            let never = node.is_closed_by(NodeClosure::NeverReady);
            assert_eq!(never, conditions == "[]", "{conditions}");
        }
    }

    #[test]
    fn a_deletion_a_cordon_taints_of_autoscalers_and_true_conditions_close_a_node() {
        let node = node_of(
            "{apiVersion: v1, kind: Node, metadata: {name: n1,
                deletionTimestamp: '2026-11-21T07:30:00Z'}, spec: {unschedulable: true, taints: [
                {key: ToBeDeletedByClusterAutoscaler, effect: NoSchedule},
                {key: karpenter.sh/disrupted, effect: NoSchedule}]}, status: {conditions: [
                {type: PIDPressure, status: 'True'}, {type: DiskPressure, status: 'False'},
                {type: Ready, status: 'True'}, {type: NetworkUnavailable, status: 'True'}]}}",
        );
        let closures = [
            NodeClosure::Deleting,
            NodeClosure::Leaving,
            NodeClosure::Cordoned,
            NodeClosure::PidPressure,
            NodeClosure::NetworkUnavailable,
        ];
        assert_eq!(node.closures, closures);
    }

    #[test]
    fn the_report_of_the_kubelet_goes_before_the_label_with_the_operating_system() {
        let os = |labels: &str, info: &str| {
            let node = format!(
                "{{apiVersion: v1, kind: Node, metadata: {{name: n1, labels: {labels}}},
                  status: {{nodeInfo: {info}}}}}"
            );
            node_of(&node).os
        };
        let (label, info) = ("{kubernetes.io/os: linux}", "{operatingSystem: windows}");
        assert_eq!(os("{}", "{}"), None);
        assert_eq!(os(label, "{}").as_deref(), Some("linux"));
        assert_eq!(os(label, info).as_deref(), Some("windows"));
    }

    #[test]
    fn pods_need_features_and_nodes_report_them() {
        let all = [
            NodeFeature::StrictGroups,
            NodeFeature::UserNamespaces,
            NodeFeature::Handler("gvisor".to_owned()),
        ];
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {hostUsers: false,
            runtimeClassName: gvisor, securityContext: {supplementalGroupsPolicy: Strict}}}";
        let Object::Pod(pod) = facts_of(pod) else { panic!("a pod") };
        assert_eq!(pod.needs, all);
        let node = |can: bool| {
            let node = format!(
                "{{apiVersion: v1, kind: Node, metadata: {{name: n1}}, status: {{
                    features: {{supplementalGroupsPolicy: {can}}}, runtimeHandlers: [
                    {{name: '', features: {{userNamespaces: {can}}}}}, {{name: gvisor}}]}}}}"
            );
            node_of(&node).features
        };
        assert_eq!(node(true), all);
        assert_eq!(node(false), all[2..]);
    }

    #[test]
    fn a_missing_budget_selector_differs_from_an_empty_one() {
        let text = |spec: &str| {
            format!(
                "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: b}},
                  spec: {spec}}}"
            )
        };
        assert_eq!(budget_of(&text("{}")).selector, None);
        assert_eq!(budget_of(&text("{selector: {}}")).selector, Some(Selector::default()));
        let some = "{selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: \
            In, values: [a, b]}]}}";
        assert_eq!(budget_of(&text(some)).selector.unwrap().to_string(), "app=web,tier in (a,b)");
        let like = "{selector: {matchExpressions: [{key: tier, operator: Like}]}}";
        assert!(why_not(&text(like)).why.starts_with("spec.selector: unknown operator \"Like\""));
    }

    #[test]
    fn a_budget_is_stale_until_its_controller_observes_the_latest_spec() {
        let budget = budget_of(
            "{apiVersion: policy/v1, kind: PodDisruptionBudget,
             metadata: {name: b, namespace: shop, generation: 3},
              spec: {selector: {}, unhealthyPodEvictionPolicy: AlwaysAllow},
              status: {observedGeneration: 2, disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2}}",
        );
        let expected = BudgetFacts {
            namespace: "shop".into(),
            name: "b".into(),
            selector: Some(Selector::default()),
            allowed: 1,
            healthy: 3,
            desired: 2,
            stale: true,
            always_unhealthy: true,
            ..BudgetFacts::default()
        };
        assert_eq!(budget, expected);
    }

    #[test]
    fn namespaces_priority_classes_services_and_owners_are_converted() {
        let shown = |text: &str| format!("{:?}", facts_of(text));
        let namespace = shown(
            "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: a},
                deletionTimestamp: '2026-11-21T07:30:00Z'}}",
        );
        let facts = r#"{ labels: {"team": "a"}, annotations: {}, deleting: true }"#;
        assert_eq!(namespace, format!("Namespace(\"shop\", NamespaceFacts {facts})"));
        let class = shown(
            "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 7}",
        );
        assert_eq!(class, r#"Class("high", 7)"#);
        let service = shown(
            "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}",
        );
        assert_eq!(service, r#"Service(("default", "web"), {"app": "web"})"#);
    }

    fn owner_of(text: &str) -> OwnerFacts {
        let Object::Owner(_, _, facts) = facts_of(text) else { panic!("{text}") };
        facts
    }

    #[test]
    fn a_controller_is_below_the_owner_that_is_its_controller() {
        let set = owner_of(
            "{apiVersion: apps/v1, kind: ReplicaSet,
             metadata: {name: web-1, namespace: shop, ownerReferences:
               [{kind: Other, name: o},
                {apiVersion: apps/v1, kind: Deployment, name: web, controller: true}]},
             spec: {replicas: 3, template: {spec: {nodeName: n1}}}}",
        );
        let above = set.above.unwrap();
        assert_eq!((above.group.as_str(), above.name.as_str()), ("apps", "web"));
        assert_eq!((set.wanted, set.node.as_deref()), (Some(3), Some("n1")));
    }

    #[test]
    fn a_replica_set_fails_while_it_cannot_create_pods() {
        let fails = |kind: &str, condition: &str| {
            let set = format!(
                "{{{kind}, metadata: {{name: s}}, status: {{conditions: [{{{condition}}}]}}}}"
            );
            owner_of(&set).fails
        };
        let set = "apiVersion: apps/v1, kind: ReplicaSet";
        let failure = "type: ReplicaFailure, status: 'True'";
        let other = Some(CreationFailure::Other);
        assert_eq!(fails(set, &format!("{failure}, reason: FailedCreate")), other);
        assert_eq!(fails("apiVersion: v1, kind: ReplicationController", failure), other);
        assert_eq!(fails(set, &format!("{failure}, reason: FailedDelete")), None);
        assert_eq!(fails(set, "type: ReplicaFailure, status: 'False'"), None);
        assert_eq!(fails(set, "type: Other, status: 'True'"), None);
        let quota = "message: 'pods \"s-1\" is forbidden: exceeded quota: compute'";
        assert_eq!(fails(set, &format!("{failure}, {quota}")), Some(CreationFailure::Quota));
    }

    #[test]
    fn a_job_without_fields_has_the_defaults_of_the_api_server() {
        let job = owner_of("{apiVersion: batch/v1, kind: Job, metadata: {name: j}}");
        assert_eq!((job.wanted, job.deleting, job.above), (None, false, None));
        let job = job.job.unwrap();
        assert_eq!((job.backoff_limit, job.backoff_limit_per_index), (6, None));
        assert_eq!(job.when_evicted, WhenEvicted::Counts);
    }

    #[test]
    fn a_job_wants_the_pods_that_it_still_needs() {
        let wanted = |spec: &str, status: &str| {
            let job = format!(
                "{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{{spec}}}, status: {{{status}}}}}"
            );
            owner_of(&job).wanted
        };
        assert_eq!(wanted("parallelism: 4, completions: 5", "succeeded: 3"), Some(2));
        assert_eq!(wanted("parallelism: 2, completions: 5", ""), Some(2));
        assert_eq!(wanted("parallelism: 3", ""), Some(3));
        assert_eq!(wanted("parallelism: 3", "succeeded: 1"), Some(0));
        assert_eq!(wanted("parallelism: 3, suspend: true", ""), Some(0));
        let ended = "conditions: [{type: FailureTarget, status: 'True'}]";
        assert_eq!(wanted("parallelism: 3", ended), Some(0));
        assert_eq!(wanted("", ""), None);
    }

    #[test]
    fn the_failures_of_a_job_are_counted_as_its_controller_does() {
        let job = |spec: &str| {
            let job = format!(
                "{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{{spec}}},
                  status: {{failed: 1, uncountedTerminatedPods: {{failed: [u1, u2]}}}}}}"
            );
            let facts = owner_of(&job).job.unwrap();
            (facts.failed, facts.counts_late)
        };
        assert_eq!(job(""), (3, false));
        assert_eq!(job("podReplacementPolicy: TerminatingOrFailed"), (3, false));
        assert_eq!(job("podReplacementPolicy: Failed"), (3, true));
        assert_eq!(job("podFailurePolicy: {rules: []}"), (3, true));
    }

    #[test]
    fn the_first_rule_that_matches_an_evicted_pod_decides() {
        let rules = |rules: &str| {
            let job = format!(
                "{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{podFailurePolicy: {{rules: [{rules}]}}}}}}"
            );
            owner_of(&job).job.unwrap().when_evicted
        };
        let ignores = "{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}";
        let other = "{action: FailJob, onPodConditions: [{type: ConfigIssue, status: 'True'}]}";
        let code = |operator: &str, codes: &str| {
            format!(
                "{{action: FailJob, onExitCodes: {{operator: {operator}, values: [{codes}]}}}}, {ignores}"
            )
        };
        assert_eq!(rules(""), WhenEvicted::Counts);
        assert_eq!(rules(ignores), WhenEvicted::Ignored);
        assert_eq!(rules(&format!("{other}, {ignores}")), WhenEvicted::Ignored);
        assert_eq!(rules(&code("In", "42")), WhenEvicted::Ignored);
        assert_eq!(rules(&code("In", "42, 137")), WhenEvicted::FailsJob);
        assert_eq!(rules(&code("NotIn", "0")), WhenEvicted::FailsJob);
        let fails = ignores.replace("Ignore", "FailIndex");
        assert_eq!(rules(&format!("{fails}, {ignores}")), WhenEvicted::FailsIndex);
        let untrue =
            "{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'False'}]}";
        assert_eq!(rules(untrue), WhenEvicted::Counts);
    }

    #[test]
    fn other_kinds_are_ignored() {
        for other in [
            "{apiVersion: v1, kind: Secret, metadata: {name: s}}",
            "{apiVersion: example.com/v1, kind: Node}",
            "[]",
            "7",
        ] {
            assert!(object(&yaml(other)).unwrap().is_none(), "{other}");
        }
    }

    #[test]
    fn an_invalid_object_is_skipped_with_its_name_and_field() {
        let skipped = why_not(
            "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: \
                many}}}",
        );
        assert_eq!(
            (skipped.kind.as_str(), skipped.name.as_str(), skipped.node.as_deref()),
            ("Node", "n1", Some("n1"))
        );
        assert!(skipped.why.starts_with("status.allocatable.cpu: "), "{}", skipped.why);
        let taint = why_not(
            "{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {taints: [{key: a, effect: \
                Never}]}}",
        );
        assert_eq!(
            taint.why,
            "spec.taints[0].effect: found \"Never\", expected NoSchedule, PreferNoSchedule or NoExecute"
        );
        assert_eq!(
            why_not("{apiVersion: v1, kind: Namespace, metadata: {}}").why,
            "metadata.name is missing"
        );
    }

    #[test]
    fn an_object_with_wrong_types_is_skipped_with_its_name() {
        let broken = "{\"metadata\": {\"name\": \"p\", \"namespace\": \"shop\"}, \"spec\": {\"nodeName\": \"n1\", \"containers\": 7}}";
        let skipped = json(ObjectKind::Pod, broken.as_bytes()).unwrap_err();
        assert_eq!(skipped.to_string().split(": ").next(), Some("Pod shop/p cannot be read"));
        assert_eq!(skipped.node.as_deref(), Some("n1"));
        let wrong_set = r#"{"metadata": {"name": "s", "ownerReferences": {}}}"#;
        assert_eq!(
            json(ObjectKind::ReplicaSet, wrong_set.as_bytes()).unwrap_err().namespace,
            "default"
        );
        let wrong_node = r#"{"metadata": {"name": "n1", "labels": []}}"#;
        assert_eq!(json(ObjectKind::Node, wrong_node.as_bytes()).unwrap_err().namespace, "");
        assert_eq!(json(ObjectKind::Node, b"no json").unwrap_err().name, "");
    }

    fn pointers(value: &Value, at: &str, into: &mut Vec<String>) {
        into.push(at.to_owned());
        match value {
            Value::Object(map) => {
                map.iter().for_each(|(k, v)| {
                    pointers(v, &format!("{at}/{}", k.replace('/', "~1")), into);
                });
            }
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(i, v)| pointers(v, &format!("{at}/{i}"), into));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The facts of a pod from protobuf and from JSON; `None` if the value is no pod.
    fn in_both(value: &Value) -> Option<[Result<String, Skipped>; 2]> {
        let pod = ApiPod::deserialize(value).ok()?;
        let shown = |object: Object| format!("{object:?}");
        let message = prost::Message::encode_to_vec(&pod);
        let text = value.to_string();
        Some([
            protobuf(ObjectKind::Pod, &message).map(shown),
            json(ObjectKind::Pod, text.as_bytes()).map(shown),
        ])
    }

    proptest! {
        #[test]
        fn whatever_stands_in_a_field_nothing_panics_and_both_encodings_agree(
            which in 0..3usize,
            place in any::<prop::sample::Index>(),
            text in "[-0-9A-Za-z.]{0,8}",
            number in prop_oneof![any::<i64>(), any::<i32>().prop_map(i64::from)],
            choice in 0..7,
        ) {
            let mut value = yaml([pod::tests::RICH, NODE, BUDGET][which]);
            let mut places = Vec::new();
            pointers(&value, "", &mut places);
            let place = &places[place.index(places.len())];
            *value.pointer_mut(place).unwrap() = match choice {
                0 => tree!(text), 1 => tree!(number), 2 => tree!(null), 3 => tree!([text]),
                    4 => tree!({ text: number }), 5 => tree!([]),
                _ => tree!({}),
            };
            if which == 0 && let Some([from_protobuf, from_json]) = in_both(&value) {
                prop_assert_eq!(from_protobuf, from_json);
            }
            if let Err((kind, skipped)) = object(&value) {
                prop_assert_eq!(kind.name(), skipped.kind);
                prop_assert!(!skipped.why.is_empty());
            }
            let text = value.to_string();
            let _ = super::json(ObjectKind::Pod, text.as_bytes());
            let _ = super::json(ObjectKind::Pod, &text.as_bytes()[..text.len() / 2]);
        }
    }

    #[test]
    fn an_unreadable_object_of_a_node_names_the_node() {
        let csi_node = why_not(
            "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n2},
              spec: {drivers: [{name: ebs, allocatable: {count: none}}]}}",
        );
        assert_eq!(csi_node.node.as_deref(), Some("n2"));
        let attachment = why_not(
            "{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a},
              spec: {attacher: 7, nodeName: n3}}",
        );
        assert_eq!(attachment.node.as_deref(), Some("n3"));
        // The fields `name` of the metadata, and `attacher` and `nodeName` of the spec.
        let message = b"\x0a\x03\x0a\x01a\x12\x07\x0a\x01\xff\x1a\x02n3";
        let skipped = protobuf(ObjectKind::Attachment, message).unwrap_err();
        assert_eq!((skipped.name.as_str(), skipped.node.as_deref()), ("a", Some("n3")));
    }

    #[test]
    fn an_unreadable_message_is_skipped_with_its_names() {
        let value = yaml(pod::tests::RICH);
        let pod = ApiPod::deserialize(&value).unwrap();
        let mut message = prost::Message::encode_to_vec(&pod);
        let label = message.windows(3).position(|w| w == b"web").unwrap();
        // Labels must be UTF-8. The name of the pod is the first "web" and stays readable.
        let key = message.windows(3).position(|w| w == b"app").unwrap();
        assert!(label < key);
        message[key] = 0xff;
        let skipped = protobuf(ObjectKind::Pod, &message).unwrap_err();
        assert_eq!(
            (skipped.namespace.as_str(), skipped.name.as_str(), skipped.node.as_deref()),
            ("shop", "web-1", Some("n1"))
        );
        let empty = protobuf(ObjectKind::Pod, b"\xff").unwrap_err();
        assert_eq!((empty.namespace.as_str(), empty.name.as_str()), ("default", ""));
    }

    const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}},
         spec: {unschedulable: true,
        taints: [{key: gpu, value: t4, effect: NoSchedule}]},
          status: {images: [{names: ['web:7'], sizeBytes: 9}],
            allocatable: {cpu: 7910m, memory: 4Ki},
        conditions: [{type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}]}}";

    const BUDGET: &str =
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, generation: 3},
        spec: {selector: {matchExpressions: [{key: a, operator: In, values: [b]}]},
          minAvailable: 50%},
        status: {observedGeneration: 2, disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: \
        2}}";
}
