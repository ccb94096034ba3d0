//! Figures over all files.

use super::{File, Results, Role};
use std::ops::RangeInclusive;

/// Compression ratios of files that are neither incompressible nor all runs: the means of others say little.
pub(super) const MIDDLE: RangeInclusive<f64> = 1.05..=60.0;

/// The line of the experiment's table. Speeds are in bytes per nanosecond: the inverse of the mean time of a byte.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The reference.
    pub reference: f64,
    /// The selector, where it took part.
    pub adaptive: Option<f64>,
    /// The best variant that is the same for all files.
    pub max: f64,
    /// Its name.
    pub best: String,
}

/// One contender over all files, compared with the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Index of the contender.
    pub contender: usize,
    /// Inverse of the mean time of a byte, in bytes per nanosecond.
    pub speed: f64,
    /// Geometric mean of the gains, all files.
    pub all: f64,
    /// The same for files of middle ratio; `None` if there are none.
    pub middle: Option<f64>,
    /// Smallest gain.
    pub worst: f64,
    /// The file that it happened on.
    pub worst_file: String,
    /// Geometric mean of the compression ratios of its format.
    pub ratio: f64,
}

/// How much longer a selector took than the best variant of each file, after this many blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Regret {
    /// Index of the selector.
    pub contender: usize,
    /// Blocks, geometric mean over the files, largest of a file; as far as a quarter of the files goes.
    pub points: Vec<(usize, f64, f64)>,
}

impl Results {
    /// The line of the experiment's table.
    pub fn summary(&self) -> Summary {
        let speed = |role| self.first(role).map(|index| self.speed(index));
        let variants = self.of(Role::Variant).map(|index| (index, self.speed(index)));
        let best = variants.max_by(|one, other| one.1.total_cmp(&other.1));
        let (best, max) = best.unwrap_or((0, 0.0));
        Summary {
            reference: self.speed(0),
            adaptive: speed(Role::Adaptive),
            max,
            best: self.contenders[best].name.clone(),
        }
    }

    /// One score per contender.
    pub fn scores(&self) -> Vec<Score> {
        (0..self.contenders.len()).map(|contender| self.score(contender)).collect()
    }

    /// The regret of every selector: against the best variant of each file, chosen afterwards; for batches it may be one
    /// that takes two blocks in turns.
    pub fn regrets(&self) -> Vec<Regret> {
        let selectors = self.of(Role::Adaptive).chain(self.of(Role::Batch));
        selectors.map(|contender| self.regret(contender)).collect()
    }

    /// Indices of the contenders with a role.
    pub(super) fn of(&self, role: Role) -> impl Iterator<Item = usize> {
        let contenders = self.contenders.iter().enumerate();
        contenders.filter(move |(_, contender)| contender.role == role).map(|(index, _)| index)
    }

    /// The first contender with a role.
    pub(super) fn first(&self, role: Role) -> Option<usize> {
        self.of(role).next()
    }

    /// The variant that is fastest over all files, by the geometric mean of its gains.
    pub(super) fn best_variant(&self) -> usize {
        self.best(Role::Variant)
    }

    /// Everybody but other formats, and of the pairs only the best.
    pub(super) fn shown(&self) -> Vec<usize> {
        let best = self.best(Role::Pair);
        let all = self.contenders.iter().enumerate().filter(|(index, contender)| {
            contender.role != Role::Rival && (contender.role != Role::Pair || *index == best)
        });
        all.map(|(index, _)| index).collect()
    }

    /// What the frontier is about: the formats, the best variant, the selectors.
    pub(super) fn formats(&self) -> Vec<usize> {
        let best = self.best_variant();
        let all = self.contenders.iter().enumerate().filter(|(index, contender)| {
            !matches!(contender.role, Role::Variant | Role::Pair) || *index == best
        });
        all.map(|(index, _)| index).collect()
    }

    /// The contender with this role that has the greatest mean gain.
    fn best(&self, role: Role) -> usize {
        let means = self.of(role).map(|index| (index, self.score(index).all));
        means.max_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(index, _)| index)
    }

    /// Compression ratio and speed of all files together.
    pub(super) fn as_one_file(&self, contender: usize) -> (f64, f64) {
        let bytes: usize = self.files.iter().map(|file| file.bytes).sum();
        let timings = self.files.iter().map(|file| &file.timings[contender]);
        let (encoded, seconds) = timings.fold((0, 0.0), |(encoded, seconds), timing| {
            (encoded + timing.encoded_bytes, seconds + timing.seconds)
        });
        (bytes as f64 / encoded as f64, bytes as f64 / seconds * 1e-9)
    }

    fn speed(&self, contender: usize) -> f64 {
        let seconds_of_a_byte =
            self.files.iter().map(|file| file.timings[contender].seconds / file.bytes as f64);
        1e-9 * self.files.len() as f64 / seconds_of_a_byte.sum::<f64>()
    }

    fn score(&self, contender: usize) -> Score {
        let middle = self.files.iter().filter(|file| MIDDLE.contains(&file.ratio()));
        let gain = |file: &File| file.gain(contender);
        let worst = self.files.iter().min_by(|one, other| gain(one).total_cmp(&gain(other)));
        Score {
            contender,
            speed: self.speed(contender),
            all: geometric_mean(self.files.iter().map(gain)).unwrap_or(1.0),
            middle: geometric_mean(middle.map(gain)),
            worst: worst.map_or(1.0, gain),
            worst_file: worst.map_or_else(String::new, |file| file.name.clone()),
            ratio: geometric_mean(self.files.iter().map(|file| file.own_ratio(contender)))
                .unwrap_or(1.0),
        }
    }

    fn regret(&self, contender: usize) -> Regret {
        let longest = self.files.iter().map(|file| file.laps.len()).max().unwrap_or(0);
        let in_turns = self.contenders[contender].role == Role::Batch;
        let arms = self.of(Role::Variant).chain(self.of(Role::Pair).filter(|_| in_turns));
        let arms: Vec<usize> = arms.collect();
        let points = (0..longest).filter_map(|lap| {
            let long_enough = |file: &&File| file.laps.len() > lap;
            // A mean of the few files that are longest would say nothing about the rest.
            if self.files.iter().filter(long_enough).count() * 4 < self.files.len() {
                return None;
            }
            let files = self.files.iter().filter(long_enough);
            let ratios: Vec<f64> = files
                .map(|file| {
                    let times = arms.iter().map(|&arm| file.timings[arm].laps[lap]);
                    file.timings[contender].laps[lap] / times.fold(f64::INFINITY, f64::min)
                })
                .collect();
            let largest = ratios.iter().copied().fold(0.0, f64::max);
            Some((8 << lap, geometric_mean(ratios)?, largest))
        });
        Regret { contender, points: points.collect() }
    }
}

/// `None` without values.
pub(super) fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += f64::ln(value);
        count += 1.0;
    }
    (count > 0.0).then(|| f64::exp(sum / count))
}
