//! A predicate over an inverted index: which tokens a row must have to match, and the granules that have such rows.

use super::file::TextFile;
use super::rows::Rows;
use super::token::Stand;
use crate::IndexError;
use crate::filter::bytes_of;
use crate::kind::{Index, element};
use crate::probe::{Probe, place_of};
use std::collections::BTreeMap;
use std::ops::Range;
use tambour_part::Part;
use tambour_table::predicate::{Comparison, Constant, Predicate};
use tambour_table::prune::constants;
use tambour_table::schema::expression::Expression;

/// Most tokens that are asked for: a longer list of values is not worth it.
const TOKENS_MAX: usize = 4096;
/// Most bits that the rows of all tokens take at once, and fewest rows that are looked at.
const ROW_BITS_MAX: u64 = 512 << 20;
const ROWS_MIN: u64 = 65_536;

/// What an inverted index is asked.
#[derive(Debug)]
pub(crate) struct Asked {
    probe: Probe<Vec<u8>>,
    /// All tokens in it, ascending.
    tokens: Vec<Vec<u8>>,
}

impl Asked {
    /// `None` if the index says nothing about the predicate.
    pub(crate) fn of(predicate: &Predicate, index: &Index) -> Option<Self> {
        let probe = Probe::of(predicate, &|leaf| of_leaf(leaf, index).unwrap_or(Probe::Maybe));
        let mut tokens = Vec::new();
        probe.each(&mut |token: &Vec<u8>| tokens.push(token.clone()));
        tokens.sort_unstable();
        tokens.dedup();
        (!probe.is_idle() && tokens.len() <= TOKENS_MAX).then_some(Self { probe, tokens })
    }

    /// Of ascending granules of a part those that may have rows that match.
    pub(crate) fn may_match(
        &self,
        file: &mut TextFile,
        part: &Part,
        granules: &[usize],
    ) -> Result<Vec<bool>, IndexError> {
        let mut start = 0;
        let ranges = part.granules().iter().map(|rows| {
            start += rows;
            start - rows..start
        });
        let ranges: Vec<Range<u64>> = ranges.collect();
        let ranges: Vec<&Range<u64>> = granules.iter().filter_map(|it| ranges.get(*it)).collect();
        // Many tokens are asked for in few rows at a time.
        let most = (ROW_BITS_MAX / (self.tokens.len() as u64 + 1)).max(ROWS_MIN);
        let mut may_match = Vec::with_capacity(granules.len());
        let mut rest = ranges.as_slice();
        while let Some(first) = rest.first() {
            let count = rest.partition_point(|range| range.end - first.start <= most).max(1);
            let (own, others) = rest.split_at(count);
            let range = first.start..own.last().map_or(first.end, |last| last.end);
            let rows = self.rows(file, &range)?;
            may_match
                .extend(own.iter().map(|it| rows.as_ref().is_none_or(|rows| rows.has_any(it))));
            rest = others;
        }
        Ok(may_match)
    }

    /// The rows in a range that may match; `None` if that is all of them.
    fn rows(&self, file: &mut TextFile, range: &Range<u64>) -> Result<Option<Rows>, IndexError> {
        let mut found = BTreeMap::new();
        file.find(&self.tokens, range, &mut |token, rows| {
            // Nothing is kept of tokens that are nowhere.
            if !rows.is_empty() {
                found.insert(self.tokens[token].as_slice(), rows.clone());
            }
        })?;
        Ok(rows(&self.probe, range, &found))
    }
}

/// The rows that may match; `None` if that is all of them.
fn rows(probe: &Probe<Vec<u8>>, range: &Range<u64>, found: &BTreeMap<&[u8], Rows>) -> Option<Rows> {
    match probe {
        Probe::Maybe => None,
        Probe::All(parts) => {
            let mut parts = parts.iter().filter_map(|part| rows(part, range, found));
            let mut all = parts.next()?;
            parts.for_each(|part| all.both(&part));
            Some(all)
        }
        Probe::Any(parts) => {
            let mut any = Rows::none(range.clone());
            for part in parts {
                any.either(&rows(part, range, found)?);
            }
            Some(any)
        }
        Probe::Has { any: values, .. } => {
            let mut any = Rows::none(range.clone());
            for tokens in values {
                let lists: Option<Vec<_>> =
                    tokens.iter().map(|token| found.get(token.as_slice())).collect();
                let Some((first, others)) = lists.as_deref().and_then(<[_]>::split_first) else {
                    continue;
                };
                let mut all = Rows::clone(first);
                for other in others {
                    all.both(other);
                }
                any.either(&all);
            }
            Some(any)
        }
    }
}

/// `None` if nothing is known.
fn of_leaf(predicate: &Predicate, index: &Index) -> Option<Probe<Vec<u8>>> {
    match predicate {
        Predicate::Compare(expression, Comparison::Equal, constant) => {
            one_of(index, expression, std::slice::from_ref(constant), false)
        }
        Predicate::In(expression, constants, false) => one_of(index, expression, constants, false),
        Predicate::Has(expression, constant) => {
            one_of(index, expression, std::slice::from_ref(constant), true)
        }
        Predicate::StartsWith(expression, prefix) => sure(index, expression, prefix, Stand::Start),
        Predicate::Contains(expression, bytes, within) => {
            sure(index, expression, bytes, Stand::In(*within))
        }
        _ => None,
    }
}

fn sure(
    index: &Index,
    expression: &Expression,
    bytes: &[u8],
    stand: Stand,
) -> Option<Probe<Vec<u8>>> {
    let column = place_of(index, expression, false)?;
    let tokens = tokens_of(index, bytes, stand)?;
    Some(Probe::Has { column, any: vec![tokens] })
}

fn tokens_of(index: &Index, bytes: &[u8], stand: Stand) -> Option<Vec<Vec<u8>>> {
    let shape = index.text.as_ref()?;
    let bytes = shape.folded(bytes);
    let tokens = shape.tokenizer.sure(&bytes, stand)?;
    Some(tokens.into_iter().map(<[u8]>::to_vec).collect())
}

/// A column is one of these constants, or has one of them if it is of arrays.
fn one_of(
    index: &Index,
    expression: &Expression,
    wanted: &[Constant],
    in_array: bool,
) -> Option<Probe<Vec<u8>>> {
    let column = place_of(index, expression, in_array)?;
    let data_type = element(&index.columns[column].data_type);
    let mut any = Vec::new();
    for constant in wanted.iter().filter(|it| **it != Constant::Null) {
        let values = constants(&[constant], data_type)?;
        for row in 0..values.len() {
            let bytes = bytes_of(&values, row, data_type).ok()?;
            any.push(tokens_of(index, &bytes, Stand::Whole)?);
        }
    }
    Some(Probe::Has { column, any })
}
