//! Sealing in the background: a thread that waits for segments to end.

use super::RecordError;
use super::seal::{SealOptions, SealReport};
use super::writer::{Writer, hold};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Counts segments that a writer has ended, and wakes who waits for one.
#[derive(Debug, Default)]
pub(super) struct Ended {
    count: Mutex<u64>,
    more: Condvar,
}

impl Ended {
    /// One more, or another reason to look.
    pub(super) fn add(&self) {
        *hold(&self.count) += 1;
        self.more.notify_all();
    }

    /// Waits for more than were `seen`; how many there are.
    fn wait(&self, seen: u64) -> u64 {
        let count = hold(&self.count);
        let waited = self.more.wait_while(count, |count| *count <= seen);
        *waited.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Segments that are sealed while others are appended to: see [`Writer::seal_in_background`]. Ends when it is dropped,
/// after the segment that is being sealed.
///
/// An error (a full disk) leaves the segment open and readable; it is tried again when the next one has ended.
#[derive(Debug)]
pub struct Sealing {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    writer: Arc<Writer>,
    options: SealOptions,
    /// To end after the next segment.
    stop: AtomicBool,
    /// To end when nothing is left to seal.
    finish: AtomicBool,
    done: Mutex<Vec<Result<SealReport, RecordError>>>,
}

impl Writer {
    /// Seals segments from now on as they get full, in a thread of its own; those that are full already come first.
    /// Appending does not wait for it: who appends faster than can be sealed has more open segments meanwhile.
    ///
    /// Every step of sealing is a replacement of files that a crash leaves whole: the process may be killed at any moment.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// let writer = Arc::new(writer);
    /// let sealing = writer.seal_in_background(&SealOptions::default())?;
    /// writer.append(b"goes on meanwhile", None)?;
    /// assert!(sealing.finish()?.is_empty(), "no segment was full");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seal_in_background(
        self: &Arc<Self>,
        options: &SealOptions,
    ) -> Result<Sealing, RecordError> {
        let shared = Arc::new(Shared {
            writer: Arc::clone(self),
            options: options.clone(),
            stop: AtomicBool::new(false),
            finish: AtomicBool::new(false),
            done: Mutex::default(),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("records-seal".to_owned())
            .spawn(move || for_thread.run())
            .map_err(RecordError::file("start a thread for", self.directory()))?;
        Ok(Sealing { shared, thread: Some(thread) })
    }
}

impl Shared {
    fn run(&self) {
        let ended = self.writer.ended();
        let mut seen = 0;
        loop {
            // Told before the count was added to: what had ended then is sealed by this pass.
            let finishing = self.finish.load(Ordering::Acquire);
            let result = self.writer.seal_each(&self.options, &mut |report| {
                hold(&self.done).push(Ok(report));
                if self.stop.load(Ordering::Acquire) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if let Err(error) = result {
                hold(&self.done).push(Err(error));
            }
            if finishing || self.stop.load(Ordering::Acquire) {
                return;
            }
            seen = ended.wait(seen);
        }
    }
}

impl Sealing {
    /// What was sealed and what went wrong since the last call.
    pub fn take_reports(&self) -> Vec<Result<SealReport, RecordError>> {
        std::mem::take(&mut *hold(&self.shared.done))
    }

    /// Ends when all segments that are full by now are sealed; what was sealed since the last [`Sealing::take_reports`]. The
    /// first error, if there was one.
    pub fn finish(mut self) -> Result<Vec<SealReport>, RecordError> {
        self.shared.finish.store(true, Ordering::Release);
        if let Err(panic) = self.end() {
            std::panic::resume_unwind(panic);
        }
        self.take_reports().into_iter().collect()
    }

    fn end(&mut self) -> std::thread::Result<()> {
        self.shared.writer.ended().add();
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Drop for Sealing {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        // A panic was printed by the thread.
        let _ = self.end();
    }
}
