//! Maps as arrays beside each other, one of keys and some of values: `sumMap(keys, values)`, `minMap`, `maxMap`.

use super::combine::{reduced_by, reducer};
use super::find_in_queries;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray, UInt32Array};
use arrow_schema::Field;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use tambour_function::kit::{
    Call, Comparable, Lists, array_of, compare_items, integer, is_nested, is_nullable, item_field,
    item_of, list_array, null_at, plain_item, take, undress, wrong,
};
use tambour_function::{Function, FunctionError, Operand, Signature, bare, cast};
use tambour_part::types::DataType;

/// The type of the keys and of the reduced values.
pub(crate) fn data_type(
    name: &'static str,
    s: &[Signature],
    elements: &[(Option<String>, DataType)],
) -> Result<DataType, FunctionError> {
    let mut items = Vec::with_capacity(elements.len());
    for (_, element) in elements {
        match bare(element) {
            DataType::Array(item) => items.push(plain_item(item)),
            other => return Err(wrong(name, format!("it takes arrays or maps, not {other}"))),
        }
    }
    let Some((key, values)) = items.split_first().filter(|(_, values)| !values.is_empty()) else {
        return Err(wrong(name, "it takes keys and values"));
    };
    let function = reducer(name, s)?;
    if is_nullable(key) || is_nested(key) {
        return Err(wrong(name, format!("keys are not {key} here")));
    }
    check_kept(name, s, key)?;
    if !is_sum(function) && !matches!(function.name(), "arrayMin" | "arrayMax") {
        return Err(wrong(name, "arrays beside each other have sumMap, minMap and maxMap"));
    }
    let mut all = vec![(None, array_of(key.clone()))];
    for value in values {
        if is_nullable(value) && !is_sum(function) {
            return Err(wrong(name, "what the least of NULLs is there is not settled"));
        }
        let data_type = array_of(bare(value).clone());
        let result = function.data_type(&[Signature { data_type, constant: None }])?;
        all.push((None, array_of(result)));
    }
    Ok(DataType::Tuple(all))
}

/// True for functions of which a zero is left out.
fn is_sum(function: &Function) -> bool {
    matches!(function.name(), "arraySum" | "reduceSumWithOverflow")
}

/// Keys that are looked for are of the same type as the others, or integers as they are.
fn check_kept(name: &'static str, s: &[Signature], key: &DataType) -> Result<(), FunctionError> {
    let Some(kept) = s.get(2) else { return Ok(()) };
    let item = bare(item_of(&kept.data_type));
    let is_same = item == bare(key) || integer(item).is_some() && integer(bare(key)).is_some();
    if !is_same {
        return Err(wrong(name, format!("it does not look for {item} among {key}")));
    }
    Ok(())
}

/// Keys in a form that can be compared, and those that are kept if not all are.
fn forms(call: &Call, keys: &Lists) -> Result<(Comparable, Option<Comparable>), FunctionError> {
    let mut found = match call.operands.get(2) {
        Some(looked_for) => {
            if !looked_for.is_constant {
                return Err(wrong(call.name, "the keys that are looked for must be constant"));
            }
            let kept = call.lists(2)?.items.values;
            // What does not fit is NULL, and no key.
            let values = cast(&kept, keys.items.values.data_type())?;
            let kept = Operand { values, ..keys.items.clone() };
            compare_items(&[&keys.items, &kept])?
        }
        None => compare_items(&[&keys.items])?,
    }
    .into_iter();
    match (found.next(), found.next()) {
        (Some(keys), kept) => Ok((keys, kept)),
        _ => Err(wrong(call.name, "it takes keys")),
    }
}

/// The arrays of a column of tuples, as lists.
fn columns(call: &Call, lists: &Lists) -> Result<Vec<Lists>, FunctionError> {
    let DataType::Tuple(elements) = &lists.items.data_type else {
        return Err(wrong(call.name, "it takes arrays"));
    };
    let values = lists.items.values.as_struct().columns();
    let column = |((_, data_type), values): (&(Option<String>, DataType), &ArrayRef)| {
        let operand =
            Operand { data_type: data_type.clone(), values: values.clone(), is_constant: false };
        let operands = [undress(&operand)?];
        Call { name: call.name, operands: &operands, result: call.result, rows: values.len() }
            .lists(0)
    };
    elements.iter().zip(values).map(column).collect()
}

/// Keys of each row in their order, and the values of each.
pub(crate) fn reduce(
    call: &Call,
    lists: &Lists,
    elements: &[(Option<String>, DataType)],
) -> Result<ArrayRef, FunctionError> {
    let columns = columns(call, lists)?;
    let (Some((keys, values)), true) = (columns.split_first(), elements.len() > 1) else {
        return Err(wrong(call.name, "it takes keys and values"));
    };
    let (compared, kept) = forms(call, keys)?;
    let kept = kept.map(|kept| (0..kept.len()).map(|at| kept.get(at).to_vec()).collect());
    let groups = vec![Vec::new(); values.len()];
    let mut found = Found { firsts: Vec::new(), groups, lengths: Vec::new(), kept };
    for row in 0..call.rows {
        found.row(call, lists.range(row), (keys, &compared), values)?;
    }
    let Found { mut firsts, groups, mut lengths, .. } = found;
    let signatures: Vec<Signature> = call.operands.iter().map(Operand::signature).collect();
    let function = reducer(call.name, &signatures)?;
    let sum = find_in_queries("arraySum").filter(|_| is_sum(function));
    let (mut results, mut sums, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for (value, groups) in values.iter().zip(groups) {
        let there = |group: Vec<usize>| -> Vec<usize> {
            group.into_iter().filter(|at| !null_at(&value.items.values, *at)).collect()
        };
        let groups: Vec<Vec<usize>> = groups.into_iter().map(there).collect();
        // Of values that may be NULL, 0 is a sum like others, and one of nothing is absent.
        let are_empty = groups.iter().map(Vec::is_empty).collect();
        absent.push(is_nullable(&value.item_type).then_some(are_empty));
        let data_type = &value.items.data_type;
        if let Some(sum) = sum {
            // Where sums wrap around, a 0 that comes of it is not left out.
            sums.push(reduced_by(sum, &value.items, groups.clone(), data_type)?);
        }
        results.push(reduced_by(function, &value.items, groups, data_type)?);
    }
    if sum.is_some() {
        without_zeros((&absent, &sums), &mut firsts, &mut lengths, &mut results)?;
    }
    let firsts = UInt32Array::from(firsts);
    let mut arrays = vec![take(&keys.items.values, &firsts)?];
    arrays.extend(results);
    assembled(call, &lengths, arrays)
}

/// What all rows have: a place of each key, and the places of its values in each of the columns.
struct Found {
    firsts: Vec<u32>,
    groups: Vec<Vec<Vec<usize>>>,
    lengths: Vec<usize>,
    /// The keys that count, if not all do.
    kept: Option<HashSet<Vec<u8>>>,
}

impl Found {
    fn row(
        &mut self,
        call: &Call,
        places: std::ops::Range<usize>,
        (keys, compared): (&Lists, &Comparable),
        values: &[Lists],
    ) -> Result<(), FunctionError> {
        let mut of_row: BTreeMap<&[u8], (usize, Vec<Vec<usize>>)> = BTreeMap::new();
        for at in places {
            let range = keys.range(at);
            if values.iter().any(|value| value.range(at).len() != range.len()) {
                return Err(wrong(call.name, "keys and values are not as many"));
            }
            for (index, key) in range.enumerate() {
                if self.kept.as_ref().is_some_and(|kept| !kept.contains(compared.get(key))) {
                    continue;
                }
                let entry = of_row
                    .entry(compared.get(key))
                    .or_insert_with(|| (key, vec![Vec::new(); values.len()]));
                for (group, value) in entry.1.iter_mut().zip(values) {
                    group.push(value.range(at).start + index);
                }
            }
        }
        self.lengths.push(of_row.len());
        for (first, groups) in of_row.into_values() {
            self.firsts.push(first as u32);
            for (all, group) in self.groups.iter_mut().zip(groups) {
                all.push(group);
            }
        }
        Ok(())
    }
}

/// Leaves out keys all of whose sums are 0, as ClickHouse does.
fn without_zeros(
    (absent, sums): (&[Option<Vec<bool>>], &[ArrayRef]),
    firsts: &mut Vec<u32>,
    lengths: &mut [usize],
    results: &mut [ArrayRef],
) -> Result<(), FunctionError> {
    let floats = sums.iter().map(|sums| cast(sums, &arrow_schema::DataType::Float64));
    let floats = floats.collect::<Result<Vec<_>, _>>()?;
    let is_zero = |at: usize| {
        floats.iter().zip(absent).all(|(sums, absent)| {
            if let Some(absent) = absent {
                return absent[at];
            }
            let sums = sums.as_primitive::<arrow_array::types::Float64Type>();
            sums.is_null(at) || sums.value(at) == 0.0
        })
    };
    let kept: Vec<u32> = (0..firsts.len()).filter(|at| !is_zero(*at)).map(|at| at as u32).collect();
    let mut start = 0;
    for length in lengths {
        let end = start + *length;
        *length = (start..end).filter(|at| !is_zero(*at)).count();
        start = end;
    }
    *firsts = kept.iter().map(|at| firsts[*at as usize]).collect();
    let kept = UInt32Array::from(kept);
    for result in results {
        *result = take(result, &kept)?;
    }
    Ok(())
}

/// A tuple of arrays, all of the same lengths.
fn assembled(
    call: &Call,
    lengths: &[usize],
    columns: Vec<ArrayRef>,
) -> Result<ArrayRef, FunctionError> {
    let DataType::Tuple(elements) = call.result else {
        return Err(wrong(call.name, "its result is a tuple"));
    };
    let arrays = elements
        .iter()
        .zip(columns)
        .map(|((_, data_type), values)| list_array(lengths.to_vec(), values, item_of(data_type)));
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    let places = 1_usize..;
    let fields: Vec<Field> = places
        .zip(elements.iter().zip(&arrays))
        .map(|(place, ((_, data_type), array))| {
            item_field(data_type, array).as_ref().clone().with_name(place.to_string())
        })
        .collect();
    let tuples = StructArray::try_new(fields.into(), arrays, None);
    Ok(Arc::new(tuples.map_err(FunctionError::arrow("join keys and values"))?))
}
