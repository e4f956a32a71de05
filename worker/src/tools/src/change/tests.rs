use super::commit::Step;
use super::*;
use crate::outcome::CallOutcome;
use crate::testing::Desk;
use crate::versions::{Manner, Scope, Undo, Versions, digest};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Changes `a` and `b`, creates `new/c` and deletes `d`.
fn draft(desk: &Desk) -> Draft {
    for name in ["a", "b", "d"] {
        desk.put(name, format!("{name} before\n"));
    }
    let mut draft = Draft::default();
    for (path, after) in [("a", Some("a after\n")), ("b", Some("b after\n")), ("new/c", Some("c\n")), ("d", None)] {
        let change = draft.file(&desk.folder, &desk.limits, path).unwrap();
        change.after = after.map(|text| text.as_bytes().to_vec());
    }
    draft
}

fn assert_unchanged(desk: &Desk) {
    for name in ["a", "b", "d"] {
        assert_eq!(desk.text(name), format!("{name} before\n"));
    }
    assert_eq!(desk.names(""), ["a", "b", "d"], "nothing is left over");
}

#[test]
fn what_was_is_kept_before_anything_is_changed() {
    let desk = Desk::new();
    let mut steps = Vec::new();
    let changes = draft(&desk).into_changes();
    let done = commit(changes, &desk.versions, &mut |step| {
        if step == Step::Kept {
            for name in ["a", "b", "d"] {
                let text = format!("{name} before\n");
                assert_eq!(desk.text(name), text);
                assert_eq!(desk.versions.content(&digest(text.as_bytes())).unwrap(), text.as_bytes());
            }
            assert_eq!(desk.versions.history().unwrap().len(), 4);
        }
        steps.push(step);
        Ok(())
    });
    let words: Vec<_> = done.unwrap().iter().map(|done| (done.word(), done.path.clone())).collect();
    let expected = [("replaced", "a"), ("replaced", "b"), ("created", "new/c"), ("deleted", "d")];
    assert_eq!(words, expected.map(|(word, path)| (word, path.to_owned())));
    let changed = (1..=4).map(Step::Changed);
    assert_eq!(steps, [Step::Staged, Step::Kept].into_iter().chain(changed).collect::<Vec<_>>());
}

#[test]
fn a_failure_at_any_step_leaves_everything_as_it_was() {
    for stop in [Step::Staged, Step::Kept, Step::Changed(1), Step::Changed(2), Step::Changed(3), Step::Changed(4)] {
        let desk = Desk::new();
        let outcome = commit(draft(&desk).into_changes(), &desk.versions, &mut |step| {
            if step == stop { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        });
        let outcome = outcome.unwrap_err();
        assert_eq!(outcome.class, CallOutcome::Failure, "{stop:?}: {}", outcome.text);
        let words = if stop == Step::Staged { "Nothing was changed" } else { "everything was put back as it was" };
        assert!(outcome.text.contains(words), "{}", outcome.text);
        assert_unchanged(&desk);
        let undone = desk.versions.undo(&desk.folder, Scope::All, Manner::default(), &desk.limits).unwrap();
        assert!(undone.iter().all(|(_, undo)| *undo == Undo::Unchanged), "{undone:?}");
        assert_unchanged(&desk);
    }
}

/// The process ends at a step: each file is as it was or as it should be, and can be taken back.
#[test]
fn after_a_crash_at_any_step_everything_can_be_taken_back() {
    for stop in [Step::Staged, Step::Kept, Step::Changed(1), Step::Changed(2), Step::Changed(3), Step::Changed(4)] {
        let desk = Desk::new();
        let changes = draft(&desk).into_changes();
        let died = catch_unwind(AssertUnwindSafe(|| {
            commit(changes, &desk.versions, &mut |step| if step == stop { panic!("the process ends") } else { Ok(()) })
        }));
        assert!(died.is_err());
        for name in ["a", "b"] {
            let text = desk.text(name);
            assert!(text == format!("{name} before\n") || text == format!("{name} after\n"), "{stop:?}: {text}");
        }
        let reopened = Versions::open(&desk.dir.path().join("versions")).unwrap();
        let foreign = desk.put(".ouroboros-0123456789ab-0.replacing", "another's");
        let unfinished = match stop {
            Step::Staged | Step::Kept => 3,
            Step::Changed(changed) => 3_usize.saturating_sub(changed),
        };
        assert_eq!(reopened.sweep(&desk.folder).unwrap(), unfinished, "{stop:?}");
        std::fs::remove_file(foreign).expect("it stays");
        for directory in ["", "new"] {
            assert!(desk.names(directory).iter().all(|name| !name.starts_with('.')), "{stop:?}");
        }
        assert_eq!(reopened.sweep(&desk.folder).unwrap(), 0);
        let undone = reopened.undo(&desk.folder, Scope::All, Manner::default(), &desk.limits).unwrap();
        let refused = |undo: &Undo| matches!(undo, Undo::Refused(_));
        assert!(undone.iter().all(|(_, undo)| !refused(undo)), "{stop:?}: {undone:?}");
        for name in ["a", "b", "d"] {
            assert_eq!(desk.text(name), format!("{name} before\n"), "{stop:?}");
        }
        assert!(!desk.path("new/c").exists());
    }
}

#[test]
fn what_somebody_else_changed_meanwhile_is_left_alone() {
    type Meddle = fn(&Desk);
    let meddles: [(Meddle, &str); 4] = [
        (|desk| std::fs::write(desk.path("b"), "mine\n").unwrap(), "b"),
        (|desk| std::fs::remove_file(desk.path("d")).unwrap(), "d"),
        (|desk| std::fs::write(desk.path("new/c"), "mine\n").unwrap(), "new/c"),
        (
            |desk| {
                std::fs::remove_file(desk.path("b")).unwrap();
                std::os::unix::fs::symlink("../outside/secret", desk.path("b")).unwrap();
            },
            "b",
        ),
    ];
    for (meddle, path) in meddles {
        let desk = Desk::new();
        let outcome = commit(draft(&desk).into_changes(), &desk.versions, &mut |step| {
            if step == Step::Kept {
                meddle(&desk);
            }
            Ok(())
        });
        let outcome = outcome.unwrap_err();
        assert_eq!(outcome.code, Some(Code::ChangedMeanwhile), "{}", outcome.text);
        assert!(outcome.text.starts_with(&format!("{path} was changed by something else")), "{}", outcome.text);
        assert_eq!(desk.text("a"), "a before\n", "what was changed before it was put back");
        assert_eq!(std::fs::read_to_string(desk.outside().join("secret")).unwrap(), "OUTSIDE\n");
        assert_eq!(desk.path("new/c").exists(), path == "new/c", "and stays where it is another's");
    }
}

#[test]
fn what_cannot_be_put_back_is_unknown_and_named() {
    let desk = Desk::new();
    let outcome = commit(draft(&desk).into_changes(), &desk.versions, &mut |step| {
        if step == Step::Changed(1) {
            std::fs::remove_file(desk.path("a")).unwrap();
            std::fs::write(desk.path("a"), "mine\n").unwrap();
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    });
    let outcome = outcome.unwrap_err();
    assert_eq!((outcome.class, outcome.code), (CallOutcome::Unknown, Some(Code::PartlyDone)));
    assert!(outcome.text.contains("could not be put back: a (something else changed it)"), "{}", outcome.text);
    assert_eq!((desk.text("a"), desk.text("b")), ("mine\n".to_owned(), "b before\n".to_owned()));
}

#[test]
fn without_a_kept_version_nothing_is_changed() {
    let desk = Desk::new();
    let draft = draft(&desk);
    let store = desk.dir.path().join("versions/content");
    std::fs::remove_dir_all(&store).unwrap();
    let outcome = commit(draft.into_changes(), &desk.versions, &mut |_| Ok(())).unwrap_err();
    assert_eq!(outcome.code, Some(Code::VersionNotKept), "{}", outcome.text);
    assert_unchanged(&desk);
}
