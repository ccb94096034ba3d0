//! Reading strings: views that point into the decompressed blocks.
//!
//! Nothing is copied but what Arrow keeps inside a view anyway (12 bytes and less) and strings that straddle two blocks.

use super::bytes::{Spare, append_bytes, read_varint, varint};
use super::fault::Fault;
use super::tree::{self, Decode};
use super::{Source, Sources, StreamName};
use crate::types::Strings;
use arrow_array::{ArrayRef, BinaryViewArray, UInt32Array};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_select::take::take;
use std::sync::Arc;
use tambour_kernel::text::texts;

/// The longest string that a view can hold.
pub(super) const BYTES_MAX: usize = i32::MAX as usize;
/// The longest string that is kept inside its view.
const INLINE_MAX: usize = 12;
/// Views that are allocated before any string was seen.
const UNSEEN_MAX: usize = 1 << 18;
/// Lengths up to this one are looked up where only lengths are asked for.
const KNOWN_MAX: usize = 1 << 12;
/// The place of a length that no string has had.
const UNSEEN: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Reader {
    name: StreamName,
    sizes: Option<StreamName>,
    strings: Strings,
    /// Only lengths are asked for: what they were so far.
    blanks: Option<Blanks>,
    spare: Spare,
}

impl Reader {
    pub(super) fn new(name: StreamName, sizes: Option<StreamName>, strings: Strings) -> Self {
        Self { name, sizes, strings, blanks: None, spare: Spare::default() }
    }
}

impl Decode for Reader {
    fn read(
        &mut self,
        sources: &mut dyn Sources,
        rows: &[usize],
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let total = tree::sum(rows)?;
        let mut views = Views::new(total);
        if total > 0 {
            match (&self.sizes, &mut self.blanks) {
                (None, Some(blanks)) => {
                    let sizes = inline_sizes(sources.stream(&self.name)?, total)?;
                    return blanks.of(&sizes, self.strings, nulls);
                }
                (None, None) => views.read_inline(sources.stream(&self.name)?)?,
                (Some(sizes), blanks) => {
                    let sizes = self.spare.read_values(sources.stream(sizes)?, total, 8)?;
                    if let Some(blanks) = blanks {
                        let lengths = blanks.of(sizes.typed_data(), self.strings, nulls);
                        self.spare.give_back(sizes);
                        return lengths;
                    }
                    views.read_sized(sources.stream(&self.name)?, sizes.typed_data())?;
                    self.spare.give_back(sizes);
                }
            }
        }
        views.finish(self.strings, nulls)
    }

    fn only_lengths(&mut self) -> Option<StreamName> {
        self.blanks = Some(Blanks::new());
        self.sizes.as_ref().map(|_| self.name.clone())
    }

    fn default(&self) -> Result<ArrayRef, Fault> {
        let mut views = Views::new(1);
        views.found.push(0);
        views.finish(self.strings, None)
    }
}

/// Views under construction.
struct Views {
    wanted: usize,
    found: Vec<u128>,
    buffers: Vec<Buffer>,
}

impl Views {
    fn new(wanted: usize) -> Self {
        Self { wanted, found: Vec::with_capacity(wanted.min(UNSEEN_MAX)), buffers: Vec::new() }
    }

    /// A length before each string.
    fn read_inline(&mut self, source: &mut dyn Source) -> Result<(), Fault> {
        while self.found.len() < self.wanted {
            let (block, start) = next_block(source)?;
            let (used, rest) = self.whole_strings(block, start);
            source.consume(used);
            if self.found.len() < self.wanted && rest > 0 {
                // The next string straddles blocks, or its length is no good.
                let length = read_varint(source)?;
                self.straddling(source, length)?;
            }
        }
        Ok(())
    }

    /// Takes the strings that lie in the block as a whole; says how many bytes they are and how many are left.
    fn whole_strings(&mut self, block: &Buffer, start: usize) -> (usize, usize) {
        let bytes = &block.as_slice()[start..];
        let index = self.buffers.len() as u128;
        let mut at = 0;
        let mut pointed = false;
        while self.found.len() < self.wanted {
            let Some((value, length)) = whole_string(bytes, at) else { break };
            pointed |= length > INLINE_MAX;
            self.found.push(view(bytes, value, length, index, start));
            at = value + length;
        }
        if pointed {
            self.buffers.push(block.clone());
        }
        (at, bytes.len() - at)
    }

    /// All lengths first, in a stream of their own.
    #[expect(clippy::cast_possible_truncation, reason = "no longer than the block")]
    fn read_sized(&mut self, source: &mut dyn Source, sizes: &[u64]) -> Result<(), Fault> {
        let mut sizes = sizes.iter().copied().peekable();
        while let Some(&size) = sizes.peek() {
            if size == 0 {
                // After the last byte there need not be a block.
                self.found.push(0);
                sizes.next();
                continue;
            }
            let (block, start) = next_block(source)?;
            let bytes = &block.as_slice()[start..];
            let index = self.buffers.len() as u128;
            let (mut at, mut pointed) = (0, false);
            while let Some(size) =
                sizes.next_if(|&size| size <= (bytes.len() - at).min(BYTES_MAX) as u64)
            {
                let length = size as usize;
                pointed |= length > INLINE_MAX;
                self.found.push(view(bytes, at, length, index, start));
                at += length;
            }
            if pointed {
                self.buffers.push(block.clone());
            }
            let rest = bytes.len() - at;
            source.consume(at);
            if rest > 0
                && let Some(size) = sizes.next()
            {
                self.straddling(source, size)?;
            }
        }
        Ok(())
    }

    /// One string of which the bytes come next, wherever the block ends.
    fn straddling(&mut self, source: &mut dyn Source, length: u64) -> Result<(), Fault> {
        let length = length_of(length)?;
        let mut bytes = Vec::new();
        append_bytes(source, length, &mut bytes)?;
        self.found.push(view(&bytes, 0, length, self.buffers.len() as u128, 0));
        if length > INLINE_MAX {
            self.buffers.push(Buffer::from_vec(bytes));
        }
        Ok(())
    }

    fn finish(mut self, strings: Strings, nulls: Option<NullBuffer>) -> Result<ArrayRef, Fault> {
        if let Some(nulls) = &nulls {
            // What stands under a NULL is nobody's text.
            for (view, valid) in self.found.iter_mut().zip(nulls) {
                if !valid {
                    *view = 0;
                }
            }
        }
        let (views, buffers) =
            (ScalarBuffer::from(self.found), Arc::<[Buffer]>::from(self.buffers));
        if strings == Strings::Binary {
            return Ok(Arc::new(BinaryViewArray::try_new(views, buffers, nulls)?));
        }
        if let Some(texts) = texts(&views, &buffers, nulls.as_ref()) {
            return Ok(Arc::new(texts));
        }
        let bytes = BinaryViewArray::try_new(views, buffers, nulls)?;
        let wrong = |value: &[u8]| simdutf8::basic::from_utf8(value).is_err();
        let wrong = bytes.bytes_iter().position(wrong);
        match wrong {
            Some(row) => Err(Fault::Utf8 { row }),
            None => Ok(Arc::new(bytes.to_string_view()?)),
        }
    }
}

/// Strings whose bytes are all zero, one of each length. Rows take theirs from those, so that nobody looks at the bytes of each.
#[derive(Debug)]
struct Blanks {
    /// The place of each length up to [`KNOWN_MAX`].
    known: Vec<u32>,
    /// The lengths that were seen, as views.
    each: Vec<u128>,
    /// The strings of these lengths, as far as they were made.
    made: Option<ArrayRef>,
}

impl Blanks {
    fn new() -> Self {
        Self { known: vec![UNSEEN; KNOWN_MAX + 1], each: Vec::new(), made: None }
    }

    /// Strings of these lengths.
    fn of(
        &mut self,
        sizes: &[u64],
        strings: Strings,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let mut rows: Vec<u32> = sizes.iter().map(|size| self.known(*size)).collect();
        let each = if rows.contains(&UNSEEN) {
            let mut each = self.each.clone();
            for (row, size) in rows.iter_mut().zip(sizes).filter(|(row, _)| **row == UNSEEN) {
                *row = place(each.len());
                each.push(length_of(*size)? as u128);
            }
            blank(each, strings)?
        } else if let Some(made) = &self.made {
            Arc::clone(made)
        } else {
            Arc::clone(self.made.insert(blank(self.each.clone(), strings)?))
        };
        Ok(take(&each, &UInt32Array::try_new(rows.into(), nulls)?, None)?)
    }

    /// The place of the string of a length. [`UNSEEN`] if it is a long one: those are rare, and not kept in mind.
    fn known(&mut self, size: u64) -> u32 {
        let seen = usize::try_from(size).ok().and_then(|size| self.known.get_mut(size));
        let Some(seen) = seen else { return UNSEEN };
        if *seen == UNSEEN {
            *seen = place(self.each.len());
            self.each.push(u128::from(size));
            self.made = None;
        }
        *seen
    }
}

fn place(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(UNSEEN)
}

/// One string of zeros for each length.
fn blank(lengths: Vec<u128>, strings: Strings) -> Result<ArrayRef, Fault> {
    let most = lengths.iter().copied().max().unwrap_or_default();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut each = Views { wanted: 0, found: lengths, buffers: Vec::new() };
    if most > INLINE_MAX {
        each.buffers.push(Buffer::from_vec(vec![0_u8; most]));
    }
    each.finish(strings, None)
}

/// Where the string begins whose length is at `at`, and its length, if it lies in these bytes as a whole.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "below BYTES_MAX")]
fn whole_string(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let first = *bytes.get(at)?;
    let (length, head) = if first < 0x80 {
        (usize::from(first), 1)
    } else {
        let (length, head) = varint(&bytes[at..])?;
        (Some(length).filter(|it| *it <= BYTES_MAX as u64)? as usize, head)
    };
    let value = at + head;
    (bytes.len() - value >= length).then_some((value, length))
}

/// The lengths that stand before the strings, over which it goes.
fn inline_sizes(source: &mut dyn Source, wanted: usize) -> Result<Vec<u64>, Fault> {
    let mut sizes = Vec::with_capacity(wanted.min(UNSEEN_MAX));
    while sizes.len() < wanted {
        let (block, start) = next_block(source)?;
        let bytes = &block.as_slice()[start..];
        let mut at = 0;
        while sizes.len() < wanted
            && let Some((value, length)) = whole_string(bytes, at)
        {
            sizes.push(length as u64);
            at = value + length;
        }
        let rest = bytes.len() - at;
        source.consume(at);
        if sizes.len() < wanted && rest > 0 {
            let size = read_varint(source)?;
            let mut left = length_of(size)?;
            while left > 0 {
                let (block, start) = next_block(source)?;
                let step = left.min(block.len() - start);
                source.consume(step);
                left -= step;
            }
            sizes.push(size);
        }
    }
    Ok(sizes)
}

/// The rest of the current block, which is never empty.
fn next_block(source: &mut dyn Source) -> Result<(&Buffer, usize), Fault> {
    if source.block()?.is_none_or(|(block, start)| start >= block.len()) {
        return Err(source.corrupt("the stream ends before its last string").into());
    }
    match source.block()? {
        Some(found) => Ok(found),
        None => Err(Fault::Other { reason: "a block vanished".to_owned() }),
    }
}

/// A length from a stream, if strings can be as long.
pub(super) fn length_of(length: u64) -> Result<usize, Fault> {
    let over = Fault::Limit { field: "length of a string", limit: BYTES_MAX as u64, got: length };
    usize::try_from(length).ok().filter(|&length| length <= BYTES_MAX).ok_or(over)
}

/// The view of `bytes[at..at + length]`, where `bytes` starts at `origin` in buffer `index`.
#[inline]
fn view(bytes: &[u8], at: usize, length: usize, index: u128, origin: usize) -> u128 {
    if length <= INLINE_MAX {
        let inline = if let Some(sixteen) = bytes.get(at..at + 16) {
            // Whatever follows is cut off: a load and a mask cost less than a copy of unknown length.
            let loaded = u128::from_le_bytes(sixteen.try_into().unwrap_or_default());
            loaded & !(u128::MAX << (8 * length))
        } else {
            let mut sixteen = [0; 16];
            sixteen[..length].copy_from_slice(&bytes[at..at + length]);
            u128::from_le_bytes(sixteen)
        };
        return inline << 32 | length as u128;
    }
    let prefix = bytes[at..at + 4].try_into().unwrap_or_default();
    let prefix = u128::from(u32::from_le_bytes(prefix));
    length as u128 | prefix << 32 | index << 64 | ((origin + at) as u128) << 96
}

/// The string at `at` with its length before it, if it is in these bytes as a whole; moves `at` after it.
#[inline]
pub(super) fn next_string<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let (length, head) = varint(bytes.get(*at..)?)?;
    let start = *at + head;
    let string = bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)?;
    *at = start + string.len();
    Some(string)
}

/// Strings with their lengths before them, as one run of bytes and the offsets of each: the keys of a dictionary.
pub(super) fn read_run(
    source: &mut dyn Source,
    count: usize,
) -> Result<(Vec<i32>, Vec<u8>), Fault> {
    let mut offsets = Vec::with_capacity(count.min(UNSEEN_MAX) + 1);
    offsets.push(0);
    let mut run = Vec::new();
    for _ in 0..count {
        let known = match source.block()? {
            Some((block, start)) => {
                let mut used = 0;
                next_string(&block.as_slice()[start..], &mut used).map(|string| {
                    run.extend_from_slice(string);
                    used
                })
            }
            None => None,
        };
        if let Some(used) = known {
            source.consume(used);
        } else {
            let length = length_of(read_varint(source)?)?;
            append_bytes(source, length, &mut run)?;
        }
        match i32::try_from(run.len()) {
            Ok(offset) => offsets.push(offset),
            Err(_) => return Err(Fault::limit("bytes of a dictionary", BYTES_MAX, run.len())),
        }
    }
    Ok((offsets, run))
}
