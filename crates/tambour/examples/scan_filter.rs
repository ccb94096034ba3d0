//! Reads some columns and some rows of a table, without SQL.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use std::error::Error;
use std::fmt::Write as _;
use tambour::{Filter, ImportOptions};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let csv = directory.path().join("flights.csv");
    let mut text = "day,origin,delay\n".to_owned();
    for number in 0..1000 {
        let origin = ["BER", "LIS", "OSL"][number % 3];
        writeln!(text, "2026-01-{:02},{origin},{}", 1 + number % 31, number % 90)?;
    }
    std::fs::write(&csv, text)?;
    let options = ImportOptions::default().order_by("day, origin");
    let table = tambour::import([&csv], directory.path().join("flights"), &options)?;

    // Granules that cannot match are not read; the rows of the others are filtered.
    let late =
        "delay > 60 AND origin IN ('BER', 'OSL') AND day BETWEEN '2026-01-01' AND '2026-01-07'";
    let scan = table.scan().columns(["day", "origin"]).filter(late);
    let mut rows = 0;
    for batch in scan.batches()? {
        rows += batch?.num_rows();
    }
    let expected = (0..1000).filter(|it| it % 90 > 60 && it % 3 != 1 && it % 31 < 7).count();
    println!("{rows} late flights in the first week");
    assert_eq!(rows, expected);

    // A condition can be a value, too.
    let filter: Filter = "origin = 'LIS'".parse()?;
    let first = table.scan().matching(Filter::Not(Box::new(filter))).limit(5).batches()?;
    let first: usize = first.map(|batch| batch.map(|it| it.num_rows())).sum::<Result<_, _>>()?;
    assert_eq!(first, 5);
    Ok(())
}
