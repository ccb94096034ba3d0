//! The second half of a compressed block: sequences, each of them literals and then a match (RFC 8878, 3.1.1.3.2).

use super::bits::{Backward, Fault};
use super::field::Field;
use super::fse::{Cell, Table};

/// Added to the count in its three-byte form.
const LONG_COUNT: usize = 0x7f00;

/// Where the table of a field comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableMode {
    /// From the format.
    Predefined,
    /// One code for all sequences, stored in a byte.
    Run,
    /// Described in the block.
    Fse,
    /// From an earlier block, or from the dictionary.
    Repeat,
}

impl TableMode {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Predefined => "predefined",
            Self::Run => "run",
            Self::Fse => "FSE",
            Self::Repeat => "repeat",
        }
    }
}

/// The table of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLook {
    /// Where it comes from.
    pub mode: TableMode,
    /// Bytes of its description.
    pub bytes: usize,
    /// Logarithm of the number of states, if the block says it.
    pub log: Option<u32>,
}

/// What stands in front of the sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequencesLook {
    /// Number of sequences.
    pub count: usize,
    /// Bytes of count and modes, without the tables.
    pub header_bytes: usize,
    /// The tables, in the order of [`Field::ALL`]; `None` without sequences.
    pub tables: Option<[TableLook; 3]>,
    /// Bytes of the bit stream.
    pub stream_bytes: usize,
}

/// One sequence: this many literals, then a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Number of literals.
    pub literals: u32,
    /// How far back the match begins.
    pub offset: u32,
    /// Length of the match.
    pub length: u32,
    /// Which of the last three offsets it repeats, 1 to 3; 4 stands for the last one less 1. 0 if it is a new one.
    pub repeat: u8,
}

/// Tables and offsets that blocks hand on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct History {
    /// In the order of [`Field::ALL`].
    pub(super) tables: [Option<Table>; 3],
    pub(super) offsets: [u32; 3],
}

impl Default for History {
    fn default() -> Self {
        Self { tables: [None, None, None], offsets: [1, 4, 8] }
    }
}

/// The section: what it says, its tables, and its bits.
pub(super) struct Section<'a> {
    pub(super) look: SequencesLook,
    stream: &'a [u8],
    /// Where the stream begins.
    start: usize,
}

impl<'a> Section<'a> {
    /// Reads header and tables; tables that come with the block go into the history.
    pub(super) fn read(section: &'a [u8], history: &mut History) -> Result<Self, Fault> {
        let cut = Fault::new(section.len(), "sequences are cut short");
        let byte = |at: usize| section.get(at).map(|byte| usize::from(*byte)).ok_or(cut);
        let (count, mut at) = match byte(0)? {
            first @ ..=127 => (first, 1),
            first @ ..=254 => ((first - 128) << 8 | byte(1)?, 2),
            _ => ((byte(1)? | byte(2)? << 8) + LONG_COUNT, 3),
        };
        if count == 0 {
            if section.len() > at {
                return Err(Fault::new(at, "trailing bytes after a block without sequences"));
            }
            let look = SequencesLook { header_bytes: at, ..SequencesLook::default() };
            return Ok(Self { look, stream: &[], start: at });
        }
        let modes = byte(at)?;
        if modes & 3 != 0 {
            return Err(Fault::new(at, "reserved bits of the table modes are set"));
        }
        at += 1;
        let header_bytes = at;
        let mut looks = [TableLook { mode: TableMode::Predefined, bytes: 0, log: None }; 3];
        for (index, field) in Field::ALL.into_iter().enumerate() {
            let mode = modes >> (6 - 2 * index) & 3;
            let rest = section.get(at..).unwrap_or_default();
            let read = read_table(field, mode, rest).map_err(|fault| fault.after(at));
            let (look, table) = read?;
            if let Some(table) = table {
                history.tables[index] = Some(table);
            }
            at += look.bytes;
            looks[index] = look;
        }
        let stream = section.get(at..).unwrap_or_default();
        let stream_bytes = stream.len();
        let look = SequencesLook { count, header_bytes, tables: Some(looks), stream_bytes };
        Ok(Self { look, stream, start: at })
    }

    /// The sequences, and how many bits each field took. Their content and the literals together may be `content_max`.
    pub(super) fn decode(
        &self,
        history: &mut History,
        content_max: usize,
    ) -> Result<(Vec<Sequence>, [u64; 3]), Fault> {
        let mut bits = [0; 3];
        if self.look.count == 0 {
            return Ok((Vec::new(), bits));
        }
        let [Some(literals), Some(offset), Some(length)] = &history.tables else {
            return Err(Fault::new(0, "a table refers to one that was not there"));
        };
        let offsets = &mut history.offsets;
        let inside = |fault: Fault| fault.after(self.start);
        let source = Backward::new(self.stream).map_err(inside)?;
        let mut reader =
            Reader { source, tables: [literals, offset, length], states: [0; 3], bits: &mut bits };
        reader.begin().map_err(inside)?;
        let mut content = 0;
        let mut sequences = Vec::with_capacity(self.look.count);
        for left in (0..self.look.count).rev() {
            let read = reader.sequence(offsets, left == 0);
            let sequence = read.map_err(inside)?;
            content += sequence.literals as usize + sequence.length as usize;
            if content > content_max {
                let at = reader.source.position();
                return Err(inside(Fault::new(at, "sequences hold more than a block may have")));
            }
            sequences.push(sequence);
        }
        match reader.source.left() {
            0 => Ok((sequences, bits)),
            _ => Err(inside(Fault::new(reader.source.position(), "sequences have bits left over"))),
        }
    }
}

/// Reads where a table comes from, and the table unless it is an earlier one.
fn read_table(
    field: Field,
    mode: usize,
    bytes: &[u8],
) -> Result<(TableLook, Option<Table>), Fault> {
    let look = |mode, bytes, log| TableLook { mode, bytes, log };
    match mode {
        0 => {
            let table = field.predefined();
            Ok((look(TableMode::Predefined, 0, Some(table.log())), Some(table)))
        }
        1 => match bytes.first() {
            None => Err(Fault::new(0, "a table is cut short")),
            Some(code) if *code > field.code_max() => Err(Fault::new(0, "a code is too large")),
            Some(code) => Ok((look(TableMode::Run, 1, Some(0)), Some(Table::run(*code)))),
        },
        2 => {
            let (table, used) = Table::read(bytes, field.log_max(), field.code_max())?;
            Ok((look(TableMode::Fse, used, Some(table.log())), Some(table)))
        }
        _ => Ok((look(TableMode::Repeat, 0, None), None)),
    }
}

/// Reads sequences from the bits of a block.
struct Reader<'a> {
    source: Backward<'a>,
    tables: [&'a Table; 3],
    states: [u32; 3],
    bits: &'a mut [u64; 3],
}

impl Reader<'_> {
    fn take(&mut self, field: Field, count: u32) -> Result<u32, Fault> {
        self.bits[field as usize] += u64::from(count);
        let at = self.source.position();
        self.source.take(count).ok_or(Fault::new(at, "sequences are cut short"))
    }

    fn begin(&mut self) -> Result<(), Fault> {
        for field in Field::ALL {
            let log = self.tables[field as usize].log();
            self.states[field as usize] = self.take(field, log)?;
        }
        Ok(())
    }

    fn cell(&self, field: Field) -> Cell {
        self.tables[field as usize].cell(self.states[field as usize])
    }

    fn value(&mut self, field: Field) -> Result<u32, Fault> {
        let (start, extra) = field.value(self.cell(field).symbol);
        Ok(start + self.take(field, extra)?)
    }

    fn sequence(&mut self, offsets: &mut [u32; 3], last: bool) -> Result<Sequence, Fault> {
        let at = self.source.position();
        let value = self.value(Field::Offset)?;
        let length = self.value(Field::Match)?;
        let literals = self.value(Field::Literals)?;
        if !last {
            for field in [Field::Literals, Field::Match, Field::Offset] {
                let cell = self.cell(field);
                self.states[field as usize] = cell.next(self.take(field, cell.bits)?);
            }
        }
        let (offset, repeat) =
            resolve(offsets, value, literals == 0).ok_or(Fault::new(at, "an offset is zero"))?;
        Ok(Sequence { literals, offset, length, repeat })
    }
}

/// The offset that a value stands for; the first three values repeat earlier ones. Without literals the last offset would
/// only make the match before longer, so that the values mean the next ones.
fn resolve(offsets: &mut [u32; 3], value: u32, no_literals: bool) -> Option<(u32, u8)> {
    let [first, second, third] = *offsets;
    let index = if value > 3 { 0 } else { value + u32::from(no_literals) };
    let (offset, repeat) = match index {
        0 => (value - 3, 0),
        1 => (first, 1),
        2 => (second, 2),
        3 => (third, 3),
        _ => (first - 1, 4),
    };
    match repeat {
        1 => {}
        2 => *offsets = [second, first, third],
        _ => *offsets = [offset, first, second],
    }
    (offset > 0).then_some((offset, repeat))
}

#[cfg(test)]
mod tests {
    use super::{History, Section, TableMode, resolve};

    #[test]
    fn offsets_repeat_as_documented() {
        let mut offsets = [1, 4, 8];
        assert_eq!(resolve(&mut offsets, 10, false), Some((7, 0)));
        assert_eq!(offsets, [7, 1, 4]);
        assert_eq!(resolve(&mut offsets, 1, false), Some((7, 1)));
        assert_eq!(resolve(&mut offsets, 2, false), Some((1, 2)));
        assert_eq!(offsets, [1, 7, 4]);
        assert_eq!(resolve(&mut offsets, 3, false), Some((4, 3)));
        assert_eq!(offsets, [4, 1, 7]);
        assert_eq!(resolve(&mut offsets, 1, true), Some((1, 2)));
        assert_eq!(resolve(&mut offsets, 2, true), Some((7, 3)));
        assert_eq!(offsets, [7, 1, 4]);
        assert_eq!(resolve(&mut offsets, 3, true), Some((6, 4)));
        assert_eq!(resolve(&mut [1, 4, 8], 3, true), None);
    }

    #[test]
    fn headers_that_are_none_are_refused() {
        let read = |bytes: &[u8]| Section::read(bytes, &mut History::default()).map(|s| s.look);
        assert_eq!(read(&[0]).unwrap().count, 0);
        assert_eq!(read(&[5, 0, 0x80]).unwrap().tables.unwrap()[1].mode, TableMode::Predefined);
        assert_eq!(read(&[255, 2, 1, 0, 1]).unwrap().count, 0x7f00 + 0x102);
        for bytes in
            [&[][..], &[0, 1], &[128, 0, 7], &[5], &[5, 1], &[5, 0x40], &[5, 0x40, 36], &[255, 0]]
        {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
        let mut history = History::default();
        let repeated = Section::read(&[5, 0xfc, 1], &mut history).unwrap();
        assert!(repeated.decode(&mut history, 1000).is_err(), "nothing to repeat");
    }
}
