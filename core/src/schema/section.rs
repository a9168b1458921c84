//! Declares a map of fields once: from the declaration it is read, written and documented.
//!
//! A declaration is a function that returns a [`Section`], and stands beside the type that it
//! fills:
//!
//! ```text
//! Section::new(Cooldown { rest: minutes(10), cap: hours(6) })
//!     .field("rest", duration(ONE_SECOND), |c| &mut c.rest)
//!     .help("How long …")
//!     .field("cap", duration(ONE_SECOND), |c| &mut c.cap)
//!     .help("The longest …")
//!     .check(|f, c| …)
//! ```
//!
//! To add a field, add it to the type, to the defaults and to the declaration.

use std::rc::Rc;

use super::item::Item;
use super::kind::Kind;
use super::outline::{FieldOutline, FieldSample, Form};
use super::problem::Code;
use super::read::{Fields, Spot};
use super::tree::Value;

/// How a section that is off is written.
const NONE: &str = "none";

type Read<T> = Box<dyn Fn(&mut T, Spot<'_, '_>)>;
type Write<T> = Box<dyn Fn(&T) -> Option<Item>>;

/// A map of fields that fills a `T`.
pub(crate) struct Section<T> {
    defaults: T,
    fields: Vec<Field<T>>,
    check: Option<fn(&mut Fields<'_, '_>, &mut T)>,
}

struct Field<T> {
    name: &'static str,
    help: &'static str,
    /// The value to expect if the field is missing.
    required: Option<&'static str>,
    sample: FieldSample,
    /// Written also where the value is the default.
    always: bool,
    form: Form,
    read: Read<T>,
    write: Write<T>,
}

impl<T: Clone + 'static> Section<T> {
    /// A section without fields; the fields that follow have these defaults.
    pub(crate) const fn new(defaults: T) -> Self {
        Section { defaults, fields: Vec::new(), check: None }
    }

    /// A field that is one member of `T`.
    pub(crate) fn field<V: Clone + 'static>(
        self,
        name: &'static str,
        kind: Kind<V>,
        member: impl Fn(&mut T) -> &mut V + Copy + 'static,
    ) -> Self {
        // One accessor serves both directions. Policies are small and rarely written, so the clone
        // is cheap.
        let get = move |section: &T| member(&mut section.clone()).clone();
        self.computed(name, kind, get, move |section, value| *member(section) = value)
    }

    /// A field that is computed from `T`, and changes it.
    pub(crate) fn computed<V: 'static>(
        self,
        name: &'static str,
        kind: Kind<V>,
        get: impl Fn(&T) -> V + 'static,
        set: impl Fn(&mut T, V) + 'static,
    ) -> Self {
        let Kind { form, read, write } = kind;
        let read: Read<T> = Box::new(move |section, spot| {
            if let Some(value) = read(spot) {
                set(section, value);
            }
        });
        let write: Write<T> = Box::new(move |section| write(&get(section)));
        self.custom(name, form, read, write)
    }

    /// A field with a reader and a writer of its own.
    pub(crate) fn custom(
        mut self,
        name: &'static str,
        form: Form,
        read: Read<T>,
        write: Write<T>,
    ) -> Self {
        self.fields.push(Field {
            name,
            help: "",
            required: None,
            sample: FieldSample::Default,
            always: false,
            form,
            read,
            write,
        });
        self
    }

    /// The purpose of the last field, in words for people.
    pub(crate) fn help(self, text: &'static str) -> Self {
        self.change_last(|field| field.help = text)
    }

    /// The last field must be there; `expected` says what belongs there.
    pub(crate) fn required(self, expected: &'static str) -> Self {
        self.change_last(|field| field.required = Some(expected))
    }

    /// The example shows the last field with this value.
    pub(crate) fn shown_as(self, value: &'static str) -> Self {
        self.change_last(|field| field.sample = FieldSample::On(value))
    }

    /// The example shows the last field with this value, commented out.
    pub(crate) fn off(self, value: &'static str) -> Self {
        self.change_last(|field| field.sample = FieldSample::Off(value))
    }

    /// The last field is written even if it has its default.
    pub(crate) fn always_written(self) -> Self {
        self.change_last(|field| field.always = true)
    }

    fn change_last(mut self, change: impl FnOnce(&mut Field<T>)) -> Self {
        if let Some(field) = self.fields.last_mut() {
            change(field);
        }
        self
    }

    /// Checks what one field alone cannot: it runs when all fields have been read.
    pub(crate) fn check(mut self, check: fn(&mut Fields<'_, '_>, &mut T)) -> Self {
        self.check = Some(check);
        self
    }

    /// The value where no field is written.
    pub(crate) fn defaults(&self) -> T {
        self.defaults.clone()
    }

    /// Reads all fields; those that are absent or broken keep their defaults.
    pub(crate) fn read(&self, f: &mut Fields<'_, '_>) -> T {
        let mut value = self.defaults.clone();
        for field in &self.fields {
            let spot = match field.required {
                Some(expected) => f.required(field.name, expected),
                None => f.field(field.name),
            };
            (field.read)(&mut value, spot);
        }
        if let Some(check) = self.check {
            check(f, &mut value);
        }
        value
    }

    /// The fields as they are written, without those that have their defaults.
    pub(crate) fn write(&self, value: &T) -> Vec<(String, Item)> {
        let fields = self.fields.iter().filter_map(|field| {
            let item = (field.write)(value);
            let is_default = !field.always && item == (field.write)(&self.defaults);
            let item = item.filter(|_| !is_default)?;
            Some((field.name.to_owned(), item))
        });
        fields.collect()
    }

    /// The declared fields, for documentation.
    pub(crate) fn outline(&self) -> Vec<FieldOutline> {
        let fields = self.fields.iter().map(|field| FieldOutline {
            name: field.name,
            help: field.help,
            required: field.required.is_some(),
            default: (field.write)(&self.defaults),
            sample: field.sample,
            form: field.form.clone(),
        });
        fields.collect()
    }
}

/// A map of these fields, which is left out if it is empty.
pub(crate) fn map<V: Clone + 'static>(inner: Section<V>) -> Kind<V> {
    let (form, inner) = (Form::Section(inner.outline()), Rc::new(inner));
    let reader = Rc::clone(&inner);
    Kind {
        form,
        read: Box::new(move |spot| Some(spot.section(|f| reader.read(f)))),
        write: Box::new(move |value| {
            let fields = inner.write(value);
            (!fields.is_empty()).then_some(Item::Map(fields))
        }),
    }
}

/// A map that may be absent; `complete` recognises one with all required fields.
pub(crate) fn map_if<V: Clone + 'static>(
    inner: Section<V>,
    complete: fn(&V) -> bool,
) -> Kind<Option<V>> {
    let (form, inner) = (Form::Section(inner.outline()), Rc::new(inner));
    let reader = Rc::clone(&inner);
    Kind {
        form,
        read: Box::new(move |spot| Some(Some(spot.section(|f| reader.read(f))).filter(complete))),
        write: Box::new(move |value| Some(Item::Map(inner.write(value.as_ref()?)))),
    }
}

/// A map, or the word `none`, which is the default. An empty map has the defaults of its fields.
pub(crate) fn map_or_none<V: Clone + 'static>(inner: Section<V>) -> Kind<Option<V>> {
    let (form, inner) = (Form::SectionOrNone(inner.outline()), Rc::new(inner));
    let reader = Rc::clone(&inner);
    Kind {
        form,
        read: Box::new(move |spot| match spot.node().map(|node| &node.value) {
            None | Some(Value::Null) => Some(None),
            Some(Value::Text(word)) if word == NONE => Some(None),
            Some(Value::Map(_)) => Some(Some(spot.section(|f| reader.read(f)))),
            Some(_) => spot.refuse(Code::WrongType, "a map of fields, or none"),
        }),
        write: Box::new(move |value| {
            let map = value.as_ref().map(|value| Item::Map(inner.write(value)));
            Some(map.unwrap_or_else(|| Item::text(NONE)))
        }),
    }
}

/// A list of maps; `what` names the items.
pub(crate) fn maps<V: Clone + 'static>(what: &'static str, inner: Section<V>) -> Kind<Vec<V>> {
    let (form, inner) = (Form::Sections(inner.outline()), Rc::new(inner));
    let reader = Rc::clone(&inner);
    Kind {
        form,
        read: Box::new(move |spot| spot.list(what, |item| Some(item.section(|f| reader.read(f))))),
        write: Box::new(move |values: &Vec<V>| {
            let items = values.iter().map(|item| Item::Map(inner.write(item)));
            (!values.is_empty()).then(|| Item::List(items.collect()))
        }),
    }
}
