//! The encodings of objects: protobuf, JSON text and parsed JSON.

use prost::Message;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::api::{NodeNameOnly, ObjectNames, ObjectOutline};
use crate::model::snapshot::objects::ObjectKind;

use super::Wrong;

/// An encoded object.
pub(super) trait Encoding {
    /// Decodes the object.
    ///
    /// # Errors
    /// A description of the invalid part.
    fn decode<T: Message + Default + DeserializeOwned>(&self) -> Result<T, Wrong>;

    /// Reads the names of an object that cannot be decoded, as far as they are readable.
    fn outline(&self, kind: ObjectKind) -> Outline;
}

/// The names of an object. An unreadable name is empty.
#[derive(Default)]
pub(super) struct Outline {
    pub(super) namespace: String,
    pub(super) name: String,
    /// The node of a pod or an attachment.
    pub(super) node: String,
}

/// A protobuf message.
pub(super) struct Protobuf<'m>(pub(super) &'m [u8]);

/// JSON text.
pub(super) struct Json<'t>(pub(super) &'t [u8]);

/// Parsed JSON or YAML.
pub(super) struct Tree<'v>(pub(super) &'v Value);

impl Encoding for Protobuf<'_> {
    fn decode<T: Message + Default + DeserializeOwned>(&self) -> Result<T, Wrong> {
        T::decode(self.0).map_err(|error| error.to_string())
    }

    fn outline(&self, kind: ObjectKind) -> Outline {
        // Each part is decoded on its own, so that an invalid one does not hide the others.
        let object = ObjectOutline::decode(self.0).unwrap_or_default();
        let names = ObjectNames::decode(object.metadata).unwrap_or_default();
        let spec = NodeNameOnly::decode(object.spec).unwrap_or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Outline {
            namespace: text(&names.namespace),
            name: text(&names.name),
            node: text(if kind == ObjectKind::Attachment {
                &spec.of_attachment
            } else {
                &spec.of_pod
            }),
        }
    }
}

impl Encoding for Json<'_> {
    fn decode<T: Message + Default + DeserializeOwned>(&self) -> Result<T, Wrong> {
        serde_json::from_slice(self.0).map_err(|error| {
            let again = serde_json::from_slice(self.0).ok();
            again.and_then(|tree| wrong_field::<T>(&tree)).unwrap_or_else(|| error.to_string())
        })
    }

    fn outline(&self, kind: ObjectKind) -> Outline {
        let value: Value = serde_json::from_slice(self.0).unwrap_or_default();
        Tree(&value).outline(kind)
    }
}

impl Encoding for Tree<'_> {
    fn decode<T: Message + Default + DeserializeOwned>(&self) -> Result<T, Wrong> {
        T::deserialize(self.0)
            .map_err(|error| wrong_field::<T>(self.0).unwrap_or_else(|| error.to_string()))
    }

    fn outline(&self, _kind: ObjectKind) -> Outline {
        let word = |pointer| {
            let found = self.0.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        Outline {
            namespace: word("/metadata/namespace"),
            name: word("/metadata/name"),
            node: word("/spec/nodeName"),
        }
    }
}

/// Decodes an invalid object again, and names the field. `None` if it is no field.
fn wrong_field<T: DeserializeOwned>(tree: &Value) -> Option<Wrong> {
    let error = serde_path_to_error::deserialize::<_, T>(tree).err()?;
    let path = error.path().to_string();
    (path != ".").then(|| format!("{path}: {}", error.into_inner()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::api::ApiPod;

    #[test]
    fn an_error_names_the_field() {
        for (object, why) in [
            (
                json!({"spec": {"priority": "0"}}),
                "spec.priority: invalid type: string \"0\", expected i32",
            ),
            (json!({"spec": "x"}), "spec: invalid type: string \"x\", expected a map"),
            (
                json!({"metadata": {"ownerReferences": [{}, 5]}}),
                "metadata.ownerReferences[1]: invalid type: integer `5`, expected a map",
            ),
        ] {
            assert_eq!(Tree(&object).decode::<ApiPod>().unwrap_err(), why);
            let text = object.to_string();
            let error = Json(text.as_bytes()).decode::<ApiPod>().unwrap_err();
            assert_eq!(error, why);
        }
    }
}
