//! A conversation on a terminal: asked, spoken to, stopped, gone on from, and taken back.

use super::agent::{entries, folder, kinds, start};
use super::rig::{PRICED, Rig};
use nix::pty::openpty;
use serde_json::json;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::process::Child;
use std::sync::{Arc, Mutex};
use support::until;

/// The chat on a terminal of its own.
struct Chat {
    child: Child,
    keys: File,
    shown: Arc<Mutex<String>>,
}

impl Chat {
    #[track_caller]
    fn open(rig: &Rig, options: &[&str]) -> Self {
        let folder = folder(rig);
        let size = nix::pty::Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let side = || std::process::Stdio::from(pty.slave.try_clone().unwrap());
        let mut command = rig.home.command(support::program("ouroboros"));
        command.arg("chat").args(options).current_dir(&folder).env("TERM", "xterm").env("NO_COLOR", "1");
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        let keys = File::from(pty.master);
        let (mut screen, shown) = (keys.try_clone().unwrap(), Arc::new(Mutex::new(String::new())));
        let into = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                into.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keys, shown }
    }

    /// Waits until this is shown; what was shown until then is not looked at again.
    #[track_caller]
    fn expect(&self, words: &str) {
        until(&format!("{words:?} is shown"), || {
            let mut shown = self.shown.lock().unwrap();
            let end = shown.find(words)? + words.len();
            shown.drain(..end);
            Some(())
        });
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    #[track_caller]
    fn end(mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap()
    }
}

const SCRIPT: &str = "[[rule]]\nmatch = { nth = 1 }\nsay = 'I write.'\n\
    call = { tool = 'write_file', arguments = '{\"path\":\"note.txt\",\"content\":\"Hello\\n\"}' }\n\
    [[rule]]\nmatch = { last = 'shorter' }\nsay = 'Oslo.'\n\
    [[rule]]\nmatch = { last = 'now this' }\nsay = 'With that.'\n\
    [[rule]]\nmatch = { last = 'think long' }\nstall_before_ms = 'forever'\n\
    [[rule]]\nsay = 'The note is written.'\n";

#[test]
fn a_conversation_goes_over_several_tasks_and_can_be_stopped_and_left() {
    let rig = start(&format!("{PRICED}{SCRIPT}"));
    let mut chat = Chat::open(&rig, &["--mode", "light"]);
    chat.expect("/help lists");
    chat.press("write a note\r");
    chat.expect("I write.");
    chat.expect("The note is written.");
    chat.expect("in,");
    chat.press("/diff\r");
    chat.expect("+Hello");
    chat.press("/undo\r");
    chat.expect("note.txt");
    until("the note is taken back", || (!folder(&rig).join("note.txt").exists()).then_some(()));
    chat.press("shorter\r");
    chat.expect("Oslo.");
    chat.expect("in,");
    chat.press("think long\r");
    rig.home.begins("3");
    until("the model is asked", || {
        rig.task("3")["sends"].as_array().is_some_and(|sends| !sends.is_empty()).then_some(())
    });
    chat.press("\x03");
    chat.expect("it waits for what you say");
    chat.press("now this\r");
    chat.expect("With that.");
    chat.expect("in,");
    chat.press("\x04");
    assert_eq!(chat.end(), 0);
    assert_eq!(rig.task("2")["from"]["number"], 1);
    assert_eq!(rig.task("3")["from"]["number"], 2);
    assert!(kinds(&entries(&rig, "3")).contains(&"said"), "{:?}", entries(&rig, "3"));
    assert!(fs::read_to_string(rig.home.data().join("chat.history")).unwrap().contains("think long"));
    let mut again = Chat::open(&rig, &["--last"]);
    again.expect("task 3: ");
    again.press("think long\r");
    rig.home.begins("4");
    again.press("/quit\r");
    again.expect("task 4 goes on");
    assert_eq!(again.end(), 0);
    assert_eq!(rig.task("4")["status"], "running");
    rig.call("POST", "/api/tasks/4/cancel", &json!({}));
    rig.reaches("4", "cancelled");
}
