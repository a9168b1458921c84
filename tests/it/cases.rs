//! Small clusters in text, and what is planned for them: the cases of `tests/it/*.txt`.
//!
//! ```text
//! strategies: [removeDuplicates]    the policy of the file, up to the first case
//!
//! ## pods of different images are no duplicates
//! evictable: {minReplicas: 1}       keys of the policy that the case gives instead
//! ---
//! node a                            a cluster as in `support`
//!   web image=v1
//!   web image=$1                    each row fills in its columns, with `;` between lines
//! node b
//! | v1 => web-2 to b
//! | v2 => nothing
//! ```
//!
//! `mode: exact` selects the exact mode, and `scheduler: packs` a scheduler that packs. The result has the pods that move,
//! with their possible nodes, those that stay, with the code, and the notes. A line `show text` before the policy replaces
//! it by sentences, `show nodes` by the classes of the nodes, and `show steering` by the taints. `UPDATE_CASES=1 cargo test
//! --test it cases` writes the results of today into the files.

use std::path::Path;

use evenkeel::model::plan::{Plan, Steer};
use evenkeel::policy::{FitStrategy, Policy, ScorePlugin};

use crate::it::support::{Cluster, nodes, parse_as};

#[test]
fn every_case_has_its_plan() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut wrong = Vec::new();
    for path in files.filter(|path| path.extension().is_some_and(|kind| kind == "txt")) {
        let file = std::fs::read_to_string(&path).unwrap();
        let (usual, cases) = file.split_once("\n\n## ").unwrap();
        let cases: Vec<&str> = cases.trim_end().split("\n\n## ").collect();
        let now: Vec<String> = cases.iter().map(|case| with_results(usual, case)).collect();
        if std::env::var_os("UPDATE_CASES").is_some() {
            let written = format!("{usual}\n\n## {}\n", now.join("\n\n## "));
            std::fs::write(&path, written).unwrap();
        }
        let changed = now.into_iter().zip(cases).filter(|(now, case)| now != case);
        wrong.extend(changed.map(|(now, _)| format!("{}: {now}", path.display())));
    }
    assert!(wrong.is_empty(), "now it is\n{}", wrong.join("\n\n"));
}

/// Returns the case with the results of today.
fn with_results(usual: &str, case: &str) -> String {
    let lines: Vec<&str> = case.lines().collect();
    let end = lines.iter().position(|line| line.starts_with(['|', '='])).unwrap_or(lines.len());
    let (name, template) = (lines[0], lines[1..end].join("\n"));
    let mut written: Vec<String> = lines[..end].iter().map(|&line| line.to_owned()).collect();
    let rest = || lines[end..].iter().filter(|line| !line.starts_with("=>"));
    if rest().next().is_none() {
        written
            .extend(result(name, usual, &template, &[]).lines().map(|line| format!("=> {line}")));
    }
    for line in rest() {
        let Some(row) = line.strip_prefix('|') else {
            written.push((*line).to_owned());
            continue;
        };
        let row = row.split("=> ").next().unwrap().trim();
        let values: Vec<&str> = row.split('|').map(str::trim).collect();
        let result = result(name, usual, &template, &values);
        match result.lines().collect::<Vec<_>>()[..] {
            [one] if row.is_empty() => written.push(format!("| => {one}")),
            [one] => written.push(format!("| {row} => {one}")),
            ref more => {
                written.push(format!("| {row}").trim_end().to_owned());
                written.extend(more.iter().map(|line| format!("=> {line}")));
            }
        }
    }
    written.join("\n")
}

/// Returns what is planned with these values.
fn result(name: &str, usual: &str, template: &str, values: &[&str]) -> String {
    let mut text = template.to_owned();
    for (position, value) in values.iter().enumerate() {
        text = text.replace(&format!("${}", position + 1), &value.replace(';', "\n"));
    }
    let (policy, cluster) = text.split_once("---\n").unwrap_or(("", &text));
    let (show, cluster) = shown(cluster);
    let (show_by, policy) = shown(policy);
    let plan = Cluster::parse(cluster).plan_by(policy_of(name, usual, policy));
    match show.or(show_by) {
        Some("nodes") => nodes(&plan),
        Some("steering") => steering(&plan),
        Some("text") => sentences(&plan),
        _ => summary(&plan),
    }
}

/// Takes the line `show …` off the beginning.
fn shown(text: &str) -> (Option<&str>, &str) {
    let first = text.strip_prefix("show ").and_then(|rest| rest.split_once('\n'));
    first.map_or((None, text), |(kind, rest)| (Some(kind), rest))
}

/// Parses the lines of a case and those of the file whose keys it does not give.
fn policy_of(name: &str, usual: &str, policy: &str) -> Policy {
    let key = |line: &str| line.split(':').next().unwrap().to_owned();
    let own: Vec<String> = policy.lines().map(key).collect();
    let others = usual.lines().filter(|line| !own.contains(&key(line)));
    let (modes, lines): (Vec<&str>, Vec<&str>) = policy
        .lines()
        .chain(others)
        .partition(|line| line.starts_with("mode: ") || line.starts_with("scheduler: "));
    let mut policy = parse_as(name, &lines.join("\n"));
    if modes.contains(&"scheduler: packs") {
        policy.scheduler.fit.strategy = FitStrategy::MostAllocated;
        policy.scheduler.weights[ScorePlugin::PodTopologySpread] = 0;
        policy.scheduler.weights[ScorePlugin::NodeResourcesBalancedAllocation] = 0;
    }
    if modes.contains(&"mode: exact") { policy.exactly() } else { policy }
}

/// Joins the pods of neighbours of which the same is said.
fn grouped(all: impl Iterator<Item = (String, String)>) -> Vec<(Vec<String>, String)> {
    let all: Vec<_> = all.collect();
    let groups = all.chunk_by(|one, next| one.1 == next.1);
    groups.map(|g| (g.iter().map(|(pod, _)| pod.clone()).collect(), g[0].1.clone())).collect()
}

/// Returns moves, refusals and notes in one line, by codes.
fn summary(plan: &Plan) -> String {
    let mut parts: Vec<String> = plan.halted.iter().map(|halt| format!("halted: {halt}")).collect();
    let moves = plan.moves.iter().map(|m| {
        let others = m.possible_nodes.iter().filter(|node| Some(*node) != m.to.as_ref());
        let to: Vec<&str> = m.to.iter().chain(others).map(String::as_str).collect();
        (m.pod.clone(), if to.is_empty() { "?".to_owned() } else { to.join(" or ") })
    });
    parts
        .extend(grouped(moves).into_iter().map(|(pods, to)| format!("{} to {to}", pods.join(" "))));
    let kept = plan.kept.iter().map(|k| (k.pod.clone(), k.refusal.code().to_owned()));
    parts.extend(grouped(kept).into_iter().map(|(pods, code)| {
        let verb = if pods.len() == 1 { "stays" } else { "stay" };
        format!("{} {verb}: {code}", pods.join(" "))
    }));
    parts.extend(plan.notes.iter().map(|note| format!("{}: {}", note.pool, note.why.code())));
    or_nothing(&parts.join("; "))
}

/// Returns moves, refusals and notes, each with its sentence.
fn sentences(plan: &Plan) -> String {
    let mut lines: Vec<String> = plan.halted.iter().map(|halt| format!("halted: {halt}")).collect();
    let moves = plan.moves.iter().map(|m| {
        let to = m.to.as_deref().unwrap_or("?");
        (m.pod.clone(), format!("from {} to {to}: {}", m.node, m.reason))
    });
    let kept = plan.kept.iter().map(|k| (k.pod.clone(), format!("on {}: {}", k.node, k.refusal)));
    for (verb, all) in [("move", grouped(moves)), ("keep", grouped(kept))] {
        lines.extend(
            all.into_iter().map(|(pods, said)| format!("{verb} {} {said}", pods.join(" "))),
        );
    }
    lines.extend(plan.notes.iter().map(|note| format!("{}: {}", note.pool, note.why)));
    lines.extend(plan.nodes_in_use.iter().map(ToString::to_string));
    or_nothing(&lines.join("\n"))
}

/// Returns what becomes of the steering taints.
fn steering(plan: &Plan) -> String {
    let line = |s: &Steer| match s.action.value() {
        Some(value) => format!("{} {} {}: {}", s.node, s.action.code(), value.text(), s.why),
        None => format!("{} {}: {}", s.node, s.action.code(), s.why),
    };
    or_nothing(&plan.steering.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn or_nothing(text: &str) -> String {
    if text.is_empty() { "nothing".to_owned() } else { text.to_owned() }
}
