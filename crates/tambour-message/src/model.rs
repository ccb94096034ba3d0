//! The codes of a dictionary: what it knows about messages beside their text.

use crate::MessageError;
use crate::code::Code;
use crate::symbol::{
    AfterMatch, CLASSES, CONTEXTS, DISTANCE_RAW_BITS, DISTANCE_SYMBOLS, DISTANCES, LENGTHS,
    MAIN_RAW_BITS, MAIN_SYMBOLS, NEAR_MAX, REPEATS, class_start,
};
use crate::table::{DistanceTable, MainTable};

/// How often symbols were seen.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    pub(crate) main: Vec<Vec<u32>>,
    pub(crate) distances: Vec<u32>,
}

impl Counts {
    pub(crate) fn new() -> Self {
        let main = vec![vec![0; MAIN_SYMBOLS - 1]; CONTEXTS];
        Self { main, distances: vec![0; DISTANCE_SYMBOLS - 1] }
    }

    /// What is assumed before anything is known: text, matches of all lengths, and mostly repeated distances.
    pub(crate) fn assumed() -> Self {
        let mut counts = Self::new();
        for main in &mut counts.main {
            main[0x20..0x7f].fill(16);
            main[LENGTHS..LENGTHS + 40].fill(16);
        }
        counts.distances.fill(4);
        counts.distances[..REPEATS + 2 * NEAR_MAX].fill(8);
        counts.distances[0] = 200;
        counts
    }

    /// Whether nothing was seen.
    pub(crate) fn is_empty(&self) -> bool {
        self.main.iter().flatten().all(|&count| count == 0)
    }
}

/// One code per context, and one for distances.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) main: Vec<Code>,
    pub(crate) distance: Code,
    /// What chooses a main code after a match.
    pub(crate) after_match: AfterMatch,
    pub(crate) main_table: MainTable,
    pub(crate) distance_table: DistanceTable,
    /// What is written for each symbol, by context.
    pub(crate) main_words: Vec<u32>,
    /// Bits that each symbol of a distance takes, with the bits after it.
    pub(crate) distance_costs: Vec<u8>,
    /// The same for the classes of lengths, the cheapest of all contexts.
    pub(crate) length_costs: Vec<u8>,
}

impl Model {
    pub(crate) fn from_counts(counts: &Counts) -> Result<Self, MessageError> {
        let main = counts.main.iter().map(|counts| Code::from_counts(counts, MAIN_RAW_BITS));
        let distance = Code::from_counts(&counts.distances, DISTANCE_RAW_BITS)?;
        Ok(Self::new(main.collect::<Result<_, _>>()?, distance, AfterMatch::Nothing))
    }

    fn new(main: Vec<Code>, distance: Code, after_match: AfterMatch) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "at most 22 bits")]
        let extra = |class: usize| class_start(class).1 as u8;
        let mut distance_costs = distance.costs()[..DISTANCE_SYMBOLS - 1].to_vec();
        for class in 0..CLASSES {
            distance_costs[DISTANCES + class] += extra(class);
        }
        let length = |class: usize| {
            let costs = main.iter().map(|code| code.costs()[LENGTHS + class]);
            costs.min().unwrap_or(0) + extra(class)
        };
        let length_costs = (0..CLASSES).map(length).collect();
        let main_table = MainTable::new(&main);
        let distance_table = DistanceTable::new(&distance);
        let main_words = main.iter().flat_map(|code| code.words().iter().copied()).collect();
        Self {
            main,
            distance,
            after_match,
            main_table,
            distance_table,
            main_words,
            distance_costs,
            length_costs,
        }
    }

    /// Bits that symbols take which were counted so.
    pub(crate) fn bits(&self, counts: &Counts) -> u64 {
        let extra = |class: usize| u64::from(class_start(class).1);
        let sum = |costs: &[u8], counts: &[u32]| -> u64 {
            costs.iter().zip(counts).map(|(cost, count)| u64::from(*cost) * u64::from(*count)).sum()
        };
        let mains: u64 = self
            .main
            .iter()
            .zip(&counts.main)
            .map(|(code, counts)| {
                let lengths = counts[LENGTHS..].iter().enumerate();
                let behind = lengths.map(|(class, count)| extra(class) * u64::from(*count));
                sum(code.costs(), counts) + behind.sum::<u64>()
            })
            .sum();
        // Costs of distances count what is after them.
        mains + sum(&self.distance_costs, &counts.distances)
    }

    /// Bytes that the codes take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let codes: usize = self.main.iter().chain([&self.distance]).map(Code::memory_bytes).sum();
        let tables = self.main_table.memory_bytes() + self.distance_table.memory_bytes();
        codes + tables + self.main_words.len() * size_of::<u32>()
    }

    /// Lengths of all codes, two to a byte.
    pub(crate) fn store(&self, target: &mut Vec<u8>) {
        let codes = self.main.iter().chain([&self.distance]);
        let lengths: Vec<u8> = codes.flat_map(|code| code.lengths().iter().copied()).collect();
        for pair in lengths.chunks(2) {
            target.push(pair[0] | pair.get(1).map_or(0, |length| length << 4));
        }
    }

    /// Bytes that [`Model::store`] writes.
    pub(crate) const STORED_BYTES: usize = (CONTEXTS * MAIN_SYMBOLS + DISTANCE_SYMBOLS).div_ceil(2);

    /// Reads [`Model::STORED_BYTES`].
    pub(crate) fn load(source: &[u8], after_match: AfterMatch) -> Result<Self, MessageError> {
        let lengths: Vec<u8> = source.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect();
        let (main, distance) = lengths.split_at(CONTEXTS * MAIN_SYMBOLS);
        let main = main
            .chunks(MAIN_SYMBOLS)
            .map(|lengths| Code::from_lengths(lengths.to_vec(), MAIN_RAW_BITS))
            .collect::<Result<_, _>>()?;
        let distance =
            Code::from_lengths(distance[..DISTANCE_SYMBOLS].to_vec(), DISTANCE_RAW_BITS)?;
        Ok(Self::new(main, distance, after_match))
    }
}

#[cfg(test)]
mod tests {
    use super::{AfterMatch, Counts, Model};

    #[test]
    fn a_model_is_stored_and_loaded() {
        let model = Model::from_counts(&Counts::assumed()).unwrap();
        let mut bytes = Vec::new();
        model.store(&mut bytes);
        assert_eq!(bytes.len(), Model::STORED_BYTES);
        let again = Model::load(&bytes, AfterMatch::Nothing).unwrap();
        assert_eq!(again.distance_costs, model.distance_costs);
        assert_eq!(again.length_costs, model.length_costs);
        assert!(Counts::new().is_empty() && !Counts::assumed().is_empty());
    }
}
