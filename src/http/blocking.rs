//! Blocking calls on threads of their own, a bounded number at a time.

use ouroboros_proto::api::{ApiError, Code};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// How many reads run at once; more wait.
const READS: usize = 16;
/// How many long acts (backup, garbage collection) run at once; more wait.
const ACTS: usize = 2;

/// Runs what blocks.
#[derive(Debug, Clone)]
pub struct Blocking {
    reads: Arc<Semaphore>,
    acts: Arc<Semaphore>,
}

impl Default for Blocking {
    fn default() -> Self {
        Self { reads: Arc::new(Semaphore::new(READS)), acts: Arc::new(Semaphore::new(ACTS)) }
    }
}

impl Blocking {
    /// A short call. When the caller goes away the call still ends by itself, and its place is taken until then.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn read<T: Send + 'static, E: Into<ApiError> + Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, ApiError> {
        run(&self.reads, call).await
    }

    /// A long one.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn act<T: Send + 'static, E: Into<ApiError> + Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, ApiError> {
        run(&self.acts, call).await
    }
}

async fn run<T: Send + 'static, E: Into<ApiError> + Send + 'static>(
    places: &Arc<Semaphore>,
    call: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ApiError> {
    let place = Arc::clone(places).acquire_owned().await.map_err(|_| stopping())?;
    let done = tokio::task::spawn_blocking(move || {
        let _place = place;
        call()
    });
    match done.await {
        Ok(result) => result.map_err(Into::into),
        Err(error) => {
            tracing::error!(%error, "a blocking call did not return");
            Err(ApiError::new(Code::Internal, "The server met a fault of its own; nothing is known to have changed."))
        }
    }
}

fn stopping() -> ApiError {
    ApiError::new(Code::Stopping, "The server is stopping.")
}
