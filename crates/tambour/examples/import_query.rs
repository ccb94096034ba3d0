//! Imports a CSV file into a table and asks it a question by SQL.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use std::error::Error;
use std::ops::ControlFlow;
use tambour::arrow_array::{Int64Array, RecordBatch};
use tambour::{ImportEvent, ImportOptions, Table};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let (csv, path) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n/contact,2\n")?;

    let options = ImportOptions::default().order_by("page").threads(2);
    let summary = tambour::import_with([&csv], &path, &options, &mut |event| {
        if let ImportEvent::Rows { rows, bytes } = event {
            println!("{rows} rows of {bytes} bytes");
        }
        ControlFlow::Continue(())
    })?;
    println!("{}", summary.definition);
    assert_eq!(summary.written.rows, 4);

    let hits = Table::open(&path)?;
    let statement = "SELECT toInt64(sum(visits)) AS visits FROM hits GROUP BY page ORDER BY visits DESC LIMIT 1";
    let answer: Vec<RecordBatch> = tambour::sql(&[&hits], statement)?.collect::<Result<_, _>>()?;
    let visits = answer[0].column(0).as_any().downcast_ref::<Int64Array>();
    let visits = visits.ok_or("the sum is an Int64")?;
    println!("the first page has {} visits", visits.value(0));
    assert_eq!(visits.value(0), 70);
    Ok(())
}
