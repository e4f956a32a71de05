//! How much of an answer may be under way to a worker.

use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Bytes that may still be sent.
#[derive(Debug)]
pub struct Window {
    left: Mutex<u64>,
    grown: Notify,
}

impl Window {
    /// This many bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self { left: Mutex::new(bytes), grown: Notify::new() }
    }

    /// The worker took this many bytes.
    pub fn taken(&self, bytes: u64) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.saturating_add(bytes);
        drop(left);
        self.grown.notify_one();
    }

    /// Waits until there is room, then takes it. What is larger than the window takes all of it.
    pub async fn take(&self, bytes: u64) {
        loop {
            let grown = self.grown.notified();
            {
                let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
                if *left > 0 {
                    *left = left.saturating_sub(bytes);
                    return;
                }
            }
            grown.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_full_window_waits_until_something_is_taken() {
        let window = Arc::new(Window::new(10));
        window.take(7).await;
        window.take(7).await;
        let waiting = tokio::spawn({
            let window = Arc::clone(&window);
            async move { window.take(1).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        window.taken(4);
        waiting.await.unwrap();
    }
}
