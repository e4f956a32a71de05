//! Deaths: of workers, of what they started, of whole servers' worlds.

use crate::server::Message;
use crate::worker::{Act, Key, Life};
use crate::world::{Event, World};
use ouroboros_domain::{Input, WorkerEvent, WorkerExit};
use ouroboros_proto::kind::Isolation;

impl World {
    /// A worker dies. Inside a namespace, and at a barrier, its tools die with it; others are ended by the server.
    pub fn die(&mut self, key: Key, exit: WorkerExit) {
        let Some(worker) = self.workers.get_mut(&key).filter(|worker| worker.life == Life::Alive) else { return };
        worker.life = Life::Dead(exit);
        let (pid, contained) = (worker.pid, worker.isolation == Isolation::Namespace);
        let tool = worker.work.as_ref().and_then(|work| work.tool.as_ref()).map(|(pid, _)| *pid);
        self.os.end(pid);
        self.log(|| format!("worker {}/{} pid {pid} dies {exit:?}", key.0, key.1));
        if let Some(tool) = tool
            && self.os.table.get(&tool).is_some_and(|proc| contained || !proc.runs)
        {
            self.os.end(tool);
        }
        self.watch(key);
    }

    /// The server looks after a worker of its own that died: what it started is ended, then its end is told.
    fn watch(&mut self, key: Key) {
        if self.server.as_ref().is_none_or(|server| server.generation != key.0) {
            return;
        }
        let Some(worker) = self.workers.get(&key) else { return };
        let tool = worker.work.as_ref().and_then(|work| work.tool.as_ref()).map(|(pid, _)| *pid);
        if tool.is_none_or(|tool| self.os.kill(tool)) {
            self.tell_gone(key);
        } else {
            self.tell_wedged(key);
        }
    }

    pub fn tell_gone(&mut self, key: Key) {
        self.calls_dropped(key);
        self.tell(key, Message::Gone { key });
    }

    pub fn tell_wedged(&mut self, key: Key) {
        self.mark("wedged");
        let Some(worker) = self.workers.get_mut(&key) else { return };
        worker.wedged = true;
        let survivors = vec![worker.identity.clone()];
        self.tell(key, Message::Input(Input::Worker { worker: key.1, event: WorkerEvent::Wedged { survivors } }));
    }

    /// The server kills a worker of its own with everything in it.
    pub fn end_worker(&mut self, key: Key) {
        let Some(worker) = self.workers.get_mut(&key) else { return };
        match worker.life {
            Life::Spawning => worker.condemned = true,
            Life::Alive if self.os.table.get(&worker.pid).is_some_and(|proc| proc.unkillable) => {
                let tool = worker.work.as_ref().and_then(|work| work.tool.as_ref()).map(|(pid, _)| *pid);
                if let Some(tool) = tool {
                    self.os.kill(tool);
                }
                self.tell_wedged(key);
            }
            Life::Alive => self.die(key, WorkerExit::Signal(9)),
            Life::Dead(_) | Life::Never => {}
        }
    }

    /// SIGKILL to one process, whatever it is; whether it is dead now.
    pub fn kill(&mut self, pid: i32) -> bool {
        if !self.os.alive(pid) {
            return true;
        }
        let worker = self.workers.values().find(|worker| worker.pid == pid).map(|worker| worker.key);
        if self.os.table.get(&pid).is_some_and(|proc| proc.unkillable) {
            return false;
        }
        match worker {
            Some(key) => self.die(key, WorkerExit::Signal(9)),
            None => self.os.end(pid),
        }
        true
    }

    /// What could not be killed has finally died.
    pub fn yields(&mut self, pid: i32) {
        let Some(proc) = self.os.table.get_mut(&pid).filter(|proc| proc.unkillable) else { return };
        proc.unkillable = false;
        let attempt = proc.attempt;
        let wedged = |key: Key, world: &Self| world.workers.get(&key).is_some_and(|worker| worker.wedged);
        let owner = match attempt {
            Some(attempt) => self.truth.get(&attempt).map(|truth| truth.worker),
            None => self.workers.values().find(|worker| worker.pid == pid).map(|worker| worker.key),
        };
        let Some(key) = owner.filter(|key| wedged(*key, self)) else { return };
        self.os.end(pid);
        match self.workers.get(&key).map(|worker| worker.life) {
            Some(Life::Alive) if attempt.is_none() => self.die(key, WorkerExit::Signal(9)),
            Some(Life::Dead(_)) => self.watch(key),
            _ => {}
        }
    }

    /// The server of these workers is dead: each notices on its lifeline, or does not.
    pub fn orphan_all(&mut self) {
        let keys: Vec<Key> = self.workers.keys().copied().collect();
        for key in keys {
            let survives = self.rng.percent(self.profile.survives);
            match self.workers.get_mut(&key) {
                Some(worker) if worker.life == Life::Spawning => worker.life = Life::Never,
                Some(worker) if worker.life == Life::Alive && survives => {
                    self.mark("worker outlives its server");
                    self.schedule(key, 100_000, 600_000_000, Act::Orphaned);
                }
                Some(worker) if worker.life == Life::Alive => self.schedule(key, 100, 50_000, Act::Orphaned),
                _ => {}
            }
        }
    }

    /// A worker without a server kills what it started, leaves its ending on disk and goes.
    pub fn orphaned(&mut self, key: Key) {
        let Some(worker) = self.workers.get_mut(&key).filter(|worker| worker.life == Life::Alive) else { return };
        let pid = worker.pid;
        let tool = worker.work.as_ref().and_then(|work| work.tool.as_ref()).map(|(pid, _)| *pid);
        if let Some(work) = worker.work.as_mut() {
            work.kept = work.ending.is_some();
        }
        if let Some(tool) = tool {
            self.os.kill(tool);
        }
        if self.os.table.get(&pid).is_some_and(|proc| proc.unkillable) {
            return self.schedule(key, 1_000_000, 60_000_000, Act::Orphaned);
        }
        self.die(key, WorkerExit::Code(100));
    }

    /// Everything that runs stops running, at once.
    pub fn end_all(&mut self) {
        for proc in self.os.table.values_mut() {
            proc.alive = false;
        }
        for worker in self.workers.values_mut() {
            worker.life = match worker.life {
                Life::Alive => Life::Dead(WorkerExit::Signal(9)),
                Life::Spawning => Life::Never,
                other => other,
            };
        }
    }

    /// Nothing goes wrong any more: what stalled goes on, what could not be killed can be.
    pub fn settle_down(&mut self) {
        self.calm = true;
        self.profile = self.profile.calm();
        let keys: Vec<Key> = self.workers.keys().copied().collect();
        for key in keys {
            for low in [1_000, 1_000_000, 10_000_000] {
                self.schedule(key, low, low * 2, Act::Nudge);
            }
        }
        let stuck: Vec<i32> = self.os.table.iter().filter(|(_, proc)| proc.unkillable).map(|(pid, _)| *pid).collect();
        for pid in stuck {
            self.at(1_000, Event::Yield { pid });
        }
    }
}
