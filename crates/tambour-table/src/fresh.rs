//! What a definition may not say of a new table, as in ClickHouse. Existing tables are not held to it: a server's files are read, whatever
//! statement made them.

use super::ttl::Ttl;
use crate::TableError;
use crate::schema::expression::Expression;
use crate::schema::{TableDefinition, similar_setting};
use std::collections::HashSet;
use tambour_codec::spec::CodecSpec;
use tambour_part::types::{Column, DataType};
use tambour_part::write::check_codec;

/// Kinds of skip indexes that ClickHouse has or had.
const INDEX_KINDS: [&str; 12] = [
    "minmax",
    "set",
    "bloom_filter",
    "ngrambf_v1",
    "tokenbf_v1",
    "sparse_grams",
    "text",
    "full_text",
    "inverted",
    "vector_similarity",
    "hypothesis",
    "annoy",
];

/// An error if ClickHouse would not make such a table.
pub fn check_fresh(definition: &TableDefinition) -> Result<(), TableError> {
    for column in &definition.columns {
        let codec = column.codec.clone().unwrap_or_else(CodecSpec::lz4);
        check_codec_of(&column.column, &codec)?;
    }
    check_indexes(definition)?;
    check_ttl(definition)?;
    if let Some(text) = &definition.clauses.sample_by
        && let Ok(sample) = Expression::parse(text)
        && !definition.primary_key.contains(&sample)
    {
        return Err(wrong(format!("SAMPLE BY {text}"), "the primary key does not have it"));
    }
    for (name, _) in &definition.settings {
        if let Some(known) = similar_setting(name) {
            return Err(wrong(format!("the setting {name}"), format!("is {known} meant?")));
        }
    }
    Ok(())
}

/// An error if a codec does not suit a column, or is none.
pub(crate) fn check_codec_of(column: &Column, codec: &CodecSpec) -> Result<(), TableError> {
    check_codec(column, codec).map_err(|error| {
        let deepest =
            std::iter::successors(Some(&error as &dyn std::error::Error), |it| it.source());
        let told = deepest.last().map(ToString::to_string).unwrap_or_default();
        wrong(format!("CODEC({codec}) of the column `{}`", column.name), told)
    })
}

fn check_indexes(definition: &TableDefinition) -> Result<(), TableError> {
    let mut names = HashSet::new();
    for index in definition.indexes().iter().filter(|index| !index.is_implicit) {
        let clause = || format!("INDEX `{}`", index.name);
        if !names.insert(index.name.clone()) {
            return Err(wrong(clause(), "there are two of this name"));
        }
        if !INDEX_KINDS.contains(&index.kind.as_str()) {
            let known = INDEX_KINDS.join(", ");
            return Err(wrong(clause(), format!("{} is none of {known}", index.kind)));
        }
        if index.kind == "set" && index.arguments.len() != 1 {
            return Err(wrong(clause(), "a set has a number: of its values at most, 0 for any"));
        }
    }
    Ok(())
}

/// A TTL that cannot be computed here is a server's; one that can must be of dates or times.
fn check_ttl(definition: &TableDefinition) -> Result<(), TableError> {
    let columns = definition.plain_columns();
    let ttl = Ttl::of(definition);
    let of_rows = ttl.rows.iter().map(|rows| &rows.moment);
    for moment in of_rows.chain(ttl.columns.iter().map(|(_, moment)| moment)) {
        let data_type = moment.data_type(&columns)?;
        let is_time = matches!(
            data_type.unwrapped(),
            DataType::Date
                | DataType::Date32
                | DataType::DateTime { .. }
                | DataType::DateTime64 { .. }
        );
        if !is_time {
            let told = format!("its type is {data_type}, which is neither a date nor a time");
            return Err(wrong(format!("TTL {moment}"), told));
        }
    }
    Ok(())
}

fn wrong(clause: impl Into<String>, problem: impl Into<String>) -> TableError {
    TableError::Definition { clause: clause.into(), problem: problem.into() }
}
