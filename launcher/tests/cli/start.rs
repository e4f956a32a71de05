//! Verbs that act start what they need; nothing else does.

use super::program::Home;
use super::sample;
use super::server::{Reply, Server};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

#[test]
fn the_service_is_started_when_there_is_one() {
    let home = Home::new();
    let bin = home.file("bin");
    std::fs::create_dir_all(&bin).unwrap();
    // Nothing listens until the script was asked, so what comes first is known.
    let systemctl = bin.join("systemctl");
    let asked = home.fifo("asked");
    std::fs::write(&systemctl, format!("#!/bin/sh\necho \"$@\" > {}\n", asked.display())).unwrap();
    std::fs::set_permissions(&systemctl, std::fs::Permissions::from_mode(0o755)).unwrap();
    let units = home.file(".config/systemd/user");
    std::fs::create_dir_all(&units).unwrap();
    let unit = format!("[Service]\nEnvironment=\"OUROBOROS_HOME={}\"\n", home.path().display());
    std::fs::write(units.join("ouroboros.service"), unit).unwrap();

    let mut command = home.command(&["run", "-d", "--", "true"]);
    let child = command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).spawn().unwrap();
    assert_eq!(std::fs::read_to_string(asked).unwrap(), "--user start ouroboros.service\n");
    let server = Server::start(&home, |request| match request.line().as_str() {
        "GET /api/health" => Reply::json(200, &json!({ "api": 1, "version": "0.1.0", "ready": true, "degraded": [] })),
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        _ => Reply::json(200, &sample::state(None)),
    });
    let ran = home.finish(child);
    assert_eq!((ran.code, ran.out().as_str()), (Some(0), "7\n"), "{}", ran.shown());
    assert_eq!(ran.err(), "ouroboros: started the service `ouroboros`; `ouroboros stop` stops it\n");
    assert_eq!(server.lines(), ["GET /api/health", "POST /api/tasks", "GET /api/state"]);
}

#[test]
fn a_unit_of_another_installation_is_left_alone() {
    let home = Home::new();
    let units = home.file(".config/systemd/user");
    std::fs::create_dir_all(&units).unwrap();
    std::fs::write(units.join("ouroboros.service"), "[Service]\nEnvironment=\"OUROBOROS_HOME=/elsewhere\"\n").unwrap();
    let bin = home.file("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let systemctl = bin.join("systemctl");
    std::fs::write(&systemctl, format!("#!/bin/sh\ntouch {}\n", home.file("asked").display())).unwrap();
    std::fs::set_permissions(&systemctl, std::fs::Permissions::from_mode(0o755)).unwrap();
    // There is no server to start beside a copy of the program that stands alone.
    let alone = home.file("alone");
    std::fs::create_dir_all(&alone).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_ouroboros"), alone.join("ouroboros")).unwrap();
    let mut command = std::process::Command::new(alone.join("ouroboros"));
    command
        .args(["run", "-d", "--", "true"])
        .env_clear()
        .env("HOME", home.path())
        .env("OUROBOROS_HOME", home.file("data"));
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = super::program::spawn_copy(&mut command);
    let ran = home.finish(child);
    assert_eq!((ran.code, ran.out().as_str()), (Some(125), ""), "{}", ran.shown());
    assert!(ran.err().contains("could not be started"), "{}", ran.err());
    assert!(!home.file("asked").exists());
}
