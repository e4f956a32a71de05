//! What is kept of an attempt on disk: its streams, and its last report until the server has it.

pub mod capture;
pub mod place;
mod stream;

pub use capture::Capture;
pub use place::Place;
pub use stream::Kept;
