//! Finds groups of keys with many values: a table of hashes, and the values of each key one after another. Dictionaries have codes instead.
//!
//! The slots of some rows are looked up before the first of them is compared with anything, and then the keys in them one column
//! after another, so that the processor waits for many places in memory at once. A view holds a text of up to 12 bytes whole: such texts are hashed and compared as one number.

use super::keys::{Codes, integer_of, integers_of, retyped};
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryViewArray, PrimitiveArray, StringViewArray,
    downcast_integer_array, make_array,
};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};
use datafusion::common::hash_utils::RandomState;
use datafusion::common::{Result, internal_err};
use std::hash::BuildHasher;
use std::sync::Arc;
use tambour_kernel::text::texts;

/// Groups above which any table is refused.
const GROUPS_MAX: usize = 1 << 31;
/// Bytes of the longer texts of a key above which the table is refused.
const BYTES_MAX: usize = 1 << 31;
/// Slots of the smallest table.
const SLOTS_MIN: usize = 1 << 10;
/// Rows that are looked up together: what is read for them is still in the processor's cache when they are compared.
const STEP: usize = 512;
/// The hash in a slot; below are the bits of the group, counted from 1.
const TAG: u64 = !0 << 32;
/// The longest text that is inside its view.
const INLINE_MAX: usize = 12;
/// The length and the first four bytes, in views of longer texts.
const HEAD: u128 = u64::MAX as u128;
/// NULL instead of a hash of a value.
const NULL: u64 = 0x9e37_79b9_7f4a_7c15;

#[expect(clippy::cast_possible_truncation, reason = "a view begins with the length")]
fn length(view: u128) -> usize {
    view as u32 as usize
}

/// The groups of rows by keys of which there may be many.
#[derive(Clone, Debug)]
pub(super) struct Wide {
    columns: Vec<Values>,
    /// Groups above which it is refused.
    groups_max: usize,
    /// Of each group.
    hashes: Vec<u64>,
    /// At most half of them are taken.
    slots: Vec<u64>,
    is_damaged: bool,
}

/// A key of all groups.
#[derive(Clone, Debug)]
struct Values {
    data_type: DataType,
    kind: Kind,
    /// Which groups have NULL, up to the last that has: what is stored for those says nothing.
    nulls: Vec<bool>,
}

#[derive(Clone, Debug)]
enum Kind {
    Integers(Vec<u64>),
    Dictionary(Box<Codes>, Vec<u64>),
    Texts {
        /// As Arrow has them.
        views: Vec<u128>,
        /// Of texts that are not in their views.
        bytes: Vec<u8>,
    },
}

/// A key of the rows of a batch.
struct Rows<'a> {
    kind: RowsKind<'a>,
    nulls: Option<&'a NullBuffer>,
}

enum RowsKind<'a> {
    Integers(Vec<u64>),
    Bytes(&'a BinaryViewArray),
    Texts(&'a StringViewArray),
}

fn numbers<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> Vec<u64> {
    array.values().iter().map(|value| value.as_usize() as u64).collect()
}

impl<'a> Rows<'a> {
    /// None if no more codes are given.
    fn of(column: &mut Values, values: &'a ArrayRef) -> Result<Option<Self>> {
        if let Kind::Dictionary(codes, _) = &mut column.kind {
            let mut found = Vec::with_capacity(values.len());
            let is_done = codes.of(values, &mut found)?;
            let found = found.into_iter().map(u64::from).collect();
            let rows = Self { kind: RowsKind::Integers(found), nulls: None };
            return Ok(is_done.then_some(rows));
        }
        let kind = match values.data_type() {
            DataType::BinaryView => RowsKind::Bytes(values.as_binary_view()),
            DataType::Utf8View => RowsKind::Texts(values.as_string_view()),
            other => {
                let Some(integer) = integer_of(other) else {
                    return internal_err!("a key of type {other} is not grouped here");
                };
                let array = retyped(values, &integer)?;
                let values = array.as_ref();
                downcast_integer_array!(
                    values => RowsKind::Integers(numbers(values)),
                    other => return internal_err!("{other} is not an integer"),
                )
            }
        };
        let nulls = values.nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(Some(Self { kind, nulls }))
    }
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }
    fn views(&self) -> &[u128] {
        match &self.kind {
            RowsKind::Integers(_) => &[],
            RowsKind::Bytes(array) => array.views(),
            RowsKind::Texts(array) => array.views(),
        }
    }
    fn bytes(&self, row: usize) -> &[u8] {
        match &self.kind {
            RowsKind::Integers(_) => &[],
            RowsKind::Bytes(array) => array.value(row),
            RowsKind::Texts(array) => array.value(row).as_bytes(),
        }
    }
    /// Mixes the hashes of the rows with those of this key.
    fn hash(&self, hashes: &mut [u64]) {
        let state = RandomState::with_seed(0);
        let mixed = |hash: u64, other: u64| hash.rotate_left(23) ^ other;
        let before = self.nulls.map(|_| hashes.to_vec());
        match &self.kind {
            RowsKind::Integers(values) => {
                for (hash, value) in hashes.iter_mut().zip(values) {
                    *hash = mixed(*hash, state.hash_one(value));
                }
            }
            RowsKind::Bytes(_) | RowsKind::Texts(_) => {
                for ((row, view), hash) in self.views().iter().enumerate().zip(hashes.iter_mut()) {
                    let own = if length(*view) <= INLINE_MAX {
                        state.hash_one(view)
                    } else {
                        state.hash_one(self.bytes(row))
                    };
                    *hash = mixed(*hash, own);
                }
            }
        }
        for ((row, hash), before) in hashes.iter_mut().enumerate().zip(before.iter().flatten()) {
            if self.is_null(row) {
                *hash = mixed(*before, NULL);
            }
        }
    }
}

impl Wide {
    /// A table for keys of some types; none if one of them is not grouped here.
    pub(super) fn new(types: &[DataType]) -> Option<Self> {
        let columns = types.iter().map(|data_type| {
            let kind = match data_type {
                DataType::Utf8View | DataType::BinaryView => {
                    Kind::Texts { views: Vec::new(), bytes: Vec::new() }
                }
                DataType::Dictionary(..) => {
                    Kind::Dictionary(Box::new(Codes::new(data_type)), Vec::new())
                }
                other => integer_of(other).map(|_| Kind::Integers(Vec::new()))?,
            };
            Some(Values { data_type: data_type.clone(), kind, nulls: Vec::new() })
        });
        Some(Self { columns: columns.collect::<Option<_>>()?, ..Self::default() })
    }
    /// A table for texts, up to some count of them.
    pub(super) fn of_texts(data_type: &DataType, groups_max: usize) -> Self {
        let kind = Kind::Texts { views: Vec::new(), bytes: Vec::new() };
        let texts = Values { data_type: data_type.clone(), kind, nulls: Vec::new() };
        Self { columns: vec![texts], groups_max, ..Self::default() }
    }
    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }
    /// True if what was refused has a text that is not UTF-8.
    pub(super) fn is_damaged(&self) -> bool {
        let mut codes = self.columns.iter().filter_map(|it| match &it.kind {
            Kind::Dictionary(codes, _) => Some(codes),
            _ => None,
        });
        self.is_damaged || codes.any(|it| it.is_damaged())
    }
    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        let columns = self.columns.iter().map(|it| match &it.kind {
            Kind::Integers(values) => values.capacity() * 8,
            Kind::Dictionary(codes, values) => codes.size() + values.capacity() * 8,
            Kind::Texts { views, bytes } => views.capacity() * 16 + bytes.capacity(),
        });
        let nulls = self.columns.iter().map(|it| it.nulls.capacity());
        columns.chain(nulls).sum::<usize>() + (self.hashes.capacity() + self.slots.capacity()) * 8
    }

    /// The groups of some rows; `None` if there are too many groups, or a text is damaged. Groups of a refused batch have no rows: see
    /// [`Self::len`] before the call.
    pub(super) fn groups(&mut self, keys: &[ArrayRef]) -> Result<Option<Vec<usize>>> {
        let mut rows = Vec::with_capacity(keys.len());
        for (column, key) in self.columns.iter_mut().zip(keys) {
            let Some(of_key) = Rows::of(column, key)? else { return Ok(None) };
            rows.push(of_key);
        }
        let count = keys.first().map_or(0, Array::len);
        self.reserve(count);
        let mut hashes = vec![0; count];
        for key in &rows {
            key.hash(&mut hashes);
        }
        let mask = self.slots.len() - 1;
        let mut groups = Vec::with_capacity(count);
        let mut first = Vec::with_capacity(STEP.min(count));
        for hashes in hashes.chunks(STEP) {
            let start = groups.len();
            first.clear();
            first.extend(hashes.iter().map(|hash| {
                let slot = self.slots[place(*hash) & mask];
                if (slot ^ hash) & TAG == 0 { slot } else { 0 }
            }));
            for (column, rows) in self.columns.iter().zip(&rows) {
                column.keep_same(&mut first, rows, start);
            }
            for (row, (hash, slot)) in (start..).zip(hashes.iter().zip(&first)) {
                let group =
                    if *slot != 0 { Some(group_of(*slot)) } else { self.find(*hash, &rows, row) };
                let Some(group) = group else { return Ok(None) };
                groups.push(group);
            }
        }
        Ok(Some(groups))
    }

    /// The group of a row, which may be a new one; none if that is refused.
    fn find(&mut self, hash: u64, rows: &[Rows<'_>], row: usize) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut place = place(hash) & mask;
        loop {
            let slot = self.slots[place];
            if slot == 0 {
                break;
            }
            if (slot ^ hash) & TAG == 0 && self.is(group_of(slot), rows, row) {
                return Some(group_of(slot));
            }
            place = (place + 1) & mask;
        }
        let group = self.hashes.len();
        if group >= self.groups_max {
            return None;
        }
        for (column, rows) in self.columns.iter_mut().zip(rows) {
            let is_text = column.is_text() && !rows.is_null(row);
            if is_text && std::str::from_utf8(rows.bytes(row)).is_err() {
                self.is_damaged = true;
                return None;
            }
            if !column.add(group, rows, row) {
                return None;
            }
        }
        self.hashes.push(hash);
        self.slots[place] = (hash & TAG) | (group as u64 + 1);
        Some(group)
    }

    fn is(&self, group: usize, rows: &[Rows<'_>], row: usize) -> bool {
        self.columns.iter().zip(rows).all(|(column, rows)| column.is(group, rows, row))
    }

    /// The keys of the first `count` groups; nothing is left.
    pub(super) fn taken(&mut self, count: usize) -> Result<Vec<ArrayRef>> {
        self.columns.iter_mut().map(|column| column.taken(count)).collect()
    }

    /// Makes room for `count` more groups.
    fn reserve(&mut self, count: usize) {
        let most = self.hashes.len() + count;
        if most * 2 <= self.slots.len() && !self.slots.is_empty() {
            return;
        }
        let size = (most * 4).next_power_of_two().max(SLOTS_MIN);
        self.slots = vec![0; size];
        let mask = size - 1;
        for (group, hash) in self.hashes.iter().enumerate() {
            let mut place = place(*hash) & mask;
            while self.slots[place] != 0 {
                place = (place + 1) & mask;
            }
            self.slots[place] = (hash & TAG) | (group as u64 + 1);
        }
    }
}

impl Default for Wide {
    fn default() -> Self {
        Self {
            columns: Vec::new(),
            groups_max: GROUPS_MAX,
            hashes: Vec::new(),
            slots: Vec::new(),
            is_damaged: false,
        }
    }
}

impl Values {
    /// True if values must be UTF-8.
    fn is_text(&self) -> bool {
        self.data_type == DataType::Utf8View
    }

    /// Empties the slots of the rows from `start` whose keys are not those of the groups in them.
    fn keep_same(&self, slots: &mut [u64], rows: &Rows<'_>, start: usize) {
        if let (
            Kind::Integers(values) | Kind::Dictionary(_, values),
            Rows { kind: RowsKind::Integers(rows), nulls: None },
            true,
        ) = (&self.kind, rows, self.nulls.is_empty())
        {
            for (slot, row) in slots.iter_mut().zip(rows.get(start..).unwrap_or_default()) {
                if *slot != 0 && values[group_of(*slot)] != *row {
                    *slot = 0;
                }
            }
            return;
        }
        for (row, slot) in (start..).zip(slots) {
            if *slot != 0 && !self.is(group_of(*slot), rows, row) {
                *slot = 0;
            }
        }
    }

    fn is(&self, group: usize, rows: &Rows<'_>, row: usize) -> bool {
        if !self.nulls.is_empty() || rows.nulls.is_some() {
            let is_null = self.nulls.get(group).is_some_and(|it| *it);
            if is_null || rows.is_null(row) {
                return is_null && rows.is_null(row);
            }
        }
        match (&self.kind, &rows.kind) {
            (Kind::Integers(values) | Kind::Dictionary(_, values), RowsKind::Integers(rows)) => {
                values[group] == rows[row]
            }
            (Kind::Texts { views, bytes }, _) => {
                let (ours, theirs) = (views[group], rows.views()[row]);
                if length(theirs) <= INLINE_MAX {
                    return ours == theirs;
                }
                let start = start(ours);
                ours & HEAD == theirs & HEAD
                    && bytes.get(start..start + length(ours)) == Some(rows.bytes(row))
            }
            _ => false,
        }
    }

    /// Adds the value of a row as that of the next group; `false` if there is no room.
    fn add(&mut self, group: usize, rows: &Rows<'_>, row: usize) -> bool {
        let is_null = rows.is_null(row);
        if is_null {
            self.nulls.resize(group, false);
            self.nulls.push(true);
        }
        match (&mut self.kind, &rows.kind) {
            (Kind::Integers(values) | Kind::Dictionary(_, values), RowsKind::Integers(rows)) => {
                values.push(rows[row]);
            }
            (Kind::Texts { views, bytes }, _) => {
                let view = if is_null { 0 } else { rows.views()[row] };
                if length(view) <= INLINE_MAX {
                    views.push(view);
                    return true;
                }
                if bytes.len() + length(view) > BYTES_MAX {
                    return false;
                }
                views.push((view & HEAD) | (bytes.len() as u128) << 96);
                bytes.extend_from_slice(rows.bytes(row));
            }
            _ => return false,
        }
        true
    }

    fn taken(&mut self, count: usize) -> Result<ArrayRef> {
        let mut nulls = std::mem::take(&mut self.nulls);
        nulls.resize(count.max(nulls.len()), false);
        nulls.truncate(count);
        let nulls = nulls.contains(&true).then(|| nulls.iter().map(|it| !it).collect());
        match &mut self.kind {
            Kind::Integers(values) => {
                let Some(integer) = integer_of(&self.data_type) else {
                    return internal_err!("a key of type {} is not grouped here", self.data_type);
                };
                let values = std::mem::take(values).into_iter().take(count);
                let values = integers_of(&integer, values).into_data().into_builder();
                let values = values.data_type(self.data_type.clone()).nulls(nulls).build()?;
                Ok(make_array(values))
            }
            Kind::Dictionary(codes, values) => {
                let values = std::mem::take(values).into_iter().take(count);
                codes.values(integers_of(&DataType::UInt32, values).as_primitive())
            }
            Kind::Texts { views, bytes } => {
                let mut views = std::mem::take(views);
                views.truncate(count);
                let views = ScalarBuffer::from(views);
                let buffers = Arc::from([Buffer::from_vec(std::mem::take(bytes))]);
                if self.data_type != DataType::Utf8View {
                    return Ok(Arc::new(BinaryViewArray::try_new(views, buffers, nulls)?));
                }
                match texts(&views, &buffers, nulls.as_ref()) {
                    Some(texts) => Ok(Arc::new(texts)),
                    None => Ok(Arc::new(StringViewArray::try_new(views, buffers, nulls)?)),
                }
            }
        }
    }
}

/// Where the bytes of a longer text begin.
fn start(view: u128) -> usize {
    (view >> 96) as usize
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are as good as any")]
fn place(hash: u64) -> usize {
    hash as usize
}

fn group_of(slot: u64) -> usize {
    (slot & !TAG) as usize - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Date32Array, Int32Array, UInt64Array};
    use arrow::compute::cast;
    use arrow::datatypes::{Date32Type, Int32Type, UInt64Type};
    use std::collections::HashMap;

    /// Four keys whose values repeat and grow, over many batches.
    #[test]
    fn equal_keys_have_equal_groups() {
        let small = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8View));
        let types = [DataType::Utf8View, DataType::UInt64, DataType::Date32, small.clone()];
        let mut wide = Wide::new(&types).unwrap();
        let mut known: HashMap<(Vec<u8>, u64, i32), usize> = HashMap::new();
        let mut order = Vec::new();
        let mut state = 9_u64;
        for batch in 0..60 {
            let rows: Vec<(Vec<u8>, u64, i32)> = (0..700)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(batch);
                    let number = (state >> 33) % (1 + batch * 1_000);
                    let long =
                        if number.is_multiple_of(3) { "a text of more than twelve " } else { "" };
                    let text = format!("{long}{}", number % 7_000).into_bytes();
                    (text, (number % 5) << 60, i32::try_from(number % 11).unwrap() - 5)
                })
                .collect();
            let texts: ArrayRef = if batch % 2 == 0 {
                Arc::new(BinaryViewArray::from_iter_values(rows.iter().map(|it| &it.0)))
            } else {
                let texts = rows.iter().map(|it| std::str::from_utf8(&it.0).unwrap());
                Arc::new(StringViewArray::from_iter_values(texts))
            };
            let shorter = rows.iter().map(|it| (it.2 != 3).then(|| format!("{}", it.2 / 4)));
            let shorter: ArrayRef = Arc::new(shorter.collect::<StringViewArray>());
            let keys: [ArrayRef; 4] = [
                texts,
                Arc::new(UInt64Array::from_iter_values(rows.iter().map(|it| it.1))),
                Arc::new(Date32Array::from_iter_values(rows.iter().map(|it| it.2))),
                cast(&shorter, &small).unwrap(),
            ];
            let groups = wide.groups(&keys).unwrap().unwrap();
            for (row, group) in rows.into_iter().zip(groups) {
                let next = known.len();
                let expected = *known.entry(row.clone()).or_insert_with(|| {
                    order.push(row);
                    next
                });
                assert_eq!(group, expected);
            }
        }
        assert_eq!(wide.len(), known.len());
        let values = wide.taken(order.len()).unwrap();
        for (group, (text, number, day)) in order.iter().enumerate() {
            assert_eq!(values[0].as_string_view().value(group).as_bytes(), text);
            assert_eq!(values[1].as_primitive::<UInt64Type>().value(group), *number);
            let days = values[2].as_primitive::<Date32Type>();
            assert_eq!(days.value(group), *day);
            assert_eq!(values[3].data_type(), &small);
            let shorter = cast(&values[3].slice(group, 1), &DataType::Utf8View).unwrap();
            let shorter = shorter.as_string_view().iter().next().unwrap();
            assert_eq!(shorter, (*day != 3).then(|| format!("{}", day / 4)).as_deref());
        }
    }

    #[test]
    fn nulls_are_a_group_of_their_own() {
        let types = [DataType::Utf8View, DataType::Int32];
        let mut wide = Wide::new(&types).unwrap();
        let texts = [None, Some(""), None, Some("a"), Some("a"), Some(""), None, Some("a")];
        let numbers = [Some(0), None, Some(0), Some(0), None, None, None, Some(0)];
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter(texts));
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter(numbers));
        let expected = vec![0, 1, 0, 2, 3, 1, 4, 2];
        for _ in 0..2 {
            let groups = wide.groups(&[texts.clone(), numbers.clone()]).unwrap();
            assert_eq!(groups, Some(expected.clone()));
        }
        let values = wide.taken(5).unwrap();
        let shown: Vec<_> = values[0].as_string_view().iter().collect();
        assert_eq!(shown, [None, Some(""), Some("a"), Some("a"), None]);
        let shown: Vec<_> = values[1].as_primitive::<Int32Type>().iter().collect();
        assert_eq!(shown, [Some(0), None, Some(0), None, None]);
    }

    #[test]
    fn no_rows_have_no_groups() {
        let mut wide = Wide::new(&[DataType::Int32]).unwrap();
        let none: ArrayRef = Arc::new(Int32Array::from(Vec::<i32>::new()));
        assert_eq!(wide.groups(&[none]).unwrap(), Some(Vec::new()));
        assert_eq!(wide.taken(0).unwrap()[0].len(), 0);
    }

    #[test]
    fn what_cannot_be_grouped_is_refused() {
        assert!(Wide::new(&[DataType::Int8, DataType::Float64]).is_none());
        let mut wide = Wide::of_texts(&DataType::Utf8View, 3);
        let texts = |texts: &[&str]| Arc::new(StringViewArray::from_iter_values(texts)) as ArrayRef;
        assert!(wide.groups(&[texts(&["a", "b", "c", "a"])]).unwrap().is_some());
        assert!(wide.groups(&[texts(&["c", "d"])]).unwrap().is_none());
        assert!(!wide.is_damaged());
        let mut wide = Wide::new(&[DataType::Utf8View]).unwrap();
        let damaged: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([&b"a"[..], b"\xff"]));
        assert!(wide.groups(&[damaged]).unwrap().is_none());
        assert!(wide.is_damaged());
    }
}
