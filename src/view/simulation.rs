//! A simulation as text for the terminal.

use std::fmt;

use crate::model::plan::Balance;
use crate::model::relief::ReliefTotal;
use crate::simulate::trace::{Eviction, Summary, Trace};
use crate::values::text::{count, duration};
use crate::view::figures::{
    caveats, destination, has_target, is_balance_unknown, minutes_above_target, still_needed,
    time_to_balance, unknown_objects,
};
use crate::view::screen::{Ink, Screen, shown};
use crate::view::table::Table;

mod hours;
mod nodes;

/// Longer lists are cut unless `--all` is given.
const MOST_EVICTIONS: usize = 12;
const MOST_EVENTS: usize = 12;

/// One run, or the same scenario under two policies.
pub(crate) struct SimulationText<'t> {
    pub(crate) traces: &'t [Trace],
    pub(crate) head: &'t [String],
    /// Print every line.
    pub(crate) all: bool,
    pub(crate) screen: Screen,
}

impl fmt::Display for SimulationText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.head {
            self.screen.line(f, line, None)?;
        }
        for sentence in unknown_objects(self.traces) {
            self.screen.line(f, sentence, Some(Ink::Warning))?;
        }
        let Some(first) = self.traces.first() else {
            return Ok(());
        };
        let time = duration(first.end.duration_since(first.start));
        writeln!(f, "simulated: {time}, from {:.0} to {:.0}", first.start, first.end)?;
        self.nodes(f)?;
        self.events(f, first)?;
        for trace in self.traces {
            self.evictions(f, trace)?;
            self.refusals(f, trace)?;
        }
        self.outcome(f)?;
        self.hours(f)?;
        writeln!(f)?;
        for trace in self.traces {
            let policy = match self.traces {
                [_] => String::new(),
                _ => format!("{}: ", trace.policy),
            };
            self.screen.line(f, &format!("{policy}{}", sentence(trace)), Some(Ink::Bold))?;
        }
        Ok(())
    }
}

impl SimulationText<'_> {
    fn events(&self, f: &mut fmt::Formatter<'_>, trace: &Trace) -> fmt::Result {
        if trace.events.is_empty() {
            return Ok(());
        }
        self.screen.title(f, "Events", "other changes of the cluster")?;
        let (most, left_out) = shown(self.all, trace.events.len(), MOST_EVENTS);
        let rows = trace.events[..most]
            .iter()
            .map(|event| vec![duration(event.at.duration_since(trace.start)), event.what.clone()]);
        self.screen.table(f, &Table::new(rows))?;
        self.screen.left_out(f, left_out, " events")
    }

    fn evictions(&self, f: &mut fmt::Formatter<'_>, trace: &Trace) -> fmt::Result {
        if trace.evictions.is_empty() {
            return Ok(());
        }
        self.screen.title(f, "Evictions", &format!("from → to{}", self.of(trace)))?;
        let (most, left_out) = shown(self.all, trace.evictions.len(), MOST_EVICTIONS);
        let rows = trace.evictions[..most].iter().map(|eviction| eviction_row(trace, eviction));
        self.screen.table(f, &Table::new(rows))?;
        self.screen.left_out(f, left_out, " evictions")
    }

    fn refusals(&self, f: &mut fmt::Formatter<'_>, trace: &Trace) -> fmt::Result {
        if trace.refusals.is_empty() {
            return Ok(());
        }
        self.screen.title(
            f,
            "Refused",
            &format!("how often, the code and the last reason{}", self.of(trace)),
        )?;
        let mut refusals: Vec<_> = trace.refusals.iter().collect();
        refusals.sort_by_key(|(_, refused)| std::cmp::Reverse(refused.times));
        let rows: Vec<Vec<String>> = refusals
            .into_iter()
            .map(|(code, refused)| {
                vec![format!("{:>6}", refused.times), code.clone(), refused.last.clone()]
            })
            .collect();
        self.screen.table(f, &Table::new(rows))
    }

    /// Names the policy of a section if two are compared.
    fn of(&self, trace: &Trace) -> String {
        if self.traces.len() > 1 { format!("; under {}", trace.policy) } else { String::new() }
    }

    /// Writes the figures of the runs, one column per policy.
    fn outcome(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = self.traces.len() > 1;
        let when = match self.traces {
            [one] if one.evictions.is_empty() => "at the start → at the end",
            [_] => "before the first eviction → at the end",
            _ => "at the end",
        };
        self.screen.title(f, "Outcome", &format!("standard deviation {when}: less is better"))?;
        let mut rows = Vec::new();
        if several {
            rows.push(self.row("", |trace| trace.policy.clone()));
        }
        rows.extend([
            self.row("evictions", |trace| trace.summary.evictions.to_string()),
            self.row("of these helped", |trace| trace.summary.helped.to_string()),
            self.row("still needed", still_needed),
            self.row("landed as forecast", |trace| {
                format!("{} of {}", trace.summary.foreseen.0, trace.summary.foreseen.1)
            }),
            self.row("time to balance", time_to_balance),
            self.row("node-minutes above target", minutes_above_target),
            self.row("saved of predicted", relief),
            self.row("pods without a node", |trace| trace.summary.pending.to_string()),
            self.row("nodes without workload", |trace| trace.summary.empty_nodes.to_string()),
        ]);
        rows.extend(self.evenness_rows());
        self.screen.table(f, &Table::new(rows))
    }

    /// How even the nodes are: before and after for one run, at the end for several.
    fn evenness_rows(&self) -> Vec<Vec<String>> {
        if let [only] = self.traces {
            let before = only.summary.before.iter();
            return before.flat_map(|(resource, before)| evened(only, resource, *before)).collect();
        }
        ["cpu", "memory"]
            .into_iter()
            .map(|resource| {
                self.row(&format!("{resource} standard deviation by usage"), |trace| {
                    nodes::evenness(trace, resource)
                        .map_or("?".to_owned(), |ratio| ratio.to_string())
                })
            })
            .collect()
    }

    fn row(&self, name: &str, figure: impl Fn(&Trace) -> String) -> Vec<String> {
        std::iter::once(name.to_owned()).chain(self.traces.iter().map(figure)).collect()
    }
}

fn eviction_row(trace: &Trace, eviction: &Eviction) -> Vec<String> {
    let to = destination(eviction);
    let helped = match eviction.helped {
        Some(true) => "helped",
        Some(false) => "did not help",
        None => "",
    };
    vec![
        duration(eviction.at.duration_since(trace.start)),
        format!("{}/{}", eviction.namespace, eviction.pod),
        format!("{} → {to}", eviction.from),
        helped.to_owned(),
    ]
}

/// Returns the balance of a resource before the first eviction and at the end.
fn evened(trace: &Trace, resource: &str, before: Balance) -> [Vec<String>; 2] {
    let after = trace.summary.after.get(resource).copied().unwrap_or(before);
    [
        vec![
            format!("{resource} standard deviation"),
            format!("{} → {}", before.deviation, after.deviation),
        ],
        vec![
            format!("{resource} fullest above mean"),
            format!("{} → {}", before.above_mean, after.above_mean),
        ],
    ]
}

/// The node-minutes that moves have saved in the hour after them, of those that were predicted.
fn relief(trace: &Trace) -> String {
    ReliefTotal::of(&trace.reliefs).map_or("not known".to_owned(), |total| {
        let (achieved, predicted) = (total.achieved.get(), total.predicted.get());
        format!("{achieved:.0} of {predicted:.0}")
    })
}

/// Returns the run in one sentence.
fn sentence(trace: &Trace) -> String {
    let summary = &trace.summary;
    let evictions = count(usize::try_from(summary.evictions).unwrap_or(usize::MAX), "eviction");
    let helped = match (summary.evictions, summary.helped, summary.unknown) {
        (0, ..) => String::new(),
        (1, 1, _) => ", which helped".to_owned(),
        (all, helped, _) if all == helped => ", all of them helped".to_owned(),
        (_, helped, 0) => format!(", {helped} of them helped"),
        (_, helped, unknown) => {
            format!(", {helped} of them helped, {unknown} not known yet")
        }
    };
    let balance = match summary.time_to_balance {
        None => Some("at least one node was still hot at the end".to_owned()),
        Some(time) if !time.is_zero() => Some(format!("balanced within {}", duration(time))),
        Some(_) if !has_target(trace) => None,
        Some(_) if is_balance_unknown(summary) => {
            let unknown = count(summary.unknown_nodes.len(), "node");
            Some(format!("the usage of {unknown} is unknown"))
        }
        Some(_) => Some("no node was ever hot".to_owned()),
    };
    let parts = [format!("{evictions}{helped}")].into_iter().chain(balance);
    let parts = parts.chain(above_at_end(summary)).chain(caveats(trace));
    parts.collect::<Vec<_>>().join("; ")
}

/// Says that nodes were above a target at the end, although a decision sees them as even: usage
/// that varies or is new does not make a node hot.
fn above_at_end(summary: &Summary) -> Option<String> {
    summary.time_to_balance?;
    let above = summary.above_target.iter().filter(|(_, time)| time.nodes_at_end > 0);
    let each = above.map(|(resource, time)| {
        let nodes = usize::try_from(time.nodes_at_end).unwrap_or(usize::MAX);
        format!("{resource} of {}", count(nodes, "node"))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("above the target at the end: {}", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::policy::Policy;
    use crate::simulate;
    use crate::simulate::scenario::Scenario;

    #[test]
    fn a_run_whose_evictions_were_stopped_says_so() {
        let scenario = "
name: pending
about: A hot node beside pods that wait
duration: 10m
nodes: [{name: n, count: 2, cpu: 4, memory: 8Gi}]
workloads:
- {name: web, replicas: 6, requests: {cpu: 100m, memory: 100Mi}, usage: {cpu: 600m}, on: [n1]}
- {name: huge, replicas: 6, requests: {cpu: 100, memory: 100Mi}}
";
        let scenario = Scenario::parse("s.yaml", scenario).unwrap();
        let policy = Policy::parse("p.yaml", Policy::BUILT_IN).unwrap();
        let trace = simulate::run(&scenario, policy, "p.yaml", |_| {});
        let (sentence, stopped) = (sentence(&trace), trace.summary.stopped);
        assert!(stopped > 5, "{sentence}");
        assert_eq!(
            sentence,
            format!(
                "0 evictions; at least one node was still hot at the end; evictions were stopped \
                 in {stopped} of 11 cycles: 6 of 12 pods are pending; safety.maxPending allows 20%"
            )
        );
        let head = ["the head of a page may be longer than a line ".repeat(3)];
        let page =
            SimulationText { traces: &[trace], head: &head, all: false, screen: Screen::plain(60) };
        let page = page.to_string();
        let is_long = |line: &&str| line.chars().count() > 60;
        assert_eq!(page.lines().take(3).find(is_long), None);
        assert_eq!(page.lines().rev().take(4).find(is_long), None);
        assert!(page.contains("halted"), "{page}");
        assert!(page.contains("time to balance            not reached"), "{page}");
        let refused = page.lines().skip_while(|line| !line.starts_with("Refused"));
        let mut refused = refused.skip(1).take_while(|line| !line.is_empty());
        assert!(refused.all(|line| line.chars().count() <= 60), "{page}");
    }

    /// A run of a hot node beside free ones.
    fn run(policy: &str, duration: SignedDuration) -> Trace {
        let scenario = "
name: hot
about: A hot node beside free ones
duration: 1h
nodes: [{name: n, count: 3, cpu: 4, memory: 8Gi}]
workloads:
- {name: web, replicas: 5, requests: {cpu: 100m, memory: 100Mi}, usage: {cpu: 700m}, on: [n1]}
";
        let mut scenario = Scenario::parse("s.yaml", scenario).unwrap();
        scenario.duration = duration;
        let policy = format!("apiVersion: evenkeel/v1alpha1\nkind: Policy\n{policy}");
        let policy = Policy::parse("p.yaml", &policy).unwrap();
        simulate::run(&scenario, policy, "p.yaml", |_| {})
    }

    /// The page of such a run.
    fn page(policy: &str, duration: SignedDuration) -> String {
        let page = SimulationText {
            traces: &[run(policy, duration)],
            head: &[],
            all: true,
            screen: Screen::plain(120),
        };
        page.to_string()
    }

    const LONG: SignedDuration = SignedDuration::from_mins(30);
    const POOLS: &str = "strategies:
- lowNodeUtilization: {nodePools: [
    {name: a, nodeSelector: kubernetes.io/hostname=n1, thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}},
    {name: b, nodeSelector: kubernetes.io/hostname!=n1, thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}]}
";
    const BALANCE: &str = "strategies:
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}
";

    #[test]
    fn a_hot_end_is_told_where_the_targets_vary() {
        let page = page(POOLS, LONG);
        assert!(
            page.contains("node-minutes above target  not counted: the targets vary"),
            "{page}"
        );
        assert!(page.contains("; at least one node was still hot at the end"), "{page}");
    }

    #[test]
    fn a_node_above_its_target_at_a_balanced_end_is_told() {
        let mut trace = run(BALANCE, LONG);
        let quiet = sentence(&trace);
        assert!(quiet.contains("balanced within"), "{quiet}");
        trace.summary.above_target.get_mut("cpu").unwrap().nodes_at_end = 2;
        let told = format!("{quiet}; above the target at the end: cpu of 2 nodes");
        assert_eq!(sentence(&trace), told);
    }

    #[test]
    fn of_two_strategies_the_target_of_usage_is_counted() {
        let both = "strategies:
- lowNodeUtilization: {basis: requests, thresholds: {cpu: 10%}, targetThresholds: {cpu: 90%}}
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 60%}}
";
        let page = page(both, LONG);
        assert!(page.contains("node-minutes above target  cpu "), "{page}");
    }

    #[test]
    fn a_dry_run_says_that_it_is_one() {
        for (rule, end) in [
            ("dryRun: true", "; the policy is a dry run, which evicts nothing\n"),
            ("approval: {required: true}", "; evictions waited for an approval\n"),
        ] {
            let policy = format!("{rule}\n{BALANCE}");
            let page = page(&policy, LONG);
            assert!(page.ends_with(end), "{page}");
            assert!(page.contains("standard deviation at the start → at the end"), "{page}");
            let traces = [run(BALANCE, LONG), run(&policy, LONG)];
            let screen = Screen::plain(120);
            let both = SimulationText { traces: &traces, head: &[], all: true, screen }.to_string();
            assert!(both.contains("\np.yaml: 0 evictions;") && both.ends_with(end), "{both}");
        }
    }

    #[test]
    fn an_eviction_at_the_end_has_a_node_and_no_outcome_yet() {
        let first = run(BALANCE, LONG);
        let until = first.evictions[0].at.duration_since(first.start);
        let page = page(BALANCE, until);
        assert!(page.contains(" n1 → n"), "{page}");
        assert!(!page.contains("no node yet"), "{page}");
        assert!(page.contains("0 of them helped, "), "{page}");
        assert!(page.contains(" not known yet"), "{page}");
    }

    #[test]
    fn the_last_sentence_says_how_long_nodes_were_hot() {
        let page = page(BALANCE, LONG);
        assert!(page.contains("; balanced within "), "{page}");
    }
}
