//! Arrays as sets: `has`, `hasAll`, `hasAny`, `indexOf`, `countEqual`, `arrayDistinct`, `arrayIntersect`, `arrayUnion`.

use super::super::access::{Kind, Lists, array_of, item_of, list_array, takes, type_at};
use super::super::supertype::{common_type, interleave, supertype, widened};
use super::super::{Call, Function, Operand, Signature, bare, cast, expect_count, wrong};
use super::compare::Comparable;
use super::{Picks, plain_item};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "has",
        |n, s| needle_type(n, s).map(|()| DataType::UInt8),
        |c| {
            let search = Search::of(c)?;
            c.make_flags(|row| search.places(c, row).next().is_some())
        },
    )
    .takes_nulls()
    .predicate(),
    Function::new(
        "notHas",
        |n, s| needle_type(n, s).map(|()| DataType::UInt8),
        |c| {
            let search = Search::of(c)?;
            c.make_flags(|row| search.places(c, row).next().is_none())
        },
    )
    .takes_nulls()
    .predicate(),
    Function::new(
        "indexOf",
        |n, s| {
            // ClickHouse looks for what stands under the NULL.
            let is_column = s.get(1).is_some_and(|needle| needle.constant.is_none());
            let may_be_null = super::super::is_nullable(type_at(s, 1));
            if is_column && may_be_null && !super::super::is_nullable(item_of(type_at(s, 0))) {
                return Err(wrong(n, "what is looked for may be NULL, the items may not"));
            }
            needle_type(n, s).map(|()| DataType::UInt64)
        },
        |c| {
            let search = Search::of(c)?;
            c.make_integers(|row| search.places(c, row).next().map_or(0, |at| at as i128 + 1))
        },
    )
    .takes_nulls(),
    Function::new(
        "countEqual",
        |n, s| needle_type(n, s).map(|()| DataType::UInt64),
        |c| {
            let search = Search::of(c)?;
            c.make_integers(|row| search.places(c, row).count() as i128)
        },
    )
    .takes_nulls(),
    Function::new(
        "arrayRemove",
        |n, s| {
            needle_type(n, s)?;
            Ok(array_of(plain_item(item_of(type_at(s, 0)))))
        },
        remove,
    )
    .takes_nulls()
    .aliases(&["array_remove"]),
    Function::new("hasAll", pair_type, |c| {
        let sets = Sets::of(c)?;
        c.make_flags(|row| {
            let all: HashSet<&[u8]> = sets.items(0, row).collect();
            sets.items(1, row).all(|item| all.contains(item))
        })
    })
    .predicate(),
    Function::new("hasAny", pair_type, |c| {
        let sets = Sets::of(c)?;
        c.make_flags(|row| {
            let all: HashSet<&[u8]> = sets.items(0, row).collect();
            sets.items(1, row).any(|item| all.contains(item))
        })
    })
    .predicate(),
    Function::new("hasSubstr", pair_type, |c| {
        let sets = Sets::of(c)?;
        c.make_flags(|row| {
            let (all, part): (Vec<&[u8]>, Vec<&[u8]>) =
                (sets.items(0, row).collect(), sets.items(1, row).collect());
            part.is_empty() || all.windows(part.len()).any(|window| window == part)
        })
    })
    .predicate(),
    // What `<`, `=` and their like are of arrays: below 0, 0 or above it.
    Function::new(
        "arrayOrder",
        |n, s| sets_type(n, s, 2).map(|_| DataType::Int8),
        |c| {
            let sets = Sets::of(c)?;
            c.make_integers(|row| sets.items(0, row).cmp(sets.items(1, row)) as i128)
        },
    ),
    Function::new(
        "arrayDistinct",
        |n, s| {
            takes(n, s, &[Kind::Array], &[])?;
            // NULLs are left out.
            Ok(array_of(bare(&plain_item(item_of(type_at(s, 0)))).clone()))
        },
        distinct,
    ),
    Function::new(
        "arrayIntersect",
        |n, s| sets_type(n, s, usize::MAX),
        |c| {
            sets_of(c, |counts, arrays| counts.iter().filter(|count| **count > 0).count() == arrays)
        },
    ),
    Function::new(
        "arrayExcept",
        |n, s| {
            sets_type(n, s, 2)?;
            Ok(array_of(plain_item(item_of(type_at(s, 0)))))
        },
        except,
    ),
    Function::new(
        "arrayJaccardIndex",
        |n, s| sets_type(n, s, 2).map(|_| DataType::Float64),
        |c| {
            let sets = Sets::of(c)?;
            c.make_floats(|row| {
                let left: HashSet<&[u8]> = sets.items(0, row).collect();
                let right: HashSet<&[u8]> = sets.items(1, row).collect();
                let common = left.intersection(&right).count() as f64;
                common / (left.len() as f64 + right.len() as f64 - common)
            })
        },
    ),
];

fn needle_type(name: &'static str, s: &[Signature]) -> Result<(), FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Any], &[])?;
    let (item, needle) = (item_of(type_at(s, 0)), type_at(s, 1));
    match compared(bare(item), bare(needle)) {
        Some(_) => Ok(()),
        None => Err(wrong(name, format!("{item} and {needle} are not compared"))),
    }
}

/// The type in which items and what is looked for are compared.
fn compared(item: &DataType, needle: &DataType) -> Option<DataType> {
    // ClickHouse takes the zeros at the end of a FixedString for a part of it, or not.
    let is_fixed = |it: &DataType| matches!(it, DataType::FixedString(_));
    if is_fixed(item) != is_fixed(needle) {
        return None;
    }
    // The names of an Enum are texts.
    let is_enum = |it: &DataType| matches!(it, DataType::Enum8(_) | DataType::Enum16(_));
    if is_enum(item) && *needle == DataType::String {
        return Some(DataType::String);
    }
    supertype(item, needle).or_else(|| {
        // Integers of all widths and signs, and floats, are numbers.
        let is_float = |it: &DataType| matches!(it, DataType::Float32 | DataType::Float64);
        let is_number =
            |it: &DataType| super::super::arithmetic::integer(it).is_some() || is_float(it);
        let widest = DataType::Decimal { precision: 76, scale: 0 };
        (is_number(item) && is_number(needle))
            .then(|| if is_float(item) || is_float(needle) { WHOLE } else { widest })
    })
}

/// The type in which floats are compared with integers that have no room in them.
const WHOLE: DataType = DataType::Decimal { precision: 38, scale: 0 };

/// Floats as integers; what is none is a number that no integer of 64 bits is.
fn whole(floats: &ArrayRef) -> Result<ArrayRef, FunctionError> {
    const NO_INTEGER: i128 = 1 << 100;
    const MOST: f64 = 18_446_744_073_709_551_616.0;
    let floats = cast(floats, &ArrowType::Float64)?;
    let numbers = floats.as_primitive::<Float64Type>().unary::<_, Decimal128Type>(|float| {
        let is_whole = float.trunc().total_cmp(&float).is_eq() && float.abs() <= MOST;
        if is_whole { float as i128 } else { NO_INTEGER }
    });
    Ok(Arc::new(numbers.with_data_type(ArrowType::Decimal128(38, 0))))
}

/// Arrays, and in each of them the places of a value. A NULL is found as well.
struct Search {
    lists: Lists,
    items: Comparable,
    needles: Comparable,
    /// Of floats: which of them are NaN, and so equal to no item.
    are_nan: Vec<bool>,
    is_constant: bool,
}

impl Search {
    fn of(call: &Call) -> Result<Self, FunctionError> {
        let lists = call.lists(0)?;
        let needle = call.operand(1)?;
        let wanted = compared(bare(&lists.item_type), bare(&needle.data_type))
            .ok_or_else(|| wrong(call.name, "the types are not compared"))?;
        let form = |operand: &Operand| {
            let values = match &operand.values {
                floats if wanted == WHOLE && floats.data_type().is_floating() => whole(floats)?,
                other => widened(other, &wanted)?,
            };
            Ok::<_, FunctionError>(Operand {
                data_type: wanted.clone(),
                values,
                is_constant: false,
            })
        };
        let (items, needles) = (form(&lists.items)?, form(needle)?);
        check_nulls(call, &lists, needle)?;
        let mut are_nan = Vec::new();
        if has_nan(&needles) {
            let floats = cast(&needles.values, &ArrowType::Float64)?;
            let floats = floats.as_primitive::<Float64Type>();
            are_nan.extend(floats.iter().map(|it| it.is_some_and(f64::is_nan)));
        }
        let mut rows = Comparable::of(&[&items, &needles])?.into_iter();
        match (rows.next(), rows.next()) {
            (Some(items), Some(needles)) => {
                Ok(Self { lists, items, needles, are_nan, is_constant: needle.is_constant })
            }
            _ => Err(wrong(call.name, "there is nothing to compare")),
        }
    }
    /// From 0 on.
    fn places<'a>(&'a self, _: &'a Call, row: usize) -> impl Iterator<Item = usize> + 'a {
        let at = if self.is_constant { 0 } else { row };
        let needle = self.needles.get(at);
        let is_nan = self.are_nan.get(at).copied().unwrap_or(false);
        let range = self.lists.range(row);
        let start = range.start;
        let is_equal = move |at: &usize| !is_nan && self.items.get(*at) == needle;
        range.filter(is_equal).map(move |at| at - start)
    }
}

/// Refuses to look for a NULL where the column of texts has an empty one: ClickHouse finds that, or what else stands under the NULL.
fn check_nulls(call: &Call, lists: &Lists, needle: &Operand) -> Result<(), FunctionError> {
    let is_apart = *bare(&lists.item_type) == DataType::String
        && !super::super::is_nullable(&lists.item_type)
        && !lists.is_constant()
        && !needle.is_constant
        && call.name != "arrayRemove";
    if !is_apart || needle.values.logical_null_count() == 0 {
        return Ok(());
    }
    let (items, nulls) = (lists.texts(), needle.values.logical_nulls());
    for row in (0..call.rows).filter(|row| nulls.as_ref().is_some_and(|it| it.is_null(*row))) {
        if lists.range(row).any(|at| items.value(at).is_some_and(<[u8]>::is_empty)) {
            let problem = "a NULL is looked for among texts of which one is empty, which ClickHouse takes for the same: write ifNull(x, '') or leave NULLs out";
            return Err(call.value_error(row, problem));
        }
    }
    Ok(())
}

fn remove(call: &Call) -> Result<ArrayRef, FunctionError> {
    let search = Search::of(call)?;
    let mut picks = Picks::new(call);
    for row in 0..call.rows {
        let gone: HashSet<usize> = search.places(call, row).collect();
        let range = search.lists.range(row);
        let start = range.start;
        picks.row(range.filter(|at| !gone.contains(&(at - start))));
    }
    picks.arrays(&search.lists, item_of(call.result))
}

fn sets_type(name: &'static str, s: &[Signature], most: usize) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1.max(if most == 2 { 2 } else { 1 })..=most)?;
    takes(name, s, &vec![Kind::Array; s.len()], &[])?;
    let items: Vec<DataType> =
        s.iter().map(|argument| plain_item(item_of(&argument.data_type))).collect();
    // What is in all of several decimals has the narrowest type there, which need not hold the others.
    let is_decimal = |item: &DataType| matches!(bare(item), DataType::Decimal { .. });
    if name == "arrayIntersect"
        && items.iter().any(is_decimal)
        && items.windows(2).any(|it| it[0] != it[1])
    {
        return Err(wrong(name, "the decimals must be of one type"));
    }
    // What is in all of several arrays is NULL only if all may hold one.
    let is_full = name == "arrayIntersect" && !items.iter().all(super::super::is_nullable);
    let item = common_type(name, items.into_iter())?;
    Ok(array_of(if is_full { bare(&item).clone() } else { item }))
}

/// Two arrays that may be compared item by item. ClickHouse compares what stands under a NULL where only one of them may have
/// NULLs, and a NaN with nothing in `hasSubstr`.
fn pair_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    sets_type(name, s, 2)?;
    let items = [item_of(type_at(s, 0)), item_of(type_at(s, 1))];
    let may_be_null = items.map(super::super::is_nullable);
    if may_be_null[0] != may_be_null[1] {
        return Err(wrong(name, "the items of one array may be NULL, those of the other not"));
    }
    let is_float = |item: &DataType| matches!(bare(item), DataType::Float32 | DataType::Float64);
    if name == "hasSubstr" && items.into_iter().any(is_float) {
        return Err(wrong(name, "it does not take floats"));
    }
    Ok(DataType::UInt8)
}

fn has_nan(items: &Operand) -> bool {
    match items.values.data_type() {
        ArrowType::Float32 => {
            items.values.as_primitive::<Float32Type>().iter().flatten().any(f32::is_nan)
        }
        ArrowType::Float64 => {
            items.values.as_primitive::<Float64Type>().iter().flatten().any(f64::is_nan)
        }
        _ => false,
    }
}

/// Several arrays with items of one type.
struct Sets {
    lists: Vec<Lists>,
    values: Vec<ArrayRef>,
    items: Vec<Comparable>,
}

impl Sets {
    fn of(call: &Call) -> Result<Self, FunctionError> {
        let lists = (0..call.operands.len()).map(|index| call.lists(index));
        let lists = lists.collect::<Result<Vec<_>, _>>()?;
        let item = common_type(call.name, lists.iter().map(|it| plain_item(&it.item_type)))?;
        let operands = lists
            .iter()
            .map(|lists| {
                let values = widened(&lists.items.values, &item)?;
                Ok(Operand { data_type: item.clone(), values, is_constant: false })
            })
            .collect::<Result<Vec<_>, FunctionError>>()?;
        let all = operands.iter().collect::<Vec<_>>();
        let is_search = call.name.starts_with("has");
        if is_search && operands.iter().any(has_nan) {
            return Err(wrong(call.name, "it does not take NaN, which is equal to nothing"));
        }
        let is_order = call.name == "arrayOrder";
        let items =
            if is_search || is_order { Comparable::of(&all)? } else { Comparable::of_keys(&all)? };
        Ok(Self { lists, values: operands.into_iter().map(|it| it.values).collect(), items })
    }
    fn items(&self, index: usize, row: usize) -> impl Iterator<Item = &[u8]> {
        self.lists[index].range(row).map(move |at| self.items[index].get(at))
    }
}

/// NULLs are left out.
fn distinct(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let items = Comparable::one_of_keys(&lists.items)?;
    let mut picks = Picks::new(call);
    for row in 0..call.rows {
        let mut seen = HashSet::new();
        picks.row(
            lists
                .range(row)
                .filter(|at| !lists.items.values.is_null(*at) && seen.insert(items.get(*at))),
        );
    }
    picks.arrays(&lists, item_of(call.result))
}

/// Items that differ, in the order in which they come first, if `is_in` takes their counts.
fn sets_of(call: &Call, is_in: impl Fn(&[u32], usize) -> bool) -> Result<ArrayRef, FunctionError> {
    let sets = Sets::of(call)?;
    let arrays = sets.lists.len();
    let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let mut order: Vec<(usize, usize, &[u8])> = Vec::new();
        let mut counts: HashMap<&[u8], Vec<u32>> = HashMap::new();
        for (index, lists) in sets.lists.iter().enumerate() {
            for at in lists.range(row) {
                let item = sets.items[index].get(at);
                let of_item = counts.entry(item).or_insert_with(|| {
                    order.push((index, at, item));
                    vec![0; arrays]
                });
                of_item[index] += 1;
            }
        }
        let before = places.len();
        let kept = order
            .iter()
            .filter(|(_, _, item)| counts.get(item).is_some_and(|counts| is_in(counts, arrays)));
        places.extend(kept.map(|(index, at, _)| (*index, *at)));
        lengths.push(places.len() - before);
    }
    let values: Vec<&dyn Array> = sets.values.iter().map(AsRef::as_ref).collect();
    let values = interleave(&values, &places).map_err(FunctionError::arrow("join sets"))?;
    list_array(lengths, values, item_of(call.result))
}

fn except(call: &Call) -> Result<ArrayRef, FunctionError> {
    let sets = Sets::of(call)?;
    let mut picks = Picks::new(call);
    for row in 0..call.rows {
        let others: HashSet<&[u8]> = sets.items(1, row).collect();
        picks.row(sets.lists[0].range(row).filter(|at| !others.contains(sets.items[0].get(*at))));
    }
    picks.arrays(&sets.lists[0], item_of(call.result))
}
