//! Marks: where each granule starts in each stream.

use crate::PartError;
use crate::manifest::Cursor;
use std::path::Path;

/// Where a granule starts in a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// Offset of the block in the file.
    pub(crate) block: u64,
    /// Offset in the decompressed block.
    pub(crate) offset: u64,
}

/// How the marks of a part are kept; the extension of the files says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkFormat {
    pub(crate) extension: &'static str,
    /// The records are in compressed blocks.
    pub(crate) compressed: bool,
    pub(crate) shape: MarkShape,
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkShape {
    /// One mark; every granule has the table's `index_granularity` rows.
    Fixed,
    /// One mark and the rows of the granule.
    Adaptive,
    /// Compact part: a mark per column, and the rows.
    PerColumn,
    /// Compact part: a mark per substream, and the rows.
    PerSubstream,
}

/// All forms, wide ones first.
pub(crate) const FORMATS: [MarkFormat; 8] = [
    MarkFormat { extension: "mrk", compressed: false, shape: MarkShape::Fixed },
    MarkFormat { extension: "mrk2", compressed: false, shape: MarkShape::Adaptive },
    MarkFormat { extension: "cmrk", compressed: true, shape: MarkShape::Fixed },
    MarkFormat { extension: "cmrk2", compressed: true, shape: MarkShape::Adaptive },
    MarkFormat { extension: "mrk3", compressed: false, shape: MarkShape::PerColumn },
    MarkFormat { extension: "cmrk3", compressed: true, shape: MarkShape::PerColumn },
    MarkFormat { extension: "mrk4", compressed: false, shape: MarkShape::PerSubstream },
    MarkFormat { extension: "cmrk4", compressed: true, shape: MarkShape::PerSubstream },
];

/// Most rows of a granule: a reader allocates for all of them before it sees whether they are there.
pub(crate) const GRANULE_ROWS_MAX: u64 = 1 << 24;

/// Rows of all records, as far as that can be counted.
pub(crate) fn total(rows: &[u64]) -> u64 {
    rows.iter().fold(0, |sum, rows| sum.saturating_add(*rows))
}

/// Bytes of a mark in a record.
const MARK_BYTES: u64 = 16;
/// Bytes of the row count in a record.
const ROWS_BYTES: u64 = 8;

impl MarkFormat {
    pub(crate) fn is_compact(self) -> bool {
        matches!(self.shape, MarkShape::PerColumn | MarkShape::PerSubstream)
    }
    /// Bytes of a record with this many marks (1 in wide parts).
    pub(crate) fn record_bytes(self, marks: usize) -> u64 {
        let rows = if self.shape == MarkShape::Fixed { 0 } else { ROWS_BYTES };
        MARK_BYTES.saturating_mul(marks as u64).saturating_add(rows)
    }
}

/// The records of one mark file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Marks in a record.
    width: usize,
    places: Vec<Mark>,
    /// Rows of each record; empty for [`MarkShape::Fixed`].
    pub(crate) rows: Vec<u64>,
}

impl Marks {
    /// Records of `width` places each, and the rows of each.
    pub(crate) fn new(width: usize, places: Vec<Mark>, rows: Vec<u64>) -> Self {
        Self { width, places, rows }
    }

    /// Parses decompressed records of `width` marks each.
    pub(crate) fn parse(
        path: &Path,
        source: &[u8],
        format: MarkFormat,
        width: usize,
    ) -> Result<Self, PartError> {
        let mut cursor = Cursor::new(path, source);
        if !(source.len() as u64).is_multiple_of(format.record_bytes(width)) {
            return Err(cursor.malformed("size is not a multiple of a record"));
        }
        let mut parsed = Self { width, ..Self::default() };
        while !cursor.is_at_end() {
            for _ in 0..width {
                let block = u64::from_le_bytes(cursor.array()?);
                let offset = u64::from_le_bytes(cursor.array()?);
                parsed.places.push(Mark { block, offset });
            }
            if format.shape != MarkShape::Fixed {
                parsed.rows.push(u64::from_le_bytes(cursor.array()?));
            }
        }
        Ok(parsed)
    }

    /// Marks in a record.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Number of records.
    pub(crate) fn records(&self) -> usize {
        self.places.len().checked_div(self.width).unwrap_or(self.rows.len())
    }

    /// The mark of a stream in a record.
    pub(crate) fn mark(&self, record: usize, stream: usize) -> Option<Mark> {
        if stream >= self.width {
            return None;
        }
        self.places.get(record.checked_mul(self.width)? + stream).copied()
    }

    /// The marks of one stream, record after record.
    pub(crate) fn of_stream(&self, stream: usize) -> impl Iterator<Item = Mark> {
        self.places.iter().skip(stream).step_by(self.width.max(1)).copied()
    }

    /// Checks that each stream's marks lie in a file of `length` bytes and go forward. The final record may be written
    /// in either of two forms for the same place, so it only has to lie in the file.
    pub(crate) fn check(&self, path: &Path, length: u64, granules: usize) -> Result<(), PartError> {
        for stream in 0..self.width {
            let mut before = Mark::default();
            for (record, mark) in self.of_stream(stream).enumerate() {
                if mark.block > length {
                    let place = crate::Place::file(path).at(record as u64);
                    return Err(PartError::mismatch(place, "offset of a mark", length, mark.block));
                }
                if record < granules && mark < before {
                    let reason = format!("mark {record} lies before the one in front of it");
                    return Err(PartError::malformed(crate::Place::file(path), reason));
                }
                before = mark;
            }
        }
        Ok(())
    }
}

fn check_rows(path: &Path, rows: u64) -> Result<(), PartError> {
    if rows <= GRANULE_ROWS_MAX {
        return Ok(());
    }
    let place = crate::Place::file(path);
    Err(PartError::limit(place, "number of rows in a granule", GRANULE_ROWS_MAX, rows))
}

/// The granules of a part: rows of each, and where each starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Granules {
    pub(crate) rows: Vec<u64>,
    /// First row of each granule, and after the last one the number of rows.
    pub(crate) starts: Vec<u64>,
    pub(crate) final_mark: bool,
}

impl Granules {
    /// From the row counts of adaptive marks, which must sum up to the part's rows.
    pub(crate) fn adaptive(path: &Path, rows: &[u64], part_rows: u64) -> Result<Self, PartError> {
        let final_mark = rows.last() == Some(&0);
        let rows = if final_mark { rows.get(..rows.len() - 1).unwrap_or(rows) } else { rows };
        let mut starts = vec![0];
        let mut sum = 0u64;
        for (granule, &count) in rows.iter().enumerate() {
            if count == 0 {
                let reason = format!("granule {granule} has no rows");
                return Err(PartError::malformed(crate::Place::file(path), reason));
            }
            check_rows(path, count)?;
            sum = sum.saturating_add(count);
            starts.push(sum);
        }
        if sum != part_rows {
            let place = crate::Place::file(path);
            return Err(PartError::mismatch(place, "sum of rows", part_rows, sum));
        }
        Ok(Self { rows: rows.to_vec(), starts, final_mark })
    }

    /// Granules of `granularity` rows each, the last one shorter; `records` must be their number.
    pub(crate) fn fixed(
        path: &Path,
        records: usize,
        granularity: u64,
        part_rows: u64,
    ) -> Result<Self, PartError> {
        let wanted = if granularity == 0 { 0 } else { part_rows.div_ceil(granularity) };
        if wanted != records as u64 {
            let place = crate::Place::file(path);
            let reason = format!(
                "{records} marks do not fit {part_rows} rows in granules of {granularity} (index_granularity of the table)"
            );
            return Err(PartError::malformed(place, reason));
        }
        check_rows(path, granularity.min(part_rows))?;
        let mut starts = vec![0];
        let mut rows = Vec::new();
        for granule in 0..records as u64 {
            let start = granule * granularity;
            let count = granularity.min(part_rows - start);
            rows.push(count);
            starts.push(start + count);
        }
        Ok(Self { rows, starts, final_mark: false })
    }

    /// Rows of all.
    pub(crate) fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }
    /// Number of granules.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
    /// Number of records in every mark file.
    pub(crate) fn records(&self) -> usize {
        self.len() + usize::from(self.final_mark)
    }
    /// First row of a granule.
    pub(crate) fn start(&self, granule: usize) -> u64 {
        self.starts.get(granule).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn records_are_parsed_in_all_shapes() {
        let path = Path::new("k.mrk2");
        let source = bytes(&[0, 0, 8192, 0, 32768, 8192, 65803, 0, 3616, 65803, 14464, 0]);
        let marks = Marks::parse(path, &source, FORMATS[1], 1).unwrap();
        assert_eq!((marks.records(), &marks.rows[..]), (4, &[8192, 8192, 3616, 0][..]));
        assert_eq!(marks.mark(1, 0), Some(Mark { block: 0, offset: 32768 }));
        assert_eq!((marks.mark(4, 0), marks.mark(0, 1)), (None, None));
        let granules = Granules::adaptive(path, &marks.rows, 20000).unwrap();
        assert_eq!((granules.len(), granules.records(), granules.start(2)), (3, 4, 16384));
        assert!(Granules::adaptive(path, &marks.rows, 19999).is_err());
        assert!(Granules::adaptive(path, &[1, 0, 1], 2).is_err());
        assert!(Granules::adaptive(path, &[u64::MAX, 2], 1).is_err());
        let error = Granules::adaptive(path, &[1 << 40], 1 << 40).unwrap_err();
        assert_eq!(error.kind(), tambour_codec::Kind::Limit);
        assert!(Granules::fixed(path, 1, 1 << 40, 1 << 40).is_err());
        let compact = Marks::parse(path, &source, FORMATS[4], 1).unwrap();
        assert_eq!(compact.records(), 4);
        assert!(Marks::parse(path, &source[1..], FORMATS[1], 1).is_err());
        let per_column = bytes(&[0, 0, 40, 0, 3, 80, 0, 120, 0, 0]);
        let per_column = Marks::parse(path, &per_column, FORMATS[6], 2).unwrap();
        assert_eq!(per_column.mark(1, 1), Some(Mark { block: 120, offset: 0 }));
        assert_eq!(per_column.of_stream(1).map(|mark| mark.block).collect::<Vec<_>>(), [40, 120]);
    }

    #[test]
    fn fixed_granules_need_the_right_granularity() {
        let path = Path::new("k.mrk");
        let granules = Granules::fixed(path, 3, 8192, 20000).unwrap();
        assert_eq!(granules.rows, [8192, 8192, 3616]);
        assert_eq!(granules.starts, [0, 8192, 16384, 20000]);
        assert!(Granules::fixed(path, 3, 1000, 20000).is_err());
        assert!(Granules::fixed(path, 1, 0, 20000).is_err());
        assert_eq!(Granules::fixed(path, 0, 8192, 0).unwrap().len(), 0);
    }

    #[test]
    fn marks_go_forward_and_stay_in_the_file() {
        let path = Path::new("k.mrk");
        let check = |numbers: &[u64], granules| {
            Marks::parse(path, &bytes(numbers), FORMATS[0], 1).unwrap().check(path, 100, granules)
        };
        assert!(check(&[0, 0, 0, 5, 50, 0], 3).is_ok());
        assert!(check(&[0, 5, 0, 4], 2).is_err());
        assert!(check(&[50, 0, 0, 0], 2).is_err());
        assert!(check(&[101, 0], 1).is_err());
        assert!(check(&[100, 0, 50, 7], 1).is_ok(), "the final mark has two forms");
    }
}
