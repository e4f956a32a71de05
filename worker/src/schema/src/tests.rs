use super::{Schema, Unusable};
use serde_json::{Value, json};

fn person() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": { "name": { "$ref": "#/$defs/name" }, "age": { "type": "integer", "minimum": 0 } },
        "required": ["name"],
        "additionalProperties": false,
        "$defs": { "name": { "type": "string", "pattern": "^[A-Z]" } }
    })
}

#[test]
fn a_value_satisfies_it_or_is_told_where_it_does_not() {
    let schema = Schema::read(&person()).expect("a schema");
    assert!(schema.faults(&json!({ "name": "Ada", "age": 36 })).is_empty());
    let faults = schema.faults(&json!({ "name": "ada", "age": -1 }));
    assert!(faults.len() == 2 && faults.iter().any(|fault| fault.starts_with("at /age: ")), "{faults:?}");
    assert!(faults.iter().any(|fault| fault.starts_with("at /name: ")), "{faults:?}");
    let faults = schema.faults(&json!([]));
    assert!(faults.len() == 1 && faults[0].starts_with("at the top: "), "{faults:?}");
}

#[test]
fn what_is_told_is_bounded() {
    let schema = Schema::read(&json!({ "items": { "type": "string" } })).expect("a schema");
    let faults = schema.faults(&json!(vec![1; 1_000]));
    assert!(faults.len() == super::FAULTS, "{}", faults.len());
    let long = Schema::read(&json!({ "const": "x".repeat(10_000) })).expect("a schema");
    assert!(long.faults(&json!(1))[0].chars().count() <= super::FAULT_CHARS);
}

#[test]
fn what_leads_out_of_it_is_not_fetched() {
    for outside in ["https://example.com/s.json", "file:///etc/passwd", "other.json"] {
        let error = Schema::read(&json!({ "properties": { "a": { "$ref": outside } } })).unwrap_err();
        assert!(matches!(&error, Unusable::Outside(url) if url.ends_with(outside)), "{error:?}");
    }
    let meta = Schema::read(&json!({ "$schema": "https://example.com/my-own-draft" }));
    assert!(matches!(meta, Err(Unusable::Outside(_))), "{meta:?}");
}

#[test]
fn what_is_no_schema_is_said() {
    for wrong in [json!({ "type": "text" }), json!({ "$ref": "#/$defs/nowhere" }), json!({ "pattern": "(" }), json!(7)]
    {
        let error = Schema::read(&wrong).unwrap_err();
        assert!(matches!(&error, Unusable::Wrong(why) if !why.is_empty()), "{wrong}: {error:?}");
    }
    assert!(Schema::read(&json!(true)).is_ok());
}

#[test]
fn one_that_refers_to_itself_does_so_wherever_it_is_put() {
    let tree = json!({
        "type": "object",
        "properties": { "$ref": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#" } } },
        "default": { "$ref": "#" }
    });
    let schema = Schema::read(&tree).expect("a schema");
    let embedded = schema.embedded_at("/properties/value");
    assert_eq!(embedded["properties"]["children"]["items"]["$ref"], "#/properties/value");
    assert_eq!(embedded["default"]["$ref"], "#", "data stays as it is");
    let whole = Schema::read(&json!({ "properties": { "value": embedded } })).expect("a schema");
    let (fine, wrong) = (json!([{ "$ref": "x" }]), json!([{ "children": 1 }]));
    assert!(whole.faults(&json!({ "value": { "children": fine } })).is_empty());
    assert_eq!(whole.faults(&json!({ "value": { "children": wrong } })).len(), 1);
    let person = Schema::read(&person()).expect("a schema").embedded_at("/properties/value");
    assert!(person.get("$schema").is_none());
    assert!(Schema::read(&json!({ "properties": { "value": person } })).is_ok());
    let named = Schema::read(&json!({ "$id": "https://example.com/a", "items": { "$ref": "#" } })).expect("a schema");
    assert_eq!(named.embedded_at("/properties/value")["items"]["$ref"], "#");
}
