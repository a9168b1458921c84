//! Evictions that wait for the approval of a person.

use evenkeel::decide::engine::Engine;
use evenkeel::decide::explain::Subject;
use evenkeel::model::approval::ProposedMove;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{Outcome, Plan};
use evenkeel::model::snapshot::Snapshot;
use evenkeel::policy::FitStrategy;
use evenkeel::view::explain::explanation_text;
use jiff::Timestamp;

use crate::it::support::{Cluster, EVEN, after, noon, parse};

/// Two hot nodes, each of which has to give one pod away, and room for both.
const CLUSTER: &str = "
    node n1
      web cpu=500m memory=100Mi uses=3
      api cpu=500m memory=100Mi uses=2500m
    node n2
      db cpu=500m memory=100Mi uses=3
      job cpu=500m memory=100Mi uses=2500m
    node n3
    node n4
";
const REQUIRED: &str = "approval: {required: true}\n";

fn policy(approval: &str) -> String {
    format!("{approval}evictable: {{minReplicas: 1}}\n{EVEN}")
}

/// The moves, the ones that wait, and the approved ones that are not made.
fn text(plan: &Plan) -> String {
    let line = |verb: &str, m: &evenkeel::model::plan::Move| format!("{verb} {}", m.pod);
    let moves = plan.moves.iter().map(|m| line("move", m));
    let waiting = plan.proposed.iter().map(|m| line("ask for", m));
    let unmade = plan.unmade.iter().map(ToString::to_string);
    moves.chain(waiting).chain(unmade).collect::<Vec<_>>().join("\n")
}

fn plan(cluster: &Cluster, approval: &str) -> Plan {
    let (engine, snapshot) = cluster.seen(parse(&policy(approval)), Ledger::default());
    decide(&engine, &snapshot, noon())
}

fn decide(engine: &Engine, snapshot: &Snapshot, now: Timestamp) -> Plan {
    let observed = engine.join_usage(snapshot, now);
    let mut plan = engine.decide_observed(&observed, |_| {});
    engine.propose(&observed, &mut plan);
    plan
}

/// The plan for a cluster after a person has approved the evictions that [`CLUSTER`] proposes.
fn approved(
    cluster: &Cluster,
    now: Timestamp,
    change: impl FnOnce(&mut Vec<ProposedMove>),
) -> String {
    approved_of(&Cluster::parse(CLUSTER), cluster, now, change)
}

/// The plan for a cluster after a person has approved the evictions that another one proposes.
fn approved_of(
    before: &Cluster,
    cluster: &Cluster,
    now: Timestamp,
    change: impl FnOnce(&mut Vec<ProposedMove>),
) -> String {
    let mut moves = plan(before, REQUIRED).proposal().moves;
    change(&mut moves);
    let (mut engine, _) = cluster.seen(parse(&policy(REQUIRED)), Ledger::default());
    let snapshot = cluster.snapshot(engine.policy());
    engine.observe_steady(&snapshot, &cluster.readings(now), now);
    engine.approve(&moves);
    text(&decide(&engine, &snapshot, now))
}

#[test]
fn a_plan_proposes_what_it_would_do_without_approvals() {
    let free = plan(&Cluster::parse(CLUSTER), "");
    assert_eq!(text(&free), "move api-1\nmove job-1");
    let proposed = plan(&Cluster::parse(CLUSTER), REQUIRED);
    assert_eq!(text(&proposed), "ask for api-1\nask for job-1");
    let ids = (free.as_proposal().id, proposed.proposal().id);
    assert_eq!(ids.0, ids.1, "an id depends on the evictions alone");
}

#[test]
fn some_evictions_of_a_cycle_may_need_no_approval() {
    let plan = plan(&Cluster::parse(CLUSTER), "approval: {required: true, automatic: 1}\n");
    insta::assert_snapshot!(text(&plan), @"
    move api-1
    ask for job-1
    ");
}

#[test]
fn outside_of_the_windows_the_plan_does_not_ask_for_an_approval() {
    // Noon of a Saturday.
    let closed = format!("{REQUIRED}windows: {{allow: [Mon]}}\n");
    let plan = plan(&Cluster::parse(CLUSTER), &closed);
    assert_eq!(text(&plan), "");
    let codes: Vec<_> = plan.kept.iter().map(|kept| kept.refusal.code()).collect();
    assert_eq!(codes, ["outside-window"; 2]);
}

/// One eviction of a cycle needs no approval, but two pods have to leave n1 before it is empty.
#[test]
fn a_person_decides_about_all_pods_of_a_node_that_is_emptied() {
    let cluster = Cluster::parse(
        "
        node n1
          web cpu=500m
          api cpu=500m
        node n2
          shop*4 cpu=1
        ",
    );
    let mut policy = parse(
        "approval: {required: true, automatic: 1}\nevictable: {minReplicas: 1}\n\
         strategies: [{highNodeUtilization: {basis: requests, thresholds: {cpu: 20%}}}]",
    );
    policy.scheduler.fit.strategy = FitStrategy::MostAllocated;
    let (engine, snapshot) = cluster.seen(policy, Ledger::default());
    assert_eq!(text(&decide(&engine, &snapshot, noon())), "ask for api-1\nask for web-1");
}

#[test]
fn approved_evictions_are_made_and_no_others() {
    let cluster = Cluster::parse(CLUSTER);
    let all = approved(&cluster, noon(), |_| {});
    assert_eq!(all, "move api-1\nmove job-1");
    let one = approved(&cluster, noon(), |moves| moves.retain(|m| m.pod == "job-1"));
    assert_eq!(one, "move job-1\nask for api-1");
}

#[test]
fn what_is_approved_leaves_other_nodes_their_automatic_evictions() {
    let mut moves = plan(&Cluster::parse(CLUSTER), REQUIRED).proposal().moves;
    moves.retain(|one| one.pod == "job-1");
    let decided = |cluster: &str, moves: &[ProposedMove]| {
        let policy = policy("approval: {required: true, automatic: 2}\n");
        let (mut engine, snapshot) =
            Cluster::parse(cluster).seen(parse(&policy), Ledger::default());
        engine.approve(moves);
        text(&decide(&engine, &snapshot, noon()))
    };
    assert_eq!(decided(CLUSTER, &moves), "move api-1\nmove job-1");
    let job = "job cpu=500m memory=100Mi uses=2500m";
    let bare = CLUSTER.replace(job, &format!("{job} bare"));
    insta::assert_snapshot!(decided(&bare, &moves), @"
    move api-1
    ask for db-1
    the approved eviction of default/job-1 from n2 is not made: no controller would recreate it
    ");
    moves[0].uid = "another".to_owned();
    insta::assert_snapshot!(decided(CLUSTER, &moves), @"
    move api-1
    move job-1
    the approved eviction of default/job-1 from n2 is not made: another pod has its name now
    ");
}

#[test]
fn an_approved_eviction_that_is_no_longer_possible_says_what_has_changed() {
    let mut cluster = Cluster::parse(CLUSTER);
    cluster.replace("default", "job-1", "n3", after(60));
    insta::assert_snapshot!(approved(&cluster, after(120), |_| {}), @"
    move api-1
    the approved eviction of default/job-1 from n2 is not made: the pod is gone
    ");
    let of = |text: &str| approved(&Cluster::parse(text), noon(), |_| {});
    let protected = of(&CLUSTER.replace("uses=2500m", "uses=2500m bare"));
    let relieved = of(&CLUSTER.replace("uses=2500m", "uses=100m"));
    let other_pod = |moves: &mut Vec<ProposedMove>| moves[0].uid = "another".to_owned();
    let replaced = approved(&Cluster::parse(CLUSTER), noon(), other_pod);
    insta::assert_snapshot!([protected, relieved, replaced].join("\n\n"), @"
    ask for web-1
    ask for db-1
    the approved eviction of default/api-1 from n1 is not made: no controller would recreate it
    the approved eviction of default/job-1 from n2 is not made: no controller would recreate it

    the approved eviction of default/api-1 from n1 is not made: no strategy would move it now
    the approved eviction of default/job-1 from n2 is not made: no strategy would move it now

    move job-1
    ask for api-1
    the approved eviction of default/api-1 from n1 is not made: another pod has its name now
    ");
}

#[test]
fn an_eviction_that_was_made_by_the_same_approval_is_not_reported_as_missing() {
    let mut cluster = Cluster::parse(CLUSTER);
    let (mut engine, snapshot) = cluster.seen(parse(&policy(REQUIRED)), Ledger::default());
    engine.approve(&decide(&engine, &snapshot, noon()).proposal().moves);
    let made = decide(&engine, &snapshot, noon()).moves;
    assert_eq!(made.len(), 2);
    engine.intend(&snapshot, &made, noon());
    for one in &made {
        engine.resolve(one, &Outcome::Evicted);
        cluster.replace("default", &one.pod, "n3", noon());
    }
    let snapshot = cluster.snapshot(engine.policy());
    assert_eq!(decide(&engine, &snapshot, after(10)).unmade, []);
}

#[test]
fn a_plan_that_does_not_know_whether_a_node_is_hot_leaves_its_moves_open() {
    let cluster = Cluster::parse(CLUSTER);
    let moves = plan(&cluster, REQUIRED).proposal().moves;
    let decided = |engine: &mut Engine| {
        engine.approve(&moves);
        let plan = decide(engine, &cluster.snapshot(engine.policy()), noon());
        let open = moves.iter().filter(|one| plan.leaves_open(one)).count();
        format!("{}\n{open} of {} open", text(&plan), moves.len())
    };
    let ledger = Ledger::default;
    let policy = policy(REQUIRED)
        .replace("thresholds: {cpu: 30%}", "sustainedFor: 2m, thresholds: {cpu: 30%}");
    let sustained = || parse(&policy);
    let mut started = Engine::new(sustained(), ledger());
    // As after a reload that changes a strategy: nodes count as hot only after a while.
    let (mut reloaded, snapshot) = cluster.seen(sustained(), ledger());
    let mut other = reloaded.policy().clone();
    other.strategies.pop();
    let same = reloaded.policy().clone();
    reloaded.change_policy(other);
    reloaded.change_policy(same);
    reloaded.observe(&snapshot, &cluster.readings(noon()), noon());
    let (mut knowing, _) = cluster.seen(sustained(), ledger());
    let all = [&mut started, &mut reloaded, &mut knowing].map(decided);
    insta::assert_snapshot!(all.join("\n\n"), @"
    the approved eviction of default/api-1 from n1 is not made: its node is left alone: no samples
    the approved eviction of default/job-1 from n2 is not made: its node is left alone: no samples
    2 of 2 open

    the approved eviction of default/api-1 from n1 is not made: its node is warming: cpu 69% has been above the target 50% for 0s, and the node counts as hot after 2m
    the approved eviction of default/job-1 from n2 is not made: its node is warming: cpu 69% has been above the target 50% for 0s, and the node counts as hot after 2m
    2 of 2 open

    move api-1
    move job-1
    0 of 2 open
    ");
}

#[test]
fn a_replacement_may_land_where_that_of_a_like_pod_was_approved_to() {
    let cluster = Cluster::parse("node n1\n  web*4 cpu=500m uses=2\nnode n2\nnode n3");
    let elsewhere = |moves: &mut Vec<ProposedMove>| moves[0].possible_nodes = vec!["n9".to_owned()];
    let outcome = approved_of(&cluster, &cluster, noon(), elsewhere);
    assert_eq!(outcome, "move web-1\nmove web-2");
}

#[test]
fn a_landing_that_nobody_has_approved_is_refused() {
    let n9 = |moves: &mut Vec<ProposedMove>| {
        for one in moves {
            one.possible_nodes = vec!["n9".to_owned()];
        }
    };
    insta::assert_snapshot!(approved(&Cluster::parse(CLUSTER), noon(), n9), @"
    ask for api-1
    ask for job-1
    the approved eviction of default/api-1 from n1 is not made: its replacement would land on n3, which is none of the nodes that were approved
    the approved eviction of default/job-1 from n2 is not made: its replacement would land on n3, which is none of the nodes that were approved
    ");
}

#[test]
fn explain_looks_past_a_missing_approval() {
    let cluster = Cluster::parse(CLUSTER);
    let verdict = |approval: &str, pod: &str| {
        let (engine, snapshot) = cluster.seen(parse(&policy(approval)), Ledger::default());
        let subject = Subject::Pod(format!("default/{pod}"));
        let explained = engine.explain(&snapshot, &subject, noon()).unwrap();
        let json = serde_json::to_value(&explained).unwrap()["verdicts"][0].clone();
        let field = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        let text = explanation_text(&explained, 200);
        (field("answer"), field("code"), field("message"), text)
    };
    for move_ in &plan(&cluster, REQUIRED).proposed {
        let (answer, code, message, text) = verdict(REQUIRED, &move_.pod);
        assert_eq!([answer.as_str(), &code], ["proposed", "needs-approval"]);
        let to = move_.to.as_deref().unwrap();
        let expected = format!("waits for an approval (→ {to}): {}", move_.reason);
        assert_eq!(message, expected);
        let line = format!("LowNodeUtilization: proposed: {expected}");
        assert!(text.contains(&line), "{text}");
        assert!(text.contains("to change that: approve it"), "{text}");
        assert!(text.contains("refuses: a person has to approve its eviction"), "{text}");
    }
    for pod in ["web-1", "db-1"] {
        let (free, asked) = (verdict("", pod), verdict(REQUIRED, pod));
        assert_eq!((&free.0, &free.1), (&asked.0, &asked.1));
        assert_eq!(asked.1, "others-are-enough");
    }
    let automatic = "approval: {required: true, automatic: 1}\n";
    assert_eq!(verdict(automatic, "api-1").0, "moved");
    assert_eq!(verdict(automatic, "job-1").0, "proposed");
}
