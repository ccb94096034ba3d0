//! The decoder: a loop for values that mostly repeat, and one for all others.

use super::{Record, count_bits};
use crate::column::bits::Reader;
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
    let Some((place, target)) = target.split_at_mut_checked(W::BYTES) else { return Ok(()) };
    let Some(first) = source.get(..W::BYTES) else {
        return Err(Malformed { at: source.len(), reason: "first value cut short" });
    };
    place.copy_from_slice(first);
    let mut last = Last { value: W::read(first).wide(), record: NONE };
    let mut reader = Reader::new(source, W::BYTES);
    let (mut done, mut pace) = (0, Pace::Single);
    while target.len() - done >= BATCH * W::BYTES {
        let places = &mut target[done..];
        let (items, next) = match pace {
            Pace::Runs => runs::<W>(&mut reader, &mut last, places)?,
            Pace::Single => single::<W>(&mut reader, &mut last, &mut places[..BATCH * W::BYTES])?,
        };
        (done, pace) = (done + items * W::BYTES, next);
    }
    single::<W>(&mut reader, &mut last, &mut target[done..])?;
    reader.check()
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
    /// Every item for itself.
    Single,
}

/// Items after which a loop asks itself whether another one suits better.
const BATCH: usize = 240;

/// Bits before the data of an item that is a record.
const fn record_front<W: Word>() -> u32 {
    2 + 2 * count_bits(W::BITS) - 1
}

/// One item after the other, by its kind: where that can be foreseen, the next item waits for an addition only. How many there
/// were, and what is next.
#[inline(always)]
fn single<W: Word>(
    reader: &mut Reader<'_>,
    last: &mut Last,
    places: &mut [u8],
) -> Result<(usize, Pace), Malformed> {
    // Copies stay in registers.
    let (mut at, mut now) = (*reader, *last);
    for place in places.chunks_exact_mut(W::BYTES) {
        let window = at.window();
        if window >> 63 == 0 {
            at.skip(1);
        } else {
            change::<W>(&mut at, window, &mut now)?;
        }
        W::narrow(now.value).write(place);
    }
    let bits = at.position() - reader.position();
    (*reader, *last) = (at, now);
    // So few bits are those of repetitions.
    let pace = if bits < places.len() { Pace::Runs } else { Pace::Single };
    Ok((places.len() / W::BYTES, pace))
}

/// Steps of [`runs`] until it looks back.
const STEPS: usize = 16;
/// Repetitions that a step takes at most, and writes always: those after the run are written again.
const RUN: u32 = 16;

/// Runs of repetitions, each with an item after it.
#[inline(always)]
fn runs<W: Word>(
    reader: &mut Reader<'_>,
    last: &mut Last,
    places: &mut [u8],
) -> Result<(usize, Pace), Malformed> {
    let mut done = 0;
    for _ in 0..STEPS {
        let rest = &mut places[done * W::BYTES..];
        if rest.len() < (RUN as usize + 1) * W::BYTES {
            return Ok((done, Pace::Single));
        }
        let window = reader.window();
        let zeros = window.leading_zeros().min(RUN);
        for place in rest[..RUN as usize * W::BYTES].chunks_exact_mut(W::BYTES) {
            W::narrow(last.value).write(place);
        }
        reader.skip(zeros);
        done += zeros as usize;
        if zeros < RUN {
            change::<W>(reader, reader.window(), last)?;
            let at = zeros as usize * W::BYTES;
            W::narrow(last.value).write(&mut rest[at..at + W::BYTES]);
            done += 1;
        }
    }
    Ok((done, if done < 3 * STEPS { Pace::Single } else { Pace::Runs }))
}

/// Takes an item that is not a repetition, whose window is given.
#[inline(always)]
fn change<W: Word>(reader: &mut Reader<'_>, window: u64, last: &mut Last) -> Result<(), Malformed> {
    // Prefix, and fields if any: what is left of the window may have all the data.
    let mut front = 2;
    if window >> 62 == 0b11 {
        let (leading, bits) = fields::<W>(window);
        if !fits::<W>(leading, bits) {
            return Err(wrong(reader, true));
        }
        last.record = Record { leading, bits, trailing: W::BITS - leading - bits };
        front = record_front::<W>();
    } else if last.record.bits == 0 {
        return Err(wrong(reader, false));
    }
    let bits = last.record.bits;
    let data = if front + bits <= Reader::WINDOW_BITS {
        reader.skip(front + bits);
        window << front >> (64 - bits)
    } else {
        reader.skip(front);
        reader.take(bits)
    };
    last.value ^= data << last.record.trailing;
    Ok(())
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
fn wrong(reader: &Reader<'_>, is_record: bool) -> Malformed {
    let reason = if is_record {
        "leading zeros and data bits do not fit the width"
    } else {
        "bits without a place"
    };
    Malformed { at: reader.at(), reason }
}
