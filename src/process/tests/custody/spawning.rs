//! What a started process is given, and what it is told when it does not start.

use crate::support::{DEADLINE, custodian, have_namespaces, spawner, start, zoo};
use ouroboros_process::{Command, Lead, Program, Signal, SpawnError, Status, Stdio, pty};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

fn shell(script: &str) -> Command {
    Command { args: vec!["-c".into(), script.into()], ..Command::new(Program::Path("/bin/sh".into())) }
}

/// Runs it to its end and returns what it wrote.
fn output(command: Command) -> String {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let child = spawner().spawn(Command { stdout: Stdio::Fd(writer), ..command }).unwrap();
    let mut text = String::new();
    File::from(reader).read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().status, Status::Exited(0), "{text}");
    text
}

#[test]
fn environment_directory_mask_and_group_are_exactly_those_given() {
    let env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("A".into(), "b c".into())];
    let command = Command {
        env,
        cwd: Some("/usr".into()),
        umask: Some(0o027),
        ..shell("env | grep -v '^_=\\|^PWD=\\|^SHLVL=' | sort; pwd; umask; ps -o pgid= -p $$ | tr -d ' '; echo $$")
    };
    let text = output(command);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..4], ["A=b c", "PATH=/usr/bin:/bin", "/usr", "0027"], "{text}");
    assert_eq!(lines[4], lines[5], "it leads its group");
}

#[test]
fn no_other_descriptor_is_inherited() {
    let leak = File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let text = output(Command { inherit: vec![(reader, 9), (writer, 5)], ..shell("cd /proc/$$/fd && echo *") });
    // 3, the lowest free one, is the shell's own while it lists.
    assert_eq!(text.trim(), "0 1 2 3 5 9");
}

#[test]
fn descriptors_may_trade_places() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for name in ["a", "b", "c", "d"] {
        std::fs::write(dir.path().join(name), name).unwrap();
        files.push(std::os::fd::OwnedFd::from(File::open(dir.path().join(name)).unwrap()));
    }
    let numbers: Vec<i32> = files.iter().map(std::os::fd::AsRawFd::as_raw_fd).collect();
    let rotated = [numbers[1], numbers[2], numbers[3], numbers[0]];
    let script = rotated.map(|number| format!("cat /proc/self/fd/{number}")).join(";");
    let inherit = files.into_iter().zip(rotated).collect();
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    assert_eq!(output(Command { inherit, env, ..shell(&script) }), "abcd");
}

#[test]
fn ignored_and_blocked_signals_are_not_passed_on() {
    // The runtime of this very test ignores SIGPIPE, and the spawning thread blocks everything.
    let text = output(Command {
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        ..shell("grep -E '^Sig(Blk|Ign)' /proc/self/status")
    });
    for line in text.lines() {
        assert!(line.ends_with("0000000000000000"), "{text}");
    }
}

#[test]
fn failures_are_told_apart() {
    let fail = |command: Command| spawner().spawn(command).unwrap_err();
    let path = |path: &str| Command::new(Program::Path(path.into()));
    assert_eq!(fail(path("/nonexistent/program")), SpawnError::NotFound);
    assert!(matches!(fail(path("/etc/passwd")), SpawnError::NotExecutable { errno: libc::EACCES }));
    let dir = tempfile::tempdir().unwrap();
    let noise = dir.path().join("noise");
    std::fs::write(&noise, b"\x01\x02no program").unwrap();
    std::fs::set_permissions(&noise, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(fail(path(noise.to_str().unwrap())), SpawnError::NotExecutable { errno: libc::ENOEXEC }));
    let gone = Command { cwd: Some("/nonexistent".into()), ..shell("true") };
    assert!(matches!(fail(gone), SpawnError::BadDirectory { errno: libc::ENOENT }));
    let large = Command { args: vec!["x".repeat(10 << 20).into()], ..shell("true") };
    assert!(matches!(fail(large), SpawnError::NotExecutable { errno: libc::E2BIG }));
    assert!(matches!(fail(shell("a\0b")), SpawnError::Invalid(_)));
    let twice = (File::open("/dev/null").unwrap().into(), 2);
    assert!(matches!(fail(Command { inherit: vec![twice], ..shell("true") }), SpawnError::Invalid(_)));
    if have_namespaces() {
        let inside = Command { namespaces: true, ..path("/nonexistent/program") };
        assert_eq!(fail(inside), SpawnError::NotFound);
    }
}

#[test]
fn exits_and_signals_are_told_apart_with_their_usage() {
    let code = start(&[&zoo(), "exit-code", "7"], false).finish();
    assert_eq!(code.status, Status::Exited(7));
    assert!(code.usage.max_resident_bytes > 0);
    let signal = start(&[&zoo(), "kill-self", "15"], false).finish();
    assert_eq!(signal.status, Status::Signaled { signal: 15, core: false });
    let mut memory = start(&[&zoo(), "fill-memory", "67108864"], false);
    memory.line();
    memory.child.kill_group(Signal::KILL).unwrap();
    assert!(memory.finish().usage.max_resident_bytes >= 67_108_864);
}

#[test]
fn an_opened_program_runs_although_its_file_was_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("program");
    std::fs::copy(zoo(), &path).unwrap();
    let opened = Arc::new(std::os::fd::OwnedFd::from(File::open(&path).unwrap()));
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "not a program").unwrap();
    for namespaces in [false, true] {
        if namespaces && !have_namespaces() {
            continue;
        }
        let text = output(Command {
            arg0: Some("zoo".into()),
            args: vec!["exit-at-once".into()],
            namespaces,
            ..Command::new(Program::Fd(Arc::clone(&opened)))
        });
        assert!(text.starts_with("ready "), "{text}");
    }
}

#[test]
fn a_namespaced_child_is_number_one_with_its_own_proc() {
    if !have_namespaces() {
        return;
    }
    let script = "echo $$; cd /proc; echo [0-9]*; id -u; grep -c . /proc/mounts >/dev/null && echo mounted";
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let text = output(Command { env, namespaces: true, ..shell(script) });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "1");
    assert_eq!(lines[1], "1", "only itself is in its /proc");
    assert_eq!(lines[2], rustix::process::geteuid().as_raw().to_string());
    assert_eq!(lines[3], "mounted");
    // The fresh mount stayed inside.
    assert!(ouroboros_process::identity::of_self().is_ok());
}

#[test]
fn a_namespaced_child_dies_with_its_spawner() {
    if !have_namespaces() {
        return;
    }
    let shape = crate::support::Shape::new(&["ignore-term"]);
    let mut outer = start(&shape.after(&[custodian(), "hold", "--no-subreaper", "--namespaces", "--"]), false);
    let line = outer.line();
    let pid: i32 = line.split(' ').next_back().unwrap().parse().unwrap();
    let inner = ouroboros_process::PidFd::open(pid).unwrap().unwrap();
    outer.child.pidfd().signal(Signal::KILL).unwrap();
    assert!(inner.wait_dead(DEADLINE));
    shape.assert_gone();
    outer.finish();
}

#[test]
fn dropped_handles_leave_no_zombie() {
    let mut identities = Vec::new();
    for _ in 0..200 {
        let child = spawner().spawn(shell("true")).unwrap();
        identities.push(child.identity().clone());
    }
    let begun = ouroboros_proto::kind::clock::boot();
    for identity in identities {
        while ouroboros_process::identity::read(identity.pid).unwrap().is_some_and(|other| other.same(&identity)) {
            assert!(
                ouroboros_proto::kind::clock::boot().since(begun).duration() < DEADLINE,
                "{identity:?} is still there"
            );
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_terminal_is_the_childs_own() {
    let pty = pty::open(100, 30).unwrap();
    let stream = || Stdio::Fd(pty.slave.try_clone().unwrap());
    let command = Command {
        args: vec!["open-tty".into()],
        stdin: stream(),
        stdout: stream(),
        lead: Lead::Terminal,
        ..Command::new(Program::Path(zoo().into()))
    };
    let child = spawner().spawn(command).unwrap();
    assert_eq!(child.wait().unwrap().status, Status::Exited(0));
    drop(pty.slave);
    let mut text = Vec::new();
    // A terminal without another end fails with EIO after its last byte.
    let _ = File::from(pty.master).read_to_end(&mut text);
    assert!(String::from_utf8_lossy(&text).contains("tty yes"), "{text:?}");

    let mut without = start(&[&zoo(), "open-tty"], false);
    without.line();
    let session =
        Command { args: vec!["open-tty".into()], lead: Lead::Session, ..Command::new(Program::Path(zoo().into())) };
    assert!(output(session).contains("tty no"));
    without.finish();
}
