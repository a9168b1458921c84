//! The status page: what an operator reads, what a script reads, and that nothing in a name is markup.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel::daemon::telemetry::Health;
use evenkeel::daemon::telemetry::status::facts::{About, Remembered, Round, Source};
use evenkeel::daemon::telemetry::status::{self, Board, Part};
use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::plan::{
    Class, Idle, NodePicture, Note, Outcome, Plan, Reason, Refusal, SteerReason, Verdict,
};
use evenkeel::model::snapshot::Snapshot;
use evenkeel::model::snapshot::facts::{OwnerKey, Skipped};
use evenkeel::policy::Policy;
use evenkeel::values::quantity;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::support::{Cluster, EVEN, after, noon, parse};

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

fn about() -> About {
    About {
        version: "0.1.0",
        instance: "evenkeel-0".to_owned(),
        policy: "1 strategy (LowNodeUtilization on actual usage), every 1m".to_owned(),
        dry_run: false,
        exact: false,
        started: noon() - SignedDuration::from_mins(3),
    }
}

/// A daemon as it is after its cycles, without the daemon.
struct Shown {
    board: Board,
    health: Health,
    engine: Engine,
}

impl Shown {
    fn new(policy: Policy) -> Self {
        let health = Health::default();
        health.ready();
        Shown {
            board: Board::new(about()),
            health,
            engine: Engine::new(policy, Ledger::default()),
        }
    }

    /// One cycle: each of its moves comes to this.
    fn cycle(&mut self, cluster: &Cluster, outcome: Option<&Outcome>, at: Timestamp) -> Plan {
        let snapshot = cluster.snapshot(self.engine.policy());
        self.engine
            .observe_steady(&snapshot, &cluster.readings(at), at);
        self.engine.settle(&snapshot, at);
        let plan = self.engine.decide(&snapshot, at);
        let outcomes: Vec<Outcome> = outcome
            .map(|o| vec![o.clone(); plan.moves.len()])
            .unwrap_or_default();
        self.engine.intend(&snapshot, &plan.moves, at);
        for (it, outcome) in plan.moves.iter().zip(&outcomes) {
            self.engine.resolve(it, outcome);
        }
        self.publish(&snapshot, &plan, &outcomes, at);
        plan
    }

    fn publish(&self, snapshot: &Snapshot, plan: &Plan, outcomes: &[Outcome], at: Timestamp) {
        let dry_run = outcomes.is_empty();
        self.board.round(|| {
            let round = Round::of(plan, outcomes, dry_run, SignedDuration::from_millis(12));
            let outcome = if dry_run { "dry-run" } else { "acted" };
            let past = round.past(
                outcome,
                format!("{} of {} evicted", round.evicted, plan.moves.len()),
            );
            let rest = self.engine.policy().cooldown.rest;
            (
                round,
                past,
                Remembered::of(self.engine.ledger(), snapshot, rest, at),
            )
        });
    }

    fn html(&self, at: Timestamp) -> String {
        self.board.html(&self.health, at).unwrap()
    }

    fn json(&self, at: Timestamp) -> Value {
        serde_json::from_str(&self.board.json(&self.health, at).unwrap()).unwrap()
    }

    fn headline(&self, at: Timestamp) -> String {
        self.json(at)["state"]["message"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

// ---- what is read first ----

#[test]
fn one_sentence_tells_how_the_cluster_is() {
    let at_first = |text: &str, policy: &str, outcome: Option<&Outcome>| {
        let mut shown = Shown::new(parse(policy));
        shown.cycle(&Cluster::parse(text), outcome, noon());
        shown.headline(after(40))
    };
    let two = "node n1\n web*7 cpu=100m uses=1\nnode n2\n";
    assert_eq!(
        at_first(two, EVEN, None),
        "Dry run: 1 node is hot, 3 pods would be evicted"
    );
    let evicted = Some(&Outcome::Evicted);
    assert_eq!(
        at_first(two, EVEN, evicted),
        "Moving: 1 node was hot, 3 pods evicted 40s ago; 3 replacements awaited"
    );
    let refused = Outcome::Refused("budget".to_owned());
    assert_eq!(
        at_first(two, EVEN, Some(&refused)),
        "Moving: 1 node was hot, 0 of 3 pods evicted 40s ago"
    );
    let full = "node n1\n web*7 cpu=100m uses=1 stay\nnode n2\n";
    let stays = "Uneven: 1 node is hot, and the 7 pods that would help must stay: its annotation prefer-no-eviction asks not to evict it";
    assert_eq!(at_first(full, EVEN, None), stays);
    let hot = "node n1\n web*7 cpu=100m uses=1\nnode n2\n api*7 cpu=100m uses=1\n";
    let nowhere = "Uneven: 2 nodes are hot, and nothing is done: 2 nodes are above their targets, but no node below its thresholds can take pods";
    assert_eq!(at_first(hot, EVEN, None), nowhere);
    let even = "node n1\n web*3 cpu=100m uses=1\nnode n2\n api*3 cpu=100m uses=1\n";
    assert_eq!(
        at_first(even, EVEN, None),
        "Even: all 2 nodes are within the band"
    );
    let room = format!("{even}node n3\n");
    assert_eq!(
        at_first(&room, EVEN, None),
        "Even: no node of 3 is hot; 2 within the band, 1 with room"
    );
    let mute = format!("{room}node n4 no-metrics\n");
    assert_eq!(
        at_first(&mute, EVEN, None),
        "Even, as far as is known: no node of 4 is hot; 2 within the band, 1 with room, 1 unknown"
    );
    assert_eq!(
        at_first("node n1 no-metrics\nnode n2 no-metrics", EVEN, None),
        "Blind: of 2 nodes nothing is known"
    );
    let alone = "Halted: ready and selected nodes: 1; moving a pod requires two";
    assert_eq!(at_first("node n1", EVEN, None), alone);
    let pack = "strategies: [{highNodeUtilization: {thresholds: {cpu: 20%}}}]";
    let loose =
        "node n1\n web*2 cpu=100m uses=100m\nnode n2\n api*4 cpu=1 uses=1\nbudget web allows=0";
    let stays = "Not packed: 1 node is underused, and the 2 pods that would help must stay: PodDisruptionBudget web allows no disruption now; and 1 other reason";
    assert_eq!(at_first(loose, pack, None), stays);
    assert_eq!(
        at_first(even, pack, None),
        "Packed: of 2 nodes none is to be emptied"
    );
    assert_eq!(
        at_first(
            two,
            "strategies: [podLifeTime: {maxPodLifeTimeSeconds: 86400}]",
            None
        ),
        "Nothing to do"
    );
}

#[test]
fn what_keeps_it_from_deciding_is_told_before_all_else() {
    let mut shown = Shown::new(parse(EVEN));
    assert_eq!(shown.headline(noon()), "Starting: nothing was decided yet");
    shown.cycle(&Cluster::parse(UNEVEN), None, noon());
    shown
        .board
        .none(after(60), "failed", "the ledger cannot be written");
    assert_eq!(
        shown.headline(after(61)),
        "Failed: the ledger cannot be written; the next cycle tries again"
    );
    shown.health.waiting("the watch of pods is cut off");
    assert_eq!(
        shown.headline(after(61)),
        "Waiting: the watch of pods is cut off"
    );
    shown.health.beat(after(60));
    assert_eq!(
        shown.headline(after(60 + 119)),
        "Waiting: the watch of pods is cut off"
    );
    assert_eq!(
        shown.headline(after(60 + 200)),
        "Stuck: the loop has been overdue for 3m20s"
    );
    shown.health.beat(after(300));
    shown.health.ready();
    shown.cycle(&Cluster::parse(UNEVEN), None, after(300));
    assert!(
        shown.headline(after(300)).starts_with("Uneven: "),
        "{}",
        shown.headline(after(300))
    );
}

#[test]
fn one_that_stands_by_says_who_leads_and_shows_no_plan_of_its_own() {
    let mut shown = Shown::new(parse(EVEN));
    shown.cycle(&Cluster::parse(UNEVEN), None, noon());
    shown.board.part(|| Part::Leading);
    assert!(shown.html(noon()).contains(">leader</span>") && !shown.json(noon())["plan"].is_null());
    shown
        .board
        .part(|| Part::Standby(Some("evenkeel-1".to_owned())));
    assert_eq!(
        shown.headline(noon()),
        "Standing by: evenkeel-1 leads, and this instance does nothing"
    );
    let data = shown.json(noon());
    assert_eq!(
        data["part"],
        serde_json::json!({"code": "standby", "holder": "evenkeel-1"})
    );
    assert!(data["plan"].is_null() && data["ledger"].is_null());
    let page = shown.html(noon());
    assert!(
        page.contains(">standby</span>") && !page.contains("h-nodes") && !page.contains("h-ledger"),
        "{page}"
    );
}

// ---- what the page shows ----

#[test]
fn nodes_stand_against_their_band_the_worst_first() {
    let mut shown = Shown::new(parse(EVEN));
    shown.cycle(&Cluster::parse(UNEVEN), None, noon());
    let data = shown.json(noon());
    let nodes = data["plan"]["nodes"]["items"].as_array().unwrap();
    let told = |n: &Value| {
        format!(
            "{} {}",
            n["name"].as_str().unwrap(),
            n["class"].as_str().unwrap()
        )
    };
    assert_eq!(
        nodes.iter().map(told).collect::<Vec<_>>(),
        ["n1 hot", "n3 unknown", "n2 cold", "n4 cold"]
    );
    let cpu = &nodes[0]["loads"]["cpu"];
    let expected = serde_json::json!({"actual": 0.8875, "latest": 0.8875, "requests": 0.1, "low": 0.3, "high": 0.5});
    assert_eq!(*cpu, expected);
    let page = shown.html(noon());
    let row = page
        .split("<tr role=\"row\">")
        .find(|row| row.contains(">n1</th>"))
        .unwrap();
    for part in [
        "<span class=\"tag hot\">hot</span>",
        "hot: cpu 89% is above the target 50%",
        "<rect class=\"fill hot\" y=\"2\" height=\"11\" rx=\"2\" width=\"88.8%\"/>",
        "<rect class=\"thin\" y=\"15\" height=\"3\" rx=\"1\" width=\"10%\"/>",
        "<line class=\"edge low\" x1=\"30%\" x2=\"30%\"",
        "<line class=\"edge high\" x1=\"50%\" x2=\"50%\"",
        "<b>89\u{202f}%</b> used · 10\u{202f}% requested",
        ", band from 30% to 50%",
    ] {
        assert!(row.contains(part), "{part} is not in {row}");
    }
    assert!(
        page.contains("<b>usage unknown</b> · 0\u{202f}% requested"),
        "{page}"
    );
}

#[test]
fn what_goes_what_stays_and_what_is_remembered_is_told_with_its_reason() {
    let mut shown = Shown::new(parse(&format!("steering: {{taintHot: true}}\n{EVEN}")));
    let mut cluster = Cluster::parse(&UNEVEN.replace("no-metrics", ""));
    let plan = shown.cycle(&cluster, Some(&Outcome::Evicted), noon());
    let page = shown.html(after(5));
    for part in [
        "<th scope=\"row\">default/web-1<small>default/Deployment/web</small></th>",
        "<span class=\"done\">evicted</span>",
        "<b>2</b> <code>disruption-budget</code> PodDisruptionBudget web allows no disruption beyond the 2 planned",
        "add <code>hot</code>",
        "2 evictions remembered, 2 replacements awaited",
        "the replacement is awaited",
    ] {
        assert!(
            page.contains(part),
            "{part} is not in {}",
            &page[page.find("<main").unwrap()..]
        );
    }
    let to = plan.moves[0].to.clone().unwrap();
    let new = cluster.replace("default", &plan.moves[0].pod, &to, after(10));
    shown.cycle(&cluster, Some(&Outcome::Gone), after(60));
    let data = shown.json(after(61));
    let entry = data["ledger"]["entries"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|e| e["state"] == "helped")
        .unwrap();
    assert_eq!(
        (&entry["pod"], &entry["from"], &entry["to"]),
        (&"web-1".into(), &"n1".into(), &to.into()),
        "{new}"
    );
    assert_eq!(entry["rests_until"], "2026-11-21T12:10:10Z");
    assert!(
        shown
            .html(after(61))
            .contains("the replacement is Ready on another node that is not hot")
    );
    assert_eq!(data["history"].as_array().unwrap().len(), 2);
}

#[test]
fn requests_that_are_far_from_use_are_told_with_what_would_fit() {
    let mut shown = Shown::new(parse(EVEN));
    let plan = shown.cycle(&Cluster::parse(UNEVEN), None, noon());
    let it = &plan.rightsizing[0];
    let cpu = it.resources["cpu"];
    let (now, fits) = (cpu.request.unwrap(), cpu.suggested);
    let row = format!(
        "<th scope=\"row\">{}</th><td>{} of {}</td><td>{} → <b>{}</b></td>",
        it.workload,
        it.measured,
        it.pods,
        quantity::text("cpu", now),
        quantity::text("cpu", fits)
    );
    let page = shown.html(noon());
    assert!(page.contains(&row), "{row} is not in {page}");
    assert_eq!(
        shown.json(noon())["plan"]["rightsizing"]["items"][0],
        serde_json::json!(it)
    );
}

#[test]
fn the_keys_of_the_data_stay_as_they_are() {
    let mut shown = Shown::new(parse(EVEN));
    shown.cycle(
        &Cluster::parse(&UNEVEN.replace("no-metrics", "")),
        Some(&Outcome::Evicted),
        noon(),
    );
    shown.board.due(after(60));
    shown.board.sources(|| vec![source("prometheus", None)]);
    let data = shown.json(after(1));
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        keys(&data),
        "about history ledger next_cycle now part plan sources state"
    );
    assert_eq!(keys(&data["state"]), "code message");
    assert_eq!(
        keys(&data["about"]),
        "dry_run exact instance policy started version"
    );
    assert_eq!(
        keys(&data["sources"][0]),
        "error in_use name newest_sample read"
    );
    let plan = &data["plan"];
    let expected = "rightsizing at balance basis classes dry_run evicted halted kept moves nodes notes skipped steering took_ms";
    assert_eq!(keys(plan), expected);
    assert_eq!(keys(&plan["nodes"]), "items more");
    assert_eq!(
        keys(&plan["nodes"]["items"][0]),
        "class loads name pool verdicts"
    );
    assert_eq!(keys(&plan["classes"][0]), "class nodes");
    let of_a_move = "may_land message namespace node outcome pod reason strategy workload";
    assert_eq!(keys(&plan["moves"]["items"][0]), of_a_move);
    assert_eq!(keys(&plan["kept"][0]), "code message pods");
    assert_eq!(
        keys(&plan["kept"][0]["pods"]["items"][0]),
        "code message namespace node pod strategy"
    );
    assert_eq!(keys(&data["ledger"]), "entries open resting");
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
fn nothing_is_made_for_a_page_that_is_off() {
    let board = Board::default();
    board.sources(|| unreachable!("nobody looks"));
    board.round(|| unreachable!("nobody looks"));
    assert!(
        board.html(&Health::default(), noon()).is_none()
            && board.json(&Health::default(), noon()).is_none()
    );
}

// ---- large clusters ----

#[test]
fn a_page_of_five_thousand_nodes_is_small_and_says_what_it_leaves_out() {
    let mut shown = Shown::new(parse(EVEN));
    let cluster = Cluster::parse(UNEVEN);
    let mut plan = shown.cycle(&cluster, None, noon());
    let (node, kept) = (plan.before.nodes[0].clone(), plan.kept[0].clone());
    let verdict = plan.nodes[0].clone();
    plan.before.nodes = (0..5000)
        .map(|i| NodePicture {
            name: format!("node-{i}"),
            ..node.clone()
        })
        .collect();
    plan.nodes = (0..5000)
        .map(|i| Verdict {
            node: format!("node-{i}"),
            ..verdict.clone()
        })
        .collect();
    plan.kept = vec![kept; 150_000];
    shown.publish(&cluster.snapshot(shown.engine.policy()), &plan, &[], noon());
    let (page, data) = (shown.html(noon()), shown.json(noon()).to_string());
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
fn so_many_cycles_are_remembered_and_no_more() {
    let shown = Shown::new(parse(EVEN));
    for i in 0..500 {
        shown.board.none(after(i), "failed", "no");
    }
    let history = shown.json(after(500))["history"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(
        (history.len(), &history[119]["at"]),
        (120, &"2026-11-21T12:08:19Z".into())
    );
}

// ---- names are anyone's choice ----

const EVIL: &str = "<script>alert(1)</script>\"'&\u{202e}\u{0}\u{200f}";

#[test]
fn no_name_and_no_message_is_markup() {
    let text = "node <script>n1\n web*7 cpu=100m uses=1 labels=a:<script>alert(1)</script>\nnode n2\nnode n3\nbudget web allows=2";
    let mut shown = Shown::new(parse(&format!("steering: {{taintHot: true}}\n{EVEN}")));
    let cluster = Cluster::parse(text);
    let mut plan = shown.cycle(&cluster, Some(&Outcome::Refused(EVIL.to_owned())), noon());
    for node in &mut plan.before.nodes {
        let cpu = node.actual["cpu"];
        for ratios in [&mut node.ratios, &mut node.actual, &mut node.requests] {
            ratios.insert(EVIL.to_owned(), cpu);
        }
        node.pool = Some(EVIL.to_owned());
    }
    plan.before
        .balance
        .insert(EVIL.to_owned(), plan.before.balance["cpu"]);
    for it in &mut plan.moves {
        (it.namespace, it.pod, it.node) = (EVIL.to_owned(), EVIL.to_owned(), EVIL.to_owned());
        (it.profile, it.may_land) = (EVIL.to_owned(), vec![EVIL.to_owned(); 7]);
        it.workload = Some(OwnerKey {
            namespace: EVIL.to_owned(),
            kind: EVIL.to_owned(),
            name: EVIL.to_owned(),
        });
        it.reason = Reason::Neighbour {
            pod: EVIL.to_owned(),
            topology_key: EVIL.to_owned(),
        };
    }
    for kept in &mut plan.kept {
        (kept.namespace, kept.pod, kept.node) = (EVIL.to_owned(), EVIL.to_owned(), EVIL.to_owned());
        kept.refusal = Refusal::NoRoom(EVIL.to_owned());
    }
    for verdict in &mut plan.nodes {
        verdict.class = Class::Doubtful(EVIL.to_owned());
    }
    let (pool, why) = (EVIL.to_owned(), Idle::Unmeasurable(EVIL.to_owned()));
    plan.notes.push(Note {
        strategy: "LowNodeUtilization",
        pool,
        why,
    });
    for rightsizing in &mut plan.rightsizing {
        rightsizing.workload = OwnerKey {
            namespace: EVIL.to_owned(),
            kind: EVIL.to_owned(),
            name: EVIL.to_owned(),
        };
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
    let snapshot = cluster.snapshot(shown.engine.policy());
    shown
        .engine
        .intend(&snapshot, &cluster.plan(EVEN).moves, noon());
    shown.publish(&snapshot, &plan, &outcomes, noon());
    shown
        .board
        .sources(|| vec![source("prometheus", Some(EVIL))]);
    shown.board.none(after(1), "failed", EVIL);

    let mut page = shown.html(after(2));
    harmless(&page);
    assert!(
        page.matches("&lt;script&gt;alert(1)").count() > 30,
        "the names are not there at all"
    );
    shown.health.waiting(EVIL);
    page = shown.html(after(2));
    harmless(&page);
    let data = shown.json(after(2));
    assert_eq!(
        data["plan"]["moves"]["items"][0]["pod"], EVIL,
        "JSON carries it as it is"
    );
    assert_eq!(data["state"]["message"], format!("Waiting: {EVIL}"));
}

/// Fails where a page has markup that is not ours: an element, an attribute, or a character that turns what follows.
fn harmless(page: &str) {
    let tags = tags(page);
    assert_eq!(tags.iter().filter(|(name, _)| name == "script").count(), 1);
    assert_eq!(tags.iter().filter(|(name, _)| name == "style").count(), 1);
    for (name, attributes) in &tags {
        assert!(
            name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'!'),
            "<{name}>"
        );
        for attribute in attributes {
            assert!(
                !attribute.starts_with("on") && attribute != "style",
                "<{name} {attribute}>"
            );
            let known = attribute
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-');
            assert!(known && attribute.len() < 20, "<{name} {attribute}>");
        }
    }
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert!(
        !page
            .chars()
            .any(|c| turns(c) || (c.is_control() && c != '\n'))
    );
}

/// The tags of a page with the names of their attributes; what stands within style and script is left out.
fn tags(page: &str) -> Vec<(String, Vec<String>)> {
    let (mut all, mut rest) = (Vec::new(), page);
    while let Some(at) = rest.find('<') {
        let (inside, after) = rest[at + 1..].split_once('>').unwrap();
        assert!(!inside.contains('<'), "an open tag: {inside}");
        rest = after;
        if let Some(inside) = Some(inside).filter(|i| !i.starts_with('/')) {
            let (name, mut left) = inside
                .split_once(' ')
                .unwrap_or((inside.trim_end_matches('/'), ""));
            let mut attributes = Vec::new();
            while let Some((attribute, value)) = left.split_once("=\"") {
                attributes.push(attribute.trim().to_owned());
                left = value.split_once('"').expect("a value ends").1;
            }
            attributes.extend(
                left.trim_matches(['/', ' '])
                    .split_whitespace()
                    .map(str::to_owned),
            );
            if ["script", "style"].contains(&name) {
                rest = &rest[rest.find("</").unwrap()..];
            }
            all.push((name.to_owned(), attributes));
        }
    }
    all
}

// ---- the listener ----

/// A daemon that listens, and stops when this is dropped.
struct Listening(
    std::net::SocketAddr,
    #[expect(dead_code, reason = "it stops the listener")] tokio_util::sync::DropGuard,
);

impl Listening {
    async fn start() -> Self {
        let mut shown = Shown::new(parse(EVEN));
        shown.cycle(&Cluster::parse(UNEVEN), None, noon());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        tokio::spawn(status::serve(
            listener,
            shown.board,
            shown.health,
            stop.clone(),
        ));
        Listening(address, stop.drop_guard())
    }

    /// The head and the body of the answer.
    async fn ask(&self, method: &str, path: &str, host: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.0).await.unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }
}

#[tokio::test]
async fn it_can_be_looked_at_and_nothing_else() {
    let it = Listening::start().await;
    let (head, page) = it.ask("GET", "/", "localhost:8081").await;
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
    let (told, nothing) = it.ask("HEAD", "/", "localhost").await;
    assert!(
        told.starts_with("http/1.1 200 ")
            && told.contains("content-length: ")
            && nothing.is_empty(),
        "{told}"
    );
    let (head, data) = it.ask("GET", "/status.json", "[::1]:8081").await;
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(
        serde_json::from_str::<Value>(&data).unwrap()["state"]["code"],
        "uneven"
    );
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
        for path in ["/", "/status.json"] {
            let (head, _) = it.ask(method, path, "localhost").await;
            assert!(
                head.starts_with("http/1.1 405 ") && head.contains("allow: get,head"),
                "{method}: {head}"
            );
        }
    }
    for path in ["/metrics", "/status", "/../etc/passwd", "//"] {
        assert!(
            it.ask("GET", path, "localhost")
                .await
                .0
                .starts_with("http/1.1 404 "),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_page_from_elsewhere_learns_nothing_by_another_name_for_this_machine() {
    let it = Listening::start().await;
    for host in [
        "evil.example",
        "evil.example:8081",
        "127.0.0.1.evil.example",
        "10.1.2.3",
    ] {
        for path in ["/", "/status.json", "/nothing"] {
            let (head, body) = it.ask("GET", path, host).await;
            assert!(
                head.starts_with("http/1.1 403 ") && !body.contains("n1"),
                "{host}: {head}"
            );
        }
    }
    let (head, _) = it.ask("GET", "http://evil.example/", "localhost").await;
    assert!(head.starts_with("http/1.1 403 "), "{head}");
}

#[tokio::test]
async fn a_browser_may_show_the_page_and_run_its_own_script_alone() {
    let it = Listening::start().await;
    for (method, path, host) in [
        ("GET", "/", "localhost"),
        ("GET", "/no", "localhost"),
        ("GET", "/", "evil.example"),
    ] {
        let (head, _) = it.ask(method, path, host).await;
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
        assert!(
            !head.contains("unsafe") && !head.contains("access-control"),
            "{head}"
        );
    }
    // What is in the page has the hashes that the policy names.
    let mut stream = TcpStream::connect(it.0).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    for element in ["style", "script"] {
        let (_, rest) = answer.split_once(&format!("<{element}>")).unwrap();
        let text = rest.split_once(&format!("</{element}>")).unwrap().0;
        let hash = STANDARD.encode(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()));
        assert!(
            answer.contains(&format!("{element}-src 'sha256-{hash}'")),
            "{element}"
        );
    }
}

fn source(name: &'static str, error: Option<&str>) -> Source {
    Source {
        name,
        in_use: true,
        read: Some(noon()),
        newest_sample: Some(noon()),
        error: error.map(str::to_owned),
    }
}
