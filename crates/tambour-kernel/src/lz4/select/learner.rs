//! Learns by trying: which of several choices decodes a stream fastest.
//!
//! A decoder can stop at any sequence and another one can go on. So the choices are timed *inside* the first blocks, a few
//! KiB each, and no work is wasted: a column of eight blocks already gains. Later, ever more rarely, they are compared on
//! one and the same stretch: a lane is put back and the next choice writes the same bytes again, which is fair even where
//! the data changes from place to place.

use super::{Choice, Clock, Lane, Learned};

/// Room for choices; more are not tried.
const CHOICES_MAX: usize = 8;
/// Output per block and trial at the start: long enough for the branches of a choice to warm up, short enough to be cheap.
const FIRST_BYTES: usize = 3 << 10;
/// Output per block with which a choice begins in a comparison, untimed: its code, tables and predictors are cold.
const WARM_UP_BYTES: usize = 512;
/// Output per block that is timed in a comparison.
const LATER_BYTES: usize = 3 << 10;
/// So often every choice is tried at the start; the first round is there to warm up, and to sort out.
const ROUNDS: usize = 2;
/// What a measurement of the first round weighs beside one of the second.
const FIRST_WEIGHT: f32 = 0.2;
/// Choices that are this much slower than the best in the first round are left out of the second. Cold choices differ much.
const HOPELESS_COLD: f32 = 1.7;
/// What earlier measurements weigh beside a later one.
const MEMORY: f32 = 0.6;
/// Choices that are this much slower than the best are left out of most comparisons,
const HOPELESS: f32 = 1.5;
/// but what seems to be this much slower was interrupted, and says nothing.
const IMPLAUSIBLE: f32 = 6.0;
/// A later measurement may say at most this much more than what is known: one interruption dethrones nobody for long.
const OUTLIER: f32 = 1.5;
/// Blocks that decode into this many times their size have long sequences, with lengths that are hard to predict. A wrong
/// prediction holds up both lanes of a pair, so that one block at a time may be faster.
const DENSE_RATIO: usize = 3;
/// What is tried where sequences are long has to be this much better: it is the exception.
const HANDICAP: f32 = 1.08;
/// One comparison in this many, the second one first, takes in the hopeless choices, too.
const FULL_COMPARISON: u32 = 4;

/// What was measured of one choice.
#[derive(Clone, Copy, Default)]
struct Measured {
    /// Weighted sums: what is old fades.
    ticks: f32,
    bytes: f32,
    /// Plain sums, for [`Learned`].
    calls: u64,
    ticks_total: u64,
    bytes_total: u64,
}

impl Measured {
    /// Ticks per byte.
    fn cost(&self) -> f32 {
        if self.bytes > 0.0 { self.ticks / self.bytes } else { f32::MAX }
    }

    /// Adds a measurement; what was known before counts `memory` times.
    fn add(&mut self, ticks: u64, bytes: usize, memory: f32) {
        self.calls += 1;
        self.ticks_total = self.ticks_total.saturating_add(ticks);
        self.bytes_total += bytes as u64;
        let (mut ticks, bytes) = (ticks as f32, bytes as f32);
        let known = self.cost() * bytes;
        if known > IMPLAUSIBLE * ticks {
            // Then it was the earlier measurement that was interrupted.
            (self.ticks, self.bytes) = (0.0, 0.0);
        } else if self.bytes > 0.0 {
            ticks = ticks.min(OUTLIER * known);
        }
        self.ticks = memory * self.ticks + ticks;
        self.bytes = memory * self.bytes + bytes;
    }
}

/// One block or two on their way.
pub(super) trait Lanes {
    /// A copy of where they are.
    type Place: Copy;
    fn place(&self) -> Self::Place;
    fn put_back(&mut self, place: Self::Place);
    /// Whether every lane can go on for `bytes` more.
    fn have(&self, bytes: usize) -> bool;
    /// Whether every lane can go on.
    fn are_open(&self) -> bool;
    /// Bytes that are written.
    fn written(&self) -> usize;
    /// Whether what is left has long sequences.
    fn are_dense(&self) -> bool;
    /// Decodes about `bytes` more of every lane.
    fn advance(&mut self, choice: Choice, bytes: usize);
}

/// One block.
pub(super) struct One<'a, 'b>(pub(super) &'a mut Lane<'b>);

impl<'b> Lanes for One<'_, 'b> {
    type Place = Lane<'b>;

    fn place(&self) -> Lane<'b> {
        *self.0
    }

    fn put_back(&mut self, place: Lane<'b>) {
        *self.0 = place;
    }

    fn have(&self, bytes: usize) -> bool {
        self.0.is_open() && self.0.left() >= bytes
    }

    fn are_open(&self) -> bool {
        self.0.is_open()
    }

    fn written(&self) -> usize {
        self.0.written()
    }

    fn are_dense(&self) -> bool {
        is_dense(self.0)
    }

    fn advance(&mut self, choice: Choice, bytes: usize) {
        choice.variant.advance(self.0, bytes);
    }
}

/// Two blocks.
pub(super) struct Both<'a, 'b, 'c>(pub(super) &'a mut Lane<'b>, pub(super) &'a mut Lane<'c>);

impl<'b, 'c> Lanes for Both<'_, 'b, 'c> {
    type Place = (Lane<'b>, Lane<'c>);

    fn place(&self) -> Self::Place {
        (*self.0, *self.1)
    }

    fn put_back(&mut self, place: Self::Place) {
        (*self.0, *self.1) = place;
    }

    fn have(&self, bytes: usize) -> bool {
        self.are_open() && self.0.left() >= bytes && self.1.left() >= bytes
    }

    fn are_open(&self) -> bool {
        self.0.is_open() && self.1.is_open()
    }

    fn written(&self) -> usize {
        self.0.written() + self.1.written()
    }

    fn are_dense(&self) -> bool {
        is_dense(self.0) && is_dense(self.1)
    }

    fn advance(&mut self, choice: Choice, bytes: usize) {
        choice.advance(self.0, self.1, bytes);
    }
}

/// The choices for single blocks or for pairs, and what is known about them.
pub(super) struct Learner {
    choices: [Choice; CHOICES_MAX],
    measured: [Measured; CHOICES_MAX],
    count: usize,
    /// This many of them are tried always, the others where sequences are long.
    always: usize,
    best: usize,
    /// Trials of the start that are behind us, of `ROUNDS * count`.
    trials: usize,
    /// Blocks that have begun.
    blocks: u32,
    /// The block of each lane at whose start the choices are compared next.
    next: u32,
    comparisons: u32,
}

/// The block of each lane at whose start the choices are compared first. Short columns never pay for it.
const FIRST_COMPARISON: u32 = 8;
/// Blocks of each lane between later comparisons.
const INTERVAL_MAX: u32 = 32;

/// How many blocks a choice takes at once.
fn width(choice: Choice) -> u32 {
    1 + u32::from(choice.paired)
}

impl Learner {
    /// Knows nothing; `start` is in use until it does. The choices `if_dense` are tried where
    /// sequences are long.
    pub(super) fn new(
        start: Choice,
        choices: impl Iterator<Item = Choice>,
        if_dense: impl Iterator<Item = Choice>,
    ) -> Self {
        let mut list = [start; CHOICES_MAX];
        let mut count = 0;
        let places = list.iter_mut();
        let mut always = 0;
        let choices = choices.inspect(|_| always += 1).chain(if_dense);
        for (place, choice) in places.zip(choices) {
            *place = choice;
            count += 1;
        }
        let same = |choice: &Choice| choice.variant.name() == start.variant.name();
        Self {
            choices: list,
            measured: [Measured::default(); CHOICES_MAX],
            count,
            always: always.min(count),
            best: list[..count].iter().position(same).unwrap_or(0),
            trials: 0,
            blocks: 0,
            next: FIRST_COMPARISON * width(start),
            comparisons: 0,
        }
    }

    /// The choice in use.
    pub(super) fn best(&self) -> Choice {
        self.choices[self.best]
    }

    /// What was measured.
    pub(super) fn learned(&self) -> impl Iterator<Item = Learned> {
        let measured = self.choices.iter().zip(&self.measured).take(self.count).enumerate();
        measured.map(|(k, (choice, measured))| Learned {
            name: choice.variant.name(),
            lanes: width(*choice) as usize,
            in_use: k == self.best,
            calls: measured.calls,
            bytes: measured.bytes_total,
            ticks: measured.ticks_total,
        })
    }

    /// A block has begun: tries and compares if it is time to, which decodes a part of it. Returns with what to go on.
    pub(super) fn guide(&mut self, lanes: &mut impl Lanes, clock: Clock) -> Choice {
        if self.count > 1 {
            if self.trials < ROUNDS * self.count {
                self.try_all(lanes, clock);
            } else if self.blocks >= self.next {
                self.compare(lanes, clock);
            }
            self.blocks = self.blocks.wrapping_add(1);
        }
        self.best()
    }

    /// The start: every choice in turn, each on its own stretch, then those near the best once more. Goes on in the next
    /// block when this one is too short.
    fn try_all(&mut self, lanes: &mut impl Lanes, clock: Clock) {
        while self.trials < ROUNDS * self.count {
            let (round, k) = (self.trials / self.count, self.trials % self.count);
            let known = self.measured[k].cost();
            let best = self.measured[self.best].cost();
            let hopeless = known > HOPELESS_COLD * best && known < IMPLAUSIBLE * best;
            if round > 0 && hopeless || !self.suits(k, lanes) {
                self.trials += 1;
                continue;
            }
            if !lanes.have(2 * FIRST_BYTES) {
                break;
            }
            if let Some((ticks, bytes)) = trial(self.choices[k], lanes, FIRST_BYTES, clock)
                && ticks as f32 <= IMPLAUSIBLE * bytes as f32 * best
            {
                self.measured[k].add(ticks, bytes, FIRST_WEIGHT);
            }
            self.trials += 1;
            self.choose();
        }
    }

    /// All choices on the same stretch.
    fn compare(&mut self, lanes: &mut impl Lanes, clock: Clock) {
        if !lanes.have(WARM_UP_BYTES + 2 * LATER_BYTES) {
            return;
        }
        self.comparisons = self.comparisons.wrapping_add(1);
        let interval = INTERVAL_MAX * width(self.best());
        self.next = self.blocks.saturating_add(self.blocks.min(interval));
        let start = lanes.place();
        let full = self.comparisons % FULL_COMPARISON == 2;
        for k in 0..self.count {
            // Each time another one pays for being the first.
            let k = (k + self.comparisons as usize) % self.count;
            let hopeless = self.measured[k].cost() > HOPELESS * self.measured[self.best].cost();
            if !self.suits(k, lanes) || hopeless && !full {
                continue;
            }
            lanes.put_back(start);
            lanes.advance(self.choices[k], WARM_UP_BYTES);
            let Some((ticks, bytes)) = trial(self.choices[k], lanes, LATER_BYTES, clock) else {
                // A sequence as long as the block: nothing depends on the choice, and all work was done twice.
                return;
            };
            self.measured[k].add(ticks, bytes, MEMORY);
        }
        self.choose();
    }

    /// Whether a choice is to be tried on such blocks.
    fn suits(&self, k: usize, lanes: &impl Lanes) -> bool {
        k < self.always || lanes.are_dense()
    }

    fn choose(&mut self) {
        for k in 0..self.count {
            if self.handicapped_cost(k) < self.handicapped_cost(self.best) {
                self.best = k;
            }
        }
    }

    /// What is tried on some blocks only has to be better than a little.
    fn handicapped_cost(&self, k: usize) -> f32 {
        self.measured[k].cost() * if k < self.always { 1.0 } else { HANDICAP }
    }
}

fn is_dense(lane: &Lane<'_>) -> bool {
    lane.source_left() * DENSE_RATIO < lane.left()
}

/// Ticks and output of one choice over about `bytes` of each lane; `None` when that says nothing about it.
fn trial(
    choice: Choice,
    lanes: &mut impl Lanes,
    bytes: usize,
    clock: Clock,
) -> Option<(u64, usize)> {
    let before = lanes.written();
    let start = clock();
    lanes.advance(choice, bytes);
    let ticks = clock().wrapping_sub(start);
    let written = lanes.written() - before;
    // A block that ended, and long sequences, would be compared with other work.
    (lanes.are_open() && (bytes / 2..=16 * bytes).contains(&written)).then_some((ticks, written))
}
