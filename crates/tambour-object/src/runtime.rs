//! The threads on which requests run.

use crate::error::StoreError;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use tokio::runtime::{Builder, Runtime};

/// Threads of requests; they wait most of the time.
const THREADS: usize = 2;

/// Started at first use, and never stopped: connections live on it. It is of one process: a fork has none of its threads.
static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

fn runtime() -> Result<Arc<Runtime>, StoreError> {
    let mut started = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match started.take() {
        Some((own, runtime)) if own == process => {
            return Ok(Arc::clone(&started.insert((own, runtime)).1));
        }
        // To drop it would be to wait for threads that are not there.
        other => std::mem::forget(other),
    }
    let mut builder = Builder::new_multi_thread();
    let built = builder.worker_threads(THREADS).thread_name("store").enable_all().build();
    let runtime = Arc::new(built.map_err(|cause| StoreError::Threads { cause })?);
    Ok(Arc::clone(&started.insert((process, runtime)).1))
}

/// Starts work that goes on whether or not anybody waits for it.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Result<(), StoreError> {
    runtime()?.spawn(work);
    Ok(())
}

/// Runs work and waits for it, from any thread.
pub(crate) fn wait<T: Send + 'static>(
    url: &str,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, StoreError> {
    let (sender, receiver) = mpsc::sync_channel(1);
    spawn(async move {
        // Whoever asked may have gone.
        let _ = sender.send(work.await);
    })?;
    receiver.recv().map_err(|_| StoreError::GivenUp { url: url.to_owned() })
}
