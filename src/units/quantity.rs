//! Kubernetes quantities, exactly.
