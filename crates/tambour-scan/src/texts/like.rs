//! `LIKE` over bytes: what stands between the per cents is searched for in whole buffers at once, not row by row.

use super::not_utf8;
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::PhysicalExpr;
use memchr::memmem::Finder;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Bytes between two texts of a buffer up to which they are searched together.
const GAP_MAX: usize = 64;
/// The longest text that is inside its view.
const INLINE_MAX: usize = 12;

/// A pattern of pieces with anything between them.
#[derive(Debug)]
struct Pattern {
    first: Vec<u8>,
    middle: Vec<Finder<'static>>,
    last: Vec<u8>,
    /// The longest of `middle`.
    longest: usize,
    /// Nothing but valid texts may lie between two pieces: ClickHouse finds them by a regular expression, and one piece by its
    /// bytes.
    is_about_texts: bool,
}

impl Pattern {
    /// None if there is more to a pattern than per cents, or none of them.
    fn parse(pattern: &str) -> Option<Self> {
        if pattern.contains(['_', '\\']) {
            return None;
        }
        let (first, rest) = pattern.split_once('%')?;
        let (middle, last) = rest.rsplit_once('%').unwrap_or(("", rest));
        let middle: Vec<&str> = middle.split('%').filter(|piece| !piece.is_empty()).collect();
        let longest = (0..middle.len()).max_by_key(|index| middle[*index].len()).unwrap_or(0);
        let finder = |piece: &&str| Finder::new(piece.as_bytes()).into_owned();
        let ends = [first, last].into_iter().filter(|piece| !piece.is_empty());
        Some(Self {
            first: first.as_bytes().to_vec(),
            middle: middle.iter().map(finder).collect(),
            last: last.as_bytes().to_vec(),
            longest,
            is_about_texts: middle.len() + ends.count() > 1,
        })
    }

    fn matches(&self, text: &[u8]) -> bool {
        // Nothing is not compared: where its pointer leads there is no memory, and a masked load from there, as of the C
        // library's `memcmp`, traps into microcode.
        let mut rest = text;
        if !self.first.is_empty() {
            let Some(after) = rest.strip_prefix(self.first.as_slice()) else { return false };
            rest = after;
        }
        if !self.last.is_empty() {
            let Some(before) = rest.strip_suffix(self.last.as_slice()) else { return false };
            rest = before;
        }
        for piece in &self.middle {
            let Some(at) = piece.find(rest) else { return false };
            rest = &rest[at + piece.needle().len()..];
        }
        true
    }

    /// True if a text that was found is not UTF-8 where that makes a difference.
    fn is_misled(&self, texts: &BinaryViewArray, found: &BooleanBuffer) -> bool {
        let is_text = |row| texts.is_null(row) || std::str::from_utf8(texts.value(row)).is_ok();
        self.is_about_texts && !found.set_indices().all(is_text)
    }

    /// The texts that match; what stands for NULLs is nobody's business.
    fn found(&self, texts: &BinaryViewArray) -> BooleanBuffer {
        let Some(finder) = self.middle.get(self.longest) else {
            return BooleanBuffer::collect_bool(texts.len(), |row| self.matches(texts.value(row)));
        };
        let mut found = BooleanBufferBuilder::new(texts.len());
        found.append_n(texts.len(), false);
        let mut region: Vec<(usize, Span)> = Vec::new();
        for (row, view) in texts.views().iter().enumerate() {
            let span = Span::of(*view);
            if span.length <= INLINE_MAX {
                found.set_bit(row, self.matches(&view.to_le_bytes()[4..4 + span.length]));
                continue;
            }
            if !region.last().is_none_or(|(_, last)| span.follows(last)) {
                self.search(finder, texts, &region, &mut found);
                region.clear();
            }
            region.push((row, span));
        }
        self.search(finder, texts, &region, &mut found);
        found.finish()
    }

    /// Searches texts that lie one after the other in a buffer.
    fn search(
        &self,
        finder: &Finder<'_>,
        texts: &BinaryViewArray,
        region: &[(usize, Span)],
        found: &mut BooleanBufferBuilder,
    ) {
        let (Some((_, first)), Some((_, last))) = (region.first(), region.last()) else { return };
        let buffer = texts.data_buffers().get(first.buffer).map_or(&[][..], |it| it.as_slice());
        let buffer = buffer.get(..last.end()).unwrap_or_default();
        let is_all = self.middle.len() == 1 && self.first.is_empty() && self.last.is_empty();
        let mut rest = region;
        let mut from = first.start;
        while let Some(at) = buffer.get(from..).and_then(|rest| finder.find(rest)) {
            let at = from + at;
            rest =
                rest.get(rest.partition_point(|(_, span)| span.end() <= at)..).unwrap_or_default();
            let Some((row, span)) = rest.first() else { return };
            if at < span.start || at + finder.needle().len() > span.end() {
                from = (at + 1).max(span.start);
                continue;
            }
            let text = &buffer[span.start..span.end()];
            found.set_bit(*row, is_all || self.matches(text));
            from = span.end();
        }
    }
}

/// Where a text lies.
#[derive(Clone, Copy, Debug)]
struct Span {
    length: usize,
    buffer: usize,
    start: usize,
}

impl Span {
    #[expect(clippy::cast_possible_truncation, reason = "each is a word of the view")]
    fn of(view: u128) -> Self {
        let word = |at: u32| (view >> at) as u32 as usize;
        Self { length: word(0), buffer: word(64), start: word(96) }
    }
    fn end(&self) -> usize {
        self.start + self.length
    }
    fn follows(&self, before: &Self) -> bool {
        self.buffer == before.buffer
            && self.start.checked_sub(before.end()).is_some_and(|gap| gap <= GAP_MAX)
    }
}

/// `expr LIKE pattern` over bytes.
#[derive(Debug)]
pub(super) struct LikeBytes {
    expr: Arc<dyn PhysicalExpr>,
    text: String,
    pattern: Pattern,
    is_negated: bool,
}

impl LikeBytes {
    /// None if the pattern is one that only texts can be asked about.
    pub(super) fn new(expr: Arc<dyn PhysicalExpr>, text: &str, is_negated: bool) -> Option<Self> {
        Some(Self { expr, text: text.to_owned(), pattern: Pattern::parse(text)?, is_negated })
    }
}

impl PartialEq for LikeBytes {
    fn eq(&self, other: &Self) -> bool {
        self.expr.eq(&other.expr) && self.text == other.text && self.is_negated == other.is_negated
    }
}

impl Eq for LikeBytes {}

impl Hash for LikeBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.expr, &self.text, self.is_negated).hash(state);
    }
}

impl fmt::Display for LikeBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.is_negated { "NOT " } else { "" };
        write!(f, "{} {not}LIKE {}", self.expr, self.text)
    }
}

impl PhysicalExpr for LikeBytes {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }
    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.expr.nullable(schema)
    }
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let values = self.expr.evaluate(batch)?.into_array(batch.num_rows())?;
        let Some(texts) = values.as_binary_view_opt() else {
            return internal_err!("bytes were promised, not {}", values.data_type());
        };
        let found = self.pattern.found(texts);
        if self.pattern.is_misled(texts, &found) {
            let column = self.expr.downcast_ref::<Column>().map_or("", Column::name);
            return Err(not_utf8(column));
        }
        let found = if self.is_negated { !&found } else { found };
        let found: ArrayRef = Arc::new(BooleanArray::new(found, texts.nulls().cloned()));
        Ok(ColumnarValue::Array(found))
    }
    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.expr]
    }
    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = children.pop().unwrap_or_else(|| Arc::clone(&self.expr));
        match Self::new(expr, &self.text, self.is_negated) {
            Some(again) => Ok(Arc::new(again)),
            None => Ok(self),
        }
    }
    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt_sql(f)?;
        write!(f, "{}LIKE '{}'", if self.is_negated { " NOT " } else { " " }, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringArray;
    use arrow::compute::{cast, like, take};

    /// A few letters, so that pieces are found often, over ends of texts, too.
    fn text(state: &mut u64, letters: &[&str], most: u64) -> String {
        let mut below = |limit: u64| {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (*state >> 33) % limit
        };
        (0..below(most))
            .map(|_| letters[usize::try_from(below(letters.len() as u64)).unwrap()])
            .collect()
    }

    #[test]
    fn finds_what_the_engine_finds() {
        for seed in 0..3000_u64 {
            let mut state = seed;
            let most = if seed % 3 == 0 { 8 } else { 40 };
            let texts: Vec<Option<String>> = (0..50)
                .map(|row| {
                    (row % 11 != 7).then(|| text(&mut state, &["a", "b", "ab", "\u{e9}"], most))
                })
                .collect();
            let texts: ArrayRef = Arc::new(StringArray::from(texts));
            let texts = cast(&texts, &DataType::BinaryView).unwrap();
            let chosen: arrow::array::UInt32Array = if seed % 2 == 0 {
                (0..50).collect()
            } else {
                (0..70).map(|row| row * 7 % 50).collect()
            };
            let texts = take(&texts, &chosen, None).unwrap();
            let pattern = text(&mut state, &["a", "b", "%", "%", "aa", "\u{e9}"], 9);
            let Some(parsed) = Pattern::parse(&pattern) else { continue };
            let found = parsed.found(texts.as_binary_view());
            let found = BooleanArray::new(found, texts.nulls().cloned());
            let strings = cast(&texts, &DataType::Utf8View).unwrap();
            let scalar = arrow::array::StringViewArray::new_scalar(pattern.as_str());
            let expected = like(&strings, &scalar).unwrap();
            assert_eq!(found, expected, "seed {seed}: {pattern}");
        }
    }
}
