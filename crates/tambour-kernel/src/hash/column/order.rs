//! The order in which short strings are hashed: those of one length after another.
//!
//! What a hash function does next depends on the length of its key. In the order of a column that cannot be predicted, and a
//! wrong guess costs more than the hash of a short string; in the order of lengths the guess is wrong once per length.

/// Strings that are put into order at a time; few enough for the first cache.
pub(super) const BATCH: usize = 256;

/// Mean length up to which an order is worth its making.
const ORDERED_MAX: usize = 32;

/// Lengths below are classes of their own; above them, 32 lengths make one.
const EXACT: usize = 64;
/// The class of the longest strings.
const LAST: usize = EXACT + 15;

/// Room for a batch; made once per column.
pub(super) struct Order {
    classes: [u8; BATCH],
    order: [u8; BATCH],
}

/// Strings whose lengths are alike.
#[inline(always)]
fn class(length: usize) -> usize {
    let rough = (EXACT - 2 + length / 32).min(LAST);
    if length < EXACT { length } else { rough }
}

impl Order {
    pub(super) fn new() -> Self {
        Self { classes: [0; BATCH], order: [0; BATCH] }
    }

    /// Puts a batch of strings into order by their lengths: the number of each. `None` when the order of the column is as
    /// good: strings that are few, long, or all of one length; and when an offset is wrong.
    #[inline(always)]
    pub(super) fn of<O: Copy>(
        &mut self,
        offsets: &[O],
        position: impl Fn(O) -> usize,
        bytes: usize,
    ) -> Option<&[u8; BATCH]> {
        if offsets.len() != BATCH + 1 {
            return None;
        }
        let ends = || offsets.array_windows().map(|&[start, end]| (position(start), position(end)));
        if position(offsets[BATCH]).wrapping_sub(position(offsets[0])) > BATCH * ORDERED_MAX {
            return None;
        }
        let length = position(offsets[1]).wrapping_sub(position(offsets[0]));
        if ends().fold(true, |alike, (start, end)| alike & (end.wrapping_sub(start) == length)) {
            return None;
        }
        let wrong = |(start, end)| u8::from(start > end) | u8::from(end > bytes);
        if ends().map(wrong).fold(0, |any, wrong| any | wrong) != 0 {
            return None;
        }
        self.sort(ends().map(|(start, end)| end - start));
        Some(&self.order)
    }

    /// A counting sort.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "there are few classes")]
    fn sort(&mut self, lengths: impl Iterator<Item = usize>) {
        let mut counts = [0_u16; LAST + 1];
        for (place, length) in self.classes.iter_mut().zip(lengths) {
            let class = class(length);
            *place = class as u8;
            counts[class] += 1;
        }
        let mut next = 0;
        for count in &mut counts {
            next += std::mem::replace(count, next);
        }
        for (&class, number) in self.classes.iter().zip(0..=u8::MAX) {
            let place = &mut counts[usize::from(class)];
            self.order[usize::from(*place)] = number;
            *place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BATCH, LAST, Order, class};

    fn order_of(offsets: &[usize], bytes: usize) -> Option<[u8; BATCH]> {
        Order::new().of(offsets, |offset| offset, bytes).copied()
    }

    #[test]
    fn strings_of_a_length_come_together() {
        let ends = |k: usize| 20 * k + k * k % 19;
        let mut offsets: Vec<usize> = (0..=BATCH).map(ends).collect();
        let bytes = offsets[BATCH];
        let order = order_of(&offsets, bytes).unwrap();
        let lengths = order.map(usize::from).map(|number| offsets[number + 1] - offsets[number]);
        assert!(lengths.is_sorted() && lengths[0] < lengths[BATCH - 1]);
        let mut numbers = order;
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..=u8::MAX));
        assert!(order_of(&offsets[1..], bytes).is_none(), "too few");
        assert!(order_of(&offsets, bytes - 1).is_none(), "beyond the bytes");
        offsets.swap(7, 9);
        assert!(order_of(&offsets, bytes).is_none(), "not ascending");
    }

    #[test]
    fn strings_that_are_long_or_alike_stay_as_they_are() {
        let alike: Vec<usize> = (0..=BATCH).map(|k| 8 * k).collect();
        assert!(order_of(&alike, 8 * BATCH).is_none());
        let long: Vec<usize> = (0..=BATCH).map(|k| 100 * k + k % 2).collect();
        assert!(order_of(&long, 101 * BATCH).is_none());
    }

    #[test]
    fn classes_ascend() {
        let classes: Vec<usize> = (0..2000).map(class).collect();
        assert!(classes.is_sorted() && classes[1999] == LAST && class(usize::MAX) == LAST);
    }
}
