//! Counts different texts in little memory: Wegman's adaptive sampling.

use std::collections::HashSet;
use tambour_kernel::hash::xxh3_64;

/// Hashes that are kept at most; below it the count is exact, above it wrong by some 2 %.
const KEPT_MAX: usize = 4096;

/// Keeps the hashes that end in as many zeros as it takes for few to be left.
#[derive(Debug, Default)]
pub(super) struct Sketch {
    kept: HashSet<u64>,
    zeros: u32,
}

impl Sketch {
    pub(super) fn add(&mut self, text: &[u8]) {
        let hash = xxh3_64(text, 0);
        if hash.trailing_zeros() < self.zeros || !self.kept.insert(hash) {
            return;
        }
        while self.kept.len() > KEPT_MAX {
            self.zeros += 1;
            self.kept.retain(|hash| hash.trailing_zeros() >= self.zeros);
        }
    }

    /// About how many there were.
    pub(super) fn different(&self) -> usize {
        self.kept.len() << self.zeros
    }
}

#[cfg(test)]
mod tests {
    use super::Sketch;

    #[test]
    fn few_are_exact_and_many_are_near() {
        for (different, room) in [(0, 0), (1, 0), (4096, 0), (50_000, 2_500), (300_000, 15_000)] {
            let mut sketch = Sketch::default();
            for k in (0..different).chain(0..different / 2) {
                sketch.add(format!("text {k}").as_bytes());
            }
            assert!(sketch.different().abs_diff(different) <= room, "{different}");
        }
    }
}
