//! The one wait of the main thread.

use ouroboros_proto::kind::{BootMicros, clock};
use rustix::event::{PollFd, Timespec, poll};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::os::fd::OwnedFd;

/// Until one of the descriptors is ready or the deadline has passed. Any return may be early: look again.
pub fn until(fds: &mut [PollFd<'_>], deadline: Option<BootMicros>) {
    let left = deadline.map(|deadline| timespec(deadline.get().saturating_sub(clock::boot().get())));
    // A failure is a signal or a shortage that passes; the caller looks at everything and comes back.
    let _ = poll(fds, left.as_ref());
}

/// A descriptor that is readable from `deadline` on, also when the machine was suspended meanwhile, which the timeout of poll(2)
/// does not count. `None` when no descriptor is to be had; the deadline is then met by the timeout alone.
pub fn alarm(deadline: BootMicros) -> Option<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK).ok()?;
    let setting = Itimerspec { it_interval: timespec(0), it_value: timespec(deadline.get().max(1)) };
    timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &setting).ok()?;
    Some(timer)
}

fn timespec(micros: u64) -> Timespec {
    let nanos = micros.checked_rem(1_000_000).unwrap_or(0).saturating_mul(1_000);
    Timespec {
        tv_sec: i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(nanos).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_proto::kind::Millis;
    use rustix::event::PollFlags;

    #[test]
    fn an_alarm_wakes_at_its_deadline() {
        let deadline = clock::boot().plus(Millis::new(5));
        let alarm = alarm(deadline).unwrap();
        until(&mut [PollFd::new(&alarm, PollFlags::IN)], None);
        assert!(clock::boot() >= deadline);
        until(&mut [], Some(clock::boot().plus(Millis::new(2))));
    }
}
