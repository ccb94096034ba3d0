//! The decoder: loops for values that mostly repeat, for items whose kind can be foreseen, and for narrow items whose kind
//! cannot, which a CPU would guess wrong too often.

use super::{Record, count_bits};
use crate::column::bits::{Held, Reader, mask};
use crate::column::{Malformed, Width, Word, by_width};
use core::hint::select_unpredictable;

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
    by_width!(width, decode(source, target))
}

#[inline(always)]
fn decode<W: Word>(source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
    let Some((place, target)) = target.split_at_mut_checked(W::BYTES) else { return Ok(()) };
    let Some(first) = source.get(..W::BYTES) else {
        return Err(Malformed { at: source.len(), reason: "first value cut short" });
    };
    place.copy_from_slice(first);
    let mut last = Last { value: W::read(first).wide(), record: NONE };
    let mut held = Held::new(source, W::BYTES);
    let mut done = 0;
    let mut pace = Pace::Foreseen;
    while pace != Pace::End && target.len() - done >= BATCH * W::BYTES {
        let places = &mut target[done..];
        let (items, next) = match pace {
            Pace::Runs => runs::<W>(&mut held, &mut last, places)?,
            Pace::Mixed => mixed::<W>(&mut held, &mut last, &mut places[..BATCH * W::BYTES])?,
            Pace::Foreseen | Pace::End => {
                foreseen::<W>(&mut held, &mut last, &mut places[..BATCH * W::BYTES])?
            }
        };
        (done, pace) = (done + items * W::BYTES, next);
    }
    ending::<W>(held.reader(), last, &mut target[done..])
}

/// The last value, and where the bits of an exclusive or were.
#[derive(Clone, Copy)]
struct Last {
    value: u64,
    record: Record,
}

/// The record before there is one.
const NONE: Record = Record { leading: 0, bits: 0, trailing: 0 };

/// Which loop is next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Values come in runs.
    Runs,
    /// Most items are of one kind.
    Foreseen,
    /// Items of all kinds, none of them longer than a register holds.
    Mixed,
    /// So little of the source is left that the register cannot be filled.
    End,
}

/// Items after which a loop asks itself whether another one suits better.
const BATCH: usize = 48;

/// The loop that suits a batch with so many repetitions and records.
#[inline(always)]
fn pace<W: Word>(repeats: usize, records: usize) -> Pace {
    let most = repeats.max(records).max(BATCH - repeats - records);
    if repeats > BATCH * 3 / 4 {
        Pace::Runs
    } else if most < BATCH * 5 / 6 && is_narrow::<W>() {
        Pace::Mixed
    } else {
        Pace::Foreseen
    }
}

/// Bits before the data of an item that is a record.
const fn record_front<W: Word>() -> u32 {
    2 + 2 * count_bits(W::BITS) - 1
}

/// Whether the register holds any item.
const fn is_narrow<W: Word>() -> bool {
    record_front::<W>() + W::BITS <= Held::BITS
}

/// One item after the other, by its kind. How many there were, and what is next.
#[inline(always)]
fn foreseen<W: Word>(
    held: &mut Held<'_>,
    last: &mut Last,
    places: &mut [u8],
) -> Result<(usize, Pace), Malformed> {
    let (mut repeats, mut records) = (0, 0);
    for (done, place) in places.chunks_exact_mut(W::BYTES).enumerate() {
        if !held.fill() {
            return Ok((done, Pace::End));
        }
        if held.ones() == 0 {
            held.skip(1);
            repeats += 1;
        } else {
            records += usize::from(held.ones() > 1);
            if !change::<W>(held, last)? {
                return Ok((done, Pace::End));
            }
        }
        W::narrow(last.value).write(place);
    }
    Ok((BATCH, pace::<W>(repeats, records)))
}

/// Steps of [`runs`] until it looks back.
const STEPS: usize = 16;
/// Repetitions that a step takes at most, and writes always: those behind the run are written again.
const RUN: usize = 16;

/// Runs of repetitions, each with an item behind it.
#[inline(always)]
fn runs<W: Word>(
    held: &mut Held<'_>,
    last: &mut Last,
    places: &mut [u8],
) -> Result<(usize, Pace), Malformed> {
    let mut done = 0;
    for _ in 0..STEPS {
        let rest = &mut places[done * W::BYTES..];
        if rest.len() < (RUN + 1) * W::BYTES {
            return Ok((done, Pace::Foreseen));
        }
        if !held.fill() {
            return Ok((done, Pace::End));
        }
        let zeros = held.zeros().min(RUN as u32);
        for place in rest[..RUN * W::BYTES].chunks_exact_mut(W::BYTES) {
            W::narrow(last.value).write(place);
        }
        held.skip(zeros);
        done += zeros as usize;
        if zeros == RUN as u32 {
            continue;
        }
        if !held.fill() || !change::<W>(held, last)? {
            return Ok((done, Pace::End));
        }
        let at = zeros as usize * W::BYTES;
        W::narrow(last.value).write(&mut rest[at..at + W::BYTES]);
        done += 1;
    }
    Ok((done, if done < 3 * STEPS { Pace::Foreseen } else { Pace::Runs }))
}

/// Items of any kind without a branch on it; for widths that [`is_narrow`].
#[inline(always)]
fn mixed<W: Word>(
    held: &mut Held<'_>,
    last: &mut Last,
    places: &mut [u8],
) -> Result<(usize, Pace), Malformed> {
    let (mut repeats, mut records) = (0, 0);
    for (done, place) in places.chunks_exact_mut(W::BYTES).enumerate() {
        if !held.fill() {
            return Ok((done, Pace::End));
        }
        let (is_repeat, is_record) = (held.ones() == 0, held.ones() > 1);
        let (leading, bits) = fields::<W>(held.window());
        let known = last.record;
        let is_wrong = if is_record { !fits::<W>(leading, bits) } else { known.bits == 0 };
        if !is_repeat & is_wrong {
            return Err(wrong(held, is_record));
        }
        let record = Record {
            leading,
            bits: select_unpredictable(is_record, bits, known.bits),
            trailing: select_unpredictable(
                is_record,
                W::BITS.wrapping_sub(leading + bits),
                known.trailing,
            ),
        };
        let front = select_unpredictable(is_record, record_front::<W>(), 2);
        let front = select_unpredictable(is_repeat, 1, front);
        let bits = select_unpredictable(is_repeat, 0, record.bits);
        let window = held.window() << front;
        // In two steps, since there may be no bits.
        let data = window >> 1 >> (63 - bits);
        held.skip(front + bits);
        last.value ^= data << record.trailing;
        last.record = record;
        repeats += usize::from(is_repeat);
        records += usize::from(is_record);
        W::narrow(last.value).write(place);
    }
    Ok((BATCH, pace::<W>(repeats, records)))
}

/// Takes an item that is no repetition from a full register; false, and nothing changed, if not all of it can be held.
#[inline(always)]
fn change<W: Word>(held: &mut Held<'_>, last: &mut Last) -> Result<bool, Malformed> {
    let (before, mut record, mut front) = (*held, last.record, 2);
    if held.ones() > 1 {
        let (leading, bits) = fields::<W>(held.window());
        if !fits::<W>(leading, bits) {
            return Err(wrong(held, true));
        }
        record = Record { leading, bits, trailing: W::BITS - leading - bits };
        front = record_front::<W>();
    } else if record.bits == 0 {
        return Err(wrong(held, false));
    }
    let bits = record.bits;
    held.skip(front);
    let data = if front + bits <= Held::BITS {
        !held.take(bits) & mask(bits)
    } else {
        let low = bits.min(32);
        let mut is_held = held.fill();
        let high = if is_held { !held.take(bits - low) & mask(bits - low) } else { 0 };
        is_held = is_held && held.fill();
        if !is_held {
            *held = before;
            return Ok(false);
        }
        high << low | !held.take(low) & mask(low)
    };
    *last = Last { value: last.value ^ data << record.trailing, record };
    Ok(true)
}

/// Leading zeros and data bits of the record that a window starts with.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "at most 13 bits")]
fn fields<W: Word>(window: u64) -> (u32, u32) {
    let field = count_bits(W::BITS);
    let place = (window << 2 >> (64 - (2 * field - 1))) as u32;
    (place >> field, place & ((1 << field) - 1))
}

/// Whether there is such a place in a value.
#[inline(always)]
fn fits<W: Word>(leading: u32, bits: u32) -> bool {
    bits != 0 && leading + bits <= W::BITS
}

/// What is wrong with an item that is a record, or is none.
#[cold]
fn wrong(held: &Held<'_>, is_record: bool) -> Malformed {
    malformed(held.position() / 8, is_record)
}

fn malformed(at: usize, is_record: bool) -> Malformed {
    let reason = if is_record {
        "leading zeros and data bits do not fit the width"
    } else {
        "bits without a place"
    };
    Malformed { at, reason }
}

/// The last items, up to the last bit.
fn ending<W: Word>(
    mut reader: Reader<'_>,
    last: Last,
    places: &mut [u8],
) -> Result<(), Malformed> {
    let Last { mut value, mut record } = last;
    for place in places.chunks_exact_mut(W::BYTES) {
        let ones = reader.window().leading_ones().min(2);
        if ones > 1 {
            let (leading, bits) = fields::<W>(reader.window());
            if !fits::<W>(leading, bits) {
                return Err(malformed(reader.at(), true));
            }
            record = Record { leading, bits, trailing: W::BITS - leading - bits };
        } else if ones > 0 && record.bits == 0 {
            return Err(malformed(reader.at(), false));
        }
        reader.skip([1, 2, record_front::<W>()][ones as usize]);
        if ones > 0 {
            value ^= reader.take(record.bits) << record.trailing;
        }
        W::narrow(value).write(place);
    }
    reader.check()
}
