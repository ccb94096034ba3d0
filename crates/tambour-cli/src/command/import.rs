//! `tambour import`: files into a table, all rows or none.

use super::threads;
use crate::argument::not_portable;
use crate::cli::{ImportArguments, Types};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::progress::{Progress, Total};
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use serde_json::json;
use std::ops::ControlFlow;
use std::time::Duration;
use tambour::part::types::DataType;
use tambour::table::SIDECAR;
use tambour::table::insert::Existing;
use tambour::table::schema::expression::Expression;
use tambour::table::schema::{ColumnDefinition, TableDefinition};
use tambour::table::store::refuse_url;
use tambour::{
    Clause, Error, ImportError, ImportEvent, ImportOptions, ImportSummary, ImportTypes, TypeChange,
};

/// Imports and tells what came of it.
pub(crate) fn run(arguments: &ImportArguments, console: Console) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen();
    refuse_url(&arguments.into)?;
    refuse_existing(arguments)?;
    let options = options(arguments)?;
    let mut progress: Option<Progress> = None;
    let tell = &mut |event: ImportEvent<'_>| {
        match event {
            ImportEvent::Opened { bytes_total } => {
                let total = bytes_total.map_or(Total::Unknown, Total::Bytes);
                progress = Some(console.progress("import", total));
            }
            ImportEvent::Schema(definition) => tell_schema(definition, arguments, console),
            ImportEvent::Rows { rows, bytes } => {
                if let Some(progress) = &mut progress {
                    progress.update(bytes, rows);
                }
            }
            ImportEvent::Restart(reason) => {
                console.note(format_args!("{reason}: starting again with wider types"));
            }
            ImportEvent::Committing => {
                if let Some(progress) = &mut progress {
                    progress.phase("writing parts");
                }
            }
            _ => {}
        }
        interrupt.flow()
    };
    let summary = run_with(arguments, &options, tell)?;
    let time = progress.as_ref().map_or(Duration::ZERO, Progress::elapsed);
    drop(progress);
    tell_summary(arguments, &summary, time, console)
}

type Tell<'a> = &'a mut (dyn FnMut(ImportEvent<'_>) -> ControlFlow<()> + Send);

/// Imports here, or lets workers do it.
fn run_with(
    arguments: &ImportArguments,
    options: &ImportOptions,
    tell: Tell<'_>,
) -> anyhow::Result<ImportSummary> {
    let (files, into) = (&arguments.files, &arguments.into);
    #[cfg(feature = "cluster")]
    if let Some(cluster) = super::worker::errands(&arguments.cluster)? {
        return cluster.import(files, into, options, tell).map_err(in_flags);
    }
    tambour::import_with(files, into, options, tell).map_err(in_flags)
}

/// Said before a file is read, and with the flags that help.
fn refuse_existing(arguments: &ImportArguments) -> Result<(), Failure> {
    let exists = arguments.into.join(SIDECAR).exists();
    if !exists || arguments.append || arguments.force {
        return Ok(());
    }
    Err(Failure::Conflict(format!(
        "table {} exists: --append adds rows to it, --force replaces it",
        arguments.into.display()
    )))
}

fn options(arguments: &ImportArguments) -> anyhow::Result<ImportOptions> {
    let mut options = ImportOptions::default();
    options.existing = match (arguments.append, arguments.force) {
        (true, _) => Existing::Append,
        (_, true) => Existing::Replace,
        _ => Existing::Refuse,
    };
    options.definition = arguments.create.as_deref().map(create_statement).transpose()?;
    options.order_by.clone_from(&arguments.order_by);
    options.primary_key.clone_from(&arguments.primary_key);
    options.partition_by.clone_from(&arguments.partition_by);
    let choices = arguments.codec.iter();
    options.codecs = choices.map(|it| (it.column.clone(), it.codec.clone())).collect();
    options.portable = arguments.portable;
    options.types = if arguments.keep_types { ImportTypes::Keep } else { arguments.types.into() };
    options.format = arguments.format.map(Into::into);
    options.header = match (arguments.header, arguments.no_header) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    options.delimiter = arguments.delimiter.map(|delimiter| delimiter.0);
    options.skip_unknown_columns = arguments.skip_unknown;
    options.record_bytes_max = usize::try_from(arguments.record_max.0).unwrap_or(usize::MAX);
    options.dialect = arguments.dialect.into();
    options.rows_per_part = arguments.rows_per_part;
    options.memory_bytes = arguments.memory.0;
    options.threads = threads(arguments.threads);
    Ok(options)
}

/// The flag that stands for a wish.
fn flag(clause: Clause) -> &'static str {
    match clause {
        Clause::OrderBy => "--order-by",
        Clause::PrimaryKey => "--primary-key",
        Clause::PartitionBy => "--partition-by",
        _ => "--codec",
    }
}

/// What is wrong with the options, in terms of the flags that they came from.
fn in_flags(error: Error) -> anyhow::Error {
    let Error::Import(error) = error else { return error.into() };
    let failure = match error {
        ImportError::KeysGiven { table } => Failure::Usage(format!(
            "table {} has its keys and codecs already: --append goes without \
             --order-by, --primary-key, --partition-by, --codec",
            table.display()
        )),
        ImportError::UnknownColumn { clause, column, known } => {
            let (flag, known) = (flag(clause), known.join(", "));
            Failure::NotFound(format!("{flag}: no column {column:?}; there are: {known}"))
        }
        ImportError::Key { clause, cause } => {
            return anyhow::Error::new(*cause).context(flag(clause));
        }
        ImportError::NotPortable { codec } => not_portable(&codec),
        ImportError::Codec { codec, cause } => {
            Failure::Unsupported(format!("--codec {codec}: {cause}"))
        }
        ImportError::Unlike { column, have, seen, wider, cause, .. } => {
            let seen = seen.map_or("do not have it".to_owned(), |seen| format!("have {seen}"));
            let wider = wider.map_or("import ".to_owned(), |it| {
                format!(
                    "--append --create 'CREATE TABLE ...' takes a type that holds both ({it} does), or import "
                )
            });
            let what = format!(
                "column `{column}` is {have}, and the files {seen}: {wider}all rows --into another table"
            );
            return anyhow::Error::new(*cause).context(what);
        }
        other => return Error::from(other).into(),
    };
    failure.into()
}

/// The statement itself, or `@FILE`.
pub(super) fn create_statement(text: &str) -> anyhow::Result<TableDefinition> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(TableDefinition::parse(text)?);
    };
    let statement = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
    TableDefinition::parse(&statement).with_context(|| path.to_owned())
}

fn tell_schema(definition: &TableDefinition, arguments: &ImportArguments, console: Console) {
    if console.is_verbose() {
        console.detail(definition);
        return;
    }
    if arguments.json {
        // Whoever reads JSON gets the statement at the end.
        return;
    }
    tell_zones(definition, console);
    let types = definition.columns.iter().map(|column| &column.column.data_type);
    let low = types.clone().filter(|kind| matches!(kind, DataType::LowCardinality(_))).count();
    let nullable = types.filter(|kind| kind.is_nullable()).count();
    let mut kinds: Vec<String> = Vec::new();
    if low > 0 {
        kinds.push(format!("{low} LowCardinality"));
    }
    if nullable > 0 {
        kinds.push(format!("{nullable} Nullable"));
    }
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let order: Vec<String> = definition.order_by.iter().map(ToString::to_string).collect();
    let order =
        if order.is_empty() { "unsorted".to_owned() } else { format!("by {}", order.join(", ")) };
    console.note(format_args!(
        "{}: {}{kinds}, {order}",
        arguments.into.display(),
        quantity::counted(definition.columns.len() as u64, "column", "columns"),
    ));
    if arguments.create.is_none() && !(arguments.append && arguments.into.join(SIDECAR).exists()) {
        console.note(tell_types(definition, arguments));
    }
}

/// Which types were chosen, and what that means.
fn tell_types(definition: &TableDefinition, arguments: &ImportArguments) -> &'static str {
    let is_narrow = |it: &ColumnDefinition| {
        use DataType as T;
        let is_number = matches!(it.column.data_type, T::LowCardinality(_))
            && *it.column.data_type.unwrapped() != T::String;
        is_number
            || matches!(
                it.column.data_type.unwrapped(),
                T::UInt8 | T::UInt16 | T::UInt32 | T::Int8 | T::Int16 | T::Int32
            )
    };
    let is_narrow = definition.columns.iter().any(is_narrow);
    match (arguments.keep_types, arguments.types) {
        (true, _) | (_, Types::Keep) => "types: exactly those of the files",
        (_, Types::Natural) => {
            "types: those of the files, with room for later rows; texts that repeat have a dictionary (LowCardinality)"
        }
        (_, Types::Smallest) if is_narrow => {
            "types: the smallest that hold these rows; --append widens them for later ones, but ClickHouse, once the parts \
             are attached, wraps numbers that do not fit"
        }
        (_, Types::Smallest) => "types: the smallest that hold these rows are those of the files",
    }
}

/// What appended rows have changed.
fn tell_changes(changes: &[TypeChange], console: Console) {
    for change in changes {
        match &change.before {
            Some(before) => console.note(format_args!(
                "column `{}` is {} now, {before} before",
                change.column, change.after
            )),
            None => console.note(format_args!(
                "column `{}` is new, {}; rows from before have no value there",
                change.column, change.after
            )),
        }
    }
    if !changes.is_empty() {
        console.note(
            "parts from before are cast when they are read; `tambour optimize` rewrites them",
        );
    }
}

/// Rows that the table has already, as far as parts tell.
fn tell_repeated(parts: &[String], console: Console) {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
    let named = if parts.len() == 1 { first.clone() } else { format!("{first} to {last}") };
    console.note(format_args!(
        "warning: the table has had the same rows before, in {} ({named}); if you have appended a file twice, \
         take the new parts out again with ALTER TABLE ... DROP PART",
        quantity::counted(parts.len() as u64, "part", "parts"),
    ));
}

/// A key that is computed in local time of the server splits and sorts rows otherwise than here, unless the column has a
/// zone of its own.
fn tell_zones(definition: &TableDefinition, console: Console) {
    let keys = definition.partition_by.iter().chain(&definition.order_by);
    for key in keys.filter(|key| matches!(key, Expression::Call { .. })) {
        let without = definition.columns.iter().find(|it| {
            key.columns().contains(&it.column.name.as_str())
                && matches!(
                    it.column.data_type.unwrapped(),
                    DataType::DateTime { zone: None } | DataType::DateTime64 { zone: None, .. }
                )
        });
        if let Some(column) = without {
            console.note(format_args!(
                "note: {key} is computed in UTC; for a server in another time zone give `{}` a zone in --create, \
                 like DateTime('UTC')",
                column.column.name
            ));
        }
    }
}

fn tell_summary(
    arguments: &ImportArguments,
    summary: &ImportSummary,
    time: Duration,
    console: Console,
) -> anyhow::Result<()> {
    let ImportSummary { definition, bytes_read: bytes_in, written: summary, changes, .. } = summary;
    let bytes_in = *bytes_in;
    if arguments.json {
        let columns: Vec<_> = definition.columns.iter().map(column_to_json).collect();
        stdout::json(&json!({
            "schema": "tambour/import/1",
            "table": arguments.into.display().to_string(),
            "rows": summary.rows,
            "parts": summary.parts,
            "bytes_in": bytes_in,
            "bytes_uncompressed": summary.uncompressed,
            "bytes_on_disk": summary.compressed,
            "repeated_parts": summary.repeated,
            "seconds": time.as_secs_f64(),
            "columns": columns,
            "changes": changes.iter().map(change_to_json).collect::<Vec<_>>(),
            "create": definition.to_string(),
        }))?;
        return Ok(());
    }
    tell_changes(changes, console);
    tell_repeated(&summary.repeated, console);
    console.note(format_args!(
        "{}: {} in {}, {} -> {} on disk ({}), {}, {} rows/s",
        arguments.into.display(),
        quantity::counted(summary.rows, "row", "rows"),
        quantity::counted(summary.parts, "part", "parts"),
        quantity::bytes(bytes_in),
        quantity::bytes(summary.compressed),
        quantity::ratio(bytes_in, summary.compressed),
        quantity::seconds(time),
        quantity::rate(quantity::per_second(summary.rows, time)),
    ));
    Ok(())
}

fn column_to_json(column: &ColumnDefinition) -> serde_json::Value {
    json!({
        "name": column.column.name,
        "type": column.column.data_type.to_string(),
        "codec": column.codec.as_ref().map(ToString::to_string),
    })
}

fn change_to_json(change: &TypeChange) -> serde_json::Value {
    json!({
        "column": change.column,
        "before": change.before.as_ref().map(ToString::to_string),
        "after": change.after.to_string(),
    })
}
