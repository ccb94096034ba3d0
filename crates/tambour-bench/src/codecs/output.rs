//! Results as tables, as JSON and as a page.

use super::{Entry, Measured, Results};
use crate::findings::{Findings, object, speed};
use serde_json::{Value, json};
use tambour_codec::choose::price;
use tambour_codec::codec::Element;
use tambour_report::{
    Axis, Chart, Fact, Figure, Machine, Mark, Page, Scatter, Section, Table, Tone,
};

/// General-purpose codecs alone: what chains are compared with.
const PLAIN: [&str; 6] = ["NONE", "LZ4", "LZ4HC(9)", "ZSTD(1)", "ZSTD(3)", "ZSTD(9)"];

fn is_plain(entry: &Entry) -> bool {
    PLAIN.contains(&entry.spec.to_string().as_str())
}

impl Measured {
    fn title(&self) -> String {
        format!("{}, {}, {} bytes", self.name, self.data_type, self.bytes)
    }

    fn table(&self) -> Table {
        Table::of(self.title(), &self.entries)
            .text("codec", |entry| entry.spec.to_string())
            .text("variant", |entry| entry.variant.clone())
            .number("ratio", |entry| format!("{:.2}", self.ratio(entry)))
            .number(
                "encode GB/s",
                |entry| {
                    if entry.is_best { speed(entry.encode) } else { String::new() }
                },
            )
            .number("decode GB/s", |entry| speed(entry.decode))
            .build()
    }

    fn figure(&self, id: String) -> Figure {
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
        Figure::new(id, self.title(), Chart::Scatter(scatter), self.table())
            .caption(
                "One mark per codec or chain and variant; the dashed line joins what nothing else beats in both.",
            )
            .legend([
                (Tone::First, "codecs and chains, by their best variant"),
                (Tone::Quiet, "by other variants"),
                (Tone::Reference, "general-purpose codecs alone"),
            ])
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
        let title = "ns of decoding per byte made, by each codec alone";
        let mut table =
            Table::of(title, names).text("codec", Clone::clone).number("price", |name| {
                let codec = name.split('(').next().unwrap_or_default();
                format!("{:.2}", price(codec, Element { width: 8, ..Element::BYTES }))
            });
        for column in &self.columns {
            table = table.number(&column.name, |name| {
                let mut best = column.entries.iter().filter(|entry| entry.is_best);
                let found = best.find(|entry| entry.spec.to_string() == *name);
                found.map_or_else(String::new, |entry| format!("{:.3}", 1.0 / entry.decode))
            });
        }
        table.build()
    }

    fn facts(&self) -> Vec<Fact> {
        let count: usize = self.columns.iter().map(|column| column.entries.len()).sum();
        let mut facts =
            vec![Fact::new(count.to_string(), "codecs and chains, by type and variant")];
        let chains = self.columns.iter().flat_map(|column| &column.entries);
        let fastest = chains.filter(|entry| entry.spec.to_string() != "NONE");
        if let Some(entry) = fastest.max_by(|a, b| a.decode.total_cmp(&b.decode)) {
            let label = format!("the fastest decoding: {}", entry.spec);
            facts.push(Fact::new(format!("{} GB/s", speed(entry.decode)), label));
        }
        facts
    }
}

impl Findings for Results {
    fn tables(&self, _: &Machine) -> Vec<Table> {
        self.columns.iter().map(Measured::table).chain([self.prices()]).collect()
    }

    fn to_json(&self, machine: &Machine) -> Value {
        let columns: Vec<Value> = self.columns.iter().map(Measured::to_json).collect();
        object("codecs", machine, json!({ "rounds": self.rounds }), ("columns", columns.into()))
    }

    fn page(&self, machine: Machine) -> Page {
        let columns = self.columns.iter().enumerate();
        let figures = columns.map(|(place, column)| column.figure(format!("c{place}"))).collect();
        let lead = format!(
            "{} columns in blocks as the choice cuts them, encoded and decoded {} times by every codec that suits the type \
             and by every chain of the choice's list. Checksums are part of decoding. Processor time of the thread, medians; \
             every variant's output was compared with its source.",
            self.columns.len(),
            self.rounds
        );
        let tables = vec![self.prices()];
        let section =
            Section { title: "Columns".to_owned(), figures, tables, ..Section::default() };
        let title = "Codecs and chains".to_owned();
        Page { title, lead, facts: self.facts(), sections: vec![section], machine }
    }

    fn files(&self, _: &Machine) -> Vec<(&'static str, Table)> {
        let columns = self.columns.iter();
        let lines =
            columns.flat_map(|column| column.entries.iter().map(move |entry| (column, entry)));
        let table = Table::of("codecs", lines)
            .text("column", |(column, _)| column.name.clone())
            .text("type", |(column, _)| column.data_type.clone())
            .text("codec", |(_, entry)| entry.spec.to_string())
            .text("variant", |(_, entry)| entry.variant.clone())
            .number("bytes", |(column, _)| column.bytes)
            .number("stored", |(_, entry)| entry.stored_bytes)
            .number("encode_gbps", |(_, entry)| format!("{:.6}", entry.encode))
            .number("decode_gbps", |(_, entry)| format!("{:.6}", entry.decode));
        vec![("measurements.csv", table.build())]
    }
}
