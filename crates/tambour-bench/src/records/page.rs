//! The results as a table, as JSON and as a page.

use super::{CorpusScores, Results, Score};
use crate::findings::Findings;
use serde_json::{Value, json};
use tambour_report::{Fact, Machine, Page, Section, Table};

/// The scores of a corpus; the reads also as multiples of those of B.
pub fn table(corpus: &CorpusScores) -> Table {
    let times = |score: &Score, of: fn(&Score) -> f64| {
        format!("{:.2}", of(score) / corpus.scores.first().map_or(1.0, of).max(1e-9))
    };
    let title = format!("{}: {} records, {} bytes", corpus.name, corpus.records, corpus.raw_bytes);
    Table::of(title, &corpus.scores)
        .text("contender", |score| score.name.clone())
        .number("ratio", |score| format!("{:.2}", score.ratio))
        .number("gets/s", |score| format!("{:.0}", score.gets))
        .number("x B", |score| times(score, |it| it.gets))
        .number("get_many/s", |score| format!("{:.0}", score.get_many))
        .number("x B", |score| times(score, |it| it.get_many))
        .number("write MB/s", |score| format!("{:.0}", score.write_rate / 1e6))
        .build()
}

/// What was compared, and with whom.
fn lead(results: &Results) -> String {
    let mut lead = "Records read one by one and many at once, in random order. B is libzstd at level 1 with a dictionary of \
                    112 KiB, a frame per record. Ratios count index, checksums and dictionaries."
        .to_owned();
    let mut scores = results.corpora.iter().flat_map(|corpus| &corpus.scores);
    if scores.any(|score| score.name.starts_with("RocksDB")) {
        lead.push_str(
            " RocksDB has no cache of decompressed blocks here. It does more than a log: keys in any order, updates, \
             deletes, snapshots; this compares reads by id only.",
        );
    }
    lead
}

impl Findings for Results {
    fn tables(&self, _: &Machine) -> Vec<Table> {
        self.corpora.iter().map(table).collect()
    }

    /// Rates are per second.
    fn to_json(&self, machine: &Machine) -> Value {
        let corpora = self.corpora.iter().map(|corpus| {
            let scores = corpus.scores.iter().map(|score| {
                json!({
                    "contender": score.name,
                    "stored_bytes": score.stored_bytes,
                    "ratio": score.ratio,
                    "gets_per_second": score.gets,
                    "get_many_per_second": score.get_many,
                    "write_bytes_per_second": score.write_rate,
                })
            });
            json!({
                "name": corpus.name,
                "records": corpus.records,
                "raw_bytes": corpus.raw_bytes,
                "scores": scores.collect::<Vec<_>>(),
            })
        });
        json!({
            "schema": "tambour/bench-records/1",
            "rounds": self.settings.rounds,
            "reads": self.settings.reads,
            "machine": machine.named(),
            "corpora": corpora.collect::<Vec<_>>(),
        })
    }

    fn page(&self, machine: Machine) -> Page {
        let fact = |corpus: &CorpusScores| {
            let ours = corpus.scores.iter().find(|score| score.name == "records")?;
            let gain = ours.gets / corpus.scores.first()?.gets.max(1e-9);
            let label = format!("single reads of zstd with a dictionary, {}", corpus.name);
            Some(Fact::new(format!("{gain:.1}x"), label))
        };
        let section = |corpus: &CorpusScores| Section {
            title: corpus.name.clone(),
            text: format!("{} records, {} bytes.", corpus.records, corpus.raw_bytes),
            tables: vec![table(corpus)],
            ..Section::default()
        };
        Page {
            title: "Random reads of small records".to_owned(),
            lead: lead(self),
            facts: self.corpora.iter().filter_map(fact).collect(),
            sections: self.corpora.iter().map(section).collect(),
            machine,
        }
    }

    fn files(&self, _: &Machine) -> Vec<(&'static str, Table)> {
        Vec::new()
    }
}
