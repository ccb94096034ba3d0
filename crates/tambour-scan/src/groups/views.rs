//! Codes of texts: a table of those that were seen, which short ones are in by their views.
//!
//! A view holds a text of up to 12 bytes whole, so that such texts are hashed and compared as one number. What repeats the text
//! of the row before, as values of a sorted column do, is not looked up at all.

use super::keys::NONE;
use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use datafusion::common::hash_utils::RandomState;
use std::hash::BuildHasher;

/// The longest text that is inside its view.
const INLINE_MAX: usize = 12;
/// The length and the first four bytes, in views of longer texts.
const HEAD: u128 = u64::MAX as u128;
/// Texts above which keys are wide: a table of more of them is in nobody's cache.
pub(super) const TEXTS_MAX: usize = 1 << 18;

/// Bytes of texts above which keys are wide.
const BYTES_MAX: usize = 1 << 30;

/// Slots for each text, at least.
const ROOM: usize = 4;
/// Slots of a small table.
const SLOTS_MIN: usize = 1024;

/// A text that was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Its view, of a longer one the head of it.
    view: u128,
    /// Where its bytes begin.
    start: usize,
}

/// The texts that were seen, by their codes.
#[derive(Debug, Default)]
pub(super) struct Views {
    /// Codes, at most one in [`ROOM`] slots: what is looked for is mostly in the first place.
    slots: Vec<u32>,
    seen: Vec<Seen>,
    bytes: Vec<u8>,
    state: RandomState,
    /// What is seen must be UTF-8.
    is_checked: bool,
    /// Something was not.
    is_damaged: bool,
}

#[expect(clippy::cast_possible_truncation, reason = "a view begins with the length")]
fn length(view: u128) -> usize {
    view as u32 as usize
}

impl Views {
    /// True after a text that is none: not UTF-8.
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }
    /// Bytes that it takes, about.
    pub(super) fn size(&self) -> usize {
        self.slots.len() * 4 + self.seen.len() * size_of::<Seen>() + self.bytes.len()
    }
    /// The bytes of each text, by its code.
    pub(super) fn texts(&self) -> Vec<&[u8]> {
        let ends = self.seen.iter().skip(1).map(|it| it.start).chain([self.bytes.len()]);
        let ranges = self.seen.iter().zip(ends);
        ranges.map(|(it, end)| self.bytes.get(it.start..end).unwrap_or_default()).collect()
    }
    /// Gives the next code to NULL.
    pub(super) fn reserve(&mut self) {
        self.seen.push(Seen { view: u128::MAX, start: self.bytes.len() });
    }

    /// The codes of some texts, `null` that of NULLs; `false` if there are too many of them, or one is damaged.
    pub(super) fn codes(
        &mut self,
        values: &dyn Array,
        wanted: &DataType,
        null: u32,
        codes: &mut Vec<u32>,
    ) -> bool {
        match values.data_type() {
            DataType::BinaryView => {
                self.is_checked = *wanted == DataType::Utf8View;
                let array = values.as_binary_view();
                self.all(array.views(), array, |row| array.value(row), null, codes)
            }
            DataType::Utf8View => {
                let array = values.as_string_view();
                self.all(array.views(), array, |row| array.value(row).as_bytes(), null, codes)
            }
            _ => false,
        }
    }

    fn all<'a>(
        &mut self,
        views: &[u128],
        array: &dyn Array,
        text: impl Fn(usize) -> &'a [u8],
        null: u32,
        codes: &mut Vec<u32>,
    ) -> bool {
        let has_nulls = array.null_count() > 0;
        let (mut last, mut last_code) = (u128::MAX, NONE);
        codes.reserve(views.len());
        for (row, view) in views.iter().enumerate() {
            if has_nulls && array.is_null(row) {
                codes.push(null);
                continue;
            }
            let is_short = length(*view) <= INLINE_MAX;
            if is_short && *view == last {
                codes.push(last_code);
                continue;
            }
            let code = if is_short {
                self.short(*view)
            } else {
                self.long(*view & HEAD, text(row), last_code)
            };
            if code == NONE {
                return false;
            }
            (last, last_code) = (*view, code);
            codes.push(code);
        }
        true
    }

    fn short(&mut self, view: u128) -> u32 {
        let slot = self.find(self.state.hash_one(view), |seen| seen.view == view);
        match self.slots.get(slot) {
            Some(&code) if code != NONE => code,
            _ => self.add(slot, view, &view.to_le_bytes()[4..4 + length(view)]),
        }
    }

    fn long(&mut self, head: u128, text: &[u8], last: u32) -> u32 {
        let is_same = |seen: &Seen| {
            seen.view == head && self.bytes.get(seen.start..seen.start + text.len()) == Some(text)
        };
        if self.seen.get(last as usize).is_some_and(&is_same) {
            return last;
        }
        let slot = self.find(self.state.hash_one(text), is_same);
        match self.slots.get(slot) {
            Some(&code) if code != NONE => code,
            _ => self.add(slot, head, text),
        }
    }

    /// The slot of a text, or the empty one that it would be in.
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are as good as any")]
    fn find(&self, hash: u64, is_same: impl Fn(&Seen) -> bool) -> usize {
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = (hash ^ (hash >> 32)) as usize & mask;
        while let Some(&code) = self.slots.get(slot) {
            if code == NONE || self.seen.get(code as usize).is_some_and(&is_same) {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[expect(clippy::cast_possible_truncation, reason = "codes are at most TEXTS_MAX")]
    fn add(&mut self, slot: usize, view: u128, text: &[u8]) -> u32 {
        if self.is_checked && std::str::from_utf8(text).is_err() {
            self.is_damaged = true;
            return NONE;
        }
        if self.seen.len() >= TEXTS_MAX || self.bytes.len() + text.len() > BYTES_MAX {
            return NONE;
        }
        let code = self.seen.len() as u32;
        self.seen.push(Seen { view, start: self.bytes.len() });
        self.bytes.extend_from_slice(text);
        if self.seen.len() * ROOM > self.slots.len() {
            self.grow();
        } else if let Some(entry) = self.slots.get_mut(slot) {
            *entry = code;
        }
        code
    }

    /// Makes room for more, and a place for all that were seen.
    #[expect(clippy::cast_possible_truncation, reason = "codes are at most TEXTS_MAX")]
    fn grow(&mut self) {
        self.slots = vec![NONE; (self.slots.len() * 4).max(SLOTS_MIN)];
        for code in 0..self.seen.len() {
            let Some(seen) = self.seen.get(code) else { continue };
            if seen.view == u128::MAX {
                continue;
            }
            let hash = if length(seen.view) <= INLINE_MAX {
                self.state.hash_one(seen.view)
            } else {
                let end = seen.start + length(seen.view);
                self.state.hash_one(self.bytes.get(seen.start..end).unwrap_or_default())
            };
            let slot = self.find(hash, |_| false);
            if let Some(entry) = self.slots.get_mut(slot) {
                *entry = code as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, BinaryViewArray};
    use std::collections::HashMap;

    #[test]
    fn equal_texts_have_equal_codes() {
        let mut state = 7_u64;
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        let mut views = Views::default();
        let mut known: HashMap<Option<Vec<u8>>, u32> = HashMap::new();
        views.reserve();
        for _ in 0..200 {
            let spread = 1 + below(3000);
            let texts: Vec<Option<Vec<u8>>> = (0..100)
                .map(|_| {
                    let number = below(spread);
                    let long =
                        if number % 3 == 0 { "before the number there is a text " } else { "" };
                    (number > 0).then(|| format!("{long}{number}\0").into_bytes())
                })
                .collect();
            let array: BinaryViewArray = texts.iter().map(|text| text.as_deref()).collect();
            let mut codes = Vec::new();
            assert!(views.codes(&array, &DataType::BinaryView, 0, &mut codes));
            for (text, code) in texts.into_iter().zip(codes) {
                if text.is_none() {
                    assert_eq!(code, 0);
                } else {
                    assert_eq!(views.texts()[code as usize], text.as_deref().unwrap());
                    assert_eq!(*known.entry(text).or_insert(code), code);
                }
            }
        }
        assert_eq!(views.len(), known.len() + 1);
    }

    #[test]
    fn too_many_texts_and_those_that_are_none_are_refused() {
        let mut views = Views::default();
        let texts = (0..=TEXTS_MAX).map(|number| number.to_string());
        let array: ArrayRef = std::sync::Arc::new(BinaryViewArray::from_iter_values(texts));
        assert!(!views.codes(&array, &DataType::Utf8View, NONE, &mut Vec::new()));
        assert!(!views.is_damaged());
        for (wanted, is_damaged) in [(DataType::Utf8View, true), (DataType::BinaryView, false)] {
            let mut views = Views::default();
            let array = BinaryViewArray::from_iter_values([&b"a"[..], b"\xff"]);
            assert_eq!(views.codes(&array, &wanted, NONE, &mut Vec::new()), !is_damaged);
            assert_eq!(views.is_damaged(), is_damaged);
        }
    }
}
