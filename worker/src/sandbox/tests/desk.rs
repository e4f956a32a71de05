//! A machine in small: a folder, things around it that a command must not reach, and exec mode.

use ouroboros_process::{Child, Command, Lead, Program, Spawner, Status, Stdio};
use ouroboros_proto::agent::{Confined, Guarantee, Profile, Unconfined};
use ouroboros_sandbox::report::{self, Word};
use ouroboros_sandbox::{BARRIER, CONFINEMENT, Confinement, Limits, STATUS, environment};
use rustix::fs::{Gid, OFlags, Uid, chown, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tempfile::TempDir;

/// Ten times what anything here needs.
pub const DEADLINE: Duration = Duration::from_secs(60);
const NOBODY: u32 = 65534;

/// Who runs a command, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// As `nobody` rather than whoever runs the tests; for root only.
    pub unprivileged: bool,
    /// In a view of its own.
    pub view: bool,
    /// Below the init of namespaces of its own, as a worker is.
    pub namespaced: bool,
}

const fn way(unprivileged: bool, view: bool, namespaced: bool) -> Way {
    Way { unprivileged, view, namespaced }
}

pub const WAYS: [Way; 6] = [
    way(false, true, false),
    way(false, false, false),
    way(true, true, false),
    way(true, false, false),
    way(false, true, true),
    way(true, true, true),
];

pub struct Desk {
    pub dir: TempDir,
    pub way: Way,
    pub wanted: Confinement,
}

/// What became of a command.
pub struct Done {
    pub words: Vec<Word>,
    pub status: Status,
    pub stdout: String,
    pub stderr: String,
}

fn spawner() -> &'static Spawner {
    static SPAWNER: OnceLock<Spawner> = OnceLock::new();
    SPAWNER.get_or_init(|| Spawner::start().unwrap())
}

/// Says that something was not tested, or fails where everything has to be.
pub fn skip<T>(why: &str) -> Option<T> {
    assert!(std::env::var_os("OUROBOROS_TEST_STRICT").is_none(), "{why}");
    eprintln!("SKIP {why}");
    None
}

pub fn root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Desk {
    /// `None` where this way cannot be gone here.
    pub fn new(way: Way) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in
            ["folder", "folder/.keys", "folder/sub", "scratch", "scratch-of-another", "outside", "home", "home/.ssh"]
        {
            fs::create_dir(at(name)).unwrap();
        }
        for name in ["folder/.keys/token", "folder/.secret", "scratch-of-another/file", "outside/file", "home/.ssh/id"]
        {
            fs::write(at(name), "SECRET").unwrap();
        }
        fs::create_dir_all(at("folder/deep/er/data")).unwrap();
        fs::write(at("folder/deep/er/data/store"), "SECRET").unwrap();
        fs::write(at("folder/file"), "mine").unwrap();
        let wanted = Confinement {
            profile: Profile::Workspace,
            folder: at("folder"),
            scratch: at("scratch"),
            home: Some(at("home")),
            readable: vec![std::env::current_exe().unwrap()],
            writable: Vec::new(),
            readonly: Vec::new(),
            hidden: ["folder/.keys", "folder/.secret", "folder/deep/er/data", "home/.ssh", "absent"].map(at).to_vec(),
            network: false,
            limits: Limits::default(),
            accept: if way.view { Vec::new() } else { vec![Guarantee::Modes] },
            without_view: !way.view,
        };
        let desk = Self { dir, way, wanted };
        if way.unprivileged {
            // Who is no root is somebody already.
            if !root() {
                return None;
            }
            if !Path::new("/usr/bin/setpriv").exists() {
                return skip("becoming nobody needs setpriv");
            }
            give_away(desk.dir.path());
        }
        if way.namespaced && !Path::new("/usr/bin/unshare").exists() {
            return skip("namespaces around need unshare");
        }
        if !desk.is_possible() {
            return skip("this kernel does not hold what a command is to be kept from");
        }
        Some(desk)
    }

    /// Whether a command can be confined this way here at all.
    fn is_possible(&self) -> bool {
        static KNOWN: Mutex<Vec<(Way, bool)>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap();
        if let Some((_, possible)) = known.iter().find(|(way, _)| *way == self.way) {
            return *possible;
        }
        let words = self.run(&["/bin/true"]).words;
        let possible = !matches!(words.as_slice(), [Word::Unconfined(Unconfined::Missing { .. })]);
        known.push((self.way, possible));
        possible
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts a program the way a worker does, behind its barrier.
    pub fn begin(&self, argv: &[&str], more: &[(&str, &str)]) -> Begun {
        let given = ["PATH", "LANG", "USER"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()));
        let mut env = environment(&given, &self.wanted);
        env.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let cwd = self.wanted.folder.display().to_string();
        let worker = env!("CARGO_BIN_EXE_ouroboros-worker");
        let mut words: Vec<&str> = Vec::new();
        if self.way.unprivileged {
            words.extend(["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        let parent = std::process::id().to_string();
        if self.way.namespaced {
            words.extend(["/usr/bin/unshare", "--map-current-user", "--pid", "--mount-proc", "--fork", "--kill-child"]);
            // Its first process starts what comes and waits for it.
            words.extend(["/usr/bin/timeout", "1000", worker, "exec", "1", "c", &cwd]);
        } else {
            words.extend([worker, "exec", &parent, "c", &cwd]);
        }
        words.extend(argv);
        let (barrier_reader, barrier) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let (status, status_writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let (stdout, stdout_writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let (stderr, stderr_writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        if self.way.unprivileged {
            for stream in [&stdout_writer, &stderr_writer] {
                rustix::fs::fchown(stream, Some(Uid::from_raw(NOBODY)), None).unwrap();
            }
        }
        let mut command = Command::new(Program::Path(words.remove(0).into()));
        command.args = words.into_iter().map(Into::into).collect();
        command.env = env.into_iter().map(|(name, value)| (format!(".{name}").into(), value.into())).collect();
        command.stdout = Stdio::Fd(stdout_writer);
        command.stderr = Stdio::Fd(stderr_writer);
        command.inherit =
            vec![(barrier_reader, BARRIER), (status_writer, STATUS), (self.wanted.hand_over().unwrap(), CONFINEMENT)];
        command.lead = Lead::Session;
        let child = spawner().spawn(command).unwrap();
        Begun { child, barrier, status, stdout, stderr }
    }

    pub fn run(&self, argv: &[&str]) -> Done {
        self.begin(argv, &[]).finish()
    }

    pub fn shell(&self, script: &str) -> Done {
        self.run(&["/bin/sh", "-c", script])
    }
}

pub struct Begun {
    pub child: Child,
    pub barrier: OwnedFd,
    status: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Begun {
    /// Opens the barrier and waits for the end.
    pub fn finish(self) -> Done {
        // It may have refused already.
        let _ = rustix::io::write(&self.barrier, &[1]);
        let errors = std::thread::spawn(move || read(self.stderr));
        let stdout = read(self.stdout);
        let stderr = errors.join().unwrap();
        assert!(self.child.pidfd().wait_dead(DEADLINE), "it does not end");
        let status = self.child.wait().unwrap().status;
        fcntl_setfl(&self.status, OFlags::NONBLOCK).unwrap();
        Done { words: report::read(&self.status), status, stdout, stderr }
    }
}

impl Done {
    pub fn confined(&self) -> &Confined {
        match self.words.as_slice() {
            [Word::Confined(confined)] => confined,
            other => panic!("{other:?} {}", self.stderr),
        }
    }

    pub fn refusal(&self) -> &Unconfined {
        match self.words.as_slice() {
            [Word::Unconfined(why)] => why,
            other => panic!("{other:?} {}", self.stderr),
        }
    }

    /// What it wrote; it ended well.
    #[track_caller]
    pub fn text(&self) -> &str {
        self.confined();
        assert_eq!(self.status, Status::Exited(0), "{} {}", self.stdout, self.stderr);
        &self.stdout
    }
}

fn read(from: OwnedFd) -> String {
    let mut bytes = Vec::new();
    File::from(from).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Makes everything in it nobody's.
pub fn give_away(path: &Path) {
    chown(path, Some(Uid::from_raw(NOBODY)), Some(Gid::from_raw(NOBODY))).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

pub fn give_away_if(way: Way, path: &Path) {
    if way.unprivileged {
        give_away(path);
    }
}
