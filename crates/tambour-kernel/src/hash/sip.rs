//! `SipHash` 2-4, and the 128-bit result that ClickHouse takes from its four words of state.
//!
//! The 128-bit variant of the reference implementation has another finish: [`sip_hash_128_reference`].

/// `SipHash` 2-4 with zero key and 128-bit result as ClickHouse computes it (partition ids, long file names).
///
/// ```
/// // SELECT lower(hex(sipHash128('Tambour')))
/// let hash = u128::from_be_bytes(tambour_kernel::hash::sip_hash_128(b"Tambour"));
/// assert_eq!(format!("{hash:032x}"), "2edc29900bf4d2c567e6ea5f43b355f8");
/// ```
pub fn sip_hash_128(source: &[u8]) -> [u8; 16] {
    sip_hash_128_keyed(&NO_KEY, source)
}

/// The same with a key.
///
/// ```
/// // SELECT hex(sipHash128Keyed((1::UInt64, 2::UInt64), 'abc'))
/// let hash = u128::from_be_bytes(tambour_kernel::hash::sip_hash_128_keyed(&[1, 2], b"abc"));
/// assert_eq!(format!("{hash:032X}"), "FCE9F37AABA9E4FF61D88252F079BE2E");
/// ```
pub fn sip_hash_128_keyed(key: &[u64; 2], source: &[u8]) -> [u8; 16] {
    let [v0, v1, v2, v3] = State::of(key).finished(source, 0xff).0;
    super::Hash128 { low: v0 ^ v1, high: v2 ^ v3 }.to_bytes()
}

/// `SipHash` 2-4 with zero key and its usual result of 64 bits.
///
/// ```
/// // SELECT sipHash64('Tambour')
/// assert_eq!(tambour_kernel::hash::sip_hash_64(b"Tambour"), 4_433_590_736_218_438_217);
/// ```
pub fn sip_hash_64(source: &[u8]) -> u64 {
    sip_hash_64_keyed(&NO_KEY, source)
}

/// The same with a key.
///
/// ```
/// // SELECT sipHash64Keyed((506097522914230528::UInt64, 1084818905618843912::UInt64), 'abc')
/// let key = [506_097_522_914_230_528, 1_084_818_905_618_843_912];
/// assert_eq!(tambour_kernel::hash::sip_hash_64_keyed(&key, b"abc"), 6_754_548_778_392_356_773);
/// ```
pub fn sip_hash_64_keyed(key: &[u64; 2], source: &[u8]) -> u64 {
    State::of(key).finished(source, 0xff).word()
}

/// `SipHash` 2-4 with a key and the 128-bit result of its reference implementation.
///
/// ```
/// // SELECT hex(sipHash128Reference('abc'))
/// let hash = u128::from_be_bytes(tambour_kernel::hash::sip_hash_128_reference(&[0, 0], b"abc"));
/// assert_eq!(format!("{hash:032X}"), "6C95DEC302962FA8CA5E69C1D5D15478");
/// ```
pub fn sip_hash_128_reference(key: &[u64; 2], source: &[u8]) -> [u8; 16] {
    let mut state = State::of(key);
    state.0[1] ^= 0xee;
    let mut state = state.finished(source, 0xee);
    let low = state.word();
    state.0[1] ^= 0xdd;
    (0..4).for_each(|_| state.round());
    super::Hash128 { low, high: state.word() }.to_bytes()
}

const NO_KEY: [u64; 2] = [0, 0];

struct State([u64; 4]);

impl State {
    fn of(key: &[u64; 2]) -> Self {
        Self([
            0x736f_6d65_7073_6575 ^ key[0],
            0x646f_7261_6e64_6f6d ^ key[1],
            0x6c79_6765_6e65_7261 ^ key[0],
            0x7465_6462_7974_6573 ^ key[1],
        ])
    }

    /// The state after all rounds; `mark` is what sets results of one length apart from those of another.
    fn finished(mut self, source: &[u8], mark: u64) -> Self {
        let (words, rest) = source.as_chunks::<8>();
        for word in words {
            self.absorb(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length modulo 256 takes the top byte, which `rest` never reaches.
        self.absorb(u64::from_le_bytes(last) | (source.len() as u64) << 56);
        self.0[2] ^= mark;
        (0..4).for_each(|_| self.round());
        self
    }

    fn word(&self) -> u64 {
        self.0.iter().fold(0, |hash, word| hash ^ word)
    }

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
