//! Regular expressions as RE2 reads them, which ClickHouse uses: `match`, `extract`, `replaceRegexpAll`, `splitByRegexp`.
//!
//! The `regex` crate has the same limits (linear time, no references back) and a syntax that differs in small things:
//! [`translated`] writes one as the other.

use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, PrimitiveArray};
use regex::bytes::{Regex, RegexBuilder};
use std::sync::Arc;
use tambour_function::kit::{Call, array_of, list_array, rule, wrong};
use tambour_function::{Function, FunctionError};
use tambour_part::types::DataType;

/// Most groups of an expression whose groups are handed out.
const GROUPS_MAX: usize = 128;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("match", rule!(Text Text => DataType::UInt8), |c| matching(c, false))
        .predicate()
        .aliases(&["REGEXP_MATCHES"]),
    Function::new("notMatch", rule!(Text Text => DataType::UInt8), |c| matching(c, true))
        .predicate(),
    Function::new("multiMatchAny", rule!(Text Texts => DataType::UInt8), |c| {
        let found = multi(c)?;
        c.make_flags(|row| !found[row].is_empty())
    })
    .predicate(),
    Function::new("multiMatchAnyIndex", rule!(Text Texts => DataType::UInt64), |c| {
        let found = multi(c)?;
        c.make_numbers::<UInt64Type>(|row| found[row].first().copied().unwrap_or(0))
    }),
    Function::new("multiMatchAllIndices", rule!(Text Texts => array_of(DataType::UInt64)), |c| {
        let found = multi(c)?;
        let lengths = found.iter().map(Vec::len).collect();
        let values = PrimitiveArray::<UInt64Type>::from_iter_values(found.concat());
        list_array(lengths, Arc::new(values), &DataType::UInt64)
    }),
    Function::new("extract", rule!(Text ConstText => DataType::String), |c| {
        let (texts, regex) = (c.texts(0)?, constant(c, 1)?);
        c.make_texts(|row, out| {
            if let Some(groups) = regex.captures(texts.get(row)) {
                out.extend_from_slice(wanted(&groups));
            }
        })
    }),
    Function::new("extractAll", rule!(Text ConstText => array_of(DataType::String)), |c| {
        let (texts, regex) = (c.texts(0)?, constant(c, 1)?);
        c.make_text_lists(|row, list| {
            for groups in regex.captures_iter(texts.get(row)) {
                // ClickHouse leaves empty matches out.
                if groups.get(0).is_some_and(|whole| !whole.is_empty()) {
                    list.push(wanted(&groups));
                }
            }
        })
    }),
    Function::new("extractGroups", rule!(Text ConstText => array_of(DataType::String)), |c| {
        let (texts, regex) = (c.texts(0)?, with_groups(c)?);
        c.make_text_lists(|row, list| {
            if let Some(groups) = regex.captures(texts.get(row)) {
                groups.iter().skip(1).for_each(|group| {
                    list.push(group.map_or(&[][..], |group| group.as_bytes()));
                });
            }
        })
    }),
    Function::new(
        "extractAllGroupsVertical",
        rule!(Text ConstText => array_of(array_of(DataType::String))),
        vertical,
    )
    .aliases(&["extractAllGroups"]),
    Function::new(
        "extractAllGroupsHorizontal",
        rule!(Text ConstText => array_of(array_of(DataType::String))),
        horizontal,
    ),
    Function::new("regexpExtract", rule!(Text ConstText [Integer] => DataType::String), |c| {
        regexp_extract(c)
    })
    .aliases(&["REGEXP_EXTRACT", "REGEXP_SUBSTR"]),
    Function::new("countMatches", rule!(Text ConstText => DataType::UInt64), |c| count(c, "")),
    Function::new("countMatchesCaseInsensitive", rule!(Text ConstText => DataType::UInt64), |c| {
        count(c, "(?i)")
    }),
    Function::new("replaceRegexpOne", rule!(Text Text Text => DataType::String), |c| {
        replace(c, true)
    })
    .bytes(),
    Function::new("replaceRegexpAll", rule!(Text Text Text => DataType::String), |c| {
        replace(c, false)
    })
    .bytes()
    .aliases(&["REGEXP_REPLACE"]),
    Function::new(
        "splitByRegexp",
        rule!(ConstText Text [ConstInteger] => array_of(DataType::String)),
        split,
    ),
];

/// Group 1 if there is one, else the whole match.
fn wanted<'a>(groups: &regex::bytes::Captures<'a>) -> &'a [u8] {
    let index = usize::from(groups.len() > 1);
    groups.get(index).map_or(&[], |group| group.as_bytes())
}

fn compiled(name: &str, pattern: &[u8]) -> Result<Regex, FunctionError> {
    let refuse = |problem: String| wrong(name, format!("the regular expression: {problem}"));
    let text = std::str::from_utf8(pattern).map_err(|_| refuse("it is not UTF-8".to_owned()))?;
    RegexBuilder::new(&translated(text))
        .dot_matches_new_line(true)
        .size_limit(4 << 20)
        .nest_limit(100)
        .build()
        .map_err(|cause| {
            let shown = cause.to_string();
            let last = shown.lines().last().unwrap_or_default();
            refuse(format!("{text:?}: {}", last.trim_start_matches("error: ")))
        })
}

fn constant(call: &Call, index: usize) -> Result<Regex, FunctionError> {
    compiled(call.name, &call.constant_text(index)?)
}

/// The expression with the words of RE2 in the syntax of the crate: `\d`, `\w`, `\s` and `\b` are ASCII there, and a `[`, `&&`,
/// `--` or `~~` in a class are letters.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut letters = pattern.chars().peekable();
    let (mut in_class, mut is_first) = (false, false);
    while let Some(letter) = letters.next() {
        let was_first = std::mem::replace(&mut is_first, false);
        match letter {
            '\\' => match letters.next() {
                Some('Q') if !in_class => quote(&mut letters, &mut out),
                Some('C') if !in_class => out.push_str("(?-u:.)"),
                Some(class) => push_escape(class, in_class, &mut out),
                None => out.push('\\'),
            },
            '[' if in_class && letters.peek() == Some(&':') => out.push('['),
            ':' if in_class && out.ends_with('[') && !out.ends_with("\\[") => {
                // A named class: to its end.
                out.push(':');
                for inner in letters.by_ref() {
                    out.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                is_first = true;
                out.push('[');
                if letters.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            ']' if in_class && was_first => out.push_str("\\]"),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(letter);
            }
            '-' if in_class && letters.peek() == Some(&'-') => out.push_str("\\-"),
            other => out.push(other),
        }
    }
    out
}

fn quote(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let mut quoted = String::new();
    while let Some(letter) = letters.next() {
        if letter == '\\' && letters.next_if_eq(&'E').is_some() {
            break;
        }
        quoted.push(letter);
    }
    out.push_str(&regex::escape(&quoted));
}

fn push_escape(class: char, in_class: bool, out: &mut String) {
    match (class, in_class) {
        ('d', false) => out.push_str("[0-9]"),
        ('d', true) => out.push_str("0-9"),
        ('D', _) => out.push_str("[^0-9]"),
        ('w', false) => out.push_str("[0-9A-Za-z_]"),
        ('w', true) => out.push_str("0-9A-Za-z_"),
        ('W', _) => out.push_str("[^0-9A-Za-z_]"),
        ('s', false) => out.push_str("[\\t\\n\\x0c\\r ]"),
        ('s', true) => out.push_str("\\t\\n\\x0c\\r "),
        ('S', _) => out.push_str("[^\\t\\n\\x0c\\r ]"),
        ('b', false) => out.push_str("(?-u:\\b)"),
        ('B', false) => out.push_str("(?-u:\\B)"),
        // RE2 takes the meaning of any sign away; the crate refuses that of those without one.
        (sign, _) if sign.is_ascii_punctuation() => {
            out.push_str(&format!("\\x{:02x}", u32::from(sign)));
        }
        (other, _) => {
            out.push('\\');
            out.push(other);
        }
    }
}

/// Expressions of a column, each compiled when it is another than that of the row before.
struct Cache {
    last: Option<(Vec<u8>, Regex)>,
}

impl Cache {
    fn get(&mut self, name: &str, pattern: &[u8]) -> Result<&Regex, FunctionError> {
        let is_known = self.last.as_ref().is_some_and(|(known, _)| known == pattern);
        if !is_known {
            self.last = Some((pattern.to_vec(), compiled(name, pattern)?));
        }
        match &self.last {
            Some((_, regex)) => Ok(regex),
            None => Err(wrong(name, "there is no regular expression")),
        }
    }
}

fn matching(call: &Call, negated: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, patterns) = (call.texts(0)?, call.texts(1)?);
    let mut cache = Cache { last: None };
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let is_match =
            !call.is_null(row) && cache.get(call.name, patterns.get(row))?.is_match(texts.get(row));
        found.push(is_match != negated);
    }
    call.make_flags(|row| found[row])
}

/// For each row the numbers of the expressions that match.
fn multi(call: &Call) -> Result<Vec<Vec<u64>>, FunctionError> {
    let (texts, lists) = (call.texts(0)?, call.lists(1)?);
    let items = lists.texts();
    let mut compiled_before: Option<(std::ops::Range<usize>, Vec<Regex>)> = None;
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let range = lists.range(row);
        if compiled_before.as_ref().is_none_or(|(known, _)| *known != range) {
            let all =
                range.clone().map(|at| compiled(call.name, items.value(at).unwrap_or_default()));
            compiled_before = Some((range, all.collect::<Result<_, _>>()?));
        }
        let all = compiled_before.iter().flat_map(|(_, all)| all.iter().enumerate());
        let hits = all.filter(|(_, regex)| regex.is_match(texts.get(row)));
        found.push(hits.map(|(index, _)| index as u64 + 1).collect());
    }
    Ok(found)
}

fn with_groups(call: &Call) -> Result<Regex, FunctionError> {
    let regex = constant(call, 1)?;
    match regex.captures_len() {
        1 => Err(wrong(call.name, "the regular expression has no groups")),
        count if count > GROUPS_MAX => {
            Err(wrong(call.name, format!("there are more than {GROUPS_MAX} groups")))
        }
        _ => Ok(regex),
    }
}

/// One array per match, with its groups.
fn vertical(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (texts, regex) = (call.texts(0)?, with_groups(call)?);
    let groups = regex.captures_len() - 1;
    let mut matches = Vec::with_capacity(call.rows);
    let flat = call.make_text_lists(|row, list| {
        let mut count = 0;
        for found in regex.captures_iter(texts.get(row)) {
            found.iter().skip(1).for_each(|group| {
                list.push(group.map_or(&[][..], |group| group.as_bytes()));
            });
            count += 1;
        }
        matches.push(count);
    })?;
    regrouped(&flat, matches.iter().flat_map(|count| vec![groups; *count]).collect(), matches)
}

/// One array per group, with what it was in each match.
fn horizontal(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (texts, regex) = (call.texts(0)?, with_groups(call)?);
    let groups = regex.captures_len() - 1;
    let mut inner = Vec::new();
    let flat = call.make_text_lists(|row, list| {
        let found: Vec<_> = regex.captures_iter(texts.get(row)).collect();
        for group in 1..=groups {
            for one in &found {
                list.push(one.get(group).map_or(&[][..], |group| group.as_bytes()));
            }
            inner.push(found.len());
        }
    })?;
    let outer = vec![groups; call.rows];
    regrouped(&flat, inner, outer)
}

/// The texts of arrays, put into arrays of arrays.
fn regrouped(
    flat: &ArrayRef,
    inner: Vec<usize>,
    outer: Vec<usize>,
) -> Result<ArrayRef, FunctionError> {
    let values = arrow_array::cast::AsArray::as_list::<i32>(flat).values().clone();
    let inner = list_array(inner, values, &DataType::String)?;
    list_array(outer, inner, &array_of(DataType::String))
}

fn regexp_extract(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (texts, regex) = (call.texts(0)?, constant(call, 1)?);
    let indexes = call.optional_integers(2)?;
    let count = regex.captures_len();
    call.try_texts(|row, out| {
        let index = indexes.as_ref().map_or(i128::from(count > 1), |indexes| indexes.get(row));
        let index = usize::try_from(index).ok().filter(|index| *index < count);
        let Some(index) = index else {
            return Err(call.value_error(row, format!("the groups are 0 to {}", count - 1)));
        };
        if let Some(group) = regex.captures(texts.get(row)).and_then(|groups| groups.get(index)) {
            out.extend_from_slice(group.as_bytes());
        }
        Ok(())
    })
}

fn count(call: &Call, flags: &str) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let pattern = [flags.as_bytes(), &call.constant_text(1)?].concat();
    let regex = compiled(call.name, &pattern)?;
    call.make_numbers::<UInt64Type>(|row| {
        regex.find_iter(texts.get(row)).filter(|found| !found.is_empty()).count() as u64
    })
}

/// `\0` to `\9` in what replaces stand for groups.
fn push_replacement(out: &mut Vec<u8>, replacement: &[u8], groups: &regex::bytes::Captures<'_>) {
    let mut rest = replacement.iter();
    while let Some(byte) = rest.next() {
        match (byte, rest.as_slice().first()) {
            (b'\\', Some(digit @ b'0'..=b'9')) => {
                rest.next();
                let group = groups.get(usize::from(digit - b'0'));
                out.extend_from_slice(group.map_or(&[], |group| group.as_bytes()));
            }
            // Before any other byte it is left out.
            (b'\\', Some(other)) => {
                rest.next();
                out.push(*other);
            }
            _ => out.push(*byte),
        }
    }
}

fn replace(call: &Call, only_first: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, patterns, others) = (call.texts(0)?, call.texts(1)?, call.texts(2)?);
    let mut cache = Cache { last: None };
    let limit = if only_first { 1 } else { usize::MAX };
    call.try_texts(|row, out| {
        if call.is_null(row) {
            return Ok(());
        }
        let (text, other) = (texts.get(row), others.get(row));
        let regex = cache.get(call.name, patterns.get(row))?;
        let mut from = 0;
        // An empty expression replaces nothing.
        let mut left = if patterns.get(row).is_empty() { 0 } else { limit };
        while left > 0 && from <= text.len() {
            let Some(groups) = regex.captures_at(text, from) else { break };
            let Some(whole) = groups.get(0) else { break };
            out.extend_from_slice(text.get(from..whole.start()).unwrap_or_default());
            push_replacement(out, other, &groups);
            call.check_size(row, out.len())?;
            from = whole.end();
            left -= 1;
            if whole.is_empty() {
                // The next byte is not looked at again.
                out.extend(text.get(from));
                from += 1;
            }
        }
        out.extend_from_slice(text.get(from..).unwrap_or_default());
        Ok(())
    })
}

fn split(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(1)?;
    let pattern = call.constant_text(0)?;
    let regex = compiled(call.name, &pattern)?;
    let limit = call.optional_integers(2)?.map_or(0, |limits| limits.get(0));
    let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    call.make_text_lists(|row, list| {
        let text = texts.get(row);
        if pattern.is_empty() {
            text.chunks(1).take(limit).for_each(|byte| list.push(byte));
            return;
        }
        let mut from = 0;
        for found in regex.find_iter(text).filter(|found| !found.is_empty()) {
            if list.len() == limit {
                return;
            }
            list.push(text.get(from..found.start()).unwrap_or_default());
            from = found.end();
        }
        if list.len() < limit {
            list.push(text.get(from..).unwrap_or_default());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn classes_are_ascii() {
        assert_eq!(translated(r"\d+\w"), "[0-9]+[0-9A-Za-z_]");
        assert_eq!(translated(r"[\d[]"), r"[0-9\[]");
        assert_eq!(translated(r"[]a]"), r"[\]a]");
        assert_eq!(translated(r"[[:alpha:]x]"), "[[:alpha:]x]");
        assert_eq!(translated(r"\Qa.b\E."), r"a\.b.");
        assert_eq!(translated(r"[a&&b]"), r"[a\&\&b]");
    }
}
