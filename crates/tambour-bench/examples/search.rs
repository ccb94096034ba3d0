//! The advisor's search beside an exhaustive one: `search FILE...` prints bytes and processor time of both for each file.
#![expect(clippy::print_stdout, reason = "a report for people")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::PathBuf;
use tambour_bench::search;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut outcomes = Vec::new();
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let sample = support::read(&path)?;
        outcomes.push(search::run(&name, &sample)?);
        let outcome = &outcomes[outcomes.len() - 1..];
        println!("{}", search::table(outcome).to_text());
    }
    let table = search::table(&outcomes);
    println!("{}\n{}", table.title, table.to_text());
    Ok(())
}
