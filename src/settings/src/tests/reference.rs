//! The table reads well, and what is made from it is up to date.

use super::Given;
use crate::docs;
use crate::schema::{ALL, Key};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn names_are_unique_and_descriptions_are_sentences() {
    let names: BTreeSet<String> = ALL.iter().map(|setting| setting.key.to_string()).collect();
    let variables: BTreeSet<String> = ALL.iter().map(|setting| setting.key.variable()).collect();
    assert_eq!((names.len(), variables.len()), (ALL.len(), ALL.len()));
    for setting in ALL {
        let text = setting.description;
        assert!(text.starts_with(char::is_uppercase) && text.ends_with('.'), "{text:?}");
        assert!(!text.contains("  ") && !text.contains('|'), "{text:?}");
        assert_eq!(setting.key.to_string().parse(), Ok(setting.key));
    }
    let sections: Vec<&str> = ALL.iter().map(|setting| setting.section).collect();
    let mut grouped = sections.clone();
    grouped.dedup();
    assert_eq!(grouped.len(), sections.iter().collect::<BTreeSet<_>>().len(), "rows of a section stand together");
}

#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    if std::env::var_os("OUROBOROS_TEST_UPDATE").is_some() {
        std::fs::write(&path, docs::render()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == docs::render(),
        "docs/configuration.md differs from the table of settings; \
         make it again with: OUROBOROS_TEST_UPDATE=1 cargo test -p ouroboros-settings"
    );
}

#[test]
fn a_row_says_everything_about_a_setting() {
    let settings = Given::file("[queue]\nslots = 8\n").settings();
    assert_eq!(
        serde_json::to_value(settings.row(Key::QueueSlots)).unwrap(),
        serde_json::json!({
            "key": "queue.slots",
            "value": 8,
            "default": 4,
            "origin": { "from": "file", "line": 2 },
            "effect": "immediate",
            "secret": false,
            "owner_only": false,
            "kind": "integer",
            "allowed": "a whole number from 0 to 256",
            "variable": "OUROBOROS_QUEUE_SLOTS",
            "description": "Attempts that run at the same time; with 0 nothing starts.",
        })
    );
    let rows = settings.rows();
    assert_eq!(rows.len(), ALL.len());
    assert!(rows.iter().all(|row| !row.value.is_null() && !row.default.is_null()));
}
