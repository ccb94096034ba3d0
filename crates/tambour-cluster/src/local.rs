//! Workers in this process, for tests and examples: the same code and the same connections as with processes of their own.

use crate::{ClusterError, WorkerOptions, serve};
use std::path::Path;
use std::thread::JoinHandle;

/// Workers on threads of this process; they end when it is dropped.
#[derive(Debug)]
pub struct LocalCluster {
    addresses: Vec<String>,
    running: Vec<Running>,
}

#[derive(Debug)]
struct Running {
    /// Dropped to stop the worker.
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LocalCluster {
    /// Starts `count` workers over tables below `root`.
    pub fn start(count: usize, root: &Path) -> Result<Self, ClusterError> {
        Self::start_with(count, &WorkerOptions::below(root))
    }
    /// The same with other options. With a port other than 0 there can be only one.
    pub fn start_with(count: usize, options: &WorkerOptions) -> Result<Self, ClusterError> {
        let mut cluster = Self { addresses: Vec::new(), running: Vec::new() };
        for _ in 0..count {
            let (address, running) = start(options)?;
            cluster.addresses.push(address);
            cluster.running.push(running);
        }
        Ok(cluster)
    }
    /// The addresses of the workers, for [`crate::Cluster::connect`].
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }
}

fn start(options: &WorkerOptions) -> Result<(String, Running), ClusterError> {
    let failed = |cause| ClusterError::Listen { address: options.listen.clone(), cause };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads)
        .thread_name("worker")
        .enable_all()
        .build()
        .map_err(failed)?;
    let served = runtime.block_on(serve(options))?;
    let address = served.address().to_string();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::Builder::new()
        .name("worker".to_owned())
        .spawn(move || {
            let ended = runtime.block_on(served.run(async {
                let _ = stopped.await;
            }));
            // Queries have told the error already.
            drop(ended);
            runtime.shutdown_background();
        })
        .map_err(failed)?;
    Ok((address, Running { stop: Some(stop), thread: Some(thread) }))
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        for running in &mut self.running {
            running.stop = None;
        }
        for thread in self.running.iter_mut().filter_map(|running| running.thread.take()) {
            // A worker that panicked has ended, too.
            drop(thread.join());
        }
    }
}
