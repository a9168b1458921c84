//! A value of a policy that is about to be written, and its YAML.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_saphyr::{FlowMap, FlowSeq};

/// A value to write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Flag(bool),
    Number(i64),
    Float(f64),
    Text(String),
    List(Vec<Item>),
    /// Fields in the order in which they are written.
    Map(Vec<(String, Item)>),
}

impl Item {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Item::Text(text.into())
    }

    pub(crate) fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Item::List(texts.into_iter().map(Item::text).collect())
    }

    /// A map with one field.
    pub(crate) fn one(name: &str, item: Item) -> Self {
        Item::Map(vec![(name.to_owned(), item)])
    }

    /// The document with this value: maps over several lines, lists of plain values on one line.
    pub(crate) fn document(&self) -> String {
        yaml(self)
    }

    /// The value on one line.
    pub(crate) fn inline(&self) -> String {
        let text = match self {
            Item::Map(_) => yaml(&FlowMap(self)),
            Item::List(_) => yaml(&FlowSeq(self)),
            Item::Flag(_) | Item::Number(_) | Item::Float(_) | Item::Text(_) => yaml(self),
        };
        text.trim_end().to_owned()
    }

    const fn is_scalar(&self) -> bool {
        !matches!(self, Item::List(_) | Item::Map(_))
    }
}

/// Serialises a value without block scalars: a query of several hundred characters stays on one
/// line.
fn yaml(value: &impl Serialize) -> String {
    let options = serde_saphyr::ser_options! {
        prefer_block_scalars: false,
    };
    // Serialising fails only for keys and enums that an `Item` cannot hold.
    serde_saphyr::to_string_with_options(value, options).unwrap_or_default()
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Item::Flag(flag) => serializer.serialize_bool(*flag),
            Item::Number(number) => serializer.serialize_i64(*number),
            Item::Float(number) => serializer.serialize_f64(*number),
            Item::Text(text) => serializer.serialize_str(text),
            Item::List(items) if items.iter().all(Item::is_scalar) => {
                FlowSeq(items).serialize(serializer)
            }
            Item::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Item::Map(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(name, item)| map.serialize_entry(name, item))?;
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn sample() -> Item {
        Item::Map(vec![
            ("flag".into(), Item::Flag(true)),
            ("nvidia.com/gpu".into(), Item::text("30%")),
            ("texts".into(), Item::texts(["a", "yes", "!gpu", "5", "", "a b: c"])),
            ("none".into(), Item::List(vec![])),
            ("maps".into(), Item::List(vec![Item::one("a", Item::Number(-1)), Item::text("b")])),
            ("nested".into(), Item::one("time", Item::text("1m30s"))),
        ])
    }

    #[test]
    fn a_document_has_maps_over_several_lines() {
        assert_snapshot!(sample().document(), @r#"
        flag: true
        nvidia.com/gpu: 30%
        texts: [a, "yes", "!gpu", "5", "", "a b: c"]
        none: []
        maps:
        - a: -1
        - b
        nested:
          time: 1m30s
        "#);
    }

    #[test]
    fn a_value_fits_on_one_line() {
        assert_snapshot!(sample().inline(),
            @"{flag: true, nvidia.com/gpu: 30%, texts: [a, \"yes\", \"!gpu\", \"5\", \"\", \"a b: \
                c\"], none: [], maps: [{a: -1}, b], nested: {time: 1m30s}}");
        assert_eq!(Item::text("x ".repeat(200)).inline().lines().count(), 1);
    }
}
