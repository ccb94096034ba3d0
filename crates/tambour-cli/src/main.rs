//! The program `tambour`: [`tambour_cli::run`] with an allocator of its own.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Imports allocate and free large buffers on many threads; this allocator returns them fastest.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(tambour_cli::run(std::env::args_os()))
}
