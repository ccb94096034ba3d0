//! The advisor's search beside an exhaustive one over the same chains: what both take, and what following them gives.
//!
//! The exhaustive search encodes every chain of the list on every block of the sample, decodes and compares. What the short
//! one recommends is looked up in its figures, so that both are judged by the same bytes.

use crate::BenchError;
use crate::findings::{Findings, object};
use crate::measure::timed;
use serde_json::{Value, json};
use tambour_advise::{Advice, AdviseOptions, ColumnAdvice, Measure, Sample, advise};
use tambour_codec::choose::Objective;
use tambour_report::clock::thread_time;
use tambour_report::{Machine, Page, Section, Table};

/// What came of one table.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The table.
    pub name: String,
    /// Rows of the sample.
    pub rows: u64,
    /// Their bytes, uncompressed.
    pub raw_bytes: u64,
    /// Processor seconds of the search, types included ...
    pub short_seconds: f64,
    /// ... of trying orders of rows, which both would do alike ...
    pub order_seconds: f64,
    /// ... and of the exhaustive search.
    pub long_seconds: f64,
    /// By goal, in the order of [`Objective::ALL`].
    pub goals: Vec<Goal>,
}

/// What came of one goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// The goal.
    pub objective: Objective,
    /// Bytes of all columns that the short search tells of.
    pub told_bytes: u64,
    /// Bytes of the chains that it recommends, as the exhaustive one measured them.
    pub short_bytes: u64,
    /// Bytes of the best chains.
    pub long_bytes: u64,
    /// What the recommended chains cost by the goal, with the best as 1.
    pub cost: f64,
}

impl Outcome {
    /// Time of the short search, with the exhaustive one as 1.
    pub fn share(&self) -> f64 {
        self.short_seconds / self.long_seconds.max(1e-9)
    }
}

/// What the exhaustive search made of a chain that the short one recommends.
fn judged<'a>(column: &'a ColumnAdvice, chosen: &Measure) -> Option<&'a Measure> {
    column.measured.iter().find(|measure| measure.spec == chosen.spec)
}

fn goal(
    objective: Objective,
    short: &Advice,
    long: &Advice,
    name: &str,
) -> Result<Goal, BenchError> {
    let (mut short_bytes, mut cost, mut least) = (0, 0.0, 0.0);
    for (mine, all) in short.columns.iter().zip(&long.columns) {
        let chosen = mine.best(objective);
        let measure = judged(all, chosen).ok_or_else(|| BenchError::WrongOutput {
            contender: "the short search".to_owned(),
            file: name.to_owned(),
            block: 0,
            reason: format!("CODEC({}) is not on the list of the exhaustive one", chosen.spec),
        })?;
        short_bytes += measure.stored_bytes;
        cost += measure.cost(objective);
        least += all.best(objective).cost(objective);
    }
    Ok(Goal {
        objective,
        told_bytes: short.best_bytes(objective),
        short_bytes,
        long_bytes: long.best_bytes(objective),
        cost: cost / least.max(1e-9),
    })
}

/// Searches in both ways.
pub fn run(name: &str, sample: &Sample) -> Result<Outcome, BenchError> {
    let options = AdviseOptions::new(thread_time);
    let timed = |options: &AdviseOptions| {
        let (advice, seconds) = timed(|| advise(sample, &[], options));
        let advice = advice.map_err(|error| BenchError::Library {
            contender: name.to_owned(),
            reason: error.to_string(),
        })?;
        Ok::<_, BenchError>((advice, seconds))
    };
    let without = AdviseOptions { orders: false, ..options };
    let (short, short_seconds) = timed(&without)?;
    let (_, all_seconds) = timed(&options)?;
    let (long, long_seconds) = timed(&without.exhaustive())?;
    let order_seconds = (all_seconds - short_seconds).max(0.0);
    let goals: Result<Vec<Goal>, BenchError> =
        Objective::ALL.iter().map(|objective| goal(*objective, &short, &long, name)).collect();
    let goals = goals?;
    let (rows, raw_bytes) = (sample.rows(), short.raw_bytes());
    Ok(Outcome {
        name: name.to_owned(),
        rows,
        raw_bytes,
        short_seconds,
        order_seconds,
        long_seconds,
        goals,
    })
}

/// One row per table.
pub fn table(outcomes: &[Outcome]) -> Table {
    let megabytes = |bytes: u64| format!("{:.3}", bytes as f64 / 1e6);
    let mut table = Table::of("The advisor's search and an exhaustive one", outcomes)
        .text("table", |it| it.name.clone())
        .number("rows", |it| it.rows)
        .number("MB", |it| format!("{:.1}", it.raw_bytes as f64 / 1e6))
        .number("s", |it| format!("{:.3}", it.short_seconds))
        .number("orders s", |it| format!("{:.3}", it.order_seconds))
        .number("exhaustive s", |it| format!("{:.3}", it.long_seconds))
        .number("share", |it| format!("{:.3}", it.share()));
    for (place, objective) in Objective::ALL.iter().enumerate() {
        table = table
            .number(&format!("{} MB", objective.name()), |it| {
                megabytes(it.goals[place].short_bytes)
            })
            .number("told", |it| megabytes(it.goals[place].told_bytes))
            .number("exhaustive", |it| megabytes(it.goals[place].long_bytes))
            .number("cost", |it| format!("{:.4}", it.goals[place].cost));
    }
    table.build()
}

/// What came of all tables.
#[derive(Clone, Debug)]
pub struct Results {
    /// One per table.
    pub outcomes: Vec<Outcome>,
}

impl Findings for Results {
    fn tables(&self, _: &Machine) -> Vec<Table> {
        vec![table(&self.outcomes)]
    }

    fn to_json(&self, machine: &Machine) -> Value {
        let goal = |goal: &Goal| {
            json!({
                "goal": goal.objective.name(),
                "told_bytes": goal.told_bytes,
                "bytes": goal.short_bytes,
                "exhaustive_bytes": goal.long_bytes,
                "cost": goal.cost,
            })
        };
        let outcome = |outcome: &Outcome| {
            json!({
                "name": outcome.name,
                "rows": outcome.rows,
                "bytes": outcome.raw_bytes,
                "seconds": outcome.short_seconds,
                "order_seconds": outcome.order_seconds,
                "exhaustive_seconds": outcome.long_seconds,
                "goals": outcome.goals.iter().map(goal).collect::<Vec<_>>(),
            })
        };
        let tables: Vec<Value> = self.outcomes.iter().map(outcome).collect();
        object("search", machine, json!({}), ("tables", tables.into()))
    }

    fn page(&self, machine: Machine) -> Page {
        Page {
            title: "The advisor's search".to_owned(),
            lead: "The advisor's short search beside an exhaustive one that encodes every chain of the list. What the short one \
                   recommends is judged by the exhaustive one's figures. Processor time of the thread, one run of each."
                .to_owned(),
            sections: vec![Section {
                title: "All tables".to_owned(),
                tables: vec![table(&self.outcomes)],
                ..Section::default()
            }],
            machine,
            ..Page::default()
        }
    }

    fn files(&self, _: &Machine) -> Vec<(&'static str, Table)> {
        vec![("search.csv", table(&self.outcomes))]
    }
}
