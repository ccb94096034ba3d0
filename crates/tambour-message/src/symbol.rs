//! What is coded: literals, lengths and distances as symbols, some with bits after them.

/// Shortest match.
pub(crate) const MATCH_MIN: usize = 3;
/// Classes of numbers below 2^25.
pub(crate) const CLASSES: usize = 100;
/// Numbers below this are their own class.
const PLAIN: u32 = 16;

/// The main alphabet: 256 literals, then the classes of match lengths, then the escape.
pub(crate) const MAIN_SYMBOLS: usize = 256 + CLASSES + 1;
/// Bits of a main symbol after the escape.
pub(crate) const MAIN_RAW_BITS: u32 = 9;
/// Symbol of the shortest match.
pub(crate) const LENGTHS: usize = 256;

/// Distances that are remembered.
pub(crate) const REPEATS: usize = 3;
/// How far from the newest distance is *near*.
pub(crate) const NEAR_MAX: usize = 8;
/// Symbol of the first class of distances: after the repeated and the near ones.
pub(crate) const DISTANCES: usize = REPEATS + 2 * NEAR_MAX;
/// The alphabet of distances, with its escape.
pub(crate) const DISTANCE_SYMBOLS: usize = DISTANCES + CLASSES + 1;
/// Bits of a distance symbol after the escape.
pub(crate) const DISTANCE_RAW_BITS: u32 = 7;

/// Number of tables for the main alphabet.
pub(crate) const CONTEXTS: usize = 8;

const _: () = assert!(MAIN_SYMBOLS <= 1 << MAIN_RAW_BITS, "raw symbols fit");
const _: () = assert!(DISTANCE_SYMBOLS <= 1 << DISTANCE_RAW_BITS, "raw symbols fit");

/// A number as a class and the bits that tell it from others of the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Classed {
    pub(crate) class: usize,
    pub(crate) bits: u32,
    pub(crate) count: u32,
}

/// Class and count of numbers up to 255.
#[expect(clippy::cast_possible_truncation, reason = "numbers below 256, and a hundred classes")]
const SMALL: [(u8, u8); 256] = {
    let mut small = [(0, 0); 256];
    let mut value = 0;
    while value < 256 {
        let found = computed(value as u32);
        small[value] = (found.class as u8, found.count as u8);
        value += 1;
    }
    small
};

/// The class of a number below 2^25: small ones by themselves, then four classes for every power of two.
#[inline(always)]
pub(crate) fn classed(value: u32) -> Classed {
    if let Some(&(class, count)) = SMALL.get(value as usize) {
        let count = u32::from(count);
        return Classed { class: usize::from(class), bits: value & ((1 << count) - 1), count };
    }
    computed(value)
}

#[inline(always)]
const fn computed(value: u32) -> Classed {
    if value < PLAIN {
        return Classed { class: value as usize, bits: 0, count: 0 };
    }
    let log = value.ilog2();
    let count = log - 2;
    let quarter = (value >> count) & 3;
    let class = (PLAIN + (log - 4) * 4 + quarter) as usize;
    Classed { class, bits: value & ((1 << count) - 1), count }
}

/// The smallest number of a class, and how many bits tell which number of the class it is.
#[inline(always)]
pub(crate) const fn class_start(class: usize) -> (u32, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "there are a hundred classes")]
    let class = class as u32;
    if class < PLAIN {
        return (class, 0);
    }
    let (log, quarter) = (4 + (class - PLAIN) / 4, (class - PLAIN) % 4);
    ((4 | quarter) << (log - 2), log - 2)
}

/// What the byte before tells about what comes next.
const BYTE_CLASS: [u8; 256] = {
    let mut classes = [3; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte {
            0x30..=0x39 => 0,
            0x61..=0x66 => 1,
            0x41..=0x5a | 0x67..=0x7a => 2,
            _ => 3,
        };
        byte += 1;
    }
    classes
};

/// The context of a main symbol after a literal of the message.
#[inline(always)]
pub(crate) const fn after_literal(literal: u8) -> usize {
    BYTE_CLASS[literal as usize] as usize + CONTEXTS / 2
}

/// What the context of a main symbol after a match, or at the start of a message, hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterMatch {
    /// The class of the byte before: of the first version of dictionaries.
    Byte,
    /// Nothing: the next symbol can be read before the match is copied.
    Nothing,
}

impl AfterMatch {
    /// The context after this byte.
    #[inline(always)]
    pub(crate) fn context(self, before: u8) -> usize {
        match self {
            Self::Byte => usize::from(BYTE_CLASS[usize::from(before)]),
            Self::Nothing => 0,
        }
    }
}

/// The distances used last, newest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recent(pub(crate) [usize; REPEATS]);

impl Recent {
    /// At the start of a message: the alignment with the pin, if there is one.
    pub(crate) fn new(pin_bytes: usize) -> Self {
        Self([pin_bytes.max(1), 1, 2])
    }

    /// Symbol and bits for a distance.
    #[inline(always)]
    pub(crate) fn symbol(&self, distance: usize) -> Classed {
        let plain = |class| Classed { class, bits: 0, count: 0 };
        if let Some(place) = self.0.iter().position(|&recent| recent == distance) {
            return plain(place);
        }
        let newest = self.0[0];
        if distance.abs_diff(newest) <= NEAR_MAX {
            let step = distance + NEAR_MAX - newest;
            return plain(REPEATS + step - usize::from(distance > newest));
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "dictionary and message are below 2^25"
        )]
        let found = classed((distance - 1) as u32);
        Classed { class: DISTANCES + found.class, ..found }
    }

    /// Remembers a distance. One that is near the newest replaces it.
    #[inline(always)]
    pub(crate) fn push(&mut self, symbol: usize, distance: usize) {
        match symbol {
            0 => {}
            1 => self.0 = [distance, self.0[0], self.0[2]],
            REPEATS..DISTANCES => self.0[0] = distance,
            _ => self.0 = [distance, self.0[0], self.0[1]],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, class_start, classed};

    #[test]
    fn classes_cover_all_numbers() {
        let mut last = 0;
        for value in (0..100_000).chain([(1 << 25) - 1, 1 << 24]) {
            let found = classed(value);
            let (start, count) = class_start(found.class);
            assert_eq!((start + found.bits, count), (value, found.count));
            assert!(found.class < CLASSES && found.class >= last || value == 1 << 24);
            last = found.class;
        }
    }
}
