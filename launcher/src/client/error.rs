//! Why a request has no answer.

use ouroboros_proto::api::Code;
use serde::Deserialize;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// A request did not bring what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens: there is no server.
    #[error("no server listens on {}", socket.display())]
    NotRunning {
        /// The socket.
        socket: PathBuf,
    },
    /// The socket is there and cannot be used.
    #[error("the socket {} cannot be used: {source}", socket.display())]
    Unreachable {
        /// The socket.
        socket: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The server refused, or failed and said so.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
    /// The connection broke or fell silent: whether the request was carried out is not known.
    #[error("the connection to the server was lost: {0}")]
    Lost(io::Error),
    /// The answer is not one that this build understands.
    #[error("the server's answer cannot be read: {0}")]
    Malformed(String),
}

/// The body of an error answer. Codes are text, since a newer server may have more of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Refusal {
    /// What happened, for programs.
    pub code: String,
    /// What happened and what was kept.
    pub message: String,
    /// What to do.
    #[serde(default)]
    pub remedy: Option<String>,
    /// Facts.
    #[serde(default)]
    pub detail: Option<Value>,
}

impl Refusal {
    /// What an error answer with this body says.
    pub fn read(status: u16, body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_else(|_| Self {
            code: Code::Internal.as_str().to_owned(),
            message: format!("The server answered with status {status} and no explanation."),
            remedy: Some("Look at `ouroboros logs --server`.".to_owned()),
            detail: None,
        })
    }

    /// Whether it is this refusal.
    pub fn is(&self, code: Code) -> bool {
        self.code == code.as_str()
    }
}

impl ClientError {
    /// Sorts a failure to connect.
    pub fn connecting(socket: &Path, source: io::Error) -> Self {
        let socket = socket.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory => {
                Self::NotRunning { socket }
            }
            _ => Self::Unreachable { socket, source },
        }
    }

    /// Whether it is this refusal.
    pub fn is(&self, code: Code) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.is(code))
    }

    /// Whether a later try may go better by itself: the server is starting or busy.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::NotRunning { .. } | Self::Lost(_) => true,
            Self::Refused(_) => {
                [Code::Busy, Code::TooManyConnections, Code::TooManyStreams].into_iter().any(|code| self.is(code))
            }
            Self::Unreachable { .. } | Self::Malformed(_) => false,
        }
    }

    /// Whether a later try may go better, be it with the server that follows this one.
    pub fn passes_with_its_server(&self) -> bool {
        self.is_passing() || self.is(Code::Stopping)
    }
}
