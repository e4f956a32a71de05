//! The environment of a confined command: what is on the list, and directories of its own. Nothing else comes through, so no token,
//! key, agent's socket or loader's variable has to be known by name.

use crate::confinement::Confinement;
use std::path::Path;

/// What comes through.
const KEPT: &[&str] = &[
    "COLORTERM",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NO_COLOR",
    "PATH",
    "SHELL",
    "TERM",
    "TZ",
    "USER",
    // Where programs are, not what they know.
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "VOLTA_HOME",
];
/// What comes through by its beginning.
const KEPT_KINDS: &[&str] = &["LC_"];
/// Where programs are searched when nobody says.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Directories of its own: variable and place in the private directory.
const OWN: &[(&str, &str)] = &[
    ("HOME", "home"),
    ("TMPDIR", "tmp"),
    ("XDG_CACHE_HOME", "home/.cache"),
    ("XDG_CONFIG_HOME", "home/.config"),
    ("XDG_DATA_HOME", "home/.local/share"),
    ("XDG_STATE_HOME", "home/.local/state"),
];

/// The whole environment, from one that may hold anything. Each variable is there once; those of `given` that come later win.
pub fn environment(given: &[(String, String)], wanted: &Confinement) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| match all.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => *known = value,
        None => all.push((name.to_owned(), value)),
    };
    set("PATH", PATH.to_owned());
    for (name, value) in given {
        let kept = KEPT.contains(&name.as_str()) || KEPT_KINDS.iter().any(|kind| name.starts_with(kind));
        if kept && !value.is_empty() {
            set(name, value.clone());
        }
    }
    for (name, place) in OWN {
        set(name, shown(&wanted.scratch.join(place)));
    }
    if let Some(home) = &wanted.home {
        if home.join(".rustup").is_dir() {
            set("RUSTUP_HOME", shown(&home.join(".rustup")));
        }
        // With the network off nothing can be fetched: what was fetched before is read in place.
        if !wanted.network && home.join(".cargo/registry").is_dir() {
            set("CARGO_HOME", shown(&home.join(".cargo")));
        }
    }
    all
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_proto::agent::Profile;

    #[test]
    fn only_what_is_listed_comes_through() {
        let given = [
            ("PATH", "/x"),
            ("LC_ALL", "C"),
            ("LD_PRELOAD", "x"),
            ("GITHUB_TOKEN", "x"),
            ("OPENAI_API_KEY", "x"),
            ("SSH_AUTH_SOCK", "x"),
            ("DBUS_SESSION_BUS_ADDRESS", "x"),
            ("OUROBOROS_WORKER_TOKEN", "x"),
            ("HOME", "/root"),
            ("LCX", "x"),
            ("PATH", "/y"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let wanted = Confinement {
            profile: Profile::Workspace,
            folder: "/f".into(),
            scratch: "/s".into(),
            home: None,
            readable: Vec::new(),
            writable: Vec::new(),
            readonly: Vec::new(),
            hidden: Vec::new(),
            network: false,
            limits: crate::Limits::default(),
            accept: Vec::new(),
            without_view: false,
        };
        let got = environment(&given, &wanted);
        let names: Vec<&str> = got.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "PATH",
                "LC_ALL",
                "HOME",
                "TMPDIR",
                "XDG_CACHE_HOME",
                "XDG_CONFIG_HOME",
                "XDG_DATA_HOME",
                "XDG_STATE_HOME"
            ]
        );
        assert_eq!(got[0].1, "/y");
        assert_eq!(got[2].1, "/s/home");
    }
}
