//! Measures how fast files are read: `speed FILE... [--threads N]` prints rows, bytes and seconds of inference and reading.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement for the terminal"
)]

use std::path::PathBuf;
use std::time::Instant;
use tambour_files::{FileError, Input, ReadOptions};

fn main() -> Result<(), FileError> {
    let mut threads = 1;
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--threads" {
            threads = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(1);
        } else {
            paths.push(argument.into());
        }
    }
    for path in paths {
        let start = Instant::now();
        let options = ReadOptions { threads, ..ReadOptions::default() };
        let mut input = Input::open(std::slice::from_ref(&path), options)?;
        let inferred = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let mut rows = 0;
        while let Some(batch) = input.next_batch() {
            rows += batch?.num_rows();
        }
        let seconds = start.elapsed().as_secs_f64();
        let bytes = input.bytes_total().unwrap_or(0) as f64;
        println!(
            "{}: {rows} rows, {:.1} MB; types in {inferred:.2} s, read in {seconds:.2} s = {:.0} MB/s, {:.2} M rows/s",
            path.display(),
            bytes / 1e6,
            bytes / 1e6 / seconds,
            rows as f64 / 1e6 / seconds
        );
    }
    Ok(())
}
