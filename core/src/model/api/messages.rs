//! Messages of the Kubernetes API, declared as in a `.proto` file.

use serde::{Deserialize, Deserializer};

/// Declares structs that can be decoded from JSON and from protobuf.
///
/// A row is a field: its name in snake case, its type, its number, and its encoding in protobuf as
/// `prost` names it. The numbers are those of `generated.proto` in k8s.io/api and
/// k8s.io/apimachinery. There, the first row of this message is `map<string, string> labels = 11`:
///
/// ```text
/// messages! {
///     /// `ObjectMeta`.
///     struct ApiMetadata {
///         labels: BTreeMap<String, String> = 11 (btree_map = "string, string"),
///         owner_references: Vec<ApiOwner> = 13 (message, repeated),
///     }
/// }
/// ```
///
/// In JSON, the name is in camel case, such as `ownerReferences`, unless `#[serde(rename)]` above
/// the row says otherwise. A field that is missing or `null` has its default, in both encodings. An
/// `optional` row is an `Option`, because its absence has a meaning. A `required` message is not an
/// `Option`, but `prost` accepts objects without it.
macro_rules! messages {
    ($($(#[$of_struct:meta])* struct $name:ident {$(
        $(#[$of_field:meta])* $field:ident: $type:ty = $number:tt ($($wire:tt)*),
    )*})*) => {$(
        $(#[$of_struct])*
        #[derive(Clone, PartialEq, Eq, serde::Deserialize, prost::Message)]
        #[serde(rename_all = "camelCase", default, expecting = "a map")]
        pub struct $name {$(
            $(#[$of_field])*
            #[prost($($wire)*, tag = $number)]
            #[serde(deserialize_with = "crate::model::api::messages::nullable")]
            pub $field: $type,
        )*}
    )*};
}
pub(super) use messages;

/// Reads a value, or the default for `null`: an empty key in YAML is `null`.
pub(super) fn nullable<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
