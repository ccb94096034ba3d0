//! Data as columns have it, and hostile LZ4 blocks. The same seed always gives the same bytes.

use proptest::prelude::{Just, Strategy, any, prop_oneof};

/// What generated data looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One byte, over and over.
    Constant,
    /// Runs of equal values of 1, 2, 4 or 8 bytes, of any length.
    Runs,
    /// Increasing integers of 8 bytes.
    Ramp,
    /// Sorted integers of 4 bytes with small steps.
    Sorted,
    /// Every byte random.
    Noise,
    /// Words with spaces.
    Text,
    /// Log lines: much the same, with some numbers in them.
    Lines,
    /// Decimal fractions as 8-byte floats.
    Floats,
    /// 8-byte integers with few distinct values.
    Cardinal,
    /// Random 4-byte integers below a million.
    Integers,
    /// Pieces of the other shapes.
    Mixed,
}

impl Shape {
    /// Every shape.
    pub const ALL: &[Self] = &[
        Self::Constant,
        Self::Runs,
        Self::Ramp,
        Self::Sorted,
        Self::Noise,
        Self::Text,
        Self::Lines,
        Self::Floats,
        Self::Cardinal,
        Self::Integers,
        Self::Mixed,
    ];
}

/// A small generator of random numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end as u64).unwrap_or(0)
    }

    /// A random byte.
    pub fn byte(&mut self) -> u8 {
        self.number().to_le_bytes()[0]
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

const WORDS: &[&str] = &[
    "column",
    "capital",
    "drum",
    "base",
    "shaft",
    "stone",
    "flute",
    "order",
    "temple",
    "a",
    "the",
    "of",
    "and",
    "carefully",
    "quickly",
    "regular",
    "pending",
    "requests",
    "deposits",
    "sleep",
    "along",
    "furiously",
    "ironic",
    "accounts",
    "above",
    "bold",
    "final",
    "express",
    "theodolites",
];

/// `length` bytes of a shape.
pub fn bytes(shape: Shape, length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut target = Vec::with_capacity(length + 256);
    let mut counter = random.number() >> 20;
    while target.len() < length {
        append(shape, &mut random, &mut counter, &mut target);
    }
    target.truncate(length);
    target
}

/// Appends at least one byte.
fn append(shape: Shape, random: &mut Random, counter: &mut u64, target: &mut Vec<u8>) {
    match shape {
        Shape::Constant => target.push(counter.to_le_bytes()[0]),
        Shape::Runs => {
            let width = random.pick(&[1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 33]);
            let value: Vec<u8> = (0..width).map(|_| random.byte()).collect();
            let count_max = random.pick(&[3, 30, 300, 3000]);
            let count = 1 + random.below(count_max);
            (0..count).for_each(|_| target.extend(&value));
        }
        Shape::Ramp => {
            *counter += 1;
            target.extend(counter.to_le_bytes());
        }
        Shape::Sorted => {
            *counter += random.number() % 3;
            target.extend(&counter.to_le_bytes()[..4]);
        }
        Shape::Noise => target.extend(random.number().to_le_bytes()),
        Shape::Text => {
            target.extend(random.pick(WORDS).as_bytes());
            target.push(b' ');
        }
        Shape::Lines => {
            *counter += random.number() % 1000;
            let (word, number) = (random.pick(WORDS), random.below(10_000));
            let line = format!("{counter} INFO worker-{}: {word} took {number} us\n", number % 7);
            target.extend(line.as_bytes());
        }
        Shape::Floats => {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let value = random.below(1_000_000) as f64 / 100.0;
            target.extend(value.to_le_bytes());
        }
        Shape::Cardinal => target.extend((1 + random.number() % 50).to_le_bytes()),
        Shape::Integers => target.extend(&(random.number() % 1_000_000).to_le_bytes()[..4]),
        Shape::Mixed => {
            let shape = random.pick(&Shape::ALL[..Shape::ALL.len() - 1]);
            let end = target.len() + 1 + random.below(2000);
            while target.len() < end {
                append(shape, random, counter, target);
            }
        }
    }
}

/// Lengths around the widths of registers, the margins of the fast loops, and the limits of the format.
pub fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => 0..80_usize,
        4 => 80..700_usize,
        2 => 700..20_000_usize,
        1 => 65_500..65_600_usize,
        1 => 130_000..200_000_usize,
    ]
}

/// Data of any shape.
pub fn data() -> impl Strategy<Value = Vec<u8>> {
    let shape = proptest::sample::select(Shape::ALL);
    (shape, length(), any::<u64>()).prop_map(|(shape, length, seed)| bytes(shape, length, seed))
}

/// Data of any shape, short enough for laws that try every bit of it.
pub fn small_data() -> impl Strategy<Value = Vec<u8>> {
    let shape = proptest::sample::select(Shape::ALL);
    let length = prop_oneof![Just(0), 1..64_usize, 64..400_usize];
    (shape, length, any::<u64>()).prop_map(|(shape, length, seed)| bytes(shape, length, seed))
}

/// A block of LZ4 sequences most of which are well formed, and the length that it claims to decode to.
///
/// Such blocks get farther into a decoder than random bytes do: offsets of every size at every alignment, lengths around
/// every limit, and now and then something impossible.
pub fn hostile_lz4(seed: u64) -> (Vec<u8>, usize) {
    let mut random = Random::new(seed);
    let mut block = Vec::new();
    let mut written = 0;
    let impossible = random.pick(&[0, 0, 20, 200]);
    for _ in 0..random.pick(&[0, 1, 2, 5, 20, 100]) {
        let literals_max = random.pick(&[1, 4, 16, 17, 40, 80, 300]);
        let literals = random.below(literals_max);
        let match_max = random.pick(&[1, 8, 16, 30, 64, 80, 300, 2000]);
        let length = 4 + random.below(match_max);
        written += literals;
        let offset_max = random.pick(&[8, 16, 33, 70, 65_536]);
        let mut offset = 1 + random.below(offset_max).min(written.saturating_sub(1));
        if impossible > 0 && random.below(impossible) == 0 {
            offset = random.pick(&[0, written + 1, 65_535]);
        }
        append_lz4(&mut block, &mut random, literals, Some((offset, length)));
        written += length;
    }
    let literals_max = random.pick(&[1, 6, 20, 300]);
    let literals = random.below(literals_max);
    append_lz4(&mut block, &mut random, literals, None);
    written += literals;
    match random.below(12) {
        0 => written += 1 + random.below(70),
        1 => written = written.saturating_sub(1 + random.below(70)),
        2 => block.truncate(random.below(block.len() + 1)),
        3 => block.push(random.byte()),
        _ => {}
    }
    (block, written)
}

/// Appends a sequence; without a match it is a last one.
fn append_lz4(
    block: &mut Vec<u8>,
    random: &mut Random,
    literals: usize,
    found: Option<(usize, usize)>,
) {
    let half = |length: usize| u8::try_from(length.min(15)).unwrap_or(15);
    let length = found.map_or(0, |(_, length)| length - 4);
    block.push(half(literals) << 4 | half(length));
    append_length(block, literals);
    block.extend((0..literals).map(|_| random.byte()));
    if let Some((offset, _)) = found {
        block.extend(&offset.to_le_bytes()[..2]);
        append_length(block, length);
    }
}

/// The bytes that extend a length from half a token.
fn append_length(block: &mut Vec<u8>, length: usize) {
    if let Some(rest) = length.checked_sub(15) {
        block.extend(std::iter::repeat_n(255, rest / 255));
        block.extend(&(rest % 255).to_le_bytes()[..1]);
    }
}
