//! How much of an answer may be under way to a worker.

use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Bytes that may still be sent.
#[derive(Debug)]
pub struct Window {
    /// Below zero by what the last piece was longer than what was left.
    left: Mutex<i64>,
    grown: Notify,
}

impl Window {
    /// This many bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self { left: Mutex::new(signed(bytes)), grown: Notify::new() }
    }

    /// The worker took this many bytes.
    pub fn taken(&self, bytes: u64) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.saturating_add(signed(bytes));
        drop(left);
        self.grown.notify_one();
    }

    /// Waits until there is any room, then takes this much.
    pub async fn take(&self, bytes: u64) {
        loop {
            let grown = self.grown.notified();
            {
                let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
                if *left > 0 {
                    *left = left.saturating_sub(signed(bytes));
                    return;
                }
            }
            grown.await;
        }
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
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
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "what was taken before is still more than the window");
        window.taken(1);
        waiting.await.unwrap();
    }
}
