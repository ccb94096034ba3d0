//! Groups of loops that do the same work, timed in turns: what the benchmarks of integers and hashes share.
//!
//! Every contender of a group runs in each round, one after another; a run repeats the work until it is long enough to be
//! timed. Figures are medians of processor time of the thread. The first contender of a group is the one that the others
//! are compared with.

mod output;

pub use output::Headings;

use crate::BenchError;
use crate::clock::thread_seconds;
use crate::report::Tone;
use std::hint::black_box;

/// A loop: does the work once.
pub(crate) type Work<'a> = Box<dyn FnMut() + 'a>;

/// A contender before it has run: one loop per measure of its group.
pub(crate) struct Runner<'a> {
    pub(crate) name: String,
    pub(crate) tone: Tone,
    pub(crate) bits: Option<f64>,
    pub(crate) works: Vec<Work<'a>>,
}

/// A contender that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Unique in its group.
    pub name: String,
    /// What it is.
    pub tone: Tone,
    /// Bits per value, where values are encoded.
    pub bits: Option<f64>,
    /// Speeds in the unit of the group, one per measure.
    pub speeds: Vec<f64>,
}

/// Contenders that did the same work.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What the work was.
    pub title: String,
    /// What was measured: `encode` and `decode`, or `hash`.
    pub measures: &'static [&'static str],
    /// Unit of the speeds.
    pub unit: &'static str,
    /// All contenders; the first is what the others are compared with.
    pub entries: Vec<Entry>,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Of what: `integers`, `hashes`.
    pub benchmark: &'static str,
    /// Rounds of each contender.
    pub rounds: usize,
    /// Values or keys of a column.
    pub count: usize,
    /// In the order in which they ran.
    pub groups: Vec<Group>,
}

impl Group {
    /// How many times as fast as the first contender.
    pub fn gain(&self, entry: &Entry, measure: usize) -> f64 {
        entry.speeds[measure] / self.entries[0].speeds[measure]
    }

    /// Runs all contenders; `amount` is what a run of a loop does, in 10^9 of the unit, and is repeated to `repeats`.
    pub(crate) fn run(
        title: String,
        (measures, unit): (&'static [&'static str], &'static str),
        (amount, repeats): (f64, usize),
        mut runners: Vec<Runner<'_>>,
        rounds: usize,
    ) -> Self {
        let mut seconds = vec![vec![Vec::with_capacity(rounds); measures.len()]; runners.len()];
        // The first round warms up.
        for round in 0..=rounds {
            for (runner, seconds) in runners.iter_mut().zip(&mut seconds) {
                for (work, seconds) in runner.works.iter_mut().zip(seconds) {
                    let start = thread_seconds();
                    for _ in 0..repeats {
                        black_box(&mut *work)();
                    }
                    let time = thread_seconds() - start;
                    if round > 0 {
                        seconds.push(time);
                    }
                }
            }
        }
        let work = amount * repeats as f64;
        let speed = |seconds: Vec<f64>| work / median(seconds).max(1e-12);
        let entry = |(runner, seconds): (Runner<'_>, Vec<Vec<f64>>)| Entry {
            name: runner.name,
            tone: runner.tone,
            bits: runner.bits,
            speeds: seconds.into_iter().map(speed).collect(),
        };
        let entries = runners.into_iter().zip(seconds).map(entry).collect();
        Self { title, measures, unit, entries }
    }
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A contender that did not give the expected result.
pub(crate) fn wrong(contender: &str, title: &str) -> BenchError {
    BenchError::WrongOutput {
        contender: contender.to_owned(),
        file: title.to_owned(),
        block: 0,
        reason: "its output is not that of the others".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Group, Headings, Results, Runner};
    use crate::machine::Machine;
    use crate::report::Tone;

    #[test]
    fn groups_are_measured_and_told() {
        let mut turns = String::new();
        let log = std::cell::RefCell::new(&mut turns);
        let runner = |name: &str, length: usize| {
            let (name, log) = (name.to_owned(), &log);
            let work = {
                let name = name.clone();
                move || {
                    log.borrow_mut().push_str(&name);
                    std::hint::black_box((0..length).map(std::hint::black_box).sum::<usize>());
                }
            };
            Runner { name, tone: Tone::First, bits: Some(8.0), works: vec![Box::new(work)] }
        };
        let runners = vec![runner("a", 1000), runner("b", 100_000)];
        let group = Group::run("work".to_owned(), (&["do"], "G/s"), (1e-9, 1), runners, 2);
        assert_eq!(turns, "ababab");
        assert!(group.gain(&group.entries[1], 0) < 1.0);
        let results =
            Results { benchmark: "test", rounds: 2, count: 1, groups: vec![group.clone()] };
        let text = results.tables()[0].to_text();
        assert!(text.contains("do G/s") && text.contains("1.00\u{d7}"), "{text}");
        assert_eq!(results.to_json(&Machine::default())["groups"][0]["entries"][1]["name"], "b");
        let headings = Headings { title: "T".to_owned(), lead: "L".to_owned(), facts: Vec::new() };
        let page = results.page(headings, Machine::default()).render().unwrap();
        assert!(page.contains("work"));
    }
}
