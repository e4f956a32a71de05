//! What a command is for still works.

use crate::desk::{Desk, WAYS, give_away, skip};
use ouroboros_process::Status;
use std::fs;

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|dir| dir.starts_with("/usr") && dir.join(program).exists());
    there || skip(&format!("no {program} here")).unwrap_or(false)
}

/// In each way; the script ends well and writes this.
fn everywhere(script: &str, expected: &str) {
    for way in WAYS {
        let Some(mut desk) = Desk::new(way) else { continue };
        desk.wanted.hidden.clear();
        assert_eq!(desk.shell(script).text(), expected, "{way:?}: {script}");
    }
}

#[test]
fn shells_pipes_and_files() {
    everywhere("echo a b | tr ' ' '\\n' | sort -r | head -1 && echo x > /dev/null && cat < /dev/null", "b\n");
    everywhere("echo new > new && mv new sub/moved && cat sub/moved && rm sub/moved && ls sub | wc -l", "new\n0\n");
    everywhere("echo t > $(mktemp) && ls $TMPDIR/tmp.* | wc -l && touch $HOME/x && ls $HOME", "1\nx\n");
    everywhere("head -c 4 /dev/urandom | wc -c && head -c 4 /dev/zero | wc -c", "4\n4\n");
    everywhere(
        "printf '#!/bin/sh\\necho ran\\n' > sub/p && chmod +x sub/p && sub/p && ln -s p sub/l && sub/l",
        "ran\nran\n",
    );
    everywhere("test -r /proc/self/status && test -r /proc/$$/cmdline && ls /proc/self/fd | wc -l", "4\n");
    everywhere("echo out > /dev/stdout && echo err > /dev/stderr && ps > /dev/null", "out\n");
    everywhere("sleep 100 & kill $! && wait $!; echo $?", "143\n");
}

#[test]
fn beside_what_is_hidden() {
    let script = "cat file && echo more >> file && echo x > sub/new && cat sub/new && cat .secret";
    for way in WAYS {
        let Some(desk) = Desk::new(way) else { continue };
        let done = desk.shell(script);
        assert_eq!(done.stdout, "minex\n", "{way:?} {}", done.stderr);
        let new = desk.shell("echo x > new");
        // Where nothing covers what is hidden, nothing can be made beside it.
        assert_eq!(new.status == Status::Exited(0), way.view, "{way:?}");
    }
}

#[test]
fn temporary_files_of_programs_that_do_not_ask_are_its_own() {
    let Some(desk) = Desk::new(WAYS[0]) else { return };
    assert_eq!(
        desk.shell("echo x > /tmp/own && cat $TMPDIR/own && echo y > /var/tmp/z && cat /tmp/z").text(),
        "x\ny\n"
    );
    assert_eq!(fs::read_to_string(desk.path("scratch/tmp/own")).unwrap(), "x\n");
}

#[test]
fn compilers() {
    if !is_there("cc") {
        return;
    }
    everywhere("printf '#include <stdio.h>\\nint main(){puts(\"built\");}' > m.c && cc -o m m.c && ./m", "built\n");
}

#[test]
fn repositories() {
    if !is_there("git") {
        return;
    }
    let script = "cd sub && git init -q . && git config user.email a@b && git config user.name n && echo 1 > f && \
                  git add f && git commit -qm one && git log --format=%s && git status --short";
    everywhere(script, "one\n");
}

#[test]
fn interpreters() {
    if !is_there("python3") {
        return;
    }
    everywhere(
        "python3 -c 'import subprocess,socket,tempfile;socket.socketpair();print(subprocess.run([\"echo\",\"x\"]).returncode)'",
        "x\n0\n",
    );
    let Some(desk) = Desk::new(WAYS[0]) else { return };
    let pty = "python3 -c 'import pty,os;m,s=pty.openpty();os.write(s,b\"t\");print(os.read(m,1))'";
    assert_eq!(desk.shell(pty).text(), "b't'\n");
    let local = "python3 -c 'import socket as s;a=s.socket(s.AF_UNIX);a.bind(\"sock\");a.listen();b=s.socket(s.AF_UNIX);b.connect(\"sock\");print(1)'";
    assert_eq!(desk.shell(local).text(), "1\n");
}

#[test]
fn toolchains_of_the_owner() {
    let Some(home) = std::env::var_os("HOME") else { return };
    if !std::path::Path::new(&home).join(".cargo/bin/cargo").exists() {
        eprintln!("SKIP no cargo in the home");
        return;
    }
    let Some(mut desk) = Desk::new(WAYS[0]) else { return };
    desk.wanted.home = Some(home.into());
    let done = desk.shell("cargo --version && rustc --version");
    assert_eq!(done.text().lines().count(), 2, "{}", done.stdout);
}

#[test]
fn the_network_when_it_is_on() {
    for way in WAYS {
        let Some(mut desk) = Desk::new(way) else { continue };
        desk.wanted.network = true;
        if !is_there("python3") {
            return;
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script =
            format!("python3 -c 'import socket;socket.create_connection((\"127.0.0.1\",{port})).close();print(1)'");
        assert_eq!(desk.shell(&script).text(), "1\n");
        assert!(desk.shell("cat /etc/hosts").status == Status::Exited(0));
    }
}

#[test]
fn what_is_only_read_inside_the_folder_stays_as_it_is() {
    for way in WAYS {
        let Some(mut desk) = Desk::new(way) else { continue };
        fs::create_dir_all(desk.path("folder/way/to/kept")).unwrap();
        fs::write(desk.path("folder/way/to/kept/rule"), "as it is").unwrap();
        fs::write(desk.path("folder/list"), "as it is").unwrap();
        if way.unprivileged {
            give_away(desk.dir.path());
        }
        desk.wanted.readonly =
            ["folder/way/to/kept", "folder/list", "folder/absent"].map(|name| desk.path(name)).to_vec();
        let script = "cat way/to/kept/rule list; echo; \
            for file in way/to/kept/rule way/to/kept/new list; do (echo x > $file) 2> /dev/null && echo wrote $file; done; \
            rm -f list way/to/kept/rule 2> /dev/null; mv way aside 2> /dev/null && echo moved; mv way/to way/else 2> /dev/null && echo moved; \
            mv list other 2> /dev/null && echo moved; ln way/to/kept/rule name 2> /dev/null && (echo x > name) && echo linked; \
            chmod 000 list 2> /dev/null; echo mine > file && echo done";
        let done = desk.run(&["/bin/sh", "-c", script]);
        let text = done.text();
        assert!(text.ends_with("done\n"), "{way:?} {text} {}", done.stderr);
        let tried = text.strip_prefix("as it isas it is\n").unwrap_or_else(|| panic!("{way:?} {text}"));
        // Without a view what is only read is held by what may be done in its directory, not by its name.
        if way.view {
            assert_eq!(tried, "done\n", "{way:?}");
        }
        assert!(!tried.contains("wrote") && !tried.contains("linked"), "{way:?} {text}");
        if way.view {
            assert_eq!(fs::read_to_string(desk.path("folder/way/to/kept/rule")).unwrap(), "as it is", "{way:?}");
            assert_eq!(fs::read_to_string(desk.path("folder/list")).unwrap(), "as it is", "{way:?}");
        }
        desk.wanted.readonly = vec![desk.dir.path().to_owned()];
        let done = desk.run(&["/bin/sh", "-c", "(echo x > file) 2> /dev/null || echo kept"]);
        assert_eq!(done.text(), "kept\n", "{way:?}: the folder lies in such a place");
    }
}
