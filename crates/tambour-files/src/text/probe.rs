//! The first look at a text file: delimiter, header, names, and what the values look like.

use super::block::{Block, Escape};
use super::dialect;
use super::records::Records;
use super::split::Splitter;
use crate::error::{Spot, quoted, shown};
use crate::format::{HEAD_BYTES, refuse_foreign};
use crate::infer::evidence::Evidence;
use crate::infer::tree;
use crate::literal::{Cursor, Syntax, Token};
use crate::source::Source;
use crate::{FileError, Format, ReadOptions};
use std::path::PathBuf;

/// A text file as it will be read.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) splitter: Splitter,
    pub(crate) header: bool,
    /// Names of the fields (none for JSON).
    pub(crate) names: Vec<String>,
}

/// How much of a source to look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// About this many bytes; everything if not given.
    pub(crate) sample: Option<usize>,
    /// The source ends before its file does.
    pub(crate) truncated: bool,
}

/// The columns that a file of CSV or TSV has, with what was seen of them.
pub(crate) type Columns = Vec<(String, Evidence)>;

/// Looks at CSV or TSV.
pub(crate) fn fields(
    mut source: Source,
    format: Format,
    options: &ReadOptions,
    extent: Extent,
) -> Result<(TextFile, Columns), FileError> {
    let path = source.path().to_owned();
    let mut head = Vec::new();
    source.fill(&mut head, HEAD_BYTES)?;
    if head.is_empty() {
        return Err(FileError::Empty { path, what: "the file is empty" });
    }
    refuse_foreign(&path, &head)?;
    let splitter = match (format, options.delimiter) {
        (Format::Tsv, given) => Splitter::delimited(given.unwrap_or(b'\t'), Escape::Backslash),
        (_, Some(given)) => Splitter::delimited(given, Escape::Quotes),
        (_, None) => Splitter::delimited(dialect::delimiter(&head), Escape::Quotes),
    };
    let source = source.preceded_by(head);
    let mut records =
        Records::new(source, splitter.clone(), options).sampled(extent.sample, extent.truncated);
    let Some(block) = records.next_block()? else {
        return Err(FileError::Empty { path, what: "the file has neither a header nor rows" });
    };
    let first = first_record(&block)?;
    let mut columns = vec![Evidence::default(); block.width];
    let mut rows = (block.rows() - 1) as u64;
    observe(&block, 1, &mut columns);
    let outcome = loop {
        match records.next_block() {
            Ok(Some(block)) => {
                rows += block.rows() as u64;
                observe(&block, 0, &mut columns);
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let header = options.header.unwrap_or_else(|| match &options.columns {
        Some(given) => dialect::names_columns(&first, given),
        None => dialect::has_header(&first, &columns, rows),
    });
    outcome.map_err(|error| if header { error.behind_header() } else { error })?;
    if !header {
        observe_first(&block, &mut columns);
    }
    let names = names(&path, &first, header, options)?;
    let file = TextFile { path, format, splitter, header, names: names.clone() };
    Ok((file, names.into_iter().zip(columns).collect()))
}

/// The fields of the first record, unescaped.
fn first_record(block: &Block) -> Result<Vec<Vec<u8>>, FileError> {
    let mut scratch = Vec::new();
    let field = |index: usize| {
        let value = block.field(0, index).value(&mut scratch).map(<[u8]>::to_vec);
        value.map_err(|reject| {
            let spot = Box::new(Spot { row: 0, ..block.spot(0, None) });
            FileError::Quote { spot, reason: reject.reason }
        })
    };
    (0..block.width).map(field).collect()
}

fn names(
    path: &std::path::Path,
    first: &[Vec<u8>],
    header: bool,
    options: &ReadOptions,
) -> Result<Vec<String>, FileError> {
    if !header {
        let Some(given) = &options.columns else {
            return Ok(dialect::numbered_names(first.len()));
        };
        if given.len() != first.len() {
            let reason = format!(
                "{}: the rows have {} fields, the table has {} columns",
                shown(path),
                first.len(),
                given.len()
            );
            return Err(FileError::Argument { reason });
        }
        return Ok(given.iter().map(|column| column.name.clone()).collect());
    }
    if let Some((index, bad)) =
        first.iter().enumerate().find(|(_, name)| std::str::from_utf8(name).is_err())
    {
        let column = Some(format!("c{}", index + 1));
        let spot = Spot { path: path.to_owned(), row: 0, line: Some(1), column };
        return Err(FileError::Utf8 { spot: Box::new(spot), value: quoted(bad) });
    }
    Ok(dialect::distinct_names(first))
}

fn observe(block: &Block, from: usize, columns: &mut [Evidence]) {
    for (index, column) in columns.iter_mut().enumerate() {
        observe_column(block, from..block.rows(), index, column);
    }
}

fn observe_first(block: &Block, columns: &mut [Evidence]) {
    for (index, column) in columns.iter_mut().enumerate() {
        observe_column(block, 0..1, index, column);
    }
}

fn observe_column(
    block: &Block,
    rows: std::ops::Range<usize>,
    index: usize,
    column: &mut Evidence,
) {
    let mut scratch = Vec::new();
    for row in rows {
        let field = block.field(row, index);
        if field.is_null(true, false) {
            column.observe_null();
        } else if let Ok(value) = field.value(&mut scratch) {
            // A field that cannot be unescaped is an error when it is read.
            column.observe_field(value, field.quoted);
        }
    }
}

/// Looks at JSON lines; the number of rows seen.
pub(crate) fn lines(
    source: Source,
    options: &ReadOptions,
    extent: Extent,
    found: &mut tree::Fields,
) -> Result<(TextFile, u64), FileError> {
    let path = source.path().to_owned();
    let mut records =
        Records::new(source, Splitter::Lines, options).sampled(extent.sample, extent.truncated);
    let mut rows = 0;
    while let Some(block) = records.next_block()? {
        for row in 0..block.rows() {
            let mut cursor = Cursor::new(block.field(row, 0).raw, Syntax::Json);
            let outcome = match cursor.token() {
                Ok(Token::Open(b'{')) => found.observe(&mut cursor).and_then(|()| cursor.end()),
                Ok(_) => Err(crate::error::Reject::syntax("expected an object")),
                Err(reject) => Err(reject),
            };
            outcome.map_err(|reject| {
                let spot = Box::new(block.spot(row, None));
                FileError::Json { spot, at: cursor.at() + 1, reason: reject.reason }
            })?;
        }
        rows += block.rows() as u64;
        found.check(&block)?;
    }
    if rows == 0 {
        let what = if records.taken() == 0 { "the file is empty" } else { "the file has no rows" };
        return Err(FileError::Empty { path, what });
    }
    let file = TextFile {
        path,
        format: Format::JsonLines,
        splitter: Splitter::Lines,
        header: false,
        names: Vec::new(),
    };
    Ok((file, rows))
}
