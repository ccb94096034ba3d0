//! Results as a table, as JSON and as a page.

use super::{Results, Timing, Way};
use crate::findings::{Findings, object};
use serde_json::{Value, json};
use tambour_report::{Axis, Bar, Bars, Chart, Fact, Figure, Machine, Page, Section, Table, Tone};

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
    /// What the messages were.
    fn title(&self) -> String {
        let mean = self.bytes / self.messages.max(1);
        let connections = self.settings.connections;
        format!("{} messages of {mean} bytes on {connections} connections", self.messages)
    }

    /// One line per contender.
    pub fn table(&self) -> Table {
        let thousands = |rate: f64| format!("{:.0}", rate / 1e3);
        Table::of(self.title(), &self.timings)
            .text("contender", |timing| timing.way.name())
            .number("ratio", |timing| format!("{:.2}", timing.ratio()))
            .number("encode K/s", |timing| thousands(timing.encoded_per_second()))
            .number("decode K/s", |timing| thousands(timing.decoded_per_second()))
            .number("both K/s", |timing| thousands(timing.both_per_second()))
            .number("senders MB", |timing| format!("{:.2}", megabytes(timing.sender_bytes)))
            .number("receivers MB", |timing| format!("{:.2}", megabytes(timing.receiver_bytes)))
            .number("resident MB", |timing| format!("{:.1}", megabytes(timing.resident_bytes)))
            .build()
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
        let (mine, theirs) = (
            megabytes(ours.sender_bytes + ours.receiver_bytes),
            megabytes(stream.sender_bytes + stream.receiver_bytes),
        );
        vec![
            Fact::new(times(speed), "messages per second, both ways, streams with dictionary = 1"),
            Fact::new(times(ours.ratio() / stream.ratio()), "ratio with pins, the same"),
            Fact::new(
                format!("{mine:.1} MB"),
                "codec memory of both ends of all connections, with pins",
            ),
            Fact::new(format!("{theirs:.0} MB"), "the same of the streams"),
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
}

impl Findings for Results {
    fn tables(&self, _: &Machine) -> Vec<Table> {
        vec![self.table()]
    }

    fn to_json(&self, machine: &Machine) -> Value {
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
        let settings = json!({
            "connections": self.settings.connections,
            "messages": self.settings.messages,
            "rounds": self.settings.rounds,
            "seed": self.settings.seed,
        });
        let contenders: Vec<Value> = self.timings.iter().map(one).collect();
        object("messages", machine, settings, ("contenders", contenders.into()))
    }

    fn page(&self, machine: Machine) -> Page {
        let figure = |id: &str, title: &str, caption: &str, chart| {
            Figure::new(id, title, chart, self.table()).caption(caption)
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
            "{}, in random order; dictionaries of 64 KiB, trained on other connections; zstd at level 1, streams with windows \
             of 32 KiB. Processor time of the thread, medians of {} rounds; every message was compared.",
            self.title(),
            self.settings.rounds,
        );
        let tables = vec![self.table()];
        let title = "All contenders".to_owned();
        let section = Section { title, figures, tables, ..Section::default() };
        Page {
            title: "Messages on many connections".to_owned(),
            lead,
            facts: self.facts(),
            sections: vec![section],
            machine,
        }
    }

    fn files(&self, _: &Machine) -> Vec<(&'static str, Table)> {
        vec![("messages.csv", self.table())]
    }
}
