//! What of the server's own environment a task gets that names none.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Variables that are passed on; those that begin with `LC_` are too.
const PASSED_ON: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"];

/// The allow-listed environment, and where tasks run that do not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The variables.
    pub env: BTreeMap<String, String>,
    /// The owner's home directory; `None` when it is not known.
    pub home: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process. What is not UTF-8 is left out.
    #[must_use]
    pub fn of_process() -> Self {
        Self::choose(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    fn choose(all: impl Iterator<Item = (String, String)>) -> Self {
        let env: BTreeMap<_, _> =
            all.filter(|(name, _)| PASSED_ON.contains(&name.as_str()) || name.starts_with("LC_")).collect();
        let home = env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        Self { env, home }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_allow_list_is_passed_on() {
        let all = ["PATH=/bin", "HOME=/home/o", "LC_TIME=C", "API_TOKEN=s", "LD_PRELOAD=x", "LCX=1"];
        let chosen =
            Surroundings::choose(all.iter().filter_map(|pair| pair.split_once('=')).map(|(n, v)| (n.into(), v.into())));
        assert_eq!(chosen.env.keys().collect::<Vec<_>>(), ["HOME", "LC_TIME", "PATH"]);
        assert_eq!(chosen.home, Some(PathBuf::from("/home/o")));
    }
}
