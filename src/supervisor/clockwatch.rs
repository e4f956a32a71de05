//! Notices that the wall clock was set or the machine woke up: what was not due may be due now.

use super::inbox::Inbox;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::sync::Arc;

/// Starts the thread. It sleeps until the clock is set; there is no tick.
///
/// # Errors
/// When no timer or thread is to be had.
pub fn start(inbox: Arc<Inbox>) -> io::Result<()> {
    let timer = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::CLOEXEC)?;
    std::thread::Builder::new().name("clock".to_owned()).spawn(move || {
        // Far away: only the cancelling is of interest (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET).
        let far = Timespec { tv_sec: i64::MAX / 4, tv_nsec: 0 };
        let never = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: far };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        loop {
            if let Err(error) = timerfd_settime(&timer, flags, &never) {
                return tracing::warn!(%error, "the clock cannot be watched; delays follow it when something else happens");
            }
            match rustix::io::read(&timer, &mut [0_u8; 8]) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::CANCELED) => inbox.nudge(),
                Err(error) => return tracing::warn!(%error, "the clock cannot be watched any more"),
            }
        }
    })?;
    Ok(())
}
