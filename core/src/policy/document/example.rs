//! The example policy: every field with its help and its default.
//!
//! The text is assembled line by line, because settings that are commented out are no values that a
//! YAML serialiser could write. Each value is written by the serialiser.

use std::fmt::Write as _;

use super::wrapped;
use crate::schema::outline::{ChoiceOutline, FieldOutline, FieldSample, Form, ValueForm};

const WIDTH: usize = 110;

const HEAD: &str = "\
# A policy for evenkeel, with every field.
#
# Only apiVersion, kind and strategies are needed. Every other field is shown with its default, so leave out what you
# do not change. A setting after a # without a space is off: remove the # to turn it on.
#
# Durations are written as 90s, 5m or 1h30m. Percentages are written as 30%; a plain 30 means the same.
# A label selector is text as for `kubectl -l`, such as \"pool=web,zone in (a,b),!gpu\", or an object with matchLabels
# and matchExpressions. Text that begins with ! needs quotes.
#
# An unknown or repeated field is an error, because a misspelt limit would be no limit.
#
# This file is generated: `UPDATE_GENERATED=1 cargo test --lib policy::document`.
";

/// Writes the example.
pub(in crate::policy) fn example(fields: &[FieldOutline]) -> String {
    let mut page = ExamplePage { text: HEAD.to_owned() };
    for field in fields {
        // A blank line separates the fields at the top, but for `apiVersion` and `kind`.
        if !field.help.is_empty() {
            page.text.push('\n');
        }
        page.field(field, 0, false);
    }
    page.text
}

struct ExamplePage {
    text: String,
}

impl ExamplePage {
    fn field(&mut self, field: &FieldOutline, indent: usize, off: bool) {
        self.comment(field.help, indent);
        match (&field.form, field.sample) {
            (form, FieldSample::Off(value)) => {
                self.choices(form, indent);
                self.setting(field.name, value, indent, true);
            }
            (form, FieldSample::On(value)) => {
                self.choices(form, indent);
                self.setting(field.name, value, indent, off);
            }
            (Form::Value(form), FieldSample::Default) => {
                self.choices(&field.form, indent);
                self.setting(field.name, &default_of(field, form), indent, off);
            }
            (
                Form::Section(fields) | Form::SectionOrNone(fields) | Form::Sections(fields),
                FieldSample::Default,
            ) => {
                // A block that is absent by default is off as a whole.
                let off = off || field.default.is_none() && fields.iter().any(|f| f.name == "url");
                self.line("", &format!("{}:", field.name), indent, off);
                for field in fields {
                    self.field(field, indent + 2, off);
                }
            }
            (Form::Choices(choices), FieldSample::Default) => {
                self.line("", &format!("{}:", field.name), indent, off);
                for (i, choice) in choices.iter().enumerate() {
                    if i > 0 {
                        self.text.push('\n');
                    }
                    self.choice(choice, indent);
                }
            }
        }
    }

    fn choice(&mut self, choice: &ChoiceOutline, indent: usize) {
        self.comment(choice.help, indent);
        self.line("", &format!("- {}:", choice.name), indent, choice.off);
        for field in &choice.fields {
            self.field(field, indent + 4, choice.off);
        }
    }

    /// A field with its value. A value that begins with a line break is a list over several lines.
    fn setting(&mut self, name: &str, value: &str, indent: usize, off: bool) {
        let mut lines = value.lines();
        let first = lines.next().unwrap_or_default();
        let space = if first.is_empty() { "" } else { " " };
        self.line("", &format!("{name}:{space}{first}"), indent, off);
        lines.for_each(|line| self.line("", line, indent, off));
    }

    fn comment(&mut self, help: &str, indent: usize) {
        for line in wrapped(help, WIDTH - indent) {
            self.line("# ", &line, indent, false);
        }
    }

    /// The words of a choice, with their meaning in a second column.
    fn choices(&mut self, form: &Form, indent: usize) {
        let Form::Value(form) = form else { return };
        let width = form.choices.iter().map(|(word, _)| word.len()).max().unwrap_or(0);
        for (word, help) in &form.choices {
            self.line("#   ", &format!("{word:width$}  {help}"), indent, false);
        }
    }

    fn line(&mut self, mark: &str, text: &str, indent: usize, off: bool) {
        let off = if off { "#" } else { "" };
        let _ = writeln!(self.text, "{:indent$}{off}{mark}{text}", "");
    }
}

fn default_of(field: &FieldOutline, form: &ValueForm) -> String {
    let written = field.default.as_ref().map(crate::schema::item::Item::inline);
    written.unwrap_or_else(|| form.blank.unwrap_or("\"\"").to_owned())
}
