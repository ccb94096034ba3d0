//! The decoder: three loops, for items that are mostly of no change, all short, or of any length; and a fourth for the last ones.

use crate::column::bits::{Held, Reader};
use crate::column::{Malformed, Width, Word, by_width};

#[inline(always)]
pub(super) fn anywhere(width: Width, source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
    by_width!(width, decode(source, target))
}

/// The same, compiled for CPUs that count leading zeros and shift by any register.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn with_bit_counts(
    width: Width,
    source: &[u8],
    target: &mut [u8],
) -> Result<(), Malformed> {
    anywhere(width, source, target)
}

#[inline(always)]
fn decode<W: Word>(source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
    let count = target.len() / W::BYTES;
    let full = W::BYTES * count.min(2);
    if source.len() < full {
        return Err(Malformed { at: source.len(), reason: "first value or difference cut short" });
    }
    let Some((place, target)) = target.split_at_mut_checked(W::BYTES) else { return Ok(()) };
    let first = W::read(&source[..W::BYTES]);
    first.write(place);
    let Some((place, target)) = target.split_at_mut_checked(W::BYTES) else { return Ok(()) };
    let delta = W::read(&source[W::BYTES..2 * W::BYTES]);
    let mut sums = Sums { value: first.add(delta), delta };
    sums.value.write(place);

    let mut held = Held::new(source, 2 * W::BYTES);
    let mut done = 0;
    let mut pace = Pace::Short;
    while pace != Pace::Last && target.len() - done >= BATCH * W::BYTES {
        let places = &mut target[done..];
        let (items, next) = match pace {
            Pace::Runs => runs(&mut held, &mut sums, places),
            Pace::Short => short(&mut held, &mut sums, &mut places[..BATCH * W::BYTES]),
            Pace::Any | Pace::Last => any(&mut held, &mut sums, &mut places[..BATCH * W::BYTES]),
        };
        (done, pace) = (done + items * W::BYTES, next);
    }
    last(held.reader(), &mut sums, &mut target[done..])
}

/// The last value and the last difference.
#[derive(Clone, Copy)]
struct Sums<W> {
    value: W,
    delta: W,
}

impl<W: Word> Sums<W> {
    /// The next value, whose difference differs by `change` from the last.
    #[inline(always)]
    fn add(&mut self, change: u64) -> W {
        self.delta = self.delta.add(W::narrow(change));
        self.value = self.value.add(self.delta);
        self.value
    }

    /// Values whose differences are all the last.
    #[inline(always)]
    fn steady(mut self, places: &mut [u8]) {
        for place in places.chunks_exact_mut(W::BYTES) {
            self.value = self.value.add(self.delta);
            self.value.write(place);
        }
    }

    /// What is known after this many values of the last difference.
    #[inline(always)]
    fn skip(&mut self, count: usize) {
        let distance = self.delta.wide().wrapping_mul(count as u64);
        self.value = self.value.add(W::narrow(distance));
    }
}

/// Which loop is next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Items of no change come in runs.
    Runs,
    /// No item has more than [`SHORT_BITS`] bits.
    Short,
    /// Any item.
    Any,
    /// So little of the source is left that the register cannot be filled.
    Last,
}

/// Items after which a loop asks itself whether another one suits better.
const BATCH: usize = 48;
/// Most bits of an item whose prefix has three ones or less.
const SHORT_BITS: u32 = 4 + 1 + 11;
/// Short items that a register always has.
const SHORT_ITEMS: usize = 3;
const _: () = assert!(SHORT_ITEMS * SHORT_BITS as usize <= Held::BITS as usize);
const _: () = assert!(BATCH.is_multiple_of(SHORT_ITEMS));

/// Under this many bits for an item, most items are of no change.
const RUN_BITS: usize = 3;

/// Short items; stops at one that is not. How many there were, and what is next.
#[inline(always)]
fn short<W: Word>(held: &mut Held<'_>, sums: &mut Sums<W>, places: &mut [u8]) -> (usize, Pace) {
    let (start, mut done) = (held.position(), 0);
    for places in places.chunks_exact_mut(SHORT_ITEMS * W::BYTES) {
        if !held.fill() {
            return (done, Pace::Last);
        }
        for place in places.chunks_exact_mut(W::BYTES) {
            let ones = held.ones();
            if ones > 3 {
                return (done, Pace::Any);
            }
            sums.add(item(held, ones)).write(place);
            done += 1;
        }
    }
    let is_steady = held.position() - start < RUN_BITS * BATCH;
    (done, if is_steady { Pace::Runs } else { Pace::Short })
}

/// Items of any length: the register is filled for each.
#[inline(always)]
fn any<W: Word>(held: &mut Held<'_>, sums: &mut Sums<W>, places: &mut [u8]) -> (usize, Pace) {
    let start = held.position();
    for (done, place) in places.chunks_exact_mut(W::BYTES).enumerate() {
        if !held.fill() {
            return (done, Pace::Last);
        }
        let ones = held.ones();
        let change = if ones > 4 {
            let Some(change) = widest(held) else { return (done, Pace::Last) };
            change
        } else {
            item(held, ones)
        };
        sums.add(change).write(place);
    }
    let is_short = held.position() - start <= SHORT_BITS as usize * BATCH;
    (BATCH, if is_short { Pace::Short } else { Pace::Any })
}

/// Steps of [`runs`] until it looks back.
const STEPS: usize = 16;
/// Items of no change that a step takes at most, and writes always: those after the run are written again.
const RUN: u32 = 16;
/// The longest item after a run is still in the register.
const _: () = assert!(RUN + 5 + 1 + 31 <= Held::BITS);

/// Runs of items of no change, each with an item after it.
#[inline(always)]
fn runs<W: Word>(held: &mut Held<'_>, sums: &mut Sums<W>, places: &mut [u8]) -> (usize, Pace) {
    let mut done = 0;
    for _ in 0..STEPS {
        let rest = &mut places[done * W::BYTES..];
        if rest.len() < Held::BITS as usize * W::BYTES {
            return (done, Pace::Short);
        }
        if !held.fill() {
            return (done, Pace::Last);
        }
        if held.zeros() >= Held::BITS {
            let items = steady(held, rest.len() / W::BYTES);
            sums.steady(&mut rest[..items * W::BYTES]);
            sums.skip(items);
            done += items;
            continue;
        }
        let run = held.zeros().min(RUN);
        sums.steady(&mut rest[..RUN as usize * W::BYTES]);
        sums.skip(run as usize);
        held.skip(run);
        done += run as usize;
        let ones = held.ones();
        if ones > 4 {
            return (done, Pace::Any);
        }
        let at = run as usize * W::BYTES;
        sums.add(item(held, ones)).write(&mut rest[at..at + W::BYTES]);
        done += 1;
    }
    (done, if done < RUN_BITS * STEPS { Pace::Short } else { Pace::Runs })
}

/// Goes past as many full registers of items of no change as there are; how many items, at most this many.
#[inline(always)]
fn steady(held: &mut Held<'_>, items_max: usize) -> usize {
    let mut items = 0;
    while held.zeros() >= Held::BITS && items + Held::BITS as usize <= items_max {
        held.skip(Held::BITS);
        items += Held::BITS as usize;
        // What is held if that fails has no zeros in front.
        held.fill();
    }
    items
}

/// The change that the next item says, whose prefix has this many ones, at most four.
#[inline(always)]
fn item(held: &mut Held<'_>, ones: u32) -> u64 {
    /// Bits of an item, a byte for each number of ones.
    const BITS: u64 = 0x25_10_0c_09_01;
    let kind = &KINDS[held.top(6)];
    #[expect(clippy::cast_possible_truncation, reason = "at most 37")]
    let bits = (BITS >> (8 * ones)) as u32 & 0x3f;
    let magnitude = held.take(bits) & kind.magnitude;
    (magnitude ^ kind.flip).wrapping_add(kind.add)
}

/// What makes a change of the complement of a magnitude minus one.
#[derive(Clone, Copy)]
struct Kind {
    /// The bits of the magnitude.
    magnitude: u64,
    flip: u64,
    add: u64,
}

/// By the complement of the first six bits: prefix of at most four ones, and sign.
static KINDS: [Kind; 64] = {
    let mut kinds = [Kind { magnitude: 0, flip: 0, add: 0 }; 64];
    let mut top = 2_usize;
    while top < 32 {
        let ones = 5 - top.ilog2();
        let magnitude = (1 << [0, 6, 8, 11, 31][ones as usize]) - 1;
        let is_negative = top >> (4 - ones) & 1 == 0;
        kinds[top] = if is_negative {
            // Minus the magnitude is its complement, which is there but for the bits above.
            Kind { magnitude, flip: 0, add: !magnitude }
        } else {
            Kind { magnitude, flip: magnitude, add: 1 }
        };
        top += 1;
    }
    kinds
};

/// The change that an item of the widest magnitude says; `None` if not all of it can be held.
#[inline(always)]
fn widest(held: &mut Held<'_>) -> Option<u64> {
    let before = *held;
    let is_negative = held.take(6) & 1 == 0;
    let high = !held.take(31) & 0x7fff_ffff;
    if !held.fill() {
        *held = before;
        return None;
    }
    let low = !held.take(32) & 0xffff_ffff;
    let magnitude = (high << 32 | low) + 1;
    Some(if is_negative { magnitude.wrapping_neg() } else { magnitude })
}

/// The last items, up to the last bit.
fn last<W: Word>(
    mut reader: Reader<'_>,
    sums: &mut Sums<W>,
    places: &mut [u8],
) -> Result<(), Malformed> {
    for place in places.chunks_exact_mut(W::BYTES) {
        let ones = reader.window().leading_ones().min(5);
        reader.skip((ones + 1).min(5));
        let change = if ones == 0 {
            0
        } else {
            let is_negative = reader.take_short(1) == 1;
            let magnitude = reader.take([0, 6, 8, 11, 31, 63][ones as usize]) + 1;
            if is_negative { magnitude.wrapping_neg() } else { magnitude }
        };
        sums.add(change).write(place);
    }
    reader.check()
}
