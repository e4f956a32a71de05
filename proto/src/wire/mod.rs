//! Frames between the server and its workers.
//!
//! A Unix-domain stream carries frames: a `u32` big-endian length, then that many bytes of bincode. The first frame each way
//! is a [`ServerHello`]/[`WorkerHello`]; after it, [`ToWorker`] and [`FromWorker`]. Wire types are their own: no JSON
//! values, no tagged enums, new variants only at the end, text and lists read by `bounded`. Only [`codec`] names the encoding.

mod bounded;
pub mod codec;
mod credit;
mod frames;

pub use codec::{DecodeError, EncodeError, decode, encode, encode_into};
pub use credit::Credit;
pub use frames::{
    AgentWork, AskWork, CommandWork, FromWorker, Order, PtySize, Report, ServerHello, Stdin, ToWorker, Token,
    WorkerHello,
};

/// Number of this protocol. Changes when a frame changes in a way that an older side cannot read.
pub const PROTOCOL: u32 = 4;

/// Bytes of pieces that may be under way to a worker for one call before it says that it took some.
pub const CALL_WINDOW: u64 = 256 << 10;
