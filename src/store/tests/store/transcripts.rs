//! Transcripts grow at their end, are read in parts, and go with their task.

use crate::support::{Heard, Writing, opened, script};
use ouroboros_domain::change::Change;
use ouroboros_domain::row::MessageRow;
use ouroboros_proto::kind::{AttemptId, UtcMicros};
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
    let window = |number: u32| format!("{{\"type\":\"window\",\"number\":{number}}}");
    let later = "{\"type\":\"windows\"}";
    commit(13, vec![entry(other, &window(1)), entry(other, &window(2)), entry(other, later)]);
    assert_eq!(reader.newest_entry(other, "window").unwrap(), Some(window(2)));
    assert_eq!(reader.newest_entry(task, "window").unwrap(), None);
    assert_eq!(reader.objective(other).unwrap(), None, "the last entry says nothing of it");
    commit(14, vec![Change::TaskRemoved(task), entry(other, "{\"objective\":\"met\"}")]);
    assert_eq!(reader.objective(other).unwrap().as_deref(), Some("\"met\""));
    assert_eq!(reader.objective(task).unwrap(), None);
    assert_eq!(reader.transcript(task, 1, 1 << 20).unwrap(), [""; 0]);
    assert_eq!(reader.forgotten(&[task, other]).unwrap(), [task]);
    assert_eq!(reader.transcript(other, 1, 1 << 20).unwrap().len(), 5);
    writing.put(15, vec![entry(other, "no JSON")]);
    assert!(
        matches!(writing.hear(), Heard::Failed(15, error) if matches!(error.kind, CommitErrorKind::Constraint { .. }))
    );
}

#[test]
fn a_transcript_begins_with_another_ones_and_depends_on_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = opened(dir.path()).store;
    let reader = store.reader();
    let writing = Writing::start(store);
    (1..=10).for_each(|decision| writing.commit(decision));
    let (from, task, short) = (script::task_id(1), script::task_id(2), script::task_id(3));
    let entry = |task, text: &str| Change::Transcript {
        task,
        attempt: AttemptId::from_bytes([1; 16]),
        entry: text.as_bytes().into(),
    };
    let commit = |decision, changes| {
        writing.put(decision, changes);
        assert_eq!(writing.hear(), Heard::Committed(decision));
    };
    commit(11, vec![entry(from, "1"), entry(from, "2"), entry(from, "3")]);
    commit(12, vec![Change::Inherited { task, from, entries: 2 }, entry(task, "4")]);
    commit(13, vec![Change::TaskRemoved(from)]);
    assert_eq!(reader.transcript(task, 1, 1 << 20).unwrap(), ["1", "2", "4"]);
    writing.put(14, vec![Change::Inherited { task: short, from: task, entries: 4 }]);
    assert!(matches!(writing.hear(), Heard::Failed(14, _)), "there are only three");
}

#[test]
fn messages_wait_are_taken_where_they_stand_and_go_with_their_task() {
    let dir = tempfile::tempdir().unwrap();
    let store = opened(dir.path()).store;
    let reader = store.reader();
    let writing = Writing::start(store);
    (1..=10).for_each(|decision| writing.commit(decision));
    let task = script::task_id(1);
    let message = |number, key| Change::Message {
        row: MessageRow { task, number, key, at: UtcMicros::new(7), taken: false },
        text: format!("word {number}").into(),
    };
    let taken = |number| Change::MessageTaken { task, number };
    let entry = Change::Transcript { task, attempt: AttemptId::from_bytes([1; 16]), entry: b"1"[..].into() };
    let commit = |decision, changes| {
        writing.put(decision, changes);
        assert_eq!(writing.hear(), Heard::Committed(decision));
    };
    let key = ([3; 16], [4; 16]);
    commit(11, vec![message(1, None), message(2, Some(key))]);
    commit(12, vec![entry.clone(), entry, taken(1)]);
    let all: Vec<_> =
        reader.messages(task, false).unwrap().into_iter().map(|it| (it.number, it.text, it.place)).collect();
    assert_eq!(all, [(1, "word 1".to_owned(), Some(2)), (2, "word 2".to_owned(), None)]);
    let waiting: Vec<u32> = reader.messages(task, true).unwrap().into_iter().map(|it| it.number).collect();
    assert_eq!(waiting, [2]);
    let found = reader.message_by_key(task, &[3; 16]).unwrap().unwrap();
    assert_eq!((found.number, found.key, found.taken), (2, Some(key), false));
    assert_eq!(reader.message_by_key(task, &[4; 16]).unwrap(), None);
    commit(13, vec![Change::TaskRemoved(task)]);
    assert_eq!(reader.messages(task, false).unwrap(), []);
    writing.put(14, vec![taken(2)]);
    assert!(matches!(writing.hear(), Heard::Failed(14, _)), "it is gone");
}
