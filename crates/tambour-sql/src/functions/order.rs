//! Values in another form whose order in the engine is ClickHouse's order of the values: floats with the NaNs at one end,
//! UUIDs with their halves exchanged. `max` of the form, turned back, is ClickHouse's `max`.

use arrow::array::{Array, ArrayRef, FixedSizeBinaryArray, cast::AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Float64Type, Int64Type};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Order {
    /// Floats as integers, NaNs below all others.
    NanLeast,
    /// Floats as integers, NaNs above all others.
    NanGreatest,
    /// The way back from both.
    Float,
    /// UUIDs with their halves exchanged; the same way back.
    Uuid,
}

impl Order {
    /// The function that gives values this form.
    pub(super) fn udf(self) -> ScalarUDF {
        ScalarUDF::new_from_impl(Ordered {
            order: self,
            signature: Signature::any(1, Volatility::Immutable),
        })
    }

    fn change(self, values: &ArrayRef) -> Result<ArrayRef> {
        match self {
            Self::NanLeast | Self::NanGreatest => {
                let nan = if self == Self::NanLeast { i64::MIN } else { i64::MAX };
                let floats = cast(values, &ArrowType::Float64)?;
                let floats = floats.as_primitive::<Float64Type>();
                Ok(Arc::new(floats.unary::<_, Int64Type>(|float| {
                    if float.is_nan() { nan } else { turned(float.to_bits().cast_signed()) }
                })))
            }
            Self::Float => {
                let integers = values.as_primitive::<Int64Type>();
                Ok(Arc::new(integers.unary::<_, Float64Type>(|number| {
                    f64::from_bits(turned(number).cast_unsigned())
                })))
            }
            Self::Uuid => {
                let Some(uuids) =
                    values.as_fixed_size_binary_opt().filter(|it| it.value_length() == 16)
                else {
                    return exec_err!("a UUID has 16 bytes, not {}", values.data_type());
                };
                let mut bytes = Vec::with_capacity(uuids.len() * 16);
                for row in 0..uuids.len() {
                    let (first, second) = uuids.value(row).split_at(8);
                    bytes.extend_from_slice(second);
                    bytes.extend_from_slice(first);
                }
                let nulls = uuids.nulls().cloned();
                Ok(Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), nulls)?))
            }
        }
    }
}

/// The bits of a float as an integer of the same order, and back: those of negative ones are turned over.
fn turned(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Ordered {
    order: Order,
    signature: Signature,
}

impl ScalarUDFImpl for Ordered {
    fn name(&self) -> &'static str {
        match self.order {
            Order::NanLeast => "floatOrderNanLeast",
            Order::NanGreatest => "floatOrderNanGreatest",
            Order::Float => "floatOfOrder",
            Order::Uuid => "uuidOrder",
        }
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(match self.order {
            Order::NanLeast | Order::NanGreatest => ArrowType::Int64,
            Order::Float => ArrowType::Float64,
            Order::Uuid => ArrowType::FixedSizeBinary(16),
        })
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(values)] => Ok(ColumnarValue::Array(self.order.change(values)?)),
            [ColumnarValue::Scalar(value)] => {
                let changed = self.order.change(&value.to_array_of_size(1)?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&changed, 0)?))
            }
            _ => exec_err!("{} takes an argument", self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Order;
    use arrow::array::{ArrayRef, Float64Array, cast::AsArray};
    use arrow::datatypes::{Float64Type, Int64Type};
    use std::sync::Arc;

    #[test]
    fn floats_keep_their_order_and_come_back() {
        let floats =
            [f64::NEG_INFINITY, -2.5, -f64::MIN_POSITIVE, -0.0, 0.0, 1e-300, 7.0, f64::INFINITY];
        let values: ArrayRef = Arc::new(Float64Array::from(floats.to_vec()));
        for order in [Order::NanLeast, Order::NanGreatest] {
            let integers = order.change(&values).unwrap();
            assert!(integers.as_primitive::<Int64Type>().values().is_sorted());
            assert_eq!(&Order::Float.change(&integers).unwrap(), &values);
        }
    }

    #[test]
    fn nans_of_both_signs_are_at_one_end() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, -f64::NAN]));
        for (order, end) in [(Order::NanLeast, i64::MIN), (Order::NanGreatest, i64::MAX)] {
            let integers = order.change(&values).unwrap();
            assert_eq!(integers.as_primitive::<Int64Type>().values()[..], [end, end]);
            let back = Order::Float.change(&integers).unwrap();
            assert!(back.as_primitive::<Float64Type>().value(0).is_nan());
        }
    }
}
