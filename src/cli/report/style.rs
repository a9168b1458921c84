//! The style of the report, in light, in dark and on paper, and the script that shows tooltips at
//! once.

use std::sync::LazyLock;

use crate::render::bar;
use crate::render::html::PALETTE;

/// The style sheet.
pub(super) static STYLE: LazyLock<String> =
    LazyLock::new(|| [PALETTE, bar::STYLE, REPORT].concat());

const REPORT: &str = include_str!("style.css");

/// Shows tooltips at once, also on touch screens. Without this script the browser shows its own
/// tooltips after a delay.
pub(super) const SCRIPT: &str = include_str!("script.js");
