//! Jobs in order: one thread reads and writes, others work on what lies between.
//!
//! Whatever the number of threads, the output is the same, and so are the error and what was written before it: results are
//! finished in the order in which the jobs were read, and an error of reading waits for its turn.

use super::FrameError;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, scope};

/// Jobs under way per thread: one that is worked on, one that is ready when it is done.
const DEPTH: usize = 2;

/// More are of no use to anybody.
const THREADS_MAX: usize = 1024;

/// What reading gives.
pub(super) enum Next<J> {
    /// Something to work on.
    Job(J),
    /// Something that only needs its turn.
    Ready(J),
    /// Nothing before an earlier job is finished. Never while there is none.
    Wait,
    /// Nothing more.
    End,
}

/// The two sides that keep the order; both run on the caller's thread.
pub(super) trait Stages {
    /// What moves between the threads.
    type Job: Send;

    /// Reads the next job.
    fn next(&mut self) -> Result<Next<Self::Job>, FrameError>;

    /// Takes a job that was worked on; jobs come in the order of `next`.
    fn finish(&mut self, job: Self::Job) -> Result<(), FrameError>;
}

/// Runs until `next` says [`Next::End`]. `worker` makes the state of one thread; a single thread works on the caller's.
pub(super) fn run<S: Stages, W: FnMut(&mut S::Job)>(
    stages: &mut S,
    threads: usize,
    worker: impl Fn() -> W + Sync,
) -> Result<(), FrameError> {
    if threads > 1 {
        spread(stages, threads.min(THREADS_MAX), &worker)
    } else {
        alone(stages, worker())
    }
}

fn alone<S: Stages>(stages: &mut S, mut work: impl FnMut(&mut S::Job)) -> Result<(), FrameError> {
    loop {
        match stages.next()? {
            Next::Job(mut job) => {
                work(&mut job);
                stages.finish(job)?;
            }
            Next::Ready(job) => stages.finish(job)?,
            Next::Wait => debug_assert!(false, "nothing is under way"),
            Next::End => return Ok(()),
        }
    }
}

/// A job, and where to leave it.
type Order<J> = (J, SyncSender<J>);

/// A place in the order of jobs.
enum Slot<J> {
    Ready(J),
    Away(Receiver<J>),
}

fn spread<S: Stages, W: FnMut(&mut S::Job)>(
    stages: &mut S,
    threads: usize,
    worker: &(impl Fn() -> W + Sync),
) -> Result<(), FrameError> {
    let (orders, queue) = channel::<Order<S::Job>>();
    let queue = &Mutex::new(queue);
    scope(|scope| {
        let mut started = 0;
        let mut start = || {
            if started < threads {
                let thread = Builder::new().name("frame".to_owned());
                match thread.spawn_scoped(scope, move || serve(queue, worker())) {
                    Ok(_) => started += 1,
                    // Fewer threads do the same, slower.
                    Err(_) if started > 0 => {}
                    Err(cause) => return Err(FrameError::Thread(cause)),
                }
            }
            Ok(())
        };
        // The workers end when `orders` is dropped, at the end of this closure.
        conduct(stages, orders, DEPTH * threads, &mut start)
    })
}

/// Keeps up to `depth` jobs under way.
fn conduct<S: Stages>(
    stages: &mut S,
    orders: Sender<Order<S::Job>>,
    depth: usize,
    start: &mut dyn FnMut() -> Result<(), FrameError>,
) -> Result<(), FrameError> {
    let mut slots = VecDeque::with_capacity(depth);
    let mut end = None;
    loop {
        while end.is_none() && slots.len() < depth {
            match stages.next() {
                Ok(Next::Job(job)) => {
                    start()?;
                    let (done, receipt) = sync_channel(1);
                    // Threads that ended early show when the receipt is asked for.
                    let _ = orders.send((job, done));
                    slots.push_back(Slot::Away(receipt));
                }
                Ok(Next::Ready(job)) => slots.push_back(Slot::Ready(job)),
                Ok(Next::Wait) => break,
                Ok(Next::End) => end = Some(Ok(())),
                Err(error) => end = Some(Err(error)),
            }
        }
        match (slots.pop_front(), end.take()) {
            (Some(slot), ended) => {
                end = ended;
                let job = match slot {
                    Slot::Ready(job) => job,
                    Slot::Away(receipt) => match receipt.recv() {
                        Ok(job) => job,
                        // A worker panicked; the scope does the same as soon as this returns.
                        Err(_) => return Ok(()),
                    },
                };
                stages.finish(job)?;
            }
            (None, Some(ended)) => return ended,
            (None, None) => debug_assert!(false, "nothing is under way"),
        }
    }
}

/// One worker: takes orders until there are no more.
fn serve<J>(queue: &Mutex<Receiver<Order<J>>>, mut work: impl FnMut(&mut J)) {
    loop {
        // Nothing under this lock panics.
        let order = queue.lock().map(|queue| queue.recv());
        let Ok(Ok((mut job, done))) = order else { return };
        work(&mut job);
        // Nobody waits for it when the caller gave up.
        let _ = done.send(job);
    }
}

/// Memory for the jobs under way.
#[derive(Debug)]
pub(super) struct Budget {
    max: u64,
    used: u64,
}

impl Budget {
    pub(super) fn new(max: u64) -> Self {
        Self { max, used: 0 }
    }

    /// Takes memory for a job: false if an earlier one must be finished first, an error if it is too much for any time.
    pub(super) fn take(
        &mut self,
        what: &'static str,
        offset: u64,
        need: u64,
    ) -> Result<bool, FrameError> {
        if need > self.max {
            return Err(FrameError::Memory { what, offset, got: need, max: self.max });
        }
        let fits = need <= self.max - self.used;
        if fits {
            self.used += need;
        }
        Ok(fits)
    }

    /// Gives back what a job took.
    pub(super) fn give_back(&mut self, need: u64) {
        self.used -= need;
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameError, Next, Stages, run};

    /// Counts up to `end`; every third number needs no work; number `bad` cannot be read.
    struct Count {
        at: u32,
        end: u32,
        bad: u32,
        seen: Vec<(u32, bool)>,
    }

    impl Stages for Count {
        type Job = (u32, bool);

        fn next(&mut self) -> Result<Next<(u32, bool)>, FrameError> {
            let at = self.at;
            self.at += 1;
            if at == self.bad {
                Err(FrameError::options("bad"))
            } else if at == self.end {
                Ok(Next::End)
            } else if at.is_multiple_of(3) {
                Ok(Next::Ready((at, false)))
            } else {
                Ok(Next::Job((at, false)))
            }
        }

        fn finish(&mut self, job: (u32, bool)) -> Result<(), FrameError> {
            self.seen.push(job);
            Ok(())
        }
    }

    fn count(end: u32, bad: u32, threads: usize) -> (Vec<(u32, bool)>, bool) {
        let mut count = Count { at: 0, end, bad, seen: Vec::new() };
        let good = run(&mut count, threads, || |job: &mut (u32, bool)| job.1 = true).is_ok();
        (count.seen, good)
    }

    #[test]
    fn order_and_errors_do_not_depend_on_threads() {
        let expected: Vec<_> = (0..500).map(|k| (k, k % 3 != 0)).collect();
        for threads in 1..6 {
            assert_eq!(count(500, u32::MAX, threads), (expected.clone(), true));
            assert_eq!(count(500, 77, threads), (expected[..77].to_vec(), false));
            assert_eq!(count(0, u32::MAX, threads), (vec![], true));
        }
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_not_waited_for() {
        let mut count = Count { at: 1, end: 50, bad: u32::MAX, seen: Vec::new() };
        let _ = run(&mut count, 2, || |job: &mut (u32, bool)| assert!(job.0 < 20, "as planned"));
    }
}
