//! Blocks that are one run of literals: what does not compress at all. They are a copy, for which no loop needs to be set up.

use crate::lz4::NIBBLE_MAX;

/// A byte of a length that is followed by another one, and what it counts.
const MORE: u8 = u8::MAX;

/// The literals of a block that decodes into `expected` bytes and is nothing else; `None` for all other blocks, also for those
/// that are malformed.
#[inline(always)]
pub(in crate::lz4) fn only_literals(source: &[u8], expected: usize) -> Option<&[u8]> {
    // One comparison, which is false for nearly all others: a single match makes a block shorter. Columns that hardly compress
    // mix blocks that are longer than what they decode into and blocks that are not, which would be hard to predict.
    let lengths = (expected + usize::from(MORE) - NIBBLE_MAX) / usize::from(MORE);
    if source.len() == expected + 1 + lengths { literals_at_end(source, lengths) } else { None }
}

/// The same for a block that has as many bytes as it should, of which this many after the token are the length.
#[inline(never)]
fn literals_at_end(source: &[u8], lengths: usize) -> Option<&[u8]> {
    let (head, literals) = source.split_at(1 + lengths);
    let (&token, lengths) = head.split_first()?;
    let nibble = usize::from(token >> 4);
    let is_only = match lengths.split_last() {
        None => nibble == literals.len(),
        // Compared with what the length would be: there is one way to write each.
        Some((&last, more)) => {
            nibble == NIBBLE_MAX
                && usize::from(last) + more.len() * usize::from(MORE) + NIBBLE_MAX == literals.len()
                && more.iter().all(|&byte| byte == MORE)
        }
    };
    is_only.then_some(literals)
}

#[cfg(test)]
mod tests {
    use super::only_literals;
    use crate::lz4::decode::fault::fault;
    use crate::lz4::{DECODE_VARIANTS, Malformed};
    use crate::variant::Isa;

    fn literals(length: usize) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).cycle().take(length).map(|byte| byte ^ 0x5a)
    }

    /// A block of this many literals, with this nibble of a match length that nobody reads.
    fn block(length: usize, rest: u8) -> Vec<u8> {
        let byte = |number: usize| u8::try_from(number).unwrap();
        let mut block = vec![byte(length.min(15)) << 4 | rest];
        if let Some(mut more) = length.checked_sub(15) {
            while more >= 255 {
                block.push(255);
                more -= 255;
            }
            block.push(byte(more));
        }
        block.extend(literals(length));
        block
    }

    #[test]
    fn blocks_of_literals_only_are_told_and_others_are_not() {
        for length in (0..600).chain([4096, 65_536, 70_000]) {
            let good = block(length, 3 + u8::from(length > 20));
            let expected: Vec<u8> = literals(length).collect();
            assert_eq!(only_literals(&good, length), Some(&expected[..]));
            for other in [length.saturating_sub(1), length + 1, length + 255, 0] {
                assert!(
                    other == length || only_literals(&good, other).is_none(),
                    "{length} {other}"
                );
            }
            // Every other head of as many bytes is another block, or none.
            let head = good.len() - length;
            for at in 0..head {
                for bit in if at == 0 { 4..8 } else { 0..8 } {
                    let mut damaged = good.clone();
                    damaged[at] ^= 1 << bit;
                    assert_eq!(only_literals(&damaged, length), None);
                }
            }
            assert_eq!(only_literals(&good[1..], length), None);
        }
        assert_eq!(only_literals(&[], 0), None);
        assert_eq!(only_literals(&[0], 0), Some(&[][..]));
    }

    #[test]
    fn what_is_told_is_what_the_exact_code_decodes() {
        let scalar = DECODE_VARIANTS.best_at_most(Isa::Scalar);
        for length in [0, 1, 14, 15, 16, 269, 270, 271, 1000] {
            let good = block(length, 3);
            let mut target = vec![0; length];
            scalar.decode(&good, &mut target).unwrap();
            assert_eq!(target, good[good.len() - length..]);
            let mut longer = vec![0; length + 1];
            let refused = scalar.decode(&good, &mut longer).unwrap_err();
            assert_eq!(refused, fault(&good, length + 1));
            assert!(matches!(refused, Malformed::Short { .. }));
        }
    }
}
