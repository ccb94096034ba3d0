//! A run of records of a text file, split into fields but not yet converted.

use crate::error::{Reject, Spot};
use crate::infer::Reading;
use crate::infer::class::is_marker;
use crate::literal::unescape;
use std::path::PathBuf;
use std::sync::Arc;

/// How special bytes stand in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// RFC 4180: quotes around a field, doubled inside.
    Quotes,
    /// ClickHouse's TabSeparated: a backslash.
    Backslash,
}

const QUOTED: u32 = 1 << 31;
const ESCAPED: u32 = 1 << 30;
/// Blocks are shorter than this, so that lengths leave room for the two flags.
pub(crate) const BLOCK_BYTES_MAX: usize = 1 << 30;

/// Where a field is in its block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: u32,
    length: u32,
}

impl Span {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "blocks are shorter than 2^30 bytes")]
    pub(crate) fn new(start: usize, end: usize, quoted: bool, escaped: bool) -> Self {
        debug_assert!(end < BLOCK_BYTES_MAX && start <= end);
        let flags = if quoted { QUOTED } else { 0 } | if escaped { ESCAPED } else { 0 };
        Self { start: start as u32, length: (end - start) as u32 | flags }
    }

    #[inline]
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        let length = self.length & !(QUOTED | ESCAPED);
        self.start as usize..(self.start + length) as usize
    }
}

/// Records that are converted together: fields of CSV and TSV, or lines of JSON (a line is a record of one field).
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) path: Arc<PathBuf>,
    pub(crate) text: Vec<u8>,
    /// The fields, row by row, all rows of the same width.
    pub(crate) spans: Vec<Span>,
    pub(crate) width: usize,
    pub(crate) escape: Escape,
    /// Row number of the first record, counted from 1 without the header.
    pub(crate) first_row: u64,
    /// Line number at the block's first byte.
    pub(crate) first_line: u64,
}

impl Block {
    pub(crate) fn rows(&self) -> usize {
        self.spans.len().checked_div(self.width).unwrap_or(0)
    }

    pub(crate) fn field(&self, row: usize, index: usize) -> Field<'_> {
        let span = self.spans[row * self.width + index];
        Field {
            raw: &self.text[span.range()],
            quoted: span.length & QUOTED != 0,
            escaped: span.length & ESCAPED != 0,
            escape: self.escape,
        }
    }

    /// Where a record stands.
    pub(crate) fn spot(&self, row: usize, column: Option<&str>) -> Spot {
        let start = self.spans.get(row * self.width).map_or(0, |span| span.range().start);
        let newlines = memchr::memchr_iter(b'\n', &self.text[..start]).count() as u64;
        Spot {
            path: self.path.as_ref().clone(),
            row: self.first_row + row as u64,
            line: Some(self.first_line + newlines),
            column: column.map(str::to_owned),
        }
    }

    /// One column of the records.
    pub(crate) fn cells(&self, index: usize, reading: &Reading) -> Cells<'_> {
        let Reading { empty_is_null, as_clickhouse, .. } = *reading;
        Cells { block: self, index, empty_is_null, as_clickhouse }
    }
}

/// One field of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) raw: &'a [u8],
    pub(crate) quoted: bool,
    escaped: bool,
    escape: Escape,
}

impl<'a> Field<'a> {
    /// The value; unescaped into `scratch` if it has to be.
    #[inline]
    pub(crate) fn value<'b>(&self, scratch: &'b mut Vec<u8>) -> Result<&'b [u8], Reject>
    where
        'a: 'b,
    {
        if !self.escaped {
            return Ok(self.raw);
        }
        scratch.clear();
        let special = match self.escape {
            Escape::Quotes => b'"',
            Escape::Backslash => b'\\',
        };
        let mut rest = self.raw;
        while let Some(at) = memchr::memchr(special, rest) {
            scratch.extend_from_slice(&rest[..at]);
            let Some((&next, tail)) = rest.get(at + 1..).and_then(<[u8]>::split_first) else {
                return Err(Reject::syntax("a backslash at the end of a field"));
            };
            rest = match self.escape {
                Escape::Quotes => {
                    scratch.push(b'"');
                    tail
                }
                Escape::Backslash => &tail[unescape(next, tail, scratch)?..],
            };
        }
        scratch.extend_from_slice(rest);
        Ok(scratch)
    }

    /// Whether backslashes in the field escape something.
    pub(crate) fn has_backslashes(&self) -> bool {
        self.escaped && self.escape == Escape::Backslash
    }

    /// Whether the field says NULL in a column of text, or of values with a form.
    #[inline]
    pub(crate) fn is_null(&self, text: bool, empty_is_null: bool) -> bool {
        if self.quoted {
            return false;
        }
        match self.raw {
            // In TSV nothing is the empty string: NULL has a mark of its own there.
            [] => !text || empty_is_null && self.escape == Escape::Quotes,
            b"\\N" => true,
            raw => !text && is_marker(raw.trim_ascii()),
        }
    }

    /// The same by the rules of ClickHouse's formats.
    fn is_null_there(&self) -> bool {
        !self.quoted && (self.raw == b"\\N" || self.raw.is_empty() && self.escape == Escape::Quotes)
    }
}

/// One column of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<'a> {
    block: &'a Block,
    index: usize,
    empty_is_null: bool,
    as_clickhouse: bool,
}

impl<'a> Cells<'a> {
    pub(crate) fn rows(&self) -> usize {
        self.block.rows()
    }

    #[inline]
    pub(crate) fn field(&self, row: usize) -> Field<'a> {
        let mut field = self.block.field(row, self.index);
        if self.as_clickhouse && !field.quoted && field.escape == Escape::Quotes {
            let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
            let start =
                field.raw.iter().position(|byte| !is_blank(byte)).unwrap_or(field.raw.len());
            let end = field.raw.iter().rposition(|byte| !is_blank(byte)).map_or(start, |at| at + 1);
            field.raw = &field.raw[start..end];
        }
        field
    }

    /// Whether a field says NULL, in a column of text or of values with a form.
    #[inline]
    pub(crate) fn is_null(&self, field: &Field<'_>, text: bool) -> bool {
        if self.as_clickhouse {
            field.is_null_there()
        } else {
            field.is_null(text, self.empty_is_null)
        }
    }
}
