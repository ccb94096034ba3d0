//! The threads on which requests run.

use crate::error::StoreError;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use tokio::runtime::{Builder, Runtime};

/// Threads of requests; they wait most of the time.
const THREADS: usize = 2;

/// Started at first use, and never stopped: connections live on it. It is of one process: a fork has none of its threads, and would wait
/// for them for ever if it dropped it.
static RUNTIME: Mutex<Option<(u32, ManuallyDrop<Arc<Runtime>>)>> = Mutex::new(None);

fn runtime() -> Result<Arc<Runtime>, StoreError> {
    let process = std::process::id();
    let mut started = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, runtime)) = started.as_ref().filter(|it| it.0 == process) {
        return Ok(Arc::clone(runtime));
    }
    let mut builder = Builder::new_multi_thread();
    let built = builder.worker_threads(THREADS).thread_name("store").enable_all().build();
    let runtime = Arc::new(built.map_err(|cause| StoreError::Threads { cause })?);
    *started = Some((process, ManuallyDrop::new(Arc::clone(&runtime))));
    Ok(runtime)
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
