//! The status page in a real browser: it refreshes by itself, and hostile names are harmless.

use std::collections::BTreeMap;
use std::path::PathBuf;

use http::StatusCode;
use serde_json::{Value, json};

use crate::e2e::support::{
    Launch, Policy, Process, browser::Browser, eventually, say, scene, that,
};

/// Sets `pwned` in a page that does not escape it.
const EVIL: &str = "<img src=x onerror=\"window.pwned=1\">";

/// The folder for screenshots.
fn pictures() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("status-page");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A Prometheus that answers every query with an error that looks like markup.
async fn hostile_prometheus(port: u16) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let answer = async || {
        let body = json!({"status": "error", "errorType": "internal", "error": EVIL}).to_string();
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
        // The pods beyond the limit are folded.
        let policy = Policy { limits: "{perCycle: 5, perWorkload: 100%}", ..Policy::USUAL };
        let launch = Launch::written(control_plane, &policy.by(&source)).await.shown();
        let url = launch.status_url();
        // The first run is a dry run, so that hot nodes stay hot while the test looks at them.
        let mut process = launch.run(&["--dry-run", "--instance", EVIL]);
        let before = with_state(&mut process, &url, "would-move").await;
        let fallback = "usage comes from fallback metricsApi while prometheus is stale";
        assert_eq!(process.count(&[fallback]), 1);
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
            EVIL,
        ] {
            assert!(text.as_str().unwrap().contains(part), "{part} is not in {text}");
        }
        assert_eq!(hot_rows(&browser), ["n1", "n2", "n3"]);
        refreshed(&browser).await;
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
        let mut process = launch.run(&["--instance", EVIL]);
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
        blocked(&browser).await;
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

/// Checks that a refresh keeps what the reader has opened, and the place.
async fn refreshed(browser: &Browser) {
    browser.eval(
        "var fold = document.querySelector('#main details:not([open])').id; \
        document.getElementById(fold).open = true; scrollTo(0, 300); \
        document.querySelector('#main table').dataset.old = 'yes'; 0",
    );
    eventually("the page to refresh", 30, async || {
        that(
            browser.eval("document.querySelectorAll('[data-old]').length") == 0,
            "the old table is still there",
        )
    })
    .await;
    assert_eq!(browser.eval("document.getElementById(fold).open + ' ' + scrollY"), "true 300");
}

/// Even if markup got through, the Content-Security-Policy lets the browser run only our script.
async fn blocked(browser: &Browser) {
    browser.eval(&format!("document.body.insertAdjacentHTML('beforeend', '{EVIL}'); 0"));
    eventually("the browser to block the script", 30, async || {
        that(
            browser.complaints().iter().any(|c| c.contains("Content Security Policy")),
            "no complaint yet",
        )
    })
    .await;
    assert_eq!(browser.eval("typeof window.pwned"), "undefined");
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
