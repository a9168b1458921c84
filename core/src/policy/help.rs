//! Help texts of several sentences. In their files, each line is a paragraph.

/// The section `steering`.
pub(super) const STEERING: &str = include_str!("help/steering.txt").trim_ascii_end();
/// The list `guards`.
pub(super) const GUARDS: &str = include_str!("help/guards.txt").trim_ascii_end();
/// The section `ramp`.
pub(super) const RAMP: &str = include_str!("help/ramp.txt").trim_ascii_end();
/// The section `rightsizing`.
pub(super) const RIGHTSIZING: &str = include_str!("help/rightsizing.txt").trim_ascii_end();
/// The section `usage.prometheus.queries`.
pub(super) const QUERIES: &str = include_str!("help/queries.txt").trim_ascii_end();
/// The strategy highNodeUtilization.
pub(super) const HIGH_NODE_UTILIZATION: &str =
    include_str!("help/high_node_utilization.txt").trim_ascii_end();
/// The field `usage.ahead`.
pub(super) const AHEAD: &str = include_str!("help/ahead.txt").trim_ascii_end();
/// The field `forecast.tolerance`.
pub(super) const TOLERANCE: &str = include_str!("help/tolerance.txt").trim_ascii_end();
