//! Which key each provider gets, and where it was found.
//!
//! The order, for every provider alike; the first that holds a key wins:
//!
//! 1. the store, under the provider's name;
//! 2. a file `<NAME>` in the directory that `CREDENTIALS_DIRECTORY` names (systemd.exec(5));
//! 3. the file that `<NAME>_FILE` names;
//! 4. the variable `<NAME>` itself.
//!
//! Where a provider has two names, both are looked for at one step before the next step. A source that is there but cannot be
//! used is a [`SourceProblem`]; the search then goes on. An empty variable counts as none.

use crate::files::{Unread, read_provided};
use crate::secret::{MAX_BYTES, Name, Refused, Secret};
use crate::store::SecretStore;
pub use ouroboros_proto::kind::sensitive::looks_secret;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The variable with which systemd names the directory of credentials.
const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";

/// A provider of models, and the variables in which its key is looked for, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// Its name, which is also the name of its key in the store.
    pub name: &'static str,
    /// The variables.
    pub variables: &'static [&'static str],
}

/// Every provider we know a variable of.
pub const PROVIDERS: [Provider; 12] = [
    Provider { name: "openai", variables: &["OPENAI_API_KEY"] },
    Provider { name: "anthropic", variables: &["ANTHROPIC_API_KEY"] },
    Provider { name: "openrouter", variables: &["OPENROUTER_API_KEY"] },
    Provider { name: "gemini", variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"] },
    Provider { name: "groq", variables: &["GROQ_API_KEY"] },
    Provider { name: "mistral", variables: &["MISTRAL_API_KEY"] },
    Provider { name: "deepseek", variables: &["DEEPSEEK_API_KEY"] },
    Provider { name: "xai", variables: &["XAI_API_KEY"] },
    Provider { name: "together", variables: &["TOGETHER_API_KEY"] },
    Provider { name: "fireworks", variables: &["FIREWORKS_API_KEY"] },
    Provider { name: "cerebras", variables: &["CEREBRAS_API_KEY"] },
    Provider { name: "openai-compatible", variables: &["OPENAI_COMPATIBLE_API_KEY"] },
];

/// Where a key was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// In the store.
    Store,
    /// In this file among the credentials of the service.
    Credential(PathBuf),
    /// In this file, which a variable names.
    File(PathBuf),
    /// In this variable.
    Environment(&'static str),
}

impl fmt::Display for Found {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store => out.write_str("the store"),
            Self::Credential(path) => write!(out, "the credential {}", path.display()),
            Self::File(path) => write!(out, "the file {}", path.display()),
            Self::Environment(variable) => write!(out, "the variable {variable}"),
        }
    }
}

/// The key of a provider.
#[derive(Clone)]
pub struct Key {
    /// The provider's name.
    pub provider: Name,
    /// Its key.
    pub secret: Secret,
    /// Where it was found.
    pub found: Found,
}

/// A place that should hold a key and does not. Nothing of the content is in it.
#[derive(Debug, thiserror::Error)]
#[error("{provider}: {found} is passed over: {why}")]
pub struct SourceProblem {
    /// The provider whose key was looked for.
    pub provider: &'static str,
    /// The place.
    pub found: Found,
    /// What is wrong.
    pub why: Unfit,
}

/// Why a place gives no key.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// The file cannot be read.
    #[error("{0}")]
    Unread(String),
    /// The variable or file is not valid text.
    #[error("it is not valid UTF-8")]
    NotText,
    /// The path is not the same from everywhere.
    #[error("the path is not absolute")]
    Relative,
    /// What is there is no key.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// What was found.
#[derive(Default)]
pub struct Keys {
    /// One key at most for each provider, in the order of [`PROVIDERS`].
    pub keys: Vec<Key>,
    /// Those that are there besides: not used, and secrets all the same.
    pub others: Vec<Key>,
    /// What was passed over.
    pub problems: Vec<SourceProblem>,
}

/// Looks for the key of every known provider. Reads files, so it may block on a slow disk.
#[must_use]
pub fn collect(store: &SecretStore, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Keys {
    let environment = environment.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let mut keys = Keys::default();
    for provider in PROVIDERS {
        let Ok(name) = Name::new(provider.name) else { continue };
        let kept = store.get(&name).map(|secret| (secret, Found::Store));
        let problems = &mut keys.problems;
        let mut search = Search { provider, environment: &environment, problems, satisfied: kept.is_some() };
        let mut found = kept.into_iter().chain(search.outside());
        let key = |(secret, found)| Key { provider: name.clone(), secret, found };
        keys.keys.extend(found.next().map(key));
        keys.others.extend(found.map(key));
    }
    keys
}

struct Search<'a> {
    provider: Provider,
    environment: &'a BTreeMap<OsString, OsString>,
    problems: &'a mut Vec<SourceProblem>,
    /// There is a key: what is wrong with other places is nobody's problem.
    satisfied: bool,
}

impl Search<'_> {
    /// All that is there, best first.
    fn outside(&mut self) -> Vec<(Secret, Found)> {
        let mut all = Vec::new();
        for step in [Self::credential, Self::file, Self::variable] {
            for variable in self.provider.variables {
                all.extend(step(self, variable));
                self.satisfied |= !all.is_empty();
            }
        }
        all
    }

    fn credential(&mut self, variable: &'static str) -> Option<(Secret, Found)> {
        let path = Path::new(self.value(CREDENTIALS_DIRECTORY)?).join(variable);
        let read = read(&path);
        // The directory holds what the unit lists, which need not be a key for every provider.
        if matches!(read, Err(Absent::Missing)) { None } else { self.judge(read, Found::Credential(path)) }
    }

    fn file(&mut self, variable: &'static str) -> Option<(Secret, Found)> {
        let path = PathBuf::from(self.value(&format!("{variable}_FILE"))?);
        self.judge(read(&path), Found::File(path))
    }

    fn variable(&mut self, variable: &'static str) -> Option<(Secret, Found)> {
        let value = self.value(variable)?.to_str().map(ToOwned::to_owned);
        let secret = value.ok_or(Unfit::NotText).and_then(|text| Ok(Secret::new(text)?));
        self.judge(secret.map_err(Absent::Unfit), Found::Environment(variable))
    }

    fn value(&self, variable: &str) -> Option<&OsStr> {
        self.environment.get(OsStr::new(variable)).map(OsString::as_os_str)
    }

    fn judge(&mut self, secret: Result<Secret, Absent>, found: Found) -> Option<(Secret, Found)> {
        let why = match secret {
            Ok(secret) => return Some((secret, found)),
            Err(Absent::Missing) => Unfit::Unread(Unread::Missing.to_string()),
            Err(Absent::Unfit(why)) => why,
        };
        if !self.satisfied {
            self.problems.push(SourceProblem { provider: self.provider.name, found, why });
        }
        None
    }
}

enum Absent {
    Missing,
    Unfit(Unfit),
}

fn read(path: &Path) -> Result<Secret, Absent> {
    if !path.is_absolute() {
        return Err(Absent::Unfit(Unfit::Relative));
    }
    // A line end may follow the longest secret.
    let bytes = read_provided(path, MAX_BYTES.saturating_add(2)).map_err(|error| match error {
        Unread::Missing => Absent::Missing,
        other => Absent::Unfit(Unfit::Unread(other.to_string())),
    })?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Absent::Unfit(Unfit::NotText))?;
    Secret::new(text.to_owned()).map_err(|refused| Absent::Unfit(Unfit::Refused(refused)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::NoKeyring;
    use ouroboros_proto::kind::UtcMicros;
    use std::fs::write;
    use std::os::unix::ffi::OsStringExt as _;
    use std::sync::Arc;
    use tempfile::{TempDir, tempdir};

    fn store(dir: &TempDir) -> SecretStore {
        SecretStore::open(dir.path(), Arc::new(NoKeyring))
    }

    fn found(store: &SecretStore, environment: &[(&str, &str)]) -> (Vec<(String, String, Found)>, Vec<String>) {
        let environment = environment.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let keys = collect(store, environment);
        let key = |key: Key| (key.provider.to_string(), key.secret.expose().to_owned(), key.found);
        (keys.keys.into_iter().map(key).collect(), keys.problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn each_source_gives_way_to_the_one_above_it() {
        let dir = tempdir().unwrap();
        let mut store = store(&dir);
        let credential = dir.path().join("MISTRAL_API_KEY");
        let file = dir.path().join("file");
        write(&credential, "from-credential\n").unwrap();
        write(&file, "from-file\n").unwrap();
        store
            .set(
                Name::new("mistral").unwrap(),
                Secret::new("from-store".into()).ok().unwrap(),
                "typed",
                UtcMicros::new(1),
            )
            .unwrap();
        let all = [
            ("CREDENTIALS_DIRECTORY", dir.path().to_str().unwrap()),
            ("MISTRAL_API_KEY_FILE", file.to_str().unwrap()),
            ("MISTRAL_API_KEY", "from-variable"),
        ];
        let one = |store: &SecretStore, environment: &[(&str, &str)]| {
            let (keys, problems) = found(store, environment);
            assert!(keys.len() == 1 && problems.is_empty(), "{keys:?} {problems:?}");
            (keys[0].1.clone(), keys[0].2.clone())
        };
        assert_eq!(one(&store, &all), ("from-store".into(), Found::Store));
        let others = collect(&store, all.map(|(name, value)| (name.into(), value.into()))).others;
        let others: Vec<_> = others.iter().map(|key| key.secret.expose()).collect();
        assert_eq!(others, ["from-credential", "from-file", "from-variable"]);
        store.remove(&Name::new("mistral").unwrap()).unwrap();
        assert_eq!(one(&store, &all), ("from-credential".into(), Found::Credential(credential)));
        assert_eq!(one(&store, &all[1..]), ("from-file".into(), Found::File(file.clone())));
        assert_eq!(one(&store, &all[2..]), ("from-variable".into(), Found::Environment("MISTRAL_API_KEY")));
    }

    #[test]
    fn every_provider_has_a_key_of_its_own_and_the_first_of_two_names_wins() {
        let dir = tempdir().unwrap();
        let store = store(&dir);
        let variables = PROVIDERS.iter().flat_map(|provider| provider.variables.iter().copied());
        let environment: Vec<(&str, &str)> = variables.map(|variable| (variable, variable)).collect();
        let (keys, problems) = found(&store, &environment);
        let expected: Vec<(String, String, Found)> = PROVIDERS
            .iter()
            .map(|provider| {
                let first = provider.variables[0];
                (provider.name.to_owned(), first.to_owned(), Found::Environment(first))
            })
            .collect();
        assert_eq!((keys, problems.len()), (expected, 0));
        let (second, _) = found(&store, &[("GEMINI_API_KEY", ""), ("GOOGLE_API_KEY", "g")]);
        assert_eq!(second, [("gemini".to_owned(), "g".to_owned(), Found::Environment("GOOGLE_API_KEY"))]);
        for provider in PROVIDERS {
            assert!(Name::new(provider.name).is_ok() && provider.variables.iter().all(|name| looks_secret(name)));
        }
    }

    #[test]
    fn what_cannot_be_used_is_reported_without_its_content_and_passed_over() {
        let dir = tempdir().unwrap();
        let store = store(&dir);
        write(dir.path().join("XAI_API_KEY"), "hunter2 hunter2").unwrap();
        std::fs::create_dir(dir.path().join("GROQ_API_KEY")).unwrap();
        write(dir.path().join("big"), "x".repeat(MAX_BYTES + 3)).unwrap();
        let big = dir.path().join("big");
        let (keys, problems) = found(
            &store,
            &[
                ("CREDENTIALS_DIRECTORY", dir.path().to_str().unwrap()),
                ("XAI_API_KEY_FILE", "relative"),
                ("XAI_API_KEY", "usable"),
                ("OPENAI_API_KEY_FILE", "/nowhere/at/all"),
                ("TOGETHER_API_KEY_FILE", big.to_str().unwrap()),
                ("ANTHROPIC_API_KEY", "hunter2\u{1b}"),
            ],
        );
        assert_eq!(keys, [("xai".to_owned(), "usable".to_owned(), Found::Environment("XAI_API_KEY"))]);
        let text = problems.join("\n");
        let words = ["not a visible", "not absolute", "no such file", "larger than", "not a regular file"];
        assert!(words.iter().all(|words| text.contains(words)) && problems.len() == 6, "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_variable_that_is_not_text_is_reported() {
        let dir = tempdir().unwrap();
        let bytes = OsString::from_vec(vec![b'k', 0xff]);
        let keys = collect(&store(&dir), [("GROQ_API_KEY".into(), bytes)]);
        assert!(keys.keys.is_empty());
        assert!(matches!(keys.problems.as_slice(), [SourceProblem { provider: "groq", why: Unfit::NotText, .. }]));
    }
}
