//! A cluster in memory, driven by the same [`Engine`](crate::engine::Engine) and the same scheduler as a real one.

pub mod trace;
