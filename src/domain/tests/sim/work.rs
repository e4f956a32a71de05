//! What a fake worker does about its attempt: start a program, watch it, report its end.

use crate::server::Frame;
use crate::worker::{Act, Key, Slip, report};
use crate::world::{Event, World};
use ouroboros_proto::kind::{AttemptId, Ending, Isolation, OutOfMemory};

impl World {
    pub fn begin(&mut self, key: Key) {
        let Some(Some((attempt, slip, done, namespace))) = self.alive(key, |worker| {
            let work = worker.work.as_ref()?;
            let namespace = match worker.isolation {
                Isolation::Namespace => 1_000 + key.1.get(),
                Isolation::Host => 1,
            };
            Some((work.attempt, work.slip, work.tool.is_some() || work.ending.is_some(), namespace))
        }) else {
            return;
        };
        if done {
            return;
        }
        match slip {
            Slip::DiesBeforeStart => {
                let exit = self.some_exit();
                return self.die(key, exit);
            }
            Slip::SetUpFails => {
                self.set_ending(key, Ending::SetUpFailed { errno: 11 });
                return self.report(key);
            }
            _ => {}
        }
        let unkillable = self.rng.percent(self.profile.unkillable / 4);
        if self.asks_models(attempt) {
            if slip == Slip::DiesAtBarrier {
                let exit = self.some_exit();
                return self.die(key, exit);
            }
            if self.continues(attempt) {
                for _ in 0..=self.rng.below(3) {
                    self.send_frame(key, Frame::Entry);
                }
            }
            if slip != Slip::Stalls {
                if self.continues(attempt) {
                    let first = if self.rng.percent(80) { 1 } else { 2 };
                    self.ask_owner_from(key, attempt, first);
                } else {
                    self.ask(key, attempt);
                }
            }
            return;
        }
        let (pid, identity) = self.os.fork(self.now, namespace, Some(attempt), unkillable);
        if unkillable {
            let after = self.rng.span(100_000, 600_000_000);
            self.at(after, Event::Yield { pid });
        }
        self.alive(key, |worker| {
            if let Some(work) = worker.work.as_mut() {
                work.tool = Some((pid, identity.clone()));
            }
        });
        if let Some(truth) = self.truth.get_mut(&attempt) {
            truth.tools.push(pid);
        }
        self.send_frame(key, Frame::Started(identity));
        if slip == Slip::DiesAtBarrier {
            let exit = self.some_exit();
            self.die(key, exit);
        }
    }

    /// The barrier of a tool opens.
    pub fn released(&mut self, key: Key, attempt: AttemptId, pid: i32) {
        let found = self.alive(key, |worker| {
            let work = worker.work.as_ref().filter(|work| work.attempt == attempt)?;
            let tool = work.tool.as_ref().filter(|(tool, _)| *tool == pid)?;
            Some((work.task, work.slip, tool.0))
        });
        let Some(Some((task, slip, pid))) = found else { return };
        let Some(proc) = self.os.table.get_mut(&pid).filter(|proc| proc.alive && !proc.runs) else { return };
        proc.runs = true;
        self.runs(attempt, task);
        match slip {
            Slip::DiesRunning => {
                let exit = self.some_exit();
                self.die(key, exit);
            }
            Slip::Stalls => self.mark("stalled"),
            _ => self.schedule(key, 500, 8_000_000, Act::ToolEnds),
        }
    }

    pub fn tool_ends(&mut self, key: Key) {
        let found = self.alive(key, |worker| {
            let work = worker.work.as_ref().filter(|work| work.ending.is_none())?;
            Some((work.attempt, work.slip, work.tool.clone()?))
        });
        let Some(Some((attempt, slip, (pid, identity)))) = found else { return };
        if !self.os.alive(pid) {
            return;
        }
        let ending = match self.rng.below(12) {
            0..=5 => Ending::Exited { code: 0 },
            6..=8 => Ending::Exited { code: 3 },
            9 => Ending::TimedOut,
            10 => Ending::Signaled { signal: 9, out_of_memory: OutOfMemory::Unknown },
            _ => Ending::Signaled { signal: 11, out_of_memory: OutOfMemory::No },
        };
        self.os.end(pid);
        self.set_ending(key, ending);
        if let Some(truth) = self.truth.get_mut(&attempt) {
            truth.natural = Some(ending);
        }
        if self.rng.percent(80) {
            self.send_frame(key, Frame::Ended(identity));
        }
        self.ended(key, slip);
    }

    /// The worker knows how its attempt ended, and reports it or dies over it.
    pub fn ended(&mut self, key: Key, slip: Slip) {
        match slip {
            Slip::DiesAfterEnd | Slip::DiesAfterEndKeeping => {
                let keep = slip == Slip::DiesAfterEndKeeping;
                self.keep(key, keep);
                let exit = self.some_exit();
                self.die(key, exit);
            }
            _ => self.schedule(key, 50, 5_000, Act::Report),
        }
    }

    pub fn set_ending(&mut self, key: Key, ending: Ending) {
        self.alive(key, |worker| {
            if let Some(work) = worker.work.as_mut() {
                work.ending.get_or_insert(ending);
            }
        });
    }

    /// The worker writes its ending to disk.
    fn keep(&mut self, key: Key, keep: bool) {
        self.alive(key, |worker| {
            if let Some(work) = worker.work.as_mut() {
                work.kept |= keep && work.ending.is_some();
            }
        });
    }

    pub fn report(&mut self, key: Key) {
        let found = self.alive(key, |worker| {
            let work = worker.work.as_ref().filter(|work| work.terminal.is_none())?;
            Some((work.ending?, work.slip))
        });
        let Some(Some((ending, slip))) = found else { return };
        self.send_frame(key, Frame::Terminal(report(ending)));
        if slip == Slip::DiesAfterTerminal {
            let keep = self.rng.percent(50);
            self.keep(key, keep);
            let exit = self.some_exit();
            self.die(key, exit);
        }
    }

    pub fn stop_tool(&mut self, key: Key) {
        let found = self.alive(key, |worker| {
            let work = worker.work.as_ref().filter(|work| work.ending.is_none())?;
            Some(work.tool.clone())
        });
        let Some(Some(tool)) = found else { return };
        if let Some((pid, identity)) = tool
            && self.os.alive(pid)
        {
            if !self.os.kill(pid) {
                return self.mark("tool cannot be stopped");
            }
            self.send_frame(key, Frame::Ended(identity));
        }
        self.set_ending(key, Ending::Stopped);
        self.schedule(key, 50, 5_000, Act::Report);
    }
}
