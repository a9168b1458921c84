//! Claims, volumes and other optional objects: those that keep a replacement from starting, and
//! kinds that a file does not have.

use std::fmt::Write as _;
use std::path::Path;

use evenkeel::model::snapshot::objects::ObjectKind;
use serde_json::{Value, json};

use crate::it::support::program::{printed, temporary};

/// From nodes above 60 % of cpu to others, without waiting.
const POLICY: &str = "
apiVersion: evenkeel/v1alpha1
kind: Policy
usage: {minSamples: 1}
evictable: {minPodAge: 0s}
limits: {perWorkload: none, perNode: none}
strategies:
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}, sustainedFor: 0s}
";
const NOW: &str = "2026-11-21T07:30:00Z";
const DRIVER: &str = "ebs.csi.example.com";

/// The objects of a file, in the order of the API.
#[derive(Clone)]
struct Objects(Vec<Value>);

impl Objects {
    /// A hot node with four pods of a StatefulSet, and two cool nodes. Each pod has a claim.
    fn with_claims() -> Self {
        let volumes = |name: &str| {
            json!([{"name": "data",
                "persistentVolumeClaim": {"claimName": format!("data-{name}")}}])
        };
        Objects::of(["db-0", "db-1", "db-2", "db-3"].map(|name| pod(name, "n1", &volumes(name))))
    }

    /// The same with a bound claim and a volume for each pod.
    fn healthy() -> Self {
        let mut objects = Objects::with_claims();
        for number in 0..4 {
            objects.0.push(claim(number));
            objects.0.push(volume(number));
        }
        objects
    }

    fn of(pods: impl IntoIterator<Item = Value>) -> Self {
        let mut all = vec![json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "other", "namespace": "other"},
            "spec": {"selector": {"matchLabels": {"app": "other"}}}})];
        for (name, cpu) in [("n1", "3400m"), ("n2", "500m"), ("n3", "500m")] {
            all.push(node(name));
            all.push(json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics",
                "metadata": {"name": name}, "timestamp": NOW, "window": "30s",
                "usage": {"cpu": cpu, "memory": "1Gi"}}));
        }
        for pod in pods {
            let meta = pod["metadata"].clone();
            all.push(pod);
            all.push(json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
                "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
                "timestamp": NOW, "window": "30s",
                "containers": [{"name": "main", "usage": {"cpu": "800m", "memory": "256Mi"}}]}));
        }
        Objects(all)
    }

    /// Changes every object of a kind.
    fn each(mut self, kind: &str, change: impl Fn(&mut Value)) -> Self {
        self.0.iter_mut().filter(|o| o["kind"] == kind).for_each(change);
        self
    }

    fn without_node(mut self, name: &str) -> Self {
        self.0.retain(|object| object["kind"] != "Node" || object["metadata"]["name"] != name);
        self
    }

    fn without(mut self, kind: &str) -> Self {
        self.0.retain(|object| object["kind"] != kind);
        self
    }

    fn and(mut self, more: impl IntoIterator<Item = Value>) -> Self {
        self.0.extend(more);
        self
    }

    /// `kind: List`, as `kubectl get -o json` prints it.
    fn list(&self) -> String {
        json!({"apiVersion": "v1", "kind": "List", "items": self.0}).to_string()
    }

    fn plan(&self) -> Planned {
        Planned::of(&self.list())
    }
}

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}}})
}

fn pod(name: &str, node: &str, volumes: &Value) -> Value {
    let owner = name.rsplit_once('-').unwrap().0;
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": owner},
            "creationTimestamp": "2026-11-20T07:00:00Z",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner,
                "uid": "s", "controller": true}]},
        "spec": {"nodeName": node, "volumes": volumes, "containers": [{"name": "main",
            "image": "i", "resources": {"requests": {"cpu": "300m", "memory": "256Mi"}}}]},
        "status": {"phase": "Running", "startTime": "2026-11-20T07:00:00Z",
            "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn claim(number: u32) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": format!("data-db-{number}"), "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "net",
            "volumeName": format!("pv-{number}")},
        "status": {"phase": "Bound"}})
}

fn volume(number: u32) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": format!("pv-{number}")},
        "spec": {"csi": {"driver": DRIVER, "volumeHandle": format!("vol-{number}")}},
        "status": {"phase": "Bound"}})
}

fn class(mode: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "net"},
        "provisioner": DRIVER, "volumeBindingMode": mode})
}

fn csi_node(name: &str, limit: u32) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
        "spec": {"drivers": [{"name": DRIVER, "nodeID": name, "allocatable": {"count": limit}}]}})
}

fn attachment(name: &str, node: &str, volume: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": name}, "spec": {"attacher": DRIVER, "nodeName": node,
            "source": {"persistentVolumeName": volume}}, "status": {"attached": true}})
}

fn namespace(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": labels}})
}

/// The answer of `evenkeel plan` about a file.
#[derive(Debug)]
struct Planned {
    moves: usize,
    kept: Vec<(String, String)>,
    unknown: Vec<String>,
}

impl Planned {
    fn of(file: &str) -> Self {
        Planned::by(POLICY, file)
    }

    fn by(policy: &str, file: &str) -> Self {
        let answer = run_by(policy, &["plan", "-o", "json"], file);
        let plan: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let list = |key: &str| plan[key].as_array().unwrap().clone();
        let kept = list("kept");
        Planned {
            moves: list("moves").len(),
            kept: kept.iter().map(|kept| (text(&kept["code"]), text(&kept["message"]))).collect(),
            unknown: list("unknown").iter().map(|u| text(&u["message"])).collect(),
        }
    }

    /// All candidates stay, for this reason.
    fn stay(&self, code: &str, message: &str) {
        assert!(self.moves == 0 && !self.kept.is_empty(), "{message}: {self:#?}");
        for (found, why) in &self.kept {
            assert!(found == code && why.contains(message), "{message}: {self:#?}");
        }
    }

    fn go(&self) {
        assert!(self.moves > 0, "{self:#?}");
    }
}

/// Runs the program on a file with the policy of these tests.
fn run(arguments: &[&str], file: &str) -> String {
    run_by(POLICY, arguments, file)
}

fn run_by(policy: &str, arguments: &[&str], file: &str) -> String {
    let (cluster, policy) = (temporary(file), temporary(policy));
    printed(&[arguments, &["--from", &cluster, "--policy", &policy]].concat())
}

/// As from an old recording. Its meaning is not known, so it must not be left out.
#[test]
fn an_object_of_another_version_cannot_be_read() {
    let version = |kind: &'static str, version: &'static str| {
        Objects::healthy().each(kind, |object| object["apiVersion"] = version.into())
    };
    let budget = |budget: &mut Value| budget["metadata"]["namespace"] = "default".into();
    let budgets =
        version("PodDisruptionBudget", "policy/v1beta1").each("PodDisruptionBudget", budget);
    budgets.plan().stay("unreadable-budget", "PodDisruptionBudget other of its namespace");
    version("PersistentVolumeClaim", "v1beta3").plan().stay("unusable-claim", "cannot be read");
    let pods = run(&["plan"], &version("Pod", "").list());
    assert!(pods.contains("apiVersion: found \"\", expected v1"), "{pods}");
    // The kind of another group is another kind.
    let service = json!({"apiVersion": "serving.knative.dev/v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"}});
    Objects::healthy().and([service]).plan().go();
}

#[test]
fn pods_with_healthy_claims_move() {
    Objects::healthy().plan().go();
}

#[test]
fn a_pod_stays_while_its_claim_is_being_deleted() {
    let deleting = |claim: &mut Value| claim["metadata"]["deletionTimestamp"] = NOW.into();
    let cluster = Objects::healthy().each("PersistentVolumeClaim", deleting);
    cluster.plan().stay("unusable-claim", "is being deleted, so its replacement could not start");
}

#[test]
fn a_pod_stays_with_a_claim_that_the_scheduler_would_refuse() {
    let lost = |claim: &mut Value| claim["status"]["phase"] = "Lost".into();
    let prebound = |claim: &mut Value| claim["status"]["phase"] = "Pending".into();
    let pending = |claim: &mut Value| {
        claim["status"]["phase"] = "Pending".into();
        claim["spec"]["volumeName"] = Value::Null;
    };
    let claims =
        |change: &dyn Fn(&mut Value)| Objects::healthy().each("PersistentVolumeClaim", change);
    let unclassed = |claim: &mut Value| {
        pending(claim);
        claim["spec"]["storageClassName"] = Value::Null;
    };
    let waits = "WaitForFirstConsumer";
    for (cluster, why) in [
        (claims(&lost), "has lost its volume"),
        (claims(&prebound), "is not bound"),
        (claims(&pending).and([class("Immediate")]), "is not bound"),
        (claims(&unclassed).and([class(waits)]), "is not bound"),
        (
            claims(&pending).and([json!({"apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass", "metadata": {"name": "other"}, "provisioner": "x"})]),
            "names StorageClass net, which does not exist",
        ),
        (
            // The kind is recorded, so these claims do not exist.
            Objects::with_claims().and([claim(7), volume(7)]),
            "does not exist, so",
        ),
    ] {
        cluster.plan().stay("unusable-claim", why);
    }
    claims(&pending).and([class(waits)]).plan().go();
}

#[test]
fn a_pod_stays_with_a_volume_that_is_about_to_go() {
    let phase = |phase: &'static str| {
        Objects::healthy().each("PersistentVolume", |pv| {
            pv["status"]["phase"] = phase.into();
        })
    };
    let deleting = Objects::healthy().each("PersistentVolume", |pv| {
        pv["metadata"]["deletionTimestamp"] = NOW.into();
    });
    let gone = Objects::healthy().without("PersistentVolume").and([volume(7)]);
    let unreadable = Objects::healthy().each("PersistentVolume", |pv| pv["spec"] = "x".into());
    for (cluster, why) in [
        (phase("Failed"), "which has failed"),
        (phase("Released"), "which is released"),
        (deleting, "which is being deleted"),
        (gone, "which does not exist or cannot be read"),
        (unreadable, "which does not exist or cannot be read"),
    ] {
        cluster.plan().stay("unusable-claim", why);
    }
}

#[test]
fn a_pod_stays_whose_scratch_volume_is_storage_of_its_node() {
    let scratch = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec":
        {"storageClassName": "net", "accessModes": ["ReadWriteOnce"]}}}}]);
    let plan = |key: &str, values: &[&str]| {
        let pods = ["db-0", "db-1", "db-2", "db-3"].map(|name| pod(name, "n1", &scratch));
        let objects = (0..4).flat_map(|number| {
            let (mut claim, mut volume) = (claim(number), volume(number));
            claim["metadata"]["name"] = format!("db-{number}-scratch").into();
            volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}]}});
            [claim, volume]
        });
        let named = |node: &mut Value| {
            let name = node["metadata"]["name"].clone();
            node["metadata"]["labels"][key] = name;
        };
        let waiting = class("WaitForFirstConsumer");
        Objects::of(pods).and(objects).and([waiting]).each("Node", named).plan()
    };
    plan("topology.topolvm.io/node", &["n1"]).stay("local-storage", "its data on its node");
    plan("linbit.com/hostname", &["n1", "n2"]).go();
    plan("topology.ebs.csi.aws.com/zone", &["n1"]).go();
}

#[test]
fn a_pod_stays_with_a_volume_that_belongs_to_another_claim() {
    let owned = |change: &'static [(&'static str, &'static str)]| {
        let cluster = Objects::healthy().each("PersistentVolume", |pv| {
            let number = pv["metadata"]["name"].as_str().unwrap().replace("pv-", "");
            let mut owner = json!({"namespace": "default", "name": format!("data-db-{number}")});
            for (key, value) in change {
                owner[key] = (*value).into();
            }
            pv["spec"]["claimRef"] = owner;
        });
        let uid = |claim: &mut Value| claim["metadata"]["uid"] = "new".into();
        cluster.each("PersistentVolumeClaim", uid).plan()
    };
    owned(&[]).go();
    owned(&[("uid", "new")]).go();
    let others: [&[(&str, &str)]; 3] = [
        &[("namespace", "other")],
        &[("name", "else")],
        // A claim of the same name was deleted and made again.
        &[("uid", "old")],
    ];
    for other in others {
        owned(other).stay("unusable-claim", "which belongs to another claim");
    }
    let nameless = |claim: &mut Value| claim["spec"]["volumeName"] = Value::Null;
    let nameless = Objects::healthy().each("PersistentVolumeClaim", nameless);
    nameless.and([class("WaitForFirstConsumer")]).plan().stay("unusable-claim", "is not bound");
}

#[test]
fn a_claim_that_cannot_be_read_keeps_its_pod() {
    let broken = |claim: &mut Value| claim["spec"]["accessModes"] = 7.into();
    let cluster = Objects::healthy().each("PersistentVolumeClaim", broken);
    cluster.plan().stay("unusable-claim", "cannot be read");
}

#[test]
fn a_volume_in_a_folder_of_the_node_keeps_its_pod() {
    let folder = |pv: &mut Value| pv["spec"] = json!({"hostPath": {"path": "/srv"}});
    let cluster = Objects::healthy().each("PersistentVolume", folder);
    cluster.plan().stay("local-storage", "its data on its node would be lost");
    // Both nodes of the zone are allowed, and each has its own folder.
    let in_zone = |pv: &mut Value| {
        pv["spec"] = json!({"local": {"path": "/mnt"}, "nodeAffinity": {"required":
            {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname",
                "operator": "In", "values": ["n1", "n2"]}]}]}}});
    };
    let cluster = Objects::healthy().each("PersistentVolume", in_zone);
    cluster.plan().stay("local-storage", "its data on its node would be lost");
}

/// Longhorn attaches it only on the node of its replica, and older versions set no node affinity.
#[test]
fn a_volume_with_a_strict_locality_keeps_its_pod() {
    let with = |locality: &'static str| {
        let source = move |pv: &mut Value| {
            pv["spec"]["csi"]["volumeAttributes"] = json!({"dataLocality": locality});
        };
        Objects::healthy().each("PersistentVolume", source).plan()
    };
    with("strict-local").stay("unusable-claim", "which no other node can attach");
    with("best-effort").go();
}

#[test]
fn a_volume_of_one_node_keeps_its_pod_while_another_pod_uses_it_there() {
    let shared = json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data-db-0"}}]);
    let pods = |nodes: [&str; 4]| {
        let pods = nodes.iter().enumerate();
        pods.map(|(number, node)| pod(&format!("db-{number}"), node, &shared)).collect::<Vec<_>>()
    };
    let on_one = Objects::of(pods(["n1", "n1", "n1", "n1"])).and([claim(0), volume(0)]);
    on_one.plan().stay("shared-volume", "can be used on one node at a time, and db-");
    let many = |claim: &mut Value| claim["spec"]["accessModes"] = json!(["ReadWriteMany"]);
    on_one.clone().each("PersistentVolumeClaim", many).plan().go();
    // Nothing attaches a network file system, so any number of nodes may mount it.
    let nfs = |pv: &mut Value| pv["spec"] = json!({"nfs": {"server": "files", "path": "/"}});
    on_one.each("PersistentVolume", nfs).plan().go();
    // A driver that does not attach lets several nodes use it.
    let spread = Objects::of(pods(["n1", "n1", "n1", "n2"])).and([claim(0), volume(0)]);
    spread.plan().go();
    // A pod that has not started there may be the one that waits for the volume.
    let waits = |pod: &mut Value| {
        if pod["spec"]["nodeName"] == "n2" {
            pod["status"] = json!({"phase": "Pending"});
        }
    };
    spread
        .each("Pod", waits)
        .plan()
        .stay("shared-volume", "can be used on one node at a time, and db-");
}

/// A driver without an attachment, while its volume is in use and the node has one of another
/// driver, attaches nothing.
#[test]
fn a_driver_that_attaches_nothing_lets_several_nodes_use_its_volume() {
    let shared = json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data-db-0"}}]);
    let pods = (0..4).map(|number| pod(&format!("db-{number}"), "n1", &shared));
    let files = |pv: &mut Value| pv["spec"]["csi"]["driver"] = "files".into();
    let cluster = Objects::of(pods.collect::<Vec<_>>()).and([claim(0), volume(0)]);
    let cluster = cluster.each("PersistentVolume", files);
    let with = |attachments: &[Value]| cluster.clone().and(attachments.to_vec()).plan();
    let why = "can be used on one node at a time, and db-";
    let of_disk = |node: &str| attachment("disk", node, "pv-disk");
    with(&[of_disk("n1")]).go();
    with(&[]).stay("shared-volume", why);
    with(&[of_disk("n2")]).stay("shared-volume", why);
    let mut of_files = attachment("files", "n2", "pv-files");
    of_files["spec"]["attacher"] = "files".into();
    with(&[of_disk("n1"), of_files]).stay("shared-volume", why);
}

#[test]
fn pods_with_claims_stay_if_the_file_has_no_claims() {
    let planned = Objects::with_claims().plan();
    planned.stay(
        "unknown-objects",
        "the decision depends on PersistentVolumeClaims, which are unknown: the file has none",
    );
    let said = "the file has no PersistentVolumeClaims: 4 pods stay because the replacement \
                depends on them";
    assert_eq!(planned.unknown, [said]);
    let text = run(&["plan"], &Objects::with_claims().list());
    assert_eq!(text.matches("the file has no PersistentVolumeClaims").count(), 1, "{text}");
    let doctor = run(&["doctor"], &Objects::with_claims().list());
    let doctor = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(doctor.contains(said), "{doctor}");
}

#[test]
fn pods_without_claims_move_if_the_file_has_no_claims() {
    let none = Value::Null;
    let pods = ["web-0", "web-1", "web-2", "web-3"].map(|name| pod(name, "n1", &none));
    let planned = Objects::of(pods).plan();
    planned.go();
    assert!(planned.unknown.is_empty(), "{planned:#?}");
}

#[test]
fn a_claim_whose_volume_or_class_the_file_lacks_keeps_its_pod() {
    let planned = Objects::healthy().without("PersistentVolume").plan();
    planned.stay("unknown-objects", "depends on PersistentVolumes, which are unknown");
    let pending = |claim: &mut Value| claim["spec"]["volumeName"] = Value::Null;
    let planned = Objects::healthy().each("PersistentVolumeClaim", pending).plan();
    planned.stay("unknown-objects", "depends on StorageClasses, which are unknown");
}

#[test]
fn an_empty_list_of_a_kind_says_that_there_are_none() {
    let empty = json!({"kind": "PersistentVolumeClaimList", "apiVersion": "v1", "items": []});
    let file = Objects::with_claims().list();
    let yaml = |value: &Value| serde_saphyr::to_string(value).unwrap();
    let whole: Value = serde_json::from_str(&file).unwrap();
    for file in [
        format!("{file}\n{empty}"),
        format!("{}\n---\n{}", yaml(&whole), yaml(&empty)),
        Objects::with_claims().and([empty.clone()]).list(),
    ] {
        Planned::of(&file).stay("unusable-claim", "does not exist");
    }
    let untyped = json!({"kind": "List", "apiVersion": "v1", "items": []});
    Planned::of(&format!("{file}\n{untyped}")).stay("unknown-objects", "the file has none");
}

#[test]
fn typed_lists_and_streams_of_objects_give_the_same_plan_as_a_list() {
    let healthy = Objects::healthy();
    let mut stream = String::new();
    for object in &healthy.0 {
        writeln!(stream, "---\n{}", serde_saphyr::to_string(object).unwrap()).unwrap();
    }
    Planned::of(&stream).go();
    let of_kind = |kind: &str| {
        let mut items: Vec<Value> =
            healthy.0.iter().filter(|o| o["kind"] == kind).cloned().collect();
        for item in &mut items {
            let fields = item.as_object_mut().unwrap();
            fields.retain(|key, _| key != "kind" && key != "apiVersion");
        }
        json!({"kind": format!("{kind}List"), "apiVersion": "v1", "items": items})
    };
    let (claims, volumes) = (of_kind("PersistentVolumeClaim"), of_kind("PersistentVolume"));
    let rest = healthy.clone().without("PersistentVolumeClaim").without("PersistentVolume");
    Planned::of(&format!("{}\n{claims}\n{volumes}", rest.list())).go();
}

#[test]
fn a_file_without_csi_nodes_says_that_attach_limits_are_unknown() {
    let planned = Objects::healthy().plan();
    let said = "the file has no CSINodes: the forecast for 4 pods does without them";
    assert_eq!(planned.unknown, [said]);
    let known = ["n1", "n2", "n3"].map(|name| csi_node(name, 25));
    let planned = Objects::healthy().and(known.clone()).plan();
    let said = "the file has no VolumeAttachments: the forecast for 4 pods does without them";
    assert_eq!(planned.unknown, [said]);
    let attached = attachment("a", "n1", "pv-0");
    let planned = Objects::healthy().and(known).and([attached]).plan();
    planned.go();
    assert!(planned.unknown.is_empty(), "{planned:#?}");
}

#[test]
fn a_file_without_services_says_that_pods_of_stateful_sets_may_have_their_own() {
    let pods = ["web-0", "web-1", "web-2", "web-3"].map(|name| pod(name, "n1", &Value::Null));
    let numbered = |pod: &mut Value| {
        let number = pod["metadata"]["name"].as_str().unwrap().replace("web-", "");
        pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = number.into();
    };
    let planned = Objects::of(pods).each("Pod", numbered).plan();
    planned.go();
    let said = "the file has no Services: the forecast for 4 pods does without them";
    assert_eq!(planned.unknown, [said]);
}

#[test]
fn a_volume_that_is_still_attached_without_a_pod_counts_towards_the_limit() {
    let limits = [csi_node("n1", 25), csi_node("n2", 1), csi_node("n3", 1)];
    let cluster = Objects::healthy().and(limits).and([volume(8), volume(9)]);
    let left = [attachment("a", "n2", "pv-8"), attachment("b", "n3", "pv-9")];
    let planned = cluster.clone().and(left.clone()).plan();
    planned.stay("no-room", "at the limit of volumes of ebs.csi.example.com");
    // Only one of the two nodes is full.
    cluster.clone().and([left[0].clone()]).plan().go();
    // The volumes of the pods themselves are attached as well, and count once.
    let own = (0..4).map(|n| attachment(&format!("own-{n}"), "n1", &format!("pv-{n}")));
    cluster.clone().and(own).plan().go();
    // The scheduler counts the volume of a pod twice where it is attached without the pod.
    let two = cluster.clone().each("CSINode", |node| {
        node["spec"]["drivers"][0]["allocatable"]["count"] = 1.into();
    });
    let others = [attachment("a", "n2", "pv-0"), attachment("b", "n3", "pv-0")];
    two.and(others).plan().stay("no-room", "at the limit of volumes");
    // An attachment whose volume does not exist counts for the scheduler neither.
    let absent = [attachment("a", "n2", "pv-98"), attachment("b", "n3", "pv-99")];
    cluster.and(absent).plan().go();
}

#[test]
fn a_node_whose_csi_node_or_attachment_cannot_be_read_is_left_alone() {
    let limits = [csi_node("n1", 25), csi_node("n2", 25), csi_node("n3", 0)];
    let cluster = Objects::healthy().and(limits).and([attachment("a", "n1", "pv-0")]);
    cluster.plan().go();
    let of = |kind: &'static str, name: &'static str, place: &'static str| {
        cluster.clone().each(kind, |object| {
            if object["metadata"]["name"] == name {
                *object.pointer_mut(place).unwrap() = json!({"none": []});
            }
        })
    };
    let unreadable = of("CSINode", "n2", "/spec/drivers/0/allocatable/count");
    let why = "could land on n2, which is left alone: CSINode n2 cannot be read";
    unreadable.plan().stay("would-land-doubtful", why);
    let mut left = attachment("left", "n2", "pv-1");
    left["spec"]["attacher"] = json!([7]);
    let unreadable = cluster.and([left]);
    let why = "could land on n2, which is left alone: VolumeAttachment left cannot be read";
    unreadable.plan().stay("would-land-doubtful", why);
}

#[test]
fn disks_of_replaced_plugins_count_towards_the_limit_of_their_csi_driver() {
    let limits = ["n1", "n2", "n3"].map(|name| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
            "spec": {"drivers": [{"name": "ebs.csi.aws.com", "nodeID": name,
                "allocatable": {"count": if name == "n1" { 25 } else { 0 }}}]}})
    });
    let in_tree = |pv: &mut Value| {
        let id = format!("aws://zone/{}", pv["metadata"]["name"].as_str().unwrap());
        pv["spec"] = json!({"awsElasticBlockStore": {"volumeID": id}});
    };
    let cluster = Objects::healthy().each("PersistentVolume", in_tree).and(limits);
    cluster.plan().stay("no-room", "at the limit of volumes of ebs.csi.aws.com");
}

/// Pods of the namespace `default` that avoid pods `noisy` of namespaces of team b, and one of
/// these on each cool node.
fn with_anti_affinity(selector: &Value) -> Objects {
    let term = json!([{"topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "noisy"}}, "namespaceSelector": selector}]);
    let repelled = |mut pod: Value| {
        pod["spec"]["affinity"] = json!({"podAntiAffinity":
            {"requiredDuringSchedulingIgnoredDuringExecution": term}});
        pod
    };
    let web = ["web-0", "web-1", "web-2", "web-3"];
    let mut pods: Vec<Value> = web.map(|name| repelled(pod(name, "n1", &Value::Null))).into();
    for (name, node) in [("noisy-0", "n2"), ("noisy-1", "n3")] {
        let mut noisy = pod(name, node, &Value::Null);
        noisy["metadata"]["namespace"] = "other".into();
        pods.push(noisy);
    }
    Objects::of(pods)
}

#[test]
fn an_affinity_term_by_labels_of_an_unknown_namespace_keeps_the_pod() {
    let team = json!({"matchLabels": {"team": "b"}});
    let unknown = with_anti_affinity(&team);
    unknown.plan().stay("unknown-objects", "depends on Namespaces, which are unknown");
    let own = namespace("default", &json!({"team": "a"}));
    let partly = unknown.clone().and([own.clone()]);
    partly.plan().stay("unknown-objects", "depends on Namespace other, which is unknown");
    let known = |team: &str| {
        let other = namespace("other", &json!({"team": team}));
        unknown.clone().and([own.clone(), other]).plan()
    };
    known("b").stay("no-room", "occupied by a pod that it avoids");
    known("c").go();
}

#[test]
fn a_pod_of_a_namespace_that_is_not_listed_stays() {
    let web = ["web-0", "web-1", "web-2", "web-3"].map(|name| pod(name, "n1", &Value::Null));
    let cluster = Objects::of(web);
    cluster.plan().go();
    let other = cluster.clone().and([namespace("other", &json!({}))]);
    other.plan().stay("unknown-objects", "depends on Namespace default, which is unknown");
    let said = "Namespace default is unknown: 4 pods stay because the replacement depends on them";
    assert_eq!(other.plan().unknown, [said]);
    let empty = json!({"apiVersion": "v1", "kind": "NamespaceList", "items": []});
    cluster.clone().and([empty]).plan().stay("unknown-objects", "Namespace default");
    cluster.and([namespace("default", &json!({}))]).plan().go();
}

#[test]
fn the_name_of_a_namespace_is_known_without_its_object() {
    let named = |name: &str| {
        with_anti_affinity(&json!({"matchLabels": {"kubernetes.io/metadata.name": name}})).plan()
    };
    named("other").stay("no-room", "occupied by a pod that it avoids");
    named("third").go();
    // No label can change that the name does not match.
    let both = json!({"matchLabels": {"kubernetes.io/metadata.name": "third", "team": "b"}});
    with_anti_affinity(&both).plan().go();
    with_anti_affinity(&json!({})).plan().stay("no-room", "occupied by a pod that it avoids");
}

/// No label of a namespace can change that, so the strategy needs no Namespace.
#[test]
fn a_term_that_means_all_namespaces_is_violated_without_their_objects() {
    let policy = POLICY.split("- lowNode").next().unwrap();
    let policy = format!("{policy}- removePodsViolatingInterPodAntiAffinity\n");
    let together = |pod: &mut Value| {
        if pod["metadata"]["name"] == "noisy-0" {
            pod["spec"]["nodeName"] = "n1".into();
        }
    };
    let cluster = with_anti_affinity(&json!({})).each("Pod", together);
    let planned = Planned::by(&policy, &cluster.list());
    assert!(planned.moves + planned.kept.len() > 0, "{planned:#?}");
}

#[test]
fn a_term_of_other_pods_by_labels_of_an_unknown_namespace_keeps_the_pod() {
    let mut noisy = pod("noisy-0", "n2", &Value::Null);
    noisy["metadata"]["namespace"] = "other".into();
    noisy["spec"]["affinity"] = json!({"podAntiAffinity":
        {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"app": "web"}},
                "namespaceSelector": {"matchLabels": {"team": "a"}}}]}});
    let web = ["web-0", "web-1", "web-2", "web-3"].map(|name| pod(name, "n1", &Value::Null));
    let cluster = Objects::of(web.into_iter().chain([noisy]));
    cluster.plan().stay("unknown-objects", "depends on Namespaces, which are unknown");
    let other = namespace("other", &json!({}));
    let partly = cluster.clone().and([other.clone()]);
    partly.plan().stay("unknown-objects", "depends on Namespace default, which is unknown");
    cluster.and([other, namespace("default", &json!({"team": "c"}))]).plan().go();
}

#[test]
fn a_priority_class_that_the_file_lacks_is_unknown() {
    let policy = POLICY.replace("minPodAge: 0s", "minPodAge: 0s, priorityBelow: high");
    let prioritised = ["web-0", "web-1"].map(|name| {
        let mut pod = pod(name, "n1", &Value::Null);
        pod["spec"]["priority"] = 7.into();
        pod
    });
    let cluster = Objects::of(prioritised);
    let planned = Planned::by(&policy, &cluster.list());
    planned.stay("unknown-objects", "depends on PriorityClasses, which are unknown");
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "high"}, "value": 100});
    Planned::by(&policy, &cluster.and([class]).list()).go();
}

#[test]
fn an_object_that_is_given_twice_with_differences_is_unreadable() {
    let web = ["web-0", "web-1", "web-2", "web-3"].map(|name| pod(name, "n1", &Value::Null));
    let budget = |allowed: u32| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": allowed}})
    };
    let set = |replicas: u32| {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": replicas}})
    };
    let cluster = Objects::of(web).and([budget(2), set(4)]);
    cluster.plan().go();
    let twice = |object: Value| cluster.clone().and([object]).plan();
    // Equal objects say the same, as after a command that was repeated.
    cluster.clone().and(cluster.0.clone()).plan().go();
    twice(budget(9)).stay("unreadable-budget", "PodDisruptionBudget web of its namespace");
    twice(set(0)).stay("unknown-owner", "StatefulSet web does not exist or cannot be read");
    // The order says nothing, and a third object does not help.
    let again = cluster.clone().and([budget(0), budget(2)]);
    again.plan().stay("unreadable-budget", "PodDisruptionBudget web of its namespace");
    let text = run(&["plan"], &again.list());
    let why = "PodDisruptionBudget default/web cannot be read: it is given twice, with differences";
    assert!(text.contains(why), "{text}");
    // Both nodes of a pod are left alone: that of web-0, and the one where it would land.
    let moved = cluster.clone().and([pod("web-0", "n2", &Value::Null)]);
    let text = run(&["explain", "node", "n2"], &moved.list());
    assert!(text.contains("Pod default/web-0 cannot be read"), "{text}");
    assert_eq!(moved.plan().moves, 0);
    let text = run(&["explain", "node", "n1"], &moved.list());
    assert!(text.contains("Pod default/web-0 cannot be read"), "{text}");
    // The same holds if the second one cannot be read at all.
    let mut broken = pod("web-0", "n2", &Value::Null);
    broken["spec"]["containers"] = json!(7);
    let broken = cluster.and([broken]);
    for node in ["n1", "n2"] {
        let text = run(&["explain", "node", node], &broken.list());
        assert!(text.contains("Pod default/web-0 cannot be read"), "{node}: {text}");
    }
    assert_eq!(broken.plan().moves, 0);
}

#[test]
fn a_node_that_cannot_be_read_is_left_alone_and_its_pods_are_known() {
    let web = ["web-0", "web-1", "web-2", "web-3"].map(|name| pod(name, "n1", &Value::Null));
    let cluster = Objects::of(web);
    let unreadable = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut again = node(name);
        change(&mut again);
        cluster.clone().and([again])
    };
    let labelled = |node: &mut Value| node["metadata"]["labels"]["pool"] = "a".into();
    // The hot one gives nothing, and its pods are on it.
    let hot = unreadable("n1", &labelled);
    assert_eq!(hot.plan().moves, 0);
    let why = "Node n1 cannot be read: it is given twice, with differences";
    assert!(run(&["explain", "node", "n1"], &hot.list()).contains(why));
    assert!(run(&["explain", "pod", "web-0"], &hot.list()).contains("on n1"));
    // Another one takes nothing, although the scheduler may choose it.
    let cold = unreadable("n3", &labelled);
    cold.plan().stay("would-land-doubtful", "Node n3 cannot be read: it is given twice");
    // One of which nothing can be read is a node as well.
    let taints = json!([{"key": "a", "effect": "New"}]);
    let odd = cluster.clone().without_node("n3").and([json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n3"}, "spec": {"taints": taints}})]);
    let text = run(&["explain", "node", "n3"], &odd.list());
    assert!(text.contains("Node n3 cannot be read: spec.taints[0].effect"), "{text}");
    let text = run(&["doctor"], &odd.list());
    assert!(text.contains("3 nodes"), "{text}");
    // So is one that has far more than its machine.
    let vast = cluster.without_node("n3").and([json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n3"}, "status": {"allocatable": {"cpu": "1E"},
            "capacity": {"cpu": "4"}}})]);
    let text = run(&["explain", "node", "n3"], &vast.list());
    assert!(text.contains("status.allocatable.cpu: 1E of a capacity of 4"), "{text}");
}

/// Three nodes with a history of usage: 12 pods of 150m on n1, and none elsewhere.
fn recorded(uid: bool, node_history: bool) -> String {
    let values = |value: u32| vec![value; 24];
    let history = |kind: &str, meta: Value, cpu: u32, node: Option<&str>| {
        json!({"apiVersion": "evenkeel/v1alpha1", "kind": kind, "metadata": meta,
            "start": "2026-01-05T00:00:00Z", "step": "5m", "node": node,
            "cpu": values(cpu), "memory": values(300)})
    };
    let mut all = Vec::new();
    for name in ["n1", "n2", "n3"] {
        all.push(node(name));
        if node_history {
            all.push(history("NodeUsageHistory", json!({"name": name}), 100, None));
        }
    }
    for number in 0..24 {
        let name = format!("w{}-{}", number / 2, number % 2);
        let mut pod = pod(&name, "n1", &Value::Null);
        pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
        pod["metadata"]["ownerReferences"][0]["kind"] = "ReplicaSet".into();
        if uid {
            pod["metadata"]["uid"] = format!("uid-{name}").into();
        }
        let meta = pod["metadata"].clone();
        let meta = json!({"name": meta["name"], "namespace": meta["namespace"]});
        all.push(pod);
        all.push(history("PodUsageHistory", meta, 150, Some("n1")));
    }
    json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string()
}

#[test]
fn objects_without_a_uid_are_told_apart_in_a_simulation() {
    let simulated = |uid: bool| {
        let arguments = ["simulate", "--duration", "1h", "-o", "json"];
        let answer = run(&arguments, &recorded(uid, true));
        let trace: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"));
        let evictions = trace["evictions"].as_array().unwrap().clone();
        assert!(evictions.len() > 2, "{answer}");
        evictions.iter().map(|e| (e["at"].to_string(), e["pod"].to_string())).collect::<Vec<_>>()
    };
    assert_eq!(simulated(false), simulated(true));
}

#[test]
fn a_simulation_without_usage_of_nodes_does_not_say_that_none_was_hot() {
    let text = run(&["simulate", "--duration", "1h"], &recorded(true, false));
    assert!(!text.contains("no node was ever hot"), "{text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains(
            "the usage of 3 nodes is unknown (n1, n2, n3): the file has no NodeUsageHistory of \
             them"
        ),
        "{text}"
    );
    assert!(flat.contains("0 evictions; the usage of 3 nodes is unknown"), "{text}");
}

#[test]
fn a_file_without_budgets_or_pods_says_so() {
    let healthy = Objects::healthy().without("PodDisruptionBudget");
    let none = "the file has no PodDisruptionBudgets: none is counted";
    assert!(healthy.plan().unknown.contains(&none.to_owned()));
    let flat = |file: &str| {
        let text = run(&["doctor"], file);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let doctor = flat(&healthy.list());
    let line = format!("warning budgets {none} → record poddisruptionbudgets too");
    assert!(doctor.contains(&line), "{doctor}");
    assert_eq!(doctor.matches(none).count(), 1, "{doctor}");
    let empty = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "items": []});
    let recorded = format!("{}{empty}", healthy.list());
    assert!(!flat(&recorded).contains(none));
    let deserted = healthy.without("Pod").without("PodMetrics");
    let nothing = "the file has no Pods: nothing can move";
    assert!(deserted.plan().unknown.contains(&nothing.to_owned()));
    let doctor = flat(&deserted.list());
    assert!(doctor.contains(&format!("warning kinds {nothing}")), "{doctor}");
}

#[test]
fn doctor_asks_to_record_the_usage_that_a_file_lacks() {
    let file = Objects::healthy().without("NodeMetrics").without("PodMetrics");
    let text = run(&["doctor"], &file.list());
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("→ record the usage with the objects"), "{flat}");
    assert!(!flat.contains("metrics-server"), "{flat}");
}

#[test]
fn names_in_a_file_cannot_control_the_terminal() {
    let evil = "\u{1b}]0;title\u{7}\u{1b}[2J";
    let file = Objects::healthy().and([
        json!({"apiVersion": "v1", "kind": format!("Odd{evil}"), "metadata": {"name": "a"}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": evil}, "spec": 3}),
    ]);
    for arguments in [&["plan", "--all"][..], &["explain", "node", "n1"], &["doctor"]] {
        let text = run(arguments, &file.list());
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
    let text = run(&["plan"], &file.list());
    assert!(text.contains("Odd\\u001b]0;title\\u0007\\u001b[2J"), "{text}");
}

#[test]
fn the_documented_commands_record_every_kind_that_a_plan_reads() {
    let root = env!("CARGO_MANIFEST_DIR");
    // The help breaks the commands so that they fit 80 columns.
    let help = printed(&["plan", "--help"]).replace("\\\n      ", "");
    let commands: Vec<&str> =
        help.lines().map(str::trim).filter(|line| line.starts_with("kubectl get")).collect();
    assert_eq!(commands.len(), 3, "{help}");
    let mut pages = vec![format!("{root}/README.md")];
    let docs = std::fs::read_dir(format!("{root}/docs")).unwrap();
    pages.extend(docs.map(|page| page.unwrap().path().display().to_string()));
    let recorded = pages
        .iter()
        .filter(|page| Path::new(page).extension().is_some_and(|end| end == "md"))
        .filter(|page| {
            let text = std::fs::read_to_string(page).unwrap();
            let records = text.contains("> cluster.json") && text.contains("kubectl get nodes");
            if records {
                for command in &commands {
                    assert!(text.contains(command), "{page}: {command}");
                }
            }
            records
        });
    assert!(recorded.count() > 0);
    let resources: Vec<&str> = commands
        .iter()
        .flat_map(|command| command.split_whitespace().nth(2).unwrap().split(','))
        .collect();
    for kind in ObjectKind::ALL {
        let recorded =
            resources.contains(&short_name(kind)) || resources.contains(&kind.resource().as_str());
        assert!(recorded, "{kind:?}: {commands:?}");
    }
}

/// The short name of `kubectl api-resources`; empty for kinds without one.
#[expect(clippy::wildcard_enum_match_arm, reason = "most kinds have no short name")]
fn short_name(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Budget => "pdb",
        ObjectKind::Namespace => "ns",
        ObjectKind::Claim => "pvc",
        ObjectKind::Volume => "pv",
        ObjectKind::StatefulSet => "sts",
        ObjectKind::ReplicaSet => "rs",
        ObjectKind::ReplicationController => "rc",
        _ => "",
    }
}
