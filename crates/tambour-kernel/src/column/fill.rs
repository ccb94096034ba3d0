//! Blocks of one value: how to see that a payload says nothing else, and how to write them.

use super::{Width, Word, by_width};

/// Bytes that are written at once: a whole number of values of every width.
const PIECE: usize = 64;

/// Fills `target`, a multiple of the width, with one value.
///
/// ```
/// use tambour_kernel::column::{Width, fill};
/// let mut target = [0; 6];
/// fill(Width::W2, 0x0201, &mut target);
/// assert_eq!(target, [1, 2, 1, 2, 1, 2]);
/// ```
pub fn fill(width: Width, value: u64, target: &mut [u8]) {
    assert!(target.len().is_multiple_of(width.bytes()));
    let bytes = value.to_le_bytes();
    let bytes = &bytes[..width.bytes()];
    if bytes.iter().all(|byte| *byte == bytes[0]) {
        target.fill(bytes[0]);
    } else {
        by_width!(width, fill_words(value, target));
    }
}

fn fill_words<W: Word>(value: u64, target: &mut [u8]) {
    let mut piece = [0; PIECE];
    for place in piece.chunks_exact_mut(W::BYTES) {
        W::narrow(value).write(place);
    }
    let (pieces, rest) = target.as_chunks_mut::<PIECE>();
    for place in pieces {
        *place = piece;
    }
    rest.copy_from_slice(&piece[..rest.len()]);
}

/// Whether all bytes are zero; says so at the first piece in which one is not.
///
/// ```
/// assert!(tambour_kernel::column::is_zero(&[0; 100]));
/// assert!(!tambour_kernel::column::is_zero(&[0, 1]));
/// ```
pub fn is_zero(bytes: &[u8]) -> bool {
    let (pieces, rest) = bytes.as_chunks::<PIECE>();
    let is_clear = |piece: &[u8]| piece.iter().fold(0, |all, byte| all | byte) == 0;
    pieces.iter().all(|piece| is_clear(piece)) && is_clear(rest)
}

#[cfg(test)]
mod tests {
    use super::{Width, fill, is_zero};

    #[test]
    fn every_place_gets_the_value() {
        for &width in Width::ALL {
            for value in [0_u64, 0x0102_0304_0506_0708, u64::MAX, 0x0101_0101_0101_0101] {
                for count in (0..40).chain([1000]) {
                    let mut target = vec![0xaa; count * width.bytes()];
                    fill(width, value, &mut target);
                    let expected = value.to_le_bytes()[..width.bytes()].repeat(count);
                    assert_eq!(target, expected, "{width:?} {count}");
                }
            }
        }
    }

    #[test]
    fn one_byte_anywhere_is_seen() {
        for length in [0, 1, 63, 64, 65, 200] {
            let mut bytes = vec![0; length];
            assert!(is_zero(&bytes));
            for place in 0..length {
                bytes[place] = 1 << (place % 8);
                assert!(!is_zero(&bytes), "{place} of {length}");
                bytes[place] = 0;
            }
        }
    }
}
