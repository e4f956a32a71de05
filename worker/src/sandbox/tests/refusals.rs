//! Commands that do not start, and what is said of those that do.

use crate::desk::{Desk, WAYS, root};
use ouroboros_process::Status;
use ouroboros_proto::agent::{ConfineStep, Guarantee, Profile, Unconfined};
use ouroboros_sandbox::report::{Failure, Word};
use std::os::unix::fs::MetadataExt;

#[test]
fn what_is_in_force_is_read_back() {
    for way in WAYS {
        let Some(mut desk) = Desk::new(way) else { continue };
        desk.wanted.limits.open_files = Some(77);
        let done =
            desk.shell("ulimit -Hn; ulimit -c; grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status | tr -d '\\t'");
        assert_eq!(done.text(), "77\n0\nNoNewPrivs:1\nSeccomp:2\n");
        let confined = done.confined();
        assert_eq!((confined.seccomp, confined.no_new_privs, confined.view), (2, true, way.view));
        assert_eq!((confined.limits.core, confined.limits.open_files), (Some(0), Some(77)));
        assert_eq!(confined.missing, if way.view { vec![] } else { vec![Guarantee::Modes] });
        assert_eq!(confined.local_sockets, way.view && confined.landlock >= 6);
        assert_eq!(confined.capabilities & !0xfb, 0, "only those on files are left");
        let ours = std::fs::metadata("/proc/self/ns/mnt").unwrap().ino();
        assert_eq!(confined.namespaces.mount != ours, way.view);
    }
}

#[test]
fn what_is_missing_is_named_unless_it_is_accepted() {
    let Some(mut desk) = Desk::new(WAYS[1]) else { return };
    desk.wanted.accept.clear();
    let done = desk.shell("echo ran");
    assert_eq!(*done.refusal(), Unconfined::Missing { guarantees: vec![Guarantee::Modes] });
    assert_eq!((done.stdout.as_str(), done.status), ("", Status::Exited(69)));
}

#[test]
fn a_folder_in_a_hidden_place_is_refused() {
    let Some(mut desk) = Desk::new(WAYS[0]) else { return };
    desk.wanted.folder = desk.path("folder/.keys");
    assert_eq!(*desk.shell("echo ran").refusal(), Unconfined::Hidden);
    desk.wanted.folder = "/".into();
    assert_eq!(*desk.shell("echo ran").refusal(), Unconfined::Failed { step: ConfineStep::Places, errno: 22 });
    desk.wanted.folder = desk.path("nowhere");
    assert_eq!(*desk.shell("echo ran").refusal(), Unconfined::Failed { step: ConfineStep::Places, errno: 2 });
}

#[test]
fn a_program_that_is_not_given_is_not_found() {
    let Some(desk) = Desk::new(WAYS[0]) else { return };
    std::fs::copy("/bin/true", desk.path("outside/program")).unwrap();
    let done = desk.run(&[desk.path("outside/program").to_str().unwrap()]);
    assert!(matches!(done.words.as_slice(), [Word::Confined(_), Word::Failed(Failure::NotFound)]), "{:?}", done.words);
}

#[test]
fn a_command_may_be_given_everything() {
    let Some(mut desk) = Desk::new(WAYS[0]) else { return };
    desk.wanted.profile = Profile::Full;
    let done = desk.shell(&format!("cat {}; ulimit -c", desk.path("outside/file").display()));
    assert_eq!(done.text(), "SECRET0\n");
    let confined = done.confined();
    assert_eq!((confined.landlock, confined.seccomp, confined.no_new_privs, confined.view), (0, 0, true, false));
    assert_eq!(confined.capabilities == 0, !root());
}

#[test]
fn work_in_the_private_directory_itself_is_not_refused() {
    for way in WAYS {
        let Some(mut desk) = Desk::new(way) else { continue };
        let data = desk.path("folder/deep/er/data");
        std::fs::create_dir_all(data.join("attempt/tmp")).unwrap();
        crate::desk::give_away_if(way, &data);
        desk.wanted.scratch = data.join("attempt");
        desk.wanted.folder = data.join("attempt/tmp");
        let done = desk.shell("cat ../../store 2>/dev/null; echo ran > file && cat file");
        assert_eq!(done.stdout, "ran\n", "{way:?} {}", done.stderr);
    }
}

#[test]
fn a_private_directory_may_lie_in_a_hidden_one() {
    for way in WAYS {
        let Some(mut desk) = Desk::new(way) else { continue };
        let data = desk.path("folder/deep/er/data");
        std::fs::create_dir(data.join("attempt")).unwrap();
        crate::desk::give_away_if(way, &data);
        desk.wanted.scratch = data.join("attempt");
        let script = "echo a > $HOME/a && cat $HOME/a; cat ../../store ../store deep/er/data/store 2>/dev/null; true";
        assert_eq!(desk.shell(script).text(), "a\n", "{way:?}");
    }
}
