//! A table that gets rows which it does not hold yet: wider types, more columns.

use super::{ImportError, ImportOptions, ImportTypes};
use crate::Error;
use std::path::{Path, PathBuf};
use tambour_codec::spec::CodecSpec;
use tambour_files::{FileError, Input, ReadOptions, Sighting, absent};
use tambour_part::choose::integer_range;
use tambour_part::types::{Column, DataType};
use tambour_table::insert::Existing;
use tambour_table::schema::{ColumnDefinition, TableDefinition, permit};
use tambour_table::widen::widens;

/// A column that an import has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeChange {
    /// The column.
    pub column: String,
    /// Its type before, if it was there.
    pub before: Option<DataType>,
    /// Its type now.
    pub after: DataType,
}

/// How the table that rows are added to may change.
#[derive(Debug)]
pub(super) struct Widening<'a> {
    table: &'a Path,
    files: &'a [PathBuf],
    options: &'a ImportOptions,
    /// The columns before; none if nothing may change.
    before: Option<Vec<Column>>,
    now: Vec<Column>,
    /// What all rows of the files are like, once that was needed.
    seen: Option<Vec<Sighting>>,
}

impl<'a> Widening<'a> {
    /// Changes are for tables that get more rows and whose types nobody gives; a stream cannot be read a second time.
    pub(super) fn of(
        table: &'a Path,
        files: &'a [PathBuf],
        options: &'a ImportOptions,
        given: Option<&TableDefinition>,
    ) -> Self {
        let is_stream = files.iter().any(|file| file.as_os_str() == "-");
        let may_change = options.existing == Existing::Append && options.definition.is_none();
        let before = given.filter(|_| may_change && !is_stream).map(TableDefinition::plain_columns);
        let now = before.clone().unwrap_or_default();
        Self { table, files, options, before, now, seen: None }
    }

    /// Adds the columns that the files have and the table has not; its own rows have NULL there, or what is empty.
    pub(super) fn add_columns(
        &mut self,
        definition: Option<&mut TableDefinition>,
    ) -> Result<(), Error> {
        let Some(definition) = definition.filter(|_| self.before.is_some()) else { return Ok(()) };
        if self.options.skip_unknown_columns {
            return Ok(());
        }
        for sighting in self.sight(false)? {
            let Column { name, data_type } = sighting.column;
            if definition.columns.iter().any(|it| it.column.name == name) {
                continue;
            }
            let mut added = ColumnDefinition::new(name, absent(data_type));
            added.codec = Some(self.options.codec_of_all());
            definition.columns.push(added);
        }
        self.settle(definition)
    }

    /// Makes room for what did not fit, and hands the reason back; an error if there is none to make.
    pub(super) fn widen(
        &mut self,
        definition: Option<&mut TableDefinition>,
        reason: FileError,
    ) -> Result<FileError, Error> {
        let Some(definition) = definition.filter(|_| self.before.is_some()) else {
            return Err(reason.into());
        };
        let Some(name) = reason.misfit().map(str::to_owned) else { return Err(reason.into()) };
        if self.seen.is_none() {
            self.seen = Some(self.sight(true)?);
        }
        let seen = self.seen.as_deref().unwrap_or_default();
        let is_smallest = self.options.types == ImportTypes::Smallest;
        let mut is_widened = false;
        for column in &mut definition.columns {
            let sighting = seen.iter().find(|it| it.column.name == column.column.name);
            let is_culprit = column.column.name == name;
            let old = &column.column.data_type;
            let has_default = column.clauses.default.is_some();
            let new = match sighting {
                // The file has no such column.
                None if is_culprit && has_default => None,
                None if is_culprit => Some(absent(old.clone())),
                Some(sighting) if is_culprit => wider(old, sighting, &reason, is_smallest),
                // Others of which it is clear are not waited for.
                Some(sighting) if is_clear(old, sighting) => sighting.joined(old, is_smallest),
                _ => None,
            };
            let Some(new) = new.filter(|new| new != old && widens(old, new).is_some()) else {
                continue;
            };
            is_widened |= is_culprit;
            if is_other_kind(old, &new) && column.codec.as_ref().is_some_and(|it| !it.is_auto()) {
                column.codec = Some(CodecSpec::auto());
            }
            column.column.data_type = new;
        }
        if !is_widened {
            return Err(self.unlike(definition, name, reason).into());
        }
        self.settle(definition)?;
        Ok(reason)
    }

    /// The error for a column that nothing is done about without being asked for.
    fn unlike(
        &self,
        definition: &TableDefinition,
        column: String,
        cause: FileError,
    ) -> ImportError {
        let found = definition.columns.iter().find(|it| it.column.name == column);
        let have = found.map_or(DataType::String, |it| it.column.data_type.clone());
        let sighting = self.seen.iter().flatten().find(|it| it.column.name == column);
        let wider = sighting.and_then(|it| it.joined_as_text(&have));
        let wider = wider.or_else(|| cause.is_null().then(|| with_nulls(&have)));
        let wider = wider.filter(|it| *it != have && widens(&have, it).is_some()).map(Box::new);
        ImportError::Unlike {
            table: self.table.to_owned(),
            column,
            have: Box::new(have),
            seen: sighting.map(|it| Box::new(it.column.data_type.clone())),
            wider,
            cause: Box::new(cause),
        }
    }

    /// What has changed in all.
    pub(super) fn changes(&self) -> Vec<TypeChange> {
        let Some(before) = &self.before else { return Vec::new() };
        let change = |column: &Column| {
            let old = before.iter().find(|old| old.name == column.name);
            let before = old.map(|old| old.data_type.clone());
            (before.as_ref() != Some(&column.data_type)).then(|| TypeChange {
                column: column.name.clone(),
                before,
                after: column.data_type.clone(),
            })
        };
        self.now.iter().filter_map(change).collect()
    }

    /// Looks at the files, at all rows or at first ones.
    fn sight(&self, complete: bool) -> Result<Vec<Sighting>, Error> {
        let reading = self.options.reading(None)?;
        // What texts pay as does not matter here.
        let reading = ReadOptions { types: tambour_files::Types::Usual, ..reading };
        Ok(Input::sight(self.files, reading, complete)?)
    }

    /// Gives the definition the settings that its types need, and notes its columns.
    fn settle(&mut self, definition: &mut TableDefinition) -> Result<(), Error> {
        let columns = definition.plain_columns();
        let mut keys = definition.order_by.iter().chain(&definition.partition_by);
        let is_nullable = keys.any(|key| key.data_type(&columns).is_ok_and(|it| it.is_nullable()));
        if is_nullable && definition.setting("allow_nullable_key").is_none() {
            definition.settings.push(("allow_nullable_key".to_owned(), "1".to_owned()));
        }
        permit(definition);
        definition.check()?;
        self.now = columns;
        Ok(())
    }
}

/// True if a column surely needs another type, without a row that says so: its integers are too large, or some are NULL.
fn is_clear(old: &DataType, sighting: &Sighting) -> bool {
    let new = &sighting.column.data_type;
    if sighting.is_null {
        return false;
    }
    let is_null = new.is_nullable() && !old.is_nullable() && new.unwrapped() == old.unwrapped();
    is_null
        || match (integer_range(old.unwrapped()), sighting.range) {
            (Some((low, high)), Some((least, greatest))) => least < low || greatest > high,
            _ => false,
        }
}

/// The type of the column that a row does not fit.
fn wider(
    old: &DataType,
    sighting: &Sighting,
    reason: &FileError,
    is_smallest: bool,
) -> Option<DataType> {
    let is_nested = matches!(old, DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_));
    let with_null = || absent(old.clone());
    if sighting.is_null || reason.is_null() && !is_nested {
        return Some(with_null());
    }
    let joined = sighting.joined(old, is_smallest).filter(|new| new != old);
    joined.or_else(|| reason.is_null().then(with_null))
}

/// The same type with NULLs wherever there can be some.
fn with_nulls(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Array(item) => DataType::Array(Box::new(with_nulls(item))),
        DataType::Map(key, value) => DataType::Map(key.clone(), Box::new(with_nulls(value))),
        DataType::Tuple(elements) => {
            let element = |(name, inner): &(_, _)| (Option::clone(name), with_nulls(inner));
            DataType::Tuple(elements.iter().map(element).collect())
        }
        other => other.clone().made_nullable(),
    }
}

/// True if a codec for one type may not suit the other.
fn is_other_kind(old: &DataType, new: &DataType) -> bool {
    let is_integer = |it: &DataType| integer_range(it.unwrapped()).is_some();
    old.unwrapped() != new.unwrapped() && !(is_integer(old) && is_integer(new))
}
