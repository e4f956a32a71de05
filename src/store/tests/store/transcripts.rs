//! Transcripts grow at their end, are read in parts, and go with their task.

use crate::support::{Heard, Writing, opened, script};
use ouroboros_domain::change::Change;
use ouroboros_proto::kind::AttemptId;
use ouroboros_store::CommitErrorKind;

#[test]
fn a_transcript_grows_at_its_end_is_read_in_parts_and_goes_with_its_task() {
    let dir = tempfile::tempdir().unwrap();
    let store = opened(dir.path()).store;
    let reader = store.reader();
    let writing = Writing::start(store);
    (1..=10).for_each(|decision| writing.commit(decision));
    let (task, other) = (script::task_id(1), script::task_id(2));
    let entry = |task, text: &str| Change::Transcript {
        task,
        attempt: AttemptId::from_bytes([1; 16]),
        entry: text.as_bytes().into(),
    };
    let commit = |decision, changes| {
        writing.put(decision, changes);
        assert_eq!(writing.hear(), Heard::Committed(decision));
    };
    commit(11, vec![entry(task, "{\"a\":1}"), entry(other, "{\"b\":1}"), entry(task, "{\"a\":2}")]);
    commit(12, vec![entry(task, "{\"a\":3}")]);
    assert_eq!(reader.transcript(task, 1, 1 << 20).unwrap(), ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"]);
    assert_eq!(reader.transcript(task, 1, 15).unwrap(), ["{\"a\":1}", "{\"a\":2}"], "no more than was asked for");
    assert_eq!(reader.transcript(task, 3, 1).unwrap(), ["{\"a\":3}"], "and one at least");
    assert_eq!(reader.transcript(task, 4, 1 << 20).unwrap(), [""; 0]);
    assert_eq!(reader.forgotten(&[task, other]).unwrap(), []);
    commit(13, vec![Change::TaskRemoved(task)]);
    assert_eq!(reader.transcript(task, 1, 1 << 20).unwrap(), [""; 0]);
    assert_eq!(reader.forgotten(&[task, other]).unwrap(), [task]);
    assert_eq!(reader.transcript(other, 1, 1 << 20).unwrap().len(), 1);
    writing.put(14, vec![entry(other, "no JSON")]);
    assert!(
        matches!(writing.hear(), Heard::Failed(14, error) if matches!(error.kind, CommitErrorKind::Constraint { .. }))
    );
}
