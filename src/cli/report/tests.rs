//! What a page must hold and must not.

use super::html;
use crate::policy::Basis;
use crate::simulate::trace::Trace;
use crate::values::Ratio;

use self::fixture::{Like, trace};

mod fixture;

const EVIL: &str = "<script>alert(1)</script>\"'&";

fn small(policy: &'static str) -> Trace {
    trace(&Like {
        policy,
        nodes: 10,
        hot: 3,
        every: 8,
        pod: 0.05,
    })
}

fn large(nodes: usize) -> Trace {
    Trace {
        scenario: format!("{nodes} nodes"),
        ..trace(&Like {
            policy: "gentle.yaml",
            nodes,
            hot: nodes / 6,
            every: 1,
            pod: 0.08,
        })
    }
}

/// Every text of a trace is hostile.
fn hostile() -> Trace {
    let mut it = small(EVIL);
    it.scenario = EVIL.to_owned();
    it.about = EVIL.to_owned();
    for node in &mut it.nodes {
        node.name = format!("{}{EVIL}", node.name);
        for series in [&mut node.actual, &mut node.requests] {
            let cpu = series["cpu"].clone();
            series.insert(EVIL.to_owned(), cpu);
        }
    }
    for eviction in &mut it.evictions {
        eviction.namespace = EVIL.to_owned();
        eviction.pod = EVIL.to_owned();
        eviction.workload = Some(EVIL.to_owned());
        eviction.from = format!("{}{EVIL}", eviction.from);
        eviction.foreseen = Some(EVIL.to_owned());
        eviction.may_land = vec![EVIL.to_owned()];
        eviction.to = Some(EVIL.to_owned());
        eviction.strategy = EVIL.to_owned();
        eviction.reason = EVIL.to_owned();
    }
    for event in &mut it.events {
        event.what = EVIL.to_owned();
    }
    it.bands.insert(EVIL.to_owned(), it.bands["cpu"]);
    it.balance
        .insert(EVIL.to_owned(), it.balance["cpu"].clone());
    it.summary
        .before
        .insert(EVIL.to_owned(), it.summary.before["cpu"]);
    it.summary
        .after
        .insert(EVIL.to_owned(), it.summary.after["cpu"]);
    let refused = it.refusals["no-room"].clone();
    it.refusals.insert(
        EVIL.to_owned(),
        crate::simulate::trace::Refused {
            last: EVIL.to_owned(),
            ..refused
        },
    );
    it
}

/// The tags of a page in order, without their attributes; fails where the page is not well nested.
fn tags(page: &str) -> Vec<String> {
    const ALONE: [&str; 6] = ["meta", "link", "br", "col", "!DOCTYPE", "input"];
    let (mut open, mut all) = (Vec::new(), Vec::new());
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let (inside, after) = rest.split_once('>').unwrap();
        assert!(!inside.contains('<'), "an open tag: {inside}");
        assert_eq!(
            inside.matches('"').count() % 2,
            0,
            "an open quote: {inside}"
        );
        rest = after;
        let name = inside
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
        if inside.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed at {inside}");
        } else {
            all.push(name.to_owned());
            if !inside.ends_with('/') && !ALONE.contains(&name) {
                open.push(name.to_owned());
            }
            if ["script", "style"].contains(&name) {
                rest = &rest[rest.find("</").unwrap()..];
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    all
}

fn count(page: &str, part: &str) -> usize {
    page.matches(part).count()
}

#[test]
fn every_eviction_is_marked_in_each_picture_and_has_a_row() {
    let it = small("a.yaml");
    let useless = it
        .evictions
        .iter()
        .filter(|e| e.helped == Some(false))
        .count();
    assert_eq!((it.evictions.len(), useless), (11, 1));
    let page = html(&[it]);
    tags(&page);
    // Two resources, each with lines and a map; and the legend of each picture of lines has a mark too.
    assert_eq!(count(&page, "class=\"mark no\""), 2 * 2 * useless + 2);
    assert_eq!(count(&page, "<tr><td class=\"when\">"), 11);
    assert!(page.contains("<title>8m: shop/checkout-7d4b9c-000\nnode-0"));
    assert!(page.contains("<dt>evictions</dt><dd>11 "));
}

#[test]
fn names_are_text_wherever_they_stand() {
    let page = html(&[hostile(), hostile()]);
    assert!(!page.contains("<script>alert"), "a name became a script");
    assert_eq!(count(&page, "<script"), 1);
    assert!(!page.contains("\"'&"), "a name ended an attribute");
    let (hostile, harmless) = (tags(&page), tags(&html(&[small("a"), small("b")])));
    let scripts = |tags: &[String]| tags.iter().filter(|t| *t == "script").count();
    assert_eq!((scripts(&hostile), scripts(&harmless)), (1, 1));
}

#[test]
fn a_page_asks_nobody_for_anything() {
    let page = html(&[small("a.yaml"), small("b.yaml")]);
    for asking in [
        "http:", "https:", "url(", "@import", "src=", "<img", "<iframe", "<object", "fetch(",
        "XMLHttp",
    ] {
        assert!(!page.contains(asking), "{asking}");
    }
    assert!(page.contains("<link rel=\"icon\" href=\"data:,\">"));
    assert!(page.contains("default-src 'none'"));
    assert_eq!(count(&page, "href="), 1);
}

#[test]
fn the_same_traces_give_the_same_page() {
    assert_eq!(
        html(&[small("a"), large(40)]),
        html(&[small("a"), large(40)])
    );
}

#[test]
fn two_runs_are_compared_and_the_better_figure_is_marked() {
    let slow = trace(&Like {
        policy: "slow.yaml",
        nodes: 10,
        hot: 3,
        every: 11,
        pod: 0.03,
    });
    let page = html(&[small("quick.yaml"), slow]);
    tags(&page);
    let table = &page[page.find("class=\"compare\"").unwrap()..];
    let table = &table[..table.find("</table>").unwrap()];
    assert!(table.contains("<th>quick.yaml</th><th>slow.yaml</th>"));
    assert!(
        table.contains("<tr><th>time to balance</th><td class=\"best\">"),
        "{table}"
    );
    assert!(table.contains("cpu: standard deviation"));
}

#[test]
fn runs_that_weigh_different_things_are_compared_by_usage() {
    let mut other = small("requests.yaml");
    other.basis = Basis::Requests;
    // By requests it would be perfectly even; by usage it is what the other run is.
    for balance in other.summary.after.values_mut() {
        balance.deviation = Ratio::ZERO;
    }
    let page = html(&[small("actual.yaml"), other]);
    tags(&page);
    assert!(page.contains("By what is really used, for these policies weigh different things."));
    let table = &page[page.find("class=\"compare\"").unwrap()..];
    let table = &table[..table.find("</table>").unwrap()];
    for row in ["cpu: standard deviation", "time to balance"] {
        let row = &table[table.find(row).unwrap()..];
        assert!(!row[..row.find("</tr>").unwrap()].contains("best"), "{row}");
    }
}

#[test]
fn runs_that_are_named_alike_are_told_apart() {
    let page = html(&[small("p.yaml"), small("p.yaml")]);
    assert!(page.contains("<th>p.yaml (1)</th><th>p.yaml (2)</th>"));
}

#[test]
fn many_nodes_are_a_map_and_the_page_stays_small() {
    let page = html(&[large(300)]);
    tags(&page);
    assert!(page.contains("fullest at the start") && !page.contains("class=\"line was-hot"));
    let both = html(&[large(1000), large(1000)]);
    assert!(both.len() < 5_000_000, "{} bytes", both.len());
}

#[test]
fn long_tables_are_folded() {
    let it = large(300);
    let beyond = it.evictions.len() - 50;
    assert!(html(&[it]).contains(&format!("<summary>{beyond} more</summary>")));
}

#[test]
fn a_run_without_anything_is_a_page_all_the_same() {
    let mut it = small("a.yaml");
    it.nodes.clear();
    it.evictions.clear();
    it.events.clear();
    it.refusals.clear();
    it.bands.clear();
    it.balance.clear();
    it.summary.before.clear();
    it.summary.after.clear();
    it.summary.time_to_balance = None;
    it.end = it.start;
    for page in [html(&[it]), html(&[])] {
        tags(&page);
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}

#[test]
fn without_a_band_cpu_and_memory_are_shown() {
    let mut it = small("a.yaml");
    it.bands.clear();
    it.basis = Basis::Requests;
    let page = html(&[it]);
    tags(&page);
    assert!(
        page.contains("<h2>cpu</h2>")
            && page.contains("<h2>memory</h2>")
            && page.contains("heat plain")
    );
    assert!(!page.contains("class=\"zone-hot\""));
}

/// Nobody judges a picture by its source: these are to be opened in a browser.
#[test]
fn pages_to_look_at() {
    let folder = std::env::temp_dir().join("evenkeel-report");
    std::fs::create_dir_all(&folder).unwrap();
    let slow = || {
        trace(&Like {
            policy: "slow.yaml",
            nodes: 10,
            hot: 3,
            every: 11,
            pod: 0.03,
        })
    };
    let pages = [
        ("small", html(&[small("policy.yaml")])),
        ("two", html(&[small("quick.yaml"), slow()])),
        ("large", html(&[large(300)])),
        ("huge", html(&[large(1000), large(1000)])),
        ("hostile", html(&[hostile()])),
    ];
    for (name, page) in pages {
        std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
    }
}
