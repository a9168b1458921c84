//! A node's share of one resource as a bar against its band, painted for a terminal and for HTML.

use maud::{Markup, html};

use crate::model::plan::TargetBand;
use crate::values::Ratio;

use super::scale::{number, position};

/// The width of [`Bar::figures`], in characters: ` 95% →  58%` and a space in front.
pub const FIGURES_WIDTH: usize = 12;

/// One share of a resource, a second share to compare it with, and the band that both are measured
/// against.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bar {
    /// The share that fills the bar; `None` if it is unknown.
    pub value: Option<Ratio>,
    /// The share to compare with, such as the value before the planned moves.
    pub reference: Option<Ratio>,
    /// The threshold and the target.
    pub band: TargetBand,
}

/// Where a share lies relative to a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zone {
    /// At or below the threshold.
    Idle,
    /// Within the band, or without one.
    Even,
    /// Above the target.
    Hot,
}

/// How HTML shows the share to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceMark {
    /// A dashed outline around the bar.
    Outline,
    /// A thin bar below the bar.
    ThinBar,
}

impl Zone {
    /// Returns the zone of a share.
    pub fn of(ratio: Ratio, band: TargetBand) -> Self {
        match (band.threshold, band.target) {
            (_, Some(high)) if ratio > high => Zone::Hot,
            (Some(low), _) if ratio <= low => Zone::Idle,
            _ => Zone::Even,
        }
    }

    /// The CSS class that colours the zone.
    pub const fn class(self) -> &'static str {
        match self {
            Zone::Idle => "idle",
            Zone::Even => "even",
            Zone::Hot => "hot",
        }
    }
}

/// A shorter bar says nothing.
const SHORTEST: usize = 6;

impl Bar {
    /// The width of each of some bars in a row with this much room, if figures of this width are
    /// beside each; zero if that leaves too little. Figures remain on a narrow terminal.
    pub fn width(room: usize, bars: usize, figures: usize, longest: usize) -> usize {
        let width = (room / bars.max(1)).saturating_sub(figures + 2).min(longest);
        if width < SHORTEST { 0 } else { width }
    }

    /// A bar that shows a change from `before` to `after`.
    pub const fn change(before: Option<Ratio>, after: Option<Ratio>, band: TargetBand) -> Self {
        Bar { value: after, reference: before, band }
    }

    /// Paints the change in `width` characters, full at 100 %: `█` stays, `░` leaves, `▒` arrives.
    /// `┊` marks the threshold and `│` the target. An unknown share is drawn as zero.
    pub fn text(self, width: usize) -> String {
        let before = cells(self.reference.unwrap_or_default(), width);
        let after = cells(self.value.unwrap_or_default(), width);
        let changed = if after < before { '░' } else { '▒' };
        let last = width.saturating_sub(1);
        // A mark at 100 % would be behind the last cell.
        let low = self.band.threshold.map(|ratio| cells(ratio, width).min(last));
        let high = self.band.target.map(|ratio| cells(ratio, width).min(last));
        (0..width)
            .map(|i| match i {
                i if Some(i) == high => '│',
                i if Some(i) == low => '┊',
                i if i < before.min(after) => '█',
                i if i < before.max(after) => changed,
                _ => ' ',
            })
            .collect()
    }

    /// Writes the change as `83% →  58%`, or as one figure where both shares read the same.
    pub fn figures(self) -> String {
        let (before, after) = (figure(self.reference), figure(self.value));
        let after = if after == before { String::new() } else { format!(" → {after:>4}") };
        format!("{before:>4}{after:7}")
    }

    /// Paints the bar as an SVG that is as wide as its parent and ends at the share `top`. It is
    /// styled by [`STYLE`].
    pub fn svg(self, top: f64, mark: ReferenceMark) -> Markup {
        let outline = self.reference.filter(|_| mark == ReferenceMark::Outline);
        let thin = self.reference.filter(|_| mark == ReferenceMark::ThinBar);
        html! {
            svg.bar width="100%" height="20" aria-hidden="true" {
                rect.track y="2" width="100%" height="11" rx="2" {}
                @if let Some(ratio) = self.value {
                    rect class={ "fill " (self.class(ratio)) } y="2" height="11" rx="2"
                        width=(place(ratio, top)) {}
                }
                @if let Some(ratio) = outline {
                    rect class={ "ghost " (self.class(ratio)) } y="2" height="11" rx="2"
                        width=(place(ratio, top)) {}
                }
                @if let Some(ratio) = thin {
                    rect.thin y="15" height="3" rx="1" width=(place(ratio, top)) {}
                }
                @for (edge, class) in [(self.band.threshold, "edge low"), (self.band.target, "edge high")] {
                    @if let Some(ratio) = edge {
                        @let x = place(ratio, top);
                        line class=(class) x1=(x) x2=(x) y1="0" y2="15" {}
                    }
                }
            }
        }
    }

    fn class(self, ratio: Ratio) -> &'static str {
        Zone::of(ratio, self.band).class()
    }
}

/// Returns the position of a share on an axis that ends at the share `top`, as a percentage of the
/// width.
pub fn place(ratio: Ratio, top: f64) -> String {
    let percent = position(ratio.get(), (0.0, top), (0.0, 100.0));
    format!("{}%", number(percent))
}

fn figure(ratio: Option<Ratio>) -> String {
    ratio.map_or_else(|| "?".to_owned(), |ratio| ratio.to_string())
}

/// Returns how many of `width` cells a share fills.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a bar has a few dozen cells, and casts saturate"
)]
fn cells(ratio: Ratio, width: usize) -> usize {
    ((ratio.get() * width as f64).round() as usize).min(width)
}

/// The style of [`Bar::svg`], in the colours of [`super::html::PALETTE`].
pub const STYLE: &str = include_str!("bar.css");

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(before: Option<f64>, after: Option<f64>) -> Bar {
        let ratio = |percent: f64| Ratio::percent(percent);
        let band = TargetBand { threshold: ratio(30.0), target: ratio(70.0) };
        Bar::change(before.and_then(ratio), after.and_then(ratio), band)
    }

    #[test]
    fn a_text_bar_shows_what_stays_leaves_and_arrives_and_both_edges() {
        assert_eq!(bar(Some(90.0), Some(50.0)).text(10), "███┊█░░│░ ");
        assert_eq!(bar(Some(10.0), Some(20.0)).text(10), "█▒ ┊   │  ");
        assert_eq!(bar(None, None).text(10), "   ┊   │  ");
        assert_eq!(bar(Some(90.0), Some(90.0)).text(0), "");
    }

    #[test]
    fn figures_are_equally_wide_and_unknown_shares_are_question_marks() {
        let all = [
            bar(Some(83.0), Some(58.0)).figures(),
            bar(Some(83.0), Some(83.0)).figures(),
            bar(None, Some(5.0)).figures(),
        ];
        assert_eq!(all, [" 83% →  58%", " 83%       ", "   ? →   5%"]);
        assert!(all.iter().all(|figures| figures.chars().count() < FIGURES_WIDTH));
    }

    #[test]
    fn a_share_on_the_threshold_is_idle_and_on_the_target_even() {
        let band = bar(None, None).band;
        let zones = [30.0, 30.1, 70.0, 70.1]
            .map(|percent| Zone::of(Ratio::percent(percent).unwrap(), band).class());
        assert_eq!(zones, ["idle", "even", "even", "hot"]);
        assert_eq!(Zone::of(Ratio::ONE, TargetBand::default()), Zone::Even);
    }

    #[test]
    fn html_shows_the_reference_as_an_outline_or_as_a_thin_bar() {
        let bar = bar(Some(90.0), Some(20.0));
        let outlined = bar.svg(1.0, ReferenceMark::Outline).into_string();
        assert!(outlined.contains(
            "<rect class=\"ghost hot\" y=\"2\" height=\"11\" rx=\"2\" width=\"90%\"></rect>"
        ));
        assert!(outlined.contains("<rect class=\"fill idle\"") && !outlined.contains("thin"));
        let thin = bar.svg(2.0, ReferenceMark::ThinBar).into_string();
        assert!(
            thin.contains(
                "<rect class=\"thin\" y=\"15\" height=\"3\" rx=\"1\" width=\"45%\"></rect>"
            )
        );
        assert!(thin.contains("<line class=\"edge high\" x1=\"35%\" x2=\"35%\""));
    }
}
