//! Signs of life for a service manager that asked for them (sd_watchdog_enabled(3)). Each one stands for an answer that came all the
//! way from the server: a launcher that lives says nothing about that.

use super::notify::Notify;
use crate::client::Client;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How often the manager wants to hear of us; half of what it allows. `None` when it does not ask this process.
pub fn interval(variable: impl Fn(&str) -> Option<OsString>) -> Option<Duration> {
    let number = |name: &str| variable(name)?.to_str()?.parse::<u64>().ok();
    let meant = variable("WATCHDOG_PID").is_none() || number("WATCHDOG_PID") == Some(u64::from(std::process::id()));
    let allowed = number("WATCHDOG_USEC").filter(|micros| meant && *micros > 0)?;
    Some(Duration::from_micros(allowed / 2))
}

/// Begins, on a thread that lives as long as the process.
///
/// # Errors
/// No thread is to be had.
pub fn start(interval: Duration, socket: PathBuf, notify: Notify) -> std::io::Result<()> {
    std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
        let client = Client::new(socket);
        loop {
            if client.get("/api/health").is_ok() {
                notify.alive();
            }
            std::thread::sleep(interval);
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_of_this_process() {
        let ask = |usec: Option<&str>, pid: Option<String>| {
            let usec = usec.map(OsString::from);
            interval(move |name| match name {
                "WATCHDOG_USEC" => usec.clone(),
                "WATCHDOG_PID" => pid.clone().map(OsString::from),
                _ => None,
            })
        };
        assert_eq!(ask(None, None), None);
        assert_eq!(ask(Some("3000000"), None), Some(Duration::from_millis(1_500)));
        assert_eq!(ask(Some("3000000"), Some(std::process::id().to_string())), Some(Duration::from_millis(1_500)));
        assert_eq!(ask(Some("3000000"), Some("1".to_owned())), None);
        assert_eq!(ask(Some("0"), None), None);
        assert_eq!(ask(Some("soon"), None), None);
    }
}
