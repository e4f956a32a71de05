//! What a person at a terminal meets.

use super::program::{Home, skip};
use super::sample::{self, END, TASK, output, started};
use super::server::{Gate, Reply, Server, Step};
use nix::pty::openpty;
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, Termios, tcgetattr};
use nix::unistd::Pid;
use ouroboros_process::{Child, Command, Lead, Program, Spawner, Status, Stdio};
use serde_json::json;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Leads the terminal in the program's place: what is shown and not read yet is lost when the leader leaves, so this one waits for a
/// line after it has told the program's exit.
const LEADER: &str = r#"trap : INT; "$0" "$@"; printf '\036%d\036' $?; read -r _"#;

/// The program on a terminal of its own, and what it showed so far.
pub struct Terminal {
    child: Child,
    keys: File,
    before: Termios,
    pub shown: String,
}

impl Terminal {
    pub fn open(home: &Home, arguments: &[&str], color: bool) -> Option<Self> {
        static SPAWNER: OnceLock<Spawner> = OnceLock::new();
        let spawner = SPAWNER.get_or_init(|| Spawner::start().unwrap());
        let size = nix::pty::Winsize { ws_row: 30, ws_col: 60, ws_xpixel: 0, ws_ypixel: 0 };
        let Ok(pty) = openpty(Some(&size), None) else {
            skip("no pseudo-terminal is to be had");
            return None;
        };
        let mut command = Command::new(Program::Path("/bin/sh".into()));
        command.args =
            ["-c", LEADER, env!("CARGO_BIN_EXE_ouroboros")].iter().chain(arguments).map(Into::into).collect();
        command.env = vec![
            ("OUROBOROS_HOME".into(), home.path().into()),
            ("HOME".into(), home.path().into()),
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("TERM".into(), "xterm".into()),
        ];
        if !color {
            command.env.push(("NO_COLOR".into(), "1".into()));
        }
        let side = || Stdio::Fd(pty.slave.try_clone().unwrap());
        (command.stdin, command.stdout, command.stderr) = (side(), side(), side());
        command.lead = Lead::Terminal;
        let before = tcgetattr(&pty.master).unwrap();
        let child = spawner.spawn(command).unwrap();
        Some(Self { child, keys: File::from(pty.master), before, shown: String::new() })
    }

    /// Waits until this was shown.
    pub fn expect(&mut self, words: &str) {
        self.expect_times(words, 1);
    }

    /// Waits until these words were shown so often.
    #[track_caller]
    pub fn expect_times(&mut self, words: &str, times: usize) {
        while self.shown.matches(words).count() < times {
            assert!(self.read(), "{words:?} was not shown {times} times, but {:?}", self.shown);
        }
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Whether the terminal is as it was at the begin.
    pub fn is_as_before(&self) -> bool {
        tcgetattr(&self.keys).unwrap() == self.before
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) {
        let leader = self.child.pid();
        let children = std::fs::read_to_string(format!("/proc/{leader}/task/{leader}/children")).unwrap();
        kill(Pid::from_raw(children.trim().parse().unwrap()), signal).unwrap();
    }

    /// Whether what is typed is shown.
    fn echoes(&self) -> bool {
        tcgetattr(&self.keys).unwrap().local_flags.contains(LocalFlags::ECHO)
    }

    /// Everything that is shown until its end, and its exit.
    pub fn end(mut self) -> (String, Status) {
        let marked = |shown: &str| shown.split('\x1e').nth(2).is_some();
        while !marked(&self.shown) {
            assert!(self.read(), "it did not come to its end: {:?}", self.shown);
        }
        self.press("\n");
        let (shown, code) = self.shown.split_once('\x1e').unwrap();
        let status = Status::Exited(code.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap());
        let shown = shown.to_owned();
        self.child.wait().unwrap();
        (shown, status)
    }

    /// False when the other side is closed.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4_096];
        match self.keys.read(&mut bytes) {
            Ok(count @ 1..) => {
                self.shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
                true
            }
            _ => false,
        }
    }
}

/// A task that goes on until the gate opens.
fn server(home: &Home, gate: &Gate) -> Server {
    let wait = gate.clone();
    Server::start(home, move |request| match request.line().as_str() {
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        line if line.ends_with("/events") => Reply::events(&[started(2, 1), output(1, "stdout", 0, b"ready\n")])
            .and(Step::Wait(wait.clone()))
            .and_event(&output(1, "stdout", 6, b"more\n"))
            .and_event(END),
        line if line.ends_with("/cancel") => Reply::json(200, &sample::running()),
        line if line == format!("GET /api/tasks/{TASK}") => {
            Reply::json(200, &sample::task("cancelled", &json!({ "cancelled": "requested" }), Some(130)))
        }
        _ => Reply::json(200, &json!({ "tasks": [sample::running(), sample::failed(1)], "next": null })),
    })
}

fn interrupted(home: &Home, gate: &Gate) -> Option<(Server, Terminal)> {
    let server = server(home, gate);
    let mut terminal = Terminal::open(home, &["run", "--", "x"], false)?;
    terminal.expect("ready");
    terminal.press("\x03");
    terminal.expect("[c]ancel");
    Some((server, terminal))
}

fn cancels(server: &Server) -> usize {
    server.lines().iter().filter(|line| line.ends_with("/cancel")).count()
}

#[test]
fn ctrl_c_asks_and_a_second_one_cancels() {
    let (home, gate) = (Home::new(), Gate::default());
    let Some((server, mut terminal)) = interrupted(&home, &gate) else { return };
    assert_eq!(cancels(&server), 0);
    terminal.press("\x03");
    terminal.expect("cancelling task 7");
    gate.open();
    assert_eq!(terminal.end().1, Status::Exited(130));
    assert_eq!(cancels(&server), 1);
}

#[test]
fn the_answer_can_be_to_cancel() {
    let (home, gate) = (Home::new(), Gate::default());
    let Some((server, mut terminal)) = interrupted(&home, &gate) else { return };
    terminal.press("c");
    terminal.expect("cancelling task 7");
    gate.open();
    assert_eq!(terminal.end().1, Status::Exited(130));
    assert_eq!(cancels(&server), 1);
}

#[test]
fn the_answer_can_be_to_detach() {
    let (home, gate) = (Home::new(), Gate::default());
    let Some((server, mut terminal)) = interrupted(&home, &gate) else { return };
    terminal.press("d");
    let (shown, status) = terminal.end();
    assert_eq!(status, Status::Exited(0));
    assert!(shown.contains("task 7 goes on; `ouroboros attach 7`"), "{shown:?}");
    assert_eq!(cancels(&server), 0);
}

#[test]
fn the_answer_can_be_to_go_on() {
    let (home, gate) = (Home::new(), Gate::default());
    let Some((server, mut terminal)) = interrupted(&home, &gate) else { return };
    terminal.press("x");
    gate.open();
    terminal.expect("more");
    terminal.end();
    assert_eq!(cancels(&server), 0);
}

#[test]
fn a_terminal_gets_colours_and_lines_that_fit() {
    let (home, gate) = (Home::new(), Gate::default());
    let _server = server(&home, &gate);
    let Some(terminal) = Terminal::open(&home, &["tasks"], true) else { return };
    let (colored, _) = terminal.end();
    assert!(colored.contains("\x1b["), "{colored:?}");
    let Some(terminal) = Terminal::open(&home, &["tasks"], false) else { return };
    let (plain, _) = terminal.end();
    assert!(!plain.contains('\x1b'), "{plain:?}");
    assert!(plain.lines().all(|line| line.chars().count() <= 60), "{plain}");
}

#[test]
fn a_key_is_typed_unseen() {
    let home = Home::new();
    let server = Server::start(&home, |request| match request.line().as_str() {
        "POST /api/keys" => {
            Reply::json(200, &json!({ "provider": "openai", "found": "kept", "ending": "cret", "set_at": null }))
        }
        _ => Reply::json(200, &sample::keys()),
    });
    let Some(mut terminal) = Terminal::open(&home, &["keys", "set", "openai"], false) else { return };
    terminal.expect("Key for openai: ");
    terminal.press("sk-secret\n");
    let (shown, status) = terminal.end();
    assert_eq!(status, Status::Exited(0), "{shown:?}");
    assert!(!shown.contains("sk-secret") && shown.contains("ends in cret is kept"), "{shown:?}");
    assert_eq!(server.requests()[0].body, json!({ "provider": "openai", "key": "sk-secret" }));
}

#[test]
fn who_calls_a_key_off_sees_what_is_typed_next() {
    let home = Home::new();
    let Some(mut terminal) = Terminal::open(&home, &["keys", "set", "openai"], false) else { return };
    terminal.expect("Key for openai: ");
    assert!(!terminal.echoes());
    terminal.press("\x03");
    terminal.expect("\x1e");
    assert!(terminal.echoes());
    let (shown, status) = terminal.end();
    assert_eq!(status, Status::Exited(130), "{shown:?}");
    assert!(shown.contains("nothing was kept"), "{shown:?}");
}

/// A server whose task writes these pieces.
fn writing(home: &Home, pieces: &[&[u8]]) -> Server {
    let mut stream = vec![started(2, 1)];
    let mut offset = 0;
    for piece in pieces {
        stream.push(output(1, "stdout", offset, piece));
        offset += u64::try_from(piece.len()).unwrap();
    }
    stream.push(END.to_owned());
    Server::start(home, move |request| match request.line().as_str() {
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/models" => Reply::json(200, &sample::models()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        line if line.ends_with("/events") => Reply::events(&stream),
        _ => Reply::json(200, &sample::completed()),
    })
}

#[test]
fn an_answer_ends_its_line_on_a_terminal() {
    let home = Home::new();
    let _server = writing(&home, &[b"Because."]);
    let Some(terminal) = Terminal::open(&home, &["ask", "-q", "Why?"], false) else { return };
    assert_eq!(terminal.end().0, "Because.\r\n");
}

#[test]
fn a_model_cannot_steer_the_terminal_but_a_command_can() {
    let home = Home::new();
    let pieces: [&[u8]; 4] = [b"a\x1b[2Jb\tc\xc2", b"\x9b1m\x7f \xe2\x82", b"\xac\n", b"\x07end\xf0"];
    let _server = writing(&home, &pieces);
    let model = "a\\u{1b}[2Jb\tc\\u{9b}1m\\u{7f} €\r\n\\u{7}end\u{fffd}\r\n";
    for arguments in [&["ask", "-q", "Why?"], &["run", "-q", "say why"]] {
        let Some(terminal) = Terminal::open(&home, arguments, false) else { return };
        assert_eq!(terminal.end().0, model, "{arguments:?}");
        assert_eq!(home.run(arguments).stdout, pieces.concat(), "{arguments:?}");
    }
    let Some(terminal) = Terminal::open(&home, &["run", "-q", "--", "x"], false) else { return };
    let (shown, _) = terminal.end();
    assert!(shown.starts_with("a\x1b[2Jb\tc") && shown.contains("\x07end"), "{shown:?}");
}

#[test]
fn what_the_task_asks_is_asked_here_and_answered_with_a_line() {
    let (home, gate) = (Home::new(), Gate::default());
    let (wait, answered) = (gate.clone(), AtomicBool::new(false));
    let request = json!({ "task": TASK, "number": 7, "request": 3, "attempt": sample::ATTEMPT, "state": "open",
        "asks": { "type": "question", "text": "Which colour?", "options": ["red", "blue"] },
        "asked_at": sample::ago(9), "expires_at": null, "closed_at": null, "answer": null });
    let mut asking = sample::running();
    (asking["kind"], asking["request"]) = (json!("agent"), request.clone());
    let asked =
        sample::event(3, &json!({ "type": "request_opened", "request": 3, "kind": "question", "expires_at": null }));
    let heard = sample::event(4, &json!({ "type": "request_answered", "request": 3, "rule": null }));
    let server = Server::start(&home, move |request_| match request_.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        line if line.ends_with("/answer") => {
            answered.store(true, Ordering::SeqCst);
            gate.open();
            Reply::json(200, &request)
        }
        line if line.ends_with("/events") => {
            Reply::events(&[started(2, 1), asked.clone(), "event: caught_up\ndata: {}\n\n".to_owned()])
                .and(Step::Wait(wait.clone()))
                .and_event(&heard)
                .and_event(&output(1, "stdout", 0, b"Blue it is."))
                .and_event(&sample::settled(5))
                .and_event(END)
        }
        _ if answered.load(Ordering::SeqCst) => Reply::json(200, &sample::completed()),
        _ => Reply::json(200, &asking),
    });
    let Some(mut terminal) = Terminal::open(&home, &["run", "paint the door"], false) else { return };
    terminal.expect("2) blue");
    terminal.expect("answer, a number or words: ");
    terminal.press("\n");
    terminal.expect("an answer has words");
    terminal.press("2\n");
    let (shown, status) = terminal.end();
    assert_eq!(status, Status::Exited(0), "{shown:?}");
    assert!(shown.contains("Blue it is."), "{shown:?}");
    let sent: Vec<_> = server.requests().into_iter().filter(|request| request.line().ends_with("/answer")).collect();
    assert_eq!((sent.len(), &sent[0].body), (1, &json!({ "option": 2 })));
}
