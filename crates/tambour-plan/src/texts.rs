//! Texts that a value is chosen from, in one form. Functions that may cut a letter in two give bytes, others texts; the engine
//! takes the two for different types, or makes texts of bytes that are none.

use super::literal::{bare_type, field_of};
use super::scalar::is_bytes;
use super::typed::Typed;
use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::functions::core::coalesce::CoalesceFunc;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, cast,
};
use std::sync::Arc;

/// A type with bytes in the place of texts.
fn of_bytes(data_type: &ArrowType) -> ArrowType {
    let inside = |field: &FieldRef| {
        Arc::new(field.as_ref().clone().with_data_type(of_bytes(field.data_type())))
    };
    match data_type {
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => ArrowType::BinaryView,
        ArrowType::Binary | ArrowType::LargeBinary => ArrowType::BinaryView,
        ArrowType::Dictionary(_, values) => of_bytes(values),
        ArrowType::List(item) => ArrowType::List(inside(item)),
        other => other.clone(),
    }
}

/// The form of all texts, or arrays of them, if some are bytes and others are not.
pub(super) fn one_form(types: &[ArrowType]) -> Option<ArrowType> {
    let present = || types.iter().filter(|it| !it.is_null());
    let form = of_bytes(present().next()?);
    // The engine knows no bytes beside a NULL.
    let differ = present().zip(present().skip(1)).any(|(a, b)| a != b)
        || types.iter().any(ArrowType::is_null);
    let are_texts = present().all(|it| of_bytes(it) == form);
    (differ && are_texts && present().any(is_bytes)).then_some(form)
}

/// Gives some expressions that form; true if any changed.
pub(super) fn made(expressions: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let fields = expressions.iter().map(|expr| field_of(expr, schema));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let types: Vec<ArrowType> = fields.iter().map(|field| field.data_type().clone()).collect();
    let Some(form) = one_form(&types) else { return Ok(false) };
    let mut is_changed = false;
    for (expr, field) in expressions.iter_mut().zip(&fields) {
        if field.data_type().is_null() || *field.data_type() == form {
            continue;
        }
        is_changed = true;
        // A cast would keep the name of a LowCardinality.
        let bytes = cast(std::mem::take(&mut **expr), form.clone());
        **expr = match bare_type(field) {
            Some(data_type) => Typed::call(bytes, &data_type),
            None => bytes,
        };
    }
    Ok(is_changed)
}

/// The engine's `coalesce`, which takes both forms.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Coalesce {
    inner: CoalesceFunc,
}

impl ScalarUDFImpl for Coalesce {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn signature(&self) -> &Signature {
        self.inner.signature()
    }
    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        match one_form(types) {
            Some(form) => Ok(vec![form; types.len()]),
            // What has no type in common with a text is settled before the query runs.
            None if types.iter().any(is_bytes) => Ok(types.to_vec()),
            None => self.inner.coerce_types(types),
        }
    }
    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        self.inner.return_type(types)
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }
    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }
    fn conditional_arguments<'a>(
        &self,
        args: &'a [Expr],
    ) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }
    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.inner.invoke_with_args(args)
    }
}
