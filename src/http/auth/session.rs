//! Browsers that are logged in. Kept in memory, as hashes: a restart of the server ends every session.

use super::secret::{self, Digest};
use ouroboros_proto::api::ApiError;
use ouroboros_proto::kind::{BootMicros, Millis, clock};
use ouroboros_proto::limits;
use std::sync::{Mutex, PoisonError};

/// How long a session lasts at most.
const LIFE: Millis = Millis::seconds(30 * 86_400);

/// Names a session inside this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(u64);

#[derive(Debug)]
struct Session {
    id: SessionId,
    cookie: Digest,
    confirm: Digest,
    until: BootMicros,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    sessions: Vec<Session>,
}

/// The sessions, oldest first.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<Table>);

/// What a browser is given: the cookie, and the confirmation that its page keeps for itself.
#[derive(Debug)]
pub struct Credentials {
    /// Value of the cookie.
    pub cookie: String,
    /// Value of the confirmation header.
    pub confirm: String,
}

impl Sessions {
    /// Logs a browser in. When there are too many sessions the oldest ends.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn begin(&self) -> Result<Credentials, ApiError> {
        let credentials = Credentials { cookie: secret::random()?, confirm: secret::random()? };
        let max = usize::try_from(limits::SESSIONS.max).unwrap_or(usize::MAX);
        let now = clock::boot();
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.sessions.retain(|session| session.until > now);
        let excess = (table.sessions.len() + 1).saturating_sub(max);
        table.sessions.drain(..excess);
        table.next += 1;
        let id = SessionId(table.next);
        table.sessions.push(Session {
            id,
            cookie: Digest::of(&credentials.cookie),
            confirm: Digest::of(&credentials.confirm),
            until: now.plus(LIFE),
        });
        Ok(credentials)
    }

    /// The session with this cookie.
    #[must_use]
    pub fn find(&self, cookie: &str) -> Option<SessionId> {
        let now = clock::boot();
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table
            .sessions
            .iter()
            .find(|session| session.until > now && session.cookie.matches(cookie))
            .map(|found| found.id)
    }

    /// Whether `given` is the confirmation of this session.
    #[must_use]
    pub fn confirms(&self, id: SessionId, given: &str) -> bool {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.sessions.iter().any(|session| session.id == id && session.confirm.matches(given))
    }

    /// Ends one session.
    pub fn end(&self, id: SessionId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).sessions.retain(|session| session.id != id);
    }

    /// Ends all of them.
    pub fn end_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).sessions.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_bounded_and_can_be_ended() {
        let sessions = Sessions::default();
        let first = sessions.begin().unwrap();
        let id = sessions.find(&first.cookie).unwrap();
        assert!(sessions.confirms(id, &first.confirm) && !sessions.confirms(id, &first.cookie));
        for _ in 0..limits::SESSIONS.max {
            sessions.begin().unwrap();
        }
        assert_eq!(sessions.find(&first.cookie), None, "the oldest made room");
        let last = sessions.begin().unwrap();
        let id = sessions.find(&last.cookie).unwrap();
        sessions.end(id);
        assert_eq!(sessions.find(&last.cookie), None);
        let other = sessions.begin().unwrap();
        sessions.end_all();
        assert_eq!(sessions.find(&other.cookie), None);
    }
}
