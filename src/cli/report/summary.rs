//! What each run comes to, and two runs beside each other.

use std::fmt::Write as _;

use jiff::SignedDuration;

use crate::model::plan::Balance;
use crate::render::scale::{count, path, share_ticks};
use crate::render::words::{escaped, percent, span};
use crate::simulate::trace::Trace;
use crate::values::Ratio;

use super::Run;
use super::frame::{Across, Down, inner, picture};
use super::series::hot_time;

/// A figure of a run.
struct Figure {
    name: String,
    value: String,
    /// What is small beside it.
    note: String,
    /// By what runs are compared: the smaller, the better; `None` where neither is better.
    rank: Option<f64>,
    /// Whether it is a reason to worry.
    bad: bool,
}

/// The figures of one run as tiles.
pub(super) fn tiles(run: &Run<'_>) -> String {
    let mut out = String::from("<dl class=\"tiles\">");
    for figure in figures(run.trace) {
        let bad = if figure.bad { " class=\"bad\"" } else { "" };
        let _ = write!(
            out,
            "<div{bad}><dt>{}</dt><dd>{} <small>{}</small></dd></div>",
            escaped(&figure.name),
            escaped(&figure.value),
            escaped(&figure.note)
        );
    }
    out + "</dl>"
}

/// The figures of several runs as a table; the better one of each row is marked.
pub(super) fn comparison(runs: &[Run<'_>]) -> String {
    let mut columns: Vec<Vec<Figure>> = runs.iter().map(|run| figures(run.trace)).collect();
    let one_band = runs
        .windows(2)
        .all(|p| p[0].trace.basis == p[1].trace.basis && p[0].trace.bands == p[1].trace.bands);
    for (column, run) in columns.iter_mut().zip(runs) {
        // Who has other bounds is not the better for keeping them.
        for figure in column
            .iter_mut()
            .filter(|f| !one_band && f.name.starts_with("time "))
        {
            figure.rank = None;
        }
        column.extend(balance_figures(run.trace));
    }
    let mut out = String::from("<div class=\"wide\"><table class=\"compare\"><thead><tr><th></th>");
    for run in runs {
        let _ = write!(out, "<th>{}</th>", escaped(&run.label));
    }
    out.push_str("</tr></thead><tbody>");
    for figure in columns.first().into_iter().flatten() {
        let row: Vec<Option<&Figure>> = columns
            .iter()
            .map(|c| c.iter().find(|f| f.name == figure.name))
            .collect();
        let _ = write!(out, "<tr><th>{}</th>", escaped(&figure.name));
        let best = best(&row);
        for cell in row {
            let Some(cell) = cell else {
                out.push_str("<td></td>");
                continue;
            };
            let better = if best.is_some() && cell.rank == best {
                " class=\"best\""
            } else {
                ""
            };
            let _ = write!(
                out,
                "<td{better}>{} <small>{}</small></td>",
                escaped(&cell.value),
                escaped(&cell.note)
            );
        }
        out.push_str("</tr>");
    }
    out + "</tbody></table></div><p class=\"hint\">Marked: the better one of a row.</p>"
}

/// The best rank of a row; `None` where all are alike or nothing can be said.
fn best(row: &[Option<&Figure>]) -> Option<f64> {
    let ranks: Vec<f64> = row.iter().filter_map(|f| f.and_then(|f| f.rank)).collect();
    let (least, most) = (
        ranks.iter().copied().reduce(f64::min)?,
        ranks.iter().copied().reduce(f64::max)?,
    );
    (ranks.len() == row.len() && least < most).then_some(least)
}

fn figures(trace: &Trace) -> Vec<Figure> {
    let it = &trace.summary;
    let plain = |name: &str, value: String, note: &str, rank: Option<f64>| Figure {
        name: name.to_owned(),
        value,
        note: note.to_owned(),
        rank,
        bad: false,
    };
    let (right, of) = it.foreseen;
    let mut all = vec![
        plain(
            "evictions",
            it.evictions.to_string(),
            "",
            Some(f64::from(it.evictions)),
        ),
        plain(
            "of these helped",
            it.helped.to_string(),
            &format!("of {}", it.evictions),
            part(it.helped, it.evictions),
        ),
        plain(
            "landed as foreseen",
            right.to_string(),
            &format!("of {of}"),
            part(right, of),
        ),
        Figure {
            bad: it.time_to_balance.is_none(),
            ..plain(
                "time to balance",
                it.time_to_balance.map_or("not reached".to_owned(), span),
                "",
                Some(
                    it.time_to_balance
                        .as_ref()
                        .map_or(f64::MAX, SignedDuration::as_secs_f64),
                ),
            )
        },
        Figure {
            bad: it.pending > 0,
            ..plain(
                "pods waiting at the end",
                it.pending.to_string(),
                "",
                Some(it.pending.into()),
            )
        },
        plain(
            "empty nodes at the end",
            it.empty_nodes.to_string(),
            "",
            None,
        ),
    ];
    let hot: Vec<SignedDuration> = trace
        .bands
        .keys()
        .filter_map(|resource| hot_time(trace, resource))
        .collect();
    if !hot.is_empty() {
        let total: SignedDuration = hot
            .into_iter()
            .fold(SignedDuration::ZERO, SignedDuration::saturating_add);
        all.push(plain(
            "time above the band, all nodes",
            span(total),
            "",
            Some(total.as_secs_f64()),
        ));
    }
    all
}

fn part(some: u32, of: u32) -> Option<f64> {
    (of > 0).then(|| 1.0 - f64::from(some) / f64::from(of))
}

/// One figure of a balance.
type Measure = fn(&Balance) -> Ratio;

fn balance_figures(trace: &Trace) -> Vec<Figure> {
    let measures = [
        ("standard deviation", (|b| b.deviation) as Measure),
        ("fullest above mean", |b| b.above_mean),
    ];
    let mut all = Vec::new();
    for (resource, before) in &trace.summary.before {
        let after = trace.summary.after.get(resource).unwrap_or(before);
        for (name, of) in measures {
            all.push(Figure {
                name: format!("{resource}: {name}"),
                value: percent(of(after).get()),
                note: format!("from {}", percent(of(before).get())),
                rank: Some((of(after).get() * 1000.0).round()),
                bad: false,
            });
        }
    }
    all
}

/// How even the cluster was, a card for each resource.
pub(super) fn balance(runs: &[Run<'_>], across: Across, resources: &[&str]) -> String {
    let cards: String = resources
        .iter()
        .map(|resource| card(runs, across, resource))
        .collect();
    if cards.is_empty() {
        cards
    } else {
        format!("<div class=\"two\">{cards}</div>")
    }
}

fn card(runs: &[Run<'_>], across: Across, resource: &str) -> String {
    let mut rows = String::new();
    for (i, run) in runs.iter().enumerate() {
        let of = |side: &std::collections::BTreeMap<String, Balance>| side.get(resource).copied();
        let (Some(before), Some(after)) =
            (of(&run.trace.summary.before), of(&run.trace.summary.after))
        else {
            continue;
        };
        let key = if runs.len() > 1 {
            format!("<i class=\"dot run{i}\"></i>{}", escaped(&run.label))
        } else {
            String::new()
        };
        let _ = write!(
            rows,
            "<tr><th>{key}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
            change(before.deviation, after.deviation),
            change(before.above_mean, after.above_mean),
            change(before.mean, after.mean)
        );
    }
    let curve = curves(runs, across, resource);
    if rows.is_empty() && curve.is_empty() {
        return String::new();
    }
    format!(
        "<section class=\"card\"><h4>{}</h4><div class=\"wide\"><table class=\"figures\"><thead><tr><th></th><th>standard deviation</th>\
         <th>fullest above mean</th><th>mean</th></tr></thead><tbody>{rows}</tbody></table></div>{curve}</section>",
        escaped(resource)
    )
}

fn change(before: Ratio, after: Ratio) -> String {
    let (before, after) = (percent(before.get()), percent(after.get()));
    if before == after {
        after
    } else {
        format!("{before} → <strong>{after}</strong>")
    }
}

/// The standard deviation over time, a line for each run.
fn curves(runs: &[Run<'_>], across: Across, resource: &str) -> String {
    let series = |run: &Run<'_>| run.trace.balance.get(resource).cloned().unwrap_or_default();
    let all: Vec<Vec<Option<Balance>>> = runs.iter().map(series).collect();
    let Some(most) = all
        .iter()
        .flatten()
        .flatten()
        .map(|b| b.deviation.get())
        .reduce(f64::max)
    else {
        return String::new();
    };
    let down = Down {
        ticks: share_ticks(most * 1.05),
        height: 84.0,
    };
    let mut lines = String::new();
    for (i, (run, series)) in runs.iter().zip(&all).enumerate() {
        let every = series.len().div_ceil(400).max(1);
        let points = series
            .iter()
            .enumerate()
            .step_by(every)
            .map(|(j, balance)| {
                let at = SignedDuration::from_secs_f64(run.trace.step.as_secs_f64() * count(j));
                balance.map(|b| (across.place(at), down.place(b.deviation.get())))
            });
        let _ = write!(
            lines,
            "<path class=\"line run{i}\" d=\"{}\"><title>{}</title></path>",
            path(points),
            escaped(&run.label)
        );
    }
    let parts = [
        down.axis(),
        across.axis(down.height),
        inner(down.height, "lines", &lines),
    ];
    format!(
        "<h5>standard deviation over time</h5>{}",
        picture(
            down.height,
            &format!("standard deviation of {resource} over time"),
            &parts
        )
    )
}
