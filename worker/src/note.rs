//! Lines on standard error, for the server's log.

use std::fmt::Display;
use std::io::Write;

/// Writes one line. A standard error that is gone is no reason to stop.
pub fn note(what: impl Display) {
    let _ = writeln!(std::io::stderr(), "{what}");
}
