//! The table that an import makes: as it was given, as it exists, or over the columns that the files have.

use super::options::parse_key;
use super::{Clause, ImportError, ImportOptions};
use crate::Error;
use std::path::Path;
use tambour_codec::CodecError;
use tambour_codec::block::Encoder;
use tambour_codec::codec::{Class, Element};
use tambour_codec::spec::CodecSpec;
use tambour_part::types::Column;
use tambour_table::insert::Existing;
use tambour_table::schema::expression::Expression;
use tambour_table::schema::{ColumnDefinition, TableDefinition, permit};
use tambour_table::{SIDECAR, Table, TableError};

/// The definition that is not to be inferred: of the options, or of the table that gets more rows.
pub(super) fn given(
    path: &Path,
    options: &ImportOptions,
) -> Result<Option<TableDefinition>, Error> {
    let exists = path.join(SIDECAR).exists();
    if exists && options.existing == Existing::Refuse {
        return Err(TableError::Exists { path: path.to_owned() }.into());
    }
    if let Some(mut definition) = options.definition.clone() {
        set_codecs(&mut definition.columns, options)?;
        definition.check()?;
        return Ok(Some(definition));
    }
    if !(exists && options.existing == Existing::Append) {
        return Ok(None);
    }
    if options.keys().next().is_some() || !options.codecs.is_empty() {
        return Err(ImportError::KeysGiven { table: path.to_owned() }.into());
    }
    Ok(Table::open(path)?.definition().cloned())
}

/// The definition of the table that gets more rows, if [`given`] has found that one.
pub(super) fn seen<'a>(
    options: &ImportOptions,
    given: Option<&'a TableDefinition>,
) -> Option<&'a TableDefinition> {
    given.filter(|_| options.definition.is_none())
}

/// A definition over the columns that the files have.
pub(super) fn inferred(
    path: &Path,
    options: &ImportOptions,
    columns: &[Column],
) -> Result<TableDefinition, Error> {
    let key = |clause: Clause, text: Option<&String>| -> Result<Vec<Expression>, ImportError> {
        let Some(text) = text else { return Ok(Vec::new()) };
        let key = parse_key(clause, text)?;
        check_columns(clause, &key, columns)?;
        Ok(key)
    };
    let order_by = key(Clause::OrderBy, options.order_by.as_ref())?;
    let primary_key = match &options.primary_key {
        Some(text) => key(Clause::PrimaryKey, Some(text))?,
        None => order_by.clone(),
    };
    let partition_by = key(Clause::PartitionBy, options.partition_by.as_ref())?;
    let mut settings = vec![("index_granularity".to_owned(), "8192".to_owned())];
    if has_nullable(order_by.iter().chain(&partition_by), columns)? {
        settings.push(("allow_nullable_key".to_owned(), "1".to_owned()));
    }
    let plain = |it: &Column| ColumnDefinition::new(it.name.clone(), it.data_type.clone());
    let mut definition =
        TableDefinition::new(table_name(path), columns.iter().map(plain).collect());
    set_codecs(&mut definition.columns, options)?;
    definition.order_by = order_by;
    definition.primary_key = primary_key;
    definition.partition_by = partition_by.into_iter().map(Expression::for_partition).collect();
    definition.settings = settings;
    permit(&mut definition);
    definition.check()?;
    Ok(definition)
}

fn table_name(path: &Path) -> String {
    // `.` and `..` have no name of their own until they are resolved.
    let resolved = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    resolved
        .file_name()
        .map_or_else(|| "table".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn check_columns(
    clause: Clause,
    key: &[Expression],
    columns: &[Column],
) -> Result<(), ImportError> {
    let mut names = key.iter().flat_map(Expression::columns);
    let unknown = names.find(|name| !columns.iter().any(|column| column.name == *name));
    match unknown {
        Some(name) => Err(unknown_column(clause, name, columns.iter())),
        None => Ok(()),
    }
}

fn unknown_column<'a>(
    clause: Clause,
    name: &str,
    columns: impl Iterator<Item = &'a Column>,
) -> ImportError {
    let known = columns.map(|column| column.name.clone()).collect();
    ImportError::UnknownColumn { clause, column: name.to_owned(), known }
}

fn has_nullable<'a>(
    key: impl Iterator<Item = &'a Expression>,
    columns: &[Column],
) -> Result<bool, TableError> {
    for expression in key {
        if expression.data_type(columns)?.is_nullable() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sets the codecs of the options: one for a column goes before what a statement says, and that before one for all; of
/// several the last counts. Without any the chain is chosen by the data.
fn set_codecs(
    columns: &mut [ColumnDefinition],
    options: &ImportOptions,
) -> Result<(), ImportError> {
    let choices = &options.codecs;
    for name in choices.iter().filter_map(|(column, _)| column.as_ref()) {
        if !columns.iter().any(|definition| definition.column.name == *name) {
            let columns = columns.iter().map(|it| &it.column);
            return Err(unknown_column(Clause::Codec, name, columns));
        }
    }
    for (_, codec) in choices {
        // Found here, not when the first part is written; whether it suits its column is known only then.
        let element = Element { width: 1, class: Class::Bytes };
        if let Err(cause @ CodecError::UnsupportedCodec { .. }) = Encoder::new(codec, element) {
            return Err(ImportError::Codec { codec: codec.clone(), cause });
        }
    }
    for definition in columns.iter_mut() {
        let name = &definition.column.name;
        let own = choices.iter().rev().find(|(column, _)| column.as_ref() == Some(name));
        if let Some((_, own)) = own {
            definition.codec = Some(own.clone());
        } else if definition.codec.is_none() {
            definition.codec = Some(options.codec_of_all());
        }
        if !options.portable {
            definition.codec = definition.codec.take().map(CodecSpec::with_own);
        }
    }
    let mut codecs = columns.iter().filter_map(|it| it.codec.as_ref());
    match codecs.find(|codec| options.portable && !codec.is_portable()) {
        Some(codec) => Err(ImportError::NotPortable { codec: codec.clone() }),
        None => Ok(()),
    }
}
