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
