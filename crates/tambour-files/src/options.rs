//! What the caller decides about reading.

use crate::Format;
use tambour_codec::spec::CodecSpec;
use tambour_part::types::Column;

/// Rows of a batch if nobody says otherwise.
pub const BATCH_ROWS: usize = 65_536;
/// Longest record of a text file if nobody says otherwise.
pub const RECORD_BYTES_MAX: usize = 64 << 20;
/// Most columns that a file may have.
pub const COLUMNS_MAX: usize = 10_000;
/// Bytes of the input (all files together) from which types are inferred first.
pub const SAMPLE_BYTES: usize = 64 << 20;

/// Which types columns get that nobody gave one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Types {
    /// Those of the file, or what its texts look like.
    Declared,
    /// The same, and LowCardinality for texts of which few are different.
    #[default]
    Usual,
    /// The same for all that is not text; for texts whichever of String and LowCardinality takes fewer bytes in a sample of the
    /// rows. A stream is read as with [`Types::Usual`].
    Natural {
        /// The codec by which bytes are counted.
        codec: CodecSpec,
    },
    /// Those in which a sample of the rows takes the fewest bytes and that lose nothing: LowCardinality, narrower integers,
    /// integers for floats that are whole numbers, seconds for moments without fractions. A stream is read as with [`Types::Usual`], since a row that does not fit
    /// could not be read again.
    Smallest {
        /// The codec by which bytes are counted.
        codec: CodecSpec,
        /// Columns whose numbers and times keep their types: expressions over them would mean something else, or their codecs
        /// would not suit another.
        keep: Vec<String>,
    },
}

/// How to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Format; detected per file if not given.
    pub format: Option<Format>,
    /// Types by CREATE TABLE, if the user gave them: nothing is inferred then, and a value that does not fit is an error.
    pub columns: Option<Vec<Column>>,
    /// For types of `columns` that the user did not choose: refuse fractions of a second that a type would cut, as ClickHouse
    /// does cut them, and read integers that are written as floats.
    pub exact: bool,
    /// Types of columns otherwise.
    pub types: Types,
    /// Rows per batch, at most.
    pub batch_rows: usize,
    /// Longest accepted record in bytes (a longer one is an error of kind Limit).
    pub record_bytes_max: usize,
    /// Whether CSV and TSV files start with a line of names; detected if not given.
    pub header: Option<bool>,
    /// What separates the fields of CSV; detected if not given.
    pub delimiter: Option<u8>,
    /// Read fields of CSV and TSV as ClickHouse's formats do: only `\N` is NULL, and nothing between two commas; blanks around a
    /// field of CSV without quotes do not count. Otherwise `NA`, `null` and their like are NULL too, where a column is not text.
    pub as_clickhouse: bool,
    /// Leave out columns of the file that are not among `columns` (otherwise they are an error).
    pub skip_unknown_columns: bool,
    /// Bytes of the input (all files together) from which types are inferred first.
    pub sample_bytes: usize,
    /// Threads that convert, besides the one that reads; 0 counts as 1.
    pub threads: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            columns: None,
            exact: false,
            types: Types::default(),
            batch_rows: BATCH_ROWS,
            record_bytes_max: RECORD_BYTES_MAX,
            header: None,
            delimiter: None,
            as_clickhouse: false,
            skip_unknown_columns: false,
            sample_bytes: SAMPLE_BYTES,
            threads: 1,
        }
    }
}
