//! Ids, words and numbers as text.

use ouroboros_proto::kind::{
    AttemptId, CancelReason, Ending, ExitCode, Failure, Generation, InstallationId, NanoDollars, OutOfMemory, Outcome,
    Priority, ProcessId, TaskId, TaskNumber, WorkerId,
};
use std::fmt::{Debug, Display};
use std::str::FromStr;

fn reads_back<T: FromStr<Err: Debug> + Display + PartialEq + Debug>(value: T) {
    assert_eq!(value.to_string().parse::<T>().unwrap(), value);
}

#[test]
fn ids_read_back_as_printed() {
    for bytes in [[0; 16], [0xff; 16], *TaskId::mint().as_bytes()] {
        reads_back(TaskId::from_bytes(bytes));
        reads_back(AttemptId::from_bytes(bytes));
        reads_back(InstallationId::from_bytes(bytes));
        reads_back(ProcessId::from_bytes(bytes));
        assert_eq!(TaskId::from_bytes(bytes).as_bytes(), &bytes);
    }
    for number in [0, 1, u64::MAX] {
        reads_back(TaskNumber::new(number));
        reads_back(Generation::new(number));
        reads_back(WorkerId::new(number));
    }
}

#[test]
fn an_id_is_printed_in_lower_case_with_hyphens() {
    let id = TaskId::from_bytes([0xab; 16]);
    assert_eq!(id.to_string(), "abababab-abab-abab-abab-abababababab");
    assert_eq!(format!("{id:?}"), "TaskId(abababab-abab-abab-abab-abababababab)");
    assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{id}\""));
}

#[test]
fn ids_sort_by_the_time_they_were_made() {
    let ids: Vec<TaskId> = (0..1_000).map(|_| TaskId::mint()).collect();
    assert!(ids.is_sorted());
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn what_is_no_id_is_refused_by_name() {
    for text in ["", "7", "abababab-abab-abab-abab-abababababa", "gbababab-abab-abab-abab-abababababab"] {
        let error = text.parse::<TaskId>().unwrap_err().to_string();
        assert!(error.contains("TaskId") && error.contains(text), "{error}");
    }
    for text in ["", "-1", "1.5", "seven", "18446744073709551616", " 1", "1 "] {
        assert!(text.parse::<TaskNumber>().is_err(), "{text:?}");
    }
}

#[test]
fn counters_do_not_wrap() {
    assert_eq!(Generation::new(1).next(), Generation::new(2));
    assert_eq!(Generation::new(u64::MAX).next(), Generation::new(u64::MAX));
}

#[test]
fn priorities_read_back_as_printed_and_sort_as_listed() {
    Priority::ALL.into_iter().for_each(reads_back);
    assert!(Priority::ALL.is_sorted());
    assert!("Normal".parse::<Priority>().is_err());
}

#[test]
fn exit_codes_read_back() {
    let known: Vec<ExitCode> = (-1..=256).filter_map(ExitCode::from_code).collect();
    let all = [
        (ExitCode::Stopped, 0),
        (ExitCode::Restart, 42),
        (ExitCode::Usage, 64),
        (ExitCode::Data, 65),
        (ExitCode::Unavailable, 69),
        (ExitCode::CantCreate, 73),
        (ExitCode::Io, 74),
        (ExitCode::NoPermission, 77),
        (ExitCode::Config, 78),
        (ExitCode::Panic, 99),
        (ExitCode::Orphaned, 100),
        (ExitCode::Mismatch, 101),
    ];
    assert_eq!(known, all.map(|(code, _)| code));
    for (code, number) in all {
        assert_eq!(code.code(), number);
        assert_eq!(ExitCode::from_code(i32::from(number)), Some(code));
    }
    assert_eq!(ExitCode::from_code(42 + 256), None);
}

#[test]
fn outcomes_give_the_exit_codes_of_run() {
    let task = TaskId::from_bytes([1; 16]);
    let ended = |ending| Outcome::Failed(Failure::Ended(ending));
    let killed = |signal| ended(Ending::Signaled { signal, out_of_memory: OutOfMemory::Unknown });
    for (outcome, code) in [
        (Outcome::Completed, 0),
        (Outcome::Cancelled(CancelReason::Requested), 130),
        (ended(Ending::Exited { code: 3 }), 3),
        (killed(9), 137),
        (killed(64), 192),
        (killed(255), 255),
        (ended(Ending::TimedOut), 124),
        (ended(Ending::Stopped), 130),
        (ended(Ending::NotFound), 127),
        (ended(Ending::NotExecutable { errno: 13 }), 126),
        (ended(Ending::BadDirectory { errno: 2 }), 125),
        (ended(Ending::SetUpFailed { errno: 24 }), 125),
        (Outcome::Failed(Failure::Interrupted), 125),
        (Outcome::Failed(Failure::Quarantined { crashes: 3 }), 125),
        (Outcome::Failed(Failure::Dependency { task }), 125),
        (Outcome::Failed(Failure::Unreadable), 125),
    ] {
        assert_eq!(outcome.exit_code(), code, "{outcome:?}");
    }
}

#[test]
fn money_is_exact_and_never_wraps() {
    assert_eq!(NanoDollars::new(1_000_000_001).to_string(), "$1.000000001");
    assert_eq!(NanoDollars::new(u64::MAX).saturating_add(NanoDollars::new(1)), NanoDollars::new(u64::MAX));
}
