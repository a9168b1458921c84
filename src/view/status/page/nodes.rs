//! Nodes as bars against their band, the worst first.

use std::collections::BTreeSet;

use maud::{Markup, html};

use crate::model::plan::{NodePicture, TargetBand};
use crate::policy::Basis;
use crate::values::Ratio;
use crate::view::bar::{Bar, ReferenceMark};
use crate::view::screen::Ink;
use crate::view::words::{percent, usual_first};

use super::super::facts::{NodeStatus, PlanStatus};
use super::bar_meanings;
use super::parts::{folding, left_out, thousands};

/// Further nodes are folded.
const OPEN: usize = 25;

const NODES_LEFT_OUT: &str = "nodes, none worse than those above; /metrics lists all nodes";

/// The newest sample is shown where it differs from the smoothed usage by at least this share.
const NOTABLE_DIFFERENCE: f64 = 0.03;

/// The properties that all bars of a page share.
struct NodeBars<'r> {
    resources: Vec<&'r str>,
    basis: Basis,
    /// Whether the nodes belong to more than one pool.
    several_pools: bool,
    /// The share at the end of a bar.
    top: f64,
}

/// One resource of a node.
struct NodeLoad {
    actual: Option<Ratio>,
    latest: Option<Ratio>,
    requests: Option<Ratio>,
    band: TargetBand,
}

pub(super) fn section(plan: &PlanStatus) -> Markup {
    let bars = NodeBars::of(plan);
    let (thick, thin) = bar_meanings(plan.basis);
    html! {
        section aria-labelledby="h-nodes" {
            h2 #h-nodes { "Nodes" }
            (classes(plan))
            (balance(plan))
            p.hint {
                "As of the last plan, as shares of allocatable. Thick bar: " (thick)
                ", by which the policy balances. Thin bar: " (thin)
                ". Dashed line: threshold; a node at or below it has room. "
                "Solid line: target; a node above it should lose pods."
            }
            @if plan.nodes.items.is_empty() {
                p { "The cluster has no nodes." }
            }
            (folding(&plan.nodes.items, OPEN, "nodes", "more nodes", |nodes, _| bars.table(nodes)))
            (left_out(plan.nodes.more, NODES_LEFT_OUT))
        }
    }
}

/// The number of nodes of each class.
fn classes(plan: &PlanStatus) -> Markup {
    html! {
        ul.tally {
            li { b { (thousands(plan.nodes.total())) } " nodes" }
            @for count in &plan.classes {
                li { b { (thousands(count.nodes)) } " " (class_tag(Some(&count.class))) }
            }
        }
    }
}

fn balance(plan: &PlanStatus) -> Markup {
    let moves = plan.moves.total() > 0;
    html! {
        @if !plan.balance.is_empty() {
            p.facts {
                "Standard deviation over the nodes (lower is more even): "
                @for (i, (resource, change)) in plan.balance.iter().enumerate() {
                    @if i > 0 { " · " }
                    (resource) " " b { (change.before.deviation) }
                    @if let Some(after) = change.after.filter(|_| moves) {
                        " → " (after.deviation)
                    }
                }
                @if moves { " once all replacements have landed as forecast" }
            }
        }
    }
}

impl<'r> NodeBars<'r> {
    fn of(plan: &'r PlanStatus) -> Self {
        let pictures = || plan.nodes.items.iter().map(|node| &node.picture);
        let pools: BTreeSet<&str> =
            pictures().filter_map(|picture| picture.pool.as_deref()).collect();
        NodeBars {
            resources: resources(pictures()),
            basis: plan.basis,
            several_pools: pools.len() > 1,
            top: pictures().flat_map(shares).map(Ratio::get).fold(1.0, f64::max),
        }
    }

    fn table(&self, nodes: &[NodeStatus]) -> Markup {
        // The roles are explicit because a narrow screen lays the rows out as a grid, which removes
        // the implicit ones.
        html! {
            table.nodes role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        th scope="col" role="columnheader" { "node" }
                        th scope="col" role="columnheader" { "class" }
                        @for resource in &self.resources {
                            th scope="col" role="columnheader" { (resource) }
                        }
                    }
                }
                tbody role="rowgroup" {
                    @for node in nodes { (self.row(node)) }
                }
            }
        }
    }

    fn row(&self, node: &NodeStatus) -> Markup {
        let pool = node.picture.pool.as_ref().filter(|_| self.several_pools);
        html! {
            tr role="row" {
                th scope="row" role="rowheader" {
                    (node.picture.name)
                    @if let Some(pool) = pool { small { "pool " (pool) } }
                }
                td.class role="cell" {
                    (class_tag(node.class))
                    @for verdict in &node.verdicts {
                        small {
                            @if node.verdicts.len() > 1 { (verdict.strategy) ": " }
                            (verdict.class)
                        }
                    }
                }
                @for resource in &self.resources {
                    td.load role="cell" { (self.cell(&node.picture, resource)) }
                }
            }
        }
    }

    fn cell(&self, picture: &NodePicture, resource: &str) -> Markup {
        if !picture.ratios.contains_key(resource) {
            return html! { small { "-" } };
        }
        let load = NodeLoad::of(picture, resource);
        let (value, reference) = match self.basis {
            Basis::Actual => (load.actual, load.requests),
            Basis::Requests => (load.requests, load.actual),
        };
        let bar = Bar { value, reference, band: load.band };
        html! {
            (bar.svg(self.top, ReferenceMark::ThinBar))
            span.figures {
                span.narrow { (resource) " " }
                (load.figures())
            }
        }
    }
}

impl NodeLoad {
    fn of(picture: &NodePicture, resource: &str) -> Self {
        NodeLoad {
            actual: picture.actual.get(resource).copied().flatten(),
            latest: picture.latest.get(resource).copied().flatten(),
            requests: picture.requests.get(resource).copied().flatten(),
            band: picture.band.get(resource).copied().unwrap_or_default(),
        }
    }

    /// The newest sample, where it differs notably from the smoothed usage.
    fn notable_latest(&self) -> Option<Ratio> {
        let (latest, actual) = (self.latest?, self.actual?);
        ((latest.get() - actual.get()).abs() >= NOTABLE_DIFFERENCE).then_some(latest)
    }

    fn figures(&self) -> Markup {
        html! {
            @match self.actual {
                Some(actual) => { b { (percent(actual.get())) } " used" }
                None => b { "usage unknown" },
            }
            @if let Some(requests) = self.requests { " · " (percent(requests.get())) " requested" }
            @if let Some(latest) = self.notable_latest() {
                " · newest sample " (percent(latest.get()))
            }
            @if let (Some(low), Some(high)) = (self.band.threshold, self.band.target) {
                span.sr { ", band from " (low) " to " (high) }
            }
        }
    }
}

/// Returns the resources of the nodes: cpu and memory first, then the others by name.
fn resources<'p>(pictures: impl Iterator<Item = &'p NodePicture>) -> Vec<&'p str> {
    let names: BTreeSet<&str> =
        pictures.flat_map(|picture| picture.ratios.keys()).map(String::as_str).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    usual_first(&mut names);
    names
}

/// Returns every share of a node that its bars show.
fn shares(picture: &NodePicture) -> impl Iterator<Item = Ratio> {
    picture
        .actual
        .values()
        .chain(picture.requests.values())
        .flatten()
        .copied()
        .chain(picture.band.values().filter_map(|band| band.target))
}

fn class_tag(code: Option<&str>) -> Markup {
    let style = match code.and_then(Ink::of_class) {
        Some(Ink::Hot) => "hot",
        Some(Ink::Warning) => "warn",
        Some(Ink::Cold) => "idle",
        Some(Ink::Bold | Ink::Dim) | None => "other",
    };
    html! {
        span class={ "tag " (style) } { (code.unwrap_or("not classified")) }
    }
}
