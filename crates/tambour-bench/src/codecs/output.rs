//! Results as tables, as JSON and as a page.

use super::{Entry, Measured, Results};
use crate::BenchError;
use crate::machine::Machine;
use crate::report::{
    self, Axis, Chart, Column, Fact, Figure, Mark, Page, Panel, Scatter, Section, Table, Tone,
};
use serde_json::{Value, json};
use std::path::Path;
use tambour_codec::choose::price;
use tambour_codec::codec::Element;

/// Names of figures, which are constants; columns beyond them have tables only.
const IDS: [&str; 24] = [
    "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13", "c14",
    "c15", "c16", "c17", "c18", "c19", "c20", "c21", "c22", "c23",
];

/// General-purpose codecs alone: what chains are compared with.
const PLAIN: [&str; 6] = ["NONE", "LZ4", "LZ4HC(9)", "ZSTD(1)", "ZSTD(3)", "ZSTD(9)"];

fn speed(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

fn is_plain(entry: &Entry) -> bool {
    PLAIN.contains(&entry.spec.to_string().as_str())
}

impl Measured {
    fn title(&self) -> String {
        format!("{}, {}, {} bytes", self.name, self.data_type, self.bytes)
    }

    fn table(&self) -> Table {
        let columns = vec![
            Column::text("codec"),
            Column::text("variant"),
            Column::number("ratio"),
            Column::number("encode GB/s"),
            Column::number("decode GB/s"),
        ];
        let row = |entry: &Entry| {
            vec![
                entry.spec.to_string(),
                entry.variant.clone(),
                format!("{:.2}", self.ratio(entry)),
                if entry.is_best { speed(entry.encode) } else { String::new() },
                speed(entry.decode),
            ]
        };
        let rows = self.entries.iter().map(row).collect();
        Table { title: self.title(), columns, rows }
    }

    fn figure(&self, id: &'static str) -> Figure {
        let mark = |entry: &Entry| {
            let (x, y) = (self.ratio(entry), entry.decode);
            let variant = if entry.variant.is_empty() {
                String::new()
            } else {
                format!(" ({})", entry.variant)
            };
            let hover = format!(
                "{}{variant}: ratio {x:.2}, decoded at {} GB/s, encoded at {} GB/s",
                entry.spec,
                speed(y),
                speed(entry.encode)
            );
            let tone = match entry {
                entry if is_plain(entry) => Tone::Reference,
                entry if entry.is_best => Tone::First,
                _ => Tone::Quiet,
            };
            let label = if is_plain(entry) && entry.is_best {
                entry.spec.to_string()
            } else {
                String::new()
            };
            Mark { x, y, label, hover, tone }
        };
        let scatter = Scatter {
            x: Axis::log("ratio"),
            y: Axis::log("decoded GB/s"),
            frontier: true,
            room: Vec::new(),
            marks: self.entries.iter().map(mark).collect(),
        };
        Figure {
            id,
            title: self.title(),
            caption: "One mark per codec or chain and variant; the dashed line joins what nothing else beats in both."
                .to_owned(),
            panels: vec![Panel { title: String::new(), chart: Chart::Scatter(scatter) }],
            legend: vec![
                (Tone::First, "codecs and chains, by their best variant".to_owned()),
                (Tone::Quiet, "by other variants".to_owned()),
                (Tone::Reference, "general-purpose codecs alone".to_owned()),
            ],
            values: self.table(),
        }
    }

    fn to_json(&self) -> Value {
        let entry = |entry: &Entry| {
            json!({
                "codec": entry.spec.to_string(),
                "variant": entry.variant,
                "best_variant": entry.is_best,
                "bytes": entry.stored_bytes,
                "ratio": self.ratio(entry),
                "encode_gbps": entry.encode,
                "decode_gbps": entry.decode,
            })
        };
        json!({
            "name": self.name,
            "type": self.data_type,
            "bytes": self.bytes,
            "codecs": self.entries.iter().map(entry).collect::<Vec<_>>(),
        })
    }
}

impl Results {
    /// One table per column, and the prices.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = self.columns.iter().map(Measured::table).collect();
        tables.push(self.prices());
        tables
    }

    /// Nanoseconds of decoding per byte that a codec alone makes, beside the price that the choice reckons with.
    pub fn prices(&self) -> Table {
        let mut names: Vec<String> = Vec::new();
        for entry in self.columns.iter().flat_map(|column| &column.entries) {
            let name = entry.spec.to_string();
            if entry.spec.calls.len() == 1 && !names.contains(&name) {
                names.push(name);
            }
        }
        names.sort();
        let mut columns = vec![Column::text("codec"), Column::number("price")];
        columns.extend(self.columns.iter().map(|column| Column::number(&column.name)));
        let row = |name: &String| {
            let codec = name.split('(').next().unwrap_or_default();
            let wide = Element { width: 8, ..Element::BYTES };
            let mut row = vec![name.clone(), format!("{:.2}", price(codec, wide))];
            for column in &self.columns {
                let found = column.entries.iter();
                let mut found =
                    found.filter(|entry| entry.is_best && entry.spec.to_string() == *name);
                let ns = found.next().map(|entry| format!("{:.3}", 1.0 / entry.decode));
                row.push(ns.unwrap_or_default());
            }
            row
        };
        let rows = names.iter().map(row).collect();
        let title = "ns of decoding per byte made, by each codec alone".to_owned();
        Table { title, columns, rows }
    }

    /// All that was measured.
    pub fn to_json(&self, machine: &Machine) -> Value {
        json!({
            "schema": "tambour/bench/1",
            "benchmark": "codecs",
            "machine": machine.to_json(),
            "settings": { "rounds": self.rounds },
            "columns": self.columns.iter().map(Measured::to_json).collect::<Vec<_>>(),
        })
    }

    /// The page: a chart per column.
    pub fn page(&self, machine: Machine) -> Page {
        let figures = self.columns.iter().zip(IDS).map(|(column, id)| column.figure(id)).collect();
        let mut tables: Vec<Table> =
            self.columns.iter().skip(IDS.len()).map(Measured::table).collect();
        tables.push(self.prices());
        let lead = format!(
            "{} columns in blocks as the choice cuts them, encoded and decoded {} times by every codec that suits the type \
             and by every chain of the choice's list. Checksums are part of decoding. Processor time of the thread, medians; \
             every variant's output was compared with its source.",
            self.columns.len(),
            self.rounds
        );
        let section = Section { title: "Columns".to_owned(), text: String::new(), figures, tables };
        let title = "Codecs and chains".to_owned();
        Page { title, lead, facts: self.facts(), sections: vec![section], machine }
    }

    fn facts(&self) -> Vec<Fact> {
        let count: usize = self.columns.iter().map(|column| column.entries.len()).sum();
        let mut facts = vec![Fact {
            value: count.to_string(),
            label: "codecs and chains, by type and variant".to_owned(),
        }];
        let chains = self.columns.iter().flat_map(|column| &column.entries);
        let fastest = chains.filter(|entry| entry.spec.to_string() != "NONE");
        if let Some(entry) = fastest.max_by(|a, b| a.decode.total_cmp(&b.decode)) {
            facts.push(Fact {
                value: format!("{} GB/s", speed(entry.decode)),
                label: format!("the fastest decoding: {}", entry.spec),
            });
        }
        facts
    }

    /// All columns in one table, for CSV.
    fn long_table(&self) -> Table {
        let mut columns = ["column", "type", "codec", "variant"].map(Column::text).to_vec();
        columns.extend(["bytes", "stored", "encode_gbps", "decode_gbps"].map(Column::number));
        let mut rows = Vec::new();
        for column in &self.columns {
            for entry in &column.entries {
                rows.push(vec![
                    column.name.clone(),
                    column.data_type.clone(),
                    entry.spec.to_string(),
                    entry.variant.clone(),
                    column.bytes.to_string(),
                    entry.stored_bytes.to_string(),
                    format!("{:.6}", entry.encode),
                    format!("{:.6}", entry.decode),
                ]);
            }
        }
        Table { title: "codecs".to_owned(), columns, rows }
    }

    /// Writes `measurements.csv` and `report.html` into a directory, which is made if need be.
    pub fn write(&self, directory: &Path, machine: Machine) -> Result<(), BenchError> {
        let tables = [("measurements.csv", self.long_table())];
        report::write(directory, &tables, &self.page(machine))
    }
}
