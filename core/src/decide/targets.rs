//! Thresholds and targets: the nodes that they judge, the pools in force, and the load above a
//! target.

mod above;
mod eligible;
mod excess;
mod nodes;
mod pool;

pub use above::{AboveTarget, furthest_above, load_above};
pub use eligible::{absent, fit, judged, unfit};
pub use excess::{ResourceExcess, whole};
pub use nodes::classify;
pub use pool::{PoolInForce, ResourceRatios, in_force, least_targets};
