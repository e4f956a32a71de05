//! What tries to get out, from inside: this test program again, confined. Each try says what came of it.

use rustix::io::Errno;
use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::Path;

/// Before each line.
pub const MARK: &str = "TRY ";
/// The root of everything, as a variable.
pub const ROOT: &str = "TRY_ROOT";
/// A process that is none of ours.
pub const VICTIM: &str = "TRY_VICTIM";
/// Its port.
pub const PORT: &str = "TRY_PORT";

fn say(name: &str, result: io::Result<()>) {
    let came = match result {
        Ok(()) => "DONE".to_owned(),
        Err(error) => match error.raw_os_error() {
            Some(errno) => errno.to_string(),
            None => format!("{:?}", error.kind()),
        },
    };
    println!("\n{MARK}{name} {came}");
}

fn call(number: libc::c_long, arguments: [libc::c_long; 5]) -> io::Result<()> {
    let [a, b, c, d, e] = arguments;
    // SAFETY: what is called here is refused, or does nothing to memory with what it is given.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, 0) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn read(path: impl AsRef<Path>) -> io::Result<()> {
    let mut byte = [0; 1];
    fs::File::open(path)?.read_exact(&mut byte)
}

fn write(path: impl AsRef<Path>) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)?.write_all(b"x")
}

fn memory(text: &str) -> (CString, libc::c_long) {
    let text = CString::new(text).unwrap();
    let address = text.as_ptr() as libc::c_long;
    (text, address)
}

#[test]
#[ignore = "what runs confined in other tests"]
fn tries() {
    let Some(root) = std::env::var_os(ROOT) else { return };
    let root = Path::new(&root);
    let victim: i32 = std::env::var(VICTIM).unwrap().parse().unwrap();
    files(root);
    processes(victim);
    sockets(root);
    calls();
    println!("\n{MARK}end END");
}

fn files(root: &Path) {
    let at = |name: &str| root.join(name);
    for (name, path) in [
        ("read-data", "folder/deep/er/data/store"),
        ("read-token", "folder/.keys/token"),
        ("read-hidden-file", "folder/.secret"),
        ("read-through-parent", "folder/sub/../../outside/file"),
        ("read-ssh", "home/.ssh/id"),
        ("read-other-scratch", "scratch-of-another/file"),
        ("read-outside", "outside/file"),
    ] {
        say(name, read(at(path)));
    }
    say("read-shadow", read("/etc/shadow"));
    say("list-root-home", fs::read_dir("/root").and_then(|mut list| list.next().transpose()).and_then(some));
    say("list-hidden", fs::read_dir(at("folder/.keys")).and_then(|mut list| list.next().transpose()).and_then(some));
    say("write-outside", write(at("outside/new")));
    say("write-outside-file", write(at("outside/file")));
    say("write-usr", write("/usr/new"));
    say("write-etc", write("/etc/new"));
    say("write-sys", write("/proc/sys/kernel/core_pattern"));
    say("write-sysrq", write("/proc/sysrq-trigger"));
    say("write-hidden", write(at("folder/.keys/new")));
    say("write-hidden-file", write(at("folder/.secret")));
    let (_held, path) = memory(at("outside/file").to_str().unwrap());
    say("truncate-outside", call(libc::SYS_truncate, [path, 0, 0, 0, 0]));
    say("chmod-outside", fs::set_permissions(at("outside/file"), fs::Permissions::from_mode(0o777)));
    say("link-out", fs::hard_link(at("folder/file"), at("outside/linked")));
    say("link-in", fs::hard_link(at("outside/file"), at("folder/linked")));
    say("rename-out", fs::rename(at("folder/file"), at("outside/moved")));
    say("rename-in", fs::rename(at("outside/file"), at("folder/moved")));
    say("rename-hidden", fs::rename(at("folder/.keys"), at("folder/keys")));
    say("rename-way-to-hidden", fs::rename(at("folder/deep"), at("folder/deeper")));
    say("rename-way-to-hidden-inner", fs::rename(at("folder/deep/er"), at("folder/sub/er")));
    say("remove-hidden", fs::remove_file(at("folder/.secret")));
    let _ = symlink(at("outside"), at("folder/sub/link"));
    say("write-through-link", write(at("folder/sub/link/new")));
    say("read-through-link", read(at("folder/sub/link/file")));
    say("race-link", race(&at("folder/sub")));
    say("device", call(libc::SYS_mknodat, [i64::from(libc::AT_FDCWD), memory("disk").1, 0o060_600, 0x801, 0]));
    say("own-root-link", read(Path::new("/proc/self/root").join(at("outside/file").strip_prefix("/").unwrap())));
}

fn some<T>(entry: Option<T>) -> io::Result<()> {
    entry.map(drop).ok_or_else(|| Errno::NOENT.into())
}

/// A component that is a directory and a way out in turn, while files are written below it.
fn race(sub: &Path) -> io::Result<()> {
    let (real, way_out, name) = (sub.join("real"), sub.join("out"), sub.join("swapped"));
    fs::create_dir(&real)?;
    let _ = symlink(sub.join("../../outside"), &way_out);
    let swapped = name.clone();
    let swapper = std::thread::spawn(move || {
        for _ in 0..2000 {
            let _ = fs::remove_file(&swapped);
            let _ = symlink(&real, &swapped);
            let _ = fs::remove_file(&swapped);
            let _ = symlink(&way_out, &swapped);
        }
    });
    while !swapper.is_finished() {
        let _ = write(name.join("raced"));
    }
    // Whether one got out is seen from outside.
    fs::remove_file(&name)?;
    Err(Errno::ACCESS.into())
}

fn processes(victim: i32) {
    for name in ["environ", "mem", "maps", "fd/0", "root/etc/passwd", "cwd/folder/file", "exe"] {
        say(&format!("victim-{}", name.replace('/', "-")), read(format!("/proc/{victim}/{name}")));
    }
    let parent = rustix::process::getppid().map_or(1, |parent| parent.as_raw_nonzero().get());
    say("worker-environ", read(format!("/proc/{parent}/environ")));
    say("worker-root", read(format!("/proc/{parent}/root/etc/passwd")));
    let number = libc::c_long::from(victim);
    say("ptrace-attach", call(libc::SYS_ptrace, [16, number, 0, 0, 0]));
    say("ptrace-seize", call(libc::SYS_ptrace, [0x4206, number, 0, 0, 0]));
    say("process-vm-readv", call(libc::SYS_process_vm_readv, [number, 0, 0, 0, 0]));
    say("kill", call(libc::SYS_kill, [number, 9, 0, 0, 0]));
    say("kill-worker", call(libc::SYS_kill, [parent.into(), 9, 0, 0, 0]));
    say("tgkill", call(libc::SYS_tgkill, [number, number, 9, 0, 0]));
    // SAFETY: takes no pointer.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, victim, 0) };
    say("pidfd-signal", call(libc::SYS_pidfd_send_signal, [handle, 9, 0, 0, 0]));
    say("pidfd-getfd", call(libc::SYS_pidfd_getfd, [handle, 0, 0, 0, 0]));
    say("setns", call(libc::SYS_setns, [handle, 0x0002_0000, 0, 0, 0]));
    say("kcmp", call(libc::SYS_kcmp, [number, number, 0, 0, 0]));
}

fn sockets(root: &Path) {
    say("socket-by-path", UnixStream::connect(root.join("folder/deep/er/data/socket")).map(drop));
    say("socket-outside", UnixStream::connect(root.join("outside/socket")).map(drop));
    let name = root.as_os_str().as_encoded_bytes();
    say("socket-abstract", SocketAddr::from_abstract_name(name).and_then(|it| UnixStream::connect_addr(&it)).map(drop));
    let send = |pair: io::Result<UnixDatagram>| pair?.send_to(b"x", root.join("outside/datagrams")).map(drop);
    say("datagram-outside", send(UnixDatagram::unbound()));
    say("datagram-of-a-pair", send(UnixDatagram::pair().map(|(one, _)| one)));
    let port: u16 = std::env::var(PORT).unwrap().parse().unwrap();
    say("tcp", TcpStream::connect(("127.0.0.1", port)).map(drop));
    say("udp", UdpSocket::bind("127.0.0.1:0").and_then(|it| it.send_to(b"x", ("127.0.0.1", port))).map(drop));
    say("packet", call(libc::SYS_socket, [17, 3, 0, 0, 0]));
    say("netlink", call(libc::SYS_socket, [16, 3, 9, 0, 0]));
    say("vsock", call(libc::SYS_socket, [40, 1, 0, 0, 0]));
}

fn calls() {
    let tmp = memory("/tmp");
    for (name, flags) in [("user", 0x1000_0000), ("mount", 0x0002_0000), ("net", 0x4000_0000), ("time", 0x80)] {
        say(&format!("unshare-{name}"), call(libc::SYS_unshare, [flags, 0, 0, 0, 0]));
    }
    say("clone-user", call(libc::SYS_clone, [0x1000_0000 | 17, 0, 0, 0, 0]));
    say("clone3", call(libc::SYS_clone3, [0, 0, 0, 0, 0]));
    say("mount", call(libc::SYS_mount, [tmp.1, tmp.1, tmp.1, 0, 0]));
    say("umount", call(libc::SYS_umount2, [tmp.1, 2, 0, 0, 0]));
    say("open-tree", call(libc::SYS_open_tree, [-100, tmp.1, 1, 0, 0]));
    say("pivot-root", call(libc::SYS_pivot_root, [tmp.1, tmp.1, 0, 0, 0]));
    say("chroot", call(libc::SYS_chroot, [tmp.1, 0, 0, 0, 0]));
    say("io-uring", call(libc::SYS_io_uring_setup, [1, 0, 0, 0, 0]));
    say("bpf", call(libc::SYS_bpf, [0, 0, 0, 0, 0]));
    say("perf", call(libc::SYS_perf_event_open, [0, 0, 0, 0, 0]));
    say("userfaultfd", call(libc::SYS_userfaultfd, [0, 0, 0, 0, 0]));
    say("keyctl", call(libc::SYS_keyctl, [0, -3, 0, 0, 0]));
    say("handle", call(libc::SYS_open_by_handle_at, [-100, 0, 0, 0, 0]));
    say("tiocsti", call(libc::SYS_ioctl, [1, 0x5412, tmp.1, 0, 0]));
    say("tiocsti-wide", call(libc::SYS_ioctl, [1, 0x1_0000_5412, tmp.1, 0, 0]));
    say("personality", call(libc::SYS_personality, [0x0040_0000, 0, 0, 0, 0]));
    say("clock", call(libc::SYS_clock_settime, [0, 0, 0, 0, 0]));
    say("hostname", call(libc::SYS_sethostname, [tmp.1, 1, 0, 0, 0]));
    say("unknown-call", call(470, [0; 5]));
    #[cfg(target_arch = "x86_64")]
    say("x32", call(0x4000_0000 + 39, [0; 5]));
    say("setuid-program", elevated());
    say("memfd", confined_from_memory());
}

/// A set-uid copy of a shell's helper, if the mode took, would have another identity or more capabilities.
fn elevated() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned();
    assert_eq!(line("NoNewPrivs:"), "1");
    let output = std::process::Command::new("/usr/bin/su").arg("-c").arg("true").output();
    match output {
        Ok(output) if output.status.success() && !rustix::process::geteuid().is_root() => Ok(()),
        Ok(_) => Err(Errno::PERM.into()),
        Err(error) => Err(error),
    }
}

/// A program without a file is confined like any other.
fn confined_from_memory() -> io::Result<()> {
    let Ok(program) = fs::read("/bin/cat") else { return Err(Errno::NOENT.into()) };
    let memory = rustix::fs::memfd_create(c"cat", rustix::fs::MemfdFlags::empty())?;
    rustix::io::write(&memory, &program)?;
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&memory));
    let outside = Path::new(&std::env::var_os(ROOT).unwrap()).join("outside/file");
    let output = std::process::Command::new(path).arg(outside).output()?;
    if output.status.success() { Ok(()) } else { Err(Errno::ACCESS.into()) }
}
