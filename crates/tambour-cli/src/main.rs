//! The program `tambour`: [`tambour_cli::run`] with an allocator of its own.
#![deny(unsafe_code)]

use std::ffi::{c_int, c_long};
use std::process::ExitCode;

/// Imports allocate and free large buffers on many threads; this allocator returns them fastest.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[expect(unsafe_code, reason = "mimalloc's own interface, which its crate does not pass on")]
mod options {
    use super::{c_int, c_long};
    // Safe to call: both are mimalloc's, with these types; they take and return numbers, and any thread may call them at any time.
    unsafe extern "C" {
        /// What an option is set to.
        pub(super) safe fn mi_option_get(option: c_int) -> c_long;
        /// Sets an option, unless a variable of the environment has (`MIMALLOC_PURGE_DELAY`).
        pub(super) safe fn mi_option_set_default(option: c_int, value: c_long);
    }
}

/// Milliseconds after which freed memory goes back to the system: mimalloc's option 15, and its default in version 3.
const PURGE_DELAY: c_int = 15;
const PURGE_DELAY_DEFAULT: c_long = 1000;
/// Memory that went back after a second was asked for again by the next batch, and the system spent as long on filling it with zeros
/// as an INSERT of ten million rows on all else.
const PURGE_DELAY_OURS: c_long = 60_000;

/// Keeps freed memory for longer. Of another version of mimalloc, which may number its options otherwise, nothing is changed.
fn keep_memory() {
    if options::mi_option_get(PURGE_DELAY) == PURGE_DELAY_DEFAULT {
        options::mi_option_set_default(PURGE_DELAY, PURGE_DELAY_OURS);
    }
}

fn main() -> ExitCode {
    keep_memory();
    ExitCode::from(tambour_cli::run(std::env::args_os()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_kept() {
        keep_memory();
        assert_eq!(options::mi_option_get(PURGE_DELAY), PURGE_DELAY_OURS);
    }
}
