//! What the values of a columnar file's column are really like, against what its schema allows.

use crate::columnar::fit::under;
use crate::infer::evidence::{DATE_DAYS, Distinct};
use crate::infer::unify::NOTHING;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampSecondType};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType as Arrow, Field, Fields, TimeUnit};
use std::sync::Arc;
use tambour_function::value::time::DAYS;
use tambour_part::types::TYPE_KEY;
use tambour_part::{DataType, PartError};

/// What was seen of a column or of something inside one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) nulls: bool,
    /// NULLs among the values whose texts were looked at.
    null_count: u64,
    /// Least and greatest day (or second, for timestamps of seconds).
    pub(crate) range: Option<(i64, i64)>,
    pub(crate) distinct: Distinct,
    children: Vec<Facts>,
}

impl Facts {
    /// What the schema says, where the values cannot be looked at first.
    pub(crate) fn stated(field: &Field) -> Self {
        let is_null = field.is_nullable();
        let children = match field.data_type() {
            Arrow::List(item) | Arrow::LargeList(item) | Arrow::FixedSizeList(item, _) => {
                vec![Self::stated(item)]
            }
            Arrow::Struct(fields) => {
                let element = |it: &Arc<Field>| {
                    let is_null = is_null || it.is_nullable();
                    Self::stated(&it.as_ref().clone().with_nullable(is_null))
                };
                fields.iter().map(element).collect()
            }
            Arrow::Map(entries, _) => match entries.data_type() {
                Arrow::Struct(fields) => fields.iter().map(|field| Self::stated(field)).collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        Self { nulls: is_null, children, ..Self::default() }
    }

    /// Widens the range.
    pub(crate) fn include(&mut self, least: i64, greatest: i64) {
        let (low, high) = self.range.unwrap_or((least, greatest));
        self.range = Some((low.min(least), high.max(greatest)));
    }

    /// Looks at values; at their texts too if `texts`.
    pub(crate) fn observe(&mut self, array: &ArrayRef, texts: bool) {
        self.nulls |= array.logical_null_count() > 0;
        match array.data_type() {
            Arrow::Date32 => {
                for day in array.as_primitive::<Date32Type>().iter().flatten() {
                    self.include(i64::from(day), i64::from(day));
                }
            }
            Arrow::Timestamp(TimeUnit::Second, _) => {
                for second in array.as_primitive::<TimestampSecondType>().iter().flatten() {
                    self.include(second, second);
                }
            }
            Arrow::List(_) => self.child(0).observe(array.as_list::<i32>().values(), false),
            Arrow::LargeList(_) => self.child(0).observe(array.as_list::<i64>().values(), false),
            Arrow::FixedSizeList(..) => {
                self.child(0).observe(array.as_fixed_size_list().values(), false);
            }
            Arrow::Map(..) => {
                let map = array.as_map();
                self.child(0).observe(map.keys(), false);
                self.child(1).observe(map.values(), false);
            }
            Arrow::Struct(_) => {
                // Where the whole is NULL its elements are, and so are theirs.
                let whole = array.as_struct();
                for (index, column) in whole.columns().iter().enumerate() {
                    self.child(index).observe(&under(column, whole.nulls()), false);
                }
            }
            other if texts && is_text(other) => self.observe_texts(array),
            _ => {}
        }
    }

    fn child(&mut self, index: usize) -> &mut Self {
        if self.children.len() <= index {
            self.children.resize_with(index + 1, Self::default);
        }
        &mut self.children[index]
    }

    fn observe_texts(&mut self, array: &ArrayRef) {
        // Whatever kind of text it is; what is not UTF-8 is an error when it is read.
        let Ok(texts) = cast(array, &Arrow::Utf8) else { return };
        let texts: &StringArray = texts.as_string();
        self.null_count += texts.null_count() as u64;
        for text in texts.iter().flatten() {
            self.distinct.observe(text.as_bytes());
        }
    }

    /// A field whose type is stated: Nullable if that says so, or if there are NULLs.
    pub(crate) fn stated_field(&self, field: &Field) -> Field {
        let is_stated = field.metadata().contains_key(TYPE_KEY);
        field.clone().with_nullable(field.is_nullable() && (self.nulls || !is_stated))
    }

    /// The field as its values are: what is marked nullable and never NULL is not.
    fn refined(&self, field: &Field) -> Field {
        let child = |index: usize| self.children.get(index).cloned().unwrap_or_default();
        let inner = |index: usize, field: &Field| Arc::new(child(index).refined(field));
        let data_type = match field.data_type() {
            Arrow::List(item) => Arrow::List(inner(0, item)),
            Arrow::LargeList(item) => Arrow::LargeList(inner(0, item)),
            Arrow::FixedSizeList(item, length) => Arrow::FixedSizeList(inner(0, item), *length),
            Arrow::Struct(fields) => {
                let fields = fields.iter().enumerate();
                Arrow::Struct(fields.map(|(index, field)| child(index).refined(field)).collect())
            }
            Arrow::Map(entries, sorted) => match entries.data_type() {
                Arrow::Struct(fields) => {
                    let fields = fields.iter().enumerate();
                    let fields: Fields =
                        fields.map(|(index, field)| child(index).refined(field)).collect();
                    let entries = entries.as_ref().clone().with_data_type(Arrow::Struct(fields));
                    Arrow::Map(Arc::new(entries), *sorted)
                }
                _ => field.data_type().clone(),
            },
            // Where nothing was seen, anything may come.
            Arrow::Null => Arrow::Utf8,
            other => other.clone(),
        };
        let is_nullable = self.nulls || *field.data_type() == Arrow::Null;
        field.clone().with_data_type(data_type).with_nullable(is_nullable)
    }

    /// The type that was found, with [`NOTHING`] in the place of what has no type in the file: other files may say what it is.
    fn untyped(&self, found: DataType, arrow: &Arrow) -> DataType {
        use DataType as T;
        let child = |at: usize, found: T, arrow: &Arrow| match self.children.get(at) {
            Some(child) => child.untyped(found, arrow),
            None => Self::default().untyped(found, arrow),
        };
        match (found, arrow) {
            (_, Arrow::Null) => {
                let nothing = T::Foreign(NOTHING.to_owned());
                if self.nulls { T::Nullable(Box::new(nothing)) } else { nothing }
            }
            (
                T::Array(item),
                Arrow::List(field) | Arrow::LargeList(field) | Arrow::FixedSizeList(field, _),
            ) => T::Array(Box::new(child(0, *item, field.data_type()))),
            (T::Tuple(elements), Arrow::Struct(fields)) => {
                let pairs = elements.into_iter().zip(fields).enumerate();
                let element = |(at, ((name, inner), field)): (usize, ((_, T), &Arc<Field>))| {
                    (name, child(at, inner, field.data_type()))
                };
                T::Tuple(pairs.map(element).collect())
            }
            (T::Map(key, value), Arrow::Map(entries, _)) => match entries.data_type() {
                Arrow::Struct(fields) if fields.len() == 2 => {
                    T::Map(key, Box::new(child(1, *value, fields[1].data_type())))
                }
                _ => T::Map(key, value),
            },
            (found, _) => found,
        }
    }

    /// The type that a table's column would have, with [`NOTHING`] where the file does not say it.
    pub(crate) fn decide(&self, field: &Field) -> Result<DataType, PartError> {
        if field.metadata().contains_key(TYPE_KEY) {
            return DataType::from_field(field);
        }
        let refined = self.refined(field);
        match field.data_type() {
            Arrow::Null => {
                return Ok(DataType::Nullable(Box::new(DataType::Foreign(NOTHING.to_owned()))));
            }
            // ClickHouse has none (that all versions know) for a time of day.
            Arrow::Time32(_) | Arrow::Time64(_) => {
                return Ok(if self.nulls {
                    DataType::String.made_nullable()
                } else {
                    DataType::String
                });
            }
            _ => {}
        }
        let named = DataType::from_field(&refined)?;
        let decided = match named.unwrapped() {
            DataType::String
                if self.distinct.pays(self.null_count)
                    && !matches!(named, DataType::LowCardinality(_)) =>
            {
                DataType::LowCardinality(Box::new(named))
            }
            DataType::Date32 => self.date(named),
            DataType::DateTime { zone } => {
                let zone = zone.clone();
                self.date_time(named, zone)
            }
            _ => self.untyped(named, field.data_type()),
        };
        Ok(decided)
    }

    /// `Date` holds all days that are mostly needed, in half the space.
    fn date(&self, named: DataType) -> DataType {
        let fits = |day: i64| i32::try_from(day).is_ok_and(|day| DATE_DAYS.contains(&day));
        match self.range {
            Some((least, greatest)) if fits(least) && fits(greatest) => self.again(DataType::Date),
            _ => named,
        }
    }

    /// Seconds outside of what `DateTime` holds.
    fn date_time(&self, named: DataType, zone: Option<String>) -> DataType {
        match self.range {
            Some((least, greatest)) if least < 0 || greatest > i64::from(u32::MAX) => {
                self.again(DataType::DateTime64 { precision: 0, zone })
            }
            _ => named,
        }
    }

    fn again(&self, data_type: DataType) -> DataType {
        if self.nulls { data_type.made_nullable() } else { data_type }
    }
}

/// Whether dates of `Date32` are inside what the type holds.
pub(crate) fn is_date32(day: i32) -> bool {
    DAYS.contains(&day)
}

/// Text, of whatever Arrow type, dictionaries apart.
pub(crate) fn is_text(data_type: &Arrow) -> bool {
    matches!(
        data_type,
        Arrow::Utf8
            | Arrow::LargeUtf8
            | Arrow::Utf8View
            | Arrow::Binary
            | Arrow::LargeBinary
            | Arrow::BinaryView
    )
}
