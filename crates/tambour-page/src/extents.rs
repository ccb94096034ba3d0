//! Free space of a file: by place, so that neighbours join, and by length, so that the best fit is found.

use std::collections::{BTreeMap, BTreeSet};

/// This many lengths are looked at for one that does no harm.
const TRIES: usize = 8;

/// The free runs below the tail. After the tail everything is free.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    by_offset: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
    free_bytes: u64,
    tail: u64,
}

impl Extents {
    /// Free space of a file of which these extents (offset, length) are used, from `start` on. `Err` with the second of two
    /// that overlap, or of one that begins before `start`.
    pub(crate) fn around(start: u64, mut used: Vec<(u64, u64)>) -> Result<Self, u64> {
        used.sort_unstable();
        let mut extents = Self { tail: start, ..Self::default() };
        for (offset, length) in used {
            if offset < extents.tail {
                return Err(offset);
            }
            if offset > extents.tail {
                let gap = (extents.tail, offset - extents.tail);
                extents.insert(gap.0, gap.1);
            }
            extents.tail = offset + length;
        }
        Ok(extents)
    }

    /// Bytes of all free runs.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    /// Where the used part of the file ends.
    pub(crate) fn tail(&self) -> u64 {
        self.tail
    }

    /// Number of free runs.
    pub(crate) fn runs(&self) -> usize {
        self.by_offset.len()
    }

    fn insert(&mut self, offset: u64, length: u64) {
        self.by_offset.insert(offset, length);
        self.by_length.insert((length, offset));
        self.free_bytes += length;
    }

    fn remove(&mut self, offset: u64, length: u64) {
        self.by_offset.remove(&offset);
        self.by_length.remove(&(length, offset));
        self.free_bytes -= length;
    }

    /// The shortest free run that is long enough, if there is one.
    pub(crate) fn allocate(&mut self, length: u64) -> Option<u64> {
        let &(found, offset) = self.by_length.range((length, 0)..).next()?;
        self.take(offset, found, length);
        Some(offset)
    }

    /// A short free run that is long enough, but none that would hold one more piece of `unit` bytes if another one were taken:
    /// out of the place of two images, an image that is a little longer than the half leaves nothing that can be used.
    pub(crate) fn allocate_among(&mut self, length: u64, unit: u64) -> Option<u64> {
        let unit = unit.clamp(1, length);
        let mut wanted = length;
        for _ in 0..TRIES {
            let Some(&(found, offset)) = self.by_length.range((wanted, 0)..).next() else { break };
            let pieces = found / unit;
            let harmless = pieces.saturating_sub(1) * unit + length;
            if pieces < 2 || found >= harmless {
                self.take(offset, found, length);
                return Some(offset);
            }
            wanted = harmless;
        }
        self.allocate(length)
    }

    /// The lowest run that is long enough and ends at or before `end`.
    pub(crate) fn allocate_below(&mut self, length: u64, end: u64) -> Option<u64> {
        let fits = |(_, found): &(&u64, &u64)| **found >= length;
        let (&offset, &found) = self.by_offset.range(..end).find(fits)?;
        if offset + length > end {
            return None;
        }
        self.take(offset, found, length);
        Some(offset)
    }

    /// Takes this very piece of free space; `false`, and nothing, if some of it is not free.
    pub(crate) fn claim(&mut self, offset: u64, length: u64) -> bool {
        let Some((&start, &found)) = self.by_offset.range(..=offset).next_back() else {
            return false;
        };
        let (end, last) = (start + found, offset + length);
        if last > end {
            return false;
        }
        self.remove(start, found);
        if start < offset {
            self.insert(start, offset - start);
        }
        if last < end {
            self.insert(last, end - last);
        }
        true
    }

    fn take(&mut self, offset: u64, found: u64, length: u64) {
        self.remove(offset, found);
        if found > length {
            self.insert(offset + length, found - length);
        }
    }

    /// Takes space after the tail.
    pub(crate) fn append(&mut self, length: u64) -> u64 {
        let offset = self.tail;
        self.tail += length;
        offset
    }

    /// Gives space back. A run that touches the tail becomes part of what is after it.
    pub(crate) fn free(&mut self, offset: u64, length: u64) {
        if length == 0 {
            return;
        }
        let (mut start, mut end) = (offset, offset + length);
        if let Some((&before, &bytes)) = self.by_offset.range(..offset).next_back()
            && before + bytes == offset
        {
            self.remove(before, bytes);
            start = before;
        }
        if let Some(&bytes) = self.by_offset.get(&end) {
            self.remove(end, bytes);
            end += bytes;
        }
        if end == self.tail {
            self.tail = start;
        } else {
            self.insert(start, end - start);
        }
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "numbers of tests are small")]
mod tests {
    use super::Extents;

    /// Against a plain array of bytes that are free or not.
    #[test]
    fn agrees_with_an_array() {
        let mut extents = Extents::around(8, vec![]).unwrap();
        let mut used = vec![true; 8];
        let mut held: Vec<(u64, u64)> = Vec::new();
        let mut seed = 3_u64;
        let mut random = |end: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (seed >> 33) % end
        };
        for _ in 0..4000 {
            if random(5) < 3 || held.is_empty() {
                let length = random(9) + 1;
                let offset = extents.allocate(length).unwrap_or_else(|| extents.append(length));
                for at in offset..offset + length {
                    let at = at as usize;
                    if used.len() <= at {
                        used.resize(at + 1, false);
                    }
                    assert!(!used[at], "handed out twice");
                    used[at] = true;
                }
                held.push((offset, length));
            } else {
                let (offset, length) = held.swap_remove(random(held.len() as u64) as usize);
                used[offset as usize..(offset + length) as usize].fill(false);
                extents.free(offset, length);
            }
            let tail = used.iter().rposition(|used| *used).map_or(0, |last| last + 1);
            assert_eq!(extents.tail(), tail.max(8) as u64);
            let free = used[..tail].iter().filter(|used| !**used).count();
            assert_eq!(extents.free_bytes(), free as u64);
        }
        let again = Extents::around(8, held.clone()).unwrap();
        assert_eq!(again.free_bytes(), extents.free_bytes());
        assert_eq!(again.by_offset, extents.by_offset);
        held.push(held[0]);
        assert!(Extents::around(8, held).is_err());
    }

    #[test]
    fn the_place_of_two_is_kept_for_two() {
        // Free: 0..20, 30..41, 50..72.
        let used = vec![(20, 10), (41, 9), (72, 1)];
        let mut extents = Extents::around(0, used.clone()).unwrap();
        assert_eq!(extents.allocate_among(12, 10), Some(50), "of 20, 12 leave less than a piece");
        assert_eq!(extents.allocate_among(10, 10), Some(62));
        assert_eq!(extents.allocate_among(12, 10), Some(0), "there is nothing else");
        assert_eq!(extents.allocate_among(12, 10), None);
        let mut extents = Extents::around(0, used).unwrap();
        assert_eq!(extents.allocate_among(12, 12), Some(0), "one piece, whatever is taken");
        assert_eq!(extents.allocate_among(12, 1), Some(50), "the best fit");
    }

    #[test]
    fn the_best_fit_is_taken() {
        let mut extents = Extents::around(0, vec![(10, 1), (14, 1), (22, 1)]).unwrap();
        assert_eq!(extents.allocate(3), Some(11));
        assert_eq!(extents.allocate(3), Some(15));
        assert_eq!(extents.allocate_below(4, 9), Some(0));
        assert_eq!(extents.allocate(11), None);
    }
}
