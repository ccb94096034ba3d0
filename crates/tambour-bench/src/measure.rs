//! How everything is measured: contenders take turns in one process, in every round each once; times are processor time of the
//! thread, figures medians over the rounds.

use crate::BenchError;
use tambour_report::clock::thread_seconds;
use tambour_report::random::Random;

/// In which order contenders take their turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they stand, in every round.
    AsGiven,
    /// A new one in every round, from this seed.
    Random(u64),
}

/// Seconds of a contender: per round those of each of its measures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Times(Vec<Vec<f64>>);

impl Times {
    /// The median of a measure.
    pub(crate) fn median(&self, measure: usize) -> f64 {
        self.quantile(measure, 0.5)
    }

    /// The value below which this share of the rounds lies; between two of them, the mean weighted by distance.
    pub(crate) fn quantile(&self, measure: usize, share: f64) -> f64 {
        let mut sorted: Vec<f64> =
            self.0.iter().filter_map(|round| round.get(measure).copied()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
        let position = share * last as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index that is not negative"
        )]
        let below = position as usize;
        let above = (below + 1).min(last);
        sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
    }
}

/// Lets every contender take its turn in each round. A turn does the work, compares what came of it outside of the time, and
/// gives the seconds of each measure.
pub(crate) fn race<C>(
    contenders: &mut [C],
    rounds: usize,
    order: Order,
    mut turn: impl FnMut(&mut C) -> Result<Vec<f64>, BenchError>,
) -> Result<Vec<Times>, BenchError> {
    let mut places: Vec<usize> = (0..contenders.len()).collect();
    let mut random = match order {
        Order::AsGiven => None,
        Order::Random(seed) => Some(Random::new(seed)),
    };
    let mut times = vec![Times(Vec::with_capacity(rounds)); contenders.len()];
    for _ in 0..rounds.max(1) {
        if let Some(random) = &mut random {
            random.shuffle(&mut places);
        }
        for &place in &places {
            times[place].0.push(turn(&mut contenders[place])?);
        }
    }
    Ok(times)
}

/// Does something, and tells the seconds that it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = thread_seconds();
    let done = work();
    (done, thread_seconds() - start)
}

/// The seconds of something that may fail.
pub(crate) fn seconds<T>(work: impl FnOnce() -> Result<T, BenchError>) -> Result<f64, BenchError> {
    let (done, seconds) = timed(work);
    done.map(|_| seconds)
}

/// A contender that did not give the expected result.
pub(crate) fn wrong(contender: impl Into<String>, input: impl Into<String>) -> BenchError {
    BenchError::WrongOutput {
        contender: contender.into(),
        file: input.into(),
        block: 0,
        reason: "its output is not that of the others".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Times, race, seconds, timed};
    use crate::BenchError;

    #[test]
    fn quantiles_of_few_values() {
        let times = |values: &[f64]| Times(values.iter().map(|value| vec![0.0, *value]).collect());
        assert!((times(&[3.0, 1.0, 2.0]).median(1) - 2.0).abs() < 1e-12);
        assert!((times(&[4.0, 1.0, 2.0, 3.0]).median(1) - 2.5).abs() < 1e-12);
        assert!((times(&[7.0]).quantile(1, 0.25) - 7.0).abs() < 1e-12);
        assert!((times(&[4.0, 1.0, 2.0, 3.0, 5.0]).quantile(1, 0.75) - 4.0).abs() < 1e-12);
        assert!(times(&[1.0]).median(2).is_nan());
    }

    #[test]
    fn every_contender_has_a_turn_in_every_round() {
        let turns = |order| {
            let mut said = String::new();
            let times = race(&mut ['a', 'b', 'c'], 4, order, |name| {
                said.push(*name);
                Ok(vec![f64::from(u32::from(*name))])
            });
            assert!((times.unwrap()[1].median(0) - 98.0).abs() < 1e-12);
            said
        };
        assert_eq!(turns(Order::AsGiven), "abcabcabcabc");
        let said = turns(Order::Random(1));
        assert_ne!(said, "abcabcabcabc");
        for round in said.as_bytes().chunks(3) {
            let mut round = round.to_vec();
            round.sort_unstable();
            assert_eq!(round, b"abc");
        }
        assert_eq!(said, turns(Order::Random(1)));
    }

    #[test]
    fn work_takes_time_and_failures_stay_failures() {
        let sum = || (0..2_000_000_u64).map(std::hint::black_box).sum::<u64>();
        let (sum, time) = timed(sum);
        assert!(sum == 1_999_999_000_000 && time > 0.0);
        let refused = || Err::<(), _>(BenchError::NoInput { what: "x".to_owned() });
        assert!(seconds(refused).is_err());
        assert!(
            race(&mut [1], 1, Order::AsGiven, |_| seconds(refused).map(|it| vec![it])).is_err()
        );
    }
}
