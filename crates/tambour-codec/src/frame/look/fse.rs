//! Finite-state entropy, zstd's coder of small numbers: table descriptions and the tables made of them (RFC 8878, 4.1).

use super::bits::{Backward, Fault, Forward};

/// Smallest logarithm of a table's size.
const LOG_MIN: u32 = 5;

/// A state: what it stands for, and how the next one is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// The symbol.
    pub(super) symbol: u8,
    /// This many bits are read …
    pub(super) bits: u32,
    /// … and added to this.
    base: u32,
}

/// A decoding table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    log: u32,
    cells: Vec<Cell>,
}

impl Table {
    /// A table of one symbol, which takes no bits.
    pub(super) fn run(symbol: u8) -> Self {
        Self { log: 0, cells: vec![Cell { symbol, ..Cell::default() }] }
    }

    /// Spreads the symbols over the states: `shares[s]` of them are of symbol s, and one for a share of -1 ("less than
    /// one"). The shares add up to the size of the table, which callers see to.
    pub(super) fn new(log: u32, shares: &[i16]) -> Self {
        let size = 1_usize << log;
        let mut cells = vec![Cell::default(); size];
        let mut free = size;
        let mut symbols = (0_u8..=u8::MAX).zip(shares);
        for (symbol, share) in symbols.by_ref() {
            if *share == -1 {
                free -= 1;
                cells[free].symbol = symbol;
            }
        }
        let step = (size >> 1) + (size >> 3) + 3;
        let mut at = 0;
        for (symbol, share) in (0_u8..=u8::MAX).zip(shares) {
            for _ in 0..*share {
                cells[at].symbol = symbol;
                at = (at + step) & (size - 1);
                while at >= free {
                    at = (at + step) & (size - 1);
                }
            }
        }
        let mut next: Vec<u32> =
            shares.iter().map(|share| u32::from(share.unsigned_abs())).collect();
        for cell in &mut cells {
            let state = &mut next[usize::from(cell.symbol)];
            cell.bits = log - state.ilog2();
            cell.base = (*state << cell.bits) - (1 << log);
            *state += 1;
        }
        Self { log, cells }
    }

    /// Reads a description for symbols up to `symbol_max` and tables up to 2^`log_max`. Returns the table and the bytes that
    /// describe it.
    pub(super) fn read(bytes: &[u8], log_max: u32, symbol_max: u8) -> Result<(Self, usize), Fault> {
        let mut source = Forward::new(bytes);
        let log = source.peek(4) + LOG_MIN;
        source.consume(4)?;
        if log > log_max {
            return Err(Fault::new(0, "a table is larger than the format allows"));
        }
        let mut shares: Vec<i16> = Vec::with_capacity(usize::from(symbol_max) + 1);
        let mut left = 1_u32 << log;
        while left > 0 {
            if shares.len() > usize::from(symbol_max) {
                return Err(Fault::new(source.bytes_taken(), "a table has too many symbols"));
            }
            let share = share(&mut source, left)?;
            left -= u32::from(share.unsigned_abs());
            shares.push(share);
            if share == 0 {
                zeros(&mut source, &mut shares, symbol_max)?;
            }
        }
        Ok((Self::new(log, &shares), source.bytes_taken()))
    }

    /// Logarithm of the number of states.
    pub(super) fn log(&self) -> u32 {
        self.log
    }

    /// The largest symbol in it.
    #[cfg(test)]
    pub(super) fn symbol_max(&self) -> u8 {
        self.cells.iter().map(|cell| cell.symbol).max().unwrap_or_default()
    }

    /// What a state stands for. States are those that [`Cell::next`] gives, or fewer than 2^log.
    pub(super) fn cell(&self, state: u32) -> Cell {
        self.cells.get(state as usize).copied().unwrap_or_default()
    }
}

impl Cell {
    /// The state that follows with these bits.
    pub(super) fn next(self, bits: u32) -> u32 {
        self.base + bits
    }
}

/// Reads one share, of which `left` are to be given. Small values take a bit less, since not all of the last power of two
/// are possible.
fn share(source: &mut Forward<'_>, left: u32) -> Result<i16, Fault> {
    let bits = (left + 1).ilog2() + 1;
    let value = source.peek(bits);
    let low = value & ((1 << (bits - 1)) - 1);
    let short = (1 << bits) - 1 - (left + 1);
    let value = if low < short {
        source.consume(bits - 1)?;
        low
    } else {
        source.consume(bits)?;
        if value >= 1 << (bits - 1) { value - short } else { value }
    };
    // At most `left` + 1, which is 513.
    Ok(i16::try_from(value).map_or(i16::MAX, |value| value - 1))
}

/// Reads how many further symbols do not occur: two bits each time, of which three say "and more".
fn zeros(source: &mut Forward<'_>, shares: &mut Vec<i16>, symbol_max: u8) -> Result<(), Fault> {
    loop {
        let repeat = source.peek(2);
        source.consume(2)?;
        let more = shares.len() + repeat as usize;
        if more > usize::from(symbol_max) + 1 {
            return Err(Fault::new(source.bytes_taken(), "a table has too many symbols"));
        }
        shares.resize(more, 0);
        if repeat < 3 {
            return Ok(());
        }
    }
}

/// Decodes symbols that two states write in turns until the bits are used up: how weights of Huffman trees are stored.
pub(super) fn decode_two(table: &Table, bytes: &[u8], count_max: usize) -> Result<Vec<u8>, Fault> {
    let mut source = Backward::new(bytes)?;
    let mut states = [0; 2];
    for state in &mut states {
        *state = source.take(table.log).ok_or(Fault::new(0, "weights are cut short"))?;
    }
    let mut symbols = Vec::new();
    let mut turn = 0;
    loop {
        let cell = table.cell(states[turn]);
        symbols.push(cell.symbol);
        let (bits, whole) = source.take_last(cell.bits);
        turn = 1 - turn;
        if symbols.len() >= count_max {
            return Err(Fault::new(source.position(), "too many weights"));
        }
        if !whole {
            symbols.push(table.cell(states[turn]).symbol);
            return Ok(symbols);
        }
        states[1 - turn] = cell.next(bits);
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    /// The worked example of the format: log 5, shares 20, -1 (less than one), 11.
    #[test]
    fn a_description_is_read_as_documented() {
        // 0000 log 5; 32 left: 21 in six bits (33 values, 31 short ones need five): see docs/format/zstd-frame.md.
        let bits = |fields: &[(u32, u32)]| {
            let mut bytes = vec![0; 8];
            let mut at = 0;
            for (value, count) in fields {
                for bit in 0..*count {
                    bytes[at / 8] |= u8::from(value >> bit & 1 == 1) << (at % 8);
                    at += 1;
                }
            }
            bytes
        };
        let bytes = bits(&[(0, 4), (21, 5), (0, 3), (12 + 3, 4)]);
        let (table, used) = Table::read(&bytes, 9, 35).unwrap();
        assert_eq!((table.log(), used, table.symbol_max()), (5, 2, 2));
        let count = |symbol| table.cells.iter().filter(|cell| cell.symbol == symbol).count();
        assert_eq!((count(0), count(1), count(2)), (20, 1, 11));
        assert_eq!(table.cells[31].symbol, 1, "what is less than one is at the end");
    }

    #[test]
    fn tables_over_the_limits_are_refused() {
        assert!(Table::read(&[0x05, 0, 0, 0], 9, 35).is_err(), "log 10");
        assert!(Table::read(&[], 9, 35).is_err());
        for first in 0..=255_u8 {
            for second in 0..=255_u8 {
                // Whatever comes of it: no panic, and never a symbol that is not allowed.
                if let Ok((table, _)) = Table::read(&[first, second, first, second], 8, 3) {
                    assert!(table.symbol_max() <= 3);
                }
            }
        }
    }
}
