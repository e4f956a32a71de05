//! A server that a command started by itself leaves when it has had no work and no client for a while.

use super::configuration::Configuration;
use super::ends::Wish;
use crate::supervisor::Status;
use crossbeam_channel::Sender;
use ouroboros_proto::kind::Millis;
use std::sync::Arc;
use tokio::sync::watch;

/// Watches in the background and wishes for the end.
pub fn leave_when_idle(
    runtime: &tokio::runtime::Runtime,
    mut status: watch::Receiver<Arc<Status>>,
    mut clients: watch::Receiver<u64>,
    configuration: Arc<Configuration>,
    wish: Sender<Wish>,
) {
    runtime.spawn(async move {
        loop {
            if !is_idle(&status.borrow_and_update(), *clients.borrow_and_update()) {
                let changed = tokio::select! {
                    changed = status.changed() => changed,
                    changed = clients.changed() => changed,
                };
                if changed.is_err() {
                    return;
                }
                continue;
            }
            let bound = configuration.settings().server_idle_exit;
            if bound == Millis::ZERO {
                return;
            }
            tokio::select! {
                changed = status.changed() => if changed.is_err() { return },
                changed = clients.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(bound.duration()) => {
                    tracing::info!("no work and no client for a while; the server leaves");
                    let _ = wish.try_send(Wish::Idle);
                    return;
                }
            }
        }
    });
}

fn is_idle(status: &Status, clients: u64) -> bool {
    let queue = &status.queue;
    clients == 0 && queue.queued == 0 && queue.waiting == 0 && queue.held == 0 && queue.running == 0
}
