//! The one table of bounds.

use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::limits::{ALL, FRAME_BYTES, Limit};
use std::collections::BTreeSet;

#[test]
fn every_row_has_a_name_of_its_own_a_bound_and_a_unit() {
    let names: BTreeSet<_> = ALL.iter().map(|limit| limit.name).collect();
    assert_eq!(names.len(), ALL.len());
    for Limit { name, max, unit, .. } in ALL {
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{name}");
        assert!(*max > 0, "{name}");
        assert!(!unit.is_empty() && unit.bytes().all(|byte| byte.is_ascii_lowercase()), "{name} counts {unit:?}");
    }
}

#[test]
fn every_refusal_is_a_code_that_blames_the_request_or_the_load() {
    for limit in ALL {
        let Some(code) = limit.refusal else { continue };
        assert!(Code::ALL.contains(&code), "{}", limit.name);
        assert!((400..500).contains(&code.status()) || code.status() == 503, "{} refuses with {code}", limit.name);
    }
}

#[test]
fn codes_that_only_a_bound_gives_belong_to_a_row() {
    for code in
        Code::ALL.iter().filter(|code| code.as_str().starts_with("too_many_") || code.as_str().ends_with("_too_large"))
    {
        assert!(ALL.iter().any(|limit| limit.refusal == Some(*code)), "no bound refuses with {code}");
    }
}

#[test]
fn a_refusal_tells_the_bound_and_what_was_found() {
    for limit in ALL.iter().filter(|limit| limit.refusal.is_some()) {
        let error = ApiError::limit(limit, limit.max + 1);
        assert_eq!(Some(error.code), limit.refusal);
        let detail = error.detail.unwrap();
        assert_eq!(detail["limit"], limit.name);
        assert_eq!(detail["max"], limit.max);
        assert_eq!(detail["found"], limit.max + 1);
        assert_eq!(detail["unit"], limit.unit);
        assert!(error.message.contains(&limit.max.to_string()), "{}", error.message);
    }
}

/// What the API accepts must also reach a worker.
#[test]
fn the_largest_command_fits_a_frame() {
    use ouroboros_proto::limits::{ARGV_BYTES, ARGV_ITEMS, CWD_BYTES, ENV_BYTES, ENV_ITEMS};
    let lengths = 8 * (ARGV_ITEMS.max + 2 * ENV_ITEMS.max);
    assert!(ARGV_BYTES.max + ENV_BYTES.max + 3 * CWD_BYTES.max + lengths + 1_024 <= FRAME_BYTES.max);
}
