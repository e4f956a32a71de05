//! Faults of the world.

use crate::gateway::Gateway;
use crate::server::Message;
use crate::worker::{Key, Life};
use crate::world::{Event, World};
use ouroboros_domain::{Input, ShutdownKind};

impl World {
    pub fn fault(&mut self) {
        let total: u64 = self.profile.faults.iter().sum();
        let mut draw = self.rng.below(total.max(1));
        let kind = self.profile.faults.iter().position(|weight| {
            let hit = draw < *weight;
            draw = draw.saturating_sub(*weight);
            hit
        });
        match kind {
            Some(0) if self.server.is_some() => {
                self.mark("server killed");
                self.crash();
            }
            Some(1) => self.power_loss(),
            Some(2) if self.server.is_some() => self.panic(),
            Some(3) => self.kill_some_worker(),
            Some(4) => self.jump_clock(),
            Some(5) => self.end_somehow(),
            _ => {}
        }
    }

    fn power_loss(&mut self) {
        self.mark("power lost");
        self.log(|| "power lost".to_owned());
        let kept = self.rng.below(self.disk.unsynced() as u64 + 1);
        if let Err(what) = self.disk.power_loss(usize::try_from(kept).unwrap_or(0)) {
            return self.fail(what);
        }
        self.server = None;
        self.gateway = Gateway::default();
        self.client.pending.clear();
        self.end_all();
        self.os.boot_id = self.rng.bytes();
        self.reboot_clock();
        self.at(1_000, Event::Start);
    }

    /// The emergency stop: everything dies at once, past core and disk.
    fn panic(&mut self) {
        self.mark("panic");
        self.end_all();
        self.panicked = true;
        self.crash();
    }

    fn kill_some_worker(&mut self) {
        let alive: Vec<Key> =
            self.workers.iter().filter(|(_, worker)| worker.life == Life::Alive).map(|(key, _)| *key).collect();
        if let Some(key) = self.rng.pick(&alive).copied() {
            let exit = self.some_exit();
            self.mark("worker killed");
            self.die(key, exit);
        }
    }

    fn jump_clock(&mut self) {
        let spans = [1_000, 3_600_000_000, 26 * 3_600_000_000];
        let span = self.rng.pick(&spans).copied().unwrap_or(0);
        let span = if self.rng.percent(50) { span } else { -span };
        self.wall_offset = self.wall_offset.saturating_add(span);
        self.client.clock_jumped = true;
        self.mark("clock jumped");
    }

    fn end_somehow(&mut self) {
        let (restart, drain, silent) = (self.rng.percent(50), self.rng.percent(40), self.rng.percent(30));
        let kind = if restart { ShutdownKind::Restart } else { ShutdownKind::Stop };
        if silent {
            self.send(100, Message::Input(Input::Shutdown { request: None, kind, drain }));
        } else {
            self.shut_down(restart, drain);
        }
    }
}
