//! Evictions that people have stopped by an annotation of a namespace.

use evenkeel::decide::explain::Subject;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Untried;
use evenkeel::model::snapshot::pause::{Pause, PauseEnd, PauseScope};
use evenkeel::view::explain::explanation_text;

use crate::it::support::{Cluster, EVEN, after, considered, noon, parse};

/// A cluster with one hot node, whose pods may go to two others. It is noon.
fn cluster(namespaces: &str) -> Cluster {
    Cluster::parse(&format!(
        "
        {namespaces}
        node n1
          web cpu=500m memory=100Mi uses=3 namespace=shop
          api cpu=500m memory=100Mi uses=3 namespace=bank
        node n2
          web cpu=100m uses=100m namespace=shop
          api cpu=100m uses=100m namespace=bank
        node n3
        "
    ))
}

/// The first line of the plan, or why nothing is considered, and the refusals.
fn plan(namespaces: &str) -> String {
    considered(&cluster(namespaces).plan(EVEN))
}

#[test]
fn the_pods_of_a_paused_namespace_stay_and_the_others_go() {
    let paused = "namespace bank annotations=evenkeel.io/pause:incident,evenkeel.io/pause-by:alice,\
                  evenkeel.io/pause-until:2026-11-21T14:00:00Z";
    insta::assert_snapshot!(plan(paused), @"
    api-1 stays, paused: its namespace is paused by alice until 2026-11-21T14:00:00Z: incident
    move web-1 from n1 to n3: node usage: cpu 75% is above its target of 50%
    ");
}

#[test]
fn an_annotation_of_kube_system_pauses_the_cluster() {
    let paused = "namespace kube-system annotations=evenkeel.io/pause-all:upgrade";
    insta::assert_snapshot!(plan(paused), @"all evictions are paused: upgrade");
}

#[test]
fn a_pod_of_a_paused_cluster_says_so_once() {
    let paused = "namespace kube-system annotations=evenkeel.io/pause-all:upgrade";
    for policy in [EVEN.to_owned(), EVEN.replace("}}}]", "}}}, removeDuplicates]")] {
        let (engine, snapshot) = cluster(paused).seen(parse(&policy), Ledger::default());
        let pod = Subject::Pod("shop/web-1".to_owned());
        let page = explanation_text(&engine.explain(&snapshot, &pod, noon()).unwrap(), 120);
        assert_eq!(page.matches("all evictions are paused: upgrade").count(), 1, "{page}");
    }
}

#[test]
fn only_kube_system_can_pause_the_cluster() {
    let elsewhere = plan("namespace bank annotations=evenkeel.io/pause-all:mine");
    assert_eq!(elsewhere, plan(""));
}

#[test]
fn a_pause_ends_at_its_time_or_by_hand() {
    let free = plan("");
    let until = |until: &str| {
        plan(&format!(
            "namespace bank annotations=evenkeel.io/pause:x,evenkeel.io/pause-until:{until}"
        ))
    };
    assert_eq!(until("2026-11-21T12:00:00Z"), free, "it has just ended");
    assert_ne!(until("2026-11-21T12:00:01Z"), free);
    // A text that is no time must not end a pause.
    assert!(until("tomorrow").contains("with the end \"tomorrow\", which is no time"));
    let off = plan("namespace bank annotations=evenkeel.io/pause:false");
    assert_eq!(off, free);
}

#[test]
fn a_written_pause_is_read_as_it_was() {
    for scope in [PauseScope::Namespace, PauseScope::Cluster] {
        for end in [PauseEnd::ByHand, PauseEnd::At(after(60))] {
            let pause = Pause {
                scope,
                reason: "incident 4711".to_owned(),
                by: Some("alice".to_owned()),
                since: Some(noon()),
                end,
            };
            let annotations = pause.annotations().into_iter();
            let written = annotations.filter_map(|(name, value)| Some((name, value?)));
            assert_eq!(Pause::read(&written.collect(), scope), Some(pause));
        }
    }
}

#[test]
fn a_pause_stops_a_plan_that_is_being_carried_out() {
    let planned = &cluster("").plan(EVEN).moves[0];
    let untried = |namespaces: &str| {
        let objects = cluster(namespaces).objects;
        Untried::paused(planned, objects.pauses(), noon())
    };
    assert_eq!(untried(""), None);
    let elsewhere = "namespace shop annotations=evenkeel.io/pause:x";
    assert_eq!(untried(elsewhere), None, "{}", planned.namespace);
    let own = untried("namespace bank annotations=evenkeel.io/pause:x").unwrap();
    assert_eq!(own.to_string(), "its namespace is paused: x");
    assert!(!own.ends_the_plan(), "the others go on");
    let all = untried("namespace kube-system annotations=evenkeel.io/pause-all:x").unwrap();
    assert_eq!(all.to_string(), "all evictions are paused: x");
    assert!(all.ends_the_plan());
}

#[test]
fn a_namespace_that_cannot_be_read_counts_as_paused() {
    // It may have the annotation, and it may be in deletion.
    insta::assert_snapshot!(plan("unreadable Namespace name=bank"), @"
    api-1 stays, paused: its namespace is paused until it can be read again: Namespace bank cannot be read: spec
    move web-1 from n1 to n3: node usage: cpu 75% is above its target of 50%
    ");
    insta::assert_snapshot!(
        plan("unreadable Namespace name=kube-system"),
        @"all evictions are paused until it can be read again: Namespace kube-system cannot be read: spec"
    );
    let read_again = "unreadable Namespace name=bank\n namespace bank";
    assert_eq!(plan(read_again), plan(""));
}

#[test]
fn a_hot_node_whose_pods_are_all_paused_says_why_nothing_moves() {
    let text = "
        namespace bank annotations=evenkeel.io/pause:audit
        node n1
          api*8 cpu=100m memory=100Mi uses=1 namespace=bank
        node n2
        node n3
        ";
    let plan = Cluster::parse(text).plan(EVEN);
    let codes: Vec<&str> = plan.kept.iter().map(|kept| kept.refusal.code()).collect();
    assert_eq!(codes, ["paused"; 8]);
}
