//! What every benchmark gives: its findings as tables, as JSON, as files and as a page.

use crate::BenchError;
use serde_json::{Value, json};
use std::path::Path;
use tambour_report::{Machine, Page, Table};

/// What a benchmark found.
pub trait Findings {
    /// The tables for people, in their order.
    fn tables(&self, machine: &Machine) -> Vec<Table>;

    /// Everything as one JSON object. Sizes are in bytes, times in seconds, unless a name says otherwise.
    fn to_json(&self, machine: &Machine) -> Value;

    /// The page.
    fn page(&self, machine: Machine) -> Page;

    /// What is kept as comma-separated values: names of files, and tables.
    fn files(&self, machine: &Machine) -> Vec<(&'static str, Table)>;

    /// Writes the files and the page, `report.html`, into a directory, which is made if need be. Files of these names are
    /// replaced.
    fn write(&self, directory: &Path, machine: Machine) -> Result<(), BenchError> {
        let files = self.files(&machine);
        let files: Vec<_> = files.iter().map(|(name, table)| (*name, table)).collect();
        Ok(tambour_report::write(directory, &files, &self.page(machine))?)
    }
}

/// The object that most benchmarks give: what was measured, where, with which settings, and under `name` what came of it.
pub(crate) fn object(
    benchmark: &str,
    machine: &Machine,
    settings: Value,
    (name, found): (&str, Value),
) -> Value {
    json!({
        "schema": "tambour/bench/1",
        "benchmark": benchmark,
        "machine": machine.to_json(),
        "settings": settings,
        name: found,
    })
}

/// A speed for people: enough digits to tell two of them apart.
pub(crate) fn speed(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

/// How many times as much.
pub(crate) fn times(value: f64) -> String {
    format!("{value:.2}\u{d7}")
}
