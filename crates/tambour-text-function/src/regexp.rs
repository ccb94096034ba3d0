//! Functions of regular expressions: `match`, `extract`, `regexpPosition`, `replaceRegexpAll`, `splitByRegexp`.

use crate::expression::{Expression, compiled};
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, PrimitiveArray};
use regex::bytes::{Captures, Regex};
use std::sync::Arc;
use tambour_function::kit::{Call, Integers, array_of, list_array, rule, wrong};
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
        let (texts, mut expression) = (c.texts(0)?, constant(c, 1)?);
        expression.of_letters(texts.are_letters());
        let group = usize::from(expression.groups() > 1);
        c.make_texts(|row, out| {
            let text = texts.get(row);
            if expression.find(text, 0) {
                out.extend_from_slice(expression.text(text, group));
            }
        })
    }),
    Function::new("extractAll", rule!(Text ConstText => array_of(DataType::String)), |c| {
        let (texts, regex) = (c.texts(0)?, plain(c, 1)?);
        c.make_text_lists(|row, list| {
            let text = texts.get(row);
            let mut from = 0;
            while let Some(groups) = regex.captures_at(text, from) {
                let end = groups.get(0).map_or(0, |whole| whole.end());
                // ClickHouse ends with the first empty match.
                if groups.get(0).is_none_or(|whole| whole.is_empty()) {
                    break;
                }
                list.push(wanted(&groups));
                from = end;
            }
        })
    }),
    Function::new("extractGroups", rule!(Text ConstText => array_of(DataType::String)), |c| {
        let (texts, mut expression) = (c.texts(0)?, with_groups(c)?);
        c.make_text_lists(|row, list| {
            let text = texts.get(row);
            if expression.find(text, 0) {
                (1..expression.groups()).for_each(|group| list.push(expression.text(text, group)));
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
    Function::new(
        "regexpPosition",
        rule!(String ConstText [Integer Integer Integer ConstText Integer] => DataType::UInt64),
        position,
    )
    .aliases(&["regexpInstr"]),
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

fn constant(call: &Call, index: usize) -> Result<Expression, FunctionError> {
    Expression::new(call.name, &call.constant_text(index)?)
}

fn plain(call: &Call, index: usize) -> Result<Regex, FunctionError> {
    compiled(call.name, &call.constant_text(index)?)
}

/// Expressions of a column, each compiled when it is another than that of the row before.
struct Cache<T> {
    last: Option<(Vec<u8>, T)>,
    /// Every row has the same.
    is_constant: bool,
    compile: fn(&str, &[u8]) -> Result<T, FunctionError>,
}

impl<T> Cache<T> {
    fn get(&mut self, name: &str, pattern: &[u8]) -> Result<&mut T, FunctionError> {
        let is_same = |(known, _): &(Vec<u8>, T)| self.is_constant || known == pattern;
        let is_known = self.last.as_ref().is_some_and(is_same);
        if !is_known {
            self.last = Some((pattern.to_vec(), (self.compile)(name, pattern)?));
        }
        match &mut self.last {
            Some((_, compiled)) => Ok(compiled),
            None => Err(wrong(name, "there is no regular expression")),
        }
    }
}

fn matching(call: &Call, negated: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, patterns) = (call.texts(0)?, call.texts(1)?);
    let mut cache = Cache { last: None, is_constant: patterns.is_constant(), compile: compiled };
    let mut found = Vec::with_capacity(call.rows);
    let has_nulls = call.has_nulls();
    for row in 0..call.rows {
        let is_null = has_nulls && call.is_null(row);
        let is_match =
            !is_null && cache.get(call.name, patterns.get(row))?.is_match(texts.get(row));
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

fn with_groups(call: &Call) -> Result<Expression, FunctionError> {
    let expression = constant(call, 1)?;
    match expression.groups() {
        1 => Err(wrong(call.name, "the regular expression has no groups")),
        count if count > GROUPS_MAX => {
            Err(wrong(call.name, format!("there are more than {GROUPS_MAX} groups")))
        }
        _ => Ok(expression),
    }
}

/// One array per match, with its groups.
fn vertical(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (texts, expression) = (call.texts(0)?, with_groups(call)?);
    let (regex, groups) = (expression.regex(), expression.groups() - 1);
    let mut matches = Vec::with_capacity(call.rows);
    let flat = call.make_text_lists(|row, list| {
        let mut count = 0;
        for found in matches_in(regex, texts.get(row)) {
            found.iter().skip(1).for_each(|group| {
                list.push(group.map_or(&[][..], |group| group.as_bytes()));
            });
            count += 1;
        }
        matches.push(count);
    })?;
    regrouped(&flat, matches.iter().flat_map(|count| vec![groups; *count]).collect(), matches)
}

/// Matches one after the other, as long as there is text left: an empty one moves on by a byte.
fn matches_in<'a>(regex: &'a Regex, text: &'a [u8]) -> impl Iterator<Item = Captures<'a>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let found = (at < text.len()).then(|| regex.captures_at(text, at)).flatten()?;
        let whole = found.get(0)?;
        at = whole.start() + whole.len().max(1);
        Some(found)
    })
}

/// One array per group, with what it was in each match.
fn horizontal(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (texts, expression) = (call.texts(0)?, with_groups(call)?);
    let (regex, groups) = (expression.regex(), expression.groups() - 1);
    let mut inner = Vec::new();
    let flat = call.make_text_lists(|row, list| {
        let found: Vec<_> = matches_in(regex, texts.get(row)).collect();
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
    let (texts, mut expression) = (call.texts(0)?, constant(call, 1)?);
    let indexes = call.optional_integers(2)?;
    let count = expression.groups();
    call.try_texts(|row, out| {
        let index = indexes.as_ref().map_or(i128::from(count > 1), |indexes| indexes.get(row));
        let index = usize::try_from(index).ok().filter(|index| *index < count);
        let Some(index) = index else {
            return Err(call.value_error(row, format!("the groups are 0 to {}", count - 1)));
        };
        let text = texts.get(row);
        if expression.find(text, 0) {
            out.extend_from_slice(expression.text(text, index));
        }
        Ok(())
    })
}

/// A pattern with flags: `i` and `c` for the case of letters, `m` or `n` for lines, `s` for a dot that matches any letter.
fn flagged(call: &Call, index: usize) -> Result<Vec<u8>, FunctionError> {
    let flags = call.optional_texts(index)?.map(|flags| flags.get(0).to_vec());
    let (mut small, mut lines, mut any) = (false, false, false);
    for flag in flags.unwrap_or_default() {
        match flag {
            b'i' => small = true,
            b'c' => small = false,
            b'm' | b'n' => lines = true,
            b's' => any = true,
            _ => return Err(wrong(call.name, "the flags must be of i, c, m, n and s")),
        }
    }
    let mut pattern = if any { b"(?s)".to_vec() } else { b"(?-s)".to_vec() };
    for (_, flag) in [(small, b"(?i)"), (lines, b"(?m)")].into_iter().filter(|it| it.0) {
        pattern.extend_from_slice(flag);
    }
    pattern.extend(call.constant_text(1)?);
    Ok(pattern)
}

/// Where a match is, or a group of it, or what comes after: the first one from a place on, or a later one. 0 if there is none,
/// and if it is empty.
fn position(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    if call.constant_text(1)?.is_empty() {
        return Err(wrong(call.name, "it does not take an empty pattern"));
    }
    let mut expression = Expression::new(call.name, &flagged(call, 5)?)?;
    let (starts, counts) = (call.optional_integers(2)?, call.optional_integers(3)?);
    let (ends, groups) = (call.optional_integers(4)?, call.optional_integers(6)?);
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let number = |numbers: &Option<Integers>, otherwise| {
            let number = numbers.as_ref().map_or(otherwise, |numbers| numbers.get(row));
            usize::try_from(number).unwrap_or(usize::MAX)
        };
        let (start, count) = (number(&starts, 1), number(&counts, 1));
        let (end, group) = (number(&ends, 0), number(&groups, 0));
        let is_fine = (1..usize::MAX).contains(&start)
            && (1..usize::MAX).contains(&count)
            && end < 2
            && group < expression.groups();
        if call.is_null(row) {
            found.push(0);
            continue;
        }
        if !is_fine {
            let problem = "the place and the count must be 1 or more, and the group be there";
            return Err(call.value_error(row, problem));
        }
        found.push(place(&mut expression, texts.get(row), [start, count, end, group]));
    }
    call.make_numbers::<UInt64Type>(|row| found[row])
}

fn place(expression: &mut Expression, text: &[u8], [start, count, end, group]: [usize; 4]) -> u64 {
    let mut from = start - 1;
    for left in (0..count).rev() {
        if from > text.len() || !expression.find(text, from) {
            return 0;
        }
        match expression.group(0) {
            Some(whole) if !whole.is_empty() => from = whole.end,
            _ => return 0,
        }
        if left == 0 {
            break;
        }
    }
    let range = expression.group(group).filter(|range| !range.is_empty());
    range.map_or(0, |range| if end == 1 { range.end } else { range.start } as u64 + 1)
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
fn push_replacement(out: &mut Vec<u8>, replacement: &[u8], text: &[u8], found: &Expression) {
    let mut rest = replacement.iter();
    while let Some(byte) = rest.next() {
        match (byte, rest.as_slice().first()) {
            (b'\\', Some(digit @ b'0'..=b'9')) => {
                rest.next();
                out.extend_from_slice(found.text(text, usize::from(digit - b'0')));
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
    let is_constant = patterns.is_constant();
    let mut cache = Cache { last: None, is_constant, compile: Expression::new };
    let limit = if only_first { 1 } else { usize::MAX };
    let has_nulls = call.has_nulls();
    call.try_texts(|row, out| {
        if has_nulls && call.is_null(row) {
            return Ok(());
        }
        let (text, other) = (texts.get(row), others.get(row));
        let expression = cache.get(call.name, patterns.get(row))?;
        expression.of_letters(texts.are_letters());
        let mut from = 0;
        // An empty expression replaces nothing.
        let mut left = if patterns.get(row).is_empty() { 0 } else { limit };
        while left > 0 && from <= text.len() && expression.find(text, from) {
            let Some(whole) = expression.group(0) else { break };
            out.extend_from_slice(text.get(from..whole.start).unwrap_or_default());
            push_replacement(out, other, text, expression);
            call.check_size(row, out.len())?;
            from = whole.end;
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
