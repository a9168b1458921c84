//! The status page in a real browser: it refreshes by itself, and hostile names are harmless.

use std::collections::BTreeMap;
use std::path::PathBuf;

use evenkeel::model::guard::{GuardCause, GuardStop, GuardTarget};
use evenkeel::model::ledger::Aim;
use evenkeel::model::plan::{
    Halt, Move, NodePicture, Outcome, PausedNamespace, Reason, TargetBand,
};
use evenkeel::model::snapshot::facts::{Owner, OwnerKey, Skipped};
use evenkeel::model::snapshot::pause::{Pause, PauseEnd, PauseScope};
use evenkeel::policy::Basis;
use evenkeel::telemetry::Health;
use evenkeel::telemetry::status::{self, Board};
use evenkeel::values::Ratio;
use evenkeel::view::status::facts::{
    ClassCount, CycleSummary, InstanceInfo, LedgerStatus, MoveStatus, NodeStatus, PlanStatus,
    RefusedPolicy, Truncated,
};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::e2e::support::{
    Launch, Policy, Process, browser::Browser, eventually, say, scene, that,
};

/// Each name sets `pwned` in a page that does not escape it.
const EVIL: [&str; 5] = [
    "<img src=x onerror=\"window.pwned=1\">",
    "</td></script><script>window.pwned=1</script>",
    "\"><svg onload=window.pwned=1>",
    "' autofocus onfocus='window.pwned=1",
    "</title></style><iframe srcdoc='<script>parent.pwned=1</script>'>\u{202e}",
];

/// The folder for screenshots.
fn pictures() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("status-page");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns a node of which every name is hostile.
fn picture(name: String) -> NodePicture {
    let ratios = BTreeMap::from([
        ("cpu".to_owned(), Ratio::percent(80.0)),
        (name.clone(), Ratio::percent(80.0)),
    ]);
    let band = TargetBand { threshold: Ratio::percent(30.0), target: Ratio::percent(50.0) };
    NodePicture {
        ratios: ratios.clone(),
        requests: ratios.clone(),
        actual: ratios.clone(),
        latest: ratios,
        pool: Some(name.clone()),
        band: BTreeMap::from([("cpu".to_owned(), band), (name.clone(), band)]),
        name,
    }
}

/// Returns a board on which every name is hostile.
#[expect(clippy::too_many_lines, reason = "one scenario, step by step")]
fn hostile(at: Timestamp) -> Board {
    let evil = |i: usize| EVIL[i % EVIL.len()].to_owned();
    let board = Board::new(InstanceInfo {
        version: "0.1.0".into(),
        instance: evil(0),
        policy: evil(1),
        policy_since: at,
        policy_refused: Some(RefusedPolicy { at, error: evil(2) }),
        started: at,
        ..InstanceInfo::default()
    });
    let node = |i: usize| NodeStatus {
        picture: picture(evil(i)),
        class: Some("hot"),
        verdicts: Vec::new(),
    };
    let moved = |i: usize| {
        let planned = Move {
            namespace: evil(i),
            pod: evil(i + 1),
            uid: evil(i),
            node: evil(i + 3),
            to: Some(evil(i)),
            possible_nodes: (0..9).map(evil).collect(),
            strategy: "LowNodeUtilization",
            profile: evil(i),
            owner: Owner { kind: evil(i), name: evil(i), controller: true, ..Owner::default() },
            workload: Some(OwnerKey { namespace: evil(i), kind: evil(i), name: evil(i + 2) }),
            aim: Aim::Move,
            reason: Reason::Neighbour { pod: evil(i + 4), topology_key: evil(i) },
            relief: None,
            saves: None,
            worth: None,
        };
        MoveStatus::new(&planned, Some(&Outcome::Failed(evil(i))), 5)
    };
    let stopped = |i: usize| GuardStop {
        guard: evil(i),
        target: GuardTarget::Namespace(evil(i + 1)),
        cause: GuardCause::Missing(evil(i + 2)),
    };
    let paused = |i: usize| PausedNamespace {
        namespace: evil(i),
        pause: Pause {
            scope: PauseScope::Namespace,
            reason: evil(i + 1),
            by: Some(evil(i + 2)),
            since: Some(at),
            end: PauseEnd::Unreadable(evil(i + 3)),
        },
    };
    let skipped = |i: usize| Skipped {
        kind: evil(i),
        namespace: evil(i + 1),
        name: evil(i + 2),
        node: None,
        why: evil(i + 3),
    };
    let round = PlanStatus {
        at,
        took_ms: 1,
        dry_run: false,
        halted: Some(Halt::FewNodes(1)),
        paused: (0..5).map(paused).collect(),
        guard_states: Truncated::default(),
        proposal: None,
        guards: Truncated::first(10, (0..5).map(stopped)),
        basis: Basis::Actual,
        classes: vec![ClassCount { class: "hot".into(), nodes: 5 }],
        balance: BTreeMap::new(),
        nodes: Truncated::first(30, (0..40).map(node)),
        moves: Truncated::first(10, (0..5).map(moved)),
        evicted: 0,
        kept: Vec::new(),
        notes: Vec::new(),
        nodes_in_use: None,
        rightsizing: Truncated::default(),
        steering: Truncated::default(),
        steering_denied: None,
        steering_trial: None,
        replica_trial: None,
        skipped: Truncated::first(10, (0..5).map(skipped)),
        unknown: Truncated::default(),
        no_trend: None,
    };
    let summary = CycleSummary {
        at,
        took_ms: 1,
        outcome: "acted",
        message: evil(3),
        planned: 5,
        evicted: 0,
        hot: 5,
        deviation: BTreeMap::from([(evil(4), Ratio::ONE)]),
    };
    board.plan(|| (round, summary, LedgerStatus::default()));
    board
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_pod_name_is_shown_and_harmless() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (health, stop) = (Health::default(), CancellationToken::new());
    health.ready();
    let at = "2026-11-21T12:00:00Z".parse().unwrap();
    tokio::spawn(status::serve(listener, hostile(at), health, stop.clone()));
    let browser = Browser::start(&pictures());
    browser.visit(&url).await;
    let assert_harmless = |when: &str| {
        assert_eq!(browser.eval("typeof window.pwned"), "undefined", "{when}: a name was executed");
        let elements = browser
            .eval("document.querySelectorAll('img,iframe,script,svg[onload],[onfocus]').length");
        assert_eq!(elements, 1, "{when}: the page has foreign elements");
        let text = browser.eval("document.body.textContent");
        for name in &EVIL[..4] {
            assert!(text.as_str().unwrap().contains(name), "{when}: {name} is not shown");
        }
    };
    assert_harmless("loaded");
    // The reader has opened a fold and scrolled down.
    browser.eval("document.getElementById('nodes-rest').open = true; scrollTo(0, 700); 0");
    browser.eval("document.querySelector('#main table').dataset.old = 'yes'; 0");
    eventually("the page to refresh", 30, async || {
        that(
            browser.eval("document.querySelectorAll('[data-old]').length") == 0,
            "the old table is still there",
        )
    })
    .await;
    assert_harmless("refreshed");
    assert_eq!(
        browser.eval("document.getElementById('nodes-rest').open + ' ' + scrollY"),
        "true 700"
    );
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
    browser.picture(&pictures().join("hostile.png"), 1280, false);

    // Even if markup got through, the Content-Security-Policy lets the browser run only our script.
    browser.eval(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x \
        onerror=\"window.pwned=1\">'); 0",
    );
    eventually("the browser to block the script", 30, async || {
        that(
            browser.complaints().iter().any(|c| c.contains("Content Security Policy")),
            "no complaint yet",
        )
    })
    .await;
    assert_eq!(browser.eval("typeof window.pwned"), "undefined");
    stop.cancel();
}

/// A Prometheus that answers every query with an error that looks like markup.
async fn hostile_prometheus(port: u16) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let answer = async || {
        let body =
            json!({"status": "error", "errorType": "internal", "error": EVIL[0]}).to_string();
        (StatusCode::INTERNAL_SERVER_ERROR, [("content-type", "application/json")], body)
    };
    let router = axum::Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
}

#[test]
#[expect(clippy::too_many_lines, reason = "one scenario, step by step")]
fn the_page_follows_a_run_from_hot_to_even() {
    scene::with(scene::late_nodes, async |control_plane| {
        hostile_prometheus(control_plane.port(2)).await;
        let source = format!(
            "source: prometheus, prometheus: {{url: \"http://127.0.0.1:{}\"}}, fallback: \
                metricsApi, ",
            control_plane.port(2)
        );
        let launch = Launch::written(control_plane, &Policy::USUAL.by(&source)).await.shown();
        let url = launch.status_url();
        // The first run is a dry run, so that hot nodes stay hot while the test looks at them.
        let mut process = launch.run(&["--dry-run", "--instance", EVIL[0]]);
        let before = with_state(&mut process, &url, "would-move").await;
        let headline = before["state"]["message"].as_str().unwrap();
        let text = launch.status_text().replace("\n    ", " ");
        assert!(text.contains(headline), "{headline} is not in {text}");
        let classes = classes(&before);
        assert_eq!([&classes["n1"], &classes["n2"], &classes["n3"]], ["hot"; 3], "{classes:?}");
        let browser = Browser::start(&control_plane.dir);
        browser.visit(&url).await;
        let text = browser.eval("document.body.innerText");
        for part in [
            "evenkeel",
            "dry run",
            "3 nodes are hot",
            "n1",
            "cpu",
            "LowNodeUtilization",
            "metricsApi",
            EVIL[0],
        ] {
            assert!(text.as_str().unwrap().contains(part), "{part} is not in {text}");
        }
        assert_eq!(hot_rows(&browser), ["n1", "n2", "n3"]);
        take_screenshots(&browser, "before");
        // A reload would lose this variable.
        browser.eval("window.untouched = true;");

        // The daemon stops and another one takes its place and acts. The same tab follows it.
        assert!(process.stop(10).await.success());
        eventually("the tab to report the lost connection", 60, async || {
            let lost = browser.eval(
                "document.getElementById('lost').hidden ? '' : \
                    document.getElementById('lost').textContent",
            );
            that(lost.as_str().unwrap().starts_with("No answer since"), lost.to_string())
        })
        .await;
        let mut process = launch.run(&["--instance", EVIL[0]]);
        process
            .eventually("no hot bar in the tab", 240, async |_| {
                let text = browser.eval("document.body.innerText").as_str().unwrap().to_owned();
                let parts = [
                    "Even: ",
                    "the replacement is Ready on another node that is not hot",
                    "pods evicted",
                ];
                let hot = hot_rows(&browser);
                that(
                    hot.is_empty() && parts.iter().all(|part| text.contains(part)),
                    format!("{hot:?}: {text}"),
                )
            })
            .await;
        assert_eq!(browser.eval("window.untouched"), true, "the page was reloaded");
        assert_eq!(browser.eval("document.getElementById('lost').hidden"), true);
        assert_eq!(browser.eval("typeof window.pwned"), "undefined");
        assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
        take_screenshots(&browser, "after");
        let after = get(&format!("{url}status.json")).await;
        let moved = after["ledger"]["entries"]["items"].as_array().unwrap().len();
        say(&format!(
            "status page: 3 hot nodes became 0 after {moved} moves, and the tab followed without a \
                reload"
        ));
        without_scripts(&browser, &url).await;
        assert!(process.stop(10).await.success());
    });
}

/// Without scripts the page has the same content and reloads itself.
async fn without_scripts(browser: &Browser, url: &str) {
    browser.scripts(false);
    browser.visit(&format!("{url}?plain")).await;
    let text = browser.eval("document.body.innerText").as_str().unwrap().to_owned();
    for part in
        ["Nodes", "n1", "Ledger", "the replacement is Ready on another node that is not hot"]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(browser.eval("document.getElementById('live').textContent"), "", "a script ran");
    let loaded = browser.eval("performance.timeOrigin");
    eventually("the page to reload itself", 60, async || {
        that(browser.eval("performance.timeOrigin") != loaded, "not reloaded yet")
    })
    .await;
}

/// Waits until `/status.json` has this state.
async fn with_state(process: &mut Process, url: &str, state: &str) -> Value {
    process
        .eventually(state, 180, async |_| {
            let status = get(&format!("{url}status.json")).await;
            let now = status["state"]["code"].as_str().unwrap_or_default().to_owned();
            if now == state {
                Ok(status)
            } else {
                Err(format!("{now}: {}", status["state"]["message"]))
            }
        })
        .await
}

/// Returns the JSON at a URL; `null` if the server does not answer.
async fn get(url: &str) -> Value {
    let (server, path) = url.split_at(url.rfind('/').unwrap());
    let mut config = kube::Config::new(server.parse().unwrap());
    config.default_retry = false;
    let client = kube::Client::try_from(config).unwrap();
    client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap_or_default()
}

fn classes(status: &Value) -> BTreeMap<String, String> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    status["plan"]["nodes"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| (word(&n["name"]), word(&n["class"])))
        .collect()
}

/// Returns the nodes whose class and bar the tab shows as hot.
fn hot_rows(browser: &Browser) -> Vec<String> {
    let rows = "Array.from(document.querySelectorAll('table.nodes tbody tr')).filter(r => \
        r.querySelector('.tag.hot') \
        && r.querySelector('.fill.hot')).map(r => r.querySelector('th').textContent).sort().join(' \
        ')";
    browser.eval(rows).as_str().unwrap().split_whitespace().map(str::to_owned).collect()
}

/// Takes screenshots: wide and narrow, light and dark.
fn take_screenshots(browser: &Browser, name: &str) {
    for (width, dark) in [(1280, false), (1280, true), (400, false)] {
        let scheme = if dark { "-dark" } else { "" };
        browser.picture(&pictures().join(format!("{name}-{width}{scheme}.png")), width, dark);
    }
}
