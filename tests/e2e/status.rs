//! The status page in a real browser: does it show what happens, by itself, and is every name on it harmless?

use std::collections::BTreeMap;
use std::path::PathBuf;

use evenkeel::daemon::telemetry::Health;
use evenkeel::daemon::telemetry::status::facts::{
    About, Class, Listed, Load, Move, Node, Past, Remembered, Round,
};
use evenkeel::daemon::telemetry::status::{self, Board};
use evenkeel::policy::Basis;
use evenkeel::values::Ratio;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::e2e::support::browser::Browser;
use crate::e2e::support::control_plane::with_control_plane;
use crate::e2e::support::process::{Launch, Policy, Process};
use crate::e2e::support::scene;
use crate::e2e::support::wait::{eventually, say, that};

/// Each would set `pwned` in a page that took it for markup.
const EVIL: [&str; 5] = [
    "<img src=x onerror=\"window.pwned=1\">",
    "</td></script><script>window.pwned=1</script>",
    "\"><svg onload=window.pwned=1>",
    "' autofocus onfocus='window.pwned=1",
    "</title></style><iframe srcdoc='<script>parent.pwned=1</script>'>\u{202e}",
];

/// Where pictures are kept, to be looked at.
fn pictures() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("status-page");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A board on which every name is hostile.
fn hostile(at: Timestamp) -> Board {
    let evil = |i: usize| EVIL[i % EVIL.len()].to_owned();
    let board = Board::new(About {
        version: "0.1.0",
        instance: evil(0),
        policy: evil(1),
        dry_run: false,
        exact: false,
        started: at,
    });
    let ratio = Ratio::percent(80.0);
    let load = Load {
        actual: ratio,
        latest: ratio,
        requests: ratio,
        low: Ratio::percent(30.0),
        high: Ratio::percent(50.0),
    };
    let node = |i: usize| Node {
        name: evil(i),
        pool: Some(evil(i)),
        class: Some("hot"),
        verdicts: Vec::new(),
        loads: BTreeMap::from([("cpu".to_owned(), load), (evil(i), load)]),
    };
    let moved = |i: usize| Move {
        namespace: evil(i),
        pod: evil(i + 1),
        workload: Some(evil(i + 2)),
        node: evil(i + 3),
        may_land: Listed::first(5, (0..9).map(evil)),
        strategy: "LowNodeUtilization",
        reason: evil(i + 4),
        outcome: Some("failed"),
        message: Some(evil(i)),
    };
    let round = Round {
        at,
        took_ms: 1,
        dry_run: false,
        halted: Some(evil(2)),
        basis: Basis::Actual,
        classes: vec![Class {
            class: "hot",
            nodes: 5,
        }],
        balance: BTreeMap::new(),
        nodes: Listed::first(30, (0..40).map(node)),
        moves: Listed::first(10, (0..5).map(moved)),
        evicted: 0,
        kept: Vec::new(),
        notes: Vec::new(),
        rightsizing: Listed::default(),
        steering: Listed::default(),
        skipped: Listed::first(10, (0..5).map(evil)),
    };
    let past = Past {
        at,
        took_ms: 1,
        outcome: "acted",
        message: evil(3),
        planned: 5,
        evicted: 0,
        hot: 5,
        deviation: BTreeMap::from([(evil(4), Ratio::ONE)]),
    };
    board.round(|| (round, past, Remembered::default()));
    board
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_pod_name_is_shown_and_does_nothing() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (health, stop) = (Health::default(), CancellationToken::new());
    health.ready();
    let at = "2026-11-21T12:00:00Z".parse().unwrap();
    tokio::spawn(status::serve(listener, hostile(at), health, stop.clone()));
    let browser = Browser::start(&pictures());
    browser.visit(&url).await;
    let innocent = |when: &str| {
        assert_eq!(
            browser.eval("typeof window.pwned"),
            "undefined",
            "{when}: a name was run"
        );
        let elements = browser
            .eval("document.querySelectorAll('img,iframe,script,svg[onload],[onfocus]').length");
        assert_eq!(elements, 1, "{when}: there is more than our script");
        let told = browser.eval("document.body.textContent");
        for name in &EVIL[..4] {
            assert!(
                told.as_str().unwrap().contains(name),
                "{when}: {name} is not to be seen"
            );
        }
    };
    innocent("as it came");
    // A reader has unfolded something, and is in the middle of the page.
    browser.eval("document.getElementById('nodes-rest').open = true; scrollTo(0, 700); 0");
    browser.eval("document.querySelector('#main table').dataset.old = 'yes'; 0");
    eventually("the page to be renewed", 30, async || {
        that(
            browser.eval("document.querySelectorAll('[data-old]').length") == 0,
            "the old table stands",
        )
    })
    .await;
    innocent("renewed");
    assert_eq!(
        browser.eval("document.getElementById('nodes-rest').open + ' ' + scrollY"),
        "true 700"
    );
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
    browser.picture(&pictures().join("hostile.png"), 1280, false);

    // Even if something got through, the browser has been told to run nothing but our script.
    browser.eval("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned=1\">'); 0");
    eventually("the browser to refuse it", 30, async || {
        that(
            browser
                .complaints()
                .iter()
                .any(|c| c.contains("Content Security Policy")),
            "no complaint yet",
        )
    })
    .await;
    assert_eq!(browser.eval("typeof window.pwned"), "undefined");
    stop.cancel();
}

/// A Prometheus that answers every question with what would be markup.
async fn hostile_prometheus(port: u16) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await
        .unwrap();
    let answer = async || {
        let body =
            json!({"status": "error", "errorType": "internal", "error": EVIL[0]}).to_string();
        (
            StatusCode::INTERNAL_SERVER_ERROR,
            [("content-type", "application/json")],
            body,
        )
    };
    let router = axum::Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
}

#[test]
fn a_run_is_seen_from_the_first_hot_node_to_the_last() {
    with_control_plane(async |control_plane| {
        scene::rights(control_plane);
        scene::late_nodes(control_plane).await;
        hostile_prometheus(control_plane.port(2)).await;
        let source = format!(
            "source: prometheus, prometheus: {{url: \"http://127.0.0.1:{}\"}}, fallback: metricsApi, ",
            control_plane.port(2)
        );
        let launch = Launch::written(control_plane, &Policy::USUAL.by(&source))
            .await
            .shown();
        let url = launch.status_url();
        // First as a dry run, so that what is hot stays so for as long as anybody looks.
        let mut process = launch.run(&["--dry-run", "--instance", EVIL[0]]);
        let before = settled(&mut process, &url, "would-move").await;
        let classes = classes(&before);
        assert_eq!(
            [&classes["n1"], &classes["n2"], &classes["n3"]],
            ["hot"; 3],
            "{classes:?}"
        );
        let browser = Browser::start(&control_plane.dir);
        browser.visit(&url).await;
        let told = browser.eval("document.body.innerText");
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
            assert!(
                told.as_str().unwrap().contains(part),
                "{part} is not in {told}"
            );
        }
        assert_eq!(hot_rows(&browser), ["n1", "n2", "n3"]);
        look(&browser, "before");
        // Nothing of this would outlive a reload.
        browser.eval("window.untouched = true;");

        // The daemon ends, and another one takes its place and acts: the same tab follows it.
        assert!(process.stop(10).await.success());
        eventually("the tab to say that nobody answers", 60, async || {
            let lost = browser
                .eval("document.getElementById('lost').hidden ? '' : document.getElementById('lost').textContent");
            that(lost.as_str().unwrap().starts_with("No answer since"), lost.to_string())
        })
        .await;
        let mut process = launch.run(&["--instance", EVIL[0]]);
        process
            .eventually("no bar to be hot in the tab", 240, async |_| {
                let told = browser
                    .eval("document.body.innerText")
                    .as_str()
                    .unwrap()
                    .to_owned();
                let parts = [
                    "Even: ",
                    "the replacement is Ready on another node that is not hot",
                    "pods evicted",
                ];
                let hot = hot_rows(&browser);
                that(
                    hot.is_empty() && parts.iter().all(|part| told.contains(part)),
                    format!("{hot:?}: {told}"),
                )
            })
            .await;
        assert_eq!(
            browser.eval("window.untouched"),
            true,
            "the page was loaded anew"
        );
        assert_eq!(browser.eval("document.getElementById('lost').hidden"), true);
        assert_eq!(browser.eval("typeof window.pwned"), "undefined");
        assert!(
            browser.complaints().is_empty(),
            "{:#?}",
            browser.complaints()
        );
        look(&browser, "after");
        let after = get(&format!("{url}status.json")).await;
        let moved = after["ledger"]["entries"]["items"]
            .as_array()
            .unwrap()
            .len();
        say(&format!(
            "status page: 3 nodes were hot; {moved} moves later none, and the tab followed without a reload"
        ));
        without_scripts(&browser, &url).await;
        assert!(process.stop(10).await.success());
    });
}

/// The same page where no script may run: it says the same, and loads itself anew.
async fn without_scripts(browser: &Browser, url: &str) {
    browser.scripts(false);
    browser.visit(&format!("{url}?plain")).await;
    let told = browser
        .eval("document.body.innerText")
        .as_str()
        .unwrap()
        .to_owned();
    for part in [
        "Nodes",
        "n1",
        "Ledger",
        "the replacement is Ready on another node that is not hot",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    assert_eq!(
        browser.eval("document.getElementById('live').textContent"),
        "",
        "a script has run"
    );
    let loaded = browser.eval("performance.timeOrigin");
    eventually("the page to load itself anew", 60, async || {
        that(
            browser.eval("performance.timeOrigin") != loaded,
            "the same still",
        )
    })
    .await;
}

/// Waits until the daemon's own account of itself is this.
async fn settled(process: &mut Process, url: &str, state: &str) -> Value {
    process
        .eventually(state, 180, async |_| {
            let told = get(&format!("{url}status.json")).await;
            let now = told["state"]["code"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            if now == state {
                Ok(told)
            } else {
                Err(format!("{now}: {}", told["state"]["message"]))
            }
        })
        .await
}

/// What is there, as JSON; `null` where nobody answers.
async fn get(url: &str) -> Value {
    let (server, path) = url.split_at(url.rfind('/').unwrap());
    let mut config = kube::Config::new(server.parse().unwrap());
    config.default_retry = false;
    let client = kube::Client::try_from(config).unwrap();
    client
        .request(http::Request::get(path).body(Vec::new()).unwrap())
        .await
        .unwrap_or_default()
}

fn classes(told: &Value) -> BTreeMap<String, String> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    told["plan"]["nodes"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| (word(&n["name"]), word(&n["class"])))
        .collect()
}

/// The nodes whose class and bar the tab shows as hot.
fn hot_rows(browser: &Browser) -> Vec<String> {
    let rows = "Array.from(document.querySelectorAll('table.nodes tbody tr')).filter(r => r.querySelector('.tag.hot') \
        && r.querySelector('.fill.hot')).map(r => r.querySelector('th').textContent).sort().join(' ')";
    browser
        .eval(rows)
        .as_str()
        .unwrap()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Keeps pictures, wide and narrow, light and dark.
fn look(browser: &Browser, name: &str) {
    for (width, dark) in [(1280, false), (1280, true), (400, false)] {
        let scheme = if dark { "-dark" } else { "" };
        browser.picture(
            &pictures().join(format!("{name}-{width}{scheme}.png")),
            width,
            dark,
        );
    }
}
