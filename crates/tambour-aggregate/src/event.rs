//! Chains of events: `windowFunnel`, `retention`. A row is a tuple of a time and conditions, or of conditions alone. Events of
//! one time are in the order of the conditions that they meet.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use tambour_function::kit::{
    Call, Kind, Texts, array_of, expect_count, integer, integer_array, is_moment, item_of,
    list_array, takes, type_at, wide_integers, wrong,
};
use tambour_function::{Function, FunctionError, Operand, Signature, bare, cast};
use tambour_part::types::DataType;

/// Most conditions of a chain, as in ClickHouse.
const CONDITIONS_MAX: usize = 32;
/// Most chains of a level that `strict_once` keeps: rows that meet several conditions make them grow without end.
const CHAINS_MAX: usize = 1 << 20;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("reduceRetention", retention_type, retention),
    Function::new("reduceWindowFunnel", funnel_type, funnel),
];

fn conditions(name: &'static str, s: &[Signature], first: usize) -> Result<(), FunctionError> {
    let DataType::Tuple(elements) = item_of(type_at(s, 0)) else {
        return Err(wrong(name, "it takes conditions"));
    };
    let count = elements.len().saturating_sub(first);
    if count == 0 || count > CONDITIONS_MAX {
        return Err(wrong(name, format!("it takes 1 to {CONDITIONS_MAX} conditions, not {count}")));
    }
    match elements.iter().skip(first).find(|(_, it)| integer(bare(it)).is_none()) {
        Some((_, other)) => Err(wrong(name, format!("a condition is {other}, expected UInt8"))),
        None => Ok(()),
    }
}

fn retention_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    conditions(name, s, 0).map(|()| array_of(DataType::UInt8))
}

/// Whether the first condition was ever met, and with it each of the others.
fn retention(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let columns = columns(call, &lists.items.values)?;
    let mut flags = Vec::with_capacity(call.rows * columns.len());
    for row in 0..call.rows {
        let ever = |column: &Vec<i128>| lists.range(row).any(|at| column[at] != 0);
        let has_first = columns.first().is_some_and(ever);
        flags.extend(columns.iter().map(|column| i128::from(has_first && ever(column))));
    }
    let values = integer_array(call.name, &DataType::UInt8, flags.into_iter())?;
    list_array(vec![columns.len(); call.rows], values, &DataType::UInt8)
}

fn columns(call: &Call, values: &ArrayRef) -> Result<Vec<Vec<i128>>, FunctionError> {
    let Some(rows) = values.as_struct_opt() else {
        return Err(wrong(call.name, "it takes tuples"));
    };
    rows.columns()
        .iter()
        .map(|column| match column.data_type() {
            ArrowType::Date32 => wide_integers(&cast(column, &ArrowType::Int32)?),
            _ => wide_integers(column),
        })
        .collect()
}

/// How strictly a chain of events is looked for; the words of ClickHouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Modes {
    /// An event that was met before ends the chain.
    no_repetition: bool,
    /// Any other event ends the chain.
    order: bool,
    /// Each event is later than the one before.
    increase: bool,
    /// A row counts for one event of a chain.
    once: bool,
    /// With `order`: events out of their turn are passed over.
    reentry: bool,
}

impl Modes {
    fn read(name: &'static str, s: &[Signature]) -> Result<Self, FunctionError> {
        let mut modes = Self::default();
        for argument in s.iter().skip(2) {
            let text = argument.constant.as_ref().and_then(|it| Texts::of(it).first());
            match text.as_deref() {
                Some("strict_deduplication") => modes.no_repetition = true,
                Some("strict_order") => modes.order = true,
                Some("strict_increase") => modes.increase = true,
                Some("strict_once") => modes.once = true,
                Some("allow_reentry") => modes.reentry = true,
                other => {
                    let problem = format!(
                        "there is no mode {:?}; the modes are strict_deduplication, strict_order, strict_increase, \
                         strict_once and allow_reentry",
                        other.unwrap_or_default()
                    );
                    return Err(wrong(name, problem));
                }
            }
        }
        if modes.reentry && !modes.order {
            return Err(wrong(name, "allow_reentry needs strict_order"));
        }
        Ok(modes)
    }
}

fn funnel_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2 + 5)?;
    takes(name, s.get(..2).unwrap_or_default(), &[Kind::Array, Kind::ConstInteger], &[])?;
    Modes::read(name, s)?;
    conditions(name, s, 1)?;
    let time = match item_of(type_at(s, 0)) {
        DataType::Tuple(elements) => elements.first().map(|(_, it)| bare(it).clone()),
        _ => None,
    };
    match time {
        Some(time) if is_moment(&time) || integer(&time).is_some_and(|it| !it.is_signed) => {
            Ok(DataType::UInt8)
        }
        _ => Err(wrong(name, "the first argument must be a time or an unsigned integer")),
    }
}

/// An event of a group; one row may be several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: i128,
    /// The condition that it meets, from 0; `None`: it meets none.
    condition: Option<usize>,
    row: usize,
}

/// Events that were met one after the other.
#[derive(Clone, Debug)]
struct Chain {
    first: i128,
    last: i128,
    rows: Vec<usize>,
}

/// The search for the longest chain in a group.
struct Funnel {
    window: i128,
    modes: Modes,
    /// Chains that end with each condition: the last one only, but where rows may not count twice.
    levels: Vec<Vec<Chain>>,
}

impl Funnel {
    fn new(window: i128, modes: Modes, conditions: usize) -> Self {
        Self { window, modes, levels: vec![Vec::new(); conditions] }
    }

    /// The length of the longest chain.
    fn level(&self) -> usize {
        self.levels.iter().rposition(|chains| !chains.is_empty()).map_or(0, |level| level + 1)
    }

    /// The length of the longest chain of events in the order of their times.
    fn search(&mut self, events: &[Event]) -> usize {
        let mut has_begun = false;
        for event in events {
            let Some(condition) = event.condition else {
                if has_begun {
                    break;
                }
                continue;
            };
            let Some(before) = condition.checked_sub(1) else {
                has_begun = true;
                let chain = Chain { first: event.time, last: event.time, rows: vec![event.row] };
                self.keep(0, chain);
                if self.levels.len() == 1 {
                    return 1;
                }
                continue;
            };
            if self.modes.no_repetition && !self.levels[condition].is_empty() {
                break;
            }
            if self.levels[before].is_empty() {
                if self.modes.order && has_begun && !self.modes.reentry {
                    let missing = self.levels.iter().position(Vec::is_empty);
                    return missing.unwrap_or(self.levels.len());
                }
                continue;
            }
            self.follow(before, event);
            if self.levels[condition].len() > CHAINS_MAX
                || !self.levels[self.levels.len() - 1].is_empty()
            {
                break;
            }
        }
        self.level()
    }

    fn keep(&mut self, level: usize, chain: Chain) {
        if !self.modes.once {
            self.levels[level].clear();
        }
        self.levels[level].push(chain);
    }

    /// Makes the chains of a level longer by an event.
    fn follow(&mut self, level: usize, event: &Event) {
        let (window, modes) = (self.window, self.modes);
        let is_over = |chain: &Chain| event.time > chain.first + window;
        let follows = |chain: &Chain| {
            !is_over(chain)
                && (!modes.increase || chain.last < event.time)
                && (!modes.once || !chain.rows.contains(&event.row))
        };
        let longer = |chain: &Chain| {
            let mut rows = chain.rows.clone();
            rows.push(event.row);
            Chain { first: chain.first, last: event.time, rows }
        };
        let chains = &mut self.levels[level];
        let longer: Vec<Chain> = chains.iter().filter(|it| follows(it)).map(longer).collect();
        // Chains that nothing can follow any more only say that their level was reached: one does.
        if chains.iter().all(is_over) {
            chains.truncate(1);
        } else {
            chains.retain(|chain| !is_over(chain));
        }
        for chain in longer {
            self.keep(level + 1, chain);
        }
    }
}

/// How many conditions were met one after the other within the window.
fn funnel(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (lists, window) = (call.lists(0)?, call.integers(1)?.get(0));
    let signatures: Vec<Signature> = call.operands.iter().map(Operand::signature).collect();
    let modes = Modes::read(call.name, &signatures)?;
    let columns = columns(call, &lists.items.values)?;
    let Some((times, conditions)) = columns.split_first() else {
        return Err(wrong(call.name, "it takes a time and conditions"));
    };
    let mut levels = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let mut events: Vec<Event> = Vec::new();
        for at in lists.range(row) {
            let event = |condition| Event { time: times[at], condition, row: at };
            let met = (0..conditions.len()).filter(|index| conditions[*index][at] != 0);
            let before = events.len();
            events.extend(met.map(|index| event(Some(index))));
            if modes.order && events.len() == before {
                events.push(event(None));
            }
        }
        events.sort_unstable();
        let mut funnel = Funnel::new(window, modes, conditions.len());
        levels.push(funnel.search(&events) as i128);
        if funnel.levels.iter().map(Vec::len).max() > Some(CHAINS_MAX) {
            return Err(call.value_error(row, "strict_once keeps too many chains here"));
        }
    }
    call.make_integers(|row| levels[row])
}

#[cfg(test)]
mod tests {
    use super::{Event, Funnel, Modes};

    /// The level of events, each a time and the conditions that a row meets.
    fn level(modes: Modes, window: i128, rows: &[(i128, &[usize])]) -> usize {
        let mut events = Vec::new();
        for (row, (time, met)) in rows.iter().enumerate() {
            let event = |condition| Event { time: *time, condition, row };
            events.extend(met.iter().map(|condition| event(Some(*condition))));
            if met.is_empty() {
                events.push(event(None));
            }
        }
        events.sort_unstable();
        Funnel::new(window, modes, 3).search(&events)
    }

    #[test]
    fn chains_are_found_as_strictly_as_is_asked() {
        let plain = Modes::default();
        let order = Modes { order: true, ..plain };
        assert_eq!(level(plain, 10, &[]), 0);
        assert_eq!(level(plain, 10, &[(1, &[0]), (3, &[1]), (5, &[2])]), 3);
        assert_eq!(level(plain, 3, &[(1, &[0]), (3, &[1]), (5, &[2])]), 2);
        // One row may be all of a chain, unless rows count once or times must grow.
        assert_eq!(level(plain, 10, &[(1, &[0, 1, 2])]), 3);
        assert_eq!(level(Modes { once: true, ..plain }, 10, &[(1, &[0, 1, 2])]), 1);
        assert_eq!(level(Modes { increase: true, ..plain }, 10, &[(1, &[0]), (1, &[1])]), 1);
        assert_eq!(level(order, 10, &[(1, &[0]), (2, &[]), (3, &[1])]), 1);
        assert_eq!(level(order, 10, &[(1, &[0]), (2, &[2]), (3, &[1])]), 1);
        let reentry = Modes { reentry: true, ..order };
        assert_eq!(level(reentry, 10, &[(1, &[0]), (2, &[2]), (3, &[1])]), 2);
        let once_each = Modes { no_repetition: true, ..plain };
        let again: [(i128, &[usize]); 4] = [(1, &[0]), (2, &[1]), (3, &[1]), (4, &[2])];
        assert_eq!(level(once_each, 10, &again), 2);
        assert_eq!(level(plain, 10, &again), 3);
    }
}
