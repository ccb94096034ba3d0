//! Threads between the files and the caller: jobs run side by side, their batches come out in the order of the rows.

use crate::FileError;
use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// What comes out.
pub(crate) type Item = Result<RecordBatch, FileError>;

/// Where a job puts its batches. A closed channel says that nobody wants them any more.
pub(crate) type Exit = Sender<Item>;

/// A piece of work that makes batches.
type Job = Box<dyn FnOnce(&Exit) + Send>;

/// Batches that a job may be ahead of the caller.
const AHEAD: usize = 2;

/// Hands jobs to the workers, in the order in which their batches are wanted.
#[derive(Debug)]
pub(crate) struct Line {
    jobs: Sender<(Job, Exit)>,
    order: Sender<Receiver<Item>>,
}

/// Nobody wants the batches any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone;

impl Line {
    /// Adds a job.
    pub(crate) fn push(&self, job: impl FnOnce(&Exit) + Send + 'static) -> Result<(), Gone> {
        let (exit, items) = bounded(AHEAD);
        self.order.send(items).or(Err(Gone))?;
        self.jobs.send((Box::new(job), exit)).or(Err(Gone))
    }

    /// Adds an error in place of a job.
    pub(crate) fn fail(&self, error: FileError) -> Result<(), Gone> {
        self.push(move |exit| {
            // If nobody wants it, nobody misses it.
            let _ = exit.send(Err(error));
        })
    }
}

/// The caller's end: batches in order.
#[derive(Debug)]
pub(crate) struct Stream {
    order: Receiver<Receiver<Item>>,
    current: Option<Receiver<Item>>,
}

impl Stream {
    /// Starts `feed`, which makes jobs, and `threads` workers.
    pub(crate) fn start(
        threads: usize,
        feed: impl FnOnce(&Line) + Send + 'static,
    ) -> std::io::Result<Self> {
        let threads = threads.max(1);
        let (jobs, queue) = bounded::<(Job, Exit)>(1);
        let (order, ordered) = bounded(threads + 1);
        for _ in 0..threads {
            let queue = queue.clone();
            thread::Builder::new().name("files-convert".to_owned()).spawn(move || {
                for (job, exit) in queue {
                    guard(&exit, || job(&exit));
                }
            })?;
        }
        let line = Line { jobs, order };
        thread::Builder::new().name("files-read".to_owned()).spawn(move || {
            let (exit, items) = bounded(1);
            guard(&exit, || feed(&line));
            drop(exit);
            // What a panic left behind comes last.
            if let Ok(item) = items.recv() {
                let _ = line.order.send(one(item));
            }
        })?;
        Ok(Self { order: ordered, current: None })
    }

    /// The next batch.
    pub(crate) fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(current) = &self.current
                && let Ok(item) = current.recv()
            {
                return Some(item);
            }
            self.current = Some(self.order.recv().ok()?);
        }
    }
}

fn one(item: Item) -> Receiver<Item> {
    let (sender, receiver) = bounded(1);
    let _ = sender.send(item);
    receiver
}

/// Runs a piece of work; a panic in it becomes an error of the input rather than a silent end.
fn guard(exit: &Exit, work: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let reason = format!("a reader gave up: {said}");
        let _ = exit.send(Err(FileError::Argument { reason }));
    }
}
