//! Functions of a single column that is a dictionary: they are asked for the values of the dictionary, each once, and not for every
//! row. Granules share a dictionary as a rule, so that what they said is good for the next batch, too.

use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, Int32Array, RecordBatch};
use arrow::compute::take;
use arrow::datatypes::{DataType, Int32Type, Schema, SchemaRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{ColumnarValue, Operator, Volatility};
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_plan::PhysicalExpr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// The expression with what looks at a single dictionary only asked once for each of its values.
pub(crate) fn over_dictionaries(
    expr: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
) -> Result<Arc<dyn PhysicalExpr>> {
    if expr.is::<Column>() || expr.is::<Literal>() {
        return Ok(Arc::clone(expr));
    }
    let columns = collect_columns(expr);
    if let [column] = columns.iter().collect::<Vec<_>>().as_slice()
        && is_dictionary(schema.field(column.index()).data_type())
        && is_of_its_row(expr)
    {
        return Ok(Arc::new(OfDictionary::new(expr, column.index(), schema)?));
    }
    let is_logic = expr
        .downcast_ref::<BinaryExpr>()
        .is_some_and(|it| matches!(it.op(), Operator::And | Operator::Or));
    if !is_logic && !expr.is::<NotExpr>() {
        return Ok(Arc::clone(expr));
    }
    let children = expr.children().into_iter().map(|child| over_dictionaries(child, schema));
    let children = children.collect::<Result<Vec<_>>>()?;
    Arc::clone(expr).with_new_children(children)
}

fn is_dictionary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Dictionary(key, _) if **key == DataType::Int32)
}

/// True if equal values give equal results, whatever row they are in.
fn is_of_its_row(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let is_known = expr.is::<Column>()
        || expr.is::<Literal>()
        || expr.is::<BinaryExpr>()
        || expr.is::<CastExpr>()
        || expr.is::<LikeExpr>()
        || expr.is::<InListExpr>()
        || expr.is::<NotExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr
            .downcast_ref::<ScalarFunctionExpr>()
            .is_some_and(|it| it.fun().signature().volatility == Volatility::Immutable);
    is_known && expr.children().into_iter().all(is_of_its_row)
}

/// An expression over one dictionary.
struct OfDictionary {
    expr: Arc<dyn PhysicalExpr>,
    /// The place of the column.
    place: usize,
    /// The same expression over a batch of that column alone.
    alone: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    last: Mutex<Option<Answers>>,
}

/// What the expression says of each value of a dictionary, and after them of NULL.
struct Answers {
    dictionary: ArrayRef,
    /// Rows that have come with it.
    rows: usize,
    is_asked: bool,
    /// None before it is asked, and if it fails for one of the values, perhaps one that no row has.
    results: Option<ArrayRef>,
}

impl OfDictionary {
    fn new(expr: &Arc<dyn PhysicalExpr>, place: usize, whole: &Schema) -> Result<Self> {
        let schema = Arc::new(whole.project(&[place])?);
        let alone = reassign_expr_columns(Arc::clone(expr), &schema)?;
        Ok(Self { expr: Arc::clone(expr), place, alone, schema, last: Mutex::new(None) })
    }

    /// The results for the dictionary of some rows; none if those are better asked for one by one: a dictionary must have come
    /// with as many rows as it has values.
    fn results(&self, column: &DictionaryArray<Int32Type>) -> Option<ArrayRef> {
        let values = column.values();
        let is_same = |it: &Answers| {
            Arc::ptr_eq(&it.dictionary, values) || it.dictionary.to_data().ptr_eq(&values.to_data())
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.take().filter(is_same);
        let known = known.unwrap_or_else(|| Answers {
            dictionary: Arc::clone(values),
            rows: 0,
            is_asked: false,
            results: None,
        });
        let answers = last.insert(known);
        answers.rows = answers.rows.saturating_add(column.len());
        if !answers.is_asked && answers.rows >= values.len() {
            answers.is_asked = true;
            answers.results = self.asked(column).ok();
        }
        answers.results.clone()
    }

    /// Asks for each value, and for NULL.
    fn asked(&self, column: &DictionaryArray<Int32Type>) -> Result<ArrayRef> {
        let count = i32::try_from(column.values().len()).unwrap_or(i32::MAX);
        let field = self.schema.field(0);
        let keys = (0..count).map(Some).chain(field.is_nullable().then_some(None));
        let keys: Int32Array = keys.collect();
        let each = DictionaryArray::try_new(keys, Arc::clone(column.values()))?;
        let rows = each.len();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![Arc::new(each)])?;
        self.alone.evaluate(&batch)?.into_array(rows)
    }
}

impl fmt::Debug for OfDictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OfDictionary").field(&self.expr).finish()
    }
}

impl fmt::Display for OfDictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.expr, f)
    }
}

impl PartialEq for OfDictionary {
    fn eq(&self, other: &Self) -> bool {
        self.expr.eq(&other.expr)
    }
}

impl Eq for OfDictionary {}

impl Hash for OfDictionary {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expr.hash(state);
    }
}

impl PhysicalExpr for OfDictionary {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.expr.data_type(schema)
    }
    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.expr.nullable(schema)
    }
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let column = batch.column(self.place).as_dictionary_opt::<Int32Type>();
        // A NULL among the values is not a key that is NULL.
        let plain = column.filter(|it| it.values().null_count() == 0);
        let Some((column, results)) = plain.and_then(|it| Some((it, self.results(it)?))) else {
            return self.expr.evaluate(batch);
        };
        let keys = column.keys();
        if keys.null_count() == 0 {
            return Ok(ColumnarValue::Array(take(&results, keys, None)?));
        }
        let Ok(null) = i32::try_from(column.values().len()) else {
            return internal_err!("a dictionary of {} values", column.values().len());
        };
        let keys: Int32Array = keys.iter().map(|key| Some(key.unwrap_or(null))).collect();
        Ok(ColumnarValue::Array(take(&results, &keys, None)?))
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
        self.expr.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringArray;
    use arrow::datatypes::Field;
    use datafusion::common::ScalarValue;

    fn column(rows: &[Option<i32>], values: &[&str]) -> ArrayRef {
        let values = StringArray::from(values.to_vec());
        let keys: Int32Array = rows.iter().copied().collect();
        Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values)).unwrap())
    }

    #[test]
    fn says_what_each_row_would() {
        let text = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let schema = Arc::new(Schema::new(vec![
            Field::new("n", DataType::Int32, true),
            Field::new("l", text, true),
        ]));
        let l: Arc<dyn PhysicalExpr> = Arc::new(Column::new("l", 1));
        let n: Arc<dyn PhysicalExpr> = Arc::new(Column::new("n", 0));
        let literal = |text: &str| -> Arc<dyn PhysicalExpr> {
            Arc::new(Literal::new(ScalarValue::Utf8(Some(text.to_owned()))))
        };
        let as_text: Arc<dyn PhysicalExpr> =
            Arc::new(CastExpr::new(Arc::clone(&l), DataType::Utf8, None));
        let as_number: Arc<dyn PhysicalExpr> =
            Arc::new(CastExpr::new(Arc::clone(&l), DataType::Int32, None));
        let equal = |expr: &Arc<dyn PhysicalExpr>, text: &str| -> Arc<dyn PhysicalExpr> {
            Arc::new(BinaryExpr::new(Arc::clone(expr), Operator::Eq, literal(text)))
        };
        let is_null: Arc<dyn PhysicalExpr> = Arc::new(IsNullExpr::new(Arc::clone(&l)));
        let other: Arc<dyn PhysicalExpr> = Arc::new(IsNotNullExpr::new(n));
        let both: Arc<dyn PhysicalExpr> =
            Arc::new(BinaryExpr::new(equal(&as_text, "7"), Operator::And, other));
        let like: Arc<dyn PhysicalExpr> =
            Arc::new(LikeExpr::new(false, false, Arc::clone(&as_text), literal("%7%")));
        let values = [&["7", "12", "77"][..], &["12", "x", "7"], &["7"]];
        for expr in [equal(&as_text, "7"), is_null, both, like, as_number, as_text] {
            let fast = over_dictionaries(&expr, &schema).unwrap();
            assert_ne!(format!("{fast:?}"), format!("{expr:?}"));
            for values in values {
                for rows in [
                    &[Some(0), None, Some(0), Some(0)][..],
                    &[Some(0), Some(0), Some(0), Some(0), Some(0)],
                    &[None, None, None],
                    &[Some(0)],
                    &[],
                ] {
                    let numbers: Int32Array =
                        (0..rows.len()).map(|it| (it % 2 == 0).then_some(1)).collect();
                    let columns: Vec<ArrayRef> = vec![Arc::new(numbers), column(rows, values)];
                    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
                    // The engine's cast fails on values that no row has, too: then both fail.
                    let array = |expr: &Arc<dyn PhysicalExpr>| {
                        let value = expr.evaluate(&batch).ok()?;
                        Some(value.into_array(batch.num_rows()).unwrap())
                    };
                    for _ in 0..2 {
                        assert_eq!(&array(&fast), &array(&expr), "{expr}: {values:?}, {rows:?}");
                    }
                }
            }
        }
    }
}
