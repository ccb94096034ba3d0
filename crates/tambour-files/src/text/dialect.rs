//! Delimiter and header of CSV and TSV.

use super::block::{Escape, Span};
use super::split::{Splitter, Step};
use crate::infer::class::{Class, classify};
use crate::infer::evidence::Evidence;
use std::collections::HashSet;
use tambour_part::DataType;
use tambour_part::types::Column;

/// Records that the search for the delimiter looks at.
const RECORDS: usize = 100;

/// What separates the fields: the candidate that splits the first records into the most fields, always the same number.
pub(crate) fn delimiter(head: &[u8]) -> u8 {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut best = (b',', 1);
    for candidate in [b',', b';', b'\t', b'|'] {
        let width = width(head, candidate).unwrap_or(1);
        if width > best.1 {
            best = (candidate, width);
        }
    }
    best.0
}

/// Fields per record, if all have as many.
fn width(head: &[u8], delimiter: u8) -> Option<usize> {
    let splitter = Splitter::delimited(delimiter, Escape::Quotes);
    let (mut at, mut records, mut common) = (0, 0, None);
    let mut spans: Vec<Span> = Vec::new();
    while at < head.len() && records < RECORDS {
        spans.clear();
        match splitter.record(head, at, false, &mut spans) {
            Step::Record(next) => {
                if *common.get_or_insert(spans.len()) != spans.len() {
                    return None;
                }
                (at, records) = (next, records + 1);
            }
            Step::Blank(next) => at = next,
            Step::Incomplete if records > 0 => break,
            // The only record may end where the file ends.
            Step::Incomplete => match splitter.record(head, at, true, &mut spans) {
                Step::Record(_) => return Some(spans.len()),
                _ => return None,
            },
            Step::Unclosed | Step::AfterQuote => return None,
        }
    }
    common
}

/// Whether the first record holds names; `columns` has seen the records after it.
pub(crate) fn has_header(first: &[Vec<u8>], columns: &[Evidence], rows: u64) -> bool {
    let fields = || first.iter().map(|field| field.trim_ascii()).filter(|field| !field.is_empty());
    let words = fields().all(|field| matches!(classify(field), Class::Text));
    if !words || fields().next().is_none() {
        return false;
    }
    let named = |(field, column): (&Vec<u8>, &Evidence)| {
        !field.is_empty() && *column.decide().data_type.unwrapped() != DataType::String
    };
    if rows == 0 || first.iter().zip(columns).any(named) {
        return true;
    }
    // All is text: names are distinct and do not come again below themselves.
    let mut names = HashSet::new();
    fields().all(|field| names.insert(field))
        && !first
            .iter()
            .zip(columns)
            .any(|(field, column)| !field.is_empty() && column.has_seen(field))
}

/// Whether the first record holds the names of given columns.
pub(crate) fn names_columns(first: &[Vec<u8>], columns: &[Column]) -> bool {
    let known = |field: &&Vec<u8>| columns.iter().any(|column| column.name == name(field));
    let count = first.iter().filter(known).count();
    let words = first.iter().all(|field| matches!(classify(field.trim_ascii()), Class::Text));
    count > 0 && (count == first.len() || words && count * 2 >= first.len())
}

/// A field of a header as a name.
pub(crate) fn name(field: &[u8]) -> String {
    String::from_utf8_lossy(field.trim_ascii()).into_owned()
}

/// Names of columns from a header: empty ones are numbered, repeated ones get a number after them.
pub(crate) fn distinct_names(first: &[Vec<u8>]) -> Vec<String> {
    let mut taken: HashSet<String> = first.iter().map(|field| name(field)).collect();
    let mut used = HashSet::new();
    let mut names = Vec::with_capacity(first.len());
    for (index, field) in first.iter().enumerate() {
        let mut wanted = name(field);
        if wanted.is_empty() {
            wanted = format!("c{}", index + 1);
        }
        let base = wanted.clone();
        let mut number = 2;
        while used.contains(&wanted) || wanted != base && taken.contains(&wanted) {
            wanted = format!("{base}_{number}");
            number += 1;
        }
        taken.insert(wanted.clone());
        used.insert(wanted.clone());
        names.push(wanted);
    }
    names
}

/// Names of columns of a file without header.
pub(crate) fn numbered_names(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("c{number}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters() {
        assert_eq!(delimiter(b"a,b\n1,2\n"), b',');
        assert_eq!(delimiter(b"a;b\n1,5;2,5\n"), b';');
        assert_eq!(delimiter(b"a\tb\n1\t2\n"), b'\t');
        assert_eq!(delimiter(b"a|b|c\n1|2|3,4\n"), b'|');
        assert_eq!(delimiter(b"\"a;b;c\",d\n\"e;f\",g\n"), b',');
        assert_eq!(delimiter(b"a;b;c"), b';');
        assert_eq!(delimiter(b"a\nb\n"), b',');
    }

    #[test]
    fn names() {
        let fields = |list: &[&str]| -> Vec<Vec<u8>> {
            list.iter().map(|field| field.as_bytes().to_vec()).collect()
        };
        assert_eq!(
            distinct_names(&fields(&["a", "", "a", " b ", "a_2"])),
            ["a", "c2", "a_3", "b", "a_2"]
        );
        let columns =
            ["a", "b"].map(|name| Column { name: name.to_owned(), data_type: DataType::Bool });
        assert!(names_columns(&fields(&["b", "a"]), &columns));
        assert!(!names_columns(&fields(&["1", "x"]), &columns));
    }
}
