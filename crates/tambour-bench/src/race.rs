//! Groups of loops that do the same work: what the benchmarks of integers and hashes find, and how codecs are timed.
//!
//! Every contender of a group takes its turn in each round; a turn repeats the work until it is long enough to be timed. The
//! first contender of a group is the one that the others are compared with.

use crate::BenchError;
use crate::findings::{Findings, object, speed, times};
use crate::measure::{Order, race, timed, wrong};
use serde_json::{Value, json};
use std::hint::black_box;
use tambour_report::{Bar, Bars, Fact, Figure, Machine, Page, Panel, Section, Table, Tone};

/// A loop: does the work once, and says whether all went well.
pub(crate) type Work<'a> = Box<dyn FnMut() -> bool + 'a>;

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
#[derive(Clone, Debug)]
pub struct Results {
    /// Of what: `integers`, `hashes`.
    pub benchmark: &'static str,
    /// Title of the page, and what was measured.
    pub headings: [String; 2],
    /// Figures to remember.
    pub facts: Vec<Fact>,
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
        title: impl Into<String>,
        (measures, unit): (&'static [&'static str], &'static str),
        (amount, repeats): (f64, usize),
        mut runners: Vec<Runner<'_>>,
        rounds: usize,
    ) -> Result<Self, BenchError> {
        let title = title.into();
        let turn = |runner: &mut Runner<'_>| {
            let seconds = |work: &mut Work<'_>| {
                let (good, seconds) = timed(|| (0..repeats).all(|_| black_box(&mut *work)()));
                if good { Ok(seconds) } else { Err(wrong(&runner.name, &title)) }
            };
            runner.works.iter_mut().map(seconds).collect()
        };
        // A round to warm up.
        race(&mut runners, 1, Order::AsGiven, turn)?;
        let all = race(&mut runners, rounds, Order::AsGiven, turn)?;
        let work = amount * repeats as f64;
        let entries = runners.into_iter().zip(all).map(|(runner, times)| Entry {
            name: runner.name,
            tone: runner.tone,
            bits: runner.bits,
            speeds: (0..measures.len()).map(|it| work / times.median(it).max(1e-12)).collect(),
        });
        let entries = entries.collect();
        Ok(Self { title, measures, unit, entries })
    }

    fn table(&self) -> Table {
        let mut table =
            Table::of(&self.title, &self.entries).text("contender", |entry| entry.name.clone());
        if self.entries.iter().any(|entry| entry.bits.is_some()) {
            table = table.number("bits", |entry| decimals(entry.bits, 2));
        }
        for (measure, name) in self.measures.iter().enumerate() {
            table = table
                .number(&format!("{name} {}", self.unit), |entry| speed(entry.speeds[measure]))
                .number("x", |entry| times(self.gain(entry, measure)));
        }
        table.build()
    }

    fn figure(&self, id: String) -> Figure {
        let panel = |(measure, name): (usize, &&str)| {
            let bar = |entry: &Entry| {
                let text = speed(entry.speeds[measure]);
                Bar {
                    label: entry.name.clone(),
                    value: entry.speeds[measure],
                    hover: format!("{}, {name}: {text} {}", entry.name, self.unit),
                    text,
                    tone: entry.tone,
                }
            };
            let title = if self.measures.len() > 1 { (*name).to_owned() } else { String::new() };
            Panel { title, chart: Bars::linear(self.unit, self.entries.iter().map(bar).collect()) }
        };
        Figure {
            id,
            title: self.title.clone(),
            caption: format!("{}; longer is faster.", self.unit),
            panels: self.measures.iter().enumerate().map(panel).collect(),
            legend: Vec::new(),
            values: self.table(),
        }
    }

    fn to_json(&self) -> Value {
        let entry = |entry: &Entry| json!({ "name": entry.name, "bits": entry.bits, "speeds": entry.speeds });
        json!({
            "title": self.title,
            "measures": self.measures,
            "unit": self.unit,
            "entries": self.entries.iter().map(entry).collect::<Vec<_>>(),
        })
    }
}

/// A number with this many decimals, if there is one.
fn decimals(value: Option<f64>, count: usize) -> String {
    value.map_or_else(String::new, |value| format!("{value:.count$}"))
}

impl Results {
    /// The group with this title.
    pub fn group(&self, title: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.title == title)
    }
}

impl Findings for Results {
    fn tables(&self, _: &Machine) -> Vec<Table> {
        self.groups.iter().map(Group::table).collect()
    }

    fn to_json(&self, machine: &Machine) -> Value {
        let settings = json!({ "rounds": self.rounds, "count": self.count });
        let groups: Vec<Value> = self.groups.iter().map(Group::to_json).collect();
        object(self.benchmark, machine, settings, ("groups", groups.into()))
    }

    fn page(&self, machine: Machine) -> Page {
        let [title, lead] = self.headings.clone();
        let groups = self.groups.iter().enumerate();
        let figures = groups.map(|(place, group)| group.figure(format!("g{place}"))).collect();
        let section = Section { title: "All groups".to_owned(), figures, ..Section::default() };
        Page { title, lead, facts: self.facts.clone(), sections: vec![section], machine }
    }

    fn files(&self, _: &Machine) -> Vec<(&'static str, Table)> {
        let lines = self.groups.iter().flat_map(|group| {
            let entries = group.entries.iter();
            entries.flat_map(move |entry| {
                (0..group.measures.len()).map(move |measure| (group, entry, measure))
            })
        });
        let table = Table::of(self.benchmark, lines)
            .text("group", |(group, ..)| group.title.clone())
            .text("contender", |(_, entry, _)| entry.name.clone())
            .text("measure", |(group, _, measure)| group.measures[*measure])
            .text("unit", |(group, ..)| group.unit)
            .number("bits", |(_, entry, _)| decimals(entry.bits, 4))
            .number("speed", |(_, entry, measure)| format!("{:.6}", entry.speeds[*measure]))
            .number("gain", |(group, entry, measure)| {
                format!("{:.4}", group.gain(entry, *measure))
            });
        vec![("measurements.csv", table.build())]
    }
}

#[cfg(test)]
mod tests {
    use super::{Group, Results, Runner};
    use crate::findings::Findings;
    use tambour_report::{Machine, Tone};

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
                    std::hint::black_box((0..length).map(std::hint::black_box).sum::<usize>()) > 0
                }
            };
            Runner { name, tone: Tone::First, bits: Some(8.0), works: vec![Box::new(work)] }
        };
        let runners = vec![runner("a", 1000), runner("b", 100_000)];
        let group = Group::run("work", (&["do"], "G/s"), (1e-9, 1), runners, 2).unwrap();
        assert_eq!(turns, "ababab");
        assert!(group.gain(&group.entries[1], 0) < 1.0);
        let results = Results {
            benchmark: "test",
            headings: ["T".to_owned(), "L".to_owned()],
            facts: Vec::new(),
            rounds: 2,
            count: 1,
            groups: vec![group],
        };
        let machine = Machine::default();
        let text = results.tables(&machine)[0].to_text();
        assert!(text.contains("do G/s") && text.contains("1.00\u{d7}"), "{text}");
        assert_eq!(results.to_json(&machine)["groups"][0]["entries"][1]["name"], "b");
        assert_eq!(results.files(&machine)[0].1.rows.len(), 2);
        assert!(results.page(machine).render().unwrap().contains("work"));
    }
}
