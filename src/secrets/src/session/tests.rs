//! The calls against a service on a socket of our own, which speaks the same protocol as the session's.

use super::*;
use std::collections::BTreeMap;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tempfile::{TempDir, tempdir};
use zbus::interface;

/// How the service behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Open,
    Locked,
    Asks,
    NoCollection,
    Silent,
}

type Items = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

struct Bus;

#[interface(name = "org.freedesktop.DBus")]
impl Bus {
    fn hello(&self) -> String {
        ":1.1".to_owned()
    }
}

struct Service {
    mood: Mood,
    items: Items,
}

fn path(text: &str) -> OwnedObjectPath {
    OwnedObjectPath::try_from(text.to_owned()).unwrap()
}

#[interface(name = "org.freedesktop.Secret.Service")]
impl Service {
    async fn open_session(&self, algorithm: String, _input: OwnedVariant) -> (OwnedVariant, OwnedObjectPath) {
        assert_eq!(algorithm, "plain");
        if self.mood == Mood::Silent {
            std::future::pending::<()>().await;
        }
        (OwnedVariant::try_from(Variant::from("")).unwrap(), path("/session/1"))
    }

    fn search_items(&self, attributes: HashMap<String, String>) -> (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) {
        assert_eq!(attributes.get("application").map(String::as_str), Some("ouroboros"));
        let found = self.items.lock().unwrap().keys().map(|item| path(item)).collect();
        if self.mood == Mood::Locked { (Vec::new(), found) } else { (found, Vec::new()) }
    }

    fn get_secrets(
        &self,
        items: Vec<OwnedObjectPath>,
        session: OwnedObjectPath,
    ) -> HashMap<OwnedObjectPath, Travelling> {
        let kept = self.items.lock().unwrap();
        let secret =
            |item: &OwnedObjectPath| (session.clone(), Vec::new(), kept[item.as_str()].clone(), "text/plain".into());
        items.iter().map(|item| (item.clone(), secret(item))).collect()
    }

    fn read_alias(&self, name: String) -> OwnedObjectPath {
        assert_eq!(name, "default");
        path(if self.mood == Mood::NoCollection { "/" } else { "/collection/login" })
    }
}

struct Collection {
    mood: Mood,
    items: Items,
}

#[interface(name = "org.freedesktop.Secret.Collection")]
impl Collection {
    fn create_item(
        &self,
        properties: HashMap<String, OwnedVariant>,
        secret: Travelling,
        replace: bool,
    ) -> (OwnedObjectPath, OwnedObjectPath) {
        assert!(properties.contains_key("org.freedesktop.Secret.Item.Attributes") && !replace);
        if self.mood == Mood::Asks {
            return (path("/"), path("/prompt/1"));
        }
        let mut items = self.items.lock().unwrap();
        let item = format!("/collection/login/{}", items.len());
        items.insert(item.clone(), secret.2);
        (path(&item), path("/"))
    }
}

/// The address of a service in this mood, which serves one connection after another for as long as the test lives.
fn service(dir: &TempDir, mood: Mood, items: &Items) -> String {
    let socket: PathBuf = dir.path().join("bus");
    let listener = UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    let items = Arc::clone(items);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::UnixListener::from_std(listener).unwrap();
            let mut connections = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                let stream = stream.into_std().unwrap();
                let builder = Builder::unix_stream(stream).server(zbus::Guid::generate()).p2p();
                let builder = builder
                    .serve_at("/org/freedesktop/DBus", Bus)
                    .serve_at(SERVICE_PATH, Service { mood, items: Arc::clone(&items) })
                    .serve_at("/collection/login", Collection { mood, items: Arc::clone(&items) });
                connections.extend(builder.build().await);
            }
        });
    });
    format!("unix:path={}", socket.display())
}

fn keyring(dir: &TempDir, mood: Mood, items: &Items) -> SessionKeyring {
    SessionKeyring::at(service(dir, mood, items), Duration::from_secs(20))
}

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned()).ok().unwrap()
}

#[test]
fn what_is_kept_is_there_again() {
    let (dir, items) = (tempdir().unwrap(), Items::default());
    let keyring = keyring(&dir, Mood::Open, &items);
    assert!(keyring.identities().is_ok_and(|found| found.is_empty()));
    keyring.keep(&secret("AGE-SECRET-KEY-1")).unwrap();
    keyring.keep(&secret("AGE-SECRET-KEY-2")).unwrap();
    let mut found: Vec<String> = keyring.identities().ok().unwrap().iter().map(|one| one.expose().to_owned()).collect();
    found.sort();
    assert_eq!(found, ["AGE-SECRET-KEY-1", "AGE-SECRET-KEY-2"]);
}

#[test]
fn it_can_be_asked_from_inside_a_runtime() {
    let (dir, items) = (tempdir().unwrap(), Items::default());
    let keyring = keyring(&dir, Mood::Open, &items);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert!(runtime.block_on(async { keyring.identities() }).is_ok());
}

#[test]
fn a_locked_keyring_is_told_and_nobody_is_asked() {
    let (dir, items) = (tempdir().unwrap(), Items::default());
    items.lock().unwrap().insert("/collection/login/0".to_owned(), b"hidden".to_vec());
    assert_eq!(keyring(&dir, Mood::Locked, &items).identities().err(), Some(KeyringError::Locked));
    let dir = tempdir().unwrap();
    assert_eq!(keyring(&dir, Mood::Asks, &items).keep(&secret("one")), Err(KeyringError::Locked));
    assert_eq!(items.lock().unwrap().len(), 1);
}

#[test]
fn no_bus_is_no_keyring_and_a_failure_is_told() {
    let (dir, items) = (tempdir().unwrap(), Items::default());
    let nowhere = SessionKeyring::at(format!("unix:path={}/none", dir.path().display()), PATIENCE);
    assert_eq!(nowhere.identities().err(), Some(KeyringError::Absent));
    let failed = keyring(&dir, Mood::NoCollection, &items).keep(&secret("one"));
    assert!(matches!(failed, Err(KeyringError::Failed(_))), "{failed:?}");
}

#[test]
fn a_silent_keyring_is_left_after_a_while() {
    let (dir, items) = (tempdir().unwrap(), Items::default());
    let keyring = SessionKeyring::at(service(&dir, Mood::Silent, &items), Duration::from_millis(200));
    assert_eq!(keyring.identities().err(), Some(KeyringError::Silent));
}

#[test]
fn only_a_socket_of_this_machine_is_a_bus() {
    let find = |variables: &[(&str, &str)]| {
        let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        SessionKeyring::find(variable).map(|keyring| keyring.address)
    };
    assert_eq!(find(&[]), None);
    assert_eq!(find(&[("DBUS_SESSION_BUS_ADDRESS", "tcp:host=example.org,port=1")]), None);
    assert_eq!(find(&[("DBUS_SESSION_BUS_ADDRESS", "autolaunch:")]), None);
    let both = "tcp:host=h,port=1;unix:path=/run/user/1/bus,guid=ab";
    assert_eq!(find(&[("DBUS_SESSION_BUS_ADDRESS", both)]).as_deref(), Some("unix:path=/run/user/1/bus,guid=ab"));
    assert_eq!(find(&[("XDG_RUNTIME_DIR", "/run/user/1")]).as_deref(), Some("unix:path=/run/user/1/bus"));
    assert_eq!(find(&[("XDG_RUNTIME_DIR", "run;tcp:")]), None);
}
