//! What metrics.k8s.io says, as readings.
