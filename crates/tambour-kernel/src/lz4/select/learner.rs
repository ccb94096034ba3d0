//! Learns by trying: which of several choices decodes a stream fastest.
//!
//! A decoder can stop at any sequence and another one can go on. So the choices are timed *inside* the first blocks, a few
//! KiB each, and no work is wasted: a column of eight blocks already gains. What they cost there is cold and little. So
//! later, ever more rarely, there is a heat: each choice decodes a longer stretch in turn. What a heat says is only a
//! proposal: whole blocks in turns decide ([`Duel`](super::duel::Duel)), so that what is learned later never makes a stream
//! slower for long.

use super::duel::Duel;
use super::{Choice, Clock, Lane, Learned};

/// Room for choices; more are not tried.
const CHOICES_MAX: usize = 10;
/// Output per block and trial at the start: long enough for the branches of a choice to warm up, short enough to be cheap.
/// Blocks that have less than two of these are tried whole.
const FIRST_BYTES: usize = 3 << 10;
/// So often every choice is tried at the start. The first round is there to warm up, and to sort out.
const ROUNDS: usize = 2;
/// What a measurement of the first round weighs beside one of the second.
const FIRST_WEIGHT: f32 = 0.05;
/// Choices that are this much slower than the best in the first round are left out of the second. Cold choices differ much:
/// tables and code of some come from memory then.
const HOPELESS_COLD: f32 = 3.0;
/// Output per block with which a choice begins in a heat, untimed: its code, tables and predictors are cold.
const WARM_UP_BYTES: usize = 1 << 10;
/// Output per block that is timed in a heat. Blocks that have less than two stretches are timed whole.
const LATER_BYTES: usize = 8 << 10;
/// What earlier measurements weigh beside a later one.
const MEMORY: f32 = 0.5;
/// Choices that are this much slower than the best are left out of most heats,
const HOPELESS: f32 = 1.5;
/// but what seems to be this much slower was interrupted, and says nothing.
const IMPLAUSIBLE: f32 = 6.0;
/// After this many interruptions in a row, what comes next counts: the data has changed.
const INTERRUPTIONS_MAX: u32 = 3;
/// A later measurement may say at most this much more than what is known: one interruption dethrones nobody for long.
const OUTLIER: f32 = 1.5;
/// One heat in this many, the first one first, takes in the hopeless choices, too.
const FULL_HEAT: u32 = 4;
/// A choice that comes this near to the best has its duel with it.
const NEAR: f32 = 1.3;
/// Output before the first heat. Short columns never pay for it.
const FIRST_INTERVAL: usize = 256 << 10;
/// Output between later heats.
const INTERVAL_MAX: usize = 3 << 20;
/// Output per block of a duel's turn that says something.
const TURN_BYTES_MIN: usize = 512;

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

    /// Counts a measurement that says nothing about costs.
    fn count(&mut self, ticks: u64, bytes: usize) {
        self.calls += 1;
        self.ticks_total = self.ticks_total.saturating_add(ticks);
        self.bytes_total += bytes as u64;
    }

    /// Adds a measurement; what was known before counts `memory` times.
    fn add(&mut self, ticks: u64, bytes: usize, memory: f32) {
        self.count(ticks, bytes);
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
    /// Whether every lane can go on for `bytes` more.
    fn have(&self, bytes: usize) -> bool;
    /// Whether every lane can go on.
    fn are_open(&self) -> bool;
    /// Bytes that are written.
    fn written(&self) -> usize;
    /// Decodes about `bytes` more of every lane.
    fn advance(&mut self, choice: Choice, bytes: usize);
}

/// One block.
pub(super) struct One<'a, 'b>(pub(super) &'a mut Lane<'b>);

impl Lanes for One<'_, '_> {
    fn have(&self, bytes: usize) -> bool {
        self.0.is_open() && self.0.left() >= bytes
    }

    fn are_open(&self) -> bool {
        self.0.is_open()
    }

    fn written(&self) -> usize {
        self.0.written()
    }

    fn advance(&mut self, choice: Choice, bytes: usize) {
        choice.variant.advance(self.0, bytes);
    }
}

/// Two blocks.
pub(super) struct Both<'a, 'b, 'c>(pub(super) &'a mut Lane<'b>, pub(super) &'a mut Lane<'c>);

impl Lanes for Both<'_, '_, '_> {
    fn have(&self, bytes: usize) -> bool {
        self.are_open() && self.0.left() >= bytes && self.1.left() >= bytes
    }

    fn are_open(&self) -> bool {
        self.0.is_open() && self.1.is_open()
    }

    fn written(&self) -> usize {
        self.0.written() + self.1.written()
    }

    fn advance(&mut self, choice: Choice, bytes: usize) {
        choice.advance(self.0, self.1, bytes);
    }
}

/// The choices for single blocks or for pairs, and what is known about them.
pub(super) struct Learner {
    choices: [Choice; CHOICES_MAX],
    measured: [Measured; CHOICES_MAX],
    /// What whole blocks cost beside stretches, against the best choice: what a duel has found out.
    standing: [f32; CHOICES_MAX],
    count: usize,
    best: usize,
    /// Trials of the start that were made, of `ROUNDS * count`.
    trials: usize,
    /// Output so far, up to where the next heat begins.
    bytes: usize,
    next: usize,
    heats: u32,
    /// Choices that the heat under way has still to look at.
    entrants: usize,
    duel: Option<Duel>,
    /// Blocks in a row that a duel did not count.
    interruptions: u32,
}

impl Learner {
    /// Knows nothing; `start` is in use until it does.
    pub(super) fn new(start: Choice, choices: impl Iterator<Item = Choice>) -> Self {
        let mut list = [start; CHOICES_MAX];
        let mut count = 0;
        for (place, choice) in list.iter_mut().zip(choices) {
            *place = choice;
            count += 1;
        }
        let same = |choice: &Choice| choice.variant.name() == start.variant.name();
        Self {
            choices: list,
            measured: [Measured::default(); CHOICES_MAX],
            standing: [1.0; CHOICES_MAX],
            count,
            best: list[..count].iter().position(same).unwrap_or(0),
            trials: 0,
            bytes: 0,
            next: FIRST_INTERVAL,
            heats: 0,
            entrants: 0,
            duel: None,
            interruptions: 0,
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
            lanes: 1 + usize::from(choice.paired),
            in_use: k == self.best,
            calls: measured.calls,
            bytes: measured.bytes_total,
            ticks: measured.ticks_total,
        })
    }

    /// A block has begun: decodes on until one is closed, trying, comparing and timing where it is time to. Returns what is
    /// to decode the end of the block.
    pub(super) fn run(&mut self, lanes: &mut impl Lanes, clock: Clock) -> Choice {
        if self.count < 2 {
            lanes.advance(self.best(), usize::MAX);
            return self.best();
        }
        let before = lanes.written();
        let used = self.guide(lanes, clock);
        lanes.advance(self.choices[used], usize::MAX);
        self.bytes = self.bytes.saturating_add(lanes.written() - before);
        self.choices[used]
    }

    /// Does what is to be done at this block besides decoding it; returns with what to go on.
    fn guide(&mut self, lanes: &mut impl Lanes, clock: Clock) -> usize {
        if self.trials < ROUNDS * self.count {
            self.try_all(lanes, clock);
        } else if let Some(duel) = self.duel {
            let (k, choice) = (duel.turn_of(), self.choices[duel.turn_of()]);
            if let Some((ticks, bytes)) = whole(choice, lanes, clock) {
                self.measured[k].count(ticks, bytes);
                self.referee(duel, ticks, bytes);
            }
            return k;
        } else {
            if self.bytes >= self.next {
                self.begin_heat();
            }
            if self.entrants > 0 {
                return self.heat(lanes, clock);
            }
        }
        self.best
    }

    /// The start: every choice in turn, each on its own stretch, then those near the best once more. Goes on in the next
    /// block when this one is too short, and takes blocks whole that are too short for any stretch.
    fn try_all(&mut self, lanes: &mut impl Lanes, clock: Clock) {
        let is_short = !lanes.have(2 * FIRST_BYTES);
        while self.trials < ROUNDS * self.count {
            let (round, k) = (self.trials / self.count, self.trials % self.count);
            let known = self.measured[k].cost();
            let best = self.measured[self.best].cost();
            let hopeless = known > HOPELESS_COLD * best && known < IMPLAUSIBLE * best;
            if round > 0 && hopeless {
                self.trials += 1;
                continue;
            }
            let measured = if is_short && lanes.are_open() {
                whole(self.choices[k], lanes, clock)
            } else if lanes.have(2 * FIRST_BYTES) {
                trial(self.choices[k], lanes, FIRST_BYTES, clock)
            } else {
                return;
            };
            if let Some((ticks, bytes)) = measured
                && ticks as f32 <= IMPLAUSIBLE * bytes as f32 * best
            {
                self.measured[k].add(ticks, bytes, FIRST_WEIGHT);
            }
            self.trials += 1;
            self.best = self.fastest();
        }
        self.challenge();
    }

    fn begin_heat(&mut self) {
        self.heats = self.heats.wrapping_add(1);
        self.next = self.bytes.saturating_add(self.bytes.min(INTERVAL_MAX));
        self.entrants = self.count;
        for standing in &mut self.standing {
            // What was found out grows old.
            *standing = 1.0 + 0.9 * (*standing - 1.0);
        }
    }

    /// The choices in turn, each on a stretch of its own, so that no work is done twice. Goes on in the next block when this
    /// one is too short, and takes short blocks whole; returns with what to go on.
    fn heat(&mut self, lanes: &mut impl Lanes, clock: Clock) -> usize {
        let full = self.heats % FULL_HEAT == 1;
        let stretch = WARM_UP_BYTES + LATER_BYTES;
        let is_short = !lanes.have(2 * stretch);
        while self.entrants > 0 {
            // Each time another one has the start of a block, where there is little to refer to.
            let k = (self.entrants + self.heats as usize) % self.count;
            if self.cost(k) > HOPELESS * self.cost(self.best) && !full {
                self.entrants -= 1;
                continue;
            }
            let measured = if is_short && lanes.are_open() {
                self.entrants -= 1;
                whole(self.choices[k], lanes, clock)
            } else if lanes.have(stretch) {
                self.entrants -= 1;
                lanes.advance(self.choices[k], WARM_UP_BYTES);
                trial(self.choices[k], lanes, LATER_BYTES, clock)
            } else {
                return self.best;
            };
            if let Some((ticks, bytes)) = measured {
                self.measured[k].add(ticks, bytes, MEMORY);
            }
        }
        self.challenge();
        self.best
    }

    /// Has whole blocks decide between the best choice and the one that comes next, or seems to be better.
    fn challenge(&mut self) {
        let others = (0..self.count).filter(|k| *k != self.best);
        let challenger = others.min_by(|a, b| self.cost(*a).total_cmp(&self.cost(*b)));
        self.duel = challenger
            .filter(|k| self.cost(*k) < NEAR * self.cost(self.best))
            .map(|challenger| Duel::new(self.best, challenger));
    }

    /// Takes down what a turn of a duel has cost; the last one decides.
    fn referee(&mut self, mut duel: Duel, ticks: u64, bytes: usize) {
        if ticks as f32 > IMPLAUSIBLE * bytes as f32 * self.cost(self.best)
            && self.interruptions < INTERRUPTIONS_MAX
        {
            self.interruptions += 1;
            return;
        }
        self.interruptions = 0;
        duel.add(ticks, bytes);
        self.duel = Some(duel);
        let Some(ratio) = duel.decision() else { return };
        self.duel = None;
        let Duel { champion, challenger, .. } = duel;
        let standing = ratio * self.cost(champion) / self.measured[challenger].cost();
        if standing.is_finite() {
            self.standing[challenger] = standing.clamp(0.25, 4.0);
        }
        if ratio < 1.0 {
            self.best = challenger;
        }
    }

    fn fastest(&self) -> usize {
        let costs = (0..self.count).min_by(|a, b| self.cost(*a).total_cmp(&self.cost(*b)));
        costs.unwrap_or(self.best)
    }

    /// What a byte costs by all that is known.
    fn cost(&self, k: usize) -> f32 {
        self.measured[k].cost() * self.standing[k]
    }
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

/// The same until a lane is closed.
fn whole(choice: Choice, lanes: &mut impl Lanes, clock: Clock) -> Option<(u64, usize)> {
    let before = lanes.written();
    let start = clock();
    lanes.advance(choice, usize::MAX);
    let ticks = clock().wrapping_sub(start);
    let written = lanes.written() - before;
    (written >= TURN_BYTES_MIN).then_some((ticks, written))
}
