//! The status page: its headline, its sections, `/status.json`, hostile names and the HTTP server.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel::cli::status_text;
use evenkeel::decide::engine::Engine;
use evenkeel::model::guard::{GuardAnswer, GuardReading, GuardSeries};
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{
    Class, Idle, NodePicture, Note, Outcome, Plan, Protected, Reason, SteerReason, SteeringTrial,
    TrialEffect, Verdict,
};
use evenkeel::model::snapshot::Snapshot;
use evenkeel::model::snapshot::facts::{OwnerKey, Skipped};
use evenkeel::policy::Policy;
use evenkeel::telemetry::Health;
use evenkeel::telemetry::status::{self, Board};
use evenkeel::values::quantity;
use evenkeel::values::query_value::QueryValue;
use evenkeel::view::status::facts::{
    ElectionRole, InstanceInfo, LedgerStatus, PlanStatus, SourceStatus,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, advance};
use tokio_util::sync::CancellationToken;

use crate::it::support::{Cluster, EVEN, after, noon, parse, recommending};

/// A policy by which no pod of [`UNEVEN`] moves, because each could return to its node.
fn strict() -> String {
    format!("forecast: {{tolerance: 0%}}\n{EVEN}")
}

const UNEVEN: &str = "\
node n1
  web*7 cpu=100m uses=1/1Gi
  agent cpu=100m uses=100m daemon
node n2
  api*4 cpu=1 uses=500m
node n3 no-metrics
node n4
budget web allows=2
";

fn about() -> InstanceInfo {
    InstanceInfo {
        version: "0.1.0".into(),
        instance: "evenkeel-0".to_owned(),
        policy: "1 strategy (LowNodeUtilization on actual usage), every 1m".to_owned(),
        policy_since: noon() - SignedDuration::from_mins(2),
        started: noon() - SignedDuration::from_mins(3),
        ..InstanceInfo::default()
    }
}

/// The published state of a daemon, without a running daemon.
struct PublishedStatus {
    board: Board,
    health: Health,
    engine: Engine,
}

impl PublishedStatus {
    fn new(policy: Policy) -> Self {
        let health = Health::default();
        health.ready();
        PublishedStatus {
            board: Board::new(about()),
            health,
            engine: Engine::new(policy, Ledger::default()),
        }
    }

    /// Runs one cycle in which every move has this outcome; `None` is a dry run.
    fn cycle(&mut self, cluster: &Cluster, outcome: Option<&Outcome>, at: Timestamp) -> Plan {
        let snapshot = cluster.snapshot(self.engine.policy());
        self.engine.observe_steady(&snapshot, &cluster.readings(at), at);
        self.engine.settle(&snapshot, at);
        let mut plan = recommending(&self.engine, &snapshot, at);
        self.engine.propose(&self.engine.join_usage(&snapshot, at), &mut plan);
        let outcomes: Vec<Outcome> =
            outcome.map(|o| vec![o.clone(); plan.moves.len()]).unwrap_or_default();
        self.engine.intend(&snapshot, &plan.moves, at);
        for (planned, outcome) in plan.moves.iter().zip(&outcomes) {
            self.engine.resolve(planned, outcome);
        }
        self.publish(&snapshot, &plan, &outcomes, at);
        plan
    }

    fn publish(&self, snapshot: &Snapshot, plan: &Plan, outcomes: &[Outcome], at: Timestamp) {
        let dry_run = outcomes.is_empty();
        self.board.plan(|| {
            let reports = self.engine.guards().reports(at);
            let round = PlanStatus::of(plan, outcomes, dry_run, SignedDuration::from_millis(12))
                .with_guards(&reports)
                .with_proposal(Some(&plan.proposal()).filter(|asked| !asked.moves.is_empty()));
            let outcome = if dry_run { "dry-run" } else { "acted" };
            let summary =
                round.past(outcome, format!("{} of {} evicted", round.evicted, plan.moves.len()));
            let cooldown = &self.engine.policy().cooldown;
            (round, summary, LedgerStatus::of(self.engine.ledger(), snapshot, cooldown, at))
        });
    }

    fn html(&self, at: Timestamp) -> String {
        self.board.html(&self.health, at).unwrap()
    }

    fn json(&self, at: Timestamp) -> Value {
        serde_json::from_slice(&self.json_text(at)).unwrap()
    }

    fn json_text(&self, at: Timestamp) -> Vec<u8> {
        self.board.json(&self.health, at).unwrap().into_bytes()
    }

    fn headline(&self, at: Timestamp) -> String {
        self.json(at)["state"]["message"].as_str().unwrap().to_owned()
    }
}

// ---- headline ----

#[test]
fn the_headline_describes_the_cluster() {
    let headline = |text: &str, policy: &str, outcome: Option<&Outcome>| {
        let mut status = PublishedStatus::new(parse(policy));
        status.cycle(&Cluster::parse(text), outcome, noon());
        status.headline(after(40))
    };
    let two = "node n1\n web*7 cpu=100m uses=1\nnode n2\n";
    assert_eq!(headline(two, EVEN, None), "Dry run: 1 node is hot, 3 pods would be evicted");
    let evicted = Some(&Outcome::Evicted);
    assert_eq!(
        headline(two, EVEN, evicted),
        "Moving: 1 node was hot, 3 pods evicted 40s ago; waiting for 3 replacements"
    );
    let refused = Outcome::Refused("budget".to_owned());
    assert_eq!(
        headline(two, EVEN, Some(&refused)),
        "Moving: 1 node was hot, 0 of 3 pods evicted 40s ago"
    );
    let full = "node n1\n web*7 cpu=100m uses=1 stay\nnode n2\n";
    let stays = "Uneven: 1 node is hot, no evictions; 7 candidates stay: its annotation \
        prefer-no-eviction asks not to evict it";
    assert_eq!(headline(full, EVEN, None), stays);
    let hot = "node n1\n web*7 cpu=100m uses=1\nnode n2\n api*7 cpu=100m uses=1\n";
    let nowhere = "Uneven: 2 nodes are hot, no evictions; 14 candidates stay: its replacement \
        could land on n2, where cpu usage would reach 100%, above the target of 50%";
    assert_eq!(headline(hot, EVEN, None), nowhere);
    let even = "node n1\n web*3 cpu=100m uses=1\nnode n2\n api*3 cpu=100m uses=1\n";
    assert_eq!(headline(even, EVEN, None), "Even: all 2 nodes are within the band");
    let room = format!("{even}node n3\n");
    assert_eq!(
        headline(&room, EVEN, None),
        "Even: none of 3 nodes is hot; 2 within the band, 1 with room"
    );
    let closed = format!("{even}node n3 cordoned\nnode n4 closed=DiskPressure\n");
    assert_eq!(
        headline(&closed, EVEN, None),
        "Even: none of 4 nodes is hot; 2 within the band, 0 with room, 2 closed to new pods"
    );
    let mute = format!("{room}node n4 no-metrics\n");
    assert_eq!(
        headline(&mute, EVEN, None),
        "Even as far as known: none of 4 nodes is hot; 2 within the band, 1 with room, 1 unknown"
    );
    assert_eq!(
        headline("node n1 no-metrics\nnode n2 no-metrics", EVEN, None),
        "Blind: no usable data for 2 nodes"
    );
    let alone = "Halted: ready and selected nodes: 1; moving a pod requires two";
    assert_eq!(headline("node n1", EVEN, None), alone);
    let pack = "strategies: [{highNodeUtilization: {thresholds: {cpu: 20%}}}]";
    let loose =
        "node n1\n web*2 cpu=100m uses=100m\nnode n2\n api*4 cpu=1 uses=1\nbudget web allows=0";
    let stays = "Not packed: 1 node is underused, no evictions; 2 candidates stay: \
        PodDisruptionBudget web allows no disruption now; and 1 other reason";
    assert_eq!(headline(loose, pack, None), stays);
    assert_eq!(headline(even, pack, None), "Packed: none of 2 nodes is underused");
    assert_eq!(
        headline(two, "strategies: [podLifeTime: {maxPodLifeTimeSeconds: 86400}]", None),
        "Nothing to do"
    );
}

#[test]
fn evictions_that_wait_for_an_approval_precede_why_candidates_stay() {
    let policy = format!("approval: {{required: true}}\n{EVEN}");
    let mut status = PublishedStatus::new(parse(&policy));
    status.cycle(&Cluster::parse("node n1\n web*7 cpu=100m uses=1\nnode n2\n"), None, noon());
    let waits = "Uneven: 1 node is hot, no evictions; 3 wait for an approval";
    assert_eq!(status.headline(noon()), waits);
    let terminal = status_text(&status.json_text(noon()), 100).unwrap();
    let asked = &status.json(noon())["plan"]["proposal"]["moves"]["items"];
    for one in asked.as_array().unwrap() {
        let pod = format!("default/{}", one["pod"].as_str().unwrap());
        assert!(status.html(noon()).contains(&pod), "{pod}");
        assert!(terminal.contains(&pod), "{terminal}");
    }
    assert_eq!(asked.as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_problem_of_the_daemon_precedes_the_condition_of_the_cluster() {
    let mut status = PublishedStatus::new(parse(&strict()));
    assert_eq!(status.headline(noon()), "Starting: no plan yet");
    status.cycle(&Cluster::parse(UNEVEN), None, noon());
    status.board.none(after(60), "failed", "the ledger cannot be written");
    assert_eq!(
        status.headline(after(61)),
        "Failed: the ledger cannot be written; the next cycle tries again"
    );
    status.health.waiting("the watch of pods is cut off");
    assert_eq!(status.headline(after(61)), "Waiting: the watch of pods is cut off");
    status.health.beat(Instant::now());
    advance(Duration::from_secs(119)).await;
    assert_eq!(status.headline(after(60 + 119)), "Waiting: the watch of pods is cut off");
    advance(Duration::from_secs(81)).await;
    assert_eq!(
        status.headline(after(60 + 200)),
        "Stuck: the main loop has not responded for 3m20s"
    );
    status.health.beat(Instant::now());
    status.health.ready();
    status.cycle(&Cluster::parse(UNEVEN), None, after(300));
    assert!(status.headline(after(300)).starts_with("Uneven: "), "{}", status.headline(after(300)));
}

#[test]
fn a_standby_instance_names_the_leader_and_shows_no_plan() {
    let mut status = PublishedStatus::new(parse(EVEN));
    status.cycle(&Cluster::parse(UNEVEN), None, noon());
    status.board.role(|| ElectionRole::Leading);
    assert!(
        status.html(noon()).contains(">leader</span>") && !status.json(noon())["plan"].is_null()
    );
    status.board.role(|| ElectionRole::Standby(Some("evenkeel-1".to_owned())));
    assert_eq!(status.headline(noon()), "Standby: evenkeel-1 leads; this instance does nothing");
    let data = status.json(noon());
    assert_eq!(data["part"], serde_json::json!({"code": "standby", "holder": "evenkeel-1"}));
    assert!(data["plan"].is_null() && data["ledger"].is_null());
    let page = status.html(noon());
    assert!(
        page.contains(">standby</span>") && !page.contains("h-nodes") && !page.contains("h-ledger"),
        "{page}"
    );
}

// ---- sections ----

#[test]
fn nodes_are_bars_against_their_band_the_worst_first() {
    let mut status = PublishedStatus::new(parse(EVEN));
    status.cycle(&Cluster::parse(UNEVEN), None, noon());
    let data = status.json(noon());
    let nodes = data["plan"]["nodes"]["items"].as_array().unwrap();
    let name_and_class =
        |n: &Value| format!("{} {}", n["name"].as_str().unwrap(), n["class"].as_str().unwrap());
    assert_eq!(
        nodes.iter().map(name_and_class).collect::<Vec<_>>(),
        ["n1 hot", "n3 unknown", "n2 cold", "n4 cold"]
    );
    let cpu = ["actual", "latest", "requests", "band"].map(|key| nodes[0][key]["cpu"].clone());
    let band = serde_json::json!({"low": 0.3, "high": 0.5});
    assert_eq!(cpu, [0.8875.into(), 0.8875.into(), 0.1.into(), band]);
    let page = status.html(noon());
    let row = page.split("<tr role=\"row\">").find(|row| row.contains(">n1</th>")).unwrap();
    for part in [
        "<span class=\"tag hot\">hot</span>",
        "hot: cpu 89% is above the target 50%",
        "<rect class=\"fill hot\" y=\"2\" height=\"11\" rx=\"2\" width=\"88.8%\"></rect>",
        "<rect class=\"thin\" y=\"15\" height=\"3\" rx=\"1\" width=\"10%\"></rect>",
        "<line class=\"edge low\" x1=\"30%\" x2=\"30%\"",
        "<line class=\"edge high\" x1=\"50%\" x2=\"50%\"",
        "<b>89\u{202f}%</b> used · 10\u{202f}% requested",
        ", band from 30% to 50%",
    ] {
        assert!(row.contains(part), "{part} is not in {row}");
    }
    assert!(page.contains("<b>usage unknown</b> · 0\u{202f}% requested"), "{page}");
}

#[test]
fn moves_refusals_and_evictions_are_shown_with_their_reasons() {
    let mut status = PublishedStatus::new(parse(&format!("steering: {{taintHot: true}}\n{EVEN}")));
    let mut cluster = Cluster::parse(&UNEVEN.replace("no-metrics", ""));
    let plan = status.cycle(&cluster, Some(&Outcome::Evicted), noon());
    let page = status.html(after(5));
    for part in [
        "<th scope=\"row\">default/web-1<small>default/Deployment/web</small></th>",
        "<span class=\"done\">evicted</span>",
        "<b>2</b> <code>disruption-budget</code> PodDisruptionBudget web allows no disruption \
            beyond the 2 planned",
        "add <code>hot</code>",
        "2 recent evictions, waiting for 2 replacements",
        "waiting for the replacement",
    ] {
        assert!(page.contains(part), "{part} is not in {}", &page[page.find("<main").unwrap()..]);
    }
    let to = plan.moves[0].to.clone().unwrap();
    let new = cluster.replace("default", &plan.moves[0].pod, &to, after(10));
    status.cycle(&cluster, Some(&Outcome::Gone), after(60));
    let data = status.json(after(61));
    let entry = data["ledger"]["entries"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|e| e["state"] == "landed")
        .unwrap();
    assert_eq!(
        (&entry["pod"], &entry["from"], &entry["to"]),
        (&"web-1".into(), &"n1".into(), &to.into()),
        "{new}"
    );
    assert_eq!(entry["rests_until"], "2026-11-21T12:10:10Z");
    assert!(
        status.html(after(61)).contains("the replacement is Ready on another node that is not hot")
    );
    assert_eq!(data["history"].as_array().unwrap().len(), 2);
}

#[test]
fn a_missing_right_to_steer_is_shown_with_what_steering_would_achieve() {
    let status = PublishedStatus::new(parse(EVEN));
    let cluster = Cluster::parse(UNEVEN);
    let snapshot = cluster.snapshot(status.engine.policy());
    let mut plan = recommending(&status.engine, &snapshot, noon());
    plan.steering_trial = Some(SteeringTrial {
        asked: true,
        refused: 3,
        refused_for_landing: 2,
        tainted: 1,
        effect: TrialEffect { hot: 1, relieved: 0, moves: 2, more: false, relieved_in_trial: 1 },
    });
    status.board.plan(|| {
        let round = PlanStatus::of(&plan, &[], false, SignedDuration::ZERO)
            .with_steering_denied(Some("cannot patch <nodes>"));
        let summary = round.past("idle", String::new());
        (round, summary, LedgerStatus::default())
    });
    let page = status.html(after(5));
    for part in [
        "<h2 id=\"h-steering\">Steering</h2>",
        "<b>Disabled:</b> no permission to change taints",
        "more pods stay: cannot patch &lt;nodes&gt;",
        "2 evictions would bring 1 of 1 hot node to target; without them 0.",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let plan = &status.json(after(5))["plan"];
    assert_eq!(plan["steering_denied"], "cannot patch <nodes>");
    assert_eq!(plan["steering_trial"]["moves"], 2);
}

#[test]
fn requests_far_from_usage_are_shown_with_a_recommendation() {
    let mut status = PublishedStatus::new(parse(EVEN));
    let plan = status.cycle(&Cluster::parse(UNEVEN), None, noon());
    let workload = &plan.rightsizing[0];
    let cpu = workload.resources["cpu"];
    let (now, fits) = (cpu.request.unwrap(), cpu.suggested);
    let row = format!(
        "<th scope=\"row\">{}</th><td>{} of {}</td><td>{} → <b>{}</b></td>",
        workload.workload,
        workload.measured,
        workload.pods,
        quantity::text("cpu", now),
        quantity::text("cpu", fits)
    );
    let page = status.html(noon());
    assert!(page.contains(&row), "{row} is not in {page}");
    assert_eq!(status.json(noon())["plan"]["rightsizing"]["items"][0], serde_json::json!(workload));
}

#[test]
fn the_keys_of_status_json_are_stable() {
    let mut status = PublishedStatus::new(parse(EVEN));
    status.cycle(
        &Cluster::parse(&UNEVEN.replace("no-metrics", "")),
        Some(&Outcome::Evicted),
        noon(),
    );
    status.board.due(after(60));
    status.board.sources(|| vec![source("prometheus", None)]);
    let data = status.json(after(1));
    let keys =
        |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&data), "about failures history ledger next_cycle now part plan sources state");
    assert_eq!(keys(&data["state"]), "code message");
    assert_eq!(
        keys(&data["about"]),
        "dry_run exact instance policy policy_refused policy_since started version"
    );
    assert_eq!(keys(&data["sources"][0]), "error in_use name newest_sample read");
    let plan = &data["plan"];
    let expected = "at balance basis classes dry_run evicted guard_states guards halted kept moves no_trend nodes \
        nodes_in_use notes paused proposal replica_trial rightsizing skipped steering steering_denied steering_trial took_ms \
        unknown";
    assert_eq!(keys(plan), expected);
    assert_eq!(keys(&plan["nodes"]), "items more");
    assert_eq!(
        keys(&plan["nodes"]["items"][0]),
        "actual band class latest name pool ratios requests verdicts"
    );
    assert_eq!(keys(&plan["classes"][0]), "class nodes");
    let of_a_move = "aim may_land may_land_more message namespace node outcome owner pod profile \
        reason saves strategy to uid workload worth";
    assert_eq!(keys(&plan["moves"]["items"][0]), of_a_move);
    assert_eq!(keys(&plan["kept"][0]), "code message pods");
    assert_eq!(
        keys(&plan["kept"][0]["pods"]["items"][0]),
        "code message namespace node pod strategy"
    );
    assert_eq!(keys(&data["ledger"]), "entries open rejected resting");
    assert_eq!(
        keys(&data["ledger"]["entries"]["items"][0]),
        "at from message pod rests_until state to workload"
    );
    assert_eq!(
        keys(&data["history"][0]),
        "at deviation evicted hot message outcome planned took_ms"
    );
}

#[test]
fn the_terminal_shows_the_same_status() {
    let mut status = PublishedStatus::new(parse(&strict()));
    status.cycle(&Cluster::parse(UNEVEN), Some(&Outcome::Evicted), noon());
    status.board.due(after(60));
    status.board.sources(|| vec![source("metricsApi", None)]);
    status.board.role(|| ElectionRole::Leading);
    let text = status_text(&status.json_text(after(5)), 100).unwrap();
    insta::assert_snapshot!(text, @r"
    evenkeel 0.1.0 · evenkeel-0 · leader
    Uneven: 1 node is hot, no evictions; 7 candidates stay: its replacement could land on n3, whose
        usage is unknown
    last plan 5s ago · next in 55s · metricsApi: newest sample 5s ago
    policy: 1 strategy (LowNodeUtilization on actual usage), every 1m; in force for 2m5s

    Nodes  1 hot, 1 unknown, 2 cold
                 cpu                        memory
    n1  hot      ██████┊███│███████    89%  ████                  22%
    n3  unknown                          ?                          ?
    n2  cold     █████ ┊   │           25%                         0%
    n4  cold           ┊   │            0%                         0%
    n3: left alone: no samples

    Pods that stay  candidates, by the reason
    7  would-land-unknown  its replacement could land on n3, whose usage is unknown
    ");

    let mut status = PublishedStatus::new(parse(EVEN));
    let cluster = Cluster::parse(&UNEVEN.replace("no-metrics", ""));
    status.cycle(&cluster, Some(&Outcome::Evicted), noon());
    let text = status_text(&status.json_text(after(90)), 70).unwrap();
    insta::assert_snapshot!(text, @r"
    evenkeel 0.1.0 · evenkeel-0
    Moving: 1 node was hot, 2 pods evicted 1m30s ago; waiting for 2
        replacements
    last plan 1m30s ago
    policy: 1 strategy (LowNodeUtilization on actual usage), every 1m; in
            force for 3m30s

    Nodes  1 hot, 3 cold
              cpu                        memory
    n1  hot   ██████┊███│███████    89%  ████                  22%
    n2  cold  █████ ┊   │           25%                         0%
    n3  cold        ┊   │            0%                         0%
    n4  cold        ┊   │            0%                         0%

    Moves  2 evictions in the last plan
    default/web-1  n1 → n3  evicted
    default/web-2  n1 → n4  evicted

    Pods that stay  candidates, by the reason
    2  disruption-budget  PodDisruptionBudget web allows no disruption
                          beyond the 2 planned

    Ledger  2 recent evictions, 2 under way
    1m30s ago  default/Deployment/web  n1 → ?  waiting for the replacement
    1m30s ago  default/Deployment/web  n1 → ?  waiting for the replacement
    ");
}

#[test]
fn another_answer_is_not_shown_as_a_status() {
    let error = status_text(b"<html>", 100).unwrap_err();
    assert!(error.to_string().starts_with("the answer is not the status of evenkeel"), "{error}");
}

#[test]
fn a_board_that_is_off_builds_nothing() {
    let board = Board::default();
    board.sources(|| unreachable!("the board is off"));
    board.plan(|| unreachable!("the board is off"));
    assert!(
        board.html(&Health::default(), noon()).is_none()
            && board.json(&Health::default(), noon()).is_none()
    );
}

// ---- large clusters ----

#[test]
fn a_page_of_five_thousand_nodes_is_small_and_states_what_it_leaves_out() {
    let mut status = PublishedStatus::new(parse(&strict()));
    let cluster = Cluster::parse(UNEVEN);
    let mut plan = status.cycle(&cluster, None, noon());
    let (node, kept) = (plan.before.nodes[0].clone(), plan.kept[0].clone());
    let verdict = plan.nodes[0].clone();
    plan.before.nodes =
        (0..5000).map(|i| NodePicture { name: format!("node-{i}"), ..node.clone() }).collect();
    plan.nodes =
        (0..5000).map(|i| Verdict { node: format!("node-{i}"), ..verdict.clone() }).collect();
    plan.kept = vec![kept; 150_000];
    status.publish(&cluster.snapshot(status.engine.policy()), &plan, &[], noon());
    let (page, data) = (status.html(noon()), status.json(noon()).to_string());
    assert!(
        page.len() < 500_000 && data.len() < 500_000,
        "{} and {} bytes",
        page.len(),
        data.len()
    );
    for part in [
        "<b>5,000</b> nodes",
        "175 more nodes",
        "and 4,800 more nodes",
        "<b>150,000</b>",
        "and 149,950 more pods",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_page_keeps_the_last_120_cycles() {
    let status = PublishedStatus::new(parse(EVEN));
    for i in 0..500 {
        status.board.none(after(i), "failed", "no");
    }
    let history = status.json(after(500))["history"].as_array().unwrap().clone();
    assert_eq!((history.len(), &history[119]["at"]), (120, &"2026-11-21T12:08:19Z".into()));
}

// ---- hostile names ----

const EVIL: &str = "<script>alert(1)</script>\"'&\u{202e}\u{0}\u{200f}";

#[test]
#[expect(clippy::too_many_lines, reason = "a list of examples or of fields")]
fn no_name_and_no_message_becomes_markup() {
    let text = "node <script>n1\n web*7 cpu=100m uses=1 labels=a:<script>alert(1)</script>\nnode \
        n2\nnode n3\nbudget web allows=2";
    let mut status = PublishedStatus::new(parse(&format!("steering: {{taintHot: true}}\n{EVEN}")));
    let cluster = Cluster::parse(text);
    let mut plan = status.cycle(&cluster, Some(&Outcome::Refused(EVIL.to_owned())), noon());
    for node in &mut plan.before.nodes {
        let cpu = node.actual["cpu"];
        for ratios in [&mut node.ratios, &mut node.actual, &mut node.requests] {
            ratios.insert(EVIL.to_owned(), cpu);
        }
        node.pool = Some(EVIL.to_owned());
    }
    plan.before.balance.insert(EVIL.to_owned(), plan.before.balance["cpu"]);
    for planned in &mut plan.moves {
        (planned.namespace, planned.pod, planned.node) =
            (EVIL.to_owned(), EVIL.to_owned(), EVIL.to_owned());
        (planned.profile, planned.possible_nodes) = (EVIL.to_owned(), vec![EVIL.to_owned(); 7]);
        planned.workload = Some(OwnerKey {
            namespace: EVIL.to_owned(),
            kind: EVIL.to_owned(),
            name: EVIL.to_owned(),
        });
        planned.reason = Reason::Neighbour { pod: EVIL.to_owned(), topology_key: EVIL.to_owned() };
    }
    for kept in &mut plan.kept {
        (kept.namespace, kept.pod, kept.node) = (EVIL.to_owned(), EVIL.to_owned(), EVIL.to_owned());
        kept.refusal = Protected::Gang(EVIL.to_owned()).into();
    }
    for verdict in &mut plan.nodes {
        verdict.class = Class::Unreadable(EVIL.to_owned());
    }
    let (pool, why) = (EVIL.to_owned(), Idle::Unmeasurable(EVIL.to_owned()));
    plan.notes.push(Note { strategy: "LowNodeUtilization", pool, why });
    for rightsizing in &mut plan.rightsizing {
        rightsizing.workload =
            OwnerKey { namespace: EVIL.to_owned(), kind: EVIL.to_owned(), name: EVIL.to_owned() };
    }
    assert!(!plan.rightsizing.is_empty());
    plan.steering[0].node = EVIL.to_owned();
    plan.steering[0].why = SteerReason::Unsure(EVIL.to_owned());
    let bad = |word: &str| word.to_owned() + EVIL;
    plan.skipped.push(Skipped {
        kind: bad("a"),
        namespace: bad("b"),
        name: bad("c"),
        node: None,
        why: bad("d"),
    });
    let outcomes = vec![Outcome::Failed(EVIL.to_owned()); plan.moves.len()];
    let snapshot = cluster.snapshot(status.engine.policy());
    status.engine.intend(&snapshot, &cluster.plan(EVEN).moves, noon());
    status.publish(&snapshot, &plan, &outcomes, noon());
    status.board.sources(|| vec![source("prometheus", Some(EVIL))]);
    status.board.none(after(1), "failed", EVIL);

    let mut page = status.html(after(2));
    assert_harmless(&page);
    assert!(page.matches("&lt;script&gt;alert(1)").count() > 30, "the names are missing");
    status.health.waiting(EVIL);
    page = status.html(after(2));
    assert_harmless(&page);
    let data = status.json(after(2));
    assert_eq!(data["plan"]["moves"]["items"][0]["pod"], EVIL, "JSON contains the name unchanged");
    assert_eq!(data["state"]["message"], format!("Waiting: {EVIL}"));
}

/// Fails if the page has markup from a name: an element, an attribute, or a character that changes
/// the text direction.
fn assert_harmless(page: &str) {
    let tags = tags(page);
    assert_eq!(tags.iter().filter(|(name, _)| name == "script").count(), 1);
    assert_eq!(tags.iter().filter(|(name, _)| name == "style").count(), 1);
    for (name, attributes) in &tags {
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'!'), "<{name}>");
        for attribute in attributes {
            assert!(!attribute.starts_with("on") && attribute != "style", "<{name} {attribute}>");
            let known = attribute.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            assert!(known && attribute.len() < 20, "<{name} {attribute}>");
        }
    }
    let marks = ['\u{200e}', '\u{200f}'];
    let changes_direction = |c: char| {
        marks.contains(&c) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!page.chars().any(|c| changes_direction(c) || (c.is_control() && c != '\n')));
}

/// Returns the tags of a page with the names of their attributes, without the content of style and
/// script.
fn tags(page: &str) -> Vec<(String, Vec<String>)> {
    let (mut all, mut rest) = (Vec::new(), page);
    while let Some(at) = rest.find('<') {
        let (inside, after) = rest[at + 1..].split_once('>').unwrap();
        assert!(!inside.contains('<'), "unclosed tag: {inside}");
        rest = after;
        if let Some(inside) = Some(inside).filter(|i| !i.starts_with('/')) {
            let (name, mut left) =
                inside.split_once(' ').unwrap_or((inside.trim_end_matches('/'), ""));
            let mut attributes = Vec::new();
            while let Some((attribute, value)) = left.split_once("=\"") {
                attributes.push(attribute.trim().to_owned());
                left = value.split_once('"').expect("a quote after the value").1;
            }
            attributes.extend(left.trim_matches(['/', ' ']).split_whitespace().map(str::to_owned));
            if ["script", "style"].contains(&name) {
                rest = &rest[rest.find("</").unwrap()..];
            }
            all.push((name.to_owned(), attributes));
        }
    }
    all
}

// ---- HTTP server ----

/// A running server. It stops when this value is dropped.
struct RunningServer(
    std::net::SocketAddr,
    #[expect(dead_code, reason = "dropping it stops the server")] tokio_util::sync::DropGuard,
);

impl RunningServer {
    async fn start() -> Self {
        let mut status = PublishedStatus::new(parse(&strict()));
        status.cycle(&Cluster::parse(UNEVEN), None, noon());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        tokio::spawn(status::serve(listener, status.board, status.health, stop.clone()));
        RunningServer(address, stop.drop_guard())
    }

    /// Returns the head, in lower case, and the body of the response.
    async fn request(&self, method: &str, path: &str, host: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.0).await.unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }
}

#[tokio::test]
async fn the_server_answers_get_and_head_only() {
    let server = RunningServer::start().await;
    let (head, page) = server.request("GET", "/", "localhost:8081").await;
    assert!(
        head.starts_with("http/1.1 200 ")
            && head.contains("content-type: text/html; charset=utf-8"),
        "{head}"
    );
    assert!(
        page.starts_with("<!DOCTYPE html>")
            && page.contains("<noscript><meta http-equiv=\"refresh\""),
        "{page}"
    );
    let (head, body) = server.request("HEAD", "/", "localhost").await;
    assert!(
        head.starts_with("http/1.1 200 ") && head.contains("content-length: ") && body.is_empty(),
        "{head}"
    );
    let (head, data) = server.request("GET", "/status.json", "[::1]:8081").await;
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(serde_json::from_str::<Value>(&data).unwrap()["state"]["code"], "uneven");
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
        for path in ["/", "/status.json"] {
            let (head, _) = server.request(method, path, "localhost").await;
            assert!(
                head.starts_with("http/1.1 405 ") && head.contains("allow: get,head"),
                "{method}: {head}"
            );
        }
    }
    for path in ["/metrics", "/status", "/../etc/passwd", "//"] {
        assert!(
            server.request("GET", path, "localhost").await.0.starts_with("http/1.1 404 "),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_foreign_host_name_for_this_machine_is_refused() {
    let server = RunningServer::start().await;
    for host in ["evil.example", "evil.example:8081", "127.0.0.1.evil.example", "10.1.2.3"] {
        for path in ["/", "/status.json", "/nothing"] {
            let (head, body) = server.request("GET", path, host).await;
            assert!(head.starts_with("http/1.1 403 ") && !body.contains("n1"), "{host}: {head}");
        }
    }
    let (head, _) = server.request("GET", "http://evil.example/", "localhost").await;
    assert!(head.starts_with("http/1.1 403 "), "{head}");
}

#[tokio::test]
async fn the_security_headers_allow_only_the_own_style_and_script() {
    let server = RunningServer::start().await;
    for (method, path, host) in
        [("GET", "/", "localhost"), ("GET", "/no", "localhost"), ("GET", "/", "evil.example")]
    {
        let (head, _) = server.request(method, path, host).await;
        for header in [
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "x-frame-options: deny",
        ] {
            assert!(head.contains(header), "{header} is not in {head}");
        }
        assert!(
            head.contains("content-security-policy: default-src 'none'; style-src 'sha256-"),
            "{head}"
        );
        assert!(!head.contains("unsafe") && !head.contains("access-control"), "{head}");
    }
    // The policy names the hashes of the style and the script in the page.
    let (head, page) = server.request("GET", "/", "localhost").await;
    for element in ["style", "script"] {
        let (_, rest) = page.split_once(&format!("<{element}>")).unwrap();
        let text = rest.split_once(&format!("</{element}>")).unwrap().0;
        let hash = STANDARD.encode(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()));
        let named = format!("{element}-src 'sha256-{hash}'").to_ascii_lowercase();
        assert!(head.contains(&named), "{element}");
    }
}

#[test]
fn a_source_without_samples_has_been_read() {
    for (read, said) in [(None, "not read yet"), (Some(noon()), "no samples of nodes")] {
        let status = PublishedStatus::new(parse(EVEN));
        let source = SourceStatus { read, newest_sample: None, ..source("metricsApi", None) };
        status.board.sources(|| vec![source]);
        let text = status_text(&status.json_text(noon()), 100).unwrap();
        assert!(text.contains(&format!("metricsApi: {said}\n")), "{text}");
        assert!(status.html(noon()).contains(&format!("metricsApi: {said}<")), "{said}");
    }
}

fn source(name: &'static str, error: Option<&str>) -> SourceStatus {
    SourceStatus {
        name: name.into(),
        in_use: true,
        read: Some(noon()),
        newest_sample: Some(noon()),
        error: error.map(str::to_owned),
    }
}

#[test]
fn guards_are_shown_with_their_values_and_not_at_all_without_any() {
    let guarded = format!(
        "usage: {{prometheus: {{url: 'http://p'}}}}\n\
         guards: [{{name: 'a<b', query: q, above: 0.05, scope: workload}}]\n{EVEN}"
    );
    let mut status = PublishedStatus::new(parse(&guarded));
    let cluster = Cluster::parse(UNEVEN);
    let snapshot = cluster.snapshot(status.engine.policy());
    let answer = GuardAnswer {
        at: after(1),
        series: vec![GuardSeries {
            labels: [("namespace", "default"), ("deployment", "api")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            value: QueryValue::new(0.01),
        }],
    };
    let reading = GuardReading { guard: "a<b".to_owned(), answers: Ok(vec![answer]) };
    status.engine.observe_guards(&snapshot, &[reading]);
    status.cycle(&cluster, None, after(2));
    let page = status.html(after(5));
    for part in [
        "Guards</h2>",
        "a&lt;b",
        "<td>workload</td><td>0.01</td><td>0.05</td>",
        "4s ago",
        "quiet</span>: its values are within the limit",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let text = status_text(&status.json_text(after(5)), 100).unwrap();
    assert!(text.contains("\nGuards  the newest values against their limits\n"), "{text}");
    let line = "a<b  workload  0.01  limit 0.05  4s ago  quiet: its values are within the limit";
    assert!(text.contains(line), "{text}");
    let mut without = PublishedStatus::new(parse(EVEN));
    without.cycle(&cluster, None, after(2));
    assert!(!without.html(after(5)).contains("Guards"));
    assert!(!status_text(&without.json_text(after(5)), 100).unwrap().contains("Guards"));
}

#[test]
fn an_outage_of_many_requests_is_one_sentence() {
    let mut status = PublishedStatus::new(parse(EVEN));
    status.cycle(&Cluster::parse(UNEVEN), None, noon());
    let mut json = status.json(after(5));
    let failure = |request: &str, effect: &str| {
        serde_json::json!({"request": request, "lasts": "PT20S", "why": "connection refused",
            "effect": effect})
    };
    let mut failures: Vec<Value> = ["Node", "Pod", "Service", "Job"]
        .map(|kind| failure(&format!("watch of {kind}"), "no evictions"))
        .into();
    failures.push(failure("lease", "this instance cannot lead"));
    failures.push(failure("usage from metricsApi", "its samples age"));
    json["failures"] = failures.into();
    json["sources"] = serde_json::json!([{"name": "metricsApi", "error": "connection refused"}]);
    let text = status_text(json.to_string().as_bytes(), 400).unwrap();
    let sentence = "watch of Node, watch of Pod and 2 more fail: connection refused; no evictions · \
        lease fails: connection refused; this instance cannot lead · \
        usage from metricsApi fails: connection refused; its samples age";
    assert!(text.contains(sentence), "{text}");
    assert_eq!(text.matches("connection refused").count(), 3, "{text}");
}
