//! Tests of the facts of pods.

use super::*;
use crate::model::snapshot::facts::{
    Container, Effect, NonZeroRequests, NotSafeToEvict, Owner, PodAffinityTerm, Role,
};
use crate::model::snapshot::import::tests::{facts_of, why_not};
use crate::model::snapshot::objects::Object;
use crate::values::Amount;
use crate::values::selector::Selector;

pub(crate) const RICH: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  namespace: shop
  uid: u-1
  creationTimestamp: '2026-01-01T00:00:00Z'
  deletionTimestamp: '2026-01-02T00:00:00Z'
  labels: {app: web, rev: '7'}
  annotations:
    kubernetes.io/config.source: api
    descheduler.alpha.kubernetes.io/evict: 'true'
    descheduler.alpha.kubernetes.io/prefer-no-eviction: ''
    controller.kubernetes.io/pod-deletion-cost: '-5'
  ownerReferences: [{kind: ReplicaSet, name: web, controller: true}]
spec:
  nodeName: n1
  priority: 10
  schedulerName: other
  schedulingGates: [{name: quota}]
  nodeSelector: {disk: ssd}
  containers:
  - name: c
    image: 'web:7'
    resources: {requests: {cpu: 250m, memory: 1Mi}}
    ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 81},
      {hostPort: 53, protocol: UDP, hostIP: 10.0.0.1}]
  - {name: log, image: 'log:1'}
  initContainers: [{name: prepare, image: 'init:1'}]
  ephemeralContainers: [{name: look, image: 'debug:1'}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
  resourceClaims: [{name: gpu}]
  tolerations:
  - {operator: Exists}
  - {key: a, value: b, effect: NoExecute}
  - {key: sla, operator: Gt, value: '90'}
  - {key: sla, operator: Lt, value: '95'}
  volumes:
  - {name: tmp, emptyDir: {}}
  - {name: data, persistentVolumeClaim: {claimName: data-0}}
  - {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {}}}}
  - {name: keys, csi: {driver: secrets}}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: cores, operator: Gt, values: ['7']}]
        - matchFields: [{key: metadata.name, operator: In, values: [n2]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 60, preference: {matchExpressions: [{key: disk, operator: In, values: [nvme]}]}}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys: [rev, absent]
        mismatchLabelKeys: [app]
        namespaceSelector: {}
        namespaces: [other]
      - {topologyKey: zone}
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 40, podAffinityTerm: {topologyKey: zone,
        labelSelector: {matchLabels: {app: batch}}}}
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {matchLabels: {app: db}}}
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 30, podAffinityTerm: {topologyKey: zone,
        labelSelector: {matchLabels: {app: cache}}}}
status:
  phase: Running
  startTime: '2026-01-01T00:00:05Z'
  reason: Evicted
  conditions:
  - {type: Ready, status: 'True'}
  - {type: PodScheduled, status: 'False', reason: Unschedulable,
    lastTransitionTime: '2026-01-01T00:00:03Z'}
  containerStatuses:
  - {name: log, restartCount: 3, state: {terminated: {reason: OOMKilled, exitCode: 137}},
    ready: false, image: x, imageID: x}
  - {name: c, restartCount: 120, state: {waiting: {reason: CrashLoopBackOff}},
    lastState: {terminated: {exitCode: 1}}}
  - {name: stranger, restartCount: 7}
  initContainerStatuses: [{name: prepare, restartCount: 2, state: {terminated: {exitCode: 0}}}]
  ephemeralContainerStatuses: [{name: look, state: {running: {}}}]
";

fn pod_of(text: &str) -> PodFacts {
    let Object::Pod(pod) = facts_of(text) else { panic!("{text}") };
    *pod
}

fn bare(spec: &str, status: &str) -> String {
    format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {spec}, status: {status}}}")
}

#[test]
fn an_extended_resource_may_be_a_dynamic_resource_claim() {
    let of = |status: &str| pod_of(&bare("{containers: [{name: c}]}", status)).resource_claims;
    assert!(!of("{}"));
    assert!(of("{extendedResourceClaimStatus: {resourceClaimName: web-1-gpu}}"));
}

#[test]
fn a_pod_is_converted() {
    let pod = pod_of(RICH);
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    assert_eq!(
        (pod.namespace.as_str(), pod.name.as_str(), pod.uid.as_str()),
        ("shop", "web-1", "u-1")
    );
    assert_eq!(
        (pod.node.as_deref(), pod.priority, pod.phase),
        (Some("n1"), Some(10), PodPhase::Running)
    );
    assert!(pod.ready && pod.terminating && pod.resource_claims);
    assert_eq!(
        (pod.created, pod.started),
        (at("2026-01-01T00:00:00Z"), Some(at("2026-01-01T00:00:05Z")))
    );
    assert_eq!(pod.qos, Qos::Burstable);
    assert_eq!(
        pod.sizes.requests,
        [("cpu".into(), Amount::millicores(250)), ("memory".into(), Amount::new(1 << 20))]
    );
    assert_eq!(
        pod.owners,
        [Owner {
            kind: "ReplicaSet".into(),
            name: "web".into(),
            controller: true,
            ..Owner::default()
        }]
    );
    assert_eq!(
        *pod.volumes,
        Volumes {
            local: true,
            claims: vec!["data-0".into()],
            ephemeral: vec![EphemeralClaim { name: "web-1-scratch".into(), class: None }],
            inline_drivers: vec!["secrets".into()],
            never_pulled: Vec::new(),
        }
    );
    assert_eq!(pod.node_selector["disk"], "ssd");
    let annotations = Annotations {
        evict: Some("true".into()),
        prefer_no_eviction: true,
        deletion_cost: -5,
        ..Annotations::default()
    };
    assert_eq!(pod.annotations, annotations);
}

#[test]
fn tolerations_with_every_operator_are_converted() {
    let tolerates = |key: Option<&str>, operator, effect| Toleration {
        key: key.map(str::to_owned),
        operator,
        effect,
        seconds: None,
    };
    let expected = [
        tolerates(None, Tolerates::Any, None),
        tolerates(Some("a"), Tolerates::Equal("b".into()), Some(Effect::NoExecute)),
        tolerates(Some("sla"), Tolerates::Above(90), None),
        tolerates(Some("sla"), Tolerates::Below(95), None),
    ];
    assert_eq!(pod_of(RICH).tolerations, expected);
}

#[test]
fn required_node_affinity_is_converted() {
    let pod = pod_of(RICH);
    let terms: Vec<_> =
        pod.required_nodes.iter().flatten().map(|t| format!("{}|{}", t.labels, t.fields)).collect();
    assert_eq!(terms, ["cores>7|", "|metadata.name=n2"]);
    let [first, second] = &pod.required_anti_affinity[..] else {
        panic!("{:?}", pod.required_anti_affinity)
    };
    assert_eq!(first.pods.as_ref().unwrap().to_string(), "app=web,rev=7,app!=web");
    assert_eq!(
        (first.namespaces.as_slice(), &first.namespace_selector),
        (&["other".to_owned()][..], &Some(Selector::default()))
    );
    assert_eq!(
        (&second.pods, &second.namespace_selector, second.topology_key.as_str()),
        (&None, &None, "zone")
    );
}

#[test]
fn preferred_node_affinity_is_converted() {
    let pod = pod_of(RICH);
    let terms: Vec<_> =
        pod.preferred_nodes.iter().map(|(w, t)| format!("{w} {}|{}", t.labels, t.fields)).collect();
    assert_eq!((terms, pod.spread.len()), (vec!["60 disk=nvme|".to_owned()], 1));
}

#[test]
fn pod_affinity_is_converted() {
    let pod = pod_of(RICH);
    let term = |n: &PodAffinityTerm| n.pods.as_ref().unwrap().to_string();
    assert_eq!(pod.required_affinity.iter().map(term).collect::<Vec<_>>(), ["app=db"]);
    let terms: Vec<_> =
        pod.preferred_terms.iter().map(|l| format!("{} {}", l.weight, term(&l.term))).collect();
    assert_eq!(terms, ["30 app=cache", "-40 app=batch"]);
}

#[test]
fn ports_gates_and_other_scheduling_fields_are_converted() {
    let pod = pod_of(RICH);
    assert_eq!((pod.scheduler.as_deref(), pod.gated), (Some("other"), true));
    let ports: Vec<_> =
        pod.ports.iter().map(|p| format!("{} {} {}", p.ip, p.protocol, p.port)).collect();
    assert_eq!(ports, ["0.0.0.0 TCP 8080", "10.0.0.1 UDP 53"]);
    let non_zero_requests =
        NonZeroRequests { cpu: Amount::millicores(350), memory: Amount::new(201 << 20) };
    assert_eq!(pod.sizes.non_zero_requests, non_zero_requests);
}

#[test]
fn container_statuses_are_matched_by_name() {
    let pod = pod_of(RICH);
    let container = |role, image: &str, restarts| Container {
        name: String::new(),
        role,
        runs: false,
        image: image.to_owned(),
        never_pulled: false,
        requested: Vec::new(),
        restarts,
        waiting: None,
        ended: None,
    };
    let expected = [
        Container {
            name: "c".into(),
            requested: vec!["cpu".into(), "memory".into()],
            waiting: Some("CrashLoopBackOff".into()),
            ..container(Role::Main, "web:7", 120)
        },
        Container {
            name: "log".into(),
            ended: Some(("OOMKilled".into(), 137)),
            ..container(Role::Main, "log:1", 3)
        },
        Container {
            name: "prepare".into(),
            ended: Some((String::new(), 0)),
            ..container(Role::Init, "init:1", 2)
        },
        Container { name: "look".into(), runs: true, ..container(Role::Ephemeral, "debug:1", 0) },
    ];
    assert_eq!(*pod.containers, expected);
}

#[test]
fn conditions_and_the_status_reason_are_converted() {
    let pod = pod_of(RICH);
    let condition = |kind: &str, status: &str, reason: &str, since: Option<&str>| Condition {
        state: ConditionState {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
        }
        .into(),
        since: since.map(|t| t.parse().unwrap()),
    };
    let expected = [
        condition("Ready", "True", "", None),
        condition("PodScheduled", "False", "Unschedulable", Some("2026-01-01T00:00:03Z")),
    ];
    assert_eq!(
        (pod.reason.as_deref(), pod.conditions.as_slice()),
        (Some("Evicted"), &expected[..])
    );
}

#[test]
fn missing_fields_get_the_api_defaults() {
    let pod = pod_of("{apiVersion: v1, kind: Pod, metadata: {name: p}}");
    assert_eq!(
        (pod.namespace.as_str(), pod.node.as_deref(), pod.phase, pod.ready),
        ("default", None, PodPhase::Pending, false)
    );
    assert_eq!((pod.priority, pod.qos, pod.sizes.requests.len()), (None, Qos::BestEffort, 0));
    assert_eq!(
        (&pod.required_nodes, pod.required_anti_affinity.len(), &pod.annotations),
        (&None, 0, &Annotations::default())
    );
}

#[test]
fn the_safe_to_evict_annotation_is_converted() {
    let found = |value: &str| {
        let name = "cluster-autoscaler.kubernetes.io/safe-to-evict";
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p,
              annotations: {{{name}: '{value}'}}}}}}"
        );
        pod_of(&pod).annotations.not_safe_to_evict
    };
    assert_eq!(found("false"), Some(NotSafeToEvict::Always));
    assert_eq!(found("on-completion"), Some(NotSafeToEvict::UntilCompletion));
    assert_eq!(["true", "True", "False", ""].map(found), [None; 4]);
}

#[test]
fn the_do_not_disrupt_annotation_is_a_word_or_a_duration() {
    let found = |value: &str| {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p,
              annotations: {{karpenter.sh/do-not-disrupt: '{value}'}}}}}}"
        );
        pod_of(&pod).annotations.do_not_disrupt
    };
    let minutes = |n| Some(DoNotDisrupt::AfterStart(SignedDuration::from_mins(n)));
    assert_eq!(found("true"), Some(DoNotDisrupt::Always));
    assert_eq!(["5m", "1h0m0s"].map(found), [minutes(5), minutes(60)]);
    assert_eq!(["false", "", "-5m", "0s", "soon"].map(found), [None; 5]);
}

#[test]
fn annotations_against_eviction_are_converted() {
    let pod = pod_of(
        "{apiVersion: v1, kind: Pod, metadata: {name: p,
         annotations: {kubernetes.io/config.mirror: x,
           kubernetes.io/config.source: file,
             descheduler.alpha.kubernetes.io/prefer-no-eviction: 'false',
           controller.kubernetes.io/pod-deletion-cost: much}}}",
    );
    assert_eq!(
        pod.annotations,
        Annotations { mirror: true, static_pod: true, ..Annotations::default() }
    );
}

/// A spec, a status, and how the reason begins.
const INVALID: &str = r#"
{} | {phase: Idle} | status.phase: found "Idle", expected
{} | {qosClass: Best} | status.qosClass: found "Best", expected
{tolerations: [{operator: Like}]} | {} | spec.tolerations[0].operator: found "Like", expected
{tolerations: [{effect: Never}]} | {} | spec.tolerations[0].effect: found "Never", expected
{tolerations: [{operator: Gt, value: x}]} | {} | spec.tolerations[0].value: found "x", expected
{containers: [{name: c, resources: {requests: {cpu: '-1'}}}]} | {} | spec.containers[0].resources.requests.cpu:
{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{}]}}} | {} | spec.affinity.podAntiAffinity.required[0].topologyKey: missing, expected
{overhead: {memory: x}} | {} | spec.overhead.memory:
{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: [{key: a, operator: Like}]}}]}}} | {} | spec.affinity.nodeAffinity.preferred[0].matchFields:
{containers: [{name: c}]} | {containerStatuses: [{name: c, restartCount: -1}]} | status of container "c": restartCount: found -1, expected a count
"#;

#[test]
fn an_invalid_pod_is_skipped_with_its_node() {
    for line in INVALID.trim().lines() {
        let row: Vec<&str> = line.split(" | ").collect();
        let on_n1 = row[0].replacen('{', "{nodeName: n1, ", 1);
        let skipped = why_not(&bare(&on_n1, row[1]));
        assert!(skipped.why.starts_with(row[2]), "{}", skipped.why);
        assert_eq!(skipped.node.as_deref(), Some("n1"));
    }
}

#[test]
fn an_image_volume_may_never_be_pulled() {
    let volume = |policy: &str| {
        let volume = format!("{{name: m, image: {{reference: model, pullPolicy: {policy}}}}}");
        pod_of(&bare(&format!("{{volumes: [{volume}]}}"), "{}")).volumes.never_pulled.clone()
    };
    assert_eq!(volume("Never"), ["model"]);
    assert!(volume("IfNotPresent").is_empty());
}

#[test]
fn in_the_network_of_the_node_every_port_is_a_host_port() {
    let ports = |network: bool| {
        let pod = pod_of(&format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{hostNetwork: {network},
              containers: [{{name: c, ports: [{{containerPort: 80}}, {{hostPort: 81}}]}}]}}}}"
        ));
        let ports = pod.ports.iter().map(|port| port.port);
        ports.collect::<Vec<_>>()
    };
    assert_eq!(ports(true), [80, 81]);
    assert_eq!(ports(false), [81]);
}

#[test]
fn a_pod_without_creation_time_is_as_old_as_its_start() {
    let created = |status: &str| pod_of(&bare("{}", status)).created.to_string();
    assert_eq!(created("{startTime: '2026-11-21T12:00:00Z'}"), "2026-11-21T12:00:00Z");
    assert_eq!(created("{}"), "1970-01-01T00:00:00Z");
}
