//! Arrays and maps of a group put together: what the combinators `-Array`, `-ForEach` and `-Map` look at, and the most
//! frequent values of a group.

use crate::{find_in_queries, mapped};
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, StructArray, UInt32Array, UInt64Array,
};
use arrow_schema::DataType as ArrowType;
use arrow_select::nullif::nullif;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use tambour_function::kit::{
    Call, Kind, Lists, Picks, Texts, array_of, class, compare_items, constant_integer, integer,
    is_moment, item_field, item_of, key_items, list_array, map_array, null_at, plain_item, take,
    takes, total, type_at, undress, wide_integers, wrong,
};
use tambour_function::{Function, FunctionError, Operand, Signature, bare, cast};
use tambour_part::types::DataType;

/// Counters that ClickHouse keeps for each value that `topK` is to find.
const COUNTERS: i64 = 3;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("reduceConcat", concat_type, concat),
    Function::new("reduceEach", each_type, each),
    Function::new("reduceForEach", for_each_type, for_each),
    Function::new("reduceMap", map_type, by_key),
    Function::new("reduceTopK", top_type, |c| top(c, false)),
    Function::new("reduceTopKWeighted", weighted_type, |c| top(c, true)),
    Function::new(
        "reduceApproxTopK",
        |n, s| top_type(n, s).map(with_counts),
        |c| counted(c, false),
    ),
    Function::new(
        "reduceApproxTopSum",
        |n, s| weighted_type(n, s).map(with_counts),
        |c| counted(c, true),
    ),
    Function::new("reduceQuantileBFloat16", bfloat16_type, bfloat16),
    Function::new("reduceGroupBitmap", wrapping_type, |c| {
        let lists = c.lists(0)?;
        let compared = compare_items(&[&lists.items])?;
        let Some(compared) = compared.first() else {
            return Err(wrong(c.name, "it takes integers"));
        };
        // The count has the type of the values, and wraps around.
        c.make_integers(|row| {
            let there = lists.range(row).filter(|at| !lists.is_null(*at));
            there.map(|at| compared.get(at)).collect::<HashSet<_>>().len() as i128
        })
    }),
    Function::new("reduceSumWithOverflow", sum_type, wrapping_sum),
];

fn concat_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    match bare(item_of(type_at(s, 0))) {
        DataType::Array(item) => Ok(array_of(bare(item).clone())),
        other => Err(wrong(name, format!("it takes arrays, not {other}"))),
    }
}

/// The items of the inner arrays in one, NULLs left out.
fn concat(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let inner = inner_lists(call, &lists.items)?;
    let mut places = Picks::new(call);
    for row in 0..call.rows {
        let items = lists.range(row).flat_map(|at| inner.range(at));
        places.row(items.filter(|at| !inner.is_null(*at)));
    }
    places.arrays_of(&inner.items.values, item_of(call.result))
}

/// The inner arrays of an array of them.
fn inner_lists(call: &Call, items: &Operand) -> Result<Lists, FunctionError> {
    let operands = std::slice::from_ref(items);
    let rows = items.values.len();
    Call { name: call.name, operands, result: call.result, rows }.lists(0)
}

/// The function of arrays that a constant text names.
pub(crate) fn reducer(
    name: &'static str,
    s: &[Signature],
) -> Result<&'static Function, FunctionError> {
    let constant = s.get(1).and_then(|argument| argument.constant.as_ref());
    let text = constant.and_then(|constant| Texts::of(constant).first());
    text.and_then(|text| find_in_queries(&text))
        .ok_or_else(|| wrong(name, "it takes the name of a function of arrays"))
}

/// True if no items are reduced to a NULL: all but counts are where items may be NULL.
fn gives_nulls(reducer: &Function, item: &DataType) -> bool {
    let is_count = matches!(reducer.name(), "length" | "arrayUniq" | "arrayDistinct");
    item.is_nullable() && !is_count
}

/// True for `uniq`, which has 64 bits where the function of arrays has 32.
fn counts_values(reducer: &Function) -> bool {
    reducer.name() == "arrayUniq"
}

/// What items of this type are reduced to.
fn reduced_type(
    name: &'static str,
    s: &[Signature],
    item: &DataType,
) -> Result<DataType, FunctionError> {
    let reducer = reducer(name, s)?;
    let data_type = array_of(bare(item).clone());
    let reduced = reducer.data_type(&[Signature { data_type, constant: None }])?;
    let reduced = if counts_values(reducer) { DataType::UInt64 } else { reduced };
    Ok(if gives_nulls(reducer, item) { reduced.made_nullable() } else { reduced })
}

fn each_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::ConstText], &[])?;
    match bare(item_of(type_at(s, 0))) {
        DataType::Array(item) => reduced_type(name, s, item),
        other => Err(wrong(name, format!("it takes arrays, not {other}"))),
    }
}

/// The items of all arrays reduced to one.
fn each(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let inner = inner_lists(call, &lists.items)?;
    let items = |row: usize| lists.range(row).flat_map(|at| inner.range(at));
    let groups = (0..call.rows).map(|row| items(row).filter(|at| !inner.is_null(*at)).collect());
    reduced(call, &inner.items, groups.collect(), &inner.item_type)
}

fn for_each_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    each_type(name, s).map(array_of)
}

fn signatures(call: &Call) -> Vec<Signature> {
    call.operands.iter().map(Operand::signature).collect()
}

/// Groups of items, given by their places, reduced to one each. `item_type`: with its `Nullable`.
pub(crate) fn reduced(
    call: &Call,
    items: &Operand,
    groups: Vec<Vec<usize>>,
    item_type: &DataType,
) -> Result<ArrayRef, FunctionError> {
    reduced_by(reducer(call.name, &signatures(call))?, items, groups, item_type)
}

/// The same by a function of arrays.
pub(crate) fn reduced_by(
    reducer: &Function,
    items: &Operand,
    groups: Vec<Vec<usize>>,
    item_type: &DataType,
) -> Result<ArrayRef, FunctionError> {
    let empty: Vec<bool> = groups.iter().map(Vec::is_empty).collect();
    let lengths = groups.iter().map(Vec::len).collect();
    let places = groups.into_iter().flatten().map(|at| at as u32);
    let values = take(&items.values, &UInt32Array::from_iter_values(places))?;
    let item = bare(&items.data_type).clone();
    let arrays = Operand {
        values: list_array(lengths, values, &item)?,
        data_type: array_of(item),
        is_constant: false,
    };
    let values = reducer.evaluate(&[arrays])?.values;
    if counts_values(reducer) {
        return cast(&values, &ArrowType::UInt64);
    }
    if !gives_nulls(reducer, item_type) {
        return Ok(values);
    }
    nullif(&values, &BooleanArray::from(empty)).map_err(FunctionError::arrow("leave out no items"))
}

/// The first items of all arrays reduced to one, then the second ones.
fn for_each(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let inner = inner_lists(call, &lists.items)?;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut lengths = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let longest = lists.range(row).map(|at| inner.range(at).len()).max().unwrap_or(0);
        for place in 0..longest {
            let items = lists.range(row).filter_map(|at| inner.range(at).nth(place));
            groups.push(items.filter(|at| !inner.is_null(*at)).collect());
        }
        lengths.push(longest);
    }
    let values = reduced(call, &inner.items, groups, &inner.item_type)?;
    list_array(lengths, values, item_of(call.result))
}

fn map_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::ConstText], &[Kind::Array])?;
    match bare(item_of(type_at(s, 0))) {
        DataType::Map(key, value) if s.len() == 2 => {
            Ok(DataType::Map(key.clone(), Box::new(reduced_type(name, s, value)?)))
        }
        DataType::Tuple(elements) => mapped::data_type(name, s, elements),
        other => Err(wrong(name, format!("it takes maps here, not {other}"))),
    }
}

/// The values of each key reduced to one, in the order of the keys.
fn by_key(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    if let DataType::Tuple(elements) = &lists.items.data_type {
        return mapped::reduce(call, &lists, elements);
    }
    let DataType::Map(key_type, value_type) = &lists.items.data_type else {
        return Err(wrong(call.name, "it takes maps"));
    };
    let maps = lists.items.values.as_map();
    let operand = |data_type: &DataType, values: &ArrayRef| Operand {
        data_type: data_type.clone(),
        values: values.clone(),
        is_constant: false,
    };
    let keys = undress(&operand(key_type, maps.keys()))?;
    let values = undress(&operand(value_type, maps.values()))?;
    let compared = compare_items(&[&keys])?;
    let Some(compared) = compared.first() else { return Err(wrong(call.name, "it takes maps")) };
    let offsets = maps.value_offsets();
    let (mut firsts, mut groups, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..call.rows {
        let mut found: BTreeMap<&[u8], Vec<usize>> = BTreeMap::default();
        for at in lists.range(row).filter(|at| !maps.is_null(*at)) {
            for entry in offsets[at] as usize..offsets[at + 1] as usize {
                found.entry(compared.get(entry)).or_default().push(entry);
            }
        }
        lengths.push(found.len());
        for entries in found.into_values() {
            firsts.extend(entries.first().map(|first| *first as u32));
            groups.push(entries.into_iter().filter(|at| !null_at(&values.values, *at)).collect());
        }
    }
    let keys = take(&keys.values, &UInt32Array::from(firsts))?;
    let values = reduced(call, &values, groups, value_type)?;
    map_array(lengths, keys, values, call.result)
}

fn count_of(name: &'static str, s: &[Signature]) -> Result<i64, FunctionError> {
    match constant_integer(name, s, 1)?.unwrap_or(10) {
        count @ 1..=65_536 => Ok(count),
        _ => Err(wrong(name, "the number of values must be 1 to 65536")),
    }
}

fn top_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[Kind::ConstInteger])?;
    count_of(name, s)?;
    Ok(array_of(bare(&plain_item(item_of(type_at(s, 0)))).clone()))
}

fn weighted_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[Kind::ConstInteger])?;
    count_of(name, s)?;
    match item_of(type_at(s, 0)) {
        DataType::Tuple(elements)
            if elements.len() == 2
                && integer(bare(&elements[1].1)).is_some_and(|weight| !weight.is_signed) =>
        {
            Ok(array_of(bare(&plain_item(&elements[0].1)).clone()))
        }
        _ => Err(wrong(name, "it takes values and their unsigned weights")),
    }
}

/// The most frequent values; of equally frequent ones the first. Where there are more values than ClickHouse keeps counters
/// for, it guesses: those groups are refused.
fn top(call: &Call, is_weighted: bool) -> Result<ArrayRef, FunctionError> {
    let (items, counters) = counters(call, is_weighted)?;
    let mut places = Picks::new(call);
    for of_row in counters {
        places.row(of_row.into_iter().map(|counter| counter.0));
    }
    places.arrays_of(&items.values, item_of(call.result))
}

/// An array of values with what they were counted.
fn with_counts(values: DataType) -> DataType {
    let named = |name: &str, data_type| (Some(name.to_owned()), data_type);
    let item = item_of(&values).clone();
    array_of(DataType::Tuple(vec![
        named("item", item),
        named("count", DataType::UInt64),
        named("error", DataType::UInt64),
    ]))
}

/// The same values with their counts, which are exact.
fn counted(call: &Call, is_weighted: bool) -> Result<ArrayRef, FunctionError> {
    let (items, counters) = counters(call, is_weighted)?;
    let lengths = counters.iter().map(Vec::len).collect();
    let all: Vec<(usize, i128)> = counters.into_iter().flatten().collect();
    let places = UInt32Array::from_iter_values(all.iter().map(|(place, _)| *place as u32));
    let counts: UInt64Array = all.iter().map(|(_, count)| *count as u64).collect();
    let errors: UInt64Array = all.iter().map(|_| 0).collect();
    let columns: Vec<ArrayRef> =
        vec![take(&items.values, &places)?, Arc::new(counts), Arc::new(errors)];
    let item = item_of(call.result);
    let DataType::Tuple(elements) = item else { return Err(wrong(call.name, "it makes tuples")) };
    let fields = elements.iter().zip(&columns).map(|((name, data_type), column)| {
        let field = item_field(data_type, column).as_ref().clone();
        field.with_name(name.clone().unwrap_or_default())
    });
    let fields: Vec<arrow_schema::Field> = fields.collect();
    let tuples = StructArray::try_new(fields.into(), columns, None);
    let tuples = tuples.map_err(FunctionError::arrow("join values and counts"))?;
    list_array(lengths, Arc::new(tuples), item)
}

/// The values, and for each row the places of the wanted ones with their counts.
type Counters = (Operand, Vec<Vec<(usize, i128)>>);

fn counters(call: &Call, is_weighted: bool) -> Result<Counters, FunctionError> {
    let lists = call.lists(0)?;
    let wanted = count_of(call.name, &signatures(call))?;
    let (items, weights) = match (is_weighted, &lists.items.data_type) {
        (true, DataType::Tuple(elements)) => {
            let pairs = lists.items.values.as_struct();
            let values = pairs.column(0).clone();
            let data_type = elements[0].1.clone();
            let items = Operand { data_type, values, is_constant: false };
            let weights = wide_integers(pairs.column(1))?;
            (undress(&items)?, Some(weights))
        }
        _ => (lists.items.clone(), None),
    };
    let compared = key_items(&items)?;
    let mut all = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let mut slots: HashMap<&[u8], usize> = HashMap::new();
        let mut counters: Vec<(usize, i128)> = Vec::new();
        for at in lists.range(row).filter(|at| !null_at(&items.values, *at)) {
            let weight = weights.as_ref().map_or(1, |weights| weights[at]);
            let key = compared.get(at);
            let slot = *slots.entry(key).or_insert_with(|| {
                counters.push((at, 0));
                counters.len() - 1
            });
            if counters.len() as i64 > wanted * COUNTERS {
                let problem =
                    "more values than ClickHouse keeps counters for; count them by GROUP BY";
                return Err(call.value_error(row, problem));
            }
            counters[slot].1 += weight;
        }
        counters.sort_by_key(|counter| std::cmp::Reverse(counter.1));
        counters.truncate(wanted as usize);
        all.push(counters);
    }
    Ok((items, all))
}

/// Dates and times stay such.
fn bfloat16_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Any], &[])?;
    let item = bare(item_of(type_at(s, 0)));
    Ok(if is_moment(item) { item.clone() } else { DataType::Float64 })
}

/// The quantile of numbers cut to the upper half of the bits of a Float32.
fn bfloat16(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (lists, level) = (call.lists(0)?, call.floats(1)?.get(0));
    let items = super::number::moments_as_floats(&lists.items.values)?;
    let quantile = |row: usize| {
        let there = lists.range(row).filter(|at| !items.is_null(*at)).map(|at| items.value(at));
        let cut = |float: f64| f32::from_bits((float as f32).to_bits() & 0xffff_0000);
        let mut sorted: Vec<f32> = there.filter(|float| !float.is_nan()).map(cut).collect();
        sorted.sort_by(f32::total_cmp);
        let place = (sorted.len() as f64 * level).ceil() as usize;
        sorted.get(place.saturating_sub(1)).map_or(f64::NAN, |float| f64::from(*float))
    };
    if *call.result == DataType::Float64 {
        return call.make_floats(quantile);
    }
    // The type of the values, at whatever place of them.
    let ticks =
        arrow_array::Int64Array::from_iter_values((0..call.rows).map(|row| quantile(row) as i64));
    let ticks: ArrayRef = match lists.items.values.data_type() {
        ArrowType::Date32 => cast(&(Arc::new(ticks) as ArrayRef), &ArrowType::Int32)?,
        _ => Arc::new(ticks),
    };
    cast(&ticks, lists.items.values.data_type())
}

fn wrapping_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    let item = bare(item_of(type_at(s, 0)));
    match integer(item) {
        Some(_) if *item != DataType::Bool => Ok(item.clone()),
        _ => Err(wrong(name, format!("it takes integers, not {item}"))),
    }
}

fn sum_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match bare(item_of(type_at(s, 0))) {
        DataType::Decimal { precision: precision @ ..=38, scale } => {
            Ok(DataType::Decimal { precision: class(*precision), scale: *scale })
        }
        DataType::Float64 => Ok(DataType::Float64),
        _ => wrapping_type(name, s),
    }
}

/// The sum in the type of the values.
fn wrapping_sum(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    if *call.result == DataType::Float64 {
        let items = super::number::floats(&lists.items.values)?;
        return call.make_floats(|row| total(lists.range(row).map(|at| items.value(at))));
    }
    if let DataType::Decimal { precision, scale } = call.result {
        let items = lists.items.values.as_primitive::<Decimal128Type>();
        let sum = |row: usize| {
            let sum = lists.range(row).map(|at| items.value(at)).fold(0, i128::wrapping_add);
            match precision {
                ..=9 => i128::from(sum as i32),
                ..=18 => i128::from(sum as i64),
                _ => sum,
            }
        };
        let sums = Decimal128Array::from_iter_values((0..call.rows).map(sum));
        let scale = i8::try_from(*scale).unwrap_or(i8::MAX);
        return Ok(Arc::new(sums.with_data_type(ArrowType::Decimal128(*precision, scale))));
    }
    let items = wide_integers(&lists.items.values)?;
    call.make_integers(|row| lists.range(row).map(|at| items[at]).fold(0, i128::wrapping_add))
}
