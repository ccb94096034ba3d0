//! Integers as bytes: single values, LEB128, StreamVByte and packed blocks, by every variant and by other crates.
//!
//! The columns are those of the ticket that Xapian's encodings come from, and document ids. Every contender's bytes are
//! decoded and compared before anything is timed.

mod column;
mod contender;
#[cfg(feature = "peers")]
mod peers;

pub use column::Spread;

use crate::BenchError;
use crate::line::Lines;
use crate::measure::wrong;
use crate::race::{Group, Results, Runner, Work};
use contender::Coding;
use std::cell::RefCell;
use std::rc::Rc;
use tambour_kernel::integer::packed::Series;
use tambour_kernel::variant::Isa;
use tambour_report::Fact;

/// What to measure, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Turns of every contender.
    pub rounds: usize,
    /// Values of a column, a multiple of 128.
    pub values: usize,
    /// Variants above this level do not take part.
    pub isa: Isa,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rounds: 15, values: 65_536, isa: Isa::best() }
    }
}

/// Values that a timed run works on, at least.
const RUN_VALUES: usize = 1 << 20;

/// Measures.
pub fn run(settings: &Settings, observe: &mut dyn FnMut(&str)) -> Result<Results, BenchError> {
    // The crate of packed blocks has blocks of 128 and no rest.
    let count = settings.values.next_multiple_of(128);
    let mut groups = Vec::new();
    let mut race = |title: String, column: &[u32], contenders| {
        observe(&title);
        groups.push(group(title, column, contenders, settings.rounds)?);
        Ok::<_, BenchError>(())
    };
    for spread in Spread::ALL {
        let column = column::values(spread, count);
        let name = spread.name();
        race(format!("LEB128, {name}"), &column, contender::varints(settings.isa))?;
        race(format!("StreamVByte, {name}"), &column, contender::stream_vbytes(settings.isa))?;
        let packings = contender::packings(Series::Values, settings.isa);
        race(format!("packed, {name}"), &column, packings)?;
    }
    let ids = column::sorted(&column::values(Spread::Gaps, count));
    let packings = contender::packings(Series::Differences, settings.isa);
    race("packed with prefix sum, sorted ids".to_owned(), &ids, packings)?;
    Ok(results(groups, settings.rounds, count))
}

/// Checks all contenders, then times them in turns.
fn group(
    title: String,
    column: &[u32],
    contenders: Vec<Coding>,
    rounds: usize,
) -> Result<Group, BenchError> {
    let room = Rc::new(RefCell::new(Lines::new(8 * column.len() + 4096)));
    let target = Rc::new(RefCell::new(Lines::new(column.len())));
    let mut runners = Vec::with_capacity(contenders.len());
    for Coding { name, tone, mut encode, mut decode } in contenders {
        let length = encode(column, &mut room.borrow_mut());
        // Some peers read beyond the end.
        let mut bytes = room.borrow()[..length].to_vec();
        bytes.resize(length + 64, 0);
        target.borrow_mut().fill(0xaaaa_aaaa);
        decode(&bytes[..length], &mut target.borrow_mut());
        if **target.borrow() != *column {
            return Err(wrong(name, title));
        }
        let bits = 8.0 * length as f64 / column.len() as f64;
        let (room, target) = (Rc::clone(&room), Rc::clone(&target));
        let encoding = move || {
            std::hint::black_box(encode(std::hint::black_box(column), &mut room.borrow_mut()));
            true
        };
        let decoding = move || {
            let mut target = target.borrow_mut();
            decode(std::hint::black_box(&bytes[..length]), &mut target);
            std::hint::black_box(&target[0]);
            true
        };
        let works: Vec<Work<'_>> = vec![Box::new(encoding), Box::new(decoding)];
        runners.push(Runner { name, tone, bits: Some(bits), works });
    }
    let repeats = RUN_VALUES.div_ceil(column.len());
    let amount = column.len() as f64 / 1e9;
    Group::run(title, (&["encode", "decode"], "G values/s"), (amount, repeats), runners, rounds)
}

/// The results, with what stands at the top of the page.
fn results(groups: Vec<Group>, rounds: usize, count: usize) -> Results {
    let lead = format!(
        "{count} values of 32 bits in the cache, encoded and decoded {rounds} times by every contender, in turns and one process. \
         Processor time of the thread, medians; every output was compared."
    );
    let mut facts = Vec::new();
    for (title, what) in [
        ("LEB128, ticket", "LEB128 decoding of the ticket's values, prost = 1"),
        ("StreamVByte, ticket", "StreamVByte decoding of the same, streamvbyte64 = 1"),
        ("packed with prefix sum, sorted ids", "sorted ids with prefix sum, bitpacking = 1"),
    ] {
        let Some(group) = groups.iter().find(|group| group.title == title) else { continue };
        let gains = group.entries.iter().skip(1).map(|entry| group.gain(entry, 1));
        let best = gains.fold(0.0, f64::max);
        facts.push(Fact::new(format!("{best:.1}\u{d7}"), what));
    }
    let headings = ["Integers as bytes".to_owned(), lead];
    Results { benchmark: "integers", headings, facts, rounds, count, groups }
}

#[cfg(test)]
mod tests {
    use super::{Settings, run};
    use crate::findings::Findings;
    use tambour_report::Machine;

    #[test]
    fn all_groups_are_measured() {
        let settings = Settings { rounds: 1, values: 1000, ..Settings::default() };
        let results = run(&settings, &mut |_| {}).unwrap();
        assert_eq!((results.count, results.groups.len()), (1024, 13));
        let page = results.page(Machine::default());
        assert_eq!(page.facts.len(), 3);
        assert!(page.render().unwrap().contains("StreamVByte, ticket"));
    }
}
