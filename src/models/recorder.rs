//! Keeps what was sent and what came back, beside the calls: nothing waits for it, and what comes too fast is left out and counted.

use crossbeam_channel::{Sender, TrySendError, bounded};
use ouroboros_proto::kind::SendId;
use ouroboros_secrets::SharedMasker;
use ouroboros_store::{Exchange, Exchanges};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Exchanges that may wait to be written.
const WAITING: usize = 64;

/// The handle.
#[derive(Debug)]
pub struct Recorder {
    waiting: Sender<(SendId, Exchange)>,
    left_out: AtomicU64,
}

impl Recorder {
    /// Starts its thread. Keys are hidden before anything is written, and no more than `most` bytes are kept in all.
    ///
    /// # Errors
    /// When no thread is to be had.
    pub fn start(
        exchanges: Exchanges,
        masker: SharedMasker,
        most: impl Fn() -> u64 + Send + 'static,
    ) -> io::Result<Self> {
        let (waiting, written) = bounded::<(SendId, Exchange)>(WAITING);
        std::thread::Builder::new().name("recorder".to_owned()).spawn(move || {
            for (send, exchange) in written {
                let masked = Exchange {
                    request: masker.mask(&exchange.request).into_owned(),
                    response: masker.mask(&exchange.response).into_owned(),
                };
                if let Err(error) = exchanges.put(send, &masked, most()) {
                    tracing::warn!(send = %send, %error, "what was sent cannot be kept");
                }
            }
        })?;
        Ok(Self { waiting, left_out: AtomicU64::new(0) })
    }

    /// Keeps both sides of a send.
    pub fn keep(&self, send: SendId, request: Vec<u8>, response: Vec<u8>) {
        match self.waiting.try_send((send, Exchange { request, response })) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => {
                let before = self.left_out.fetch_add(1, Ordering::Relaxed);
                if before.is_power_of_two() || before == 0 {
                    tracing::warn!(left_out = before.saturating_add(1), "more was sent than could be kept");
                }
            }
        }
    }
}
