//! What every scenario is made of.

pub mod audit;
pub mod bed;
pub mod browser;
pub mod keel;
pub mod ledger;
pub mod prometheus;
pub mod proxy;
pub mod rounds;
pub mod scene;
pub mod usage;
pub mod wait;
