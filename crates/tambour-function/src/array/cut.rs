//! Parts of arrays: `arraySlice`, `arrayPopBack`, `arrayPushBack`, `arrayResize`, `arrayRotateLeft`, `arrayConcat`,
//! `arrayFlatten`, `arrayReverse`.

use super::super::access::{Kind, Lists, array_of, item_of, list_array, nullable, takes, type_at};
use super::super::supertype::{common_type, in_one_form, interleave, supertype, widened};
use super::super::{Call, Function, Operand, Signature, bare, expect_count, wrong};
use super::{Picks, null_at, one_each_or_null, plain_item};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray};
use arrow_select::concat::concat as concat_arrays;
use std::sync::Arc;
use tambour_part::types::{DataType, Strings};

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("arrayReverse", same_type, |c| {
        picks(c, |range, picks, _| picks.row(range.rev()))
    }),
    Function::new("reverse", reverse_type, reverse).bytes().any_case(),
    Function::new("arrayPopBack", same_type, |c| {
        picks(c, |range, picks, _| {
            picks.row(range.start..range.end.saturating_sub(1).max(range.start));
        })
    }),
    Function::new("arrayPopFront", same_type, |c| {
        picks(c, |range, picks, _| picks.row((range.start + 1).min(range.end)..range.end))
    }),
    Function::new("arraySlice", slice_type, slice).takes_nulls(),
    Function::new("arrayRotateLeft", shift_type, |c| rotate(c, 1)).takes_nulls(),
    Function::new("arrayRotateRight", shift_type, |c| rotate(c, -1)).takes_nulls(),
    Function::new("arrayShiftLeft", fill_type, |c| shift(c, 1)).takes_nulls(),
    Function::new("arrayShiftRight", fill_type, |c| shift(c, -1)).takes_nulls(),
    Function::new("arrayPushBack", push_type, |c| push(c, true)).takes_nulls(),
    Function::new("arrayPushFront", push_type, |c| push(c, false)).takes_nulls(),
    Function::new("arrayResize", fill_type, resize).takes_nulls(),
    Function::new("arrayConcat", concat_type, concat),
    Function::new("arrayFlatten", flatten_type, flatten).aliases(&["flatten"]),
    Function::new("arrayElementOrNull", element_type, element_or_null),
    Function::new("arrayCompact", same_type, |c| {
        let lists = c.lists(0)?;
        let items = super::compare::Comparable::one_of_keys(&lists.items)?;
        picks(c, |range, picks, _| {
            let start = range.start;
            picks.row(range.filter(|at| *at == start || items.get(*at) != items.get(at - 1)));
        })
    }),
];

fn same_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    Ok(array_of(plain_item(item_of(type_at(s, 0)))))
}

/// Strings turn by bytes.
fn reverse_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match s {
        [Signature { data_type: DataType::Array(_), .. }] => same_type(name, s),
        [Signature { data_type: fixed @ DataType::FixedString(_), .. }] => Ok(fixed.clone()),
        _ => takes(name, s, &[Kind::String], &[]).map(|()| DataType::String),
    }
}

fn reverse(call: &Call) -> Result<ArrayRef, FunctionError> {
    if let DataType::FixedString(width) = call.result {
        let texts = call.texts(0)?;
        return call.make_fixed(*width, |row, out| out.extend(texts.get(row).iter().rev()));
    }
    if matches!(call.result, DataType::Array(_)) {
        return picks(call, |range, picks, _| picks.row(range.rev()));
    }
    let texts = call.texts(0)?;
    call.make_texts(|row, out| out.extend(texts.get(row).iter().rev()))
}

fn picks(
    call: &Call,
    mut pick: impl FnMut(std::ops::Range<usize>, &mut Picks, usize),
) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let mut picks = Picks::new(call);
    for row in 0..call.rows {
        pick(lists.range(row), &mut picks, row);
    }
    picks.arrays(&lists, item_of(call.result))
}

fn slice_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, &super::super::without_nulls(s), &[Kind::Array, Kind::Integer], &[Kind::Integer])?;
    Ok(array_of(plain_item(item_of(type_at(s, 0)))))
}

/// An offset that is NULL is the first place, a length that is NULL goes to the end.
///
/// Offsets count from 1, negative ones from the end; a negative length leaves this many out at the end.
fn slice(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (offsets, lengths) = (call.integers(1)?, call.optional_integers(2)?);
    let is_null = |index: usize, row: usize| {
        let operand = call.operands.get(index);
        operand.is_some_and(|it| null_at(&it.values, if it.is_constant { 0 } else { row }))
    };
    picks(call, |range, picks, row| {
        let size = range.len() as i128;
        let offset = if is_null(1, row) { 1 } else { offsets.place(row) };
        let start = match offset {
            0 => return picks.row(0..0),
            1.. => offset - 1,
            _ => size + offset,
        };
        let lengths = lengths.as_ref().filter(|_| !is_null(2, row));
        let end = match lengths.map(|lengths| lengths.place(row)) {
            None => size,
            Some(length @ 0..) => start + length,
            Some(length) => size + length,
        };
        let start = start.clamp(0, size);
        let end = end.clamp(start, size);
        picks.row(range.start + start as usize..range.start + end as usize);
    })
}

fn shift_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Integer], &[])?;
    Ok(array_of(plain_item(item_of(type_at(s, 0)))))
}

fn rotate(call: &Call, direction: i128) -> Result<ArrayRef, FunctionError> {
    let counts = call.integers(1)?;
    picks(call, |range, picks, row| {
        let size = range.len();
        if size == 0 {
            return picks.row(0..0);
        }
        let by = (counts.place(row) * direction).rem_euclid(size as i128) as usize;
        picks.row((0..size).map(|at| range.start + (at + by) % size));
    })
}

/// An array, a number, and what fills what is not there.
fn fill_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Integer], &[Kind::Any])?;
    let item = plain_item(item_of(type_at(s, 0)));
    let is_shift = name.starts_with("arrayShift");
    let is_null =
        |it: &Signature| it.constant.as_ref().is_some_and(|it| it.logical_null_count() > 0);
    if is_shift && s.get(2).is_some_and(is_null) {
        return Err(wrong(name, "what fills the array is NULL, and so would be the result"));
    }
    let with = |filling: &DataType| {
        // Of an array that is written out, the values say what it holds, but not what they mean.
        let forms = [&item, filling].map(|it| it.arrow(Strings::Utf8));
        let found = supertype(&item, filling);
        found
            .or_else(|| (forms[0] == forms[1]).then(|| filling.clone()))
            .ok_or_else(|| wrong(name, format!("{filling} does not fit {item}")))
    };
    Ok(array_of(match s.get(2) {
        // `arrayResize` makes items nullable, a shift does not: a default stands for a NULL that fills.
        Some(filling) if is_shift && !super::super::is_nullable(&item) => {
            with(bare(&filling.data_type))?
        }
        Some(filling) if is_null(filling) => nullable(item),
        Some(filling) if super::super::is_nullable(&filling.data_type) => {
            nullable(with(bare(&filling.data_type))?)
        }
        Some(filling) => with(&filling.data_type)?,
        None => item,
    }))
}

/// All items and after them what fills, one per row or a default at the end.
struct Filled {
    lists: Lists,
    values: ArrayRef,
    count: usize,
    per_row: bool,
}

impl Filled {
    fn of(call: &Call) -> Result<Self, FunctionError> {
        let lists = call.lists(0)?;
        let item = item_of(call.result);
        let items = widened(&lists.items.values, item)?;
        let count = items.len();
        let (filling, per_row) = match call.operands.get(2) {
            Some(filling) => {
                let values = widened(&filling.values, item)?;
                let is_kept = super::super::is_nullable(item) || values.null_count() == 0;
                let values = if is_kept { values } else { without_nulls(&values)? };
                (values, !filling.is_constant)
            }
            None if super::super::is_nullable(&lists.item_type) => {
                (arrow_array::new_null_array(items.data_type(), 1), false)
            }
            None => (super::super::element::default_of(&items)?, false),
        };
        let wrong = FunctionError::arrow("fill arrays");
        let values = in_one_form(&[items.as_ref(), filling.as_ref()]).and_then(|both| {
            concat_arrays(&both.iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())
        });
        let values = values.map_err(wrong)?;
        Ok(Self { lists, values, count, per_row })
    }
    fn filling(&self, row: usize) -> usize {
        self.count + if self.per_row { row } else { 0 }
    }
}

/// A default for each NULL.
fn without_nulls(values: &ArrayRef) -> Result<ArrayRef, FunctionError> {
    let default = super::super::element::default_of(values)?;
    let rows = (0..values.len()).map(|row| if values.is_null(row) { (1, 0) } else { (0, row) });
    let rows: Vec<(usize, usize)> = rows.collect();
    interleave(&[values, &default], &rows).map_err(FunctionError::arrow("fill arrays"))
}

fn shift(call: &Call, direction: i128) -> Result<ArrayRef, FunctionError> {
    let counts = call.integers(1)?;
    let filled = Filled::of(call)?;
    let mut picks = Picks::new(call);
    for row in 0..call.rows {
        let range = filled.lists.range(row);
        let by = counts.place(row) * direction;
        picks.row(range.clone().map(|at| {
            let moved = at as i128 + by;
            let is_there = (range.start as i128..range.end as i128).contains(&moved);
            if is_there { moved as usize } else { filled.filling(row) }
        }));
    }
    picks.arrays_of(&filled.values, item_of(call.result))
}

fn resize(call: &Call) -> Result<ArrayRef, FunctionError> {
    let sizes = call.integers(1)?;
    let filled = Filled::of(call)?;
    let mut picks = Picks::new(call);
    let mut made = 0;
    for row in 0..call.rows {
        let range = filled.lists.range(row);
        let wanted = sizes.get(row);
        let size = usize::try_from(wanted.unsigned_abs()).unwrap_or(usize::MAX);
        if size > 1 << 24 {
            return Err(call.value_error(row, "arrays of more than 16777216 items are refused"));
        }
        made += size;
        call.check_size(row, made)?;
        let missing = size.saturating_sub(range.len());
        let filling = std::iter::repeat_n(filled.filling(row), missing);
        let kept = range.len().min(size);
        if wanted >= 0 {
            picks.row((range.start..range.start + kept).chain(filling));
        } else {
            picks.row(filling.chain(range.end - kept..range.end));
        }
    }
    picks.arrays_of(&filled.values, item_of(call.result))
}

fn push_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Any], &[])?;
    let item = plain_item(item_of(type_at(s, 0)));
    supertype(&item, type_at(s, 1))
        .map(|item| array_of(plain_item(&item)))
        .ok_or_else(|| wrong(name, format!("{} does not fit {item}", type_at(s, 1))))
}

fn push(call: &Call, at_end: bool) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let item = item_of(call.result);
    let operand = call.operand(1)?;
    let items = widened(&lists.items.values, item)?;
    let pushed = widened(&operand.values, item)?;
    let (mut places, mut lengths) = (Vec::new(), Vec::new());
    for row in 0..call.rows {
        let range = lists.range(row);
        let new = (1, if operand.is_constant { 0 } else { row });
        lengths.push(range.len() + 1);
        if !at_end {
            places.push(new);
        }
        places.extend(range.map(|at| (0, at)));
        if at_end {
            places.push(new);
        }
    }
    let values = interleave(&[items.as_ref(), pushed.as_ref()], &places);
    list_array(lengths, values.map_err(FunctionError::arrow("add items"))?, item)
}

fn concat_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=usize::MAX)?;
    takes(name, s, &vec![Kind::Array; s.len()], &[])?;
    let items = s.iter().map(|argument| plain_item(item_of(&argument.data_type)));
    common_type(name, items).map(array_of)
}

fn concat(call: &Call) -> Result<ArrayRef, FunctionError> {
    let item = item_of(call.result);
    let lists = (0..call.operands.len()).map(|index| call.lists(index));
    let lists = lists.collect::<Result<Vec<_>, _>>()?;
    let values = lists.iter().map(|lists| widened(&lists.items.values, item));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let (mut places, mut lengths) = (Vec::new(), Vec::new());
    for row in 0..call.rows {
        let before = places.len();
        for (index, lists) in lists.iter().enumerate() {
            places.extend(lists.range(row).map(|at| (index, at)));
        }
        lengths.push(places.len() - before);
    }
    let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    let values = interleave(&values, &places).map_err(FunctionError::arrow("join arrays"))?;
    list_array(lengths, values, item)
}

fn innermost(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Array(item) => innermost(item),
        other => other,
    }
}

fn flatten_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    Ok(array_of(plain_item(innermost(type_at(s, 0)))))
}

fn flatten(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let mut ranges: Vec<std::ops::Range<usize>> =
        (0..call.rows).map(|row| lists.range(row)).collect();
    let mut operand = lists.items;
    while let DataType::Array(item) = operand.data_type.clone() {
        let operands = std::slice::from_ref(&operand);
        let rows = operand.values.len();
        let inner = Call { name: call.name, operands, result: call.result, rows }.lists(0)?;
        for range in &mut ranges {
            *range = if range.start == range.end {
                0..0
            } else {
                inner.range(range.start).start..inner.range(range.end - 1).end
            };
        }
        operand = Operand { data_type: *item, values: inner.items.values, is_constant: false };
    }
    let mut picks = Picks::new(call);
    for range in ranges {
        picks.row(range);
    }
    picks.arrays_of(&operand.values, item_of(call.result))
}

fn element_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Integer], &[])?;
    Ok(nullable(plain_item(item_of(type_at(s, 0)))))
}

fn element_or_null(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (lists, indexes) = (call.lists(0)?, call.integers(1)?);
    let places = (0..call.rows).map(|row| {
        let (range, index) = (lists.range(row), indexes.get(row));
        let size = range.len() as i128;
        let at = if index > 0 { index - 1 } else { size + index };
        (index != 0 && (0..size).contains(&at)).then(|| range.start + at as usize)
    });
    let found = one_each_or_null(&lists.items.values, places.collect())?;
    let Some(arrays) = found.as_list_opt::<i32>() else { return Ok(found) };
    // An array cannot be NULL: it is empty.
    let (item, offsets, values, _) = arrays.clone().into_parts();
    let arrays = ListArray::try_new(item, offsets, values, None);
    Ok(Arc::new(arrays.map_err(FunctionError::arrow("leave NULLs out"))?))
}
