//! Results in all their forms; the JSON is written here.

use super::{Results, page};
use crate::findings::Findings;
use serde_json::{Map, Value, json};
use tambour_report::{Machine, Page, Table};

impl Results {
    fn contenders_json(&self) -> Vec<Value> {
        let one = |score: super::Score| {
            let contender = &self.contenders[score.contender];
            json!({
                "name": contender.name,
                "role": contender.role.name(),
                "isa": contender.isa.map(tambour_kernel::variant::Isa::name),
                "speed": score.speed,
                "gain": score.all,
                "gain_middle": score.middle,
                "gain_worst": score.worst,
                "worst_file": score.worst_file,
                "ratio": score.ratio,
            })
        };
        self.scores().into_iter().map(one).collect()
    }

    fn regrets_json(&self) -> Vec<Value> {
        let point = |&(blocks, mean, largest): &(usize, f64, f64)| json!({ "blocks": blocks, "mean": mean, "largest": largest });
        let one = |regret: super::Regret| {
            json!({
                "name": self.contenders[regret.contender].name,
                "points": regret.points.iter().map(point).collect::<Vec<_>>(),
            })
        };
        self.regrets().into_iter().map(one).collect()
    }

    fn timings_json(&self, file: &super::File) -> Map<String, Value> {
        let one = |(index, contender): (usize, &super::Contender)| {
            let timing = &file.timings[index];
            let value = json!({
                "seconds": timing.seconds,
                "low": timing.low,
                "high": timing.high,
                "speed": file.speed(index),
                "gain": file.gain(index),
                "encoded_bytes": timing.encoded_bytes,
            });
            (contender.name.clone(), value)
        };
        self.contenders.iter().enumerate().map(one).collect()
    }
}

impl Findings for Results {
    fn tables(&self, machine: &Machine) -> Vec<Table> {
        let mut tables = vec![self.file_table(), self.score_table()];
        if self.settings.frontier {
            tables.push(self.frontier_table());
        }
        if !self.regrets().is_empty() {
            tables.push(self.regret_table());
        }
        tables.push(self.summary_table(machine));
        tables
    }

    /// Speeds are in bytes per nanosecond.
    fn to_json(&self, machine: &Machine) -> Value {
        let summary = self.summary();
        let reference = summary.reference;
        json!({
            "schema": "tambour/bench/1",
            "benchmark": "decode",
            "machine": machine.to_json(),
            "settings": {
                "rounds": self.settings.rounds,
                "seed": self.settings.seed,
                "block_bytes": self.settings.block_bytes,
                "frontier": self.settings.frontier,
            },
            "summary": {
                "cpu": machine.cpu,
                "ref": reference,
                "adapt": summary.adaptive,
                "max": summary.max,
                "best": summary.best,
                "adapt_boost": summary.adaptive.map(|speed| speed / reference),
                "max_boost": summary.max / reference,
                "adapt_over_max": summary.adaptive.map(|speed| speed / summary.max),
            },
            "contenders": self.contenders_json(),
            "regret": self.regrets_json(),
            "files": self.files.iter().map(|file| json!({
                "name": file.name,
                "bytes": file.bytes,
                "encoded_bytes": file.encoded_bytes,
                "blocks": file.blocks,
                "ratio": file.ratio(),
                "contenders": self.timings_json(file),
            })).collect::<Vec<_>>(),
        })
    }

    fn page(&self, machine: Machine) -> Page {
        page::page(self, machine)
    }

    fn files(&self, machine: &Machine) -> Vec<(&'static str, Table)> {
        let mut tables = vec![
            ("measurements.csv", self.measurement_table()),
            ("contenders.csv", self.score_table()),
            ("summary.csv", self.summary_table(machine)),
        ];
        if !self.regrets().is_empty() {
            tables.push(("regret.csv", self.regret_table()));
        }
        tables
    }
}
