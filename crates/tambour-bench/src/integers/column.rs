//! Columns of integers.

use tambour_report::random::Random;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// What Xapian's test suite encodes, by the ticket's histogram.
    Ticket,
    /// 0 to 255, all equally likely.
    Byte,
    /// All lengths in bits equally likely.
    LogUniform,
    /// Gaps between sorted document ids, 40 on average.
    Gaps,
}

impl Spread {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Ticket, Self::Byte, Self::LogUniform, Self::Gaps];

    /// For titles.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ticket => "ticket",
            Self::Byte => "bytes",
            Self::LogUniform => "log-uniform",
            Self::Gaps => "gaps of ids",
        }
    }
}

/// Counts of the ticket's histogram by value, of 1,584,397; two entries stand for what it only sums up: the rest of the
/// small values, and those from 255 up.
const TICKET: [(Values, u32); 22] = {
    use Values::{Large, One, Small};
    [
        (One(1), 590_387),
        (One(4), 230_343),
        (One(3), 149_371),
        (One(0), 99_777),
        (One(2), 25_724),
        (One(6), 17_371),
        (One(18), 13_834),
        (One(8), 13_548),
        (One(5), 11_340),
        (One(7), 8_428),
        (One(40), 8_179),
        (One(61), 7_944),
        (One(9), 6_418),
        (One(11), 5_941),
        (One(96), 5_646),
        (One(21), 5_243),
        (One(u32::MAX), 5_082),
        (One(10), 4_801),
        (One(17), 4_376),
        (One(16), 3_804),
        (Large, 121_976),
        (Small, 244_864),
    ]
};

/// An entry of the histogram.
#[derive(Clone, Copy)]
enum Values {
    One(u32),
    /// 12 to 254, all equally likely.
    Small,
    /// 255 to 4.6 million, all magnitudes equally likely.
    Large,
}

/// A number from 0 to 1.
fn unit(random: &mut Random) -> f64 {
    (random.number() >> 11) as f64 / (1_u64 << 53) as f64
}

#[expect(clippy::cast_possible_truncation, reason = "values have 32 bits")]
fn next(spread: Spread, random: &mut Random) -> u32 {
    match spread {
        Spread::Ticket => {
            let all: u32 = TICKET.iter().map(|(_, count)| count).sum();
            let mut place = random.below(all.into()) as u32;
            let found = TICKET.iter().find(|(_, count)| {
                let here = place < *count;
                place = place.saturating_sub(if here { 0 } else { *count });
                here
            });
            match found.map_or(Values::Small, |found| found.0) {
                Values::One(value) => value,
                Values::Small => 12 + random.below(243) as u32,
                Values::Large => (255.0 * (4.6e6_f64 / 255.0).powf(unit(random))) as u32,
            }
        }
        Spread::Byte => random.below(256) as u32,
        Spread::LogUniform => (unit(random) * 32.0).exp2() as u32,
        Spread::Gaps => 1 + ((1.0 - unit(random)).ln() / (1.0 - 1.0 / 40.0_f64).ln()) as u32,
    }
}

/// So many values.
pub(super) fn values(spread: Spread, count: usize) -> Vec<u32> {
    let mut random = Random::new(11);
    (0..count).map(|_| next(spread, &mut random)).collect()
}

/// Sums of gaps.
pub(super) fn sorted(gaps: &[u32]) -> Vec<u32> {
    let sum = |sum: &mut u32, gap: &u32| {
        *sum = sum.wrapping_add(*gap);
        Some(*sum)
    };
    gaps.iter().scan(0, sum).collect()
}

#[cfg(test)]
mod tests {
    use super::{Spread, sorted, values};

    #[test]
    fn spreads_are_what_they_say() {
        let share = |values: &[u32], test: fn(u32) -> bool| {
            values.iter().filter(|&&value| test(value)).count() as f64 / values.len() as f64
        };
        let ticket = values(Spread::Ticket, 100_000);
        assert!((share(&ticket, |value| value == 1) - 0.373).abs() < 0.01);
        assert!((share(&ticket, |value| value > 254) - 0.080).abs() < 0.01);
        let gaps = values(Spread::Gaps, 100_000);
        let mean = gaps.iter().map(|&gap| f64::from(gap)).sum::<f64>() / 1e5;
        assert!((mean - 40.0).abs() < 1.0, "{mean}");
        assert!(sorted(&gaps).is_sorted());
        assert!(values(Spread::Byte, 10_000).iter().all(|value| *value < 256));
        let log = values(Spread::LogUniform, 100_000);
        assert!((share(&log, |value| value < 1 << 16) - 0.5).abs() < 0.01);
    }
}
