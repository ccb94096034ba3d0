//! Measures layouts: `import FILE TABLE [--codec C] [--types declared|usual|smallest] [--order-by K]` makes a table of a file as
//! the command line does, and prints the type and the bytes of each column, all streams without their marks.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement for the terminal"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;
use tambour_codec::spec::CodecSpec;
use tambour_files::{FileError, Input, ReadOptions, Types};
use tambour_table::Table;
use tambour_table::insert::{Existing, Insert, InsertOptions};
use tambour_table::schema::expression::Expression;
use tambour_table::schema::permit;
use tambour_table::schema::{ColumnDefinition, TableDefinition};

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
    let [file, table] = &paths[..] else { return Err("import FILE TABLE".into()) };
    let codec: CodecSpec = flags.get("codec").map_or("auto(size)", String::as_str).parse()?;
    let order_by = match flags.get("order-by") {
        Some(text) => Expression::parse_key(text)?,
        None => Vec::new(),
    };
    let calls = order_by.iter().filter(|it| !matches!(it, Expression::Column(_)));
    let keep = calls.flat_map(Expression::columns).map(str::to_owned).collect();
    let types = match flags.get("types").map(String::as_str) {
        Some("declared") => Types::Declared,
        Some("usual") => Types::Usual,
        _ => Types::Smallest { codec: codec.clone(), keep },
    };
    let start = Instant::now();
    let options = ReadOptions { threads: 2, types, batch_rows: 16_384, ..ReadOptions::default() };
    let mut input = Input::open(std::slice::from_ref(file), options)?;
    println!("types in {:.1} s", start.elapsed().as_secs_f64());
    loop {
        let columns = input.columns().iter().map(|column| {
            let mut definition =
                ColumnDefinition::new(column.name.clone(), column.data_type.clone());
            definition.codec = Some(codec.clone());
            definition
        });
        let mut definition = TableDefinition::new("t", columns.collect());
        definition.order_by.clone_from(&order_by);
        definition.primary_key.clone_from(&order_by);
        permit(&mut definition);
        let options =
            InsertOptions { existing: Existing::Replace, threads: 2, ..InsertOptions::default() };
        let mut insert = Insert::begin(&tambour_storage::disk(), table, &definition, options)?;
        match copy(&mut input, &mut insert) {
            Ok(()) => {
                insert.commit()?;
            }
            Err(error)
                if error
                    .downcast_ref::<FileError>()
                    .is_some_and(|it| matches!(it, FileError::Widen { .. })) =>
            {
                println!("again: {error}");
                insert.abort()?;
                input.restart()?;
                continue;
            }
            Err(error) => return Err(error),
        }
        break;
    }
    println!("all in {:.1} s", start.elapsed().as_secs_f64());
    let (mut total, mut raw) = (0, 0);
    for part in Table::open(table)?.parts() {
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

fn copy(input: &mut Input, insert: &mut Insert) -> Result<(), Box<dyn Error>> {
    while let Some(batch) = input.next_batch() {
        insert.write(batch?)?;
    }
    Ok(())
}
