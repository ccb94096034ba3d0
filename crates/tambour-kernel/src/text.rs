//! Views that are checked to be texts by runs of bytes, not one after another.
//!
//! Arrow's constructor looks at each text by itself, which costs more than the look at its bytes where texts are short, and took a
//! fifth to a third of queries over them. Here the bytes that all texts of a buffer lie in are looked at once: what lies in
//! ASCII is ASCII, and a piece of UTF-8 that begins and ends between letters is UTF-8.

use arrow_array::{Array, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use std::ops::Range;
use std::sync::Arc;

/// The longest text that is kept inside of its view.
const INLINE_MAX: u32 = 12;
/// The high bit of each byte of a text in its view.
const HIGH: u128 = 0x8080_8080_8080_8080_8080_8080 << 32;

/// The views as texts, or `None` if Arrow's own constructor would refuse them: one is not UTF-8, does not lie in its buffer, or
/// its prefix is not what lies there. What stands under a NULL is checked, too.
pub fn texts(
    views: &ScalarBuffer<u128>,
    buffers: &Arc<[Buffer]>,
    nulls: Option<&NullBuffer>,
) -> Option<StringViewArray> {
    if nulls.is_some_and(|nulls| nulls.len() != views.len()) || !are_texts(views, buffers) {
        return None;
    }
    // SAFETY: Arrow asks that `try_new` would take the same values. Nulls are as many as views. `are_texts` holds for each view: the
    // bytes after a short text are zero; a long one lies in the buffer that it names and begins with the prefix that it has; and the
    // bytes of both are UTF-8. Nobody writes to a buffer that others hold; whoever hands one in from C promises the same.
    let texts = unsafe {
        StringViewArray::new_unchecked(views.clone(), Arc::clone(buffers), nulls.cloned())
    };
    debug_assert_eq!(texts.len(), views.len());
    Some(texts)
}

/// What is known of the texts in a buffer.
#[derive(Clone, Debug)]
struct Run {
    /// Where the first begins, and where the last ends; without one, the end is before the start.
    start: usize,
    end: usize,
    /// How many bytes they have together.
    bytes: usize,
}

fn are_texts(views: &[u128], buffers: &[Buffer]) -> bool {
    let mut runs = vec![Run { start: usize::MAX, end: 0, bytes: 0 }; buffers.len()];
    let mut short_are_ascii = true;
    for &view in views {
        let length = length_of(view);
        if length <= INLINE_MAX {
            if length < INLINE_MAX && view >> (32 + 8 * length) != 0 {
                return false;
            }
            short_are_ascii &= view & HIGH == 0;
        } else {
            let (index, range) = place_of(view);
            let (Some(run), Some(buffer)) = (runs.get_mut(index), buffers.get(index)) else {
                return false;
            };
            let begins = buffer.get(range.clone()).is_some_and(|bytes| has_prefix(bytes, view));
            if !begins {
                return false;
            }
            (run.start, run.end) = (run.start.min(range.start), run.end.max(range.end));
            run.bytes = run.bytes.saturating_add(range.len());
        }
    }
    let runs: Vec<Checked<'_>> =
        buffers.iter().zip(&runs).map(|(buffer, run)| Checked::new(buffer, run)).collect();
    if short_are_ascii && runs.iter().all(|run| matches!(run, Checked::Ascii)) {
        return true;
    }
    views.iter().all(|&view| {
        if length_of(view) <= INLINE_MAX {
            return is_short_text(view);
        }
        let (index, range) = place_of(view);
        match &runs[index] {
            Checked::Ascii => true,
            Checked::Text(all, start) => {
                [range.start, range.end].iter().all(|end| all.is_char_boundary(end - start))
            }
            Checked::Each => simdutf8::basic::from_utf8(&buffers[index][range]).is_ok(),
        }
    })
}

/// What is known of the bytes that the texts of a buffer lie in.
enum Checked<'a> {
    Ascii,
    /// They are UTF-8 as a whole, and begin at this place of the buffer.
    Text(&'a str, usize),
    /// Each has to be looked at.
    Each,
}

impl<'a> Checked<'a> {
    fn new(buffer: &'a [u8], run: &Run) -> Self {
        // None of a buffer that no text lies in: all texts were found to lie in theirs.
        let Some(all) = buffer.get(run.start..run.end) else { return Self::Ascii };
        // If the texts cover little of the range, the bytes between them are not worth checking.
        if run.bytes < all.len() / 2 {
            Self::Each
        } else if all.is_ascii() {
            Self::Ascii
        } else {
            let text = simdutf8::basic::from_utf8(all);
            text.map_or(Self::Each, |text| Self::Text(text, run.start))
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are the length")]
fn length_of(view: u128) -> u32 {
    view as u32
}

/// The buffer of a long text, and where it lies there.
#[expect(clippy::cast_possible_truncation, reason = "each has 32 bits")]
fn place_of(view: u128) -> (usize, Range<usize>) {
    let start = (view >> 96) as u32 as usize;
    ((view >> 64) as u32 as usize, start..start.saturating_add(length_of(view) as usize))
}

fn has_prefix(bytes: &[u8], view: u128) -> bool {
    bytes.first_chunk::<4>().is_some_and(|four| *four == view.to_le_bytes()[4..8])
}

fn is_short_text(view: u128) -> bool {
    let bytes = view.to_le_bytes();
    std::str::from_utf8(&bytes[4..4 + length_of(view) as usize]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::BinaryViewBuilder;

    /// A small generator of numbers: SplitMix64.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap_or_default()
        }
    }

    fn piece(chance: &mut Chance, kind: usize) -> Vec<u8> {
        // Of one to four bytes.
        let letters = ["a", "Z", "\u{e9}", "\u{44f}", "\u{20ac}", "\u{8a9e}", "\u{1f642}"];
        let count = chance.below(9);
        let some = |chance: &mut Chance| match kind {
            0 => "x".as_bytes().to_vec(),
            1 => letters[chance.below(letters.len())].as_bytes().to_vec(),
            _ if chance.below(40) == 0 => vec![[0x80, 0xc3, 0xff, 0xed][chance.below(4)]],
            _ => letters[chance.below(letters.len())].as_bytes().to_vec(),
        };
        (0..count).flat_map(|_| some(chance)).collect()
    }

    /// Against Arrow's own constructor, over texts, bytes, views that overlap, and views that lie.
    #[test]
    fn takes_what_arrow_takes() {
        let mut counts = [0, 0];
        // An interpreter takes a thousand times as long.
        let (seeds, least) = if cfg!(miri) { (90, 9) } else { (3000, 300) };
        for seed in 0..seeds {
            let mut chance = Chance(seed);
            let kind = chance.below(3);
            let mut builder = BinaryViewBuilder::new().with_fixed_block_size(64);
            for _ in 0..chance.below(30) {
                builder.append_value(piece(&mut chance, kind));
            }
            let made = builder.finish();
            let (mut views, buffers, _) = made.into_parts();
            let buffers: Arc<[Buffer]> = buffers.iter().cloned().collect();
            if chance.below(3) == 0 && !views.is_empty() {
                let mut changed = views.to_vec();
                let at = chance.below(changed.len());
                match chance.below(4) {
                    0 => changed[at] ^= 1 << chance.below(128),
                    // A letter further, and its prefix with it.
                    1 if length_of(changed[at]) > INLINE_MAX + 1 => {
                        let (index, range) = place_of(changed[at]);
                        let start = range.start + 1;
                        let prefix =
                            u32::from_le_bytes([0, 1, 2, 3].map(|it| buffers[index][start + it]));
                        changed[at] = (range.len() as u128 - 1)
                            | u128::from(prefix) << 32
                            | (index as u128) << 64
                            | (start as u128) << 96;
                    }
                    2 if length_of(changed[at]) > INLINE_MAX + 1 => changed[at] -= 1,
                    _ => changed.truncate(at),
                }
                views = changed.into();
            }
            let expected = StringViewArray::try_new(views.clone(), Arc::clone(&buffers), None).ok();
            let got = texts(&views, &buffers, None);
            assert_eq!(got, expected, "seed {seed}");
            counts[usize::from(got.is_some())] += 1;
        }
        assert!(counts.iter().all(|count| *count > least), "{counts:?}");
    }

    #[test]
    fn nulls_are_as_many_as_views() {
        let nulls = NullBuffer::from(vec![true, false]);
        let none: Arc<[Buffer]> = Arc::from([]);
        assert!(texts(&vec![0_u128].into(), &none, Some(&nulls)).is_none());
        let two = texts(&vec![0_u128, 0].into(), &none, Some(&nulls)).unwrap();
        assert_eq!((two.null_count(), two.value(0)), (1, ""));
    }
}
