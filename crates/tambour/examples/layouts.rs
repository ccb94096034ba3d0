//! Measures layouts: `layouts FILE TABLE [--codec C] [--types declared|smallest] [--order-by K]` makes a table of a file as the
//! command line does, and prints the type and the bytes of each column, all streams without their marks.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement for the terminal"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;
use tambour::{ImportEvent, ImportOptions, ImportTypes, Table};

/// Paths, and the values of flags.
fn arguments() -> (Vec<PathBuf>, BTreeMap<String, String>) {
    let (mut paths, mut flags) = (Vec::new(), BTreeMap::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix("--") {
            Some(flag) => {
                flags.insert(flag.to_owned(), arguments.next().unwrap_or_default());
            }
            None => paths.push(argument.into()),
        }
    }
    (paths, flags)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (paths, flags) = arguments();
    let [file, path] = &paths[..] else { return Err("layouts FILE TABLE".into()) };
    let codec = flags.get("codec").map_or("auto(size)", String::as_str).parse()?;
    let mut options = ImportOptions::default().replace().codec(codec).threads(2);
    options.order_by = flags.get("order-by").cloned();
    options.types = match flags.get("types").map(String::as_str) {
        Some("declared") => ImportTypes::Keep,
        Some("smallest") => ImportTypes::Smallest,
        _ => ImportTypes::Natural,
    };
    let start = Instant::now();
    tambour::import_with([file], path, &options, &mut |event| {
        match event {
            ImportEvent::Opened { .. } => {
                println!("types in {:.1} s", start.elapsed().as_secs_f64());
            }
            ImportEvent::Restart(reason) => println!("again: {reason}"),
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    println!("all in {:.1} s", start.elapsed().as_secs_f64());
    let (mut total, mut raw) = (0, 0);
    for part in Table::open(path)?.parts() {
        for (column, size) in part.columns().iter().zip(part.column_sizes()?) {
            println!(
                "{:>12} {:>12}  {} {}  {}",
                size.compressed,
                size.uncompressed,
                column.name,
                column.data_type,
                size.codecs.first().map_or("", String::as_str)
            );
            total += size.compressed;
            raw += size.uncompressed;
        }
    }
    println!("{total:>12} {raw:>12}  total of {}", file.display());
    Ok(())
}
