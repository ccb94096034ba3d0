//! Which parts of a partition are merged next, if nobody asks for it.
//!
//! Only neighbours are merged, so that rows keep the order in which they came. A range of them is worth it if it is not mostly its
//! largest part: its sum must be `ratio` times that. The ratio is 5 for parts that have just come, so that each row is written
//! about once for every fivefold growth of its part; it falls to 1 the longer the parts have waited, sooner for small ones, and the
//! more parts there are. Among the ranges that are worth it, the one with the fewest bytes for each part that goes is merged.

use std::ops::Range;
use std::time::Duration;

/// What a merge may be like.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Bytes of the parts of one merge at most, together.
    pub bytes_max: u64,
    /// Parts of one merge at most.
    pub parts_max: usize,
}

impl Default for Rule {
    /// 150 GiB, 100 parts: what a server has.
    fn default() -> Self {
        Self { bytes_max: 150 << 30, parts_max: 100 }
    }
}

/// A part that may be merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Bytes on disk.
    pub bytes: u64,
    /// How long it has been there.
    pub age: Duration,
}

/// The ratio for parts that have just come.
const RATIO_MAX: f64 = 5.0;
/// With this many parts in a partition, any merge is better than none.
const CROWD: usize = 100;
/// How long small parts wait until two of them are merged whatever their sizes, and what is small.
const WAIT_SMALL: f64 = 10.0;
const SMALL_BYTES: f64 = 1_048_576.0;
/// How the wait grows with the bytes: 30 minutes for a gigabyte, 16 hours for a hundred.
const WAIT_POWER: f64 = 0.75;
/// What a part costs besides its bytes: files to open and to remove.
const PART_BYTES: u64 = 1 << 20;

/// The neighbours to merge among the parts of one partition, which are in the order of their blocks.
pub(super) fn choose(parts: &[Candidate], rule: &Rule) -> Option<Range<usize>> {
    let mut best: Option<(f64, Range<usize>)> = None;
    for start in 0..parts.len() {
        let (mut bytes, mut largest, mut age) = (0_u64, 0, Duration::MAX);
        let last = parts.len().min(start.saturating_add(rule.parts_max));
        for end in start + 1..=last {
            let Some(part) = parts.get(end - 1) else { break };
            bytes = bytes.saturating_add(part.bytes);
            if bytes > rule.bytes_max {
                break;
            }
            largest = largest.max(part.bytes);
            age = age.min(part.age);
            let count = end - start;
            if count < 2 || (bytes as f64) < ratio(bytes, age, parts.len()) * largest as f64 {
                continue;
            }
            let cost = (bytes + PART_BYTES * count as u64) as f64 / (count - 1) as f64;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, start..end));
            }
        }
    }
    best.map(|(_, range)| range)
}

/// How many times its largest part a range must have.
fn ratio(bytes: u64, age: Duration, parts: usize) -> f64 {
    let waited = age.as_secs_f64() / wait_seconds(bytes);
    let crowded = parts as f64 / CROWD as f64;
    RATIO_MAX - (RATIO_MAX - 1.0) * waited.max(crowded).min(1.0)
}

/// After how many seconds parts are merged whatever their sizes.
fn wait_seconds(bytes: u64) -> f64 {
    WAIT_SMALL * (bytes as f64 / SMALL_BYTES).max(1.0).powf(WAIT_POWER)
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Rule, choose};
    use std::time::Duration;

    const MIB: u64 = 1 << 20;

    fn parts(sizes: &[u64], age: u64) -> Vec<Candidate> {
        let age = Duration::from_secs(age);
        sizes.iter().map(|bytes| Candidate { bytes: *bytes, age }).collect()
    }

    #[test]
    fn a_few_new_parts_wait_for_others_like_them() {
        let rule = Rule::default();
        assert_eq!(choose(&[], &rule), None);
        assert_eq!(choose(&parts(&[10], 1_000_000), &rule), None);
        assert_eq!(choose(&parts(&[MIB; 4], 0), &rule), None);
        assert_eq!(choose(&parts(&[MIB; 6], 0), &rule), Some(0..6));
        // Large ones are left alone by small ones.
        let mixed = [900 * MIB, 800 * MIB, 10, 10, 10, 10, 10, 10];
        assert_eq!(choose(&parts(&mixed, 0), &rule), Some(2..8));
    }

    #[test]
    fn what_has_waited_is_merged_sooner_the_smaller_it_is() {
        let rule = Rule::default();
        assert_eq!(choose(&parts(&[10, 10], 5), &rule), None);
        assert_eq!(choose(&parts(&[10, 10], 8), &rule), Some(0..2));
        assert_eq!(choose(&parts(&[500 * MIB, 10], 60), &rule), None);
        assert_eq!(choose(&parts(&[500 * MIB, 10], 1_200), &rule), Some(0..2));
        assert_eq!(choose(&parts(&[50 << 30, 50 << 30], 3_600), &rule), None);
        assert_eq!(choose(&parts(&[50 << 30, 50 << 30], 16 * 3_600), &rule), Some(0..2));
    }

    #[test]
    fn merges_have_bounds() {
        let rule = Rule { bytes_max: 10 * MIB, parts_max: 4 };
        assert_eq!(choose(&parts(&[MIB; 20], 1_000), &rule).unwrap().len(), 4);
        assert_eq!(choose(&parts(&[6 * MIB, 5 * MIB, 6 * MIB], 1 << 30), &rule), None);
        assert_eq!(choose(&parts(&[6 * MIB, 5 * MIB, 5 * MIB], 1 << 30), &rule), Some(1..3));
    }

    #[test]
    fn many_parts_become_few_and_each_row_is_written_a_few_times() {
        let rule = Rule::default();
        let (mut sizes, mut written, mut most) = (Vec::new(), 0, 0);
        for _ in 0..2_000 {
            sizes.push(MIB);
            while let Some(range) = choose(&parts(&sizes, 0), &rule) {
                let sum: u64 = sizes[range.clone()].iter().sum();
                written += sum;
                sizes.splice(range, [sum]);
            }
            most = most.max(sizes.len());
        }
        assert_eq!(sizes.iter().sum::<u64>(), 2_000 * MIB);
        assert!(most <= 25, "{most} parts");
        assert!(written <= 2_000 * MIB * 6, "each was written {} times", written / 2_000 / MIB);
        // In the end time makes one of them.
        while let Some(range) = choose(&parts(&sizes, 24 * 3_600), &rule) {
            let sum = sizes[range.clone()].iter().sum();
            sizes.splice(range, [sum]);
        }
        assert_eq!(sizes, [2_000 * MIB]);
    }
}
