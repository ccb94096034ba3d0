//! From hashes to numbers of partitions, for whole columns.
//!
//! [`modulo`] is the fastest and moves nearly every key when the number of partitions changes; [`jump`] and [`rendezvous`] move
//! only what they must. Jump hashing numbers partitions from 0 without gaps; rendezvous hashing takes any set of nodes.

/// Numbers of partitions: each hash modulo `partitions`, which must not be 0.
///
/// ```
/// let mut partitions = [0; 3];
/// tambour_kernel::hash::partition::modulo(&[7, 10, 23], 10, &mut partitions);
/// assert_eq!(partitions, [7, 0, 3]);
/// ```
pub fn modulo(hashes: &[u64], partitions: u32, target: &mut [u32]) {
    assert_eq!(hashes.len(), target.len(), "a partition for each hash");
    assert!(partitions > 0, "there is at least one partition");
    let count = u64::from(partitions);
    if partitions == 1 {
        return target.fill(0);
    }
    // A product with the reciprocal gives the quotient or one less.
    let reciprocal = u64::MAX / count;
    for (partition, &hash) in target.iter_mut().zip(hashes) {
        let quotient = ((u128::from(hash) * u128::from(reciprocal)) >> 64) as u64;
        let rest = hash - quotient * count;
        let rest = if rest >= count { rest - count } else { rest };
        let rest = if rest >= count { rest - count } else { rest };
        #[expect(clippy::cast_possible_truncation, reason = "less than a u32")]
        let rest = rest as u32;
        *partition = rest;
    }
}

/// Jump consistent hashing (Lamping and Veach, 2014): a partition below `partitions`, which must not be 0.
///
/// ```
/// // SELECT jumpConsistentHash(123456789, 10): an eleventh partition takes keys, but not this one.
/// use tambour_kernel::hash::partition::jump_one;
/// assert_eq!(jump_one(123_456_789, 10), 7);
/// assert_eq!(jump_one(123_456_789, 11), 7);
/// ```
pub fn jump_one(mut hash: u64, partitions: u32) -> u32 {
    assert!(partitions > 0, "there is at least one partition");
    let (mut found, mut next) = (0, 0);
    while next < i64::from(partitions) {
        found = next;
        hash = hash.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        let scale = (1_u64 << 31) as f64 / ((hash >> 33) + 1) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "at most 2^63, and the cast saturates")]
        let jumped = ((found + 1) as f64 * scale) as i64;
        next = jumped;
    }
    u32::try_from(found).unwrap_or(0)
}

/// [`jump_one`] for each hash.
///
/// ```
/// use tambour_kernel::hash::partition::{jump, jump_one};
/// let (hashes, mut partitions) = ([3, 123_456_789], [0; 2]);
/// jump(&hashes, 10, &mut partitions);
/// assert_eq!(partitions, hashes.map(|hash| jump_one(hash, 10)));
/// ```
pub fn jump(hashes: &[u64], partitions: u32, target: &mut [u32]) {
    assert_eq!(hashes.len(), target.len(), "a partition for each hash");
    for (partition, &hash) in target.iter_mut().zip(hashes) {
        *partition = jump_one(hash, partitions);
    }
}

/// Rendezvous hashing: for each hash the index of the node with the highest score; `nodes` are hashes of their names.
///
/// ```
/// use tambour_kernel::hash::{partition::rendezvous, xxh64};
/// let nodes = ["oslo", "rome", "lima"].map(|name| xxh64(name.as_bytes(), 0));
/// let hashes: Vec<u64> = (0..100_u64).map(|key| xxh64(&key.to_le_bytes(), 0)).collect();
/// let (mut three, mut two) = ([0; 100], [0; 100]);
/// rendezvous(&hashes, &nodes, &mut three);
/// rendezvous(&hashes, &nodes[..2], &mut two);
/// // Without Lima, only the keys of Lima move.
/// assert!(three.iter().zip(&two).all(|(before, after)| before == after || *before == 2));
/// ```
pub fn rendezvous(hashes: &[u64], nodes: &[u64], target: &mut [u32]) {
    assert_eq!(hashes.len(), target.len(), "a node for each hash");
    assert!(!nodes.is_empty(), "there is at least one node");
    for (found, &hash) in target.iter_mut().zip(hashes) {
        let mut best = (0, 0);
        for (index, &node) in (0..).zip(nodes) {
            let score = super::xxh64::avalanche(hash ^ node);
            if index == 0 || score > best.0 {
                best = (score, index);
            }
        }
        *found = best.1;
    }
}

#[cfg(test)]
mod tests {
    use super::{jump, jump_one, modulo, rendezvous};
    use crate::hash::xxh64_of;

    fn hashes() -> Vec<u64> {
        let mut hashes: Vec<u64> =
            (0..5000_u64).map(|key| xxh64_of(&key.to_le_bytes(), 0)).collect();
        hashes.extend([0, 1, u64::MAX - 1, u64::MAX, 1 << 63]);
        hashes
    }

    #[test]
    fn modulo_is_the_rest() {
        let hashes = hashes();
        let mut target = vec![0; hashes.len()];
        for partitions in [1, 2, 3, 7, 8, 10, 100, 65_537, u32::MAX - 1, u32::MAX, 1 << 31] {
            modulo(&hashes, partitions, &mut target);
            let rest = |hash| u32::try_from(hash % u64::from(partitions)).unwrap();
            assert!(
                hashes.iter().zip(&target).all(|(&hash, &got)| got == rest(hash)),
                "{partitions}"
            );
        }
    }

    #[test]
    fn jump_moves_only_to_the_new_partition() {
        let hashes = hashes();
        let (mut before, mut after) = (vec![0; hashes.len()], vec![0; hashes.len()]);
        for partitions in 1..50 {
            jump(&hashes, partitions, &mut before);
            jump(&hashes, partitions + 1, &mut after);
            let moved = before.iter().zip(&after).filter(|(before, after)| before != after);
            assert!(moved.clone().all(|(_, &after)| after == partitions));
            let expected = hashes.len() / (partitions as usize + 1);
            assert!((expected / 2..2 * expected + 20).contains(&moved.count()), "{partitions}");
        }
        // Values of the paper's function.
        assert_eq!(
            [jump_one(1, 1), jump_one(42, 57), jump_one(0xdead_10cc, 1), jump_one(256, 1024)],
            [0, 43, 0, 520]
        );
    }

    #[test]
    fn rendezvous_moves_only_from_the_removed_node() {
        let hashes = hashes();
        let nodes: Vec<u64> = (0..9_u64).map(|node| xxh64_of(&node.to_le_bytes(), 7)).collect();
        let (mut before, mut after) = (vec![0; hashes.len()], vec![0; hashes.len()]);
        rendezvous(&hashes, &nodes, &mut before);
        rendezvous(&hashes, &nodes[..8], &mut after);
        assert!(before.iter().zip(&after).all(|(before, after)| before == after || *before == 8));
        assert!(before.iter().filter(|&&node| node == 8).count() > hashes.len() / 20);
    }
}
