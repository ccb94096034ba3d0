//! Two published hashes of texts: FarmHash64, the portable one, and MetroHash64 of the first kind with the seed 0. All
//! arithmetic is modulo 2^64.
#![expect(
    clippy::many_single_char_names,
    reason = "as everywhere where these hashes are described"
)]

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const PRIMES: [u64; 4] = [0xc83a_91e1, 0x8648_dbdb, 0x7bde_c03b, 0x2f58_70a5];

fn word(text: &[u8], at: usize) -> u64 {
    text.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn half(text: &[u8], at: usize) -> u64 {
    text.get(at..at + 4)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, |bytes| u32::from_le_bytes(bytes).into())
}

fn mixed(value: u64) -> u64 {
    value ^ value >> 47
}

fn joined(u: u64, v: u64, factor: u64) -> u64 {
    let a = mixed((u ^ v).wrapping_mul(factor));
    mixed((v ^ a).wrapping_mul(factor)).wrapping_mul(factor)
}

fn factor(length: usize) -> u64 {
    K2.wrapping_add(length as u64 * 2)
}

/// Longest text whose FarmHash64 is known here: the hash is another one from 257 bytes on, and a third from 512.
pub(super) const FARM_MAX: usize = 256;

/// FarmHash64 of up to [`FARM_MAX`] bytes.
pub(super) fn farm_hash_64(text: &[u8]) -> u64 {
    match text.len() {
        0..=16 => up_to_16(text),
        17..=32 => up_to_32(text),
        33..=64 => up_to_64(text),
        65..=96 => up_to_96(text),
        _ => longer(text),
    }
}

fn up_to_16(text: &[u8]) -> u64 {
    let n = text.len();
    match n {
        8.. => {
            let (a, b) = (word(text, 0).wrapping_add(K2), word(text, n - 8));
            let c = b.rotate_right(37).wrapping_mul(factor(n)).wrapping_add(a);
            let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(factor(n));
            joined(c, d, factor(n))
        }
        4.. => {
            let start = (n as u64).wrapping_add(half(text, 0) << 3);
            joined(start, half(text, n - 4), factor(n))
        }
        1.. => {
            let (a, b, c) = (text[0].into(), u64::from(text[n >> 1]), u64::from(text[n - 1]));
            let y: u64 = b << 8;
            let y = y.wrapping_add(a);
            let z = (n as u64).wrapping_add(c << 2);
            mixed(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
        }
        0 => K2,
    }
}

fn up_to_32(text: &[u8]) -> u64 {
    let n = text.len();
    let a = word(text, 0).wrapping_mul(K1);
    let b = word(text, 8);
    let c = word(text, n - 8).wrapping_mul(factor(n));
    let d = word(text, n - 16).wrapping_mul(K2);
    let y = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let z = a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c);
    joined(y, z, factor(n))
}

/// A hash of 32 bytes.
fn piece(text: &[u8], at: usize, factor: u64, seeds: (u64, u64)) -> u64 {
    let text = &text[at..at + 32];
    let a = word(text, 0).wrapping_mul(K1);
    let b = word(text, 8);
    let c = word(text, 24).wrapping_mul(factor);
    let d = word(text, 16).wrapping_mul(K2);
    let u = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let v = a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c);
    let (u, v) = (u.wrapping_add(seeds.0), v.wrapping_add(seeds.1));
    let a = mixed((u ^ v).wrapping_mul(factor));
    mixed((v ^ a).wrapping_mul(factor))
}

fn up_to_64(text: &[u8]) -> u64 {
    let first = K2.wrapping_sub(30);
    let second = first.wrapping_add(2 * text.len() as u64);
    let head = piece(text, 0, first, (0, 0));
    let tail = piece(text, text.len() - 32, second, (0, 0));
    tail.wrapping_mul(second).wrapping_add(head).wrapping_mul(second)
}

fn up_to_96(text: &[u8]) -> u64 {
    let first = K2.wrapping_sub(114);
    let second = first.wrapping_add(2 * text.len() as u64);
    let head = piece(text, 0, first, (0, 0));
    let middle = piece(text, 32, second, (0, 0));
    let tail = piece(text, text.len() - 32, second, (head, middle));
    let sum = tail.wrapping_mul(9).wrapping_add(head >> 17).wrapping_add(middle >> 21);
    sum.wrapping_mul(second)
}

/// Folds 32 bytes into a pair.
fn fold(text: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let last = word(text, at + 24);
    let a = a.wrapping_add(word(text, at));
    let b = b.wrapping_add(a).wrapping_add(last).rotate_right(21);
    let c = a;
    let a = a.wrapping_add(word(text, at + 8)).wrapping_add(word(text, at + 16));
    let b = b.wrapping_add(a.rotate_right(44));
    (a.wrapping_add(last), b.wrapping_add(c))
}

/// What 64 bytes at a time are taken into.
struct State {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl State {
    /// `times` is 1 but for the last 64 bytes.
    fn absorb(&mut self, text: &[u8], at: usize, factor: u64, times: u64) {
        let Self { x, y, z, v, w } = *self;
        let x = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(word(text, at + 8));
        let x = x.rotate_right(37).wrapping_mul(factor) ^ w.1.wrapping_mul(times);
        let y = y.wrapping_add(v.1).wrapping_add(word(text, at + 48));
        let y = y.rotate_right(42).wrapping_mul(factor);
        let y = y.wrapping_add(v.0.wrapping_mul(times)).wrapping_add(word(text, at + 40));
        let z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(factor);
        let v = fold(text, at, v.1.wrapping_mul(factor), x.wrapping_add(w.0));
        let w = fold(text, at + 32, z.wrapping_add(w.1), y.wrapping_add(word(text, at + 16)));
        *self = Self { x: z, y, z: x, v, w };
    }
}

fn longer(text: &[u8]) -> u64 {
    const SEED: u64 = 81;
    let n = text.len();
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let z = mixed(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2);
    let x = SEED.wrapping_mul(K2).wrapping_add(word(text, 0));
    let mut state = State { x, y, z, v: (0, 0), w: (0, 0) };
    for at in (0..(n - 1) / 64 * 64).step_by(64) {
        state.absorb(text, at, K1, 1);
    }
    let factor = K1.wrapping_add((state.z & 0xff) << 1);
    state.w.0 = state.w.0.wrapping_add((n - 1) as u64 & 63);
    state.v.0 = state.v.0.wrapping_add(state.w.0);
    state.w.0 = state.w.0.wrapping_add(state.v.0);
    state.absorb(text, n - 64, factor, 9);
    let State { x, y, z, v, w } = state;
    let left = joined(v.0, w.0, factor).wrapping_add(mixed(y).wrapping_mul(K0)).wrapping_add(z);
    joined(left, joined(v.1, w.1, factor).wrapping_add(x), factor)
}

/// MetroHash64 of the first kind.
pub(super) fn metro_hash_64(text: &[u8]) -> u64 {
    let [k0, k1, k2, k3] = PRIMES;
    let mut hash = k2.wrapping_mul(k0).wrapping_add(text.len() as u64);
    let mut chunks = text.chunks_exact(32);
    if text.len() >= 32 {
        let mut v = [hash; 4];
        for chunk in &mut chunks {
            for lane in 0..4 {
                let sum = v[lane].wrapping_add(word(chunk, lane * 8).wrapping_mul(PRIMES[lane]));
                v[lane] = sum.rotate_right(29).wrapping_add(v[(lane + 2) % 4]);
            }
        }
        let turned = |a: u64, b: u64, first: u64, c: u64, last: u64| {
            let sum = a.wrapping_add(b).wrapping_mul(first).wrapping_add(c);
            sum.rotate_right(33).wrapping_mul(last)
        };
        v[2] ^= turned(v[0], v[3], k0, v[1], k1);
        v[3] ^= turned(v[1], v[2], k1, v[0], k0);
        v[0] ^= turned(v[0], v[2], k0, v[3], k1);
        v[1] ^= turned(v[1], v[3], k1, v[2], k0);
        hash = hash.wrapping_add(v[0] ^ v[1]);
    }
    let mut rest = chunks.remainder();
    if let Some((head, tail)) = rest.split_at_checked(16) {
        let part = |at: usize, factor: u64, next: u64| {
            let sum = hash.wrapping_add(word(head, at).wrapping_mul(factor));
            sum.rotate_right(33).wrapping_mul(next)
        };
        let (mut a, mut b) = (part(0, k0, k1), part(8, k1, k2));
        a ^= a.wrapping_mul(k0).rotate_right(35).wrapping_add(b);
        b ^= b.wrapping_mul(k3).rotate_right(35).wrapping_add(a);
        hash = hash.wrapping_add(b);
        rest = tail;
    }
    for (width, turn) in [(8, 33), (4, 15), (2, 13), (1, 25)] {
        if let Some((head, tail)) = rest.split_at_checked(width) {
            let number = head.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
            hash = hash.wrapping_add(number.wrapping_mul(k3));
            hash ^= hash.rotate_right(turn).wrapping_mul(k1);
            rest = tail;
        }
    }
    hash ^= hash.rotate_right(33);
    hash = hash.wrapping_mul(k0);
    hash ^ hash.rotate_right(33)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number was given by ClickHouse 26.9.
    #[test]
    fn hashes_are_those_of_clickhouse() {
        let text = "abcdefghij".repeat(11);
        let farm: [u64; 12] = [
            11_160_318_154_034_397_263,
            9_960_479_591_422_212_091,
            16_014_814_510_007_390_469,
            1_522_963_769_923_342_083,
            3_052_324_377_837_045_108,
            2_874_385_136_914_802_841,
            17_035_856_885_077_689_202,
            1_636_117_615_080_722_252,
            13_828_734_943_657_209_968,
            17_723_938_736_397_202_378,
            12_462_857_859_450_256_025,
            15_065_782_949_873_743_179,
        ];
        for (tens, hash) in farm.into_iter().enumerate() {
            assert_eq!(farm_hash_64(&text.as_bytes()[..tens * 10]), hash, "{tens}");
        }
        let metro: [u64; 8] = [
            13_381_918_016_739_805_347,
            18_219_337_778_677_001_213,
            4_548_606_121_890_901_659,
            14_574_868_558_089_069_985,
            4_738_605_303_032_751_129,
            15_113_647_105_059_494_945,
            2_252_018_578_700_484_553,
            10_401_802_086_869_660_799,
        ];
        for (tens, hash) in metro.into_iter().enumerate() {
            assert_eq!(metro_hash_64(&text.as_bytes()[..tens * 10]), hash, "{tens}");
        }
        let long = "abcdefghij".repeat(200);
        for (length, hash) in [
            (129, 17_645_447_107_499_386_126),
            (192, 16_025_181_420_447_693_427),
            (193, 5_257_529_440_936_077_337),
            (200, 10_143_958_508_126_119_551),
            (256, 15_013_813_405_289_548_378),
        ] {
            assert_eq!(farm_hash_64(&long.as_bytes()[..length]), hash, "{length}");
        }
        for (length, hash) in [
            (129, 15_557_009_632_886_624_384),
            (192, 2_181_186_067_780_356_387),
            (193, 6_966_175_144_118_722_712),
            (200, 5_022_097_529_922_920_991),
            (256, 13_793_438_064_473_388_408),
            (257, 14_342_941_449_668_457_911),
            (1999, 9_937_329_059_267_425_841),
        ] {
            assert_eq!(metro_hash_64(&long.as_bytes()[..length]), hash, "{length}");
        }
        assert_eq!(metro_hash_64(b"a"), 6_759_146_875_928_959_315);
        assert_eq!(farm_hash_64(b"a"), 12_917_804_110_809_363_939);
    }
}
