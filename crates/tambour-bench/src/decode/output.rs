//! Results as text and as files.

use super::{Results, page};
use crate::BenchError;
use crate::machine::Machine;
use crate::report::{self, Table};
use std::path::Path;

impl Results {
    /// The tables for people, in their order.
    pub fn tables(&self, machine: &Machine) -> Vec<Table> {
        let mut tables = vec![self.file_table(), self.score_table(), self.summary_table(machine)];
        if !self.regrets().is_empty() {
            tables.insert(2, self.regret_table());
        }
        if self.settings.frontier {
            tables.insert(2, self.frontier_table());
        }
        tables
    }

    /// Writes `measurements.csv`, `contenders.csv`, `summary.csv`, `regret.csv` (where there are selectors) and
    /// `report.html` into a directory, which is made if need be. Files of these names are replaced.
    pub fn write(&self, directory: &Path, machine: Machine) -> Result<(), BenchError> {
        let mut tables = vec![
            ("measurements.csv", self.measurement_table()),
            ("contenders.csv", self.score_table()),
            ("summary.csv", self.summary_table(&machine)),
        ];
        if !self.regrets().is_empty() {
            tables.push(("regret.csv", self.regret_table()));
        }
        report::write(directory, &tables, &page(self, machine))
    }
}
