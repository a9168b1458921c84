//! `evenkeel doctor`: one thing is wrong in each cluster, and one line says so.

use std::io::Write;
use std::process::{Command, Stdio};

use axum::Router;
use axum::http::{StatusCode, Uri};
use evenkeel::decide::doctor::{Diagnosis, Severity};
use evenkeel::model::ledger::Ledger;
use evenkeel::model::snapshot::facts::Skipped;
use evenkeel::model::snapshot::lacking::Lack;
use evenkeel::model::snapshot::objects::ObjectKind;
use serde_json::json;
use tokio::net::TcpListener;

use crate::it::support::program::temporary;
use crate::it::support::{Cluster, EVEN, kubeconfig, noon, parse};
use crate::shared::table::rows;

/// Three nodes with measured pods that may move.
const HEALTHY: &str = "
node n1
  web cpu=100m uses=100m
node n2
  web cpu=100m uses=100m
node n3
  web cpu=100m uses=100m
budget web allows=1 desired=2
";

fn examined(cluster: &Cluster) -> Vec<Diagnosis> {
    examined_by(cluster, EVEN)
}

fn examined_by(cluster: &Cluster, policy: &str) -> Vec<Diagnosis> {
    let (engine, snapshot) = cluster.seen(parse(policy), Ledger::default());
    let observed = engine.join_usage(&snapshot, noon());
    engine.examine(&observed)
}

/// The only line that is not ok.
fn wrong(all: &[Diagnosis]) -> &Diagnosis {
    let wrong: Vec<&Diagnosis> = all.iter().filter(|d| d.severity != Severity::Ok).collect();
    assert_eq!(wrong.len(), 1, "{all:#?}");
    wrong[0]
}

#[test]
fn a_pause_of_a_namespace_is_named() {
    let paused = "namespace shop annotations=evenkeel.io/pause:audit";
    let all = examined(&Cluster::parse(&format!("{HEALTHY}\n{paused}")));
    let wrong = wrong(&all);
    assert_eq!(wrong.severity, Severity::Warning);
    assert_eq!(wrong.message, "namespace shop is paused: audit");
}

#[test]
fn kinds_that_cannot_be_listed_have_their_remedies_and_namespaces_are_a_failure() {
    let (engine, mut snapshot) = Cluster::parse(HEALTHY).seen(parse(EVEN), Ledger::default());
    let mut examined = |lacking: &[(ObjectKind, Lack)]| {
        snapshot.lacking = lacking.iter().copied().collect();
        engine.examine(&engine.join_usage(&snapshot, noon()))
    };
    let all = examined(&[
        (ObjectKind::Attachment, Lack::NotServed),
        (ObjectKind::ReplicaSet, Lack::Forbidden),
    ]);
    let kinds = wrong(&all);
    assert_eq!((kinds.severity, kinds.check), (Severity::Warning, "kinds"));
    assert_eq!(
        kinds.remedy.as_deref().unwrap(),
        "let evenkeel list and watch replicasets, as deploy/base/rbac.yaml does; use an API \
         server that serves volumeattachments"
    );
    let all = examined(&[(ObjectKind::Namespace, Lack::Forbidden)]);
    let pauses = wrong(&all);
    assert_eq!((pauses.severity, pauses.check), (Severity::Failure, "pauses"));
    assert_eq!(
        pauses.message,
        "evenkeel may not list Namespaces: `evenkeel run` evicts nothing, because a pause would \
         not be seen"
    );
}

#[test]
fn a_healthy_cluster_has_no_warning() {
    let all = examined(&Cluster::parse(HEALTHY));
    assert!(all.len() >= 9);
    for diagnosis in all {
        assert_eq!(diagnosis.severity, Severity::Ok, "{diagnosis:?}");
        assert_eq!(diagnosis.remedy, None, "{diagnosis:?}");
    }
}

/// Lines beside those of a healthy cluster, the check that finds the defect, and a part of what it
/// says.
const DEFECTS: &str = "
node n4 not-ready | nodes | Warning | 1 of 4 nodes not Ready: n4
node n4 no-metrics | usage | Warning | 3 of 4 nodes
 web cpu=100m no-metrics age=9h | usage | Warning | 3 of 4 pods
 batch*3 cpu=100m uses=10m scheduler=packer | scheduler | Warning | packer
 shop*3 cpu=100m uses=10m; budget shop allows=0 desired=3 | budgets | Warning | default/shop
 db cpu=100m uses=10m | replicas | Warning | default/Deployment/db
 cache*2 cpu=100m uses=10m emptydir | pods | Warning | 2 local-storage
 cache*2 cpu=100m uses=10m stay | pods | Warning | 2 prefer-no-eviction
 cache*2 cpu=100m uses=10m evict=false | pods | Warning | 2 evict-false
 descheduler*2 cpu=100m uses=10m namespace=kube-system | deschedulers | Failure | kube-system/descheduler-
 cluster-autoscaler*2 cpu=100m uses=10m | autoscalers | Warning | cluster-autoscaler-
node n4 labels=karpenter.sh/nodepool:a | autoscalers | Warning | 1 node with karpenter
 run*2 cpu=100m uses=10m owner=Job backoff=0 | pods | Warning | 2 job-would-fail
 cache*2 cpu=100m uses=10m template-gated | pods | Warning | 2 gated
 db*2 cpu=100m uses=10m owner=StatefulSet parallel newest=db-b labels=controller-revision-hash:db-a | pods | Warning | 2 other-revision
 shop*3 cpu=100m uses=10m; budget shop allows=0 desired=3 stale | budgets | Warning | default/shop, which has a status that is not up to date
";

#[test]
fn each_defect_is_named_by_its_own_line() {
    for row in rows(DEFECTS) {
        let [defect, check, severity, part] = row[..] else { panic!("{row:?}") };
        let defect = defect.replace(';', "\n");
        let all = examined(&Cluster::parse(&format!("{HEALTHY}{defect}\n")));
        let found = wrong(&all);
        assert_eq!(
            (found.check, &*format!("{:?}", found.severity)),
            (check, severity),
            "{found:?}"
        );
        assert!(found.message.contains(part), "{found:?}");
        assert!(found.remedy.as_ref().is_some_and(|r| !r.is_empty()), "{found:?}");
    }
}

/// Its pods are replaced one after another, with a pause for `minReadySeconds` between two.
#[test]
fn a_rollout_of_a_stateful_set_keeps_its_pods_only_for_now() {
    let pod = "db cpu=100m uses=10m owner=StatefulSet parallel newest=db-b";
    for state in ["unready", "terminating", "condition=Ready:True::2m"] {
        let old = format!("  {pod} labels=controller-revision-hash:db-a");
        let new = format!("  {pod} labels=controller-revision-hash:db-b {state}");
        let all = examined(&Cluster::parse(&format!("{HEALTHY}{old}\n{old}\n{new}\n")));
        let pods = all.iter().find(|d| d.check == "pods").unwrap();
        assert_eq!(pods.severity, Severity::Ok, "{state}: {pods:?}");
    }
}

/// A migrated installation keeps descheduler's names and labels.
#[test]
fn an_instance_in_the_place_of_descheduler_is_no_other_program() {
    for (pod, labels, image) in [
        ("descheduler", "app:descheduler", "ghcr.io/evenkeel/evenkeel:0.1.0"),
        (
            "tools-descheduler",
            "app.kubernetes.io/name:descheduler",
            "mirror:5000/evenkeel@sha256:0f",
        ),
        ("descheduler-evenkeel", "k8s-app:evenkeel", "evenkeel"),
    ] {
        let own = format!("  {pod}*2 cpu=100m uses=10m labels={labels} image={image}\n");
        for (cluster, found) in [(own.clone(), 0), (own.replace(image, "other/program:1"), 1)] {
            let all = examined(&Cluster::parse(&format!("{HEALTHY}{cluster}")));
            let wrong: Vec<_> = all.iter().filter(|d| d.severity != Severity::Ok).collect();
            assert_eq!(wrong.len(), found, "{wrong:?}");
        }
    }
}

/// Budgets of three pods, the objects that doctor names, and the remedy.
const BUDGETS: &str = "
budget shop allows=0 desired=3 | default/shop | add replicas
budget shop allows=1 desired=2; budget shop name=all allows=1 desired=2 | default/all, default/shop | let only one PodDisruptionBudget select the pod
budget shop allows=0 desired=20 expected=3 | because it needs 20 healthy pods and covers 3 | add replicas
budget shop allows=0 desired=3 forbids=maxUnavailable:0 | maxUnavailable: 0 | more replicas do not help
budget shop allows=0 desired=0 sync-failed=no-scale | no-scale | set an integer `minAvailable`
";

#[test]
fn budgets_that_forbid_every_eviction_are_named_with_what_helps() {
    for row in rows(BUDGETS) {
        let [budgets, names, helps] = row[..] else { panic!("{row:?}") };
        let budgets = budgets.replace(';', "\n");
        let cluster = format!("{HEALTHY}  shop*3 cpu=100m uses=10m\n{budgets}\n");
        let all = examined(&Cluster::parse(&cluster));
        let found = wrong(&all);
        assert_eq!(found.check, "budgets", "{found:?}");
        assert!(found.message.contains(names), "{found:?}");
        let remedy = found.remedy.clone().unwrap();
        assert!(remedy.contains(helps), "{found:?}");
        assert_eq!(remedy.contains("add replicas"), helps == "add replicas", "{found:?}");
    }
}

#[test]
fn a_cluster_without_metrics_or_destinations_is_a_failure() {
    let without = HEALTHY.replace("node n1", "node n1 no-metrics");
    let without = without.replace("node n2", "node n2 no-metrics");
    let without = without.replace("node n3", "node n3 no-metrics");
    let without = without.replace(" uses=100m", "");
    let all = examined(&Cluster::parse(&without));
    let usage = all.iter().find(|d| d.check == "usage").unwrap();
    assert_eq!(usage.severity, Severity::Failure, "{usage:?}");

    let all = examined(&Cluster::parse("node n1\n  web*2 cpu=100m uses=100m\n"));
    let nodes = wrong(&all);
    assert_eq!((nodes.check, nodes.severity), ("nodes", Severity::Failure));
}

#[test]
fn a_policy_that_leaves_out_every_pod_is_named() {
    for (evictable, reason) in [
        ("namespaces: {include: [shpo]}", "5 namespace"),
        ("podSelector: {matchLabels: {team: shpo}}", "5 pod-selector"),
        ("priorityBelow: 0", "2 daemon-set, 3 priority"),
    ] {
        let policy = format!("{EVEN}\nevictable: {{{evictable}}}");
        let agents = "  agent*2 cpu=100m uses=10m daemon";
        let cluster = format!("{HEALTHY}{agents}\n").replace("cpu", "priority=0 cpu");
        let all = examined_by(&Cluster::parse(&cluster), &policy);
        let found = wrong(&all);
        let expected = format!("no running pod can ever move: {reason}");
        assert_eq!((found.check, &found.message), ("pods", &expected));

        // One pod that may move shows that the rest stays on purpose.
        let free = "  free*2 cpu=100m uses=10m namespace=shpo labels=team:shpo priority=-1";
        let all = examined_by(&Cluster::parse(&format!("{cluster}{free}\n")), &policy);
        assert!(all.iter().all(|d| d.severity == Severity::Ok), "{all:#?}");
    }
}

#[test]
fn usage_is_not_needed_by_a_policy_that_compares_requests() {
    let policy = format!("basis: requests\n{EVEN}");
    let without = HEALTHY.replace(" uses=100m", "").replace("node n1", "node n1 no-metrics");
    for diagnosis in examined_by(&Cluster::parse(&without), &policy) {
        assert_eq!(diagnosis.severity, Severity::Ok, "{diagnosis:?}");
    }
}

#[test]
fn pods_on_nodes_that_are_not_known_are_counted() {
    let mut cluster = Cluster::parse(&format!("{HEALTHY}node gone\n  lost*2 cpu=100m\n"));
    cluster.objects.delete(ObjectKind::Node, &(String::new(), "gone".to_owned()));
    cluster.nodes.remove("gone");
    let all = examined(&cluster);
    let nodes: Vec<&str> =
        all.iter().filter(|d| d.check == "nodes").map(|d| d.message.as_str()).collect();
    assert_eq!(nodes, ["3 nodes, all Ready", "2 pods have a node that is not known: gone"]);
}

#[test]
fn an_object_that_cannot_be_read_is_named() {
    let mut cluster = Cluster::parse(HEALTHY);
    let odd = Skipped {
        kind: "Pod".to_owned(),
        namespace: "shop".to_owned(),
        name: "odd".to_owned(),
        node: None,
        why: "spec: found 7".to_owned(),
    };
    let budget = Skipped { kind: "PodDisruptionBudget".to_owned(), ..odd.clone() };
    cluster.objects.skip(ObjectKind::Pod, odd);
    cluster.objects.skip(ObjectKind::Budget, budget);
    let all = examined(&cluster);
    for check in ["objects", "budgets"] {
        let found = all.iter().find(|d| d.check == check).unwrap();
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.message.contains("shop/odd"), "{found:?}");
    }
}

/// Runs the program with a policy on standard input.
fn with_policy(arguments: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    program.args(arguments).args(["--policy", "-"]).env_remove("EVENKEEL_POLICY");
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = program.current_dir(env!("CARGO_MANIFEST_DIR")).spawn().unwrap();
    let policy = format!(
        "apiVersion: evenkeel/v1alpha1\nkind: Policy\nsteering: {{taintHot: true}}\n{EVEN}"
    );
    running.stdin.take().unwrap().write_all(policy.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    let [out, errors] = [output.stdout, output.stderr].map(|o| String::from_utf8(o).unwrap());
    format!("{out}{errors}")
}

#[test]
fn a_policy_on_standard_input_is_read_once() {
    let page = with_policy(&["doctor", "--from", "examples/late-nodes.yaml"]);
    assert!(page.contains("every object was read"), "{page}");
    let page = with_policy(&["plan", "--from", "-"]);
    assert!(page.contains("found - twice, expected a file"), "{page}");
}

/// An API server that allows everything except to patch nodes, and lists nothing.
async fn without_taints() -> String {
    let router = Router::new().fallback(async |uri: Uri, body: String| {
        if uri.path() == "/version" {
            let version = json!({"major": "1", "minor": "34", "gitVersion": "v1.34.0",
                "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "",
                "compiler": "", "platform": ""});
            return (StatusCode::OK, version.to_string());
        }
        if !uri.path().ends_with("accessreviews") {
            return (StatusCode::NOT_FOUND, "{}".to_owned());
        }
        let allowed = !(body.contains("\"nodes\"") && body.contains("\"patch\""));
        (StatusCode::CREATED, json!({"spec": {}, "status": {"allowed": allowed}}).to_string())
    });
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    temporary(&kubeconfig(&format!("server: 'http://{address}'")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_that_never_taints_needs_no_right_to_taint() {
    let kubeconfig = without_taints().await;
    for (flag, missing) in [("--exact=false", true), ("--exact", false)] {
        let arguments = ["doctor", flag, "--kubeconfig", &kubeconfig].map(str::to_owned);
        let page = tokio::task::spawn_blocking(move || {
            with_policy(&arguments.each_ref().map(String::as_str))
        });
        let page = page.await.unwrap();
        assert_eq!(page.contains("may not patch nodes"), missing, "{page}");
        assert_eq!(page.contains("has all "), !missing, "{page}");
    }
}
