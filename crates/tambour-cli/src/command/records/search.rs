//! `records search`, and what `records verify --repair` makes again.

use super::arguments::SearchArguments;
use super::{format, maintain, open};
use crate::output::{Console, quantity, stdout};
use serde_json::json;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use tambour::record::{Query, Scanned, ViewOptions};

pub(super) fn run(arguments: &SearchArguments, console: Console) -> anyhow::Result<()> {
    let query = Query::parse(&arguments.query)?;
    let options = ViewOptions { memory_bytes: 0 };
    let view = open(&arguments.log.store)?.view(&arguments.log.category, &options)?;
    let mut reader = Arc::new(view).reader();
    let (mut target, mut result, mut hits) = (stdout::data(), Ok(()), Vec::new());
    let mut left = arguments.limit.unwrap_or(u64::MAX);
    if left == 0 {
        return Ok(());
    }
    let searched = reader.search(&query, |scanned| {
        if arguments.json && !arguments.count {
            hits.push(to_json(&scanned));
        } else if !arguments.count {
            result = format::write(&mut target, arguments.format, scanned.record);
        }
        left -= 1;
        if left > 0 && result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    result?;
    if arguments.json {
        return Ok(stdout::json(&json!({
            "schema": "tambour/records-search/1",
            "count": searched.hits,
            "records_read": searched.records,
            "segments_without_index": searched.without_index,
            "hits": hits,
        }))?);
    }
    if arguments.count {
        writeln!(target, "{}", searched.hits)?;
    }
    target.flush()?;
    if searched.without_index > 0 {
        let segments = quantity::counted(searched.without_index as u64, "segment", "segments");
        let were = if searched.without_index == 1 { "was" } else { "were" };
        console.note(format_args!(
            "{segments} without an index, or with a damaged one, {were} read as a whole; `records append --index words` gives them one, \
             `records verify --repair` makes damaged ones again"
        ));
    }
    if searched.hits == 0
        && let Some(word) = arguments.query.split_whitespace().find(|it| is_small_operator(it))
    {
        let operator = word.to_ascii_uppercase();
        console
            .note(format_args!("{word:?} is searched for as a word; {operator} is the operator"));
    }
    Ok(())
}

/// Whether a word looks like AND, OR or NOT, and is none.
fn is_small_operator(word: &str) -> bool {
    ["and", "or", "not"].iter().any(|it| word.eq_ignore_ascii_case(it))
        && !["AND", "OR", "NOT"].contains(&word)
}

fn to_json(scanned: &Scanned<'_>) -> serde_json::Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    json!({
        "id": scanned.id,
        "time": scanned.time,
        "key": scanned.key.map(text),
        "record": text(scanned.record),
    })
}

/// Makes indexes again, in all categories that have them.
pub(super) fn repair(path: &Path, console: Console) -> anyhow::Result<()> {
    let store = open(path)?;
    let mut made = 0;
    for category in store.categories()? {
        let writer = store.writer(&category)?;
        maintain::tell_found(&writer, console);
        if writer.has_words_index() {
            made += writer.index_words()?;
        }
    }
    if made > 0 {
        let indexes = quantity::counted(made as u64, "index", "indexes");
        console.note(format_args!("{indexes} of words made again"));
    }
    Ok(())
}
