//! `SipHash` 2-4 with a zero key and the 128-bit result that ClickHouse takes from its four words of state.
//!
//! This is not the 128-bit variant of the reference implementation, which has another finish.

/// `SipHash` 2-4 with zero key and 128-bit result as ClickHouse computes it (partition ids, long file names).
///
/// ```
/// // SELECT lower(hex(sipHash128('Tambour')))
/// let hash = u128::from_be_bytes(tambour_kernel::hash::sip_hash_128(b"Tambour"));
/// assert_eq!(format!("{hash:032x}"), "2edc29900bf4d2c567e6ea5f43b355f8");
/// ```
pub fn sip_hash_128(source: &[u8]) -> [u8; 16] {
    let [v0, v1, v2, v3] = finished(source);
    super::Hash128 { low: v0 ^ v1, high: v2 ^ v3 }.to_bytes()
}

/// `SipHash` 2-4 with zero key and its usual result of 64 bits.
///
/// ```
/// // SELECT sipHash64('Tambour')
/// assert_eq!(tambour_kernel::hash::sip_hash_64(b"Tambour"), 4_433_590_736_218_438_217);
/// ```
pub fn sip_hash_64(source: &[u8]) -> u64 {
    finished(source).into_iter().fold(0, |hash, word| hash ^ word)
}

/// The state after all rounds.
fn finished(source: &[u8]) -> [u64; 4] {
    let mut state = State([
        0x736f_6d65_7073_6575,
        0x646f_7261_6e64_6f6d,
        0x6c79_6765_6e65_7261,
        0x7465_6462_7974_6573,
    ]);
    let (words, rest) = source.as_chunks::<8>();
    for word in words {
        state.absorb(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    // The length modulo 256 takes the top byte, which `rest` never reaches.
    state.absorb(u64::from_le_bytes(last) | (source.len() as u64) << 56);
    state.0[2] ^= 0xff;
    for _ in 0..4 {
        state.round();
    }
    state.0
}

struct State([u64; 4]);

impl State {
    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    fn round(&mut self) {
        let [mut v0, mut v1, mut v2, mut v3] = self.0;
        v0 = v0.wrapping_add(v1);
        v1 = v1.rotate_left(13) ^ v0;
        v0 = v0.rotate_left(32);
        v2 = v2.wrapping_add(v3);
        v3 = v3.rotate_left(16) ^ v2;
        v0 = v0.wrapping_add(v3);
        v3 = v3.rotate_left(21) ^ v0;
        v2 = v2.wrapping_add(v1);
        v1 = v1.rotate_left(17) ^ v2;
        v2 = v2.rotate_left(32);
        self.0 = [v0, v1, v2, v3];
    }
}
