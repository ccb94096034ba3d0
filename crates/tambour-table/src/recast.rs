//! Values of one type as those of a wider one: what parts hold that are older than their table's types.

use super::fill::zero;
use super::widen::{element_places, labels, widens};
use crate::schema::expression::Expression;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampSecondType};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, ListArray, MapArray, RecordBatch, StructArray,
    UInt32Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_schema::{ArrowError, DataType as Arrow};
use arrow_select::take::take;
use std::fmt::Display;
use std::sync::Arc;
use tambour_part::part::Derive;
use tambour_part::types::{Column, DataType, Strings, arrow_schema};
use tambour_part::{PartError, Place};

/// An element of a tuple: its name, if it has one, and its type.
type Element = (Option<String>, DataType);

/// Casts the only column of a batch from one type to a wider one.
#[derive(Debug)]
pub(super) struct Cast {
    pub from: DataType,
    pub to: DataType,
}

impl Derive for Cast {
    fn derive(&self, stored: &RecordBatch) -> Result<ArrayRef, PartError> {
        let Some(values) = stored.columns().first() else {
            return Err(refused("there is no column to cast"));
        };
        converted(values, &self.from, &self.to)
    }
}

/// The same values in the Arrow form of another type, strings as they were (as bytes, if there were none).
pub(super) fn converted(
    values: &ArrayRef,
    from: &DataType,
    to: &DataType,
) -> Result<ArrayRef, PartError> {
    let strings = strings_of(from, values.data_type()).unwrap_or(Strings::Binary);
    recast(values, from, to, strings)
}

fn refused(problem: impl Display) -> PartError {
    PartError::value(Place::default(), problem.to_string())
}

fn recast(
    values: &ArrayRef,
    from: &DataType,
    to: &DataType,
    strings: Strings,
) -> Result<ArrayRef, PartError> {
    use DataType as T;
    let wrong = |error: ArrowError| refused(format!("{from} as {to}: {error}"));
    match (from, to, to.arrow(strings)) {
        (T::Array(from), T::Array(to), Arrow::List(field)) => {
            let list = values.as_list_opt::<i32>();
            let list = list.ok_or_else(|| refused("an array is a list"))?;
            let (offsets, items) = held(list.offsets(), list.values());
            let items = nested(&items, from, to, strings)?;
            let made = ListArray::try_new(field, offsets, items, list.nulls().cloned());
            Ok(Arc::new(made.map_err(wrong)?))
        }
        (T::Map(key, value), T::Map(to_key, to_value), Arrow::Map(entries, is_sorted)) => {
            let map = values.as_map_opt().ok_or_else(|| refused("a map is a map"))?;
            let (offsets, keys) = held(map.offsets(), map.keys());
            let (_, items) = held(map.offsets(), map.values());
            let keys = nested(&keys, key, to_key, strings)?;
            let items = nested(&items, value, to_value, strings)?;
            let Arrow::Struct(fields) = entries.data_type() else {
                return Err(refused("a map has entries"));
            };
            let pairs = StructArray::try_new(fields.clone(), vec![keys, items], None);
            let (pairs, nulls) = (pairs.map_err(wrong)?, map.nulls().cloned());
            let made = MapArray::try_new(entries, offsets, pairs, nulls, is_sorted);
            Ok(Arc::new(made.map_err(wrong)?))
        }
        (T::Tuple(from), T::Tuple(to), Arrow::Struct(fields)) => {
            let tuple = values.as_struct_opt().ok_or_else(|| refused("a tuple is a struct"))?;
            let columns = elements(tuple, from, to, strings)?;
            let (nulls, rows) = (tuple.nulls().cloned(), tuple.len());
            let made = StructArray::try_new_with_length(fields, columns, nulls, rows);
            Ok(Arc::new(made.map_err(wrong)?))
        }
        _ => scalar(values, from, to, strings),
    }
}

/// The same, in exactly the form that values have inside of others.
fn nested(
    values: &ArrayRef,
    from: &DataType,
    to: &DataType,
    strings: Strings,
) -> Result<ArrayRef, PartError> {
    let made = recast(values, from, to, strings)?;
    let wanted = to.arrow(strings);
    if *made.data_type() == wanted {
        return Ok(made);
    }
    strictly(&made, &wanted).map_err(|error| refused(format!("{from} as {to}: {error}")))
}

/// The elements of a wider tuple: those that there are, and NULL, zero or nothing for those that are new.
fn elements(
    tuple: &StructArray,
    from: &[Element],
    to: &[Element],
    strings: Strings,
) -> Result<Vec<ArrayRef>, PartError> {
    let places = element_places(from, to).ok_or_else(|| refused("the tuple lacks elements"))?;
    let element = |(place, (_, to)): (Option<usize>, &Element)| match place {
        Some(place) => nested(tuple.column(place), &from[place].1, to, strings),
        None => filled(to, strings, tuple.len()),
    };
    places.into_iter().zip(to).map(element).collect()
}

/// What this many rows have in a place that they were written without.
fn filled(data_type: &DataType, strings: Strings, rows: usize) -> Result<ArrayRef, PartError> {
    let one = zero(data_type).map_err(refused)?;
    let one = strictly(&one, &data_type.arrow(strings)).map_err(refused)?;
    take(one.as_ref(), &UInt32Array::from(vec![0; rows]), None).map_err(refused)
}

/// The values that lists really have, and where those of each end.
fn held(offsets: &OffsetBuffer<i32>, values: &ArrayRef) -> (OffsetBuffer<i32>, ArrayRef) {
    let ends = [offsets.first(), offsets.last()];
    let [first, last] = ends.map(|end| end.map_or(0, |end| end.unsigned_abs() as usize));
    let lengths = offsets.windows(2).map(|ends| (ends[1] - ends[0]).unsigned_abs() as usize);
    (OffsetBuffer::from_lengths(lengths), values.slice(first, last - first))
}

fn strictly(values: &ArrayRef, wanted: &Arrow) -> Result<ArrayRef, ArrowError> {
    if values.data_type() == wanted {
        return Ok(Arc::clone(values));
    }
    cast_with_options(values, wanted, &CastOptions { safe: false, ..CastOptions::default() })
}

fn scalar(
    values: &ArrayRef,
    from: &DataType,
    to: &DataType,
    strings: Strings,
) -> Result<ArrayRef, PartError> {
    if !labels(to.unwrapped()).is_empty() {
        return relabeled(values, to);
    }
    if *to.unwrapped() == DataType::String && is_spelled(from.unwrapped()) {
        let texts = spelled(values, from)?;
        return converted(&texts, &DataType::String, to);
    }
    let step = |values: &ArrayRef, wanted: &Arrow| {
        strictly(values, wanted).map_err(|error| refused(format!("{from} as {to}: {error}")))
    };
    let wanted = to.arrow(strings);
    match (values.data_type(), &wanted) {
        (Arrow::Dictionary(..), Arrow::Dictionary(..)) => Ok(Arc::clone(values)),
        // By way of the type that dictionaries of it have.
        (Arrow::Utf8View | Arrow::BinaryView, Arrow::Dictionary(_, value)) => {
            step(&step(values, value)?, &wanted)
        }
        // A day begins at midnight in UTC, whatever the zone is called.
        (Arrow::Date32, Arrow::Timestamp(unit, _)) => {
            step(&step(values, &Arrow::Timestamp(*unit, None))?, &wanted)
        }
        _ => step(values, &wanted),
    }
}

/// True of a type whose values have to be spelled to become texts.
fn is_spelled(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::String | DataType::FixedString(_))
}

/// Values as ClickHouse spells them.
fn spelled(values: &ArrayRef, from: &DataType) -> Result<ArrayRef, PartError> {
    let column = Column { name: "x".to_owned(), data_type: from.clone() };
    let text = Expression::Call {
        function: "toString".to_owned(),
        arguments: vec![Expression::Column(column.name.clone())],
    };
    let schema = Arc::new(arrow_schema(&[column], Strings::Binary));
    let batch = RecordBatch::try_new(schema, vec![Arc::clone(values)]).map_err(refused)?;
    text.evaluate(&batch).map_err(refused)
}

/// Whether strings are held as bytes or as text, if there are any.
fn strings_of(data_type: &DataType, arrow: &Arrow) -> Option<Strings> {
    match (data_type, arrow) {
        (DataType::Nullable(inner) | DataType::LowCardinality(inner), _) => {
            strings_of(inner, arrow)
        }
        (DataType::Array(item), Arrow::List(field)) => strings_of(item, field.data_type()),
        (DataType::Map(key, value), Arrow::Map(entries, _)) => match entries.data_type() {
            Arrow::Struct(fields) => strings_of(key, fields.first()?.data_type())
                .or_else(|| strings_of(value, fields.get(1)?.data_type())),
            _ => None,
        },
        (DataType::Tuple(elements), Arrow::Struct(fields)) => {
            let mut pairs = elements.iter().zip(fields);
            pairs.find_map(|((_, element), field)| strings_of(element, field.data_type()))
        }
        (DataType::String, Arrow::Dictionary(_, value)) => strings_of(data_type, value),
        (DataType::String, Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView) => {
            Some(Strings::Binary)
        }
        (DataType::String, _) => Some(Strings::Utf8),
        _ => None,
    }
}

/// True if another type has a value of its own for each of these, also inside of them.
pub(super) fn is_held(values: &ArrayRef, old: &DataType, new: &DataType) -> bool {
    use DataType as T;
    if widens(old, new).is_some_and(|it| !it.may_lose) {
        return true;
    }
    match (old, new) {
        (T::Array(old), T::Array(new)) => values
            .as_list_opt::<i32>()
            .is_some_and(|list| is_held(&held(list.offsets(), list.values()).1, old, new)),
        (T::Map(key, value), T::Map(new_key, new_value)) => {
            values.as_map_opt().is_some_and(|map| {
                let part = |values| held(map.offsets(), values).1;
                is_held(&part(map.keys()), key, new_key)
                    && is_held(&part(map.values()), value, new_value)
            })
        }
        (T::Tuple(old), T::Tuple(new)) => {
            let (Some(places), Some(tuple)) = (element_places(old, new), values.as_struct_opt())
            else {
                return false;
            };
            places.into_iter().zip(new).all(|(place, (_, new))| {
                place.is_none_or(|place| is_held(tuple.column(place), &old[place].1, new))
            })
        }
        _ => {
            let Ok(there) = converted(values, old, new) else { return false };
            let Ok(back) = cast(&there, values.data_type()) else { return false };
            is_in_range(&there, new) && values.to_data() == back.to_data()
        }
    }
}

/// True if all values are in the range of a type whose Arrow form holds more: seconds of 64 bits for a DateTime, which has 32.
fn is_in_range(values: &ArrayRef, to: &DataType) -> bool {
    match to {
        DataType::DateTime { .. } => match values.as_primitive_opt::<TimestampSecondType>() {
            Some(times) => times.iter().flatten().all(|time| u32::try_from(time).is_ok()),
            None => values
                .as_any_dictionary_opt()
                .is_none_or(|dictionary| is_in_range(dictionary.values(), to)),
        },
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => is_in_range(values, inner),
        _ => true,
    }
}

/// Values of an Enum in the dictionary of another, which has all of its names.
fn relabeled(values: &ArrayRef, to: &DataType) -> Result<ArrayRef, PartError> {
    let wrong = |error: &dyn Display| refused(format!("as {to}: {error}"));
    let known = labels(to.unwrapped());
    let mut sorted = known.clone();
    sorted.sort_by_key(|(_, number)| *number);
    let names: Vec<&str> = sorted.into_iter().map(|(name, _)| name).collect();
    let texts = cast(values, &Arrow::Utf8).map_err(|error| wrong(&error))?;
    let texts = texts.as_string::<i32>();
    let mut keys = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        if texts.is_null(row) {
            keys.push(None);
            continue;
        }
        let at = names.iter().position(|name| *name == texts.value(row));
        let at = at.ok_or_else(|| wrong(&format!("it has no name {:?}", texts.value(row))))?;
        keys.push(Some(i32::try_from(at).unwrap_or(i32::MAX)));
    }
    let names = Arc::new(arrow_array::StringArray::from(names));
    let values = DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), names)
        .map_err(|error| wrong(&error))?;
    let Arrow::Dictionary(key, _) = to.arrow(Strings::Utf8) else { return Ok(Arc::new(values)) };
    let keys = cast(values.keys(), &key).map_err(|error| wrong(&error))?;
    let data = keys.to_data().into_builder().data_type(to.arrow(Strings::Utf8));
    let data = data.add_child_data(values.values().to_data()).build();
    data.map(arrow_array::make_array).map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Int64Array, StringViewArray, UInt16Array};

    #[test]
    fn values_are_the_same() {
        let cast = |values: ArrayRef, from: &str, to: &str| {
            let (from, to): (DataType, DataType) = (from.parse().unwrap(), to.parse().unwrap());
            let stored = Column { name: "x".to_owned(), data_type: from.clone() };
            let schema = arrow_schema(&[stored], Strings::Utf8);
            let batch = RecordBatch::try_new(Arc::new(schema), vec![values]).unwrap();
            let cast = Cast { from, to }.derive(&batch).unwrap();
            let texts = arrow_cast::cast(&cast, &Arrow::Utf8).unwrap();
            texts.as_string::<i32>().iter().map(|it| it.unwrap().to_owned()).collect::<Vec<_>>()
        };
        let numbers: ArrayRef = Arc::new(UInt16Array::from(vec![0, 70, 65_535]));
        assert_eq!(cast(numbers.clone(), "UInt16", "Int128"), ["0", "70", "65535"]);
        assert_eq!(cast(numbers.clone(), "UInt16", "String"), ["0", "70", "65535"]);
        assert_eq!(
            cast(numbers, "UInt16", "LowCardinality(Nullable(UInt32))"),
            ["0", "70", "65535"]
        );
        let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 20_000]));
        let days = cast(days, "Date", "DateTime64(3)");
        assert_eq!(days, ["1970-01-01T00:00:00Z", "2024-10-04T00:00:00Z"]);
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b"]));
        assert_eq!(cast(texts, "String", "LowCardinality(String)"), ["a", "b"]);
        let large: ArrayRef = Arc::new(Int64Array::from(vec![-1]));
        assert_eq!(cast(large, "Int64", "Float64"), ["-1.0"]);
    }

    /// Lists of this many of the values each.
    fn lists(data_type: &str, values: ArrayRef, lengths: &[usize]) -> ArrayRef {
        let data_type: DataType = data_type.parse().unwrap();
        let Arrow::List(field) = data_type.arrow(Strings::Utf8) else { panic!("{data_type}") };
        let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
        Arc::new(ListArray::try_new(field, offsets, values, None).unwrap())
    }

    fn shown(values: &ArrayRef) -> Vec<String> {
        let show = |row| arrow_cast::display::array_value_to_string(values, row).unwrap();
        (0..values.len()).map(show).collect()
    }

    #[test]
    fn values_inside_of_others_are_the_same() {
        let numbers: ArrayRef = Arc::new(UInt16Array::from(vec![9, 1, 2, 3]));
        let from = "Array(UInt16)";
        // Not all of the values are of rows that are looked at.
        let rows = lists(from, numbers, &[1, 2, 0, 1]).slice(1, 3);
        for (to, expected) in [
            ("Array(Nullable(Int64))", ["[1, 2]", "[]", "[3]"]),
            ("Array(Float64)", ["[1.0, 2.0]", "[]", "[3.0]"]),
            ("Array(String)", ["[1, 2]", "[]", "[3]"]),
        ] {
            let (from, to) = (from.parse().unwrap(), to.parse::<DataType>().unwrap());
            let made = converted(&rows, &from, &to).unwrap();
            assert_eq!(*made.data_type(), to.arrow(Strings::Binary), "{to}");
            let made = arrow_cast::cast(&made, &to.arrow(Strings::Utf8)).unwrap();
            assert_eq!(shown(&made), expected, "{to}");
        }
    }

    #[test]
    fn new_elements_of_tuples_have_no_value() {
        let from: DataType = "Tuple(a UInt16, s String)".parse().unwrap();
        let to = "Tuple(n Nullable(UInt8), a Int64, t String, m Tuple(d Date), l Array(UInt8), s String)";
        let to: DataType = to.parse().unwrap();
        let Arrow::Struct(fields) = from.arrow(Strings::Utf8) else { panic!() };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt16Array::from(vec![7, 8])),
            Arc::new(StringViewArray::from(vec!["x", "y"])),
        ];
        let tuples: ArrayRef = Arc::new(StructArray::try_new(fields, columns, None).unwrap());
        let made = converted(&tuples, &from, &to).unwrap();
        assert_eq!(*made.data_type(), to.arrow(Strings::Utf8));
        let expected = "{n: , a: 8, t: , m: {d: 1970-01-01}, l: [], s: y}";
        assert_eq!(shown(&made)[1], expected);
    }

    #[test]
    fn labels_inside_of_arrays_are_those_of_the_new_type() {
        let from: DataType = "Array(Enum8('b' = 2))".parse().unwrap();
        let to: DataType = "Array(Enum8('a' = 1, 'b' = 2))".parse().unwrap();
        let DataType::Array(item) = &from else { panic!() };
        let texts: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["b"]));
        let values = relabeled(&texts, item).unwrap();
        let made = converted(&lists(&from.to_string(), values, &[1]), &from, &to).unwrap();
        let labels = made.as_list::<i32>().values().as_any_dictionary();
        assert_eq!(shown(&Arc::new(made.as_list::<i32>().values())), ["b"]);
        assert_eq!(labels.normalized_keys(), [1]);
    }

    #[test]
    fn what_is_lost_inside_of_others_is_noticed() {
        let held = |number: i64| {
            let values: ArrayRef = Arc::new(Int64Array::from(vec![1, number]));
            let rows = lists("Array(Int64)", values, &[1, 1]);
            let (from, to) = ("Array(Int64)".parse().unwrap(), "Array(Float64)".parse().unwrap());
            [is_held(&rows, &from, &to), is_held(&rows.slice(0, 1), &from, &to)]
        };
        assert_eq!(held(1 << 53), [true, true]);
        assert_eq!(held((1 << 53) + 1), [false, true]);
    }
}
