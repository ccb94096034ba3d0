//! Keys of a dictionary under construction: each byte string once, numbered in the order in which they came.

use std::hash::{BuildHasher, Hasher, RandomState};

const EMPTY: u32 = u32::MAX;
/// An odd number whose bits are well mixed (2^64 divided by the golden ratio).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number of a key, and the half of its hash that does not say where the slot is: most keys that are others are told apart here.
#[derive(Clone, Copy, Debug)]
struct Slot {
    index: u32,
    tag: u32,
}

const FREE: Slot = Slot { index: EMPTY, tag: 0 };

#[derive(Debug)]
pub(super) struct Interner {
    /// Open addressing, a power of two, at most half full.
    slots: Vec<Slot>,
    hashes: Vec<u64>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Differs from run to run, so that nobody can send keys that all collide; it does not show in what is written.
    seed: u64,
}

impl Interner {
    pub(super) fn new() -> Self {
        let seed = RandomState::new().build_hasher().finish();
        Self {
            slots: vec![FREE; 64],
            hashes: Vec::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            seed,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all keys.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn clear(&mut self) {
        self.slots.fill(FREE);
        self.hashes.clear();
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.key(index))
    }

    fn key(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// The number of a key, which is added if it is new.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
    pub(super) fn insert(&mut self, key: &[u8]) -> u32 {
        let hash = self.hash(key);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let Slot { index, tag } = self.slots[slot];
            if index == EMPTY {
                return self.add(key, hash, slot);
            }
            if tag == (hash >> 32) as u32 && self.key(index as usize) == key {
                return index;
            }
            slot = (slot + 1) & mask;
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "asserted on the next line, and a tag is half of a hash"
    )]
    fn add(&mut self, key: &[u8], hash: u64, slot: usize) -> u32 {
        let index = self.ends.len() as u32;
        assert!(index < EMPTY, "a dictionary is closed long before");
        self.slots[slot] = Slot { index, tag: (hash >> 32) as u32 };
        self.hashes.push(hash);
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        if 2 * self.ends.len() > self.slots.len() {
            self.grow();
        }
        index
    }

    #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
    fn grow(&mut self) {
        let mask = 2 * self.slots.len() - 1;
        let mut slots = vec![FREE; mask + 1];
        for (index, &hash) in (0..).zip(&self.hashes) {
            let mut slot = hash as usize & mask;
            while slots[slot].index != EMPTY {
                slot = (slot + 1) & mask;
            }
            slots[slot] = Slot { index, tag: (hash >> 32) as u32 };
        }
        self.slots = slots;
    }

    fn hash(&self, key: &[u8]) -> u64 {
        let mut state = mix(self.seed ^ key.len() as u64);
        let mut words = key.chunks_exact(8);
        for word in &mut words {
            state = mix(state ^ u64::from_le_bytes(word.try_into().unwrap_or_default()));
        }
        let mut last = [0; 8];
        last[..words.remainder().len()].copy_from_slice(words.remainder());
        mix(state ^ u64::from_le_bytes(last))
    }
}

/// Both halves of a long product.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
fn mix(value: u64) -> u64 {
    let product = u128::from(value ^ FACTOR) * u128::from(FACTOR.rotate_left(32));
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_as_they_come_and_found_again() {
        let mut interner = Interner::new();
        let keys: Vec<String> =
            (0..10_000).map(|n| format!("{:0width$}", n, width = n % 20)).collect();
        let numbers: Vec<u32> = keys.iter().map(|key| interner.insert(key.as_bytes())).collect();
        for (key, number) in keys.iter().zip(&numbers) {
            assert_eq!(interner.insert(key.as_bytes()), *number);
            assert_eq!(interner.key(*number as usize), key.as_bytes());
        }
        assert_eq!(interner.keys().count(), interner.len());
        interner.clear();
        assert_eq!(interner.insert(b"new"), 0);
        assert_eq!((interner.len(), interner.bytes()), (1, 3));
    }
}
