//! What the caller decides about an import.

use super::{Clause, ImportError};
use tambour_codec::spec::CodecSpec;
use tambour_files::{Format, RECORD_BYTES_MAX, ReadOptions, Types};
use tambour_part::write::Dialect;
use tambour_table::insert::{Existing, InsertOptions};
use tambour_table::schema::TableDefinition;
use tambour_table::schema::expression::Expression;

/// Rows that travel together from the files to the table.
const BATCH_ROWS: usize = 16_384;

/// Which types columns get that nobody gave one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportTypes {
    /// Numbers and times have the type that their source gives them (of texts: Int64, Float64, …), so that later rows fit, too;
    /// texts of few different values become LowCardinality.
    #[default]
    Natural,
    /// The smallest types that hold the values. Rows that are appended widen them; ClickHouse, once the parts are attached,
    /// does not: it wraps integers that do not fit.
    Smallest,
    /// Those of the source, whatever they are.
    Keep,
}

/// How to import; see [`import`](crate::import). By default a new table with types that later rows fit, too, codecs
/// chosen by the data, no order, 1 GiB of memory and a thread for each processor.
///
/// ```
/// use tambour::ImportOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut options = ImportOptions::default()
///     .order_by("page, toDate(time)")
///     .partition_by("toYYYYMM(time)")
///     .codec("ZSTD(3)".parse()?)
///     .codec_of("time", "Delta(4), LZ4".parse()?)
///     .threads(2)
///     .memory_bytes(256 << 20);
/// // Every wish is a field, too.
/// options.rows_per_part = Some(1_000_000);
/// assert_eq!(options.codecs.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportOptions {
    /// What if the table exists.
    pub existing: Existing,
    /// The table, if it is not to be inferred: a value that does not fit is an error then.
    pub definition: Option<TableDefinition>,
    /// Key by which rows are sorted; none: as they come.
    pub order_by: Option<String>,
    /// Prefix of the sorting key that is indexed; none: all of it.
    pub primary_key: Option<String>,
    /// Key by which rows are split into parts.
    pub partition_by: Option<String>,
    /// Codecs, of one column or of all others; of several the last counts. Columns without one get `auto`.
    pub codecs: Vec<(Option<String>, CodecSpec)>,
    /// Refuse codecs that ClickHouse does not read.
    pub portable: bool,
    /// Which types columns get that nobody gave one.
    pub types: ImportTypes,
    /// Format of the files; detected if not given.
    pub format: Option<Format>,
    /// Whether CSV and TSV files start with a line of names; detected if not given.
    pub header: Option<bool>,
    /// What separates the fields of CSV; detected if not given.
    pub delimiter: Option<u8>,
    /// Leave out columns of the files that a given or existing table does not have; otherwise they are an error.
    pub skip_unknown_columns: bool,
    /// Longest accepted record of a text file in bytes.
    pub record_bytes_max: usize,
    /// Which servers can read the parts.
    pub dialect: Dialect,
    /// Most rows of a part; none: no limit.
    pub rows_per_part: Option<u64>,
    /// Bytes of memory for rows that wait to be sorted and written.
    pub memory_bytes: u64,
    /// Threads.
    pub threads: usize,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            existing: Existing::Refuse,
            definition: None,
            order_by: None,
            primary_key: None,
            partition_by: None,
            codecs: Vec::new(),
            portable: true,
            types: ImportTypes::Natural,
            format: None,
            header: None,
            delimiter: None,
            skip_unknown_columns: false,
            record_bytes_max: RECORD_BYTES_MAX,
            dialect: Dialect::default(),
            rows_per_part: None,
            memory_bytes: 1 << 30,
            threads: crate::threads_of_machine(),
        }
    }
}

impl ImportOptions {
    /// Add the rows to the table if it exists. Where they do not fit, its columns get wider types, and it gets the columns
    /// that it does not have; rows that it has keep their values.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
    /// use tambour::{ImportOptions, Kind};
    ///
    /// tambour::import([&csv], &hits, &ImportOptions::default())?;
    /// let again = tambour::import([&csv], &hits, &ImportOptions::default());
    /// assert_eq!(again.unwrap_err().kind(), Kind::Conflict);
    /// let table = tambour::import([&csv], &hits, &ImportOptions::default().append())?;
    /// assert_eq!(table.rows(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn append(mut self) -> Self {
        self.existing = Existing::Append;
        self
    }
    /// Replace the table if it exists, rows and definition, in one commit.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
    /// use tambour::ImportOptions;
    ///
    /// tambour::import([&csv], &hits, &ImportOptions::default())?;
    /// std::fs::write(&csv, "word\nhello\n")?;
    /// let table = tambour::import([&csv], &hits, &ImportOptions::default().replace())?;
    /// assert_eq!((table.rows(), table.columns()[0].name.as_str()), (1, "word"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn replace(mut self) -> Self {
        self.existing = Existing::Replace;
        self
    }
    /// Make this table; nothing is inferred.
    ///
    /// ```
    /// use tambour::{ImportOptions, TableDefinition};
    ///
    /// let sql = "CREATE TABLE hits (page String, visits UInt64) ENGINE = MergeTree ORDER BY page";
    /// let options = ImportOptions::default().definition(TableDefinition::parse(sql)?);
    /// assert_eq!(options.definition.unwrap().columns.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn definition(mut self, definition: TableDefinition) -> Self {
        self.definition = Some(definition);
        self
    }
    /// Sort by a key: columns or expressions, with commas.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// std::fs::write(&csv, "page,visits\nb,1\na,2\n")?;
    /// let options = tambour::ImportOptions::default().order_by("page");
    /// let table = tambour::import([&csv], &hits, &options)?;
    /// assert_eq!(table.definition().unwrap().order_by[0].to_string(), "page");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn order_by(mut self, key: impl Into<String>) -> Self {
        self.order_by = Some(key.into());
        self
    }
    /// Index only this prefix of the sorting key.
    ///
    /// ```
    /// let options = tambour::ImportOptions::default().order_by("page, time").primary_key("page");
    /// assert_eq!(options.primary_key.as_deref(), Some("page"));
    /// ```
    #[must_use]
    pub fn primary_key(mut self, key: impl Into<String>) -> Self {
        self.primary_key = Some(key.into());
        self
    }
    /// Make parts of their own for each value of a key.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
    /// let options = tambour::ImportOptions::default().partition_by("page");
    /// let table = tambour::import([&csv], &hits, &options)?;
    /// assert_eq!(table.parts().len(), 2); // a part for each page
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn partition_by(mut self, key: impl Into<String>) -> Self {
        self.partition_by = Some(key.into());
        self
    }
    /// Give all columns without a codec of their own this one.
    ///
    /// ```
    /// let options = tambour::ImportOptions::default().codec("Delta(4), ZSTD(3)".parse()?);
    /// assert_eq!(options.codecs[0].1.to_string(), "Delta(4), ZSTD(3)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn codec(mut self, codec: CodecSpec) -> Self {
        self.codecs.push((None, codec));
        self
    }
    /// Give a column this codec.
    ///
    /// ```
    /// let options = tambour::ImportOptions::default()
    ///     .codec("LZ4".parse()?)
    ///     .codec_of("time", "DoubleDelta, ZSTD(1)".parse()?);
    /// assert_eq!(options.codecs[1].0.as_deref(), Some("time"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn codec_of(mut self, column: impl Into<String>, codec: CodecSpec) -> Self {
        self.codecs.push((Some(column.into()), codec));
        self
    }
    /// Choose the types of columns in this way.
    #[must_use]
    pub fn types(mut self, types: ImportTypes) -> Self {
        self.types = types;
        self
    }
    /// Refuse codecs that ClickHouse does not read, which is the default, or allow them.
    ///
    /// ```
    /// let options = tambour::ImportOptions::default();
    /// assert!(options.portable); // ClickHouse reads everything unless you say otherwise
    /// assert!(!options.portable(false).portable);
    /// ```
    #[must_use]
    pub fn portable(mut self, is_wanted: bool) -> Self {
        self.portable = is_wanted;
        self
    }
    /// Use this many threads.
    ///
    /// ```
    /// assert_eq!(tambour::ImportOptions::default().threads(2).threads, 2);
    /// ```
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }
    /// Let rows that wait take this much memory.
    ///
    /// ```
    /// let options = tambour::ImportOptions::default();
    /// assert_eq!(options.memory_bytes, 1 << 30);
    /// assert_eq!(options.memory_bytes(256 << 20).memory_bytes, 268_435_456); // bytes, not megabytes
    /// ```
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// The keys that are given.
    pub(super) fn keys(&self) -> impl Iterator<Item = (Clause, &str)> {
        let keys = [
            (Clause::OrderBy, &self.order_by),
            (Clause::PrimaryKey, &self.primary_key),
            (Clause::PartitionBy, &self.partition_by),
        ];
        keys.into_iter().filter_map(|(clause, text)| Some((clause, text.as_deref()?)))
    }

    /// The codec of columns that none is named for.
    pub(super) fn codec_of_all(&self) -> CodecSpec {
        let mut choices = self.codecs.iter().rev();
        choices
            .find(|(column, _)| column.is_none())
            .map_or_else(CodecSpec::auto, |(_, codec)| codec.clone())
    }

    /// How to insert; `seen` is the definition of the table that gets more rows.
    pub(super) fn inserting(&self, seen: Option<&TableDefinition>) -> InsertOptions {
        InsertOptions {
            existing: self.existing,
            seen: seen.cloned(),
            dialect: self.dialect,
            rows_per_part: self.rows_per_part,
            memory_bytes: self.memory_bytes,
            threads: self.threads,
        }
    }

    pub(super) fn reading(
        &self,
        given: Option<&TableDefinition>,
    ) -> Result<ReadOptions, ImportError> {
        Ok(ReadOptions {
            format: self.format,
            columns: given.map(TableDefinition::plain_columns),
            // Types that an import may have chosen itself.
            exact: self.existing == Existing::Append && self.definition.is_none(),
            batch_rows: BATCH_ROWS,
            record_bytes_max: self.record_bytes_max,
            header: self.header,
            delimiter: self.delimiter,
            skip_unknown_columns: self.skip_unknown_columns,
            threads: self.threads,
            types: self.types_to_read()?,
            ..ReadOptions::default()
        })
    }

    /// Types are chosen with the codecs: not where a codec is given, and not for servers that know few types. Those in
    /// expressions stay, which would mean something else, and those by which partitions are named.
    fn types_to_read(&self) -> Result<Types, ImportError> {
        if self.types == ImportTypes::Keep {
            return Ok(Types::Declared);
        }
        let codec = self.codec_of_all();
        if !codec.is_auto() || self.dialect == Dialect::Old {
            return Ok(Types::Usual);
        }
        if self.types == ImportTypes::Natural {
            return Ok(Types::Natural { codec });
        }
        let mut keep: Vec<String> =
            self.codecs.iter().filter_map(|(column, _)| column.clone()).collect();
        for (clause, text) in self.keys() {
            let key = parse_key(clause, text)?;
            let is_kept = |it: &&Expression| {
                clause == Clause::PartitionBy || !matches!(it, Expression::Column(_))
            };
            let kept = key.iter().filter(is_kept).flat_map(Expression::columns);
            keep.extend(kept.map(str::to_owned));
        }
        Ok(Types::Smallest { codec, keep })
    }
}

pub(super) fn parse_key(clause: Clause, text: &str) -> Result<Vec<Expression>, ImportError> {
    Expression::parse_key(text).map_err(|cause| ImportError::Key { clause, cause: Box::new(cause) })
}
