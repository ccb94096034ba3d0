//! What every loop over stripes starts from: lengths, the lanes before a key, pieces of the secret.

use super::super::xxh64;
use super::SECRET_BYTES;

/// Bytes of a stripe.
pub(super) const STRIPE: usize = 64;

/// Stripes of a block: each takes the secret eight bytes on.
pub(super) const BLOCK_STRIPES: usize = (SECRET_BYTES - STRIPE) / 8;

pub(super) const P32_1: u64 = 0x9e37_79b1;
const P32_2: u64 = 0x85eb_ca77;
const P32_3: u64 = 0xc2b2_ae3d;

/// The lanes before a key.
pub(super) const START: [u64; 8] =
    [P32_3, xxh64::P1, xxh64::P2, xxh64::P3, xxh64::P4, P32_2, xxh64::P5, P32_1];

/// The eight lanes after all of a key. Calling it needs the instruction set of its variant.
pub type Long = unsafe fn(key: &[u8], secret: &[u8; SECRET_BYTES]) -> [u64; 8];

/// 64 bytes of the secret.
#[inline(always)]
pub(super) fn piece(secret: &[u8; SECRET_BYTES], at: usize) -> &[u8; STRIPE] {
    let Some(piece) = secret[at..].first_chunk() else { unreachable!("positions are constants") };
    piece
}
