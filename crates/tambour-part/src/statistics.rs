//! Statistics of columns of numbers and times, granule by granule: counts, extremes and exact sums.
//!
//! They are gathered while a part is written ([`crate::PartWriter::gather_statistics`]) or read. All values are held as integers of 128 bits:
//! those of a decimal without their point, those of a float by their place in the order of all floats ([`float_place`]). A part
//! does not hold its statistics; whoever owns it keeps them beside it.

use crate::types::{Column, DataType, Strings};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType as Arrow, TimeUnit};

/// What is known of some rows of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows, those with NULL included.
    pub rows: u64,
    /// Rows with NULL.
    pub nulls: u64,
    /// Rows with NaN.
    pub nans: u64,
    /// The least and the greatest value; none if all rows are NULL or NaN.
    pub extremes: Option<(i128, i128)>,
    /// The sum of the values; none of floats, whose sum depends on their order, and none beyond 128 bits.
    pub sum: Option<i128>,
}

impl Summary {
    /// Of no rows, which a sum begins with.
    pub const EMPTY: Self = Self { rows: 0, nulls: 0, nans: 0, extremes: None, sum: Some(0) };

    /// Of the rows of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let extremes = match (self.extremes, other.extremes) {
            (Some(one), Some(two)) => Some((one.0.min(two.0), one.1.max(two.1))),
            (one, two) => one.or(two),
        };
        Self {
            rows: self.rows + other.rows,
            nulls: self.nulls + other.nulls,
            nans: self.nans + other.nans,
            extremes,
            sum: self.sum.zip(other.sum).and_then(|(one, two)| one.checked_add(two)),
        }
    }
    /// Rows that have a value, NaN or not.
    pub fn values(&self) -> u64 {
        self.rows.saturating_sub(self.nulls)
    }
}

/// What is known of the granules of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnStatistics {
    /// Name, and the type that its values are stored in.
    pub column: Column,
    /// In the order of the granules.
    pub granules: Vec<Summary>,
}

impl ColumnStatistics {
    /// All granules together.
    pub fn total(&self) -> Summary {
        self.granules.iter().fold(Summary::EMPTY, |sum, granule| sum.and(*granule))
    }
}

/// True if there are statistics of columns of this type.
pub fn has_statistics(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nullable(inner) => has_statistics(inner),
        DataType::Decimal { precision, .. } => *precision <= 38,
        DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Date
        | DataType::Date32
        | DataType::DateTime { .. }
        | DataType::DateTime64 { .. } => true,
        _ => false,
    }
}

/// The place of a float in the order of all floats, -0 before 0.
pub fn float_place(value: f64) -> i128 {
    let bits = value.to_bits().cast_signed();
    i128::from(if bits < 0 { bits ^ i64::MAX } else { bits })
}

/// The float at a place; none if there is no such place.
pub fn float_at(place: i128) -> Option<f64> {
    let bits = i64::try_from(place).ok()?;
    let bits = if bits < 0 { bits ^ i64::MAX } else { bits };
    Some(f64::from_bits(bits.cast_unsigned()))
}

/// Gathers the statistics of one column.
#[derive(Debug)]
pub struct Gatherer {
    column: Column,
    arrow: Arrow,
    granules: Vec<Summary>,
    /// Values came in another form than they are read in: what is written may differ from them.
    is_lost: bool,
}

impl Gatherer {
    /// For a column; none if there are no statistics of its type.
    pub fn new(column: &Column) -> Option<Self> {
        let arrow = column.data_type.arrow(Strings::Binary);
        let (column, granules) = (column.clone(), Vec::new());
        has_statistics(&column.data_type).then_some(Self {
            column,
            arrow,
            granules,
            is_lost: false,
        })
    }

    /// Adds rows that begin a granule, or go on with the last one.
    pub fn add(&mut self, values: &ArrayRef, opens: bool) {
        let found = if *values.data_type() == self.arrow { summary(values) } else { None };
        let Some(found) = found.filter(|_| !self.is_lost) else {
            self.is_lost = true;
            return;
        };
        match self.granules.last_mut() {
            Some(last) if !opens => *last = last.and(found),
            _ => self.granules.push(found),
        }
    }

    /// What was gathered; nothing if values came in a form that says too little.
    pub fn finish(self) -> Option<ColumnStatistics> {
        (!self.is_lost).then_some(ColumnStatistics { column: self.column, granules: self.granules })
    }
}

fn summary(values: &ArrayRef) -> Option<Summary> {
    Some(match values.data_type() {
        Arrow::UInt8 => narrow::<UInt8Type>(values.as_primitive()),
        Arrow::UInt16 => narrow::<UInt16Type>(values.as_primitive()),
        Arrow::UInt32 => narrow::<UInt32Type>(values.as_primitive()),
        Arrow::UInt64 => unsigned(values.as_primitive()),
        Arrow::Int8 => narrow::<Int8Type>(values.as_primitive()),
        Arrow::Int16 => narrow::<Int16Type>(values.as_primitive()),
        Arrow::Int32 => narrow::<Int32Type>(values.as_primitive()),
        Arrow::Date32 => narrow::<Date32Type>(values.as_primitive()),
        Arrow::Int64 => wide::<Int64Type>(values.as_primitive()),
        Arrow::Timestamp(TimeUnit::Second, _) => wide::<TimestampSecondType>(values.as_primitive()),
        Arrow::Timestamp(TimeUnit::Millisecond, _) => {
            wide::<TimestampMillisecondType>(values.as_primitive())
        }
        Arrow::Timestamp(TimeUnit::Microsecond, _) => {
            wide::<TimestampMicrosecondType>(values.as_primitive())
        }
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => {
            wide::<TimestampNanosecondType>(values.as_primitive())
        }
        Arrow::Decimal128(..) => decimal(values.as_primitive()),
        Arrow::Float32 => floats::<Float32Type>(values.as_primitive()),
        Arrow::Float64 => floats::<Float64Type>(values.as_primitive()),
        _ => return None,
    })
}

/// Folds the values that are not NULL.
fn fold<T: ArrowPrimitiveType, S>(
    array: &PrimitiveArray<T>,
    start: S,
    mut step: impl FnMut(S, T::Native) -> S,
) -> S {
    if array.null_count() == 0 {
        array.values().iter().fold(start, |sum, value| step(sum, *value))
    } else {
        array.iter().flatten().fold(start, &mut step)
    }
}

fn of<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    extremes: (i128, i128),
    sum: Option<i128>,
) -> Summary {
    let (rows, nulls) = (array.len() as u64, array.null_count() as u64);
    let extremes = (rows > nulls).then_some(extremes);
    Summary { rows, nulls, nans: 0, extremes, sum }
}

/// Integers of at most 32 bits: the sum of fewer than 2^31 of them has 63. Arrays of rows are shorter.
fn narrow<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &PrimitiveArray<T>) -> Summary {
    let (least, greatest, sum) =
        fold(array, (i64::MAX, i64::MIN, 0_i64), |(least, greatest, sum), value| {
            let value: i64 = value.into();
            (least.min(value), greatest.max(value), sum.wrapping_add(value))
        });
    let sum = (array.len() < 1 << 31).then_some(i128::from(sum));
    of(array, (least.into(), greatest.into()), sum)
}

fn wide<T: ArrowPrimitiveType<Native = i64>>(array: &PrimitiveArray<T>) -> Summary {
    let (least, greatest, sum) =
        fold(array, (i64::MAX, i64::MIN, 0_i128), |(least, greatest, sum), value| {
            (least.min(value), greatest.max(value), sum + i128::from(value))
        });
    of(array, (least.into(), greatest.into()), Some(sum))
}

fn unsigned(array: &PrimitiveArray<UInt64Type>) -> Summary {
    let (least, greatest, sum) =
        fold(array, (u64::MAX, u64::MIN, 0_i128), |(least, greatest, sum), value| {
            (least.min(value), greatest.max(value), sum + i128::from(value))
        });
    of(array, (least.into(), greatest.into()), Some(sum))
}

fn decimal(array: &PrimitiveArray<Decimal128Type>) -> Summary {
    let start = (i128::MAX, i128::MIN, Some(0_i128));
    let (least, greatest, sum) = fold(array, start, |(least, greatest, sum), value| {
        (least.min(value), greatest.max(value), sum.and_then(|sum| sum.checked_add(value)))
    });
    of(array, (least, greatest), sum)
}

fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &PrimitiveArray<T>) -> Summary {
    let start = (i128::MAX, i128::MIN, 0_u64);
    let (least, greatest, nans) = fold(array, start, |(least, greatest, nans), value| {
        let value: f64 = value.into();
        if value.is_nan() {
            return (least, greatest, nans + 1);
        }
        let place = float_place(value);
        (least.min(place), greatest.max(place), nans)
    });
    let all = of(array, (least, greatest), None);
    let extremes = all.extremes.filter(|_| all.values() > nans);
    Summary { nans, extremes, ..all }
}

#[cfg(test)]
mod tests {
    use super::{Gatherer, Summary, float_at, float_place};
    use crate::types::Column;
    use arrow_array::{ArrayRef, Decimal128Array, Float32Array, Int64Array, UInt64Array};
    use std::sync::Arc;

    fn gathered(data_type: &str, pieces: &[(ArrayRef, bool)]) -> Option<Vec<Summary>> {
        let data_type = data_type.parse().unwrap();
        let mut gatherer = Gatherer::new(&Column { name: "c".to_owned(), data_type })?;
        for (values, opens) in pieces {
            gatherer.add(values, *opens);
        }
        gatherer.finish().map(|it| it.granules)
    }

    #[test]
    fn integers_of_64_bits_are_summed_beyond_them() {
        let values: ArrayRef = Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(3)]));
        let found = gathered("Nullable(UInt64)", &[(values.clone(), true), (values, false)]);
        let sum = 2 * (i128::from(u64::MAX) + 3);
        let extremes = Some((3, u64::MAX.into()));
        let expected = Summary { rows: 6, nulls: 2, nans: 0, extremes, sum: Some(sum) };
        assert_eq!(found, Some(vec![expected]));
    }

    #[test]
    fn granules_are_told_apart_and_other_forms_say_nothing() {
        let piece = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
        let found = gathered("Int64", &[(piece(vec![1, -2]), true), (piece(vec![7]), true)]);
        let found: Vec<_> = found.unwrap().iter().map(|it| (it.extremes, it.sum)).collect();
        assert_eq!(found, [(Some((-2, 1)), Some(-1)), (Some((7, 7)), Some(7))]);
        assert_eq!(gathered("Int32", &[(piece(vec![1]), true)]), None);
        assert_eq!(gathered("String", &[]), None);
    }

    #[test]
    fn a_decimal_sum_beyond_128_bits_is_none() {
        let most = 10_i128.pow(38) - 1;
        let array = Decimal128Array::from(vec![most, most]).with_precision_and_scale(38, 2);
        let found = gathered("Decimal(38, 2)", &[(Arc::new(array.unwrap()), true)]).unwrap();
        assert_eq!((found[0].extremes, found[0].sum), (Some((most, most)), None));
    }

    #[test]
    fn floats_have_places_and_nans_none() {
        let order = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY];
        assert!(order.map(float_place).is_sorted_by(|one, two| one < two));
        for value in order {
            assert_eq!(float_at(float_place(value)).map(f64::to_bits), Some(value.to_bits()));
        }
        let values = Arc::new(Float32Array::from(vec![f32::NAN, -0.5, 2.0]));
        let found = gathered("Float32", &[(values, true)]).unwrap();
        let extremes = Some((float_place(-0.5), float_place(2.0)));
        assert_eq!(found, [Summary { rows: 3, nulls: 0, nans: 1, extremes, sum: None }]);
        let only = Arc::new(Float32Array::from(vec![f32::NAN]));
        assert_eq!(gathered("Float32", &[(only, true)]).unwrap()[0].extremes, None);
    }
}
