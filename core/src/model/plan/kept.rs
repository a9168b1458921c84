//! Pods that stay.

use crate::model::object::object;

use super::Refusal;

/// A pod that a strategy proposed to move, and the refusal that keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The node of the pod.
    pub node: String,
    /// The strategy that proposed the move.
    pub strategy: &'static str,
    /// The refusal of the gate.
    pub refusal: Refusal,
}

object!(Kept, |kept| {
    "namespace": kept.namespace,
    "pod": kept.pod,
    "node": kept.node,
    "strategy": kept.strategy,
    "code": kept.refusal.code(),
    "message": kept.refusal.to_string(),
});
