//! What several scenarios need beside an installation: surroundings of their own, refused starts, bare requests.

use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use support::{Home, Ran, program, until};

/// Names the test that runs in surroundings of its own.
const APART: &str = "OUROBOROS_TEST_APART";

/// Root of a user namespace with mounts of its own.
pub const NAMESPACE: &[&str] = &["unshare", "--user", "--map-root-user", "--mount"];

/// Says that a test cannot run here.
pub fn skip(reason: &str) {
    eprintln!("SKIP {reason}");
    assert!(std::env::var_os("OUROBOROS_TEST_STRICT").is_none(), "{reason}");
}

/// Runs this very test again through `how`; true in that second run. Where `how` does not work the test is skipped.
pub fn apart(test: &str, how: &[&str]) -> bool {
    if std::env::var(APART).is_ok_and(|name| name == test) {
        return true;
    }
    let own = std::env::current_exe().unwrap();
    let probed = Command::new(how[0]).args(&how[1..]).args(["test", "-x"]).arg(&own).output();
    if !probed.is_ok_and(|probed| probed.status.success()) {
        skip(&format!("this machine does not allow `{}`", how.join(" ")));
        return false;
    }
    let ran = Command::new(how[0])
        .args(&how[1..])
        .arg(&own)
        .args(["--exact", test, "--nocapture"])
        .env(APART, test)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.contains("1 passed"), "{out}{err}");
    false
}

/// As [`apart`], as a user who has nothing to do with any other process; directly when we are not root.
pub fn unprivileged(test: &str, user: &str) -> bool {
    if !nix::unistd::geteuid().is_root() {
        return true;
    }
    let (user, group) = (format!("--reuid={user}"), format!("--regid={user}"));
    apart(test, &["setpriv", &user, &group, "--clear-groups", "--no-new-privs"])
}

/// Starts the launcher, which must end by itself.
#[track_caller]
pub fn refused(home: &Home) -> Ran {
    let mut command = home.command(program("ouroboros"));
    command.arg("up");
    ends(command)
}

/// Runs a program to its end, within the deadline.
#[track_caller]
pub fn ends(mut command: Command) -> Ran {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = Ending::of(command.spawn().unwrap());
    child.ran()
}

/// A program that is expected to end; it is killed when that fails.
pub struct Ending(Option<Child>);

impl Ending {
    /// Takes over a program whose output is piped.
    pub fn of(child: Child) -> Self {
        Self(Some(child))
    }

    /// Its process number.
    pub fn pid(&self) -> i32 {
        self.0.as_ref().unwrap().id().cast_signed()
    }

    /// Whether it has ended.
    pub fn is_over(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    /// What it came to. Its output must fit a pipe.
    #[track_caller]
    pub fn ran(mut self) -> Ran {
        use std::os::unix::process::ExitStatusExt as _;
        until("the program ends", || self.is_over().then_some(()));
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap()),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What the server answered: status and body. `None` when it could not be reached or went away meanwhile.
pub fn request(home: &Home, method: &str, path: &str, body: &[u8]) -> Option<(u16, Value)> {
    exchange(home, &format!("{method} {path} HTTP/1.1\r\nContent-Type: application/json\r\n"), body)
}

/// What the server answered when a part of something was asked for.
pub fn ranged(home: &Home, path: &str, range: &str) -> Option<(u16, Value)> {
    exchange(home, &format!("GET {path} HTTP/1.1\r\nRange: {range}\r\n"), b"")
}

/// What stands there, whatever it is. Its headers are part of it.
pub fn bytes(home: &Home, path: &str) -> Option<(u16, Vec<u8>)> {
    let answer = answer(home, &format!("GET {path} HTTP/1.1\r\n"), b"")?;
    let status = String::from_utf8_lossy(answer.get(..12)?).split(' ').nth(1)?.parse().ok()?;
    Some((status, answer))
}

fn exchange(home: &Home, head: &str, body: &[u8]) -> Option<(u16, Value)> {
    let text = String::from_utf8(answer(home, head, body)?).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    let document = body.get(body.find('{')?..=body.rfind('}')?)?;
    Some((status, serde_json::from_str(document).ok()?))
}

fn answer(home: &Home, head: &str, body: &[u8]) -> Option<Vec<u8>> {
    let head = format!("{head}Host: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut stream = UnixStream::connect(socket(home)?).ok()?;
    stream.set_read_timeout(Some(support::DEADLINE)).unwrap();
    stream.write_all(head.as_bytes()).ok()?;
    // Too large a body is answered before all of it is read.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(count) if count > 0 => answer.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => break,
        }
    }
    Some(answer)
}

fn socket(home: &Home) -> Option<std::path::PathBuf> {
    let path = home.data().join("run").join("api.sock");
    let beside = home.data().join("api.sock");
    [path, beside].into_iter().find(|path| path.exists())
}

/// The code of a refusal.
pub fn code(answer: &Option<(u16, Value)>) -> &str {
    answer.as_ref().and_then(|(_, body)| body["code"].as_str()).unwrap_or("")
}

/// Numbers of all tasks that are kept.
#[track_caller]
pub fn numbers(home: &Home) -> Vec<String> {
    let mut numbers = Vec::new();
    let listed = home.run(&["tasks", "--json", "--limit", "1000"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    collect(&listed.json(), &mut numbers);
    numbers
}

fn collect(value: &Value, numbers: &mut Vec<String>) {
    if let Value::Array(items) = value {
        numbers.extend(items.iter().filter_map(|item| Some(item.get("number")?.as_u64()?.to_string())));
    }
    if let Value::Object(map) = value {
        for inner in map.values() {
            collect(inner, numbers);
        }
    }
}

/// How often each word stands in a file of the tasks' directory.
pub fn count(home: &Home, file: &str, word: &str) -> usize {
    let text = std::fs::read_to_string(home.work().join(file)).unwrap_or_default();
    text.lines().filter(|line| *line == word).count()
}

/// The workers, busy or spare.
pub fn workers(home: &Home) -> Vec<i32> {
    home.alive()
        .into_iter()
        .filter(|found| found.command.contains("ouroboros-worker serve"))
        .map(|found| found.pid)
        .collect()
}

/// The files below a directory.
pub fn walk(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries
        .flatten()
        .flat_map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { vec![entry.path()] })
        .collect()
}

/// The files of attempts whose name ends so.
pub fn kept(home: &Home, ending: &str) -> Vec<PathBuf> {
    let files = walk(&home.data().join("output")).into_iter();
    files.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

/// The names of the alarms.
pub fn alarms(home: &Home) -> Vec<String> {
    let Ok(status) = serde_json::from_str::<Value>(&home.run(&["status", "--json"]).out) else { return Vec::new() };
    let alarms = status["alarms"].as_array().cloned().unwrap_or_default();
    alarms.iter().filter_map(|alarm| Some(alarm["code"].as_str()?.to_owned())).collect()
}

/// A process that has nothing to do with us.
pub struct Stranger(Child);

impl Stranger {
    /// Starts one.
    pub fn new() -> Self {
        Self(Command::new("sleep").arg("1000").env_clear().current_dir("/").spawn().unwrap())
    }

    /// Its process number.
    pub fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }

    /// Whether it lives.
    pub fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Copies the three programs to a directory.
pub fn install(to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for name in ["ouroboros", "ouroboros-server", "ouroboros-worker"] {
        // As an installer does: whoever runs the old file keeps it.
        let fresh = to.join(format!("{name}.new"));
        std::fs::copy(program(name), &fresh).unwrap();
        std::fs::rename(fresh, to.join(name)).unwrap();
    }
}
