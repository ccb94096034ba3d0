//! Results as tables, as JSON and as a page.

use super::{Entry, Measured, NOW, Results, Table};
use crate::BenchError;
use crate::machine::Machine;
use crate::report::{
    self, Axis, Bar, Bars, Chart, Column, Fact, Figure, Page, Panel, Section, Tone, Treemap,
};
use serde_json::{Value, json};
use std::path::Path;
use tambour_codec::choose::Objective;

/// Names of figures, which are constants; tables beyond them have no charts.
const IDS: [[&str; 2]; 8] = [
    ["m0", "s0"],
    ["m1", "s1"],
    ["m2", "s2"],
    ["m3", "s3"],
    ["m4", "s4"],
    ["m5", "s5"],
    ["m6", "s6"],
    ["m7", "s7"],
];
/// Columns with bars of their own: the slowest.
const COLUMNS_MAX: usize = 20;

fn speed(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

impl Measured {
    fn ratio(&self, entry: &Entry) -> f64 {
        self.raw_bytes as f64 / (entry.stored_bytes as f64).max(1.0)
    }

    /// Seconds of a scan with the chain of a role.
    fn seconds(&self, role: &str) -> f64 {
        self.with_role(role).map_or(0.0, |entry| self.scan_seconds(entry))
    }

    fn bytes(&self, role: &str) -> u64 {
        self.with_role(role).map_or(0, |entry| entry.stored_bytes)
    }
}

impl Table {
    fn title(&self) -> String {
        format!("{}: {} rows, {} of them sampled", self.name, self.rows, self.rows_sampled)
    }

    /// Bytes and seconds of all columns with the chains of a role.
    pub fn total(&self, role: &str) -> (u64, f64) {
        let bytes = self.columns.iter().map(|column| column.bytes(role)).sum();
        (bytes, self.columns.iter().map(|column| column.seconds(role)).sum())
    }

    fn rows(&self) -> report::Table {
        let mut columns = ["column", "type", "codec", "is"].map(Column::text).to_vec();
        columns.extend(["bytes", "ratio", "GB/s", "scan ms"].map(Column::number));
        let mut rows = Vec::new();
        for column in &self.columns {
            for (index, entry) in column.entries.iter().enumerate() {
                let is_first = index == 0;
                let first = |text: &String| if is_first { text.clone() } else { String::new() };
                rows.push(vec![
                    first(&column.name),
                    first(&column.data_type),
                    entry.spec.to_string(),
                    entry.roles.join(", "),
                    entry.stored_bytes.to_string(),
                    format!("{:.2}", column.ratio(entry)),
                    speed(entry.decode),
                    format!("{:.3}", column.scan_seconds(entry) * 1e3),
                ]);
            }
        }
        for role in roles() {
            let (bytes, seconds) = self.total(role);
            let raw: u64 = self.columns.iter().map(|column| column.raw_bytes).sum();
            let mut row = vec!["all".to_owned(), String::new(), String::new(), role.to_owned()];
            row.push(bytes.to_string());
            row.push(format!("{:.2}", raw as f64 / (bytes as f64).max(1.0)));
            row.push(speed(raw as f64 / 1e9 / seconds.max(1e-12)));
            row.push(format!("{:.3}", seconds * 1e3));
            rows.push(row);
        }
        report::Table { title: self.title(), columns, rows }
    }

    /// The slowest columns, by what they have now.
    fn slowest(&self) -> Vec<&Measured> {
        let mut columns: Vec<&Measured> = self.columns.iter().collect();
        columns.sort_by(|a, b| b.seconds(NOW).total_cmp(&a.seconds(NOW)));
        columns.truncate(COLUMNS_MAX);
        columns
    }

    fn figures(&self, ids: [&'static str; 2]) -> Vec<Figure> {
        let tile = |column: &Measured| {
            let (now, best) = (column.seconds(NOW), column.seconds(Objective::Balance.name()));
            report::Tile {
                label: column.name.clone(),
                value: now * 1e3,
                hover: format!(
                    "{}: a scan takes {:.3} ms now, {:.3} ms with the best balance",
                    column.name,
                    now * 1e3,
                    best * 1e3
                ),
                tone: if best < 0.5 * now {
                    Tone::First
                } else if best < 0.9 * now {
                    Tone::Second
                } else {
                    Tone::Quiet
                },
            }
        };
        let map = Treemap { tiles: self.columns.iter().map(tile).collect() };
        let bars = self.slowest().into_iter().flat_map(bars).collect();
        let bars = Bars { axis: Axis::linear("ms of one thread"), line: None, bars };
        let figure = |id, title: &str, caption: &str, chart, legend| Figure {
            id,
            title: format!("{}: {title}", self.name),
            caption: caption.to_owned(),
            panels: vec![Panel { title: String::new(), chart }],
            legend,
            values: self.rows(),
        };
        let shades = vec![
            (Tone::First, "could take less than half".to_owned()),
            (Tone::Second, "could take less than nine tenths".to_owned()),
            (Tone::Quiet, "is about as fast as it gets".to_owned()),
        ];
        let colours = vec![
            (Tone::Reference, "now".to_owned()),
            (Tone::First, "best balance".to_owned()),
            (Tone::Second, "best size".to_owned()),
        ];
        vec![
            figure(
                ids[0],
                "what a scan of all columns spends its time on",
                "Area is time of decoding with present codecs.",
                Chart::Treemap(map),
                shades,
            ),
            figure(
                ids[1],
                "time of a scan per column",
                "The slowest columns; shorter is faster.",
                Chart::Bars(bars),
                colours,
            ),
        ]
    }

    fn to_json(&self) -> Value {
        let column = |column: &Measured| {
            let entry = |entry: &Entry| {
                json!({
                    "codec": entry.spec.to_string(),
                    "is": entry.roles,
                    "bytes": entry.stored_bytes,
                    "ratio": column.ratio(entry),
                    "decode_gbps": entry.decode,
                    "scan_seconds": column.scan_seconds(entry),
                })
            };
            json!({
                "name": column.name,
                "type": column.data_type,
                "bytes_uncompressed": column.raw_bytes,
                "bytes_on_disk": column.on_disk,
                "codecs": column.entries.iter().map(entry).collect::<Vec<_>>(),
            })
        };
        json!({
            "name": self.name,
            "rows": self.rows,
            "rows_sampled": self.rows_sampled,
            "columns": self.columns.iter().map(column).collect::<Vec<_>>(),
        })
    }
}

/// The roles that every column has.
fn roles() -> impl Iterator<Item = &'static str> {
    std::iter::once(NOW).chain(Objective::ALL.iter().map(|goal| goal.name()))
}

fn bars(column: &Measured) -> Vec<Bar> {
    let shown =
        [(NOW, Tone::Reference), ("balance", Tone::First), ("size", Tone::Second)].into_iter();
    let bar = |(role, tone)| {
        let entry = column.with_role(role)?;
        let text = format!("{:.3} ms", column.scan_seconds(entry) * 1e3);
        Some(Bar {
            label: if role == NOW { column.name.clone() } else { format!("best {role}") },
            value: column.scan_seconds(entry) * 1e3,
            hover: format!("{}, {role}: CODEC({}), {text}", column.name, entry.spec),
            text,
            tone,
        })
    };
    shown.filter_map(bar).collect()
}

impl Results {
    /// One table per table.
    pub fn tables(&self) -> Vec<report::Table> {
        self.tables.iter().map(Table::rows).collect()
    }

    /// All that was measured.
    pub fn to_json(&self, machine: &Machine) -> Value {
        json!({
            "schema": "tambour/bench/1",
            "benchmark": "columns",
            "machine": machine.to_json(),
            "settings": { "rounds": self.rounds },
            "tables": self.tables.iter().map(Table::to_json).collect::<Vec<_>>(),
        })
    }

    /// The page: charts per table.
    pub fn page(&self, machine: Machine) -> Page {
        let lead = format!(
            "Every column as it is, with the advisor's best chains and with plain LZ4 and ZSTD(1), decoded {} times in turns. \
             Checksums are part of decoding. Processor time of one thread, medians; bytes and times are those of all rows, by \
             the ratio of the sample; every output was compared with its source.",
            self.rounds
        );
        let mut sections = Vec::new();
        for (index, table) in self.tables.iter().enumerate() {
            let ids = IDS.get(index);
            sections.push(Section {
                title: table.name.clone(),
                text: table.title(),
                figures: ids.map(|ids| table.figures(*ids)).unwrap_or_default(),
                tables: if ids.is_none() { vec![table.rows()] } else { Vec::new() },
            });
        }
        let mut facts = Vec::new();
        for table in self.tables.iter().take(2) {
            let (now, balance) = (table.total(NOW), table.total("balance"));
            facts.push(Fact {
                value: format!("{:.1}\u{d7}", now.1 / balance.1.max(1e-12)),
                label: format!(
                    "as fast a scan of {} with the best balance, in {:.0} % of the bytes",
                    table.name,
                    100.0 * balance.0 as f64 / (now.0 as f64).max(1.0)
                ),
            });
        }
        Page {
            title: "What a scan of each column costs".to_owned(),
            lead,
            facts,
            sections,
            machine,
        }
    }

    /// Writes `measurements.csv` and `report.html` into a directory, which is made if need be.
    pub fn write(&self, directory: &Path, machine: Machine) -> Result<(), BenchError> {
        let mut columns = ["table", "column", "type", "codec", "is"].map(Column::text).to_vec();
        columns.extend(["uncompressed", "bytes", "decode_gbps"].map(Column::number));
        let mut rows = Vec::new();
        for table in &self.tables {
            for column in &table.columns {
                for entry in &column.entries {
                    rows.push(vec![
                        table.name.clone(),
                        column.name.clone(),
                        column.data_type.clone(),
                        entry.spec.to_string(),
                        entry.roles.join(" "),
                        column.raw_bytes.to_string(),
                        entry.stored_bytes.to_string(),
                        format!("{:.6}", entry.decode),
                    ]);
                }
            }
        }
        let long = report::Table { title: "columns".to_owned(), columns, rows };
        report::write(directory, &[("measurements.csv", long)], &self.page(machine))
    }
}
