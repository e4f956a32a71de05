//! No try succeeds, in no way of running.

use crate::desk::{Desk, WAYS, Way, give_away, give_away_if};
use crate::inside::{MARK, PORT, ROOT, VICTIM};
use ouroboros_proto::agent::{ConfineStep, Unconfined};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Command, Stdio};

#[test]
fn nothing_gets_out_of_a_view() {
    tries(WAYS[0]);
}

#[test]
fn nothing_gets_out_without_a_view() {
    tries(WAYS[1]);
}

#[test]
fn nothing_of_a_user_gets_out_of_a_view() {
    tries(WAYS[2]);
}

#[test]
fn nothing_of_a_user_gets_out_without_a_view() {
    tries(WAYS[3]);
}

#[test]
fn nothing_gets_out_below_an_init() {
    tries(WAYS[4]);
    tries(WAYS[5]);
}

fn tries(way: Way) {
    let Some(desk) = Desk::new(way) else { return };
    let root = desk.dir.path();
    let listeners = [
        UnixListener::bind(root.join("folder/deep/er/data/socket")).unwrap(),
        UnixListener::bind(root.join("outside/socket")).unwrap(),
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(root.as_os_str().as_encoded_bytes()).unwrap()).unwrap(),
    ];
    let datagrams = UnixDatagram::bind(root.join("outside/datagrams")).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    if way.unprivileged {
        give_away(root);
    }
    // Of the same user, as a server is.
    let mut victim = Command::new(if way.unprivileged { "setpriv" } else { "env" });
    if way.unprivileged {
        victim.args(["--reuid=65534", "--regid=65534", "--clear-groups", "env"]);
    }
    let mut victim = victim.arg("TOKEN=SECRET").args(["cat"]).current_dir(root).stdin(Stdio::piped()).spawn().unwrap();

    let program = std::env::current_exe().unwrap().display().to_string();
    let root_text = root.display().to_string();
    let (number, port) = (victim.id().to_string(), port.to_string());
    let argv = [program.as_str(), "--exact", "inside::tries", "--ignored", "--nocapture", "--test-threads=1"];
    let done = desk.begin(&argv, &[(ROOT, &root_text), (VICTIM, &number), (PORT, &port)]).finish();
    let tries: BTreeMap<&str, &str> =
        done.text().lines().filter_map(|line| line.strip_prefix(MARK)?.split_once(' ')).collect();
    assert!(tries.len() > 80 && tries.contains_key("end"), "{} {}", done.stdout, done.stderr);
    let got_out: Vec<_> = tries.iter().filter(|(_, came)| **came == "DONE").map(|(name, _)| *name).collect();
    let modes = !way.view;
    assert_eq!(got_out, if modes { vec!["chmod-outside"] } else { Vec::new() }, "{way:?}");
    for (name, came) in [("clone3", "38"), ("io-uring", "38"), ("unshare-user", "1"), ("tcp", "1")] {
        assert_eq!(tries[name], came, "{name}");
    }

    // What is seen from outside.
    assert!(victim.try_wait().unwrap().is_none(), "it was killed");
    victim.kill().unwrap();
    victim.wait().unwrap();
    for listener in listeners {
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    datagrams.set_nonblocking(true).unwrap();
    assert_eq!(datagrams.recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    tcp.set_nonblocking(true).unwrap();
    assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    udp.set_nonblocking(true).unwrap();
    assert_eq!(udp.recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    for name in ["folder/.keys/token", "folder/.secret", "outside/file", "folder/deep/er/data/store", "home/.ssh/id"] {
        assert_eq!(fs::read_to_string(desk.path(name)).unwrap(), "SECRET", "{name}");
    }
    let mut left: Vec<_> =
        fs::read_dir(desk.path("outside")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["datagrams", "file", "socket"]);
    if way.view {
        assert_ne!(fs::metadata(desk.path("outside/file")).unwrap().permissions().mode() & 0o777, 0o777);
    }
    assert_eq!(fs::read_to_string(desk.path("folder/file")).unwrap(), "mine");
}

#[test]
fn variables_of_the_loader_do_not_act_on_exec_mode() {
    let Some(desk) = Desk::new(WAYS[0]) else { return };
    let done = desk.begin(&["/bin/true"], &[("LD_PRELOAD", "/no/such/library.so")]).finish();
    done.text();
    assert_eq!(done.stderr.matches("library.so").count(), 1, "{}", done.stderr);
}

#[test]
fn a_readonly_folder_is_not_written() {
    for way in WAYS {
        let Some(mut desk) = Desk::new(way) else { continue };
        desk.wanted.profile = ouroboros_proto::agent::Profile::Readonly;
        let done =
            desk.shell("cat file; echo x > file; echo y > new; mkdir dir; rm file; echo z > $TMPDIR/z; cat $TMPDIR/z");
        assert_eq!(done.text(), "minez\n", "{way:?} {}", done.stderr);
        assert_eq!(fs::read_to_string(desk.path("folder/file")).unwrap(), "mine");
        assert!(!desk.path("folder/new").exists() && !desk.path("folder/dir").exists());
    }
}

#[test]
fn a_command_does_not_widen_what_the_next_one_is_given() {
    for way in WAYS {
        let Some(mut desk) = Desk::new(way) else { continue };
        let outside = desk.path("outside");
        desk.wanted.hidden.clear();
        fs::create_dir(desk.path("folder/more")).unwrap();
        give_away_if(way, &desk.path("folder/more"));
        desk.wanted.writable = vec![desk.path("folder/more")];
        desk.wanted.home = Some(desk.path("folder"));
        let links = format!("rm -r more && ln -s {0} more && ln -s {0} .nvm && ln -s {0} sub/l", outside.display());
        desk.shell(&links).text();
        let look = "cat more/file .nvm/file sub/l/file; echo x > more/new; echo x > sub/l/new; true";
        assert_eq!(desk.shell(look).text(), "", "{way:?}");

        desk.shell(&format!("mv $TMPDIR $HOME/old && ln -s {} $TMPDIR", outside.display())).text();
        assert!(matches!(desk.shell("cat /tmp/file").refusal(), Unconfined::Failed { step: ConfineStep::Places, .. }));
        assert_eq!(fs::read_dir(outside).unwrap().count(), 1, "{way:?}");
    }
}
