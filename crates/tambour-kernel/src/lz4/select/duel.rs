//! Two choices in turns, each with whole blocks: which of them is faster, and by how much.

/// Output of a turn, at least: many small blocks, or one.
const TURN_BYTES: usize = 16 << 10;
/// Turns of both, one after the other.
const EXCHANGES: usize = 3;
/// A challenger that loses two exchanges by this much has lost.
const CLEAR: f32 = 1.15;

/// Two choices and what they have cost so far.
#[derive(Clone, Copy)]
pub(super) struct Duel {
    pub(super) champion: usize,
    pub(super) challenger: usize,
    /// Turns that are over.
    turns: usize,
    /// Of the turn that is under way and the one before.
    ticks: [f32; 2],
    bytes: [f32; 2],
    /// Cost of the challenger over that of the champion, of each exchange.
    ratios: [f32; EXCHANGES],
}

impl Duel {
    pub(super) fn new(champion: usize, challenger: usize) -> Self {
        let ratios = [1.0; EXCHANGES];
        Self { champion, challenger, turns: 0, ticks: [0.0; 2], bytes: [0.0; 2], ratios }
    }

    /// Whose turn it is. Who begins changes: what comes second finds the caches warm.
    pub(super) fn turn_of(&self) -> usize {
        if self.side() == 0 { self.champion } else { self.challenger }
    }

    fn side(&self) -> usize {
        (self.turns + self.turns / 2) % 2
    }

    /// What a block of this turn has cost.
    pub(super) fn add(&mut self, ticks: u64, bytes: usize) {
        let side = self.side();
        self.ticks[side] += ticks as f32;
        self.bytes[side] += bytes as f32;
        if self.bytes[side] < TURN_BYTES as f32 {
            return;
        }
        if self.turns % 2 == 1 {
            let cost = |side: usize| self.ticks[side] / self.bytes[side];
            let ratio = cost(1) / cost(0);
            // A clock that stands still says nothing.
            self.ratios[self.turns / 2] = if ratio.is_finite() { ratio } else { 1.0 };
            (self.ticks, self.bytes) = ([0.0; 2], [0.0; 2]);
        }
        self.turns += 1;
    }

    /// The middle one of the ratios, once it is decided.
    pub(super) fn decision(&self) -> Option<f32> {
        let [first, second, third] = self.ratios;
        if self.turns == 4 && first > CLEAR && second > CLEAR {
            return Some(first.min(second));
        }
        (self.turns == 2 * EXCHANGES).then(|| first.max(second).min(first.min(second).max(third)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Duel, TURN_BYTES};

    /// Fights with blocks of these bytes; what a byte costs of champion and challenger, turn by turn.
    fn fight(block: usize, costs: [[u64; 2]; 3]) -> (Option<f32>, usize) {
        let mut duel = Duel::new(4, 7);
        let mut blocks = 0;
        while duel.decision().is_none() {
            let side = usize::from(duel.turn_of() == 7);
            let exchange = (blocks * block.min(TURN_BYTES) / TURN_BYTES / 2).min(2);
            duel.add(costs[exchange][side] * block as u64, block);
            blocks += 1;
        }
        (duel.decision(), blocks)
    }

    #[test]
    fn the_middle_exchange_decides() {
        assert_eq!(fight(TURN_BYTES, [[10, 5], [10, 90], [10, 8]]), (Some(0.8), 6));
        assert_eq!(fight(TURN_BYTES, [[10, 11], [10, 9], [10, 10]]), (Some(1.0), 6));
        assert_eq!(fight(1 << 20, [[10, 12], [10, 5], [10, 15]]), (Some(1.2), 6));
    }

    #[test]
    fn who_loses_clearly_is_let_go() {
        assert_eq!(fight(TURN_BYTES, [[10, 12], [10, 13], [10, 1]]), (Some(1.2), 4));
    }

    #[test]
    fn small_blocks_make_one_turn() {
        assert_eq!(fight(TURN_BYTES / 4, [[10, 9]; 3]), (Some(0.9), 24));
    }

    #[test]
    fn a_clock_that_stands_still_decides_nothing() {
        assert_eq!(fight(TURN_BYTES, [[0, 0]; 3]), (Some(1.0), 6));
    }
}
