//! Files of a cluster: their reading, and the stripping and scrambling of what a snapshot records.

pub(crate) mod cluster_file;
mod fields;
pub(crate) mod recording;
mod rename;
mod strip;
