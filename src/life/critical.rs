//! Threads without which there is no server. When one of them fails, the process ends at once: the launcher starts another
//! life from what is durable, and nothing goes on half.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;

/// Starts such a thread.
///
/// # Errors
/// When no thread is to be had.
pub fn spawn(name: &'static str, act: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        if catch_unwind(AssertUnwindSafe(act)).is_err() {
            fail(name);
        }
    })
}

/// Ends the process as crashed. Workers end with it, by their lifelines.
pub fn fail(why: &str) -> ! {
    tracing::error!(why, "a part without which there is no server failed; this life ends");
    eprintln!("ouroboros-server: a part without which there is no server failed ({why}); see the log");
    std::process::abort()
}
