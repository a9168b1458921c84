//! `null` as a value of JSON and YAML.

use serde::{Deserialize, Deserializer};

/// Reads a value, or the default for `null`: an empty key in YAML is `null`.
pub(super) fn nullable<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
