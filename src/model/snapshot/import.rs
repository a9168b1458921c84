//! Conversion of API objects to facts.
//!
//! A missing field gets the default of the API server. An invalid field makes this object
//! [`Skipped`], with a sentence that names the field, and does not affect other objects.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1 as storage_v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::values::selector::{Labels, Selector};

use super::facts::{
    AttachLimits, BudgetFacts, Claim, Effect, NodeFacts, Owner, PodFacts, Skipped, StorageClass,
    Volume,
};
use super::objects::{Name, Object, ObjectKind};

mod affinity;
mod containers;
mod gang;
mod limits;
mod node;
mod pod;
mod requests;
mod spread;
mod storage;

/// A description of an invalid field: its path, the value found and the expected form.
type Wrong = String;

/// The namespace and name: the rest of an unreadable object.
#[derive(Default)]
struct ObjectName {
    namespace: String,
    name: String,
    node: Option<String>,
}

/// Converts a node.
pub fn node(node: &core::Node) -> Result<NodeFacts, Skipped> {
    node::read(node).map_err(|why| skipped(ObjectKind::Node, &node.metadata, why))
}

/// Converts a pod.
pub fn pod(pod: &core::Pod) -> Result<PodFacts, Skipped> {
    pod::read(pod).map_err(|why| {
        let node = pod
            .spec
            .as_ref()
            .and_then(|s| s.node_name.clone())
            .filter(|n| !n.is_empty());
        Skipped {
            node,
            ..skipped(ObjectKind::Pod, &pod.metadata, why)
        }
    })
}

/// Converts a PodDisruptionBudget.
pub fn budget(budget: &PodDisruptionBudget) -> Result<BudgetFacts, Skipped> {
    read_budget(budget).map_err(|why| skipped(ObjectKind::Budget, &budget.metadata, why))
}

/// Returns the name and labels of a namespace.
pub fn namespace(namespace: &core::Namespace) -> Result<(String, Labels), Skipped> {
    let meta = &namespace.metadata;
    let name = name_of(meta).map_err(|why| skipped(ObjectKind::Namespace, meta, why))?;
    Ok((name, meta.labels.clone().unwrap_or_default()))
}

/// Returns the name and value of a PriorityClass.
pub fn class(class: &PriorityClass) -> Result<(String, i32), Skipped> {
    let name =
        name_of(&class.metadata).map_err(|why| skipped(ObjectKind::Class, &class.metadata, why))?;
    Ok((name, class.value.unwrap_or_default()))
}

/// Returns the name and facts of a PersistentVolumeClaim.
pub fn claim(claim: &core::PersistentVolumeClaim) -> Result<(Name, Claim), Skipped> {
    storage::claim(claim).map_err(|why| skipped(ObjectKind::Claim, &claim.metadata, why))
}

/// Returns the name and facts of a PersistentVolume.
pub fn volume(volume: &core::PersistentVolume) -> Result<(String, Volume), Skipped> {
    storage::volume(volume).map_err(|why| skipped(ObjectKind::Volume, &volume.metadata, why))
}

/// Returns the name and facts of a StorageClass.
pub fn storage_class(class: &storage_v1::StorageClass) -> Result<(String, StorageClass), Skipped> {
    storage::class(class).map_err(|why| skipped(ObjectKind::StorageClass, &class.metadata, why))
}

/// Returns the name of a node and its attach limits.
pub fn csi_node(node: &storage_v1::CSINode) -> Result<(String, AttachLimits), Skipped> {
    storage::csi_node(node).map_err(|why| skipped(ObjectKind::CsiNode, &node.metadata, why))
}

/// Returns the name and pod selector of a service; the selector is empty if it selects no pods.
pub fn service(service: &core::Service) -> Result<(Name, Labels), Skipped> {
    let meta = &service.metadata;
    let name = name_of(meta).map_err(|why| skipped(ObjectKind::Service, meta, why))?;
    let selector = service.spec.as_ref().and_then(|s| s.selector.clone());
    Ok(((namespace_of(meta), name), selector.unwrap_or_default()))
}

/// Returns the name and controller of an object between pods and their workload.
pub fn owner(kind: ObjectKind, meta: &ObjectMeta) -> Result<(Name, Option<Owner>), Skipped> {
    let name = name_of(meta).map_err(|why| skipped(kind, meta, why))?;
    let owners = owners_of(meta);
    let above = owners
        .iter()
        .find(|o| o.controller)
        .or(owners.first())
        .cloned();
    Ok(((namespace_of(meta), name), above))
}

/// Converts an object from a file. Returns `None` for a kind that is not kept, and the error for an
/// unreadable object.
#[expect(
    clippy::result_large_err,
    reason = "errors are rare and stored as they are"
)]
pub fn object(value: &Value) -> Result<Option<Object>, (ObjectKind, Skipped)> {
    let word = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let Some(kind) = kind_of(word("apiVersion"), word("kind")) else {
        return Ok(None);
    };
    let read = decode(kind, value).unwrap_or_else(|error| Err(unreadable(kind, value, &error)));
    read.map(Some).map_err(|skipped| (kind, skipped))
}

/// Converts an object from its JSON text, as lists and watches deliver it.
pub fn text(kind: ObjectKind, json: &str) -> Result<Object, Skipped> {
    decode(kind, &mut serde_json::Deserializer::from_str(json)).unwrap_or_else(|error| {
        let value: Value = serde_json::from_str(json).unwrap_or_default();
        Err(unreadable(kind, &value, &error))
    })
}

/// Returns the kind for an apiVersion and kind; `None` if it is not kept. Only the watched version
/// of each group is supported.
fn kind_of(api_version: &str, kind: &str) -> Option<ObjectKind> {
    Some(match (api_version, kind) {
        ("v1", "Node") => ObjectKind::Node,
        ("v1", "Pod") => ObjectKind::Pod,
        ("policy/v1", "PodDisruptionBudget") => ObjectKind::Budget,
        ("v1", "Namespace") => ObjectKind::Namespace,
        ("scheduling.k8s.io/v1", "PriorityClass") => ObjectKind::Class,
        ("v1", "PersistentVolumeClaim") => ObjectKind::Claim,
        ("v1", "PersistentVolume") => ObjectKind::Volume,
        ("storage.k8s.io/v1", "StorageClass") => ObjectKind::StorageClass,
        ("storage.k8s.io/v1", "CSINode") => ObjectKind::CsiNode,
        ("v1", "Service") => ObjectKind::Service,
        ("apps/v1", "ReplicaSet") => ObjectKind::ReplicaSet,
        ("v1", "ReplicationController") => ObjectKind::ReplicationController,
        ("batch/v1", "Job") => ObjectKind::Job,
        _ => return None,
    })
}

/// The metadata of an object. It suffices for objects between pods and workloads, and servers can
/// return just this.
#[derive(Deserialize)]
struct MetadataOnly {
    #[serde(default)]
    metadata: ObjectMeta,
}

/// Parses an object. The outer error is a JSON type mismatch, the inner one an invalid value.
fn decode<'de, D: Deserializer<'de>>(
    kind: ObjectKind,
    from: D,
) -> Result<Result<Object, Skipped>, D::Error> {
    Ok(match kind {
        ObjectKind::Node => node(&core::Node::deserialize(from)?).map(Object::Node),
        ObjectKind::Pod => {
            pod(&core::Pod::deserialize(from)?).map(|pod| Object::Pod(Box::new(pod)))
        }
        ObjectKind::Budget => budget(&PodDisruptionBudget::deserialize(from)?).map(Object::Budget),
        ObjectKind::Namespace => namespace(&core::Namespace::deserialize(from)?)
            .map(|(name, labels)| Object::Namespace(name, labels)),
        ObjectKind::Class => class(&PriorityClass::deserialize(from)?)
            .map(|(name, value)| Object::Class(name, value)),
        ObjectKind::Claim => claim(&core::PersistentVolumeClaim::deserialize(from)?)
            .map(|(name, claim)| Object::Claim(name, claim)),
        ObjectKind::Volume => volume(&core::PersistentVolume::deserialize(from)?)
            .map(|(name, volume)| Object::Volume(name, volume)),
        ObjectKind::StorageClass => storage_class(&storage_v1::StorageClass::deserialize(from)?)
            .map(|(name, class)| Object::StorageClass(name, class)),
        ObjectKind::CsiNode => csi_node(&storage_v1::CSINode::deserialize(from)?)
            .map(|(name, limits)| Object::CsiNode(name, limits)),
        ObjectKind::Service => service(&core::Service::deserialize(from)?)
            .map(|(name, selector)| Object::Service(name, selector)),
        ObjectKind::ReplicaSet | ObjectKind::ReplicationController | ObjectKind::Job => {
            let meta = MetadataOnly::deserialize(from)?.metadata;
            owner(kind, &meta).map(|(name, above)| Object::Owner(kind, name, above))
        }
    })
}

/// Reads kind, namespace and name from an object with unexpected types.
fn unreadable(kind: ObjectKind, value: &Value, error: &impl std::fmt::Display) -> Skipped {
    let word = |pointer| {
        value
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let namespace = match word("/metadata/namespace") {
        _ if !namespaced(kind) => "",
        "" => "default",
        named => named,
    };
    ObjectName {
        namespace: namespace.to_owned(),
        name: word("/metadata/name").to_owned(),
        node: Some(word("/spec/nodeName"))
            .filter(|n| kind == ObjectKind::Pod && !n.is_empty())
            .map(str::to_owned),
    }
    .skipped(kind, error.to_string())
}

fn skipped(kind: ObjectKind, meta: &ObjectMeta, why: Wrong) -> Skipped {
    let namespace = if namespaced(kind) {
        namespace_of(meta)
    } else {
        String::new()
    };
    ObjectName {
        namespace,
        name: meta.name.clone().unwrap_or_default(),
        node: None,
    }
    .skipped(kind, why)
}

impl ObjectName {
    fn skipped(self, kind: ObjectKind, why: Wrong) -> Skipped {
        Skipped {
            kind: kind.name().to_owned(),
            namespace: self.namespace,
            name: self.name,
            node: self.node,
            why,
        }
    }
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
    )
}

fn name_of(meta: &ObjectMeta) -> Result<String, Wrong> {
    let name = meta.name.as_ref().filter(|n| !n.is_empty());
    name.cloned()
        .ok_or_else(|| "metadata.name is missing".to_owned())
}

fn namespace_of(meta: &ObjectMeta) -> String {
    meta.namespace
        .clone()
        .filter(|n| !n.is_empty())
        .unwrap_or_else(|| "default".to_owned())
}

fn annotation<'m>(meta: &'m ObjectMeta, name: &str) -> Option<&'m str> {
    meta.annotations
        .as_ref()
        .and_then(|all| all.get(name))
        .map(String::as_str)
}

fn owners_of(meta: &ObjectMeta) -> Vec<Owner> {
    let owner = |o: &OwnerReference| Owner {
        kind: o.kind.clone(),
        name: o.name.clone(),
        controller: o.controller.unwrap_or_default(),
    };
    meta.owner_references.iter().flatten().map(owner).collect()
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

fn read_budget(budget: &PodDisruptionBudget) -> Result<BudgetFacts, Wrong> {
    let meta = &budget.metadata;
    let spec = budget.spec.as_ref();
    let status = budget.status.as_ref();
    let selector = spec.and_then(|s| s.selector.as_ref());
    let policy = spec.and_then(|s| s.unhealthy_pod_eviction_policy.as_deref());
    Ok(BudgetFacts {
        namespace: namespace_of(meta),
        name: name_of(meta)?,
        selector: selector
            .map(|s| label_selector("spec.selector", s))
            .transpose()?,
        allowed: count(
            "status.disruptionsAllowed",
            status.and_then(|s| s.disruptions_allowed),
        )?,
        healthy: count(
            "status.currentHealthy",
            status.and_then(|s| s.current_healthy),
        )?,
        desired: count(
            "status.desiredHealthy",
            status.and_then(|s| s.desired_healthy),
        )?,
        stale: status
            .and_then(|s| s.observed_generation)
            .unwrap_or_default()
            < meta.generation.unwrap_or_default(),
        always_unhealthy: always_unhealthy(policy)?,
    })
}

fn always_unhealthy(policy: Option<&str>) -> Result<bool, Wrong> {
    match policy {
        Some("AlwaysAllow") => Ok(true),
        None | Some("" | "IfHealthyBudget") => Ok(false),
        Some(other) => Err(format!(
            "spec.unhealthyPodEvictionPolicy: found {other:?}, expected IfHealthyBudget or \
                AlwaysAllow"
        )),
    }
}

fn count(field: &str, found: Option<i32>) -> Result<u32, Wrong> {
    let found = found.unwrap_or_default();
    u32::try_from(found).map_err(|_| format!("{field}: found {found}, expected a count"))
}

fn label_selector(field: &str, selector: &LabelSelector) -> Result<Selector, Wrong> {
    let expressions = selector.match_expressions.iter().flatten();
    let parts = expressions.map(|e| {
        (
            e.key.clone(),
            e.operator.clone(),
            e.values.clone().unwrap_or_default(),
        )
    });
    let none = Labels::new();
    Selector::from_parts(selector.match_labels.as_ref().unwrap_or(&none), parts)
        .map_err(|error| format!("{field}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::snapshot::facts::{Image, Taint};
    use crate::values::Amount;
    use proptest::prelude::*;
    use serde_json::json;

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
        let Object::Node(node) = facts_of(text) else {
            panic!("{text}")
        };
        node
    }

    fn budget_of(text: &str) -> BudgetFacts {
        let Object::Budget(budget) = facts_of(text) else {
            panic!("{text}")
        };
        budget
    }

    #[test]
    fn a_node_is_converted() {
        let node = node_of(
            "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}},
              spec: {unschedulable: true, taints: [{key: gpu, value: t4, effect: NoSchedule}, {key: x, effect: NoExecute}]},
              status: {images: [{names: ['web:7'], sizeBytes: 9}], allocatable: {cpu: 7910m, memory: 4Ki, pods: 110}, capacity: {cpu: 8},
                       conditions: [{type: Ready, status: 'True'}, {type: DiskPressure, status: \
                'False'}]}}",
        );
        let taint = |key: &str, value: &str, effect| Taint {
            key: key.into(),
            value: value.into(),
            effect,
        };
        let expected = NodeFacts {
            addresses: Vec::new(),
            name: "n1".into(),
            labels: [("zone".to_owned(), "a".to_owned())].into(),
            taints: vec![
                taint("gpu", "t4", Effect::NoSchedule),
                taint("x", "", Effect::NoExecute),
            ],
            cordoned: true,
            ready: true,
            allocatable: vec![
                ("cpu".into(), Amount::millicores(7910)),
                ("memory".into(), Amount::new(4096)),
                ("pods".into(), Amount::new(110)),
            ],
            scale_down_disabled: false,
            images: vec![Image {
                names: vec!["web:7".into()],
                size: 9,
            }],
        };
        assert_eq!(node, expected);
    }

    #[test]
    fn only_the_value_true_disables_scale_down() {
        let disabled = |value: &str| {
            let name = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
            let node = format!(
                "{{apiVersion: v1, kind: Node, metadata: {{name: n1, annotations: {{{name}: '{value}'}}}}}}"
            );
            node_of(&node).scale_down_disabled
        };
        assert_eq!(
            ["true", "false", "True", ""].map(disabled),
            [true, false, false, false]
        );
        assert!(!node_of("{apiVersion: v1, kind: Node, metadata: {name: n1}}").scale_down_disabled);
    }

    #[test]
    fn a_node_without_allocatable_uses_its_capacity() {
        let node = node_of(
            "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {}, \
                capacity: {pods: '9'}}}",
        );
        assert_eq!(node.allocatable, [("pods".to_owned(), Amount::new(9))]);
        let bare = node_of("{apiVersion: v1, kind: Node, metadata: {name: n1}}");
        assert!(bare.allocatable.is_empty() && bare.ready && !bare.cordoned);
    }

    #[test]
    fn a_node_without_a_ready_condition_is_ready() {
        for (conditions, ready) in [
            ("[]", true),
            ("[{type: Ready, status: 'False'}]", false),
            ("[{type: Ready, status: Unknown}]", false),
        ] {
            let text = format!(
                "{{apiVersion: v1, kind: Node, metadata: {{name: n1}}, status: {{conditions: {conditions}}}}}"
            );
            assert_eq!(node_of(&text).ready, ready, "{conditions}");
        }
    }

    #[test]
    fn a_missing_budget_selector_differs_from_an_empty_one() {
        let text = |spec: &str| {
            format!(
                "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: b}}, spec: {spec}}}"
            )
        };
        assert_eq!(budget_of(&text("{}")).selector, None);
        assert_eq!(
            budget_of(&text("{selector: {}}")).selector,
            Some(Selector::default())
        );
        let some = "{selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: \
            In, values: [a, b]}]}}";
        assert_eq!(
            budget_of(&text(some)).selector.unwrap().to_string(),
            "app=web,tier in (a,b)"
        );
        let like = "{selector: {matchExpressions: [{key: tier, operator: Like}]}}";
        assert!(
            why_not(&text(like))
                .why
                .starts_with("spec.selector: unknown operator \"Like\"")
        );
    }

    #[test]
    fn a_budget_is_stale_until_its_controller_observes_the_latest_spec() {
        let budget = budget_of(
            "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: shop, generation: 3},
              spec: {selector: {}, unhealthyPodEvictionPolicy: AlwaysAllow},
              status: {observedGeneration: 2, disruptionsAllowed: 1, currentHealthy: 3, \
                desiredHealthy: 2}}",
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
        };
        assert_eq!(budget, expected);
    }

    #[test]
    fn namespaces_priority_classes_services_and_owners_are_converted() {
        let shown = |text: &str| format!("{:?}", facts_of(text));
        let namespace =
            shown("{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: a}}}");
        assert_eq!(namespace, r#"Namespace("shop", {"team": "a"})"#);
        let class = shown(
            "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, \
                value: 7}",
        );
        assert_eq!(class, r#"Class("high", 7)"#);
        let service = shown(
            "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}",
        );
        assert_eq!(service, r#"Service(("default", "web"), {"app": "web"})"#);
        let set = shown(
            "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: shop, ownerReferences:
               [{kind: Other, name: o}, {kind: Deployment, name: web, controller: true}]}}",
        );
        assert_eq!(
            set,
            r#"Owner(ReplicaSet, ("shop", "web-1"), Some(Owner { kind: "Deployment", name: "web", controller: true }))"#
        );
        let job = shown("{apiVersion: batch/v1, kind: Job, metadata: {name: j}}");
        assert_eq!(job, r#"Owner(Job, ("default", "j"), None)"#);
    }

    #[test]
    fn other_kinds_are_ignored() {
        for other in [
            "{apiVersion: v1, kind: Secret, metadata: {name: s}}",
            "{kind: Node}",
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
            (skipped.kind.as_str(), skipped.name.as_str(), skipped.node),
            ("Node", "n1", None)
        );
        assert!(
            skipped.why.starts_with("status.allocatable.cpu: "),
            "{}",
            skipped.why
        );
        let taint = why_not(
            "{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {taints: [{key: a, effect: \
                Never}]}}",
        );
        assert_eq!(
            taint.why,
            "spec.taints[0].effect: found \"Never\", expected NoSchedule, PreferNoSchedule or \
                NoExecute"
        );
        assert_eq!(
            why_not("{apiVersion: v1, kind: Namespace, metadata: {}}").why,
            "metadata.name is missing"
        );
    }

    #[test]
    fn an_object_with_wrong_types_is_skipped_with_its_name() {
        let broken = "{\"metadata\": {\"name\": \"p\", \"namespace\": \"shop\"}, \"spec\": \
            {\"nodeName\": \"n1\", \"containers\": 7}}";
        let skipped = text(ObjectKind::Pod, broken).unwrap_err();
        assert_eq!(
            skipped.to_string().split(": ").next(),
            Some("Pod shop/p cannot be read")
        );
        assert_eq!(skipped.node.as_deref(), Some("n1"));
        let wrong_set = r#"{"metadata": {"name": "s", "ownerReferences": {}}}"#;
        assert_eq!(
            text(ObjectKind::ReplicaSet, wrong_set)
                .unwrap_err()
                .namespace,
            "default"
        );
        let wrong_node = r#"{"metadata": {"name": "n1", "labels": []}}"#;
        assert_eq!(
            text(ObjectKind::Node, wrong_node).unwrap_err().namespace,
            ""
        );
        assert_eq!(text(ObjectKind::Node, "no json").unwrap_err().name, "");
    }

    fn pointers(value: &Value, at: &str, into: &mut Vec<String>) {
        into.push(at.to_owned());
        match value {
            Value::Object(map) => {
                map.iter().for_each(|(k, v)| {
                    pointers(v, &format!("{at}/{}", k.replace('/', "~1")), into);
                });
            }
            Value::Array(list) => list
                .iter()
                .enumerate()
                .for_each(|(i, v)| pointers(v, &format!("{at}/{i}"), into)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    proptest! {
        #[test]
        fn whatever_stands_in_a_field_nothing_panics(
            which in 0..3usize,
            place in any::<prop::sample::Index>(),
            text in "[-0-9A-Za-z.]{0,8}",
            number in any::<i64>(),
            choice in 0..6,
        ) {
            let mut value = yaml([pod::tests::RICH, NODE, BUDGET][which]);
            let mut node_addresses = Vec::new();
            pointers(&value, "", &mut node_addresses);
            let place = &node_addresses[place.index(node_addresses.len())];
            *value.pointer_mut(place).unwrap() = match choice {
                0 => json!(text), 1 => json!(number), 2 => json!(null), 3 => json!([text]),
                    4 => json!({ text: number }),
                _ => json!({}),
            };
            if let Err((kind, skipped)) = object(&value) {
                prop_assert_eq!(kind.name(), skipped.kind);
                prop_assert!(!skipped.why.is_empty());
            }
            let json = value.to_string();
            let _ = super::text(ObjectKind::Pod, &json);
            let _ = super::text(ObjectKind::Pod, &json[..json.floor_char_boundary(json.len() / 2)]);
        }
    }

    const NODE: &str =
        "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}}, spec: {unschedulable: true,
        taints: [{key: gpu, value: t4, effect: NoSchedule}]}, status: {images: [{names: ['web:7'], sizeBytes: 9}], allocatable: {cpu: 7910m, memory: 4Ki},
        conditions: [{type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}]}}";

    const BUDGET: &str = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, \
        generation: 3},
        spec: {selector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, minAvailable: 50%},
        status: {observedGeneration: 2, disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: \
        2}}";
}
