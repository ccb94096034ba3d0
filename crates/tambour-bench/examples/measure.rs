//! `tambour bench messages|integers|hashes|codecs` without the command line, whose build takes long.
//!
//! `cargo run --release -p tambour-bench --example measure -- messages|integers|hashes|codecs [ROUNDS [DIR]]`
#![expect(clippy::print_stdout, reason = "a report for people")]
#![expect(clippy::print_stderr, reason = "progress")]

use std::path::Path;
use tambour_bench::machine::Machine;
use tambour_bench::{codecs, hashes, integers, messages, race};
use tambour_kernel::variant::Isa;

fn tell(
    results: &race::Results,
    headings: race::Headings,
    directory: Option<&String>,
) -> Result<(), Box<dyn std::error::Error>> {
    for table in results.tables() {
        println!("{}\n{}", table.title, table.to_text());
    }
    if let Some(directory) = directory {
        results.write(Path::new(directory), headings, Machine::detect(Isa::best()))?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds = arguments.get(1).map(|text| text.parse()).transpose()?;
    let directory = arguments.get(2);
    let mut observe = |what: &str| eprintln!("{what}");
    match arguments.first().map(String::as_str) {
        Some("messages") => {
            let mut settings = messages::Settings::default();
            settings.rounds = rounds.unwrap_or(settings.rounds);
            let results = messages::run(&[], &settings, &mut observe)?;
            println!("{}\n{}", results.table().title, results.table().to_text());
            if let Some(directory) = directory {
                results.write(Path::new(directory), Machine::detect(Isa::best()))?;
            }
            Ok(())
        }
        Some("integers") => {
            let mut settings = integers::Settings::default();
            settings.rounds = rounds.unwrap_or(settings.rounds);
            let results = integers::run(&settings, &mut observe)?;
            tell(&results, integers::headings(&results), directory)
        }
        Some("hashes") => {
            let mut settings = hashes::Settings::default();
            settings.rounds = rounds.unwrap_or(settings.rounds);
            let results = hashes::run(&settings, &mut observe)?;
            tell(&results, hashes::headings(&results), directory)
        }
        Some("codecs") => {
            let mut settings = codecs::Settings::default();
            settings.rounds = rounds.unwrap_or(settings.rounds);
            let results = codecs::run(&codecs::generated(settings.bytes), &settings, &mut observe)?;
            for table in results.tables() {
                println!("{}\n{}", table.title, table.to_text());
            }
            if let Some(directory) = directory {
                results.write(Path::new(directory), Machine::detect(Isa::best()))?;
            }
            Ok(())
        }
        _ => Err("what to measure: messages, integers, hashes or codecs".into()),
    }
}
