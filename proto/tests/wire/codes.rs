//! The one enum of refusals and failures.

use ouroboros_proto::api::{ApiError, Code};
use std::collections::BTreeSet;

#[test]
fn every_code_has_its_own_name() {
    let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(names.len(), Code::ALL.len());
    for name in names {
        let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(plain && !name.starts_with('_') && !name.ends_with('_'), "{name}");
    }
}

#[test]
fn every_code_has_a_status_that_says_who_is_at_fault() {
    for code in Code::ALL {
        let known = [400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 416, 429, 431, 500, 503, 507];
        assert!(known.contains(&code.status()), "{code} has status {}", code.status());
    }
    assert_eq!(Code::Internal.status(), 500);
    assert_eq!(Code::KeyConflict.status(), 409);
    assert_eq!(Code::Unauthorized.status(), 401);
}

#[test]
fn a_code_is_written_as_its_name() {
    for code in Code::ALL {
        let json = serde_json::to_string(code).unwrap();
        assert_eq!(json, format!("{:?}", code.as_str()));
        assert_eq!(serde_json::from_str::<Code>(&json).unwrap(), *code);
        assert_eq!(code.to_string(), code.as_str());
    }
    assert!(serde_json::from_str::<Code>("\"no_such_code\"").is_err());
}

#[test]
fn an_error_has_only_the_fields_that_it_needs() {
    let bare = ApiError::new(Code::UnknownTask, "no task 7");
    assert_eq!(serde_json::to_string(&bare).unwrap(), r#"{"code":"unknown_task","message":"no task 7"}"#);

    let full = bare.remedy("see `tasks`").detail(serde_json::json!({ "task": 7 }));
    let json = r#"{"code":"unknown_task","message":"no task 7","remedy":"see `tasks`","detail":{"task":7}}"#;
    assert_eq!(serde_json::to_string(&full).unwrap(), json);
    assert_eq!(serde_json::from_str::<ApiError>(json).unwrap(), full);
    assert_eq!(full.to_string(), "no task 7");
}
