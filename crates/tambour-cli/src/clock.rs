//! The one place of the command line that reads a clock.

use std::time::{Duration, Instant};

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
