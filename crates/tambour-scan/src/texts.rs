//! Texts that a scan reads as bytes: whether they are UTF-8 is looked at where they are handed out, and nowhere else.
//!
//! A column that only filters look at is never handed out; of one that rows are grouped by, each value is handed out once.
//! Here is which filters can be asked about bytes, and how they are.

pub(crate) mod dictionary;
pub(crate) mod lengths;
mod like;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal,
    NotExpr, in_list,
};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::PhysicalExpr;
use lengths::is_length;
use like::LikeBytes;
use std::collections::BTreeSet;
use std::sync::Arc;
use tambour_kernel::text::texts;
use tambour_part::{PartError, Place};

/// A filter about some columns as bytes (by their places in `schema`, which has them as bytes); none if it needs texts.
pub(crate) fn over_bytes(
    filter: &Arc<dyn PhysicalExpr>,
    bytes: &BTreeSet<usize>,
    schema: &Schema,
) -> Option<Arc<dyn PhysicalExpr>> {
    if !collect_columns(filter).iter().any(|column| bytes.contains(&column.index())) {
        return Some(Arc::clone(filter));
    }
    if is_length(filter) {
        return Some(Arc::clone(filter));
    }
    let over = |inner: &Arc<dyn PhysicalExpr>| over_bytes(inner, bytes, schema);
    if let Some(cast) = filter.downcast_ref::<CastExpr>() {
        let inner = over(cast.expr())?;
        return Arc::ptr_eq(&inner, cast.expr()).then(|| Arc::clone(filter));
    }
    if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
        let (left, operator, right) = (binary.left(), *binary.op(), binary.right());
        let sides = match (over(left), over(right)) {
            (Some(left), Some(right)) => (left, right),
            _ if is_order(operator) => (side(left)?, side(right)?),
            _ => return None,
        };
        if Arc::ptr_eq(left, &sides.0) && Arc::ptr_eq(right, &sides.1) {
            return Some(Arc::clone(filter));
        }
        return Some(Arc::new(BinaryExpr::new(sides.0, operator, sides.1)));
    }
    if let Some(not) = filter.downcast_ref::<NotExpr>() {
        return Some(Arc::new(NotExpr::new(over(not.arg())?)));
    }
    if let Some(null) = filter.downcast_ref::<IsNullExpr>() {
        return null.arg().downcast_ref::<Column>().map(|_| Arc::clone(filter));
    }
    if let Some(null) = filter.downcast_ref::<IsNotNullExpr>() {
        return null.arg().downcast_ref::<Column>().map(|_| Arc::clone(filter));
    }
    if let Some(list) = filter.downcast_ref::<InListExpr>() {
        let values: Option<Vec<_>> = list.list().iter().map(side).collect();
        return in_list(side(list.expr())?, values?, &list.negated(), schema).ok();
    }
    let like = filter.downcast_ref::<LikeExpr>().filter(|like| !like.case_insensitive())?;
    like.expr().downcast_ref::<Column>()?;
    let pattern = like.pattern().downcast_ref::<Literal>()?.value().try_as_str()??;
    Some(Arc::new(LikeBytes::new(Arc::clone(like.expr()), pattern, like.negated())?))
}

/// The error of a column that was read as bytes and is looked at as a text.
pub(crate) fn not_utf8(column: &str) -> DataFusionError {
    DataFusionError::External(Box::new(PartError::Utf8 { place: Box::new(Place::column(column)) }))
}

/// Rows of which some columns are bytes, as texts.
pub(crate) fn as_texts(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.schema_ref() == schema {
        return Ok(batch);
    }
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| as_text(Arc::clone(column), field));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

/// A column, which may be bytes, as the texts that a field promises.
pub(crate) fn as_text(column: ArrayRef, field: &Field) -> Result<ArrayRef> {
    if column.data_type() == field.data_type() {
        return Ok(column);
    }
    if let (Some(bytes), DataType::Utf8View) = (column.as_binary_view_opt(), field.data_type()) {
        let (views, buffers, nulls) = bytes.clone().into_parts();
        let texts = texts(&views, &buffers, nulls.as_ref());
        return texts.map(|texts| Arc::new(texts) as _).ok_or_else(|| not_utf8(field.name()));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&column, field.data_type(), &options).map_err(|_| not_utf8(field.name()))
}

/// Bytes of UTF-8 are in the order of the texts.
fn is_order(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// A column as it is, or a constant as bytes.
fn side(expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    if expr.downcast_ref::<Column>().is_some() {
        return Some(Arc::clone(expr));
    }
    let value = expr.downcast_ref::<Literal>()?.value();
    if matches!(value, ScalarValue::Dictionary(..)) {
        return None;
    }
    let bytes = value.try_as_str()?.map(|text| text.as_bytes().to_vec());
    Some(Arc::new(Literal::new(ScalarValue::BinaryView(bytes))))
}
