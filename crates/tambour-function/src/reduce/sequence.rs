//! Patterns of events in the order of their times: `sequenceMatch`, `sequenceCount`. A row is a tuple of a time and
//! conditions; rows that meet none are not looked at.

use super::super::access::{Kind, is_moment, item_of, takes, type_at, wide_integers};
use super::super::arithmetic::integer;
use super::super::text::Texts;
use super::super::{Call, Function, Signature, bare, cast, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use std::cmp::Ordering;
use tambour_part::types::DataType;

/// Most steps of the search in one group: patterns with several `.*` may take very many.
const STEPS_MAX: u64 = 10_000_000;
/// Most conditions, as in ClickHouse.
const CONDITIONS_MAX: usize = 32;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "reduceSequenceMatch",
        |n, s| sequence_type(n, s, DataType::UInt8),
        |c| sequences(c, true),
    ),
    Function::new(
        "reduceSequenceCount",
        |n, s| sequence_type(n, s, DataType::UInt64),
        |c| sequences(c, false),
    ),
];

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// An event that meets a condition, counted from 0.
    Event(usize),
    /// Any event.
    Any,
    /// Any number of events.
    Star,
    /// The next event is so far from the last one.
    Time(Comparison, i128),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    Equal,
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::LessOrEqual => order.is_le(),
            Self::Less => order.is_lt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Greater => order.is_gt(),
            Self::Equal => order.is_eq(),
        }
    }
}

/// `(?1)(?t<=10).*(?2)` as steps.
fn steps(pattern: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = pattern.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(".*") {
            steps.push(Step::Star);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('.') {
            steps.push(Step::Any);
            rest = after;
        } else {
            let (inside, after) = rest.strip_prefix("(?")?.split_once(')')?;
            rest = after;
            let Some(time) = inside.strip_prefix('t') else {
                steps.push(Step::Event(inside.parse::<usize>().ok()?.checked_sub(1)?));
                continue;
            };
            let (comparison, seconds) = [
                ("<=", Comparison::LessOrEqual),
                (">=", Comparison::GreaterOrEqual),
                ("==", Comparison::Equal),
                ("<", Comparison::Less),
                (">", Comparison::Greater),
            ]
            .into_iter()
            .find_map(|(sign, comparison)| Some((comparison, time.strip_prefix(sign)?)))?;
            // What the time is taken from is clear after an event only.
            if !matches!(steps.last(), Some(Step::Event(_) | Step::Any)) {
                return None;
            }
            steps.push(Step::Time(comparison, seconds.parse::<u32>().ok()?.into()));
        }
    }
    (!steps.is_empty()).then_some(steps)
}

fn sequence_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::ConstText], &[])?;
    let DataType::Tuple(elements) = item_of(type_at(s, 0)) else {
        return Err(wrong(name, "it takes a time and conditions"));
    };
    let Some(((_, time), conditions)) = elements.split_first() else {
        return Err(wrong(name, "it takes a time and conditions"));
    };
    let is_time = match bare(time) {
        DataType::DateTime64 { .. } => false,
        time => is_moment(time) || integer(time).is_some_and(|it| !it.is_signed),
    };
    if !is_time {
        return Err(wrong(name, "the first argument must be a Date, DateTime or unsigned integer"));
    }
    if conditions.len() > CONDITIONS_MAX
        || conditions.iter().any(|(_, it)| integer(bare(it)).is_none())
    {
        return Err(wrong(name, "it takes up to 32 conditions"));
    }
    let constant = s.get(1).and_then(|argument| argument.constant.as_ref());
    let text = constant.and_then(|constant| Texts::of(constant).first()).unwrap_or_default();
    let known = |step: &Step| !matches!(step, Step::Event(index) if *index >= conditions.len());
    match steps(&text) {
        Some(steps) if steps.iter().all(known) => Ok(result),
        _ => Err(wrong(
            name,
            format!(
                "the pattern {text:?} cannot be read; it is made of (?1), .*, . and (?t<=10) after an event"
            ),
        )),
    }
}

/// The events of a group, and the search in them.
struct Search<'a> {
    steps: &'a [Step],
    times: Vec<i128>,
    met: Vec<u32>,
    taken: u64,
}

impl Search<'_> {
    /// Where a match ends that begins at an event, the shortest one.
    fn matched(&mut self, step: usize, event: usize, base: usize) -> Option<usize> {
        self.taken += 1;
        if self.taken > STEPS_MAX {
            return None;
        }
        let Some(wanted) = self.steps.get(step) else { return Some(event) };
        let is_there = event < self.times.len();
        match *wanted {
            Step::Event(index) if is_there && self.met[event] >> index & 1 == 1 => {
                self.matched(step + 1, event + 1, event)
            }
            Step::Any if is_there => self.matched(step + 1, event + 1, event),
            Step::Star => {
                (event..=self.times.len()).find_map(|event| self.matched(step + 1, event, event))
            }
            Step::Time(comparison, distance)
                if is_there
                    && comparison.holds(self.times[event].cmp(&(self.times[base] + distance))) =>
            {
                self.matched(step + 1, event, event)
            }
            _ => None,
        }
    }

    /// How many matches there are, none within another; up to one if no more are wanted.
    fn count(&mut self, is_one_enough: bool) -> i128 {
        let (mut count, mut from) = (0, 0);
        while from <= self.times.len() && self.taken <= STEPS_MAX {
            match self.matched(0, from, from) {
                Some(end) => {
                    count += 1;
                    if is_one_enough {
                        break;
                    }
                    from = end.max(from + 1);
                }
                None => from += 1,
            }
        }
        count
    }
}

fn sequences(call: &Call, is_one_enough: bool) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let pattern = String::from_utf8_lossy(&call.constant_text(1)?).into_owned();
    let steps = steps(&pattern).unwrap_or_default();
    let Some(rows) = lists.items.values.as_struct_opt() else {
        return Err(wrong(call.name, "it takes tuples"));
    };
    let columns = rows
        .columns()
        .iter()
        .map(|column| match column.data_type() {
            ArrowType::Date32 => wide_integers(&cast(column, &ArrowType::Int32)?),
            _ => wide_integers(column),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let Some((times, conditions)) = columns.split_first() else {
        return Err(wrong(call.name, "it takes a time and conditions"));
    };
    let mut counts = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let met = |at: usize| {
            let bits = conditions.iter().enumerate();
            bits.fold(0_u32, |bits, (index, column)| bits | u32::from(column[at] != 0) << index)
        };
        let events = lists.range(row).map(|at| (times[at], met(at)));
        let mut events: Vec<(i128, u32)> = events.filter(|(_, met)| *met != 0).collect();
        events.sort_by_key(|(time, _)| *time);
        let (times, met) = events.into_iter().unzip();
        let mut search = Search { steps: &steps, times, met, taken: 0 };
        let count = search.count(is_one_enough);
        if search.taken > STEPS_MAX {
            return Err(call.value_error(row, "the pattern takes too many steps here"));
        }
        counts.push(count);
    }
    call.make_integers(|row| counts[row])
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Search, Step, steps};

    fn count(pattern: &str, events: &[(i128, u32)]) -> i128 {
        let steps = steps(pattern).unwrap();
        let (times, met) = events.iter().copied().unzip();
        Search { steps: &steps, times, met, taken: 0 }.count(false)
    }

    #[test]
    fn patterns_are_read_and_found() {
        assert_eq!(
            steps("(?1)(?t<=5).*(?2)"),
            Some(vec![
                Step::Event(0),
                Step::Time(Comparison::LessOrEqual, 5),
                Step::Star,
                Step::Event(1)
            ])
        );
        assert_eq!(steps("(?0)"), None);
        assert_eq!(steps("(?t<5)"), None);
        let events = [(1, 1), (2, 2), (5, 1), (20, 2), (21, 1), (22, 3)];
        assert_eq!(count("(?1)(?2)", &events), 3);
        assert_eq!(count("(?1)(?t<=3)(?2)", &events), 2);
        assert_eq!(count("(?1).*(?2).*(?1).*(?2)", &events), 1);
    }
}
