//! Bytes that must outlive damage: cut into pieces with sums, and a parity piece for every sixteen, from which any one of
//! them can be made again.
//!
//! Dictionaries and indexes are guarded so: without them, whole segments would be unreadable because of one bit.

use super::error::Damage;
use tambour_kernel::hash::crc32c;

/// Pieces that share a parity.
const STRIPE: usize = 16;
/// Shortest and longest piece.
const PIECE_BYTES: (usize, usize) = (64, 4096);

/// Length of a piece, for this many bytes.
fn piece_bytes(length: usize) -> usize {
    length.div_ceil(STRIPE).next_multiple_of(64).clamp(PIECE_BYTES.0, PIECE_BYTES.1)
}

/// Bytes that guard this many: parities, and the sums of all pieces and parities.
pub(super) fn guard_bytes(length: usize) -> usize {
    let piece = piece_bytes(length);
    let pieces = length.div_ceil(piece);
    let stripes = pieces.div_ceil(STRIPE);
    stripes * piece + 4 * (pieces + stripes)
}

/// Appends what guards `payload`.
pub(super) fn write(payload: &[u8], target: &mut Vec<u8>) {
    let piece = piece_bytes(payload.len());
    let mut sums: Vec<u32> = payload.chunks(piece).map(|piece| crc32c(0, piece)).collect();
    for stripe in payload.chunks(piece * STRIPE) {
        let start = target.len();
        target.resize(start + piece, 0);
        for part in stripe.chunks(piece) {
            xor(&mut target[start..], part);
        }
        sums.push(crc32c(0, &target[start..]));
    }
    for sum in sums {
        target.extend_from_slice(&sum.to_le_bytes());
    }
}

fn xor(target: &mut [u8], source: &[u8]) {
    for (byte, other) in target.iter_mut().zip(source) {
        *byte ^= other;
    }
}

/// The sums after the parities.
fn sums(guard: &[u8], parity_bytes: usize) -> Vec<u32> {
    let bytes = guard.get(parity_bytes..).unwrap_or_default();
    bytes.as_chunks::<4>().0.iter().map(|sum| u32::from_le_bytes(*sum)).collect()
}

/// Brings `payload`, whose sum should be `sum`, back to what was written; whether it had to.
///
/// `guard` are the [`guard_bytes`] that [`write`] made.
pub(super) fn repair(payload: &mut [u8], guard: &[u8], sum: u32) -> Result<bool, Damage> {
    let got = crc32c(0, payload);
    if got == sum {
        return Ok(false);
    }
    let piece = piece_bytes(payload.len());
    let pieces = payload.len().div_ceil(piece);
    let parity_bytes = pieces.div_ceil(STRIPE) * piece;
    let sums = sums(guard, parity_bytes);
    for (stripe, parity) in guard.get(..parity_bytes).unwrap_or_default().chunks(piece).enumerate()
    {
        let start = stripe * STRIPE * piece;
        let end = payload.len().min(start + STRIPE * piece);
        let parts = &mut payload[start..end];
        let is_bad = |(k, part): &(usize, &[u8])| {
            sums.get(stripe * STRIPE + k).is_none_or(|sum| crc32c(0, part) != *sum)
        };
        let bad: Vec<usize> = parts.chunks(piece).enumerate().filter(is_bad).map(|b| b.0).collect();
        if let [bad] = bad[..] {
            let mut made = parity.to_vec();
            for (_, part) in parts.chunks(piece).enumerate().filter(|(k, _)| *k != bad) {
                xor(&mut made, part);
            }
            let end = parts.len().min((bad + 1) * piece);
            let part = &mut parts[bad * piece..end];
            part.copy_from_slice(&made[..part.len()]);
        }
    }
    let mended = crc32c(0, payload);
    if mended == sum { Ok(true) } else { Err(Damage::sum(0, "a guarded piece", sum, got)) }
}

/// Whether parities and sums are those of `payload`, which is whole.
pub(super) fn check(payload: &[u8], guard: &[u8]) -> Result<(), Damage> {
    let mut expected = Vec::with_capacity(guard.len());
    write(payload, &mut expected);
    match guard.iter().zip(&expected).position(|(a, b)| a != b) {
        None if guard.len() == expected.len() => Ok(()),
        None => Err(Damage::new(0, "a guard", expected.len(), guard.len())),
        Some(at) => Err(Damage::new(
            payload.len() + at,
            "a byte of the guard",
            format!("{:02x}", expected[at]),
            format!("{:02x}", guard[at]),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{check, guard_bytes, repair, write};
    use tambour_kernel::hash::crc32c;

    #[test]
    fn any_one_piece_of_a_stripe_comes_back() {
        for length in [0, 1, 63, 64, 65, 1000, 10_000, 70_000] {
            let payload: Vec<u8> =
                (0..length).map(|k: usize| (k * 7 + k / 251).to_le_bytes()[0]).collect();
            let sum = crc32c(0, &payload);
            let mut guard = Vec::new();
            write(&payload, &mut guard);
            assert_eq!(guard.len(), guard_bytes(length));
            check(&payload, &guard).unwrap();
            for at in (0..length).step_by(37) {
                let mut damaged = payload.clone();
                let end = length.min(at + 40);
                // At most two neighbours of the smallest size; one in all larger ones, most of the time.
                damaged[at] ^= 0x10;
                assert!(repair(&mut damaged, &guard, sum).unwrap());
                assert_eq!(damaged, payload);
                if end - at > 1 && length > 5000 && at / 640 == (end - 1) / 640 && length == 10_000
                {
                    damaged[at..end].fill(0xee);
                    repair(&mut damaged, &guard, sum).unwrap();
                    assert_eq!(damaged, payload);
                }
            }
            for at in 0..guard.len().min(300) {
                let mut damaged = guard.clone();
                damaged[at] ^= 1;
                assert!(check(&payload, &damaged).is_err());
                assert!(!repair(&mut payload.clone(), &damaged, sum).unwrap());
            }
            if length > 200 {
                let mut damaged = payload.clone();
                damaged[0] ^= 1;
                damaged[length / 2] ^= 1;
                damaged[length - 1] ^= 1;
                assert!(length > 64 * 64 || repair(&mut damaged, &guard, sum).is_err());
            }
        }
    }
}
