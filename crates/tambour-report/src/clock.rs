//! Time that this thread spent computing. Other work on the machine does not count, which waiting for the wall clock would.

use rustix::time::{ClockId, clock_gettime};

/// Seconds of processor time of this thread since it started.
pub fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Seconds of processor time of all threads: for libraries that work in threads of their own.
pub fn process_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// [`thread_seconds`] as a duration, for libraries that take a clock.
pub fn thread_time() -> std::time::Duration {
    std::time::Duration::from_secs_f64(thread_seconds().max(0.0))
}

/// Seconds of the wall clock since some moment: for what other processes do.
pub fn wall_seconds() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The date and the minute, in UTC.
pub fn today() -> String {
    chrono::Utc::now().format("%Y-%m-%d %H:%M UTC").to_string()
}
