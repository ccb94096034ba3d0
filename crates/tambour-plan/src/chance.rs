//! Numbers by chance, and by distributions of chance.

use std::f64::consts::TAU;
use std::hash::{BuildHasher, RandomState};

/// Trials, or expected events, that a number is drawn from one by one at most.
const TRIALS_MAX: f64 = 1e6;

/// Numbers by chance, another row of them each time: a counter, mixed (SplitMix64 by Steele, Lea and Flood).
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new() -> Self {
        Self(RandomState::new().hash_one(0_u64))
    }
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    pub(super) fn short(&mut self) -> u32 {
        let [_, _, _, _, a, b, c, d] = self.next().to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }
    /// At least 0 and less than 1.
    pub(super) fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        unit
    }
    /// The bits of a UUID of version 4, in the order of its bytes (RFC 9562, 5.4).
    pub(super) fn uuid(&mut self) -> [u8; 16] {
        let bits = u128::from(self.next()) << 64 | u128::from(self.next());
        let version = 0xf << 76 | 0b11 << 62;
        (bits & !version | 0x4 << 76 | 0b10 << 62).to_be_bytes()
    }
    pub(super) fn text(&mut self, length: u64, is_printable: bool) -> String {
        // From the blank to the tilde; bytes that are a text are those below 128.
        let (first, count) = if is_printable { (32, 95) } else { (0, 128) };
        let bytes = (0..length).map(|_| first + u8::try_from(self.next() % count).unwrap_or(0));
        bytes.map(char::from).collect()
    }
}

/// How chance spreads numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Distribution {
    /// By a mean and a standard deviation.
    Normal,
    /// Whose logarithm is normal.
    LogNormal,
    /// By a rate.
    Exponential,
    /// 1 by a probability, else 0.
    Bernoulli,
    /// How many of some trials succeed.
    Binomial,
    /// How many events there are where some are expected.
    Poisson,
}

impl Distribution {
    pub(super) fn parameters(self) -> usize {
        match self {
            Self::Normal | Self::LogNormal | Self::Binomial => 2,
            Self::Exponential | Self::Bernoulli | Self::Poisson => 1,
        }
    }
    /// True if what is drawn is a count.
    pub(super) fn is_counted(self) -> bool {
        matches!(self, Self::Bernoulli | Self::Binomial | Self::Poisson)
    }
    /// Draws a number; `None` if the parameters are out of range.
    pub(super) fn draw(self, chance: &mut Chance, first: f64, second: f64) -> Option<f64> {
        let is_probability = |number: f64| (0.0..=1.0).contains(&number);
        match self {
            Self::Normal => Some(normal(chance).mul_add(second, first)),
            Self::LogNormal => Some(normal(chance).mul_add(second, first).exp()),
            Self::Exponential => (first > 0.0).then(|| -(1.0 - chance.unit()).ln() / first),
            Self::Bernoulli => {
                is_probability(first).then(|| f64::from(u8::from(chance.unit() < first)))
            }
            Self::Binomial => {
                let is_one = (0.0..=TRIALS_MAX).contains(&first) && is_probability(second);
                is_one.then(|| successes(chance, first, second))
            }
            Self::Poisson => (first > 0.0 && first <= TRIALS_MAX).then(|| events(chance, first)),
        }
    }
}

/// By Box and Muller.
fn normal(chance: &mut Chance) -> f64 {
    let radius = (-2.0 * (1.0 - chance.unit()).ln()).sqrt();
    radius * (TAU * chance.unit()).cos()
}

fn successes(chance: &mut Chance, trials: f64, probability: f64) -> f64 {
    let (mut done, mut count) = (0.0, 0.0);
    while done < trials {
        done += 1.0;
        if chance.unit() < probability {
            count += 1.0;
        }
    }
    count
}

/// Gaps between events are exponential: as many events as fit before 1.
fn events(chance: &mut Chance, expected: f64) -> f64 {
    let (mut time, mut count) = (0.0, 0.0);
    loop {
        time -= (1.0 - chance.unit()).ln();
        if time >= expected {
            return count;
        }
        count += 1.0;
    }
}
