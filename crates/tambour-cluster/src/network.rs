//! The threads that talk. Connections are served apart from the threads that compute, so that a process whose threads are all
//! busy still answers when the other side asks whether it lives.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// How often a silent connection is asked whether it lives.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// How long the answer may take. A loaded machine may leave these threads waiting for a second or two; a dead worker is to be
/// noticed within ten.
pub(crate) const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// One talks while another encodes.
const THREADS: usize = 2;

/// The runtime of connections. All workers and sessions of the process share it; it lasts as long as the process.
pub(crate) fn handle() -> io::Result<Handle> {
    static NETWORK: Mutex<Option<Runtime>> = Mutex::new(None);
    let mut network = NETWORK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = &*network {
        return Ok(runtime.handle().clone());
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("network")
        .enable_all()
        .build()?;
    Ok(network.insert(runtime).handle().clone())
}
