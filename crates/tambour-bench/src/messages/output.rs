//! Results as a table, as JSON and as a page.

use super::{Results, Timing, Way};
use crate::BenchError;
use crate::machine::Machine;
use crate::report::{
    Axis, Bar, Bars, Chart, Column, Fact, Figure, Page, Panel, Section, Table, Tone,
};
use serde_json::{Value, json};
use std::path::Path;

/// Bytes as megabytes.
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

fn tone(way: Way) -> Tone {
    match way {
        Way::TambourPinned => Tone::First,
        Way::Tambour => Tone::Second,
        Way::Streaming | Way::StreamingDictionary => Tone::Reference,
        Way::Single | Way::SingleDictionary => Tone::Quiet,
    }
}

impl Results {
    /// One line per contender.
    pub fn table(&self) -> Table {
        let row = |timing: &Timing| {
            vec![
                timing.way.name().to_owned(),
                format!("{:.2}", timing.ratio()),
                format!("{:.0}", timing.encoded_per_second() / 1e3),
                format!("{:.0}", timing.decoded_per_second() / 1e3),
                format!("{:.0}", timing.both_per_second() / 1e3),
                format!("{:.2}", megabytes(timing.sender_bytes)),
                format!("{:.2}", megabytes(timing.receiver_bytes)),
                format!("{:.1}", megabytes(timing.resident_bytes)),
            ]
        };
        Table {
            title: format!(
                "{} messages of {} bytes on {} connections",
                self.messages,
                self.bytes / self.messages.max(1),
                self.settings.connections
            ),
            columns: vec![
                Column::text("contender"),
                Column::number("ratio"),
                Column::number("encode K/s"),
                Column::number("decode K/s"),
                Column::number("both K/s"),
                Column::number("senders MB"),
                Column::number("receivers MB"),
                Column::number("resident MB"),
            ],
            rows: self.timings.iter().map(row).collect(),
        }
    }

    /// What the reader should remember: against streams with a dictionary.
    fn facts(&self) -> Vec<Fact> {
        let (Some(ours), Some(stream)) =
            (self.of(Way::TambourPinned), self.of(Way::StreamingDictionary))
        else {
            return Vec::new();
        };
        let times = |value: f64| format!("{value:.1}\u{d7}");
        let speed = ours.both_per_second() / stream.both_per_second();
        let fact = |value, label: &str| Fact { value, label: label.to_owned() };
        vec![
            fact(times(speed), "messages per second, both ways, streams with dictionary = 1"),
            fact(times(ours.ratio() / stream.ratio()), "ratio with pins, the same"),
            fact(
                format!("{:.1} MB", megabytes(ours.sender_bytes + ours.receiver_bytes)),
                "codec memory of both ends of all connections, with pins",
            ),
            fact(
                format!("{:.0} MB", megabytes(stream.sender_bytes + stream.receiver_bytes)),
                "the same of the streams",
            ),
        ]
    }

    fn bars(&self, axis: Axis, unit: &str, value: impl Fn(&Timing) -> f64) -> Chart {
        let bar = |timing: &Timing| {
            let value = value(timing);
            let text = if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") };
            Bar {
                label: timing.way.name().to_owned(),
                value,
                hover: format!("{}: {text} {unit}", timing.way.name()),
                text,
                tone: tone(timing.way),
            }
        };
        let mut bars: Vec<Bar> = self.timings.iter().map(bar).collect();
        bars.sort_by(|one, other| other.value.total_cmp(&one.value));
        Chart::Bars(Bars { axis, line: None, bars })
    }

    /// The page.
    pub fn page(&self, machine: Machine) -> Page {
        let figure = |id, title: &str, caption: &str, chart| Figure {
            id,
            title: title.to_owned(),
            caption: caption.to_owned(),
            panels: vec![Panel { title: String::new(), chart }],
            legend: Vec::new(),
            values: self.table(),
        };
        let figures = vec![
            figure(
                "speeds",
                "Messages per second",
                "Encoded and decoded, one thread.",
                self.bars(Axis::linear("thousand messages per second"), "thousand", |timing| {
                    timing.both_per_second() / 1e3
                }),
            ),
            figure(
                "ratios",
                "Compression ratio",
                "All bytes on the wire but the length in front of each message.",
                self.bars(Axis::linear("ratio"), "times smaller", Timing::ratio),
            ),
            figure(
                "memory",
                "Memory of all connections",
                "As the libraries declare it, both ends together.",
                self.bars(Axis::log("megabytes"), "MB", |timing| {
                    megabytes(timing.sender_bytes + timing.receiver_bytes).max(0.01)
                }),
            ),
        ];
        let lead = format!(
            "{} messages of {} bytes on {} connections, in random order; dictionaries of 64 KiB, trained on other \
             connections; zstd at level 1, streams with windows of 32 KiB. Processor time of the thread, medians of {} \
             rounds; every message was compared.",
            self.messages,
            self.bytes / self.messages.max(1),
            self.settings.connections,
            self.settings.rounds,
        );
        let section = Section {
            title: "All contenders".to_owned(),
            text: String::new(),
            figures,
            tables: vec![self.table()],
        };
        Page {
            title: "Messages on many connections".to_owned(),
            lead,
            facts: self.facts(),
            sections: vec![section],
            machine,
        }
    }

    /// All that was measured. Times in seconds, sizes in bytes.
    pub fn to_json(&self, machine: &Machine) -> Value {
        let one = |timing: &Timing| {
            json!({
                "name": timing.way.name(),
                "messages": timing.messages,
                "bytes": timing.bytes,
                "encoded_bytes": timing.encoded_bytes,
                "ratio": timing.ratio(),
                "encode_seconds": timing.encode_seconds,
                "decode_seconds": timing.decode_seconds,
                "messages_per_second": timing.both_per_second(),
                "sender_bytes": timing.sender_bytes,
                "receiver_bytes": timing.receiver_bytes,
                "resident_bytes": timing.resident_bytes,
            })
        };
        json!({
            "schema": "tambour/bench/1",
            "benchmark": "messages",
            "machine": machine.to_json(),
            "settings": {
                "connections": self.settings.connections,
                "messages": self.settings.messages,
                "rounds": self.settings.rounds,
                "seed": self.settings.seed,
            },
            "contenders": self.timings.iter().map(one).collect::<Vec<_>>(),
        })
    }

    /// Writes `messages.csv` and `report.html` into a directory, which is made if need be.
    pub fn write(&self, directory: &Path, machine: Machine) -> Result<(), BenchError> {
        crate::report::write(directory, &[("messages.csv", self.table())], &self.page(machine))
    }
}
