//! The emergency stop. It bypasses every queue, runs on a thread of its own, and a second thread leaves for it when it takes too
//! long.

use super::table::Table;
use ouroboros_process::{Signal, durable, reaper};
use ouroboros_proto::kind::ExitCode;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Time after which the process leaves, whatever is stuck.
const BOUND: Duration = Duration::from_secs(3);

/// Kills everything this server started and leaves with the panic code. The marker makes the next start hold the queue. Never returns to anybody who matters.
pub fn panic(table: Arc<Table>, marker: PathBuf) {
    let watchdog = std::thread::Builder::new().name("panic-watchdog".to_owned()).spawn(|| {
        std::thread::sleep(BOUND);
        leave();
    });
    let act = move || {
        for child in table.children() {
            let _ = child.pidfd().signal(Signal::KILL);
        }
        if let Err(error) = durable::replace(&marker, b"panic\n") {
            tracing::error!(%error, "the panic marker cannot be written");
        }
        let report = reaper::end_everything(&|_| false, BOUND);
        for survivor in &report.survivors {
            tracing::error!(pid = survivor.pid, command = %survivor.command, "survives the emergency stop");
        }
        leave();
    };
    if watchdog.is_err() || std::thread::Builder::new().name("panic".to_owned()).spawn(act).is_err() {
        leave();
    }
}

/// Leaves without unwinding: nothing may hold it up.
#[expect(clippy::exit, reason = "the emergency stop is the one place that must not return to its caller")]
fn leave() -> ! {
    std::process::exit(i32::from(ExitCode::Panic.code()))
}
