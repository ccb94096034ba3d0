//! Values in another form whose order in the engine is ClickHouse's order of the values: floats with the NaNs at one end,
//! UUIDs with their halves exchanged, integers of 256 bits with the highest byte first, the numbers of an Enum. `max` of the
//! form, turned back, is ClickHouse's `max`.

use super::aggregate::WIDEST;
use super::listed;
use arrow::array::{
    Array, ArrayRef, BinaryArray, Decimal256Array, FixedSizeBinaryArray, Int16Array,
    StringViewArray, cast::AsArray,
};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType as ArrowType, Decimal256Type, Float64Type, Int16Type, Int64Type, i256,
};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Column, ScalarValue, exec_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tambour_function::Operand;
use tambour_function::kit::{Absent, Comparable};
use tambour_part::types::DataType;

/// A form.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Order {
    /// Floats as integers, NaNs below all others.
    NanLeast,
    /// Floats as integers, NaNs above all others.
    NanGreatest,
    /// The way back from both.
    Float,
    /// The bits of floats as integers, in no order: the zeros are two.
    Bits,
    /// The way back from the bits.
    OfBits,
    /// Floats as integers for a sort: the zeros are equal, NaNs below all others or above them.
    Sorted { nan_least: bool },
    /// UUIDs with their halves exchanged; the same way back.
    Uuid,
    /// Integers of 256 bits with the highest byte first; the way back of unsigned ones is the same.
    Wide { is_signed: bool },
    /// The way back of signed ones.
    WideBack,
    /// Integers of 256 bits as decimals of the same bits, in no order: the engine adds those up.
    Summed,
    /// The way back from a sum.
    OfSum,
    /// The numbers of an Enum's names.
    Number(Vec<(String, i16)>),
    /// The way back from numbers.
    Name(Vec<(String, i16)>),
    /// Arrays and tuples as bytes, NaN and NULL in them below all others or above them.
    Nested { data_type: String, nan_least: bool, null_least: bool },
    /// Arrays and tuples as bytes for a key: two are equal if all in them has the same bits.
    Key,
}

impl Order {
    /// The form that a sort of a type needs; `None` if the engine's own order is the right one.
    pub(super) fn of_sort(
        data_type: &DataType,
        ascending: bool,
        nulls_first: bool,
    ) -> Option<Self> {
        match data_type {
            DataType::Float32 | DataType::Float64 | DataType::BFloat16 => {
                Some(Self::Sorted { nan_least: ascending == nulls_first })
            }
            DataType::Array(_) | DataType::Tuple(_)
                if listed::is_own(data_type, true) || listed::is_deep(data_type) =>
            {
                let (data_type, is_least) = (data_type.to_string(), ascending == nulls_first);
                Some(Self::Nested { data_type, nan_least: is_least, null_least: is_least })
            }
            other => Self::of_comparison(other),
        }
    }
    /// The form by which a group has its least and greatest value: of arrays and tuples NULL is less than all others, and NaN
    /// greater. Without groups ClickHouse looks for the first of a sort, which leaves them out.
    pub(super) fn of_group(self) -> Self {
        match self {
            Self::Nested { data_type, .. } => {
                Self::Nested { data_type, nan_least: false, null_least: true }
            }
            other => other,
        }
    }
    /// The form in which values of a type are compared; `None` for those that the engine compares.
    pub(super) fn of_comparison(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Uuid => Some(Self::Uuid),
            DataType::Int256 => Some(Self::Wide { is_signed: true }),
            DataType::UInt256 => Some(Self::Wide { is_signed: false }),
            DataType::Enum8(_) | DataType::Enum16(_) => numbers(data_type).map(Self::Number),
            _ => None,
        }
    }
    /// The way back.
    pub(super) fn back(&self) -> Self {
        match self {
            Self::NanLeast | Self::NanGreatest | Self::Sorted { .. } => Self::Float,
            Self::Bits => Self::OfBits,
            Self::Wide { is_signed: true } => Self::WideBack,
            Self::Summed => Self::OfSum,
            Self::Number(values) => Self::Name(values.clone()),
            other => other.clone(),
        }
    }
    /// The function that gives values this form.
    pub(super) fn udf(&self) -> ScalarUDF {
        ScalarUDF::new_from_impl(Ordered {
            order: self.clone(),
            signature: Signature::any(1, Volatility::Immutable),
        })
    }

    fn change(&self, values: &ArrayRef) -> Result<ArrayRef> {
        match self {
            Self::NanLeast | Self::NanGreatest => {
                let nan = if *self == Self::NanLeast { i64::MIN } else { i64::MAX };
                let floats = cast(values, &ArrowType::Float64)?;
                let floats = floats.as_primitive::<Float64Type>();
                Ok(Arc::new(floats.unary::<_, Int64Type>(|float| {
                    if float.is_nan() { nan } else { turned(float.to_bits().cast_signed()) }
                })))
            }
            Self::Sorted { nan_least } => {
                let nan = if *nan_least { i64::MIN } else { i64::MAX };
                let floats = cast(values, &ArrowType::Float64)?;
                let floats = floats.as_primitive::<Float64Type>();
                Ok(Arc::new(floats.unary::<_, Int64Type>(|float| {
                    // Adding a zero makes both zeros one.
                    if float.is_nan() { nan } else { turned((float + 0.0).to_bits().cast_signed()) }
                })))
            }
            Self::Bits => bits(values),
            Self::OfBits => Ok(of_bits(values)),
            Self::Wide { is_signed } => reversed(values, |bytes| {
                if *is_signed && let Some(first) = bytes.first_mut() {
                    *first ^= 0x80;
                }
            }),
            Self::WideBack => reversed(values, |bytes| {
                if let Some(last) = bytes.last_mut() {
                    *last ^= 0x80;
                }
            }),
            Self::Summed => summed(values),
            Self::OfSum => of_sum(values),
            Self::Number(known) => numbers_of(values, known),
            Self::Name(known) => {
                let name = |number| known.iter().find(|it| it.1 == number).map(|it| it.0.as_str());
                let numbers = values.as_primitive::<Int16Type>();
                let names: StringViewArray =
                    numbers.iter().map(|number| number.and_then(name)).collect();
                Ok(Arc::new(names))
            }
            Self::Nested { data_type, nan_least, null_least } => {
                nested(values, data_type, Absent { nan_least: *nan_least, null_least: *null_least })
            }
            Self::Key => keys(values),
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

fn bits(floats: &ArrayRef) -> Result<ArrayRef> {
    let floats = cast(floats, &ArrowType::Float64)?;
    let floats = floats.as_primitive::<Float64Type>();
    Ok(Arc::new(floats.unary::<_, Int64Type>(|float| float.to_bits().cast_signed())))
}

fn of_bits(integers: &ArrayRef) -> ArrayRef {
    let integers = integers.as_primitive::<Int64Type>();
    Arc::new(integers.unary::<_, Float64Type>(|bits| f64::from_bits(bits.cast_unsigned())))
}

/// The bits of a float as an integer of the same order, and back: those of negative ones are turned over.
fn turned(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// The bytes of integers from the other end, then changed.
fn reversed(values: &ArrayRef, change: impl Fn(&mut [u8])) -> Result<ArrayRef> {
    let Some(integers) = values.as_fixed_size_binary_opt() else {
        return exec_err!("an integer of 256 bits has 32 bytes, not {}", values.data_type());
    };
    let width = integers.value_length();
    let mut bytes = Vec::with_capacity(integers.len() * width.unsigned_abs() as usize);
    for row in 0..integers.len() {
        let start = bytes.len();
        bytes.extend(integers.value(row).iter().rev());
        change(&mut bytes[start..]);
    }
    let nulls = integers.nulls().cloned();
    Ok(Arc::new(FixedSizeBinaryArray::try_new(width, bytes.into(), nulls)?))
}

fn numbers_of(names: &ArrayRef, known: &[(String, i16)]) -> Result<ArrayRef> {
    let names = cast(names, &ArrowType::Utf8View)?;
    let number = |name: &str| known.iter().find(|it| it.0 == name).map(|it| it.1);
    let numbers: Int16Array =
        names.as_string_view().iter().map(|name| name.and_then(number)).collect();
    Ok(Arc::new(numbers))
}

fn summed(integers: &ArrayRef) -> Result<ArrayRef> {
    let Some(integers) = integers.as_fixed_size_binary_opt() else {
        return exec_err!("an integer of 256 bits has 32 bytes, not {}", integers.data_type());
    };
    let number = |bytes: &[u8]| Ok(i256::from_le_bytes(bytes.try_into().map_err(external)?));
    let numbers: Decimal256Array =
        integers.iter().map(|bytes| bytes.map(number).transpose()).collect::<Result<_>>()?;
    Ok(Arc::new(numbers.with_data_type(WIDEST)))
}

fn of_sum(sums: &ArrayRef) -> Result<ArrayRef> {
    let sums = sums.as_primitive::<Decimal256Type>();
    let mut bytes = Vec::with_capacity(sums.len() * 32);
    for number in sums.values() {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    Ok(Arc::new(FixedSizeBinaryArray::try_new(32, bytes.into(), sums.nulls().cloned())?))
}

fn external(cause: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(cause))
}

/// The bytes of rows, which have a form of their own for NULLs, however deep.
fn keys(values: &ArrayRef) -> Result<ArrayRef> {
    let field = SortField::new(values.data_type().clone());
    let rows = RowConverter::new(vec![field])?.convert_columns(std::slice::from_ref(values))?;
    let bytes =
        (0..values.len()).map(|at| (!values.is_null(at)).then(|| rows.row(at).data().to_vec()));
    Ok(Arc::new(bytes.collect::<BinaryArray>()))
}

fn nested(values: &ArrayRef, data_type: &str, absent: Absent) -> Result<ArrayRef> {
    let Ok(data_type) = data_type.parse() else {
        return exec_err!("{data_type} is not a type");
    };
    let operand = Operand { data_type, values: Arc::clone(values), is_constant: false };
    let forms = Comparable::of_order(&operand, absent).map_err(external)?;
    let bytes = (0..values.len()).map(|row| (!values.is_null(row)).then(|| forms.get(row)));
    Ok(Arc::new(bytes.collect::<BinaryArray>()))
}

/// Names and numbers of an Enum.
pub(super) fn numbers(data_type: &DataType) -> Option<Vec<(String, i16)>> {
    match data_type {
        DataType::Enum8(values) => {
            Some(values.iter().map(|(name, number)| (name.clone(), i16::from(*number))).collect())
        }
        DataType::Enum16(values) => Some(values.clone()),
        _ => None,
    }
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Ordered {
    order: Order,
    signature: Signature,
}

impl Ordered {
    pub(super) fn order(&self) -> &Order {
        &self.order
    }
}

/// The column whose values, or whose places in ClickHouse's order, an expression is.
pub(super) fn of_column(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::ScalarFunction(call) if call.func.inner().downcast_ref::<Ordered>().is_some() => {
            call.args.first()?.try_as_col()
        }
        _ => None,
    }
}

impl ScalarUDFImpl for Ordered {
    fn name(&self) -> &'static str {
        match self.order {
            Order::NanLeast => "floatOrderNanLeast",
            Order::NanGreatest => "floatOrderNanGreatest",
            Order::Float => "floatOfOrder",
            Order::Bits => "floatBits",
            Order::OfBits => "floatOfBits",
            Order::Sorted { .. } => "floatSortOrder",
            Order::Uuid => "uuidOrder",
            Order::Wide { is_signed: true } => "signedWideOrder",
            Order::Wide { is_signed: false } => "wideOrder",
            Order::WideBack => "signedWideOfOrder",
            Order::Summed => "wideSummed",
            Order::OfSum => "wideOfSum",
            Order::Number(_) => "enumNumber",
            Order::Name(_) => "enumName",
            Order::Nested { .. } => "nestedOrder",
            Order::Key => "nestedKey",
        }
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(match self.order {
            Order::NanLeast | Order::NanGreatest | Order::Sorted { .. } | Order::Bits => {
                ArrowType::Int64
            }
            Order::Wide { .. } | Order::WideBack | Order::OfSum => ArrowType::FixedSizeBinary(32),
            Order::Summed => WIDEST,
            Order::Number(_) => ArrowType::Int16,
            Order::Name(_) => ArrowType::Utf8View,
            Order::Nested { .. } | Order::Key => ArrowType::Binary,
            Order::Float | Order::OfBits => ArrowType::Float64,
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
    use arrow::array::{
        Array, ArrayRef, FixedSizeBinaryArray, Float64Array, Int16Array, StringViewArray,
        cast::AsArray,
    };
    use arrow::datatypes::{Float64Type, Int16Type, Int64Type};
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
    fn wide_integers_stand_in_their_order_and_come_back() {
        let wide = |number: i128| {
            let fill = if number < 0 { 0xff } else { 0 };
            let mut bytes = vec![fill; 32];
            bytes[..16].copy_from_slice(&number.to_le_bytes());
            bytes
        };
        let numbers = [i128::MIN, -256, -1, 0, 1, 255, 256, i128::MAX];
        let values = FixedSizeBinaryArray::try_from_iter(numbers.into_iter().map(wide)).unwrap();
        let values: ArrayRef = Arc::new(values);
        let order = Order::Wide { is_signed: true };
        let turned = order.change(&values).unwrap();
        let bytes = turned.as_fixed_size_binary();
        assert!((1..bytes.len()).all(|row| bytes.value(row - 1) < bytes.value(row)));
        assert_eq!(&order.back().change(&turned).unwrap(), &values);
        let summed = Order::Summed.change(&values).unwrap();
        assert_eq!(&Order::Summed.back().change(&summed).unwrap(), &values);
    }

    #[test]
    fn names_of_an_enum_become_their_numbers() {
        let known = vec![("a".to_owned(), 1), ("b".to_owned(), 2), ("c".to_owned(), -3)];
        let names: ArrayRef = Arc::new(StringViewArray::from(vec![Some("c"), None, Some("b")]));
        let order = Order::Number(known);
        let numbers = order.change(&names).unwrap();
        assert_eq!(
            numbers.as_primitive::<Int16Type>(),
            &Int16Array::from(vec![Some(-3), None, Some(2)])
        );
        assert_eq!(&order.back().change(&numbers).unwrap(), &names);
    }

    #[test]
    fn zeros_are_equal_in_a_sort() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, 0.0, f64::NAN]));
        let sorted = Order::Sorted { nan_least: true }.change(&values).unwrap();
        let sorted = sorted.as_primitive::<Int64Type>();
        assert_eq!(sorted.value(0), sorted.value(1));
        assert_eq!(sorted.value(2), i64::MIN);
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
