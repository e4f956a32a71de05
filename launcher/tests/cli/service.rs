//! `service`: the unit, and what is asked of systemd.

use super::program::{Home, skip};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn script(path: &Path, text: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A copy of the program with the others beside it, and a systemctl that notes what it is asked.
fn installed(home: &Home, systemctl: &str) {
    let bin = home.file("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_ouroboros"), bin.join("ouroboros")).unwrap();
    script(&bin.join("ouroboros-server"), "exit 0");
    script(&bin.join("ouroboros-worker"), "exit 0");
    script(&bin.join("systemctl"), &format!("echo \"$@\" >> {}\n{systemctl}", home.file("asked").display()));
}

fn run(home: &Home, arguments: &[&str]) -> super::program::Ran {
    let bin = home.file("bin");
    let mut command = std::process::Command::new(bin.join("ouroboros"));
    command.args(arguments).env_clear().env("HOME", home.path()).env("OUROBOROS_HOME", home.path());
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    home.finish(super::program::spawn_copy(&mut command))
}

#[test]
fn a_service_is_installed_shown_and_removed() {
    let home = Home::new();
    installed(&home, "exit 0");
    let unit = home.file(".config/systemd/user/ouroboros.service");
    let mut text = String::new();
    for line in ["service status", "service install", "service status", "service uninstall", "service uninstall"] {
        let arguments: Vec<&str> = line.split(' ').collect();
        text.push_str(&format!("$ ouroboros {line}\n{}\n", run(&home, &arguments).shown()));
        if line == "service install" {
            let unit = std::fs::read_to_string(&unit).unwrap().replace(home.path().to_str().unwrap(), "[HOME]");
            text.push_str(&format!("{unit}\n"));
        }
    }
    text.push_str(&std::fs::read_to_string(home.file("asked")).unwrap());
    insta::assert_snapshot!("service", text);
}

#[test]
fn systemd_listens_when_asked() {
    let home = Home::new();
    installed(&home, "case \"$*\" in *is-active*) exit 3;; esac; exit 0");
    let mut text = String::new();
    for line in [
        "service install --socket=0.0.0.0:80",
        "service install --socket",
        "service install --socket=[::1]:9000",
        "service status",
        "service uninstall",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        text.push_str(&format!("$ ouroboros {line}\n{}\n", run(&home, &arguments).shown()));
    }
    assert!(!home.file(".config/systemd/user/ouroboros.socket").exists());
    text.push_str(&std::fs::read_to_string(home.file("asked")).unwrap());
    insta::assert_snapshot!("service_socket", text);
}

#[test]
fn nothing_is_installed_over_what_runs() {
    let home = Home::new();
    installed(&home, "case \"$*\" in *socket*) exit 3;; esac; exit 0");
    let ran = run(&home, &["service", "install", "--socket"]);
    assert_eq!(ran.code, Some(1));
    insta::assert_snapshot!("service_listens_already", ran.shown());

    installed(&home, "exit 3");
    let _server = super::server::Server::start(&home, |_| super::server::Reply::json(200, &serde_json::json!({})));
    let ran = run(&home, &["service", "install"]);
    assert_eq!(ran.code, Some(1));
    insta::assert_snapshot!("service_beside_a_server", ran.shown());
    assert!(!home.file(".config").exists());
}

#[test]
fn a_systemd_that_refuses_is_told() {
    let home = Home::new();
    installed(&home, "echo no bus >&2; exit 1");
    let ran = run(&home, &["service", "install"]);
    assert_eq!(ran.code, Some(1));
    insta::assert_snapshot!("service_refused", ran.shown());
}

#[test]
fn systemd_accepts_the_unit() {
    let home = Home::new();
    installed(&home, "exit 0");
    run(&home, &["service", "install"]);
    let unit = home.file(".config/systemd/user/ouroboros.service");
    let mut verify = std::process::Command::new("systemd-analyze");
    let Ok(verified) =
        verify.args(["verify", "--man=no", "--user"]).arg(&unit).env("XDG_RUNTIME_DIR", home.path()).output()
    else {
        return skip("systemd-analyze is not installed");
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    let about_it: Vec<&str> = said.lines().filter(|line| line.contains("ouroboros.service")).collect();
    assert!(verified.status.success() && about_it.is_empty(), "{said}");
}
