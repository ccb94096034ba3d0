//! Results as tables, as JSON and as a page.

use super::{Entry, Measured, NOW, Results, Table};
use crate::findings::{Findings, object, speed};
use serde_json::{Value, json};
use tambour_codec::choose::Objective;
use tambour_report::{
    self as report, Bar, Bars, Chart, Fact, Figure, Machine, Page, Section, Tone, Treemap,
};

/// Columns with bars of their own: the slowest.
const COLUMNS_MAX: usize = 20;

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
        let mut rows: Vec<[String; 8]> = Vec::new();
        for column in &self.columns {
            for (index, entry) in column.entries.iter().enumerate() {
                let first = |text: &String| if index == 0 { text.clone() } else { String::new() };
                rows.push([
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
        let raw: u64 = self.columns.iter().map(|column| column.raw_bytes).sum();
        for role in std::iter::once(NOW).chain(Objective::ALL.iter().map(|goal| goal.name())) {
            let (bytes, seconds) = self.total(role);
            rows.push([
                "all".to_owned(),
                String::new(),
                String::new(),
                role.to_owned(),
                bytes.to_string(),
                format!("{:.2}", raw as f64 / (bytes as f64).max(1.0)),
                speed(raw as f64 / 1e9 / seconds.max(1e-12)),
                format!("{:.3}", seconds * 1e3),
            ]);
        }
        let mut columns = ["column", "type", "codec", "is"].map(report::Column::text).to_vec();
        columns.extend(["bytes", "ratio", "GB/s", "scan ms"].map(report::Column::number));
        let rows = rows.into_iter().map(Vec::from).collect();
        report::Table { title: self.title(), columns, rows }
    }

    /// The slowest columns, by what they have now.
    fn slowest(&self) -> Vec<&Measured> {
        let mut columns: Vec<&Measured> = self.columns.iter().collect();
        columns.sort_by(|a, b| b.seconds(NOW).total_cmp(&a.seconds(NOW)));
        columns.truncate(COLUMNS_MAX);
        columns
    }

    fn figures(&self, place: usize) -> Vec<Figure> {
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
        let title = |what: &str| format!("{}: {what}", self.name);
        let map = Figure::new(
            format!("m{place}"),
            title("what a scan of all columns spends its time on"),
            Chart::Treemap(map),
            self.rows(),
        )
        .caption("Area is time of decoding with present codecs.")
        .legend([
            (Tone::First, "could take less than half"),
            (Tone::Second, "could take less than nine tenths"),
            (Tone::Quiet, "is about as fast as it gets"),
        ]);
        let bars = Figure::new(
            format!("s{place}"),
            title("time of a scan per column"),
            Bars::linear("ms of one thread", bars),
            self.rows(),
        )
        .caption("The slowest columns; shorter is faster.")
        .legend([
            (Tone::Reference, "now"),
            (Tone::First, "best balance"),
            (Tone::Second, "best size"),
        ]);
        vec![map, bars]
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

impl Findings for Results {
    fn tables(&self, _: &Machine) -> Vec<report::Table> {
        self.tables.iter().map(Table::rows).collect()
    }

    fn to_json(&self, machine: &Machine) -> Value {
        let tables: Vec<Value> = self.tables.iter().map(Table::to_json).collect();
        object("columns", machine, json!({ "rounds": self.rounds }), ("tables", tables.into()))
    }

    fn page(&self, machine: Machine) -> Page {
        let lead = format!(
            "Every column as it is, with the advisor's best chains and with plain LZ4 and ZSTD(1), decoded {} times in turns. \
             Checksums are part of decoding. Processor time of one thread, medians; bytes and times are those of all rows, by \
             the ratio of the sample; every output was compared with its source.",
            self.rounds
        );
        let section = |(place, table): (usize, &Table)| Section {
            title: table.name.clone(),
            text: table.title(),
            figures: table.figures(place),
            ..Section::default()
        };
        let fact = |table: &Table| {
            let (now, balance) = (table.total(NOW), table.total("balance"));
            let share = 100.0 * balance.0 as f64 / (now.0 as f64).max(1.0);
            Fact::new(
                format!("{:.1}\u{d7}", now.1 / balance.1.max(1e-12)),
                format!(
                    "as fast a scan of {} with the best balance, in {share:.0} % of the bytes",
                    table.name
                ),
            )
        };
        Page {
            title: "What a scan of each column costs".to_owned(),
            lead,
            facts: self.tables.iter().take(2).map(fact).collect(),
            sections: self.tables.iter().enumerate().map(section).collect(),
            machine,
        }
    }

    fn files(&self, _: &Machine) -> Vec<(&'static str, report::Table)> {
        let lines = self.tables.iter().flat_map(|table| {
            let columns = table.columns.iter();
            columns.flat_map(move |column| {
                column.entries.iter().map(move |entry| (table, column, entry))
            })
        });
        let table = report::Table::of("columns", lines)
            .text("table", |(table, ..)| table.name.clone())
            .text("column", |(_, column, _)| column.name.clone())
            .text("type", |(_, column, _)| column.data_type.clone())
            .text("codec", |(.., entry)| entry.spec.to_string())
            .text("is", |(.., entry)| entry.roles.join(" "))
            .number("uncompressed", |(_, column, _)| column.raw_bytes)
            .number("bytes", |(.., entry)| entry.stored_bytes)
            .number("decode_gbps", |(.., entry)| format!("{:.6}", entry.decode));
        vec![("measurements.csv", table.build())]
    }
}
