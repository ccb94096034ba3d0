//! `tambour import`: files into a table, all rows or none.

use super::threads;
use crate::argument::check_portable;
use crate::cli::ImportArguments;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::progress::{Progress, Total};
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use tambour::codec::CodecError;
use tambour::codec::block::Encoder;
use tambour::codec::codec::{Class, Element};
use tambour::codec::spec::CodecSpec;
use tambour::files::{FileError, Input, ReadOptions, Types};
use tambour::part::types::{Column, DataType};
use tambour::part::write::Dialect;
use tambour::storage;
use tambour::table::SIDECAR;
use tambour::table::Table;
use tambour::table::insert::{Existing, Insert, InsertOptions, InsertSummary};
use tambour::table::schema::expression::Expression;
use tambour::table::schema::permit;
use tambour::table::schema::{ColumnDefinition, TableDefinition};

/// Rows that travel together from the files to the table.
const BATCH_ROWS: usize = 16_384;

/// Imports and tells what came of it.
pub(crate) fn run(arguments: &ImportArguments, console: Console) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen();
    let given = given_definition(arguments)?;
    let mut input = open(arguments, given.as_ref())?;
    let total = input.bytes_total().map_or(Total::Unknown, Total::Bytes);
    let mut progress = console.progress("import", total);
    let mut told = false;
    loop {
        let definition = match &given {
            Some(definition) => definition.clone(),
            None => inferred_definition(arguments, input.columns())?,
        };
        if !std::mem::replace(&mut told, true) {
            tell_schema(&definition, arguments, console);
        }
        let mut insert =
            Insert::begin(&storage::disk(), &arguments.into, &definition, options(arguments))?;
        match copy(&mut input, &mut insert, &mut progress, &interrupt) {
            Ok(()) => {
                progress.phase("writing parts");
                let summary = insert.commit()?;
                let time = progress.elapsed();
                drop(progress);
                return tell_summary(arguments, &definition, &input, &summary, time, console);
            }
            Err(error) => {
                insert.abort()?;
                let Some(widen) = widening(&error) else { return Err(error) };
                console.note(format_args!("{widen}: starting again with wider types"));
                told = false;
                input.restart()?;
            }
        }
    }
}

/// All batches, from the files to the table.
fn copy(
    input: &mut Input,
    insert: &mut Insert,
    progress: &mut Progress,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let mut rows = 0;
    while let Some(batch) = input.next_batch() {
        let batch = batch?;
        interrupt.check()?;
        rows += batch.num_rows() as u64;
        insert.write(batch)?;
        progress.update(input.bytes_read(), rows);
    }
    interrupt.check()?;
    Ok(())
}

/// What was learned too late, if that is all that is wrong.
fn widening(error: &anyhow::Error) -> Option<&FileError> {
    error.downcast_ref::<FileError>().filter(|error| matches!(error, FileError::Widen { .. }))
}

fn open(arguments: &ImportArguments, given: Option<&TableDefinition>) -> anyhow::Result<Input> {
    let header = match (arguments.header, arguments.no_header) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let options = ReadOptions {
        format: arguments.format.map(Into::into),
        columns: given.map(TableDefinition::plain_columns),
        // Types that import may have chosen itself.
        exact_times: arguments.append && arguments.create.is_none(),
        batch_rows: BATCH_ROWS,
        record_bytes_max: usize::try_from(arguments.record_max.0).unwrap_or(usize::MAX),
        header,
        delimiter: arguments.delimiter.map(|delimiter| delimiter.0),
        skip_unknown_columns: arguments.skip_unknown,
        threads: threads(arguments.threads),
        types: types(arguments)?,
        ..ReadOptions::default()
    };
    Ok(Input::open(&arguments.files, options)?)
}

/// Types are chosen with the codecs: not where a codec is given, and not for servers that know few types. Those in expressions
/// stay, which would mean something else, and those by which partitions are named.
fn types(arguments: &ImportArguments) -> anyhow::Result<Types> {
    if arguments.keep_types {
        return Ok(Types::Declared);
    }
    let codec = codec_of_all(arguments).map_or_else(CodecSpec::auto, Clone::clone);
    if !codec.is_auto() || Dialect::from(arguments.dialect) == Dialect::Old {
        return Ok(Types::Usual);
    }
    let mut keep: Vec<String> =
        arguments.codec.iter().filter_map(|choice| choice.column.clone()).collect();
    for (flag, text) in [
        ("--order-by", &arguments.order_by),
        ("--primary-key", &arguments.primary_key),
        ("--partition-by", &arguments.partition_by),
    ] {
        let Some(text) = text else { continue };
        let key = Expression::parse_key(text).with_context(|| flag.to_owned())?;
        let is_kept =
            |it: &&Expression| flag == "--partition-by" || !matches!(it, Expression::Column(_));
        let kept = key.iter().filter(is_kept).flat_map(Expression::columns);
        keep.extend(kept.map(str::to_owned));
    }
    Ok(Types::Smallest { codec, keep })
}

/// What `--codec` says of columns that it does not name.
fn codec_of_all(arguments: &ImportArguments) -> Option<&CodecSpec> {
    let mut choices = arguments.codec.iter().rev();
    choices.find(|choice| choice.column.is_none()).map(|choice| &choice.codec)
}

fn options(arguments: &ImportArguments) -> InsertOptions {
    InsertOptions {
        existing: if arguments.append {
            Existing::Append
        } else if arguments.force {
            Existing::Replace
        } else {
            Existing::Refuse
        },
        dialect: arguments.dialect.into(),
        rows_per_part: arguments.rows_per_part,
        memory_bytes: arguments.memory.0,
        threads: threads(arguments.threads),
    }
}

/// The definition that is not to be inferred: of `--create`, or of the table that gets more rows.
fn given_definition(arguments: &ImportArguments) -> anyhow::Result<Option<TableDefinition>> {
    let exists = arguments.into.join(SIDECAR).exists();
    if exists && !arguments.append && !arguments.force {
        return Err(Failure::Conflict(format!(
            "table {} exists: --append adds rows to it, --force replaces it",
            arguments.into.display()
        ))
        .into());
    }
    let mut created = arguments.create.as_deref().map(create_statement).transpose()?;
    if let Some(definition) = &mut created {
        set_codecs(&mut definition.columns, arguments)?;
        definition.check()?;
    }
    if created.is_some() || !(exists && arguments.append) {
        return Ok(created);
    }
    if arguments.order_by.is_some()
        || arguments.primary_key.is_some()
        || arguments.partition_by.is_some()
        || !arguments.codec.is_empty()
    {
        return Err(Failure::Usage(format!(
            "table {} has its keys and codecs already: --append goes without \
             --order-by, --primary-key, --partition-by, --codec",
            arguments.into.display()
        ))
        .into());
    }
    Ok(Table::open(&arguments.into)?.definition().cloned())
}

/// The statement itself, or `@FILE`.
fn create_statement(text: &str) -> anyhow::Result<TableDefinition> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(TableDefinition::parse(text)?);
    };
    let statement = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
    TableDefinition::parse(&statement).with_context(|| path.to_owned())
}

/// A definition over the columns that the files have.
fn inferred_definition(
    arguments: &ImportArguments,
    columns: &[Column],
) -> anyhow::Result<TableDefinition> {
    let key = |flag: &str, text: Option<&String>| -> anyhow::Result<Vec<Expression>> {
        let Some(text) = text else { return Ok(Vec::new()) };
        let key = Expression::parse_key(text).with_context(|| flag.to_owned())?;
        check_columns(flag, &key, columns)?;
        Ok(key)
    };
    let order_by = key("--order-by", arguments.order_by.as_ref())?;
    let primary_key = match &arguments.primary_key {
        Some(text) => key("--primary-key", Some(text))?,
        None => order_by.clone(),
    };
    let partition_by = key("--partition-by", arguments.partition_by.as_ref())?;
    let mut settings = vec![("index_granularity".to_owned(), "8192".to_owned())];
    if has_nullable(order_by.iter().chain(&partition_by), columns)? {
        settings.push(("allow_nullable_key".to_owned(), "1".to_owned()));
    }
    let plain = |it: &Column| ColumnDefinition::new(it.name.clone(), it.data_type.clone());
    let mut definition =
        TableDefinition::new(table_name(&arguments.into), columns.iter().map(plain).collect());
    set_codecs(&mut definition.columns, arguments)?;
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

fn check_columns(flag: &str, key: &[Expression], columns: &[Column]) -> Result<(), Failure> {
    for name in key.iter().flat_map(Expression::columns) {
        if !columns.iter().any(|column| column.name == name) {
            return Err(unknown_column(flag, name, columns));
        }
    }
    Ok(())
}

fn unknown_column(flag: &str, name: &str, columns: &[Column]) -> Failure {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    Failure::NotFound(format!("{flag}: no column {name:?}; there are: {}", names.join(", ")))
}

fn has_nullable<'a>(
    key: impl Iterator<Item = &'a Expression>,
    columns: &[Column],
) -> anyhow::Result<bool> {
    for expression in key {
        if expression.data_type(columns)?.is_nullable() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sets the codecs that the flags give: a flag for one column goes before what a statement says, and that before a flag
/// for all; of several the last counts. Without any the chain is chosen by the data.
fn set_codecs(
    columns: &mut [ColumnDefinition],
    arguments: &ImportArguments,
) -> Result<(), Failure> {
    let choices = &arguments.codec;
    for choice in choices {
        let Some(name) = &choice.column else { continue };
        if !columns.iter().any(|definition| definition.column.name == *name) {
            let names: Vec<Column> = columns.iter().map(|it| it.column.clone()).collect();
            return Err(unknown_column("--codec", name, &names));
        }
    }
    for choice in choices {
        let codec = &choice.codec;
        // Found here, not when the first part is written; whether it suits its column is known only then.
        let element = Element { width: 1, class: Class::Bytes };
        if let Err(error @ CodecError::UnsupportedCodec { .. }) = Encoder::new(codec, element) {
            return Err(Failure::Unsupported(format!("--codec {codec}: {error}")));
        }
    }
    for definition in columns.iter_mut() {
        let name = &definition.column.name;
        let own = choices.iter().rev().find(|choice| choice.column.as_ref() == Some(name));
        let all = codec_of_all(arguments);
        if let Some(own) = own {
            definition.codec = Some(own.codec.clone());
        } else if definition.codec.is_none() {
            definition.codec = Some(all.map_or_else(CodecSpec::auto, Clone::clone));
        }
    }
    check_portable(arguments.portable, columns.iter().filter_map(|it| it.codec.as_ref()))
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
    definition: &TableDefinition,
    input: &Input,
    summary: &InsertSummary,
    time: Duration,
    console: Console,
) -> anyhow::Result<()> {
    let bytes_in = input.bytes_total().unwrap_or_else(|| input.bytes_read());
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
            "seconds": time.as_secs_f64(),
            "columns": columns,
            "create": definition.to_string(),
        }))?;
        return Ok(());
    }
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
