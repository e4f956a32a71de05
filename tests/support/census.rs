//! Which processes belong to an installation: by environment, by working directory, by ancestry.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A process that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub pid: i32,
    /// Its command line.
    pub command: String,
}

/// Every living process that works below `home`, names it in its environment, or descends from one that does.
#[must_use]
pub fn strays(home: &Path) -> Vec<Found> {
    let mut parents = BTreeMap::new();
    let mut found = BTreeMap::new();
    let needle = home.as_os_str().as_encoded_bytes();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Some((parent, state)) = stat(pid) else { continue };
        parents.insert(pid, parent);
        if state == 'Z' || state == 'X' || pid == std::process::id().cast_signed() {
            continue;
        }
        let dir = entry.path();
        let environment = fs::read(dir.join("environ")).unwrap_or_default();
        let named = environment.windows(needle.len()).any(|window| window == needle);
        let below = fs::read_link(dir.join("cwd")).is_ok_and(|cwd| cwd.starts_with(home));
        if named || below {
            found.insert(pid, command(pid));
        }
    }
    loop {
        let more: Vec<i32> = parents
            .iter()
            .filter(|(pid, parent)| found.contains_key(*parent) && !found.contains_key(*pid))
            .filter(|(pid, _)| stat(**pid).is_some_and(|(_, state)| state != 'Z'))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            break;
        }
        for pid in more {
            found.insert(pid, command(pid));
        }
    }
    found.into_iter().map(|(pid, command)| Found { pid, command }).collect()
}

/// Parent and state of a process.
#[must_use]
pub fn stat(pid: i32) -> Option<(i32, char)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, state))
}

fn command(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned()
}
