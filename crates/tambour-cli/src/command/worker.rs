//! `tambour worker`: a server for parts of queries; and sessions that use such servers.

use super::threads;
use crate::argument::ByteSize;
use crate::cli::{AccessArguments, ClusterArguments, ErrandArguments, WorkerArguments};
use crate::exit::Failure;
use crate::output::Console;
use anyhow::Context;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tambour::Cluster;
use tambour::cluster::{ClusterOptions, TableErrands, TlsIdentity, WorkerOptions, serve};
use tambour::sql::{Session, SessionOptions};
use tambour_report::{clock::thread_time, machine};
use tokio::signal::unix::{SignalKind, signal};

/// Listens until it is told to stop.
pub(crate) fn run(arguments: &WorkerArguments, console: Console) -> anyhow::Result<()> {
    let threads = threads(arguments.threads);
    let memory_bytes = match arguments.memory {
        Some(ByteSize(bytes)) => Some(bytes),
        None => Some(machine::total_memory() / 2).filter(|&bytes| bytes > 0),
    };
    let mut options = WorkerOptions::below(&arguments.root);
    options.listen.clone_from(&arguments.listen);
    options.memory_bytes = memory_bytes;
    options.threads = threads;
    options.token = arguments.token_file.as_deref().map(token).transpose()?;
    if let (Some(certificate), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) {
        options.tls = Some(TlsIdentity { certificate: pem(certificate)?, key: pem(key)? });
    }
    options.tls_authority = arguments.tls_ca.as_deref().map(pem).transpose()?;
    options.errands = Some(Arc::new(TableErrands { write: arguments.write, clock: thread_time }));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("worker")
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve(&options))?;
    // Apart from the threads that compute: where all of them are busy, a signal or a clock would wait for them.
    let control = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    control.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        // Scripts wait for this line.
        let mut target = std::io::stdout().lock();
        writeln!(
            target,
            "listening on {}, root {}, {threads} threads",
            served.address(),
            served.root().display()
        )?;
        target.flush()?;
        drop(target);
        if options.tls.is_none() && !served.address().ip().is_loopback() {
            console.note("connections are not encrypted: give --tls-cert and --tls-key");
        }
        let stop = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        served.run(stop).await?;
        console.note("stopped");
        anyhow::Ok(())
    })?;
    // What still computes for a query that is gone need not be waited for.
    runtime.shutdown_background();
    Ok(())
}

/// A session for queries on workers, if there are any, or here.
pub(crate) fn session(
    arguments: &ClusterArguments,
    options: &SessionOptions,
) -> anyhow::Result<Session> {
    let mut workers = arguments.workers.clone();
    if workers.is_empty() {
        let named = std::env::var(WORKERS).unwrap_or_default();
        workers = named.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    }
    let Some(cluster) = connect(&workers, &arguments.access)? else {
        return Ok(Session::new(options)?);
    };
    if options.write {
        let what = "--write does not go with --workers: change tables without them";
        return Err(Failure::Usage(what.to_owned()).into());
    }
    if options.deterministic {
        let what = "--deterministic does not go with --workers: they end in any order";
        return Err(Failure::Usage(what.to_owned()).into());
    }
    Ok(cluster.session(options)?)
}

/// The workers that were named for other work than queries.
pub(crate) fn errands(arguments: &ErrandArguments) -> anyhow::Result<Option<Cluster>> {
    connect(&arguments.workers, &arguments.access)
}

fn connect(workers: &[String], access: &AccessArguments) -> anyhow::Result<Option<Cluster>> {
    if workers.is_empty() {
        return Ok(None);
    }
    let mut options = ClusterOptions::default();
    options.token = access.token_file.as_deref().map(token).transpose()?;
    options.tls_authority = access.tls_ca.as_deref().map(pem).transpose()?;
    Ok(Some(Cluster::connect_with(workers, &options)?))
}

/// The environment variable that has workers where `--workers` is not given.
const WORKERS: &str = "TAMBOUR_WORKERS";

fn token(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn pem(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}
