//! Exports columns of a table to Parquet, and imports them again.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use std::error::Error;
use std::ops::ControlFlow;
use tambour::{ExportOptions, ImportOptions};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name);
    std::fs::write(
        path("hits.csv"),
        "page,visits,time\n/,3,2026-01-01 10:00:00\n/about,1,2026-01-02 11:30:00\n",
    )?;
    let hits = tambour::import([path("hits.csv")], path("hits"), &ImportOptions::default())?;

    let mut options = ExportOptions::default();
    options.columns = vec!["page".to_owned(), "time".to_owned()];
    let rows = hits.export_with(path("hits.parquet"), &options, &mut |rows| {
        println!("{rows} rows so far");
        ControlFlow::Continue(())
    })?;
    assert_eq!(rows, 2);

    let again = tambour::import([path("hits.parquet")], path("again"), &ImportOptions::default())?;
    let names: Vec<&str> = again.columns().iter().map(|column| column.name.as_str()).collect();
    println!("{} rows of {names:?} came back", again.rows());
    assert_eq!((again.rows(), names.as_slice()), (2, ["page", "time"].as_slice()));
    Ok(())
}
