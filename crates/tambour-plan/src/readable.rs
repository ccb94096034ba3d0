//! Sizes and quantities as people read them: `formatReadableSize`, `formatReadableDecimalSize`,
//! `formatReadableQuantity`.

use super::literal::null_of_null;
use arrow::array::{Array, ArrayRef, StringViewBuilder, cast::AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, FieldRef, Float64Type};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;
use tambour_dialect::names;
use tambour_function::value::readable::{DECIMAL_SIZES, QUANTITIES, SIZES, readable};

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Readable {
    name: &'static str,
    step: u16,
    units: &'static [&'static str],
    aliases: Vec<String>,
    signature: Signature,
}

const ALL: [(&str, u16, &[&str]); 3] = [
    ("formatReadableSize", 1024, &SIZES),
    ("formatReadableDecimalSize", 1000, &DECIMAL_SIZES),
    ("formatReadableQuantity", 1000, &QUANTITIES),
];

/// All of them.
pub(super) fn all() -> Vec<Readable> {
    ALL.iter()
        .map(|(name, step, units)| {
            let aliases = names::aliases_of_readable(name);
            let lower = std::iter::once(name.to_ascii_lowercase());
            Readable {
                name,
                step: *step,
                units,
                aliases: lower.chain(aliases.iter().map(|alias| (*alias).to_owned())).collect(),
                signature: Signature::any(1, Volatility::Immutable),
            }
        })
        .collect()
}

impl Readable {
    pub(super) fn canonical_name(&self) -> &'static str {
        self.name
    }

    fn text(&self, value: f64) -> String {
        readable(value, f64::from(self.step), self.units)
    }

    fn texts(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let numbers = cast(values, &ArrowType::Float64)?;
        let mut builder = StringViewBuilder::with_capacity(numbers.len());
        for number in numbers.as_primitive::<Float64Type>() {
            builder.append_option(number.map(|number| self.text(number)));
        }
        Ok(Arc::new(builder.finish()))
    }
}

impl ScalarUDFImpl for Readable {
    fn name(&self) -> &str {
        self.name
    }
    fn aliases(&self) -> &[String] {
        &self.aliases
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(ArrowType::Utf8View)
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let is_text = |it: &FieldRef| {
            use ArrowType::{Binary, BinaryView, FixedSizeBinary, Utf8, Utf8View};
            matches!(it.data_type(), Binary | BinaryView | FixedSizeBinary(_) | Utf8 | Utf8View)
        };
        if args.arg_fields.iter().any(is_text) {
            let name = self.name;
            return plan_err!("{name} takes a number: convert it, for example by toFloat64(x)");
        }
        Ok(null_of_null(self.name, ArrowType::Utf8View, &args))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.first() {
            Some(ColumnarValue::Array(values)) => Ok(ColumnarValue::Array(self.texts(values)?)),
            Some(ColumnarValue::Scalar(value)) => {
                let texts = self.texts(&value.to_array_of_size(1)?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&texts, 0)?))
            }
            None => plan_err!("{} takes an argument", self.name),
        }
    }
}
