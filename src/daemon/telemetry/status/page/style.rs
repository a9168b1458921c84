//! The style of the page, and the script that replaces it with a newer one.

use std::sync::LazyLock;

use crate::render::bar;
use crate::render::html::PALETTE;

/// The style sheet.
pub(super) static STYLE: LazyLock<String> = LazyLock::new(|| [PALETTE, bar::STYLE, PAGE].concat());

const PAGE: &str = include_str!("style.css");

/// Fetches the page every five seconds while the tab is visible, and replaces the sections of the
/// old page with the new ones. Open folds stay open, scroll positions stay, and nothing is replaced
/// while text is selected.
pub(super) const SCRIPT: &str = include_str!("script.js");
