//! Building blocks of the end-to-end tests.

pub mod audit;
pub mod clock;
pub mod control_plane;
pub mod browser;
pub mod helm;
pub mod process;
pub mod ledger;
pub mod prometheus;
pub mod proxy;
pub mod rounds;
pub mod scene;
pub mod slots;
pub mod usage;
pub mod wait;

pub use audit::{Request, eviction_calls, evictions, requests};
pub use control_plane::{ControlPlane, run, with_control_plane};
pub use process::{Launch, Policy, Process};
pub use prometheus::Prometheus;
pub use proxy::{Proxy, Stage};
pub use rounds::{even, evicted, healed};
pub use usage::{in_words, name, used};
pub use wait::{eventually, present, say, that};
