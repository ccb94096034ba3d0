//! Group keys found by position: values of a narrow range, codes of dictionaries, and texts of which there are not too many.
//!
//! A value of a key is a small number, its *code*, in the order of first sight; several keys make a group by a table of
//! (group so far, code of the next key). Nothing but a text is hashed per row. Keys that turn out wide are refused before a row of theirs
//! has changed anything but tables.

#![expect(
    clippy::cast_possible_truncation,
    reason = "codes, groups and places are at most 2^20, and values keep all 64 bits"
)]

use super::wide::Wide;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, DictionaryArray, PrimitiveArray, UInt32Array,
    make_array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::{
    ArrowDictionaryKeyType, ArrowNativeType, DataType, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::common::{Result, internal_err};
use std::collections::HashMap;
use std::sync::Arc;

/// Entries of a table up to which keys are narrow.
const TABLE_MAX: usize = 1 << 20;
/// Texts above which keys are wide: a table of more of them is in nobody's cache.
const TEXTS_MAX: usize = 1 << 18;
/// No group, no code.
pub(super) const NONE: u32 = u32::MAX;

/// The integer type that values of a key have, if they can be found by position.
pub(super) fn integer_of(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Date32 | DataType::Time32(_) => Some(DataType::Int32),
        DataType::Date64 | DataType::Timestamp(..) | DataType::Time64(_) => Some(DataType::Int64),
        other => other.is_integer().then(|| other.clone()),
    }
}

/// True if values of this type may have codes.
pub(super) fn is_codable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => matches!(
            **values,
            DataType::Utf8 | DataType::Utf8View | DataType::Binary | DataType::BinaryView
        ),
        DataType::Utf8View | DataType::BinaryView => true,
        other => integer_of(other).is_some(),
    }
}

/// The same bits under another type of the same width.
pub(super) fn retyped(values: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if values.data_type() == data_type {
        return Ok(values.clone());
    }
    Ok(make_array(values.to_data().into_builder().data_type(data_type.clone()).build()?))
}

/// The codes of one key.
#[derive(Clone, Debug)]
pub(super) struct Codes {
    data_type: DataType,
    kind: Kind,
    /// The code of NULL.
    null: u32,
    count: u32,
    /// A value is not UTF-8, though it should be.
    is_damaged: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Integers { base: i64, table: Vec<u32>, values: Vec<i64> },
    Texts(Box<Texts>),
    Views(Box<Wide>),
}

/// Values of dictionaries.
#[derive(Clone, Debug, Default)]
struct Texts {
    known: HashMap<Vec<u8>, u32>,
    /// The values, in the order of their codes but for NULL, which has an empty text.
    values: Vec<Vec<u8>>,
    /// The last dictionary: the next batch has mostly the same.
    last: Option<Last>,
}

/// A dictionary and the codes of its entries, as far as rows had them.
#[derive(Clone, Debug)]
struct Last {
    dictionary: ArrayRef,
    texts: ArrayRef,
    codes: Vec<u32>,
}

impl Codes {
    pub(super) fn new(data_type: &DataType) -> Self {
        let kind = match data_type {
            DataType::Dictionary(..) => Kind::Texts(Box::default()),
            DataType::Utf8View | DataType::BinaryView => {
                Kind::Views(Box::new(Wide::of_texts(data_type, TEXTS_MAX)))
            }
            _ => Kind::Integers { base: 0, table: Vec::new(), values: Vec::new() },
        };
        Self { data_type: data_type.clone(), kind, null: NONE, count: 0, is_damaged: false }
    }

    fn null_code(&mut self) -> u32 {
        if self.null == NONE {
            self.null = self.count;
            self.count += 1;
            match &mut self.kind {
                Kind::Integers { values, .. } => values.push(0),
                Kind::Texts(texts) => texts.values.push(Vec::new()),
                // There, NULL has a code like any text.
                Kind::Views(_) => {}
            }
        }
        self.null
    }

    /// The codes of some values; `false` if they are wide or damaged.
    pub(super) fn of(&mut self, values: &ArrayRef, codes: &mut Vec<u32>) -> Result<bool> {
        codes.clear();
        if matches!(self.kind, Kind::Views(_)) {
            return self.of_views(values, codes);
        }
        if matches!(self.kind, Kind::Texts(_)) {
            return self.of_dictionary(values, codes);
        }
        let Some(integer) = integer_of(values.data_type()) else {
            return internal_err!("a key of type {} has no codes", values.data_type());
        };
        let values = retyped(values, &integer)?;
        match integer {
            DataType::Int8 => Ok(self.of_integers::<Int8Type>(values.as_primitive(), codes)),
            DataType::Int16 => Ok(self.of_integers::<Int16Type>(values.as_primitive(), codes)),
            DataType::Int32 => Ok(self.of_integers::<Int32Type>(values.as_primitive(), codes)),
            DataType::Int64 => Ok(self.of_integers::<Int64Type>(values.as_primitive(), codes)),
            DataType::UInt8 => Ok(self.of_integers::<UInt8Type>(values.as_primitive(), codes)),
            DataType::UInt16 => Ok(self.of_integers::<UInt16Type>(values.as_primitive(), codes)),
            DataType::UInt32 => Ok(self.of_integers::<UInt32Type>(values.as_primitive(), codes)),
            _ => Ok(self.of_integers::<UInt64Type>(values.as_primitive(), codes)),
        }
    }

    fn of_views(&mut self, values: &ArrayRef, codes: &mut Vec<u32>) -> Result<bool> {
        let Kind::Views(views) = &mut self.kind else { return Ok(false) };
        let groups = views.groups(std::slice::from_ref(values))?;
        self.count = views.len() as u32;
        self.is_damaged = views.is_damaged();
        codes.extend(groups.iter().flatten().map(|group| *group as u32));
        Ok(groups.is_some())
    }

    fn of_integers<T: ArrowPrimitiveType>(
        &mut self,
        array: &PrimitiveArray<T>,
        codes: &mut Vec<u32>,
    ) -> bool {
        // Large values of UInt64 wrap: they are other numbers, but the same ones every time.
        let number = |value: T::Native| value.as_usize() as i64;
        if array.null_count() == 0
            && let Kind::Integers { base, table, .. } = &self.kind
        {
            // Most batches have only values that were seen before.
            let found = |value: &T::Native| {
                table.get(number(*value).wrapping_sub(*base) as usize).copied().unwrap_or(NONE)
            };
            codes.extend(array.values().iter().map(found));
            if !codes.contains(&NONE) {
                return true;
            }
            codes.clear();
        }
        let is_valid = |row| array.is_valid(row);
        let mut range: Option<(i64, i64)> = None;
        for (row, value) in array.values().iter().enumerate() {
            if array.null_count() == 0 || is_valid(row) {
                let value = number(*value);
                let (least, greatest) = range.unwrap_or((value, value));
                range = Some((least.min(value), greatest.max(value)));
            }
        }
        if range.is_some_and(|(least, greatest)| !self.reach(least, greatest)) {
            return false;
        }
        let null = if array.null_count() > 0 { self.null_code() } else { NONE };
        let Kind::Integers { base, table, values } = &mut self.kind else { return false };
        for (row, value) in array.values().iter().enumerate() {
            if null != NONE && !is_valid(row) {
                codes.push(null);
                continue;
            }
            let value = number(*value);
            let Some(entry) = table.get_mut(value.wrapping_sub(*base) as usize) else {
                return false;
            };
            if *entry == NONE {
                *entry = self.count;
                self.count += 1;
                values.push(value);
            }
            codes.push(*entry);
        }
        true
    }

    /// Makes the table reach over a range; `false` if it is wide then.
    fn reach(&mut self, least: i64, greatest: i64) -> bool {
        let Kind::Integers { base, table, .. } = &mut self.kind else { return false };
        let end = base.saturating_add(table.len() as i64);
        let (low, high) = if table.is_empty() {
            (least, greatest)
        } else {
            (least.min(*base), greatest.max(end.saturating_sub(1)))
        };
        let width = i128::from(high) - i128::from(low) + 1;
        if width > TABLE_MAX as i128 {
            return false;
        }
        let before = if table.is_empty() { 0 } else { (*base - low) as usize };
        if before > 0 {
            table.splice(0..0, std::iter::repeat_n(NONE, before));
        }
        table.resize((width as usize).max(table.len()), NONE);
        *base = low;
        true
    }

    fn of_dictionary(&mut self, values: &ArrayRef, codes: &mut Vec<u32>) -> Result<bool> {
        let DataType::Dictionary(key, _) = values.data_type() else {
            return internal_err!("a dictionary was promised, not {}", values.data_type());
        };
        match **key {
            DataType::Int8 => self.of_keys::<Int8Type>(values.as_dictionary(), codes),
            DataType::Int16 => self.of_keys::<Int16Type>(values.as_dictionary(), codes),
            DataType::Int32 => self.of_keys::<Int32Type>(values.as_dictionary(), codes),
            DataType::Int64 => self.of_keys::<Int64Type>(values.as_dictionary(), codes),
            DataType::UInt8 => self.of_keys::<UInt8Type>(values.as_dictionary(), codes),
            DataType::UInt16 => self.of_keys::<UInt16Type>(values.as_dictionary(), codes),
            DataType::UInt32 => self.of_keys::<UInt32Type>(values.as_dictionary(), codes),
            _ => self.of_keys::<UInt64Type>(values.as_dictionary(), codes),
        }
    }

    fn of_keys<K: ArrowDictionaryKeyType>(
        &mut self,
        array: &DictionaryArray<K>,
        codes: &mut Vec<u32>,
    ) -> Result<bool> {
        let has_nulls = array.keys().null_count() > 0 || array.values().null_count() > 0;
        let null =
            if has_nulls && array.logical_null_count() > 0 { self.null_code() } else { NONE };
        let is_text = matches!(&self.data_type, DataType::Dictionary(_, values)
            if matches!(**values, DataType::Utf8 | DataType::Utf8View));
        let Kind::Texts(texts) = &mut self.kind else { return Ok(false) };
        let is_last = texts
            .last
            .as_ref()
            .is_some_and(|last| last.dictionary.to_data().ptr_eq(&array.values().to_data()));
        if !is_last {
            texts.last = Some(Last::new(array.values())?);
        }
        let Texts { known, values, last: Some(last) } = &mut **texts else { return Ok(false) };
        if !has_nulls {
            // Most batches have only entries that were seen before: a loop with nothing else in it.
            let found = |key: &K::Native| last.codes.get(key.as_usize()).copied().unwrap_or(NONE);
            codes.extend(array.keys().values().iter().map(found));
            if !codes.contains(&NONE) {
                return Ok(true);
            }
            codes.clear();
        }
        let texts = last.texts.as_binary_view();
        for (row, key) in array.keys().values().iter().enumerate() {
            let place = key.as_usize();
            let is_null = has_nulls
                && (array.keys().is_null(row) || (place < texts.len() && texts.is_null(place)));
            if is_null {
                codes.push(null);
                continue;
            }
            let Some(code) = last.codes.get_mut(place) else {
                return internal_err!("entry {place} of a dictionary of {}", texts.len());
            };
            if *code == NONE {
                // Only entries that a row has become groups.
                let text = texts.value(place);
                if is_text && std::str::from_utf8(text).is_err() {
                    self.is_damaged = true;
                    return Ok(false);
                }
                *code = known.get(text).copied().unwrap_or(self.count);
                if *code == self.count {
                    known.insert(text.to_vec(), self.count);
                    values.push(text.to_vec());
                    self.count += 1;
                }
            }
            codes.push(*code);
        }
        Ok(self.count as usize <= TABLE_MAX)
    }

    /// True if what was refused is not UTF-8.
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// The values that codes of groups stand for.
    pub(super) fn values(&self, codes: &UInt32Array) -> Result<ArrayRef> {
        let chosen = |code: Option<u32>| code.filter(|code| *code != self.null);
        let codes: UInt32Array = codes.iter().map(chosen).collect();
        match &self.kind {
            Kind::Integers { values, .. } => {
                let Some(integer) = integer_of(&self.data_type) else {
                    return internal_err!("a key of type {} has no codes", self.data_type);
                };
                let array = integers_of(&integer, values.iter().map(|value| *value as u64));
                retyped(&take(&array, &codes, None)?, &self.data_type)
            }
            Kind::Views(views) => {
                let mut texts = Wide::clone(views).taken(views.len())?;
                let Some(texts) = texts.pop() else { return internal_err!("there are no texts") };
                Ok(take(&texts, &codes, None)?)
            }
            Kind::Texts(texts) => {
                let DataType::Dictionary(key, value) = &self.data_type else {
                    return internal_err!("a dictionary was promised, not {}", self.data_type);
                };
                let bytes: Vec<&[u8]> = texts.values.iter().map(Vec::as_slice).collect();
                let bytes = arrow::array::BinaryArray::from_vec(bytes);
                let wanted = DataType::Dictionary(key.clone(), value.clone());
                let all = DictionaryArray::try_new(codes, cast(&bytes, value)?)?;
                // The codes are the keys, unless NULL has one too many.
                Ok(cast(&all, &wanted).or_else(|_| cast(&cast(&all, value)?, &wanted))?)
            }
        }
    }
}

impl Codes {
    /// About how many bytes its tables take.
    pub(super) fn size(&self) -> usize {
        match &self.kind {
            Kind::Integers { table, values, .. } => table.len() * 4 + values.len() * 8,
            Kind::Texts(texts) => texts.values.iter().map(|it| 2 * it.len() + 96).sum(),
            Kind::Views(views) => views.size(),
        }
    }
}

impl Last {
    fn new(dictionary: &ArrayRef) -> Result<Self> {
        let texts = cast(dictionary, &DataType::BinaryView)?;
        let codes = vec![NONE; texts.len()];
        Ok(Self { dictionary: dictionary.clone(), texts, codes })
    }
}

/// Numbers as an array of an integer type that they came from.
pub(super) fn integers_of(data_type: &DataType, values: impl Iterator<Item = u64>) -> ArrayRef {
    fn made<T: ArrowPrimitiveType>(values: impl Iterator<Item = u64>) -> ArrayRef {
        let values = values.map(|value| T::Native::usize_as(value as usize));
        Arc::new(PrimitiveArray::<T>::from_iter_values(values))
    }
    match data_type {
        DataType::Int8 => made::<Int8Type>(values),
        DataType::Int16 => made::<Int16Type>(values),
        DataType::Int32 => made::<Int32Type>(values),
        DataType::Int64 => made::<Int64Type>(values),
        DataType::UInt8 => made::<UInt8Type>(values),
        DataType::UInt16 => made::<UInt16Type>(values),
        DataType::UInt32 => made::<UInt32Type>(values),
        _ => made::<UInt64Type>(values),
    }
}

/// Groups of a key and all keys before it.
#[derive(Debug, Default)]
struct Pairs {
    /// A power of two: codes of the key up to which the table reaches.
    stride: usize,
    table: Vec<u32>,
    /// For each group, the group of the keys before and the code of this one.
    groups: Vec<(u32, u32)>,
}

impl Pairs {
    /// Turns groups of the keys before into groups with this key; `false` if there are too many.
    fn join(&mut self, before: usize, codes: &[u32], count: u32, groups: &mut [usize]) -> bool {
        let stride = (count as usize).next_power_of_two();
        if before.saturating_mul(stride) > TABLE_MAX {
            return false;
        }
        if stride > self.stride || before * self.stride > self.table.len() {
            self.stride = stride.max(self.stride);
            let size = before.next_power_of_two().saturating_mul(self.stride);
            self.table = vec![NONE; size];
            for (group, (before, code)) in self.groups.iter().enumerate() {
                self.table[*before as usize * self.stride + *code as usize] = group as u32;
            }
        }
        for (group, code) in groups.iter_mut().zip(codes) {
            let entry = &mut self.table[*group * self.stride + *code as usize];
            if *entry == NONE {
                *entry = self.groups.len() as u32;
                self.groups.push((*group as u32, *code));
            }
            *group = *entry as usize;
        }
        true
    }
}

/// The groups of rows by some keys.
#[derive(Debug)]
pub(super) struct Keys {
    codes: Vec<Codes>,
    /// Of the second key, the third and so on.
    pairs: Vec<Pairs>,
    scratch: Vec<u32>,
}

impl Keys {
    pub(super) fn new(types: &[DataType]) -> Self {
        let codes = types.iter().map(Codes::new).collect();
        let pairs = types.iter().skip(1).map(|_| Pairs::default()).collect();
        Self { codes, pairs, scratch: Vec::new() }
    }
    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        match self.pairs.last() {
            Some(pairs) => pairs.groups.len(),
            None => self.codes.first().map_or(0, |it| it.count as usize),
        }
    }
    /// True if what was refused has a text that is not UTF-8.
    pub(super) fn is_damaged(&self) -> bool {
        self.codes.iter().any(|it| it.is_damaged)
    }
    /// The groups of some rows; `None` if the keys are wide or damaged. No row of a refused batch is in a group, though groups without
    /// rows may have come: see [`Self::len`] before the call.
    pub(super) fn groups(&mut self, keys: &[ArrayRef]) -> Result<Option<Vec<usize>>> {
        let mut groups = Vec::new();
        let mut before = 1;
        for (index, key) in keys.iter().enumerate() {
            let Some(codes) = self.codes.get_mut(index) else {
                return internal_err!("{} keys were promised", self.codes.len());
            };
            if !codes.of(key, &mut self.scratch)? {
                return Ok(None);
            }
            match index.checked_sub(1).and_then(|it| self.pairs.get_mut(it)) {
                None => {
                    groups = self.scratch.iter().map(|code| *code as usize).collect();
                    before = codes.count as usize;
                }
                Some(pairs) => {
                    if !pairs.join(before, &self.scratch, codes.count, &mut groups) {
                        return Ok(None);
                    }
                    before = pairs.groups.len();
                }
            }
        }
        Ok(Some(groups))
    }
    /// The keys of the first `count` groups.
    pub(super) fn values(&self, count: usize) -> Result<Vec<ArrayRef>> {
        let mut groups: Vec<u32> = (0..count as u32).collect();
        let mut found = Vec::with_capacity(self.codes.len());
        for (index, codes) in self.codes.iter().enumerate().rev() {
            let own: UInt32Array = match index.checked_sub(1).and_then(|it| self.pairs.get(it)) {
                None => groups.iter().copied().collect(),
                Some(pairs) => {
                    let pair = |group: &u32| pairs.groups[*group as usize];
                    let own = groups.iter().map(|group| pair(group).1).collect();
                    groups = groups.iter().map(|group| pair(group).0).collect();
                    own
                }
            };
            found.push(codes.values(&own)?);
        }
        found.reverse();
        Ok(found)
    }
    /// About how many bytes its tables take.
    pub(super) fn size(&self) -> usize {
        let codes = self.codes.iter().map(Codes::size);
        let pairs = self.pairs.iter().map(|it| it.table.len() * 4 + it.groups.len() * 8);
        codes.chain(pairs).sum()
    }
}
