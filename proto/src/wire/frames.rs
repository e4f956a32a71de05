//! The frames themselves.

use super::bounded;
use crate::kind::{
    AttemptId, AttemptReport, Generation, Identity, InstallationId, Millis, ProcessId, Stream, TaskId, WorkerId,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A secret that a worker is started with and shows once; proves that the connection is that worker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token(pub [u8; 32]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// First frame of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerHello {
    /// [`PROTOCOL`](super::PROTOCOL) of the worker. Stays the first field for ever.
    pub protocol: u32,
    /// Build of the worker's binary.
    #[serde(deserialize_with = "bounded::text")]
    pub build: String,
    /// Which worker this is.
    pub worker: WorkerId,
    /// What it was started with.
    pub token: Token,
    /// The generation that started it.
    pub generation: Generation,
    /// Inode of its PID namespace.
    pub namespace: u64,
}

/// First frame of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerHello {
    /// [`PROTOCOL`](super::PROTOCOL) of the server. Stays the first field for ever.
    pub protocol: u32,
    /// Build of the server's binary.
    #[serde(deserialize_with = "bounded::text")]
    pub build: String,
    /// Its generation.
    pub generation: Generation,
    /// Its installation.
    pub installation: InstallationId,
    /// Why the worker is turned away; `None` means welcome.
    #[serde(deserialize_with = "bounded::optional_text")]
    pub refused: Option<String>,
}

/// A frame from the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToWorker {
    /// The attempt it is about.
    pub attempt: AttemptId,
    /// The server's generation.
    pub generation: Generation,
    /// What to do.
    pub order: Order,
}

/// What the server wants of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Run this command. Sent once, to a worker without work.
    Run {
        /// The task.
        task: TaskId,
        /// What to run.
        work: Box<CommandWork>,
    },
    /// The process is recorded: open its barrier.
    Release {
        /// The process, as the worker named it.
        process: ProcessId,
    },
    /// End the attempt: TERM, then KILL after the grace. A zero grace kills at once.
    Stop {
        /// Time between the two.
        grace: Millis,
    },
    /// Everything up to this sequence number is durable; after the terminal report's number, leave.
    Acknowledge {
        /// The number.
        sequence: u64,
    },
    /// Send every report after this sequence number again: what was sent before may not have been recorded.
    Resend {
        /// The last recorded number.
        after: u64,
    },
    /// Ask a model. Sent once, to a worker without work.
    Ask {
        /// The task.
        task: TaskId,
        /// What to ask.
        work: Box<AskWork>,
    },
    /// More of an answer that is being written.
    Piece {
        /// The call, as the worker numbered it.
        call: u32,
        /// A [`Piece`](crate::agent::Piece) as JSON.
        #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
        piece: Vec<u8>,
    },
    /// The end of a call. What it cost is recorded.
    CallOver {
        /// The call.
        call: u32,
        /// A [`ModelEnd`](crate::agent::ModelEnd) as JSON.
        #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
        end: Vec<u8>,
    },
    /// Work on a task in words. Sent once, to a worker without work.
    Agent {
        /// The task.
        task: TaskId,
        /// What to work on.
        work: Box<AgentWork>,
    },
    /// What the owner answered, or that nobody will. Said again when the same is asked again.
    Answered {
        /// The request, as the worker numbered it.
        number: u32,
        /// An [`OwnerAnswer`](crate::agent::OwnerAnswer) as JSON.
        #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
        answer: Vec<u8>,
        /// The owner's rules as they stand now, a list of [`Rule`](crate::agent::Rule) as JSON.
        #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
        rules: Vec<u8>,
    },
    /// Somebody says something to a task in words while it works. May come more than once; the number tells.
    Message {
        /// Counted from 1 within the task.
        number: u32,
        /// What is said.
        #[serde(deserialize_with = "bounded::text")]
        text: String,
    },
    /// Stop the turn that is under way: the model's call, or the tools. The task goes on.
    Interrupt {
        /// Whether it then waits for a message.
        hold: bool,
    },
    /// Cancel one call of a tool in the turn that is under way: what of it runs is ended. The turn goes on.
    CancelCall {
        /// Its place among all calls of the task, counted from 1.
        call: u32,
    },
}

/// A command to run under custody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandWork {
    /// Program and arguments; at least one.
    #[serde(deserialize_with = "bounded::texts")]
    pub argv: Vec<String>,
    /// The whole environment.
    #[serde(deserialize_with = "bounded::pairs")]
    pub env: Vec<(String, String)>,
    /// Working directory, absolute.
    #[serde(deserialize_with = "bounded::text")]
    pub cwd: String,
    /// File mode creation mask, when the submitter had one.
    pub umask: Option<u32>,
    /// Standard input.
    pub stdin: Stdin,
    /// A terminal for the process, when one was asked for.
    pub pty: Option<PtySize>,
    /// Time from release until it is ended; `None` is no bound.
    pub timeout: Option<Millis>,
    /// Whether `no_new_privs` is set.
    pub no_new_privs: bool,
    /// Bytes kept of each stream: half from its head, half from its tail.
    pub output_limit: u64,
    /// Output files are this path with `.stdout`, `.stderr`, `.stdout.tail`, `.stderr.tail`; the unacknowledged terminal
    /// report is kept at `.ending`.
    #[serde(deserialize_with = "bounded::text")]
    pub output_base: String,
}

/// A question to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskWork {
    /// A [`ModelRequest`](crate::agent::ModelRequest) as JSON.
    #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
    pub request: Vec<u8>,
    /// Time until it is given up; `None` is no bound.
    pub timeout: Option<Millis>,
    /// As for a command. The answer's text is standard output, what is to be said about it standard error.
    pub output_limit: u64,
    /// As for a command.
    #[serde(deserialize_with = "bounded::text")]
    pub output_base: String,
}

/// A task in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentWork {
    /// A [`Job`](crate::agent::Job) as JSON.
    #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
    pub job: Vec<u8>,
    /// What names this work to providers that keep caches by a name; at most 64 characters.
    #[serde(deserialize_with = "bounded::text")]
    pub session: String,
    /// The folder it works in, absolute.
    #[serde(deserialize_with = "bounded::text")]
    pub folder: String,
    /// A file with what earlier attempts recorded, a line of JSON each ([`Entry`](crate::agent::Entry)); empty at the first one.
    #[serde(deserialize_with = "bounded::text")]
    pub transcript: String,
    /// Where the bytes of files are kept before they are changed.
    #[serde(deserialize_with = "bounded::text")]
    pub versions: String,
    /// Places that no tool may look into, absolute.
    #[serde(deserialize_with = "bounded::texts")]
    pub fenced: Vec<String>,
    /// Time until it is given up; `None` is no bound.
    pub timeout: Option<Millis>,
    /// As for a command. What is delivered is standard output, what is said on the way standard error.
    pub output_limit: u64,
    /// As for a command.
    #[serde(deserialize_with = "bounded::text")]
    pub output_base: String,
    /// Where programs that it runs have their home and their temporary files.
    #[serde(deserialize_with = "bounded::text")]
    pub scratch: String,
    /// A file with what the owner says to every agent; it need not exist.
    #[serde(deserialize_with = "bounded::text")]
    pub instructions: String,
    /// Whether programs also run where this machine cannot confine them as they should be.
    pub may_lack_confinement: bool,
    /// Origins at private addresses that pages may be fetched from.
    #[serde(deserialize_with = "bounded::texts")]
    pub private_origins: Vec<String>,
    /// Directories with the owner's skills; they need not exist.
    #[serde(deserialize_with = "bounded::texts")]
    pub skills: Vec<String>,
    /// What the owner has allowed or forbidden for good, a list of [`Rule`](crate::agent::Rule) as JSON.
    #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
    pub rules: Vec<u8>,
    /// How many entries at the begin of the transcript are another task's, which this one continues.
    pub inherited: u64,
    /// What was said to the task and is not in its transcript yet, by number.
    #[serde(deserialize_with = "bounded::numbered")]
    pub messages: Vec<(u32, String)>,
    /// [`Facts`](crate::agent::Facts) as JSON.
    #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
    pub facts: Vec<u8>,
    /// Requests of earlier attempts that are open, or were closed when nobody was there to hear it: the calls that asked have not begun.
    #[serde(deserialize_with = "bounded::numbers")]
    pub unheard: Vec<u32>,
}

/// Standard input of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdin {
    /// `/dev/null`.
    Null,
    /// The content of this file.
    File {
        /// Its absolute path.
        #[serde(deserialize_with = "bounded::text")]
        path: String,
    },
}

/// Size of a terminal, in character cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtySize {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// A frame from a worker with an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FromWorker {
    /// Its attempt.
    pub attempt: AttemptId,
    /// The generation it works for.
    pub generation: Generation,
    /// Counted from 1 per attempt for every report that is recorded; the others carry the number of the last one before them.
    pub sequence: u64,
    /// What it reports.
    pub report: Report,
}

/// What a worker reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// A process stands behind its barrier; it runs only after [`Order::Release`].
    ProcessStarted {
        /// The worker's name for it.
        process: ProcessId,
        /// Its identity, in the worker's PID namespace.
        identity: Identity,
        /// What it runs, for people; at most 200 characters.
        #[serde(deserialize_with = "bounded::text")]
        command: String,
    },
    /// That process is reaped and its group is empty.
    ProcessEnded {
        /// Its name.
        process: ProcessId,
    },
    /// The files of a stream grew. Not durable, not acknowledged.
    Output {
        /// Which stream.
        stream: Stream,
        /// Bytes that the process has written to it so far.
        written: u64,
    },
    /// The end. Sent after the worker's whole tree is gone and the output is on disk.
    Terminal(AttemptReport),
    /// Ask a model. Not durable, not acknowledged: the answer is [`Order::CallOver`], or none when the server is gone.
    Call {
        /// Counted from 1 within the attempt.
        call: u32,
        /// A [`ModelRequest`](crate::agent::ModelRequest) as JSON.
        #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
        request: Vec<u8>,
    },
    /// A call is called off; its end follows.
    CallOff {
        /// The call.
        call: u32,
    },
    /// Pieces of this many bytes were taken: as many more may come.
    Taken {
        /// The call.
        call: u32,
        /// Bytes.
        bytes: u64,
    },
    /// More of the transcript of a task.
    Entry {
        /// An [`Entry`](crate::agent::Entry) as JSON.
        #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
        entry: Vec<u8>,
    },
    /// Ask the owner. The answer is [`Order::Answered`].
    Request {
        /// The place of the call among all calls of the task: an attempt that asks the same again names the same number.
        number: u32,
        /// An [`OwnerRequest`](crate::agent::OwnerRequest) as JSON.
        #[serde(serialize_with = "serde_bytes::serialize", deserialize_with = "bounded::bytes")]
        request: Vec<u8>,
    },
}
