//! The figures of each run, and the figures of several runs side by side.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use maud::{Markup, html};

use crate::model::plan::Balance;
use crate::model::relief::ReliefTotal;
use crate::simulate::trace::Trace;
use crate::values::Ratio;
use crate::view::figures::{
    is_balance_unknown, minutes_above_target, still_needed, time_to_balance, withheld,
};
use crate::view::scale::{count, path, share_ticks};
use crate::view::words::{BALANCE_HEADS, percent};

use super::LabelledRun;
use super::axes::{ShareAxis, TimeAxis, chart, inner};

/// The height of the chart of deviations, in pixels.
const CURVE_HEIGHT: f64 = 84.0;

struct RunFigure {
    name: String,
    value: String,
    /// A remark in small print.
    note: String,
    /// The rank among the runs, lower is better; `None` if the figure is neither good nor bad.
    rank: Option<f64>,
    /// Whether the figure is a reason to worry.
    bad: bool,
    /// Whether the figure depends on the band.
    by_band: bool,
}

impl RunFigure {
    #[expect(clippy::needless_pass_by_value, reason = "callers pass temporary values")]
    fn new(name: impl Into<String>, value: impl ToString) -> Self {
        RunFigure {
            name: name.into(),
            value: value.to_string(),
            note: String::new(),
            rank: None,
            bad: false,
            by_band: false,
        }
    }

    fn note(self, note: impl Into<String>) -> Self {
        RunFigure { note: note.into(), ..self }
    }

    fn rank(self, rank: f64) -> Self {
        RunFigure { rank: Some(rank), ..self }
    }

    fn bad_if(self, bad: bool) -> Self {
        RunFigure { bad, ..self }
    }

    fn by_band(self) -> Self {
        RunFigure { by_band: true, ..self }
    }

    /// A count out of a total: the larger the share, the better.
    fn part(name: &str, part: u32, of: u32) -> Self {
        let figure = RunFigure::new(name, part).note(format!("of {of}"));
        if of == 0 {
            return figure;
        }
        figure.rank(1.0 - f64::from(part) / f64::from(of))
    }
}

/// The figures of one run as tiles.
pub(super) fn tiles(run: &LabelledRun<'_>) -> Markup {
    html! {
        dl.tiles {
            @for figure in figures(run.trace) {
                div class=[figure.bad.then_some("bad")] {
                    dt { (figure.name) }
                    dd { (figure.value) " " small { (figure.note) } }
                }
            }
        }
    }
}

/// The figures of several runs as a table that marks the best value of each row.
pub(super) fn comparison(runs: &[LabelledRun<'_>]) -> Markup {
    let columns: Vec<Vec<RunFigure>> = runs
        .iter()
        .map(|run| {
            let mut column = figures(run.trace);
            column.extend(balance_figures(run.trace));
            column
        })
        .collect();
    let same_band = runs.windows(2).all(|pair| {
        let (a, b) = (pair[0].trace, pair[1].trace);
        a.basis == b.basis && a.bands == b.bands
    });
    html! {
        div.wide {
            table.compare {
                thead { tr { th {} @for run in runs { th { (run.label) } } } }
                tbody {
                    @for figure in columns.first().into_iter().flatten() {
                        (comparison_row(&figure.name, &columns, same_band))
                    }
                }
            }
        }
        p.hint { "▸ marks the better value of a row." }
    }
}

fn comparison_row(name: &str, columns: &[Vec<RunFigure>], same_band: bool) -> Markup {
    let row: Vec<Option<&RunFigure>> =
        columns.iter().map(|column| column.iter().find(|figure| figure.name == name)).collect();
    // Times above different bands cannot be compared.
    let comparable = row.iter().flatten().all(|figure| same_band || !figure.by_band);
    let best = best(&row).filter(|_| comparable);
    html! {
        tr {
            th { (name) }
            @for cell in row {
                @match cell {
                    Some(figure) => {
                        @let is_best = best.is_some() && figure.rank == best;
                        td class=[is_best.then_some("best")] {
                            (figure.value) " " small { (figure.note) }
                        }
                    }
                    None => td {},
                }
            }
        }
    }
}

/// Returns the best rank of a row; `None` if all are equal or one is missing.
fn best(row: &[Option<&RunFigure>]) -> Option<f64> {
    let ranks: Vec<f64> =
        row.iter().map(|figure| figure.and_then(|figure| figure.rank)).collect::<Option<_>>()?;
    let least = ranks.iter().copied().reduce(f64::min)?;
    let most = ranks.iter().copied().reduce(f64::max)?;
    (least < most).then_some(least)
}

fn figures(trace: &Trace) -> Vec<RunFigure> {
    let summary = &trace.summary;
    let rank = summary.time_to_balance.map_or(f64::MAX, |t| t.as_secs_f64());
    let (landed, of) = summary.foreseen;
    let evictions = f64::from(summary.evictions);
    let mut figures = vec![
        RunFigure {
            rank: withheld(trace).is_none().then_some(evictions),
            ..RunFigure::new("evictions", summary.evictions)
        },
        RunFigure::part("of these helped", summary.helped, summary.evictions),
        RunFigure::new("evictions still needed", still_needed(trace)),
        RunFigure::part("landed as forecast", landed, of),
        RunFigure {
            rank: (!is_balance_unknown(summary)).then_some(rank),
            ..RunFigure::new("time to balance", time_to_balance(trace))
        }
        .bad_if(summary.time_to_balance.is_none())
        .by_band(),
        RunFigure::new("pending pods at the end", summary.pending)
            .rank(summary.pending.into())
            .bad_if(summary.pending > 0),
        RunFigure::new("empty nodes at the end", summary.empty_nodes),
    ];
    figures.push(time_above_target(trace));
    figures.extend(relief(trace));
    figures
}

/// The time that moves have saved in the hour after them, beside the time that was predicted.
fn relief(trace: &Trace) -> Option<RunFigure> {
    let total = ReliefTotal::of(&trace.reliefs)?;
    let (predicted, cycles) = (total.predicted.get(), total.cycles);
    let note =
        format!("of {predicted:.0} predicted; {} of {cycles} cycles within 20 %", total.close);
    let value = format!("{:.0} node-minutes", total.achieved.get());
    Some(RunFigure::new("saved by moves in an hour", value).note(note))
}

fn time_above_target(trace: &Trace) -> RunFigure {
    let times = trace.summary.above_target.values();
    let total = times.map(|time| time.total).reduce(SignedDuration::saturating_add);
    RunFigure {
        rank: total.map(|total| total.as_secs_f64()),
        ..RunFigure::new("node-minutes above target", minutes_above_target(trace))
    }
    .by_band()
}

fn balance_figures(trace: &Trace) -> Vec<RunFigure> {
    let mut figures = Vec::new();
    for (resource, before) in &trace.summary.before {
        let after = trace.summary.after.get(resource).unwrap_or(before);
        for (name, before, after) in [
            ("standard deviation", before.deviation, after.deviation),
            ("fullest above mean", before.above_mean, after.above_mean),
        ] {
            let figure = RunFigure::new(format!("{resource}: {name}"), percent(after.get()))
                .note(format!("from {}", percent(before.get())))
                // Differences below a tenth of a percent are not shown, so they do not rank.
                .rank((after.get() * 1000.0).round());
            figures.push(figure);
        }
    }
    figures
}

/// The balance of the nodes: one card for each resource.
pub(super) fn balance(runs: &[LabelledRun<'_>], time: TimeAxis, resources: &[&str]) -> Markup {
    html! {
        @if !resources.is_empty() {
            div.two {
                @for resource in resources { (card(runs, time, resource)) }
            }
        }
    }
}

fn card(runs: &[LabelledRun<'_>], time: TimeAxis, resource: &str) -> Markup {
    let rows: Vec<Markup> = runs
        .iter()
        .enumerate()
        .filter_map(|(i, run)| balance_row(i, run, runs.len() > 1, resource))
        .collect();
    let curves = curves(runs, time, resource);
    html! {
        @if !rows.is_empty() || curves.is_some() {
            section.card {
                h4 { (resource) }
                div.wide {
                    table.figures {
                        thead { tr { @for head in BALANCE_HEADS { th { (head) } } } }
                        tbody { @for row in rows { (row) } }
                    }
                }
                @if let Some(curves) = curves { (curves) }
            }
        }
    }
}

fn balance_row(i: usize, run: &LabelledRun<'_>, labelled: bool, resource: &str) -> Option<Markup> {
    let summary = &run.trace.summary;
    let (before, after) = (summary.before.get(resource)?, summary.after.get(resource)?);
    Some(html! {
        tr {
            th { @if labelled { i class={ "dot run" (i) } {} (run.label) } }
            td { (change(before.deviation, after.deviation)) }
            td { (change(before.above_mean, after.above_mean)) }
            td { (change(before.mean, after.mean)) }
        }
    })
}

fn change(before: Ratio, after: Ratio) -> Markup {
    let (before, after) = (percent(before.get()), percent(after.get()));
    html! {
        @if before == after { (after) } @else { (before) " → " strong { (after) } }
    }
}

/// The standard deviation over time, one line for each run; `None` if it is not known.
fn curves(runs: &[LabelledRun<'_>], time: TimeAxis, resource: &str) -> Option<Markup> {
    let most = runs
        .iter()
        .flat_map(|run| deviations(&run.trace.balance, resource))
        .flatten()
        .reduce(f64::max)?;
    let share = ShareAxis { ticks: share_ticks(most * 1.05), height: CURVE_HEIGHT };
    let content = html! {
        (share.axis())
        (time.axis(CURVE_HEIGHT))
        (inner(CURVE_HEIGHT, "lines", &html! {
            @for (i, run) in runs.iter().enumerate() {
                path class={ "line run" (i) } d=(curve(run.trace, time, &share, resource)) {
                    title { (run.label) }
                }
            }
        }))
    };
    let label = format!("standard deviation of {resource} over time");
    Some(html! {
        h5 { "standard deviation over time" }
        (chart(CURVE_HEIGHT, &label, &content))
    })
}

fn curve(trace: &Trace, time: TimeAxis, share: &ShareAxis, resource: &str) -> String {
    /// More points than this are finer than a screen.
    const POINTS: usize = 400;
    let deviations: Vec<Option<f64>> = deviations(&trace.balance, resource).collect();
    let every = deviations.len().div_ceil(POINTS).max(1);
    let step = trace.step.as_secs_f64();
    path(deviations.into_iter().enumerate().step_by(every).map(|(i, deviation)| {
        let at = SignedDuration::from_secs_f64(step * count(i));
        Some((time.x(at), share.y(deviation?)))
    }))
}

fn deviations<'b>(
    balance: &'b BTreeMap<String, Vec<Option<Balance>>>,
    resource: &str,
) -> impl Iterator<Item = Option<f64>> + use<'b> {
    balance
        .get(resource)
        .into_iter()
        .flatten()
        .map(|balance| balance.map(|balance| balance.deviation.get()))
}
