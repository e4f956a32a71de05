//! A schema as a part of another one: what refers to itself must find itself there.

use serde_json::Value;

/// Keywords whose values are data, in which nothing is a reference.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];
/// Keywords whose value maps names to schemas: a name there is no keyword.
const MAPS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// `schema` as it must be written at `pointer` of a document: references from its top become references from there. What names a
/// document or a draft is left out.
pub fn at(schema: &Value, pointer: &str) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        // One with a name of its own is what its references are about, wherever it stands.
        let named = fields.get("$id").is_some_and(|id| id.as_str() != Some(""));
        fields.remove("$schema");
        if !named {
            move_in(&mut schema, pointer);
        }
    }
    schema
}

fn move_in(schema: &mut Value, pointer: &str) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::String(reference) if name == "$ref" || name == "$dynamicRef" => {
                        move_reference(reference, pointer)
                    }
                    Value::Object(schemas) if MAPS.contains(&name.as_str()) => {
                        schemas.values_mut().for_each(|schema| move_in(schema, pointer));
                    }
                    other if !DATA.contains(&name.as_str()) => move_in(other, pointer),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| move_in(item, pointer)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn move_reference(reference: &mut String, pointer: &str) {
    if let Some(path) = reference.strip_prefix('#').filter(|path| path.is_empty() || path.starts_with('/')) {
        *reference = format!("#{pointer}{path}");
    }
}
