//! The reference of all fields in Markdown.

use std::fmt::Write as _;

use crate::schema::item::Item;
use crate::schema::outline::{ChoiceOutline, FieldOutline, Form, ValueForm};

const HEAD: &str = "\
# Policy reference

All fields of a native policy, `evenkeel/v1alpha1`. [policy.example.yaml](../policy.example.yaml) shows them in a file.
[policy.schema.json](policy.schema.json) is the JSON Schema for editors and validators. evenkeel itself checks more: for
example that a threshold is not above its target. `evenkeel policy check` reports every problem with its line.

This file is generated: `UPDATE_GENERATED=1 cargo test --lib policy::document`.
";

/// Writes the reference.
pub(in crate::policy) fn reference(fields: &[FieldOutline]) -> String {
    let mut text = HEAD.to_owned();
    text.push_str("\n## Top level\n\n");
    table(fields, &mut text);
    for field in fields {
        section(field, field.name, &mut text);
    }
    text
}

/// A section with its own heading and table, and the sections inside it.
fn section(field: &FieldOutline, path: &str, text: &mut String) {
    match &field.form {
        Form::Value(_) => {}
        Form::Section(fields) | Form::SectionOrNone(fields) => {
            fields_of(field.help, path, fields, text);
        }
        Form::Sections(fields) => fields_of(field.help, &format!("{path}[]"), fields, text),
        Form::Choices(choices) => {
            let _ = writeln!(text, "\n## {path}\n\n{}", field.help);
            for choice in choices {
                strategy(choice, text);
            }
        }
    }
}

fn fields_of(help: &str, path: &str, fields: &[FieldOutline], text: &mut String) {
    let _ = write!(text, "\n## {path}\n\n");
    if !help.is_empty() {
        let _ = write!(text, "{}\n\n", paragraphs(help));
    }
    // The same rules under another name are described once.
    if path == "profiles[].evictable" {
        text.push_str("See [evictable](#evictable).\n");
        return;
    }
    table(fields, text);
    for field in fields {
        section(field, &format!("{path}.{}", field.name), text);
    }
}

fn strategy(choice: &ChoiceOutline, text: &mut String) {
    let _ = write!(text, "\n### {}\n\n{}\n\n", choice.name, paragraphs(choice.help));
    table(&choice.fields, text);
    for field in &choice.fields {
        if let Form::Section(fields) | Form::Sections(fields) = &field.form {
            let _ = write!(text, "\nFields of `{}`:\n\n", field.name);
            table(fields, text);
        }
    }
}

fn table(fields: &[FieldOutline], text: &mut String) {
    text.push_str("| field | type | default | meaning |\n|---|---|---|---|\n");
    for field in fields {
        let cells =
            [format!("`{}`", field.name), type_of(&field.form), default_of(field), meaning(field)];
        let _ = writeln!(text, "| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
}

fn type_of(form: &Form) -> String {
    match form {
        Form::Value(form) => form.words.clone(),
        Form::Section(_) => "map".to_owned(),
        Form::SectionOrNone(_) => "map or `none`".to_owned(),
        Form::Sections(_) => "list of maps".to_owned(),
        Form::Choices(_) => "list of strategies".to_owned(),
    }
}

fn default_of(field: &FieldOutline) -> String {
    if field.required {
        return "needed".to_owned();
    }
    let default = field
        .default
        .as_ref()
        .filter(|_| matches!(field.form, Form::Value(_) | Form::SectionOrNone(_)));
    default.map_or(String::new(), |item: &Item| format!("`{}`", item.inline()))
}

fn meaning(field: &FieldOutline) -> String {
    let mut help = field.help.lines().filter(|l| !l.starts_with(' ')).collect::<Vec<_>>().join(" ");
    if let Form::Value(ValueForm { choices, .. }) = &field.form {
        for (word, meaning) in choices {
            let _ = write!(help, "<br>`{word}`: {meaning}");
        }
    }
    help
}

/// Paragraphs in Markdown; lines that begin with a space are code.
fn paragraphs(help: &str) -> String {
    let lines = help.lines().map(|line| match line.strip_prefix(' ') {
        Some(code) => format!("```yaml\n{}\n```", code.trim()),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n\n")
}
