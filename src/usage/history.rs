//! Windows of samples.
