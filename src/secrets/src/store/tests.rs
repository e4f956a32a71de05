//! The store on a real directory, with a keyring in memory.

use super::*;
use std::fs::{self, Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::Mutex;
use tempfile::{TempDir, tempdir};

/// A keyring that holds what it was given, or fails as it is told.
#[derive(Default)]
struct Memory {
    kept: Mutex<Vec<Secret>>,
    fails: Mutex<Option<KeyringError>>,
    asked: Mutex<usize>,
}

impl Memory {
    fn failing(error: KeyringError) -> Arc<Self> {
        Arc::new(Self { fails: Mutex::new(Some(error)), ..Self::default() })
    }
}

impl Keyring for Memory {
    fn identities(&self) -> Result<Vec<Secret>, KeyringError> {
        *self.asked.lock().unwrap() += 1;
        let fails = self.fails.lock().unwrap().clone();
        fails.map_or_else(|| Ok(self.kept.lock().unwrap().clone()), Err)
    }

    fn keep(&self, identity: &Secret) -> Result<(), KeyringError> {
        self.kept.lock().unwrap().push(identity.clone());
        Ok(())
    }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned()).ok().unwrap()
}

fn at(micros: i64) -> UtcMicros {
    UtcMicros::new(micros)
}

fn none() -> Arc<dyn Keyring> {
    Memory::failing(KeyringError::Absent)
}

/// A directory with one key, its identity beside.
fn one() -> TempDir {
    let dir = tempdir().unwrap();
    let mut store = SecretStore::open(dir.path(), none());
    assert_eq!(store.set(name("openai"), secret("sk-0123456789abcdef"), "typed", at(5)).unwrap(), None);
    dir
}

fn files(dir: &TempDir) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_key_lasts_and_the_list_shows_its_end_only() {
    let dir = one();
    let mut store = SecretStore::open(dir.path(), none());
    assert!(store.get(&name("openai")) == Some(secret("sk-0123456789abcdef")));
    assert!(store.get(&name("groq")).is_none());
    let entry =
        Entry { name: name("openai"), source: "typed".to_owned(), set_at: at(5), fingerprint: "cdef".to_owned() };
    assert_eq!(store.list(), [entry]);
    assert!(store.remove(&name("openai")).unwrap());
    assert!(!store.remove(&name("openai")).unwrap());
    assert!(SecretStore::open(dir.path(), none()).list().is_empty());
}

#[test]
fn the_files_are_the_owners_only_and_do_not_hold_the_key_in_clear() {
    let dir = one();
    assert_eq!(files(&dir), [FILE, IDENTITY_FILE]);
    for file in files(&dir) {
        let path = dir.path().join(file);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(!fs::read(&path).unwrap().windows(8).any(|part| part == b"01234567"));
    }
}

#[test]
fn nothing_is_made_and_nobody_asked_before_the_first_key() {
    let dir = tempdir().unwrap();
    let keyring = Arc::new(Memory::default());
    let mut store = SecretStore::open(dir.path(), keyring.clone());
    assert_eq!(store.protection(), Protection::Nothing);
    assert!(!store.remove(&name("openai")).unwrap());
    assert!(files(&dir).is_empty());
    assert_eq!(*keyring.asked.lock().unwrap(), 0);
}

#[test]
fn the_keyring_holds_one_identity_for_every_installation() {
    let keyring = Arc::new(Memory::default());
    let dirs = [tempdir().unwrap(), tempdir().unwrap()];
    for dir in &dirs {
        let mut store = SecretStore::open(dir.path(), keyring.clone());
        store.set(name("groq"), secret("gsk_1"), "typed", at(1)).unwrap();
        assert_eq!(store.protection(), Protection::Keyring);
        assert_eq!(files(dir), [FILE]);
    }
    assert_eq!(keyring.kept.lock().unwrap().len(), 1);
    let again = SecretStore::open(dirs[0].path(), keyring);
    assert!(again.get(&name("groq")).is_some());
    assert_eq!(again.protection().to_string(), "sealed; identity in the keyring");
}

#[test]
fn without_a_helpful_keyring_the_identity_is_beside_and_the_keyring_is_not_asked_again() {
    for error in [KeyringError::Absent, KeyringError::Locked, KeyringError::Silent, KeyringError::Failed("x".into())] {
        let dir = tempdir().unwrap();
        let keyring = Memory::failing(error);
        let mut store = SecretStore::open(dir.path(), keyring.clone());
        store.set(name("groq"), secret("gsk_1"), "typed", at(1)).unwrap();
        let asked = *keyring.asked.lock().unwrap();
        let again = SecretStore::open(dir.path(), keyring.clone());
        assert!(again.get(&name("groq")).is_some());
        assert!(again.protection().to_string().contains("not against another program of the same user"));
        assert_eq!(*keyring.asked.lock().unwrap(), asked);
    }
}

#[test]
fn a_file_that_does_not_open_is_named_kept_and_moved_aside_by_the_next_key() {
    type Spoil = fn(&Path);
    let spoils: [(&str, Spoil); 6] = [
        ("mode 644", |dir| set_permissions(dir.join(FILE), Permissions::from_mode(0o644)).unwrap()),
        ("symbolic link", |dir| {
            durable::rename(&dir.join(FILE), &dir.join("elsewhere")).unwrap();
            symlink(dir.join("elsewhere"), dir.join(FILE)).unwrap();
        }),
        ("damaged", |dir| {
            let bytes = fs::read(dir.join(FILE)).unwrap();
            fs::write(dir.join(FILE), &bytes[..bytes.len() - 3]).unwrap();
        }),
        ("neither in", |dir| fs::remove_file(dir.join(IDENTITY_FILE)).unwrap()),
        ("holds no identity", |dir| fs::write(dir.join(IDENTITY_FILE), "half").unwrap()),
        ("mode 640", |dir| set_permissions(dir.join(IDENTITY_FILE), Permissions::from_mode(0o640)).unwrap()),
    ];
    for (words, spoil) in spoils {
        let dir = one();
        spoil(dir.path());
        let before = fs::read(dir.path().join(FILE)).unwrap();
        let mut store = SecretStore::open(dir.path(), none());
        let told = store.trouble().unwrap().to_string();
        assert!(told.contains(words) && told.contains("kept as") && told.contains(".unreadable-"), "{words}: {told}");
        assert!(store.list().is_empty() && store.get(&name("openai")).is_none());
        assert!(matches!(store.remove(&name("openai")), Err(SetError::Shut(_))));
        assert_eq!(fs::read(dir.path().join(FILE)).unwrap(), before, "{words}");

        let aside = store.set(name("xai"), secret("xai-1"), "typed", at(1)).unwrap().unwrap();
        assert_eq!(aside, dir.path().join("secrets.age.unreadable-1"));
        assert_eq!(fs::read(&aside).unwrap(), before, "{words}");
        let again = SecretStore::open(dir.path(), none());
        assert!(again.trouble().is_none(), "{words}");
        assert_eq!(again.list().len(), 1);
    }
}

#[test]
fn every_unreadable_file_is_kept() {
    let dir = one();
    for number in 1..=3 {
        fs::write(dir.path().join(FILE), format!("broken {number}")).unwrap();
        let mut store = SecretStore::open(dir.path(), none());
        store.set(name("xai"), secret("xai-1"), "typed", at(1)).unwrap();
    }
    for number in 1..=3 {
        let kept = fs::read_to_string(dir.path().join(format!("secrets.age.unreadable-{number}"))).unwrap();
        assert_eq!(kept, format!("broken {number}"));
    }
}

#[test]
fn a_locked_keyring_moves_nothing_and_is_tried_again() {
    let dir = tempdir().unwrap();
    let keyring = Arc::new(Memory::default());
    SecretStore::open(dir.path(), keyring.clone()).set(name("xai"), secret("xai-1"), "typed", at(1)).unwrap();
    *keyring.fails.lock().unwrap() = Some(KeyringError::Locked);
    let mut store = SecretStore::open(dir.path(), keyring.clone());
    assert!(store.trouble().unwrap().to_string().contains("unlock the keyring"));
    assert_eq!(store.protection(), Protection::Unknown);
    let refused = store.set(name("groq"), secret("gsk_1"), "typed", at(1));
    assert!(matches!(refused, Err(SetError::Shut(trouble)) if trouble.may_pass()));
    assert_eq!(files(&dir), [FILE]);
    *keyring.fails.lock().unwrap() = None;
    assert_eq!(store.set(name("groq"), secret("gsk_1"), "typed", at(1)).unwrap(), None);
    assert_eq!(store.list().len(), 2);
}

#[test]
fn there_is_a_bound_on_keys_and_sources() {
    let dir = tempdir().unwrap();
    let mut store = SecretStore::open(dir.path(), none());
    for number in 0..MAX_ENTRIES {
        store.set(name(&format!("n{number}")), secret("k"), "typed", at(1)).unwrap();
    }
    assert!(matches!(store.set(name("more"), secret("k"), "typed", at(1)), Err(SetError::Full)));
    store.set(name("n0"), secret("other"), "typed", at(1)).unwrap();
    assert_eq!(SecretStore::open(dir.path(), none()).list().len(), MAX_ENTRIES);
    for source in ["two\nlines".to_owned(), "x".repeat(MAX_SOURCE_BYTES + 1)] {
        assert!(matches!(store.set(name("n0"), secret("k"), &source, at(1)), Err(SetError::BadSource)));
    }
}

#[test]
fn a_failed_write_changes_nothing() {
    let dir = one();
    let mut store = SecretStore::open(dir.path(), none());
    // A directory in the file's place cannot be replaced by a file.
    let away = dir.path().join("away");
    durable::rename(&dir.path().join(FILE), &away).unwrap();
    fs::create_dir_all(dir.path().join(FILE).join("inside")).unwrap();
    assert!(matches!(store.set(name("xai"), secret("xai-1"), "typed", at(1)), Err(SetError::Io { .. })));
    assert!(store.trouble().unwrap().to_string().contains("not a regular file"));
    fs::remove_dir_all(dir.path().join(FILE)).unwrap();
    durable::rename(&away, &dir.path().join(FILE)).unwrap();
    assert_eq!(SecretStore::open(dir.path(), none()).list().len(), 1);
}
