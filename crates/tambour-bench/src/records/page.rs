//! The results as a table, as JSON and as a page.

use super::{CorpusScores, Results};
use crate::machine::Machine;
use crate::report::{Column, Fact, Page, Section, Table};
use serde_json::{Value, json};

/// The scores of a corpus; the reads also as multiples of those of B.
pub fn table(corpus: &CorpusScores) -> Table {
    let columns = ["ratio", "gets/s", "x B", "get_many/s", "x B", "write MB/s"];
    let mut all = vec![Column::text("contender")];
    all.extend(columns.iter().map(|name| Column::number(name)));
    let base = corpus.scores.first();
    let rows = corpus.scores.iter().map(|score| {
        let times = |mine: f64, of: fn(&super::Score) -> f64| {
            format!("{:.2}", mine / base.map_or(1.0, of).max(1e-9))
        };
        vec![
            score.name.clone(),
            format!("{:.2}", score.ratio),
            format!("{:.0}", score.gets),
            times(score.gets, |base| base.gets),
            format!("{:.0}", score.get_many),
            times(score.get_many, |base| base.get_many),
            format!("{:.0}", score.write_rate / 1e6),
        ]
    });
    let title = format!("{}: {} records, {} bytes", corpus.name, corpus.records, corpus.raw_bytes);
    Table { title, columns: all, rows: rows.collect() }
}

/// All results; sizes in bytes, rates per second.
pub fn to_json(results: &Results, machine: &Machine) -> Value {
    let corpora = results.corpora.iter().map(|corpus| {
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
        "rounds": results.settings.rounds,
        "reads": results.settings.reads,
        "machine": machine.lines().into_iter().map(|(name, value)| (name.to_owned(), Value::from(value)))
            .collect::<serde_json::Map<_, _>>(),
        "corpora": corpora.collect::<Vec<_>>(),
    })
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

/// The page of the experiment.
pub fn page(results: &Results, machine: Machine) -> Page {
    let mut facts = Vec::new();
    for corpus in &results.corpora {
        let base = corpus.scores.first();
        let ours = corpus.scores.iter().find(|score| score.name == "records");
        if let (Some(base), Some(ours)) = (base, ours) {
            facts.push(Fact {
                value: format!("{:.1}x", ours.gets / base.gets.max(1e-9)),
                label: format!("single reads of zstd with a dictionary, {}", corpus.name),
            });
        }
    }
    let sections = results.corpora.iter().map(|corpus| Section {
        title: corpus.name.clone(),
        text: format!("{} records, {} bytes.", corpus.records, corpus.raw_bytes),
        figures: Vec::new(),
        tables: vec![table(corpus)],
    });
    Page {
        title: "Random reads of small records".to_owned(),
        lead: lead(results),
        facts,
        sections: sections.collect(),
        machine,
    }
}
