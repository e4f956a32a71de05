//! The session's keyring: the Secret Service over D-Bus.
//!
//! Spoken as the specification has it (specifications.freedesktop.org/secret-service-spec), with as few calls as do. The
//! algorithm is `plain`: the identity crosses a Unix socket that belongs to the user, and who could read along there could as
//! well ask the service. Only Unix sockets are accepted as the bus, nothing that could leave the machine.

use crate::keyring::{Keyring, KeyringError};
use crate::secret::Secret;
use std::collections::HashMap;
use std::ffi::OsString;
use std::time::Duration;
use zbus::connection::Builder;
use zbus::{Connection, DynamicType, Message, ObjectPath, OwnedObjectPath, OwnedVariant, Variant};
use zeroize::Zeroize as _;

/// Longest time for all calls together. A service that the bus has to start first takes one or two seconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most identities that are looked at.
const MAX_IDENTITIES: usize = 16;

const SERVICE: &str = "org.freedesktop.secrets";
const SERVICE_PATH: &str = "/org/freedesktop/secrets";
const SERVICE_INTERFACE: &str = "org.freedesktop.Secret.Service";
const COLLECTION_INTERFACE: &str = "org.freedesktop.Secret.Collection";
const PROMPT_INTERFACE: &str = "org.freedesktop.Secret.Prompt";
const IS_LOCKED: &str = "org.freedesktop.Secret.Error.IsLocked";

/// What our items are found by.
const ATTRIBUTES: [(&str, &str); 2] = [("application", "ouroboros"), ("purpose", "secrets-identity")];

/// How people see the item in their keyring's window.
const LABEL: &str = "Ouroboros: opens secrets.age";

/// A secret as it travels: session, parameters, value, content type.
type Travelling = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

/// The keyring of one session.
#[derive(Debug, Clone)]
pub struct SessionKeyring {
    address: String,
    patience: Duration,
}

impl SessionKeyring {
    /// The keyring of the session that this environment belongs to, if it has a bus. `variable` looks up an environment variable.
    #[must_use]
    pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let text = |name: &str| variable(name).and_then(|value| value.into_string().ok());
        if let Some(addresses) = text("DBUS_SESSION_BUS_ADDRESS") {
            let address = addresses.split(';').find(|address| address.starts_with("unix:"))?;
            return Some(Self::at(address.to_owned(), PATIENCE));
        }
        let dir = text("XDG_RUNTIME_DIR").filter(|dir| dir.starts_with('/'))?;
        // Other characters would have to be escaped in an address; the directory is /run/user/<uid> everywhere.
        let plain = dir.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.'));
        plain.then(|| Self::at(format!("unix:path={dir}/bus"), PATIENCE))
    }

    fn at(address: String, patience: Duration) -> Self {
        Self { address, patience }
    }

    /// Makes the calls on a thread of their own: the caller may be inside a runtime, which must not be blocked or nested.
    fn run<T: Send>(
        &self,
        calls: impl AsyncFnOnce(&Link) -> Result<T, KeyringError> + Send,
    ) -> Result<T, KeyringError> {
        let bounded = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
            let runtime = runtime.map_err(|error| KeyringError::Failed(error.to_string()))?;
            runtime.block_on(async {
                let all = async { calls(&Link::open(&self.address).await?).await };
                tokio::time::timeout(self.patience, all).await.unwrap_or(Err(KeyringError::Silent))
            })
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("keyring".to_owned()).spawn_scoped(scope, bounded);
            let thread = thread.map_err(|error| KeyringError::Failed(error.to_string()))?;
            thread.join().unwrap_or_else(|_| Err(KeyringError::Failed("the thread that asks it ended".to_owned())))
        })
    }
}

impl Keyring for SessionKeyring {
    fn identities(&self) -> Result<Vec<Secret>, KeyringError> {
        self.run(async |link| {
            let (mut open, locked) = link.search().await?;
            if open.is_empty() && !locked.is_empty() {
                return Err(KeyringError::Locked);
            }
            open.truncate(MAX_IDENTITIES);
            if open.is_empty() { Ok(Vec::new()) } else { link.read(&open).await }
        })
    }

    fn keep(&self, identity: &Secret) -> Result<(), KeyringError> {
        self.run(async |link| link.create(identity).await)
    }
}

/// A connection to the service, with a session for secrets.
struct Link {
    bus: Connection,
    session: OwnedObjectPath,
}

impl Link {
    async fn open(address: &str) -> Result<Self, KeyringError> {
        // No bus where one should be is no keyring; what comes later is a failure of it.
        let bus = Builder::address(address).build().await.map_err(|_| KeyringError::Absent)?;
        let opened = call(&bus, SERVICE_PATH, SERVICE_INTERFACE, "OpenSession", &("plain", Variant::from(""))).await?;
        let (_, session): (OwnedVariant, OwnedObjectPath) = opened.body().deserialize().map_err(failed)?;
        Ok(Self { bus, session })
    }

    /// Our items: those that can be read, and those that are locked.
    async fn search(&self) -> Result<(Vec<OwnedObjectPath>, Vec<OwnedObjectPath>), KeyringError> {
        let found =
            call(&self.bus, SERVICE_PATH, SERVICE_INTERFACE, "SearchItems", &(HashMap::from(ATTRIBUTES),)).await?;
        found.body().deserialize().map_err(failed)
    }

    async fn read(&self, items: &[OwnedObjectPath]) -> Result<Vec<Secret>, KeyringError> {
        let read = call(&self.bus, SERVICE_PATH, SERVICE_INTERFACE, "GetSecrets", &(items, &self.session)).await?;
        let secrets: HashMap<OwnedObjectPath, Travelling> = read.body().deserialize().map_err(failed)?;
        let texts = secrets.into_values().map(|(_, _, value, _)| match String::from_utf8(value) {
            Ok(text) => Secret::new(text).ok(),
            Err(error) => {
                error.into_bytes().zeroize();
                None
            }
        });
        Ok(texts.flatten().collect())
    }

    async fn create(&self, identity: &Secret) -> Result<(), KeyringError> {
        let alias = call(&self.bus, SERVICE_PATH, SERVICE_INTERFACE, "ReadAlias", &("default",)).await?;
        let collection: OwnedObjectPath = alias.body().deserialize().map_err(failed)?;
        if collection.as_str() == "/" {
            return Err(KeyringError::Failed("it has no default collection".to_owned()));
        }
        let properties = HashMap::from([
            ("org.freedesktop.Secret.Item.Label", Variant::from(LABEL)),
            ("org.freedesktop.Secret.Item.Attributes", Variant::from(HashMap::from(ATTRIBUTES))),
        ]);
        let secret = (&self.session, Vec::<u8>::new(), identity.expose().as_bytes(), "text/plain");
        let created =
            call(&self.bus, collection.as_str(), COLLECTION_INTERFACE, "CreateItem", &(properties, secret, false))
                .await?;
        let (item, prompt): (OwnedObjectPath, OwnedObjectPath) = created.body().deserialize().map_err(failed)?;
        if item.as_str() != "/" {
            return Ok(());
        }
        // It wants to ask the user, who expects no window of ours.
        let _ = call(&self.bus, prompt.as_str(), PROMPT_INTERFACE, "Dismiss", &()).await;
        Err(KeyringError::Locked)
    }
}

async fn call<B>(bus: &Connection, path: &str, interface: &str, method: &str, body: &B) -> Result<Message, KeyringError>
where
    B: serde::Serialize + DynamicType,
{
    let path = ObjectPath::try_from(path).map_err(|error| KeyringError::Failed(error.to_string()))?;
    bus.call_method(Some(SERVICE), path, Some(interface), method, body).await.map_err(failed)
}

fn failed(error: zbus::Error) -> KeyringError {
    match error {
        zbus::Error::FDO(error)
            if matches!(*error, zbus::fdo::Error::ServiceUnknown(_) | zbus::fdo::Error::NameHasNoOwner(_)) =>
        {
            KeyringError::Absent
        }
        zbus::Error::MethodError(name, _, _) if name.as_str() == IS_LOCKED => KeyringError::Locked,
        // An answer that cannot be read may be quoted in the error, so only its kind is told.
        zbus::Error::MethodError(name, _, _) => KeyringError::Failed(name.to_string()),
        zbus::Error::InputOutput(error) => KeyringError::Failed(error.to_string()),
        zbus::Error::FDO(error) => KeyringError::Failed(error.to_string()),
        _ => KeyringError::Failed("it did not answer as specified".to_owned()),
    }
}

#[cfg(test)]
mod tests;
