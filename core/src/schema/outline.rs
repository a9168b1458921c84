//! The declared fields of a policy without their Rust types. The example, the reference and the
//! JSON Schema are generated from them.

use serde_json::Value;

use super::item::Item;

/// One declared field.
#[derive(Clone)]
pub(crate) struct FieldOutline {
    pub(crate) name: &'static str,
    /// Sentences for operators. A line break starts a new paragraph.
    pub(crate) help: &'static str,
    pub(crate) required: bool,
    /// The default as it is written; `None` where leaving the field out is the default.
    pub(crate) default: Option<Item>,
    pub(crate) sample: FieldSample,
    pub(crate) form: Form,
}

/// How the example shows a field.
#[derive(Clone, Copy)]
pub(crate) enum FieldSample {
    /// With its default.
    Default,
    /// With this value, in force.
    On(&'static str),
    /// With this value, commented out.
    Off(&'static str),
}

/// The form of a field's value.
#[derive(Clone)]
pub(crate) enum Form {
    Value(ValueForm),
    /// A map of these fields.
    Section(Vec<FieldOutline>),
    /// A map of these fields, or `none`.
    SectionOrNone(Vec<FieldOutline>),
    /// A list of maps, each with these fields.
    Sections(Vec<FieldOutline>),
    /// A list in which each item is one of these, with its arguments.
    Choices(Vec<ChoiceOutline>),
}

/// A value that is not a map of declared fields.
#[derive(Clone)]
pub(crate) struct ValueForm {
    /// The type in the reference.
    pub(crate) words: String,
    pub(crate) schema: Value,
    /// The allowed words with their meaning.
    pub(crate) choices: Vec<(&'static str, &'static str)>,
    /// How the example writes a default that leaves the field out, such as `""` for a selector.
    pub(crate) blank: Option<&'static str>,
}

/// One strategy with its arguments.
#[derive(Clone)]
pub(crate) struct ChoiceOutline {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) fields: Vec<FieldOutline>,
    /// The example shows it commented out.
    pub(crate) off: bool,
}
