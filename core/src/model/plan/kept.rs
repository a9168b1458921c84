//! Pods that stay.

use serde::{Serialize, Serializer};

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

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Kept", 6)?;
        out.serialize_field("namespace", &self.namespace)?;
        out.serialize_field("pod", &self.pod)?;
        out.serialize_field("node", &self.node)?;
        out.serialize_field("strategy", self.strategy)?;
        out.serialize_field("code", self.refusal.code())?;
        out.serialize_field("message", &self.refusal.to_string())?;
        out.end()
    }
}
