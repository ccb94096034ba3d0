//! Maps: `mapFromArrays`, `mapKeys`, `mapValues`, `mapContainsValue`, `mapSort`, `mapUpdate`, `mapConcat`.

use super::access::{Kind, array_of, as_list, item_of, list_array, takes, type_at};
use super::array::compare::Comparable;
use super::array::compare_items;
use super::supertype::{common_type, interleave, supertype, widened};
use super::{Call, Function, Operand, Signature, expect_count, take, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, MapArray, StructArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType as ArrowType, Field};
use std::collections::HashSet;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("mapKeys", |n, s| Ok(array_of(map_types(n, s)?.0)), |c| sides(c, true)),
    Function::new("mapValues", |n, s| Ok(array_of(map_types(n, s)?.1)), |c| sides(c, false)),
    Function::new("mapFromArrays", arrays_type, from_arrays).aliases(&["MAP_FROM_ARRAYS"]),
    Function::new("mapFromTuples", tuples_type, from_tuples),
    Function::new("mapContainsValue", contains_type, contains_value).takes_nulls().predicate(),
    Function::new("mapFilterByKeys", keyed_type, filter),
    Function::new("mapSort", plain_type, |c| sort(c, false)),
    Function::new("mapReverseSort", plain_type, |c| sort(c, true)),
    Function::new("mapSortByKeys", keyed_type, |c| sort(c, false)),
    Function::new("mapReverseSortByKeys", keyed_type, |c| sort(c, true)),
    Function::new("mapUpdate", |n, s| many_type(n, s, 2), |c| merge(c, true)),
    Function::new("mapConcat", |n, s| many_type(n, s, usize::MAX), |c| merge(c, false)),
];

fn map_types(name: &'static str, s: &[Signature]) -> Result<(DataType, DataType), FunctionError> {
    takes(name, s, &[Kind::Map], &[])?;
    match type_at(s, 0) {
        DataType::Map(key, value) => Ok((key.as_ref().clone(), value.as_ref().clone())),
        other => Err(wrong(name, format!("it takes a Map, not {other}"))),
    }
}

/// The keys, the values and where those of each row are.
pub(super) struct Maps {
    pub(super) keys: ArrayRef,
    pub(super) values: ArrayRef,
    key_type: DataType,
    offsets: Vec<i32>,
    is_constant: bool,
}

impl Maps {
    pub(super) fn of(call: &Call, index: usize) -> Result<Self, FunctionError> {
        let operand = call.operand(index)?;
        let (Some(map), DataType::Map(key, _)) = (operand.values.as_map_opt(), &operand.data_type)
        else {
            return Err(wrong(call.name, format!("it does not take {}", operand.data_type)));
        };
        Ok(Self {
            keys: map.keys().clone(),
            values: map.values().clone(),
            key_type: key.as_ref().clone(),
            offsets: map.value_offsets().to_vec(),
            is_constant: operand.is_constant,
        })
    }
    pub(super) fn range(&self, row: usize) -> std::ops::Range<usize> {
        let row = if self.is_constant { 0 } else { row };
        match self.offsets.get(row..row + 2) {
            Some([from, to]) => *from as usize..*to as usize,
            _ => 0..0,
        }
    }
    fn key_operand(&self) -> Operand {
        Operand { data_type: self.key_type.clone(), values: self.keys.clone(), is_constant: false }
    }
}

fn sides(call: &Call, of_keys: bool) -> Result<ArrayRef, FunctionError> {
    let maps = Maps::of(call, 0)?;
    let side = if of_keys { &maps.keys } else { &maps.values };
    let places = (0..call.rows).flat_map(|row| maps.range(row)).map(|at| at as u32);
    let values = take(side, &UInt32Array::from_iter_values(places))?;
    let lengths = (0..call.rows).map(|row| maps.range(row).len()).collect();
    list_array(lengths, values, item_of(call.result))
}

/// A map with these keys and values, this many in each row.
pub fn map_array(
    lengths: Vec<usize>,
    keys: ArrayRef,
    values: ArrayRef,
    result: &DataType,
) -> Result<ArrayRef, FunctionError> {
    let DataType::Map(key_type, value_type) = result else {
        return Err(wrong("map", "its result is a Map"));
    };
    if keys.null_count() > 0 {
        return Err(wrong("map", "a key is NULL"));
    }
    let (keys, values) = (widened(&keys, key_type)?, widened(&values, value_type)?);
    let is_nullable = super::is_nullable(value_type) || values.null_count() > 0;
    let fields = vec![
        Field::new("keys", keys.data_type().clone(), false),
        Field::new("values", values.data_type().clone(), is_nullable),
    ];
    let entries = StructArray::try_new(fields.clone().into(), vec![keys, values], None)
        .map_err(FunctionError::arrow("make maps"))?;
    let field = Arc::new(Field::new("entries", ArrowType::Struct(fields.into()), false));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let map = MapArray::try_new(field, offsets, entries, None, false);
    Ok(Arc::new(map.map_err(FunctionError::arrow("make maps"))?))
}

fn bare_key(name: &str, key: &DataType) -> Result<DataType, FunctionError> {
    match key {
        DataType::Array(_) | DataType::Map(..) => Err(wrong(name, format!("{key} is not a key"))),
        // A key that is NULL is an error when it comes.
        other => Ok(super::bare(other).clone()),
    }
}

fn arrays_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Array], &[])?;
    let key = bare_key(name, item_of(type_at(s, 0)))?;
    Ok(DataType::Map(Box::new(key), Box::new(item_of(type_at(s, 1)).clone())))
}

fn from_arrays(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (keys, values) = (call.lists(0)?, call.lists(1)?);
    let (mut of_keys, mut of_values, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..call.rows {
        let (a, b) = (keys.range(row), values.range(row));
        if a.len() != b.len() && !call.is_null(row) {
            return Err(call.value_error(row, format!("{} keys and {} values", a.len(), b.len())));
        }
        let count = a.len().min(b.len());
        lengths.push(count);
        of_keys.extend(a.take(count).map(|at| at as u32));
        of_values.extend(b.take(count).map(|at| at as u32));
    }
    let keys = take(&keys.items.values, &UInt32Array::from(of_keys))?;
    let values = take(&values.items.values, &UInt32Array::from(of_values))?;
    map_array(lengths, keys, values, call.result)
}

fn tuples_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    match item_of(type_at(s, 0)) {
        DataType::Tuple(elements) if elements.len() == 2 => {
            let key = match &elements[0].1 {
                DataType::Nullable(inner) => inner.as_ref().clone(),
                other => other.clone(),
            };
            Ok(DataType::Map(Box::new(key), Box::new(elements[1].1.clone())))
        }
        other => Err(wrong(name, format!("it takes pairs of a key and a value, not {other}"))),
    }
}

fn from_tuples(call: &Call) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    let Some(list) = as_list(&values) else { return Err(wrong(call.name, "it takes an array")) };
    let lists = call.lists(0)?;
    let places = (0..call.rows).flat_map(|row| lists.range(row)).map(|at| at as u32);
    let pairs = take(list.values(), &UInt32Array::from_iter_values(places))?;
    let Some(pairs) = pairs.as_struct_opt() else {
        return Err(wrong(call.name, "it takes pairs"));
    };
    let lengths = (0..call.rows).map(|row| lists.range(row).len()).collect();
    map_array(lengths, pairs.column(0).clone(), pairs.column(1).clone(), call.result)
}

fn contains_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Map, Kind::Any], &[])?;
    let (_, value) = map_types(name, s.get(..1).unwrap_or_default())?;
    match supertype(&value, type_at(s, 1)) {
        Some(_) => Ok(DataType::UInt8),
        None => Err(wrong(name, format!("{value} and {} are not compared", type_at(s, 1)))),
    }
}

fn contains_value(call: &Call) -> Result<ArrayRef, FunctionError> {
    let maps = Maps::of(call, 0)?;
    let needle = call.operand(1)?;
    let DataType::Map(_, value_type) = &call.operand(0)?.data_type else {
        return Err(wrong(call.name, "it takes a Map"));
    };
    let Some(wanted) = supertype(value_type, &needle.data_type) else {
        return Err(wrong(call.name, "the types are not compared"));
    };
    let form = |values: &ArrayRef| {
        let values = widened(values, &wanted)?;
        Ok::<_, FunctionError>(Operand { data_type: wanted.clone(), values, is_constant: false })
    };
    let all = compare_items(&[&form(&maps.values)?, &form(&needle.values)?])?;
    let [values, needles] = all.as_slice() else {
        return Err(wrong(call.name, "there is nothing to compare"));
    };
    call.make_flags(|row| {
        let needle = needles.get(if needle.is_constant { 0 } else { row });
        maps.range(row).any(|at| values.get(at) == needle)
    })
}

fn plain_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    map_types(name, s)?;
    Ok(type_at(s, 0).clone())
}

fn keyed_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Map], &[])?;
    Ok(type_at(s, 1).clone())
}

fn picked(call: &Call, maps: &Maps, places: &[Vec<usize>]) -> Result<ArrayRef, FunctionError> {
    let lengths = places.iter().map(Vec::len).collect();
    let flat = UInt32Array::from_iter_values(places.iter().flatten().map(|at| *at as u32));
    map_array(lengths, take(&maps.keys, &flat)?, take(&maps.values, &flat)?, call.result)
}

fn filter(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (conditions, maps) = (call.lists(0)?, Maps::of(call, 1)?);
    let flags = super::access::wide_integers(&conditions.items.values)?;
    let places: Vec<Vec<usize>> = (0..call.rows)
        .map(|row| {
            let pairs = conditions.range(row).zip(maps.range(row));
            pairs.filter(|(flag, _)| flags[*flag] != 0).map(|(_, at)| at).collect()
        })
        .collect();
    picked(call, &maps, &places)
}

fn sort(call: &Call, is_reverse: bool) -> Result<ArrayRef, FunctionError> {
    let maps = Maps::of(call, call.operands.len() - 1)?;
    let lists = if call.operands.len() > 1 { Some(call.lists(0)?) } else { None };
    let items = match &lists {
        Some(lists) => compare_items(&[&lists.items])?,
        None => compare_items(&[&maps.key_operand()])?,
    };
    let Some(items) = items.first() else {
        return Err(wrong(call.name, "there is nothing to compare"));
    };
    let places: Vec<Vec<usize>> = (0..call.rows)
        .map(|row| {
            let range = maps.range(row);
            let key = lists.as_ref().map_or(range.start, |lists| lists.range(row).start);
            let mut order: Vec<usize> = (0..range.len()).collect();
            order.sort_by(|a, b| {
                let of_keys = items.get(key + a).cmp(items.get(key + b));
                if is_reverse { of_keys.reverse() } else { of_keys }
            });
            order.into_iter().map(|at| range.start + at).collect()
        })
        .collect();
    picked(call, &maps, &places)
}

/// The types that the keys and the values of several maps have in common.
pub(super) fn common_types(
    name: &'static str,
    s: &[Signature],
) -> Result<(DataType, DataType), FunctionError> {
    takes(name, s, &vec![Kind::Map; s.len()], &[])?;
    let side = |of_keys: bool| {
        let types = s.iter().map(move |argument| match &argument.data_type {
            DataType::Map(key, _) if of_keys => key.as_ref().clone(),
            DataType::Map(_, value) => value.as_ref().clone(),
            other => other.clone(),
        });
        common_type(name, types)
    };
    Ok((side(true)?, side(false)?))
}

fn many_type(name: &'static str, s: &[Signature], most: usize) -> Result<DataType, FunctionError> {
    expect_count(name, s, if most == 2 { 2 } else { 1 }..=most)?;
    let (key, value) = common_types(name, s)?;
    Ok(DataType::Map(Box::new(key), Box::new(value)))
}

/// Several maps, whose keys and values have the types of the result.
pub(super) struct Several {
    pub(super) maps: Vec<Maps>,
    pub(super) keys: Vec<ArrayRef>,
    pub(super) values: Vec<ArrayRef>,
    /// The keys in a form that can be compared.
    pub(super) items: Vec<Comparable>,
}

impl Several {
    pub(super) fn of(call: &Call) -> Result<Self, FunctionError> {
        let DataType::Map(key_type, value_type) = call.result else {
            return Err(wrong(call.name, "its result is a Map"));
        };
        let maps = (0..call.operands.len()).map(|index| Maps::of(call, index));
        let maps = maps.collect::<Result<Vec<_>, _>>()?;
        let keys = maps.iter().map(|maps| widened(&maps.keys, key_type));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let values = maps.iter().map(|maps| widened(&maps.values, value_type));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let operands = keys.iter().map(|values| Operand {
            data_type: key_type.as_ref().clone(),
            values: Arc::clone(values),
            is_constant: false,
        });
        let operands: Vec<Operand> = operands.collect();
        let items = compare_items(&operands.iter().collect::<Vec<_>>())?;
        Ok(Self { maps, keys, values, items })
    }
}

/// All pairs one after the other; with `update` those of the first map whose keys the second has not, and then the second's.
fn merge(call: &Call, update: bool) -> Result<ArrayRef, FunctionError> {
    let Several { maps, keys, values, items } = Several::of(call)?;
    let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let mut of_row: Vec<(usize, usize)> = Vec::new();
        let later: HashSet<&[u8]> = match maps.get(1) {
            Some(second) if update => second.range(row).map(|at| items[1].get(at)).collect(),
            _ => HashSet::new(),
        };
        for (index, maps) in maps.iter().enumerate() {
            let stays = |at: &usize| index > 0 || !later.contains(items[index].get(*at));
            of_row.extend(maps.range(row).filter(stays).map(|at| (index, at)));
        }
        lengths.push(of_row.len());
        places.extend(of_row);
    }
    let joined = |all: &[ArrayRef]| {
        let all: Vec<&dyn Array> = all.iter().map(AsRef::as_ref).collect();
        interleave(&all, &places).map_err(FunctionError::arrow("join maps"))
    };
    map_array(lengths, joined(&keys)?, joined(&values)?, call.result)
}
