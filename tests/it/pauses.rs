//! Evictions that people have stopped by an annotation of a namespace.

use evenkeel::decide::explain::Subject;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::Untried;
use evenkeel::model::snapshot::pause::{Pause, PauseEnd, PauseScope};
use evenkeel::view::explain::explanation_text;

use crate::it::support::{Cluster, EVEN, after, noon, parse};

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
