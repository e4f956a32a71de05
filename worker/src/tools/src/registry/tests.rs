use super::*;
use crate::testing::Desk;
use serde_json::{Map, Value};

/// A value that a schema allows.
fn sample(schema: &Value) -> Value {
    match schema["type"].as_str().unwrap() {
        "string" => json!("x"),
        "integer" => json!(1),
        "boolean" => json!(true),
        "array" => json!([sample(&schema["items"])]),
        "object" => {
            assert_eq!(schema["additionalProperties"], json!(false), "{schema}");
            let properties = schema["properties"].as_object().unwrap();
            Value::Object(properties.iter().map(|(name, schema)| (name.clone(), sample(schema))).collect())
        }
        other => panic!("{other}"),
    }
}

fn required(schema: &Value) -> Vec<String> {
    schema["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Every object that a schema allows or forbids, and whether it allows it.
fn cases(schema: &Value) -> Vec<(Value, bool)> {
    let whole = sample(schema).as_object().unwrap().clone();
    let needed = required(schema);
    let only: Map<String, Value> =
        whole.iter().filter(|(name, _)| needed.contains(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    let mut cases = vec![(json!(whole), true), (json!(only), true)];
    for (name, value) in &whole {
        let mut one = only.clone();
        one.insert(name.clone(), value.clone());
        cases.push((json!(one), true));
        let mut less = whole.clone();
        less.remove(name);
        cases.push((json!(less), !needed.contains(name)));
        let mut blank = whole.clone();
        blank.insert(name.clone(), Value::Null);
        cases.push((json!(blank), !needed.contains(name)));
        let mut wrong = whole.clone();
        wrong.insert(name.clone(), json!({ "no": "such" }));
        cases.push((json!(wrong), false));
        if let Some(items) = schema["properties"][name].get("items") {
            for (inner, fine) in self::cases(items) {
                let mut nested = whole.clone();
                nested.insert(name.clone(), json!([inner]));
                cases.push((json!(nested), fine));
            }
        }
    }
    let mut more = whole;
    more.insert("unheard_of".to_owned(), json!(1));
    cases.push((json!(more), false));
    cases
}

#[test]
fn what_a_schema_allows_is_read_and_nothing_else_is() {
    for spec in Registry::files().specs() {
        for (arguments, fine) in cases(&spec.parameters) {
            let outcome = Desk::new().run(&spec.name, arguments.clone());
            let read = outcome.code != Some(Code::BadArguments);
            assert_eq!(read, fine, "{} {arguments}: {}", spec.name, outcome.text);
            if !read {
                assert!(outcome.text.contains("Example: {"), "{}", outcome.text);
            }
        }
    }
}

#[test]
fn every_example_is_one_that_the_tool_takes() {
    for spec in Registry::files().specs() {
        let wrong = Desk::new().run_until(&spec.name, "[]", &|| false);
        let example = wrong.text.split_once("Example: ").unwrap().1;
        let outcome = Desk::new().run_until(&spec.name, example, &|| false);
        assert_ne!(outcome.code, Some(Code::BadArguments), "{}: {}", spec.name, outcome.text);
        assert_ne!(outcome.code, Some(Code::BadPatch), "{}: {}", spec.name, outcome.text);
    }
}

#[test]
fn names_are_listed_in_a_stable_order_and_are_what_can_be_run() {
    let registry = Registry::files();
    let names: Vec<_> = registry.specs().into_iter().map(|spec| spec.name).collect();
    let known = [
        "read_file",
        "list_files",
        "search_code",
        "write_file",
        "edit_text",
        "edit_batch",
        "apply_patch",
        "view_image",
        "web_fetch",
        "note",
        "list_available_tools",
    ];
    assert_eq!(names, known);
    for name in &names {
        let tool = registry.get(name).ok().unwrap();
        assert_eq!(tool.parallel_safe(), tool.access() == Access::Read && name != "view_image");
        let access = match name.as_str() {
            "write_file" | "edit_text" | "edit_batch" | "apply_patch" => Access::Write,
            "web_fetch" => Access::Network,
            _ => Access::Read,
        };
        assert_eq!(tool.access(), access, "{name}");
    }
}

#[test]
fn an_unknown_name_is_a_miss_that_names_what_can_be_called_and_a_hidden_one_a_refusal() {
    let mut desk = Desk::new();
    assert!(desk.registry.hide("write_file", "this task only looks"));
    assert!(!desk.registry.hide("no_such", ""));
    let miss = desk.not_ok("read_fil", json!({}), Code::UnknownTool);
    assert!(miss.text.contains("read_file, list_files") && !miss.text.contains("write_file"), "{}", miss.text);
    let refusal = desk.not_ok("write_file", json!({ "path": "a", "content": "" }), Code::HiddenByPolicy);
    assert!(refusal.text.contains("this task only looks"));
    assert_eq!(desk.registry.specs().len(), 11, "the list does not change");
    assert!(!desk.path("a").exists());
}

#[test]
fn calls_may_run_beside_each_other() {
    fn shared<T: Send + Sync>() {}
    shared::<Registry>();
    shared::<Folder>();
    shared::<Versions>();
}

#[test]
fn a_folder_that_is_removed_is_told_as_such_and_one_that_is_moved_works_on() {
    let desk = Desk::new();
    desk.put("a", "one\n");
    let moved = desk.dir.path().join("moved");
    rustix::fs::rename(desk.path(""), &moved).unwrap();
    assert!(desk.ok("read_file", json!({ "path": "a" })).text.contains("one"));
    std::fs::remove_dir_all(&moved).unwrap();
    // Another folder of its name is another folder.
    std::fs::create_dir(desk.path("")).unwrap();
    desk.put("a", "two\n");
    for (tool, arguments) in [
        ("read_file", json!({ "path": "a" })),
        ("list_files", json!({})),
        ("search_code", json!({ "pattern": "one" })),
        ("view_image", json!({ "path": "a" })),
        ("write_file", json!({ "path": "a", "content": "three" })),
        ("edit_text", json!({ "path": "a", "old": "one", "new": "two" })),
        ("apply_patch", json!({ "patch": "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n" })),
    ] {
        let gone = desk.not_ok(tool, arguments, Code::FolderGone);
        assert!(gone.text.contains("was removed while you worked in it"), "{tool}: {}", gone.text);
    }
    desk.ok("note", json!({ "text": "The folder is gone." }));
    desk.not_ok("read_file", json!({}), Code::BadArguments);
    assert_eq!(desk.text("a"), "two\n");
}

#[test]
fn an_attempt_that_ends_runs_nothing() {
    let desk = Desk::new();
    desk.put("a", "one\n");
    for (tool, arguments) in [
        ("read_file", json!({ "path": "a" })),
        ("list_files", json!({})),
        ("search_code", json!({ "pattern": "one" })),
        ("write_file", json!({ "path": "a", "content": "two" })),
        ("edit_text", json!({ "path": "a", "old": "one", "new": "two" })),
        ("edit_batch", json!({ "edits": [{ "path": "a", "old": "one", "new": "two" }] })),
        ("apply_patch", json!({ "patch": "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n" })),
    ] {
        let outcome = desk.run_until(tool, &arguments.to_string(), &|| true);
        assert_eq!(outcome.code, Some(Code::Cancelled), "{tool}: {}", outcome.text);
        assert_eq!(
            outcome.text,
            "Stopped, because the attempt ends or the person stopped this turn or call. Nothing was changed."
        );
    }
    assert_eq!(desk.text("a"), "one\n");
    assert_eq!(desk.names(""), ["a"]);
}
