//! CityHash128, plain and seeded, and CityHash64, of version 1.0.2. Later versions of the function give other results.
//!
//! The names `murmur` and `weak` are those of the published algorithm. All arithmetic is modulo 2^64.

use super::Hash128;

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;
const K_MUL: u64 = 0x9ddf_ea08_eb38_2d69;

/// CityHash128 1.0.2.
///
/// ```
/// let hash = tambour_kernel::hash::city_hash_128(b"");
/// assert_eq!(hash.to_string(), "2b9ac064fc9df03d291ee592c340b53c");
/// ```
pub fn city_hash_128(source: &[u8]) -> Hash128 {
    let n = source.len();
    if let Some((head, rest)) = source.split_first_chunk::<16>() {
        let seed = Hash128::from_bytes(*head);
        city_hash_128_seeded(rest, Hash128 { low: seed.low ^ K3, high: seed.high })
    } else if n >= 8 {
        let low = word(source, 0) ^ (n as u64).wrapping_mul(K0);
        city_hash_128_seeded(&[], Hash128 { low, high: word(source, n - 8) ^ K1 })
    } else {
        city_hash_128_seeded(source, Hash128 { low: K0, high: K1 })
    }
}

/// CityHash128 1.0.2 with a seed.
pub fn city_hash_128_seeded(source: &[u8], seed: Hash128) -> Hash128 {
    if source.len() < 128 { murmur(source, seed) } else { long(source, seed) }
}

/// CityHash64 1.0.2.
///
/// ```
/// // SELECT cityHash64('Tambour')
/// assert_eq!(tambour_kernel::hash::city_hash_64(b"Tambour"), 16_303_868_254_041_793_492);
/// ```
pub fn city_hash_64(source: &[u8]) -> u64 {
    match source.len() {
        0..=16 => short(source),
        17..=32 => medium(source),
        33..=64 => double(source),
        _ => stream(source),
    }
}

/// What joins two hashes of 64 bits to one, in CityHash and in ClickHouse's hashes of several values.
///
/// ```
/// use tambour_kernel::hash::{city_hash_64, city_hash_join};
/// // SELECT cityHash64('a', 'b')
/// let joined = city_hash_join(city_hash_64(b"a"), city_hash_64(b"b"));
/// assert_eq!(joined, 7_468_329_322_676_821_011);
/// ```
pub fn city_hash_join(first: u64, second: u64) -> u64 {
    join(first, second)
}

/// Hash of 17 to 32 bytes.
#[expect(clippy::many_single_char_names, reason = "as everywhere where this hash is described")]
fn medium(source: &[u8]) -> u64 {
    let n = source.len();
    let a = word(source, 0).wrapping_mul(K1);
    let b = word(source, 8);
    let c = word(source, n - 8).wrapping_mul(K2);
    let d = word(source, n - 16).wrapping_mul(K0);
    let u = a.wrapping_sub(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let v = a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(n as u64);
    join(u, v)
}

/// Folds 32 bytes, from a start that depends on the length, into a pair.
fn fold(words: [u64; 4], start: u64, last: u64) -> (u64, u64) {
    let mut a = start;
    let b = a.wrapping_add(last).rotate_right(52);
    let mut c = a.rotate_right(37);
    a = a.wrapping_add(words[1]);
    c = c.wrapping_add(a.rotate_right(7));
    a = a.wrapping_add(words[2]);
    let low = a.wrapping_add(last);
    (low, b.wrapping_add(a.rotate_right(31)).wrapping_add(c))
}

/// Hash of 33 to 64 bytes.
fn double(source: &[u8]) -> u64 {
    let n = source.len();
    let head: [u64; 4] = std::array::from_fn(|k| word(source, 8 * k));
    let tail: [u64; 4] = std::array::from_fn(|k| word(source, n - 32 + 8 * k));
    let start = (n as u64).wrapping_add(tail[2]).wrapping_mul(K0).wrapping_add(head[0]);
    let v = fold(head, start, head[3]);
    let w = fold(tail, head[2].wrapping_add(tail[0]), tail[3]);
    let rest = v.0.wrapping_add(w.1).wrapping_mul(K2);
    let r = mix(rest.wrapping_add(w.0.wrapping_add(v.1).wrapping_mul(K0)));
    mix(r.wrapping_mul(K0).wrapping_add(v.1)).wrapping_mul(K2)
}

/// Hash of more than 64 bytes: the end first, then 64 at a time from the start.
#[expect(clippy::many_single_char_names, reason = "as everywhere where this hash is described")]
fn stream(source: &[u8]) -> u64 {
    let n = source.len();
    let piece = |at: usize| std::array::from_fn(|k| word(source, at + 8 * k));
    let mut x = word(source, 0);
    let mut y = word(source, n - 16) ^ K1;
    let mut z = word(source, n - 56) ^ K0;
    let v = weak(piece(n - 64), n as u64, y);
    let w = weak(piece(n - 32), (n as u64).wrapping_mul(K1), K0);
    z = z.wrapping_add(mix(v.1).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    let mut state = State { x, y, z, v, w };
    for at in (0..n - 1 - (n - 1) % 64).step_by(64) {
        state.absorb(&std::array::from_fn(|k| word(source, at + 8 * k)));
    }
    let State { x, y, z, v, w } = state;
    let first = join(v.0, w.0).wrapping_add(mix(y).wrapping_mul(K1)).wrapping_add(z);
    join(first, join(v.1, w.1).wrapping_add(x))
}

/// Little-endian word at a byte position.
#[inline(always)]
fn word(source: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&source[at..at + 8]);
    u64::from_le_bytes(bytes)
}

#[inline(always)]
fn half_word(source: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&source[at..at + 4]);
    u64::from(u32::from_le_bytes(bytes))
}

#[inline(always)]
fn mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

/// Two words into one.
#[inline(always)]
fn join(u: u64, v: u64) -> u64 {
    let a = mix((u ^ v).wrapping_mul(K_MUL));
    let b = mix((v ^ a).wrapping_mul(K_MUL));
    b.wrapping_mul(K_MUL)
}

/// Hash of at most 16 bytes.
fn short(source: &[u8]) -> u64 {
    let n = source.len();
    match n {
        0 => K2,
        1..=3 => {
            let y = u64::from(source[0]) | u64::from(source[n / 2]) << 8;
            let z = n as u64 + (u64::from(source[n - 1]) << 2);
            mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K3)).wrapping_mul(K2)
        }
        4..=8 => join(n as u64 + (half_word(source, 0) << 3), half_word(source, n - 4)),
        _ => {
            let (a, b) = (word(source, 0), word(source, n - 8));
            #[expect(clippy::cast_possible_truncation, reason = "n is at most 16")]
            let rotated = b.wrapping_add(n as u64).rotate_right(n as u32);
            join(a, rotated) ^ b
        }
    }
}

/// Fewer than 128 bytes.
#[expect(clippy::many_single_char_names, reason = "the names of the published algorithm")]
fn murmur(source: &[u8], seed: Hash128) -> Hash128 {
    let n = source.len();
    let (mut a, mut b) = (seed.low, seed.high);
    let (mut c, mut d);
    if n <= 16 {
        a = mix(a.wrapping_mul(K1)).wrapping_mul(K1);
        c = b.wrapping_mul(K1).wrapping_add(short(source));
        d = mix(a.wrapping_add(if n >= 8 { word(source, 0) } else { c }));
    } else {
        c = join(word(source, n - 8).wrapping_add(K1), a);
        d = join(b.wrapping_add(n as u64), c.wrapping_add(word(source, n - 16)));
        a = a.wrapping_add(d);
        // Every 16 bytes but the last 1 to 16, which went into `c` and `d` above.
        for at in (0..n - 16).step_by(16) {
            let first = mix(word(source, at).wrapping_mul(K1)).wrapping_mul(K1);
            a = (a ^ first).wrapping_mul(K1);
            b ^= a;
            let second = mix(word(source, at + 8).wrapping_mul(K1)).wrapping_mul(K1);
            c = (c ^ second).wrapping_mul(K1);
            d ^= c;
        }
    }
    a = join(a, c);
    b = join(d, b);
    Hash128 { low: a ^ b, high: join(b, a) }
}

/// The 56 bytes of state of the long form.
#[derive(Clone, Copy)]
struct State {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

/// Folds 32 bytes into a pair.
#[inline(always)]
fn weak(words: [u64; 4], mut a: u64, mut b: u64) -> (u64, u64) {
    a = a.wrapping_add(words[0]);
    b = b.wrapping_add(a).wrapping_add(words[3]).rotate_right(21);
    let c = a;
    a = a.wrapping_add(words[1]).wrapping_add(words[2]);
    b = b.wrapping_add(a.rotate_right(44));
    (a.wrapping_add(words[3]), b.wrapping_add(c))
}

impl State {
    /// Takes 64 bytes.
    #[inline(always)]
    fn absorb(&mut self, s: &[u64; 8]) {
        let Self { mut x, mut y, mut z, mut v, mut w } = *self;
        x = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(s[2]).rotate_right(37);
        y = y.wrapping_add(v.1).wrapping_add(s[6]).rotate_right(42);
        x = x.wrapping_mul(K1) ^ w.1;
        y = y.wrapping_mul(K1) ^ v.0;
        z = (z ^ w.0).rotate_right(33);
        v = weak([s[0], s[1], s[2], s[3]], v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak([s[4], s[5], s[6], s[7]], z.wrapping_add(w.1), y);
        *self = Self { x: z, y, z: x, v, w };
    }
}

/// The eight words of 64 bytes.
#[inline(always)]
fn words(bytes: &[u8; 64]) -> [u64; 8] {
    let (chunks, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|k| u64::from_le_bytes(chunks[k]))
}

/// 128 bytes and more.
fn long(source: &[u8], seed: Hash128) -> Hash128 {
    let n = source.len();
    let (x, y) = (seed.low, seed.high);
    let z = (n as u64).wrapping_mul(K1);
    let v0 = (y ^ K1).rotate_right(49).wrapping_mul(K1).wrapping_add(word(source, 0));
    let v1 = v0.rotate_right(42).wrapping_mul(K1).wrapping_add(word(source, 8));
    let w0 = y.wrapping_add(z).rotate_right(35).wrapping_mul(K1).wrapping_add(x);
    let w1 = x.wrapping_add(word(source, 88)).rotate_right(53).wrapping_mul(K1);
    let mut state = State { x, y, z, v: (v0, v1), w: (w0, w1) };
    let (pieces, rest) = source.as_chunks::<128>();
    for piece in pieces {
        let (halves, _) = piece.as_chunks::<64>();
        state.absorb(&words(&halves[0]));
        state.absorb(&words(&halves[1]));
    }
    finish(source, rest.len(), state)
}

/// Takes the last `rest` bytes, in steps of 32 that go back from the end and may reach bytes that were taken before.
fn finish(source: &[u8], rest: usize, state: State) -> Hash128 {
    let State { mut x, mut y, z, mut v, mut w } = state;
    y = y.wrapping_add(w.0.rotate_right(37).wrapping_mul(K0)).wrapping_add(z);
    x = x.wrapping_add(v.0.wrapping_add(z).rotate_right(49).wrapping_mul(K0));
    let mut taken = 0;
    while taken < rest {
        taken += 32;
        let at = source.len() - taken;
        y = y.wrapping_sub(x).rotate_right(42).wrapping_mul(K0).wrapping_add(v.1);
        w.0 = w.0.wrapping_add(word(source, at + 16));
        x = x.rotate_right(49).wrapping_mul(K0).wrapping_add(w.0);
        w.0 = w.0.wrapping_add(v.0);
        let piece = std::array::from_fn(|k| word(source, at + 8 * k));
        v = weak(piece, v.0, v.1);
    }
    x = join(x, v.0);
    y = join(y, w.0);
    let low = join(x.wrapping_add(v.1), w.1).wrapping_add(y);
    Hash128 { low, high: join(x.wrapping_add(w.1), y.wrapping_add(v.1)) }
}
