//! The advisor's search beside an exhaustive one: `search FILE...` prints bytes and processor time of both for each file.
//! `search --advise FILE` only advises, as the command line does on two threads, and prints time and memory.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement for the terminal"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::time::Instant;
use tambour_bench::{search, thread_time};
use tambour_codec::choose::Objective;
use tambour_table::advise::{AdviseOptions, advise};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The most memory that this process had, as the system tells it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |size| size.trim().to_owned())
}

fn advise_on(path: &Path) -> Result<()> {
    let start = Instant::now();
    let sample = support::read(path)?;
    let read = start.elapsed().as_secs_f64();
    let options = AdviseOptions { threads: 2, ..AdviseOptions::new(thread_time) };
    let advice = advise(&sample, &[], &options)?;
    let all = start.elapsed().as_secs_f64();
    println!(
        "{}: {} rows, {} sampled; read in {read:.1} s, advice after {all:.1} s, at most {}",
        path.display(),
        advice.rows,
        advice.rows_sampled,
        peak()
    );
    for goal in Objective::ALL {
        println!("{}: {} bytes of {}", goal.name(), advice.best_bytes(*goal), advice.now_bytes());
    }
    Ok(())
}

fn main() -> Result<()> {
    let mut paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.first().is_some_and(|path| path.as_os_str() == "--advise") {
        return paths.drain(1..).try_for_each(|path| advise_on(&path));
    }
    let mut outcomes = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let sample = support::read(&path)?;
        outcomes.push(search::run(&name, &sample)?);
        println!("{}", search::table(&outcomes[outcomes.len() - 1..]).to_text());
    }
    let table = search::table(&outcomes);
    println!("{}\n{}", table.title, table.to_text());
    Ok(())
}
