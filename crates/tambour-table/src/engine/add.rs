//! `SummingMergeTree` and `AggregatingMergeTree`: one row of each key stays, whose values are computed from those of all.

use super::rule::{Rule, zeros};
use crate::TableError;
use crate::intake::Dictionaries;
use crate::key::{Key, Keys, OwnedKey};
use crate::schema::expression::Expression;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::{DataType as Arrow, SchemaRef};
use arrow_select::concat::concat;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;
use std::sync::Arc;
use tambour_part::types::Column;

/// The state between batches.
#[derive(Debug)]
pub(super) struct Adding {
    /// What happens to each column; others have the value of the first row.
    computed: Vec<Option<Computed>>,
    /// True if a row goes whose computed values are all zero.
    drops_zeros: bool,
    /// Names of an Enum are numbered by their places in the dictionary: there must be one.
    dictionaries: Dictionaries,
    /// The key of the last row and what its rows have come to so far.
    held: Option<(OwnedKey, RecordBatch)>,
}

/// How the values of a column are computed.
#[derive(Debug)]
struct Computed {
    rule: Rule,
    column: Column,
    /// The order of its values, if that counts.
    order: Option<Key>,
}

impl Adding {
    pub(super) fn new(
        rules: &[(String, Rule)],
        (columns, schema): (&[Column], &SchemaRef),
        drops_zeros: bool,
    ) -> Result<Self, TableError> {
        let computed = columns.iter().map(|column| {
            let Some((_, rule)) = rules.iter().find(|(name, _)| *name == column.name) else {
                return Ok(None);
            };
            let order = match rule {
                Rule::Least | Rule::Greatest => {
                    Some(Key::new(&[Expression::Column(column.name.clone())], columns, schema)?)
                }
                _ => None,
            };
            Ok(Some(Computed { rule: *rule, column: column.clone(), order }))
        });
        let computed: Vec<_> = computed.collect::<Result<_, TableError>>()?;
        // A row without numbers is not one of zeros.
        let drops_zeros = drops_zeros && computed.iter().any(Option::is_some);
        let dictionaries = Dictionaries::default();
        Ok(Self { computed, drops_zeros, dictionaries, held: None })
    }

    pub(super) fn push(
        &mut self,
        batch: &RecordBatch,
        keys: &Keys,
    ) -> Result<Vec<RecordBatch>, TableError> {
        let batch = self.dictionaries.unify(batch.clone())?;
        let (count, mut from, mut ready) = (batch.num_rows(), 0, Vec::new());
        if let Some((key, row)) = self.held.take() {
            let same = (0..count).take_while(|row| keys.compare_owned(*row, &key).is_eq()).count();
            let row = if same > 0 { self.extended(&row, &batch.slice(0, same))? } else { row };
            if same == count {
                self.held = Some((key, row));
                return Ok(ready);
            }
            ready.push(self.closed(row)?);
            from = same;
        }
        let is_first = |row: &usize| *row == from || !keys.are_equal(row - 1, *row);
        let mut starts: Vec<usize> = (from..count).filter(is_first).map(|row| row - from).collect();
        let rest = batch.slice(from, count - from);
        let last = starts.pop().unwrap_or(0);
        if !starts.is_empty() {
            ready.push(self.closed(self.folded(&rest.slice(0, last), &starts)?)?);
        }
        let row = self.folded(&rest.slice(last, rest.num_rows() - last), &[0])?;
        self.held = Some((keys.owned(count - 1), row));
        Ok(ready)
    }

    pub(super) fn finish(&mut self) -> Result<Vec<RecordBatch>, TableError> {
        match self.held.take() {
            Some((_, row)) => Ok(vec![self.closed(row)?]),
            None => Ok(Vec::new()),
        }
    }

    /// One row of each group of rows, which begin at `starts`.
    fn folded(&self, batch: &RecordBatch, starts: &[usize]) -> Result<RecordBatch, TableError> {
        let firsts = places(starts.iter().copied());
        let columns =
            batch.columns().iter().zip(&self.computed).map(|(values, computed)| match computed {
                Some(computed) => computed.of_groups(values, starts),
                None if starts.len() == values.len() => Ok(Arc::clone(values)),
                None => taken(values, &firsts),
            });
        made(batch, columns.collect::<Result<_, _>>()?)
    }

    /// The row that came of some rows, with further ones of the same key.
    fn extended(&self, row: &RecordBatch, more: &RecordBatch) -> Result<RecordBatch, TableError> {
        let columns = row.columns().iter().zip(more.columns()).zip(&self.computed);
        let columns = columns.map(|((before, after), computed)| match computed {
            Some(computed) => {
                let all = concat(&[before.as_ref(), after.as_ref()]);
                computed.of_groups(&all.map_err(TableError::arrow("adding up rows"))?, &[0])
            }
            None => Ok(Arc::clone(before)),
        });
        made(row, columns.collect::<Result<_, _>>()?)
    }

    /// Rows to which nothing is added any more.
    fn closed(&self, rows: RecordBatch) -> Result<RecordBatch, TableError> {
        if !self.drops_zeros {
            return Ok(rows);
        }
        let mut kept = vec![false; rows.num_rows()];
        for (values, computed) in rows.columns().iter().zip(&self.computed) {
            let Some(computed) = computed else { continue };
            let zeros = zeros(values, &computed.column.data_type);
            kept.iter_mut().zip(zeros).for_each(|(kept, zero)| *kept |= !zero);
        }
        filter_record_batch(&rows, &BooleanArray::from(kept))
            .map_err(TableError::arrow("leaving out rows"))
    }
}

impl Computed {
    fn of_groups(&self, values: &ArrayRef, starts: &[usize]) -> Result<ArrayRef, TableError> {
        if self.rule.is_arithmetic() {
            return self.rule.computed(values, &self.column.data_type, starts);
        }
        let order = match &self.order {
            Some(order) => {
                let rows = [(self.column.name.as_str(), Arc::clone(values))];
                let rows = RecordBatch::try_from_iter_with_nullable(
                    rows.map(|(name, values)| (name, values, true)),
                );
                order.evaluate(&rows.map_err(TableError::arrow("comparing values"))?)?
            }
            None => Keys::None(values.len()),
        };
        let ends = starts.iter().skip(1).copied().chain([values.len()]);
        let chosen = starts.iter().zip(ends).map(|(start, end)| {
            let is_there = |row: &usize| self.rule.takes_null() || is_value(values, *row);
            let mut rows = (*start..end).filter(is_there);
            let chosen = match self.rule {
                Rule::Last | Rule::LastRow => rows.next_back(),
                Rule::Least => rows.min_by(|a, b| order.compare(*a, &order, *b)),
                // The first of equal ones, as for the least.
                Rule::Greatest => {
                    let mut rows = rows;
                    let first = rows.next();
                    first.map(|first| {
                        rows.fold(first, |best, row| {
                            if order.compare(row, &order, best).is_gt() { row } else { best }
                        })
                    })
                }
                _ => rows.next(),
            };
            chosen.unwrap_or(*start)
        });
        taken(values, &places(chosen))
    }
}

/// True of what is neither NULL nor NaN.
fn is_value(values: &ArrayRef, row: usize) -> bool {
    !values.is_null(row)
        && match values.data_type() {
            Arrow::Float32 => !values.as_primitive::<Float32Type>().value(row).is_nan(),
            Arrow::Float64 => !values.as_primitive::<Float64Type>().value(row).is_nan(),
            _ => true,
        }
}

fn places(rows: impl Iterator<Item = usize>) -> UInt32Array {
    #[expect(clippy::cast_possible_truncation, reason = "a batch has fewer rows")]
    UInt32Array::from_iter_values(rows.map(|row| row as u32))
}

fn taken(values: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef, TableError> {
    take(values, rows, None).map_err(TableError::arrow("choosing rows"))
}

fn made(like: &RecordBatch, columns: Vec<ArrayRef>) -> Result<RecordBatch, TableError> {
    RecordBatch::try_new(like.schema(), columns).map_err(TableError::arrow("adding up rows"))
}
