//! The JSON Schema of native policies.
//!
//! It accepts every value that the reader accepts in its documented form. It does not compare
//! fields with each other.

use serde_json::{Map, Value as Json, json};

use crate::schema::outline::{ChoiceOutline, FieldOutline, Form};

/// Writes the schema.
pub(in crate::policy) fn schema(fields: &[FieldOutline]) -> Json {
    let mut schema = object(fields);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("evenkeel policy, evenkeel/v1alpha1");
    schema["$defs"] = definitions();
    schema
}

/// Values that several fields take.
fn definitions() -> Json {
    json!({
        "duration": {"type": "string", "pattern": "^([0-9]+(\\.[0-9]+)?(h|m|s|ms))+$"},
        "percentText": {"type": "string", "pattern": "^[0-9]+(\\.[0-9]*)? *%$"},
        "percentage": {"anyOf": [
            {"type": "number", "minimum": 0, "maximum": 100},
            {"$ref": "#/$defs/percentText"}]},
        "thresholds": {
            "type": "object", "minProperties": 1,
            "propertyNames": {
                "pattern": "^(cpu|memory|pods|ephemeral-storage|hugepages-.*|.+/.+)$"
            },
            "additionalProperties": {"$ref": "#/$defs/percentage"}},
        "texts": {"type": "array", "items": {"type": "string", "minLength": 1}},
        "names": {
            "type": "object", "additionalProperties": false, "maxProperties": 1,
            "properties": {
                "exclude": {"$ref": "#/$defs/texts"},
                "include": {"allOf": [{"$ref": "#/$defs/texts"}, {"minItems": 1}]}}},
        "labelSelector": {"anyOf": [
            {"type": "string"},
            {"type": "object", "additionalProperties": false, "properties": {
                "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
                "matchExpressions": {"type": "array", "items": {"$ref": "#/$defs/requirement"}}}}]},
        "requirement": {
            "type": "object", "additionalProperties": false, "required": ["key", "operator"],
            "properties": {
                "key": {"type": "string"},
                "operator": {"enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                "values": {"type": "array", "items": {"type": "string"}}}},
    })
}

fn object(fields: &[FieldOutline]) -> Json {
    let properties: Map<String, Json> =
        fields.iter().map(|field| (field.name.to_owned(), property(field))).collect();
    let required: Vec<&str> = fields.iter().filter(|f| f.required).map(|f| f.name).collect();
    let mut object =
        json!({"type": "object", "additionalProperties": false, "properties": properties});
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn property(field: &FieldOutline) -> Json {
    let mut schema = match &field.form {
        Form::Value(form) => form.schema.clone(),
        // A section with nothing in it has the defaults.
        Form::Section(fields) => nullable(object(fields)),
        Form::SectionOrNone(fields) => {
            json!({"anyOf": [nullable(object(fields)), {"const": "none"}]})
        }
        Form::Sections(fields) => json!({"type": "array", "items": object(fields)}),
        Form::Choices(choices) => json!({"type": "array", "minItems": 1, "items": one_of(choices)}),
    };
    if !field.help.is_empty() {
        schema["description"] = json!(field.help);
    }
    if let Some(default) = field
        .default
        .as_ref()
        .filter(|_| matches!(field.form, Form::Value(_) | Form::SectionOrNone(_)))
    {
        schema["default"] = json!(default);
    }
    schema
}

fn nullable(mut object: Json) -> Json {
    object["type"] = json!(["object", "null"]);
    object
}

/// One strategy: a map with its name, or its name alone if it needs no arguments.
fn one_of(choices: &[ChoiceOutline]) -> Json {
    let maps = choices.iter().map(|choice| {
        let arguments = nullable(object(&choice.fields));
        json!({"type": "object", "additionalProperties": false, "required": [choice.name],
               "description": choice.help, "properties": {choice.name: arguments}})
    });
    let bare = choices.iter().filter(|c| c.fields.iter().all(|f| !f.required)).map(|c| c.name);
    let bare: Vec<&str> = bare.collect();
    let forms: Vec<Json> = [json!({"enum": bare})].into_iter().chain(maps).collect();
    json!({"anyOf": forms})
}
