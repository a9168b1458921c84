//! Objects that are not written as they are stored.

/// Serialises a type as an object, whose members are expressions about the value.
macro_rules! object {
    ($type:ident, |$value:ident| {$($name:literal: $member:expr,)*}) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;
                let $value = self;
                let mut out = serializer.serialize_struct(stringify!($type), [$($name),*].len())?;
                $(out.serialize_field($name, &$member)?;)*
                out.end()
            }
        }
    };
}
pub(crate) use object;
