//! Comparisons of a column of whole numbers with a constant, and of texts with the empty one: sixty-four rows give a word of a mask.
//!
//! Arrow sets one bit after another, of which no compiler makes vectors for processors without AVX-512. Here a row gives a byte,
//! and a multiplication brings the bits of eight bytes together.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::{BooleanBuffer, Buffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal, NotExpr};
use datafusion::physical_plan::PhysicalExpr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Rows of a word of a mask.
const ROWS: usize = u64::BITS as usize;

/// The condition with comparisons of one column of numbers with a constant in this form.
pub(super) fn by_words(
    expr: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Result<Arc<dyn PhysicalExpr>> {
    let Some(binary) = expr.downcast_ref::<BinaryExpr>() else {
        return match expr.downcast_ref::<NotExpr>() {
            Some(not) => Ok(Arc::new(NotExpr::new(by_words(not.arg(), schema)?))),
            None => Ok(Arc::clone(expr)),
        };
    };
    if matches!(binary.op(), Operator::And | Operator::Or) {
        let sides = [by_words(binary.left(), schema)?, by_words(binary.right(), schema)?];
        return Arc::clone(expr).with_new_children(sides.into());
    }
    Ok(match Compared::of(expr, binary, schema)? {
        Some(compared) => Arc::new(compared),
        None => Arc::clone(expr),
    })
}

/// The values of numbers, dates and times as numbers of their width; `None` of others.
pub(crate) fn numbers<T: ArrowNativeType>(array: &dyn Array) -> Option<ScalarBuffer<T>> {
    let data = array.to_data();
    let is_wide = data.data_type().primitive_width() == Some(size_of::<T>());
    let buffer = data.buffers().first().filter(|_| is_wide)?;
    Some(ScalarBuffer::new(buffer.clone(), data.offset(), data.len()))
}

/// True for a text of no bytes.
fn is_empty(constant: &ScalarValue) -> bool {
    match constant {
        ScalarValue::Utf8View(Some(text)) => text.is_empty(),
        ScalarValue::BinaryView(Some(bytes)) => bytes.is_empty(),
        _ => false,
    }
}

/// A column beside a constant.
#[derive(Debug)]
struct Compared {
    /// What it was.
    whole: Arc<dyn PhysicalExpr>,
    place: usize,
    op: Operator,
    /// One row, not NULL.
    constant: ArrayRef,
}

impl Compared {
    fn of(
        whole: &Arc<dyn PhysicalExpr>,
        binary: &BinaryExpr,
        schema: &Schema,
    ) -> Result<Option<Self>> {
        let sides = [binary.left(), binary.right()];
        let [column, constant] =
            if sides[0].is::<Literal>() { [sides[1], sides[0]] } else { sides };
        let op = if sides[0].is::<Literal>() { binary.op().swap() } else { Some(*binary.op()) };
        let pair = column.downcast_ref::<Column>().zip(constant.downcast_ref::<Literal>());
        let (Some((column, constant)), Some(op)) = (pair, op) else { return Ok(None) };
        let constant = constant.value();
        let data_type = constant.data_type();
        let is_time = data_type.is_temporal() && !matches!(data_type, DataType::Interval(_));
        let is_number = data_type.is_integer() || is_time;
        let is_known =
            is_number || is_empty(constant) && matches!(op, Operator::Eq | Operator::NotEq);
        if !is_known || constant.is_null() || *schema.field(column.index()).data_type() != data_type
        {
            return Ok(None);
        }
        let (whole, constant) = (Arc::clone(whole), constant.to_array()?);
        Ok(Some(Self { whole, place: column.index(), op, constant }))
    }

    /// The texts that are empty, or are not.
    fn empty(&self, views: &[u128]) -> BooleanBuffer {
        // The low half of a view's first word is the length.
        mask(views, self.op == Operator::NotEq, |view| view << 96 == 0)
    }

    fn found<T: ArrowNativeType>(&self, column: &ArrayRef) -> Option<BooleanBuffer> {
        let (rows, constant) = (numbers::<T>(column)?, numbers::<T>(&self.constant)?);
        let (rows, constant) = (&*rows, *constant.first()?);
        Some(match self.op {
            Operator::Eq => mask(rows, false, |row| row == constant),
            Operator::NotEq => mask(rows, true, |row| row == constant),
            Operator::Lt => mask(rows, false, |row| row < constant),
            Operator::GtEq => mask(rows, true, |row| row < constant),
            Operator::Gt => mask(rows, false, |row| row > constant),
            Operator::LtEq => mask(rows, true, |row| row > constant),
            _ => return None,
        })
    }
}

/// A bit for each row that a condition holds for, or does not hold for.
fn mask<T: Copy>(rows: &[T], is_negated: bool, holds: impl Fn(T) -> bool) -> BooleanBuffer {
    let turned = if is_negated { u64::MAX } else { 0 };
    let word = |rows: &[T]| {
        let mut flags = [0_u8; ROWS];
        for (flag, row) in flags.iter_mut().zip(rows) {
            *flag = u8::from(holds(*row));
        }
        let (eights, _) = flags.as_chunks::<8>();
        let bits = eights.iter().enumerate().map(|(place, eight)| {
            // The lowest bit of byte i goes to bit 56 + i.
            let together = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080);
            (together >> 56) << (8 * place)
        });
        bits.fold(0, |word, bits| word | bits) ^ turned
    };
    let (whole, rest) = rows.as_chunks::<ROWS>();
    let mut words: Vec<u64> = whole.iter().map(|rows| word(rows)).collect();
    if !rest.is_empty() {
        words.push(word(rest));
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, rows.len())
}

impl PartialEq for Compared {
    fn eq(&self, other: &Self) -> bool {
        self.whole.eq(&other.whole)
    }
}

impl Eq for Compared {}

impl Hash for Compared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.whole.hash(state);
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.whole.fmt(f)
    }
}

impl PhysicalExpr for Compared {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }
    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.whole.nullable(schema)
    }
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let column = batch.column(self.place);
        let data_type = column.data_type();
        let found = match (data_type.primitive_width(), data_type.is_unsigned_integer()) {
            _ if data_type != self.constant.data_type() => None,
            _ if *data_type == DataType::Utf8View => {
                Some(self.empty(column.as_string_view().views()))
            }
            _ if *data_type == DataType::BinaryView => {
                Some(self.empty(column.as_binary_view().views()))
            }
            (Some(1), false) => self.found::<i8>(column),
            (Some(2), false) => self.found::<i16>(column),
            (Some(4), false) => self.found::<i32>(column),
            (Some(8), false) => self.found::<i64>(column),
            (Some(1), true) => self.found::<u8>(column),
            (Some(2), true) => self.found::<u16>(column),
            (Some(4), true) => self.found::<u32>(column),
            (Some(8), true) => self.found::<u64>(column),
            _ => None,
        };
        let Some(found) = found else { return self.whole.evaluate(batch) };
        let found = BooleanArray::new(found, column.nulls().cloned());
        Ok(ColumnarValue::Array(Arc::new(found)))
    }
    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }
    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(self)
    }
    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.whole.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int16Array, StringViewArray, UInt64Array};
    use arrow::datatypes::Field;

    /// Each comparison of each side, of lengths around those of words, in the middle of an array and beside NULLs.
    fn check(all: &ArrayRef, constants: &[ScalarValue], ops: &[Operator]) {
        let schema = Arc::new(Schema::new(vec![Field::new("n", all.data_type().clone(), true)]));
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new("n", 0));
        for (op, constant) in
            ops.iter().flat_map(|op| constants.iter().map(move |constant| (*op, constant)))
        {
            let constant: Arc<dyn PhysicalExpr> = Arc::new(Literal::new(constant.clone()));
            let sides = [[&column, &constant], [&constant, &column]];
            for [left, right] in sides.map(|pair| pair.map(Arc::clone)) {
                let expr: Arc<dyn PhysicalExpr> = Arc::new(BinaryExpr::new(left, op, right));
                let fast = by_words(&expr, &schema).unwrap();
                assert!(fast.is::<Compared>());
                for (start, length) in [(0, 0), (0, 64), (3, 1), (1, 63), (5, 65), (7, 193)] {
                    let rows = vec![all.slice(start, length)];
                    let batch = RecordBatch::try_new(Arc::clone(&schema), rows).unwrap();
                    let [expected, found] = [&expr, &fast]
                        .map(|it| it.evaluate(&batch).unwrap().into_array(length).unwrap());
                    assert_eq!(&found, &expected, "{expr}, {length} rows");
                }
            }
        }
    }

    const OPS: &[Operator] = {
        use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        &[Eq, NotEq, Lt, LtEq, Gt, GtEq]
    };

    #[test]
    fn texts_are_empty_or_not() {
        let text = |row: usize| ["", "a", "longer than twelve bytes", "\u{0}"][row % 4];
        let texts: StringViewArray = (0..200).map(|row| (row % 5 > 0).then(|| text(row))).collect();
        let bytes = texts.clone().to_binary_view();
        let equality = &[Operator::Eq, Operator::NotEq];
        let (texts, bytes): (ArrayRef, ArrayRef) = (Arc::new(texts), Arc::new(bytes));
        check(&texts, &[ScalarValue::Utf8View(Some(String::new()))], equality);
        check(&bytes, &[ScalarValue::BinaryView(Some(Vec::new()))], equality);
    }

    #[test]
    fn words_are_what_rows_are_one_by_one() {
        let small = |row: i16| row * 41 % 13 - 6;
        let plain: ArrayRef =
            Arc::new((0..200).map(|row| Some(small(row))).collect::<Int16Array>());
        let some = (0..200).map(|row| (row % 3 > 0).then(|| small(row)));
        let some: ArrayRef = Arc::new(some.collect::<Int16Array>());
        for all in [plain, some] {
            check(&all, &[-6, 0, 5, i16::MIN, i16::MAX].map(ScalarValue::from), OPS);
        }
        let large = (0..200).map(|row: u64| u64::MAX / 7 * (row % 8));
        let large: ArrayRef = Arc::new(large.collect::<UInt64Array>());
        check(&large, &[0, 1 << 63, u64::MAX / 7 * 3].map(ScalarValue::from), OPS);
    }
}
