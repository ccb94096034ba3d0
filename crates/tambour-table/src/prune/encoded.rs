//! The entries of a part's keys as rows that compare like bytes, and what a pruner asks of them.

use super::{End, Pruner};
use arrow_row::Rows;
use std::ops::{Bound, Range};

/// Entries of the keys, encoded; answers what a pruner wants to know of them.
#[derive(Debug)]
pub(crate) struct Encoded<'a> {
    pub(super) pruner: &'a Pruner,
    /// Per view the rows for low ends, and those for high ends if they differ.
    pub(super) rows: Vec<(Rows, Option<Rows>)>,
}

impl Encoded<'_> {
    /// May a row match whose keys lie in these ranges, independently of each other? Keys without a range are open.
    pub(crate) fn ranges(&self, ends: &[(End, End)]) -> bool {
        self.pruner.test.may_match(self, ends)
    }

    /// May a row match whose keys, compared as tuples, lie between two entries? Without `right` there is no upper end.
    pub(super) fn granule(&self, left: usize, right: Option<usize>) -> bool {
        let mut ends = vec![(End::Open, End::Open); self.pruner.used];
        let Some(first) = ends.first_mut() else { return true };
        *first = (End::At(left), right.map_or(End::Open, End::At));
        // Most granules fail here already.
        self.ranges(&ends) && self.tuples(0, Some(left), right, &mut ends)
    }

    /// The granules of a part that may hold a match: granule i lies between entries i and i + 1.
    pub(crate) fn granules(&self, count: usize, entries: usize) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for granule in 0..count {
            let right = (granule + 1 < entries).then_some(granule + 1);
            if self.granule(granule, right) {
                match found.last_mut() {
                    Some(last) if last.end == granule => last.end = granule + 1,
                    _ => found.push(granule..granule + 1),
                }
            }
        }
        found
    }

    /// The first entry that is smaller than the one before it, if any: then the entries are not those of a sorted part.
    pub(crate) fn disorder(&self, entries: usize) -> Option<usize> {
        let views: Vec<usize> =
            (0..self.pruner.used).map_while(|key| self.pruner.base_view(key)).collect();
        (1..entries).find(|&entry| {
            let compared = views.iter().map(|&view| {
                let rows = &self.rows[view].0;
                rows.row(entry - 1).data().cmp(rows.row(entry).data())
            });
            compared.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then).is_gt()
        })
    }

    /// Tuples from key `depth` on, between `left` and `right` (either may be missing), as boxes: the inside of the range of
    /// this key, where the further keys are free, and its two edges, where they are not.
    fn tuples(
        &self,
        depth: usize,
        left: Option<usize>,
        right: Option<usize>,
        ends: &mut [(End, End)],
    ) -> bool {
        if depth == ends.len() || (left.is_none() && right.is_none()) {
            ends[depth..].fill((End::Open, End::Open));
            return self.ranges(ends);
        }
        if depth + 1 == ends.len() {
            ends[depth] = (left.map_or(End::Open, End::At), right.map_or(End::Open, End::At));
            return self.ranges(ends);
        }
        if let (Some(low), Some(high)) = (left, right)
            && self.is_equal(depth, low, high)
        {
            ends[depth] = (End::At(low), End::At(low));
            return self.tuples(depth + 1, left, right, ends);
        }
        ends[depth] = (left.map_or(End::Open, End::Past), right.map_or(End::Open, End::Past));
        ends[depth + 1..].fill((End::Open, End::Open));
        if self.ranges(ends) {
            return true;
        }
        let edge = |entry: usize, left, right, ends: &mut [(End, End)]| {
            ends[depth] = (End::At(entry), End::At(entry));
            self.tuples(depth + 1, left, right, ends)
        };
        left.is_some_and(|entry| edge(entry, left, None, ends))
            || right.is_some_and(|entry| edge(entry, None, right, ends))
    }

    fn is_equal(&self, key: usize, left: usize, right: usize) -> bool {
        self.pruner.base_view(key).is_some_and(|view| {
            let rows = &self.rows[view].0;
            rows.row(left).data() == rows.row(right).data()
        })
    }

    /// The range of a view, given those of the keys.
    pub(super) fn range(&self, view: usize, ends: &[(End, End)]) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let key = self.pruner.views[view].key;
        let (low, high) = ends.get(key).copied().unwrap_or((End::Open, End::Open));
        let is_function = self.pruner.views[view].function.is_some();
        let (for_low, for_high) = &self.rows[view];
        // What lies strictly above a key may have the same image.
        let bound = |end| match end {
            End::Open => Bound::Unbounded,
            End::Past(entry) if !is_function => Bound::Excluded(entry),
            End::At(entry) | End::Past(entry) => Bound::Included(entry),
        };
        let for_high = for_high.as_ref().unwrap_or(for_low);
        let (low, high) = (bound(low), bound(high));
        (low.map(|it| for_low.row(it).data()), high.map(|it| for_high.row(it).data()))
    }
}
