//! Results as tables, as JSON and as a page.

use super::{Entry, Group, Results};
use crate::BenchError;
use crate::machine::Machine;
use crate::report::{
    self, Axis, Bar, Bars, Chart, Column, Fact, Figure, Page, Panel, Section, Table,
};
use serde_json::{Value, json};
use std::path::Path;

/// What stands at the top of a page.
#[derive(Clone, Debug)]
pub struct Headings {
    /// Title of the page.
    pub title: String,
    /// What was measured.
    pub lead: String,
    /// Figures to remember.
    pub facts: Vec<Fact>,
}

/// Names of figures, which are constants; groups beyond them have tables only.
const IDS: [&str; 32] = [
    "g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8", "g9", "g10", "g11", "g12", "g13", "g14",
    "g15", "g16", "g17", "g18", "g19", "g20", "g21", "g22", "g23", "g24", "g25", "g26", "g27",
    "g28", "g29", "g30", "g31",
];

fn speed(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

impl Group {
    fn has_bits(&self) -> bool {
        self.entries.iter().any(|entry| entry.bits.is_some())
    }

    fn table(&self) -> Table {
        let mut columns = vec![Column::text("contender")];
        if self.has_bits() {
            columns.push(Column::number("bits"));
        }
        for measure in self.measures {
            columns.push(Column::number(&format!("{measure} {}", self.unit)));
            columns.push(Column::number("x"));
        }
        let row = |entry: &Entry| {
            let mut row = vec![entry.name.clone()];
            if self.has_bits() {
                row.push(entry.bits.map_or_else(String::new, |bits| format!("{bits:.2}")));
            }
            for (measure, &value) in entry.speeds.iter().enumerate() {
                row.push(speed(value));
                row.push(format!("{:.2}\u{d7}", self.gain(entry, measure)));
            }
            row
        };
        let rows = self.entries.iter().map(row).collect();
        Table { title: self.title.clone(), columns, rows }
    }

    fn figure(&self, id: &'static str) -> Figure {
        let panel = |(measure, name): (usize, &&str)| {
            let bar = |entry: &Entry| {
                let text = speed(entry.speeds[measure]);
                Bar {
                    label: entry.name.clone(),
                    value: entry.speeds[measure],
                    hover: format!("{}, {name}: {text} {}", entry.name, self.unit),
                    text,
                    tone: entry.tone,
                }
            };
            let axis = Axis::linear(self.unit);
            let bars = self.entries.iter().map(bar).collect();
            let title = if self.measures.len() > 1 { (*name).to_owned() } else { String::new() };
            Panel { title, chart: Chart::Bars(Bars { axis, line: None, bars }) }
        };
        Figure {
            id,
            title: self.title.clone(),
            caption: format!("{}; longer is faster.", self.unit),
            panels: self.measures.iter().enumerate().map(panel).collect(),
            legend: Vec::new(),
            values: self.table(),
        }
    }
}

impl Results {
    /// One table per group.
    pub fn tables(&self) -> Vec<Table> {
        self.groups.iter().map(Group::table).collect()
    }

    /// The group with this title.
    pub fn group(&self, title: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.title == title)
    }

    /// All that was measured.
    pub fn to_json(&self, machine: &Machine) -> Value {
        let entry = |entry: &Entry| json!({ "name": entry.name, "bits": entry.bits, "speeds": entry.speeds });
        let group = |group: &Group| {
            json!({
                "title": group.title,
                "measures": group.measures,
                "unit": group.unit,
                "entries": group.entries.iter().map(entry).collect::<Vec<_>>(),
            })
        };
        json!({
            "schema": "tambour/bench/1",
            "benchmark": self.benchmark,
            "machine": machine.to_json(),
            "settings": { "rounds": self.rounds, "count": self.count },
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
        })
    }

    /// The page: a chart per group.
    pub fn page(&self, headings: Headings, machine: Machine) -> Page {
        let Headings { title, lead, facts } = headings;
        let figures = self.groups.iter().zip(IDS).map(|(group, id)| group.figure(id)).collect();
        let tables = self.groups.iter().skip(IDS.len()).map(Group::table).collect();
        let section =
            Section { title: "All groups".to_owned(), text: String::new(), figures, tables };
        Page { title, lead, facts, sections: vec![section], machine }
    }

    /// All groups in one table, for CSV.
    fn long_table(&self) -> Table {
        let columns = ["group", "contender", "measure", "unit"].map(Column::text);
        let mut columns = columns.to_vec();
        columns.extend(["bits", "speed", "gain"].map(Column::number));
        let mut rows = Vec::new();
        for group in &self.groups {
            for entry in &group.entries {
                for (measure, value) in entry.speeds.iter().enumerate() {
                    rows.push(vec![
                        group.title.clone(),
                        entry.name.clone(),
                        group.measures[measure].to_owned(),
                        group.unit.to_owned(),
                        entry.bits.map_or_else(String::new, |bits| format!("{bits:.4}")),
                        format!("{value:.6}"),
                        format!("{:.4}", group.gain(entry, measure)),
                    ]);
                }
            }
        }
        Table { title: self.benchmark.to_owned(), columns, rows }
    }

    /// Writes `measurements.csv` and `report.html` into a directory, which is made if need be.
    pub fn write(
        &self,
        directory: &Path,
        headings: Headings,
        machine: Machine,
    ) -> Result<(), BenchError> {
        let tables = [("measurements.csv", self.long_table())];
        report::write(directory, &tables, &self.page(headings, machine))
    }
}
