//! The three numbers of a sequence: their codes, and the tables that need no description (RFC 8878, 3.1.1.3.2.1 and .2.2).

use super::fse::Table;

/// The three numbers that a sequence is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Number of literals.
    Literals,
    /// How far back the match begins.
    Offset,
    /// Length of the match.
    Match,
}

/// Codes of literal lengths: 0 to 15 are the lengths themselves.
const LITERALS: [(u32, u8); 36] =
    values(0, &[1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
/// Codes of match lengths: 0 to 31 are the lengths from the shortest, 3.
const MATCHES: [(u32, u8); 53] =
    values(3, &[1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);

const LITERALS_SHARES: [i16; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
];
const OFFSET_SHARES: [i16; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];
const MATCH_SHARES: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];

/// The smallest value and the extra bits of each code. The last codes have the extra bits of `bits`, those before stand for
/// one value; each code begins where the one before ends.
const fn values<const N: usize>(start: u32, bits: &[u8]) -> [(u32, u8); N] {
    let mut values = [(0, 0); N];
    let mut value = start;
    let mut code = 0;
    while code < N {
        let extra = if code + bits.len() < N { 0 } else { bits[code + bits.len() - N] };
        values[code] = (value, extra);
        value += 1 << extra;
        code += 1;
    }
    values
}

impl Field {
    /// In the order of their tables.
    pub const ALL: [Self; 3] = [Self::Literals, Self::Offset, Self::Match];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Literals => "literals",
            Self::Offset => "offset",
            Self::Match => "match",
        }
    }

    /// Logarithm of the largest table.
    pub(super) fn log_max(self) -> u32 {
        if self == Self::Offset { 8 } else { 9 }
    }

    /// The largest code.
    pub(super) fn code_max(self) -> u8 {
        match self {
            Self::Literals => 35,
            Self::Offset => 31,
            Self::Match => 52,
        }
    }

    /// The table that needs no description.
    pub(super) fn predefined(self) -> Table {
        match self {
            Self::Literals => Table::new(6, &LITERALS_SHARES),
            Self::Offset => Table::new(5, &OFFSET_SHARES),
            Self::Match => Table::new(6, &MATCH_SHARES),
        }
    }

    /// Smallest value of a code, and how many bits are read and added.
    pub(super) fn value(self, code: u8) -> (u32, u32) {
        let listed = |values: &[(u32, u8)]| {
            let (value, bits) = values.get(usize::from(code)).copied().unwrap_or_default();
            (value, u32::from(bits))
        };
        match self {
            Self::Literals => listed(&LITERALS),
            Self::Match => listed(&MATCHES),
            Self::Offset => (1 << code.min(31), u32::from(code.min(31))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Field;

    #[test]
    fn codes_have_the_values_of_the_format() {
        let literals = [(15, 15, 0), (16, 16, 1), (24, 48, 4), (25, 64, 6), (35, 65_536, 16)];
        for (code, value, bits) in literals {
            assert_eq!(Field::Literals.value(code), (value, bits));
        }
        let matches =
            [(0, 3, 0), (31, 34, 0), (32, 35, 1), (42, 99, 5), (43, 131, 7), (52, 65_539, 16)];
        for (code, value, bits) in matches {
            assert_eq!(Field::Match.value(code), (value, bits));
        }
        assert_eq!(Field::Offset.value(5), (32, 5));
    }

    #[test]
    fn predefined_tables_are_whole() {
        for (field, log) in [(Field::Literals, 6), (Field::Offset, 5), (Field::Match, 6)] {
            let table = field.predefined();
            assert_eq!(table.log(), log);
            assert!(table.symbol_max() <= field.code_max());
        }
    }
}
