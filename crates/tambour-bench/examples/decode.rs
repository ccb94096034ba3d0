//! The experiment without the command line: `cargo run --release -p tambour-bench --example decode [-- OPTIONS [FILE...]]`
//!
//! Options: `--rounds N`, `--out DIRECTORY`, `--frontier`. Files may be directories; without any, the defaults are measured.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a report for people")]

use std::path::{Path, PathBuf};
use tambour_bench::decode::{self, Settings};
use tambour_bench::{input, machine::Machine};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut settings = Settings { isa: tambour_codec::kernels::isa()?, ..Settings::default() };
    let (mut out, mut paths) = (None, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => settings.rounds = words.next().unwrap_or_default().parse()?,
            "--out" => out = words.next().map(PathBuf::from),
            "--frontier" => settings.frontier = true,
            _ => paths.push(PathBuf::from(word)),
        }
    }
    let inputs =
        if paths.is_empty() { input::defaults(Path::new("data"))? } else { input::files(&paths)? };
    let results = decode::run(&inputs, &settings, &mut |progress| {
        eprintln!("{}/{} {}", progress.files_done, progress.files, progress.name);
    })?;
    let mut machine = Machine::detect(settings.isa);
    machine.command = std::env::args().collect::<Vec<_>>().join(" ");
    for table in results.tables(&machine) {
        println!("{}\n{}", table.title, table.to_text());
    }
    if let Some(directory) = out {
        results.write(&directory, machine)?;
    }
    Ok(())
}
