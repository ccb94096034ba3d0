//! The one place of the command line that reads a clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time in Unix seconds; nothing if the clock stands before 1970.
pub(crate) fn unix_seconds() -> Option<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

/// A point in time to measure from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start(Instant);

impl Start {
    /// Now.
    #[expect(
        clippy::disallowed_methods,
        reason = "the edge of the program is where time comes from"
    )]
    pub(crate) fn now() -> Self {
        Self(Instant::now())
    }

    /// Time since then.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
