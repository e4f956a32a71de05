//! The keys of providers, as this server finds and keeps them.

use ouroboros_proto::api::{ApiError, Code, KeyProvider, KeySet, KeyView, KeysView};
use ouroboros_proto::kind::clock;
use ouroboros_secrets::secret::{Name, Secret};
use ouroboros_secrets::sources::{self, Found, PROVIDERS};
use ouroboros_secrets::store::{SecretStore, SetError};
use ouroboros_secrets::{Masker, SharedMasker};
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Keys, and the masker that knows them.
pub struct KeyBook {
    store: Mutex<SecretStore>,
    environment: Vec<(OsString, OsString)>,
    found: RwLock<Arc<sources::Keys>>,
    masker: SharedMasker,
}

impl KeyBook {
    /// Keys of this store and this environment; the masker learns them.
    #[must_use]
    pub fn new(store: SecretStore, environment: Vec<(OsString, OsString)>, masker: SharedMasker) -> Self {
        let book = Self { store: Mutex::new(store), environment, found: RwLock::default(), masker };
        book.look();
        book
    }

    /// Looks everywhere again.
    pub fn look(&self) {
        // Held to the end: who looks later publishes later.
        let store = self.lock();
        let keys = sources::collect(&store, self.environment.iter().cloned());
        for problem in &keys.problems {
            tracing::warn!("{problem}");
        }
        // Every key that is kept or found is hidden, also one that another comes before.
        let found = keys.keys.iter().chain(&keys.others).map(|key| (&key.provider, &key.secret));
        match Masker::new(store.secrets().chain(found)) {
            Ok(masker) => self.masker.replace(masker),
            Err(error) => tracing::error!(%error, "keys cannot be hidden; those of before are"),
        }
        *self.found.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        drop(store);
    }

    /// The key of this name, and where it was found.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<(Secret, Found)> {
        let found = self.found();
        let key = found.keys.iter().find(|key| key.provider.as_str() == name)?;
        Some((key.secret.clone(), key.found.clone()))
    }

    /// Names of the keys there are, with where each was found.
    #[must_use]
    pub fn present(&self) -> Vec<(String, Found)> {
        self.found().keys.iter().map(|key| (key.provider.as_str().to_owned(), key.found.clone())).collect()
    }

    /// A variable of the environment that the server was started with.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let found = self.environment.iter().find(|(known, _)| known.to_str() == Some(name));
        found.and_then(|(_, value)| value.to_str()).map(str::to_owned)
    }

    /// The keys as far as they may be seen.
    #[must_use]
    pub fn view(&self) -> KeysView {
        let store = self.lock();
        let kept = store.list();
        let found = self.found();
        let keys = found
            .keys
            .iter()
            .map(|key| KeyView {
                provider: key.provider.as_str().to_owned(),
                found: key.found.to_string(),
                ending: key.secret.fingerprint(),
                set_at: kept
                    .iter()
                    .find(|entry| key.found == Found::Store && entry.name == key.provider)
                    .map(|entry| entry.set_at.into()),
            })
            .collect();
        let problems = found.problems.iter().map(ToString::to_string);
        KeysView {
            keys,
            protection: store.protection().to_string(),
            problems: problems.chain(store.trouble().map(ToString::to_string)).collect(),
            providers: PROVIDERS
                .iter()
                .map(|provider| KeyProvider {
                    name: provider.name.to_owned(),
                    variables: provider.variables.iter().map(|name| (*name).to_owned()).collect(),
                })
                .collect(),
        }
    }

    /// Keeps a key; it is durable and in use when this returns.
    ///
    /// # Errors
    /// No such provider, no key, or it cannot be stored.
    pub fn set(&self, set: KeySet) -> Result<KeyView, ApiError> {
        let name = provider(&set.provider)?;
        let secret = Secret::new(set.key).map_err(|error| {
            ApiError::new(Code::BadKey, format!("This cannot be a key: {error}; nothing was kept."))
        })?;
        let (ending, at) = (secret.fingerprint(), clock::wall());
        let aside = self.lock().set(name, secret, "set by the owner", at).map_err(|error| refused(&error))?;
        if let Some(path) = aside {
            tracing::warn!(path = %path.display(), "keys that could not be read were moved aside");
        }
        self.look();
        Ok(KeyView { provider: set.provider, found: Found::Store.to_string(), ending, set_at: Some(at.into()) })
    }

    /// Forgets a key that was kept.
    ///
    /// # Errors
    /// No such provider or key, or it cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), ApiError> {
        let known = provider(name)?;
        let removed = self.lock().remove(&known).map_err(|error| refused(&error))?;
        self.look();
        if removed {
            return Ok(());
        }
        let error = ApiError::new(Code::UnknownProvider, format!("No key of {name} is kept; nothing was changed."));
        Err(match self.key(name) {
            Some((_, found)) => error.remedy(format!("There is one in {found}; take it away there.")),
            None => error,
        })
    }

    fn found(&self) -> Arc<sources::Keys> {
        Arc::clone(&self.found.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> MutexGuard<'_, SecretStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn provider(name: &str) -> Result<Name, ApiError> {
    let known: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
    let unknown = || {
        ApiError::new(Code::UnknownProvider, format!("No provider {name:?} takes a key."))
            .remedy(format!("Those that do are {}.", known.join(", ")))
    };
    if known.contains(&name) { Name::new(name).map_err(|_| unknown()) } else { Err(unknown()) }
}

fn refused(error: &SetError) -> ApiError {
    ApiError::new(Code::Internal, format!("The keys were not changed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_gateway::providers::KNOWN;
    use ouroboros_secrets::NoKeyring;
    use std::collections::BTreeSet;

    #[test]
    fn every_provider_elsewhere_has_a_place_for_its_key_and_every_key_a_provider() {
        let keys: BTreeSet<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
        let used: BTreeSet<&str> = KNOWN.iter().filter(|known| !known.local).map(|known| known.key).collect();
        assert_eq!(keys, used);
    }

    #[test]
    fn a_key_that_another_comes_before_is_hidden_as_well() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        std::fs::write(&file, "second-in-line").unwrap();
        let credential = dir.path().join("XAI_API_KEY");
        std::fs::write(credential, "first-in-line").unwrap();
        let environment = [
            ("CREDENTIALS_DIRECTORY", dir.path().to_str().unwrap()),
            ("XAI_API_KEY_FILE", file.to_str().unwrap()),
            ("XAI_API_KEY", "third-in-line"),
        ];
        let environment = environment.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let masker = SharedMasker::of_shapes().unwrap();
        let store = SecretStore::open(dir.path(), Arc::new(NoKeyring));
        let book = KeyBook::new(store, environment, masker.clone());
        assert_eq!(book.key("xai").unwrap().0.expose(), "first-in-line");
        let hidden = masker.mask_str("first-in-line second-in-line third-in-line").into_owned();
        assert_eq!(hidden, "[secret:xai] [secret:xai] [secret:xai]");
    }
}
