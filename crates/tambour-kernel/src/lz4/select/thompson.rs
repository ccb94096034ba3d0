//! Thompson sampling, as the article about LZ4 in ClickHouse has it: whole calls are timed, and every call draws anew.

use super::super::decode::Decode;
use super::{Clock, Learned, Malformed, decode_behind};
use crate::variant::Runnable;
use std::f64::consts::TAU;

/// Room for variants; more are not tried.
const VARIANTS_MAX: usize = 8;
/// This many calls of each variant do not count: they pay for cold branches and caches.
const UNCOUNTED: u64 = 2;
/// Blocks that decode into fewer bytes take the first variant, untimed.
const TIMED_BYTES: usize = 32 << 10;

/// The past calls of one variant.
#[derive(Clone, Copy)]
struct Arm {
    variant: Runnable<Decode>,
    /// All calls, the uncounted ones too.
    calls: u64,
    bytes: u64,
    ticks: u64,
}

impl Arm {
    /// Ticks per byte, drawn from a normal distribution; a variant without counted calls comes first.
    fn draw(&self, random: &mut Random) -> f64 {
        let counted = self.calls.saturating_sub(UNCOUNTED);
        if counted == 0 || self.bytes == 0 {
            return self.calls as f64 - UNCOUNTED as f64 - 1.0;
        }
        let mean = self.ticks as f64 / self.bytes as f64;
        let deviation = mean / (counted as f64).sqrt();
        mean + deviation * random.normal()
    }

    fn add(&mut self, bytes: u64, ticks: u64) {
        self.calls += 1;
        if self.calls > UNCOUNTED {
            self.bytes += bytes;
            self.ticks = self.ticks.saturating_add(ticks);
        }
    }
}

/// The variants of a stream and their past.
pub(super) struct Thompson {
    arms: [Arm; VARIANTS_MAX],
    count: usize,
    random: Random,
}

impl Thompson {
    /// Knows nothing; takes `first` until blocks are long enough.
    pub(super) fn new(
        first: Runnable<Decode>,
        variants: impl Iterator<Item = Runnable<Decode>>,
    ) -> Self {
        let mut arms = [Arm { variant: first, calls: 0, bytes: 0, ticks: 0 }; VARIANTS_MAX];
        let mut count = 0;
        for (arm, variant) in arms.iter_mut().zip(variants) {
            arm.variant = variant;
            count += 1;
        }
        Self { arms, count, random: Random(0x9e37_79b9_7f4a_7c15) }
    }

    pub(super) fn decode(
        &mut self,
        source: &[u8],
        buffer: &mut [u8],
        start: usize,
        clock: Clock,
    ) -> Result<(), Malformed> {
        let bytes = buffer.len() - start;
        if self.count < 2 || bytes < TIMED_BYTES {
            return decode_behind(self.arms[0].variant, source, buffer, start);
        }
        let (mut chosen, mut lowest) = (0, f64::MAX);
        for (k, arm) in self.arms[..self.count].iter().enumerate() {
            let drawn = arm.draw(&mut self.random);
            if drawn < lowest {
                (chosen, lowest) = (k, drawn);
            }
        }
        let before = clock();
        let result = decode_behind(self.arms[chosen].variant, source, buffer, start);
        let ticks = clock().wrapping_sub(before);
        if result.is_ok() {
            self.arms[chosen].add(bytes as u64, ticks);
        }
        result
    }

    pub(super) fn learned(&self) -> impl Iterator<Item = Learned> {
        let arms = &self.arms[..self.count];
        let mean = |arm: &Arm| arm.ticks as f64 / arm.bytes.max(1) as f64;
        let known = arms.iter().filter(|arm| arm.bytes > 0);
        let best = known.min_by(|a, b| mean(a).total_cmp(&mean(b))).map(|arm| arm.variant.name());
        arms.iter().map(move |arm| Learned {
            name: arm.variant.name(),
            lanes: 1,
            in_use: best == Some(arm.variant.name()),
            calls: arm.calls,
            bytes: arm.bytes,
            ticks: arm.ticks,
        })
    }
}

/// A small generator of random numbers (xorshift64*); its seed is fixed, since only speed depends on it.
struct Random(u64);

impl Random {
    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        (bits + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }
}
