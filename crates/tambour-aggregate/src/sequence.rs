//! Patterns of events in the order of their times: `sequenceMatch`, `sequenceCount`. A row is a tuple of a time and
//! conditions; rows that meet none are not looked at.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use std::cmp::Ordering;
use tambour_function::kit::{
    Call, Kind, Texts, integer, is_moment, item_of, takes, type_at, wide_integers, wrong,
};
use tambour_function::{Function, FunctionError, Signature, bare, cast};
use tambour_part::types::DataType;

/// Most steps of the search in one group: patterns with several `.*` may take very many.
const STEPS_MAX: u64 = 10_000_000;
/// Most steps of a pattern, each of which the search nests.
const STEPS_OF_PATTERN_MAX: usize = 1000;
/// Most conditions, as in ClickHouse.
const CONDITIONS_MAX: usize = 32;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
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

/// `(?1)(?t<=10).*(?2)` as steps; what may be before the first event is a step, too.
fn steps(pattern: &str) -> Option<Vec<Step>> {
    let mut steps = vec![Step::Star];
    let mut rest = pattern;
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
            if let Some(Step::Time(..)) = steps.last() {
                return None;
            }
            steps.push(Step::Time(comparison, seconds.parse::<u64>().ok()?.into()));
        }
    }
    (steps.len() <= STEPS_OF_PATTERN_MAX).then_some(steps)
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
    if !(2..=CONDITIONS_MAX).contains(&conditions.len())
        || conditions.iter().any(|(_, it)| integer(bare(it)).is_none())
    {
        return Err(wrong(name, "it takes 2 to 32 conditions"));
    }
    let constant = s.get(1).and_then(|argument| argument.constant.as_ref());
    let text = constant.and_then(|constant| Texts::of(constant).first()).unwrap_or_default();
    let known = |step: &Step| !matches!(step, Step::Event(index) if *index >= conditions.len());
    match steps(&text) {
        Some(steps) if steps.iter().all(known) => Ok(result),
        _ => Err(wrong(
            name,
            format!(
                "the pattern {text:?} cannot be read; it is made of (?1), .*, . and single times like (?t<=10)"
            ),
        )),
    }
}

/// What a search from an event comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The event after the match.
    End(usize),
    Nothing,
    /// The events were at an end before the pattern was: ClickHouse looks no further then.
    Exhausted,
}

/// True if a step may be left over when the events are at an end.
fn may_be_left(step: &Step) -> bool {
    use Comparison::{GreaterOrEqual, Less, LessOrEqual};
    matches!(step, Step::Star | Step::Time(Less | LessOrEqual, _) | Step::Time(GreaterOrEqual, 0))
}

/// The events of a group, and the search in them.
struct Search<'a> {
    steps: &'a [Step],
    times: Vec<i128>,
    met: Vec<u32>,
    taken: u64,
}

impl Search<'_> {
    /// Where the first match ends that begins at an event or after it. Times are taken from the event of the step before
    /// (`base`); what is between it and the event that has the time does not matter.
    fn matched(&mut self, step: usize, event: usize, base: usize) -> Found {
        self.taken += 1;
        if self.taken > STEPS_MAX {
            return Found::Exhausted;
        }
        let steps = self.steps;
        let Some(wanted) = steps.get(step) else { return Found::End(event) };
        if event >= self.times.len() {
            let is_done = steps.iter().skip(step).all(may_be_left);
            return if is_done { Found::End(event) } else { Found::Exhausted };
        }
        match *wanted {
            Step::Event(index) if self.met[event] >> index & 1 == 0 => Found::Nothing,
            Step::Event(_) | Step::Any => self.matched(step + 1, event + 1, event),
            Step::Star => self.later(step, event, |_, _| true),
            Step::Time(comparison, distance) => {
                let wanted = self.times[base] + distance;
                let holds =
                    |search: &Self, at: usize| comparison.holds(search.times[at].cmp(&wanted));
                let is_limit = matches!(comparison, Comparison::Less | Comparison::LessOrEqual);
                if is_limit && !holds(self, event) {
                    return Found::Nothing;
                }
                self.later(step, event, holds)
            }
        }
    }

    /// The match of the steps after one, from the first of the events on that it may stand before.
    fn later(
        &mut self,
        step: usize,
        event: usize,
        may_stand: impl Fn(&Self, usize) -> bool,
    ) -> Found {
        for at in event..self.times.len() {
            if may_stand(self, at) {
                match self.matched(step + 1, at, at) {
                    Found::Nothing => {}
                    found => return found,
                }
            }
        }
        Found::Nothing
    }

    /// How many matches there are, one after the other; up to one if no more are wanted.
    fn count(&mut self, is_one_enough: bool) -> i128 {
        let is_met = |step: &Step| match step {
            Step::Event(index) => self.met.iter().any(|met| met >> index & 1 == 1),
            _ => true,
        };
        if !self.steps.iter().all(is_met) {
            return 0;
        }
        let can_be_empty = self.steps.iter().all(may_be_left);
        if is_one_enough && self.times.is_empty() {
            return i128::from(can_be_empty);
        }
        let (mut count, mut from) = (0, 0);
        while from < self.times.len() && self.taken <= STEPS_MAX {
            match self.matched(0, from, from) {
                Found::End(end) => from = end.max(from + 1),
                Found::Nothing if can_be_empty => from = self.times.len(),
                Found::Nothing | Found::Exhausted => break,
            }
            count += 1;
            if is_one_enough {
                break;
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
    fn patterns_are_read() {
        let limit = Step::Time(Comparison::LessOrEqual, 5);
        assert_eq!(
            steps("(?1)(?t<=5).*(?2)"),
            Some(vec![Step::Star, Step::Event(0), limit, Step::Star, Step::Event(1)])
        );
        assert_eq!(steps("(?t<=5)"), Some(vec![Step::Star, limit]));
        for wrong in ["(?0)", "(?1)(?t<5)(?t<6)", " (?1)", "(?1", "(?t5)", "(?t<-1)", "x"] {
            assert_eq!(steps(wrong), None, "{wrong}");
        }
        assert_eq!(steps(&".".repeat(2000)), None);
    }

    #[test]
    fn patterns_are_found() {
        let events = [(1, 1), (2, 2), (5, 1), (20, 2), (21, 1), (22, 3)];
        assert_eq!(count("(?1)(?2)", &events), 3);
        assert_eq!(count("(?1)(?t<=3)(?2)", &events), 2);
        assert_eq!(count("(?1).*(?2).*(?1).*(?2)", &events), 1);
        // Events between two may be passed over where a time is asked for.
        assert_eq!(count("(?1)(?t>10)(?2)", &events), 1);
        assert_eq!(count("(?1)(?t==19)(?2)", &events), 1);
        assert_eq!(count("(?1)(?t>100)(?2)", &events), 0);
        assert_eq!(count(".*", &events), 6);
        assert_eq!(count("", &events), 6);
        assert_eq!(count("", &[]), 0);
        assert_eq!(count("(?3)", &events), 0);
        // What is left over at the end.
        assert_eq!(count("(?1)(?t<=3)", &[(1, 1)]), 1);
        assert_eq!(count("(?1)(?t>3)", &[(1, 1)]), 0);
    }
}
