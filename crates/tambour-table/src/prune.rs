//! Pruning: which parts and granules may hold a row that a predicate is true for.
//!
//! What is known of a part (its partition values, the extremes of the columns they come from) and of a granule (the primary
//! index entries on both sides of it) are ranges of *keys*: expressions with their types. A predicate is compiled once into a
//! [`Test`] over such ranges: every condition becomes a set of spans that the matching values lie in, and a range may match if
//! it meets one of them. A condition can use a key in three ways:
//!
//! - the key is the expression of the condition;
//! - the key is a function of the column in the condition: `t >= x` gives `toYYYYMM(t) >= toYYYYMM(x)`;
//! - the condition is about a monotonic function of the key: `toYYYYMM(t) = 202402` with the key `t`; then the ends of the
//!   range go through the function (a *view* of the key).
//!
//! Keys of a granule are compared as tuples, so a granule is not one box of ranges but a few: [`Encoded::granule`].
//! Pruning wrongly loses rows without a word. So what is not understood always "may match", and time zones, in which
//! local time sometimes goes backward, are given two days of slack.

mod encoded;
mod monotonic;
mod sieve;

pub(super) use encoded::Encoded;
pub use sieve::{Sieve, constants, ranks};

use self::monotonic::{column_name, evaluate, follows, has_zone, slack, within};
use super::ordinal::{Order, Ordinal, bare, constant_array, moved, order};
use super::predicate::{Comparison, Constant, Predicate};
use super::span::{Condition, Ends, Span, meets, points, spans};
use crate::TableError;
use crate::schema::expression::Expression;
use arrow_array::ArrayRef;
use arrow_row::Rows;
use std::ops::Bound;
use tambour_part::types::{Column, DataType};

/// A key: an expression whose range is known.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) expression: Expression,
    pub(super) data_type: DataType,
    pub(super) ends: Ends,
}

/// One end of a key's range: entries are rows of the arrays that [`Pruner::encode`] was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Unknown.
    Open,
    /// This entry's value, included.
    At(usize),
    /// This entry's value, excluded.
    Past(usize),
}

/// A predicate over ranges of keys.
#[derive(Debug)]
enum Test {
    /// Anything may match.
    Maybe,
    /// Every one must be possible.
    All(Vec<Test>),
    /// One must be possible.
    Any(Vec<Test>),
    /// The range of a view must meet a span; spans ascend and do not overlap.
    Meets { view: usize, spans: Vec<Span> },
}

/// A key, or a monotonic function of one.
#[derive(Debug)]
struct View {
    key: usize,
    function: Option<Expression>,
    /// Seconds by which the key may be off against the function's own order.
    slack: i64,
    ordinal: Ordinal,
}

/// A predicate compiled for a set of keys.
#[derive(Debug)]
pub(super) struct Pruner {
    columns: Vec<Column>,
    keys: Vec<Key>,
    views: Vec<View>,
    test: Test,
    /// Keys that the test looks at: a prefix of this length.
    used: usize,
}

impl Pruner {
    /// Compiles a predicate on a table with these columns.
    pub(super) fn new(
        predicate: &Predicate,
        columns: &[Column],
        keys: Vec<Key>,
    ) -> Result<Self, TableError> {
        let columns = columns.to_vec();
        let mut pruner = Self { columns, keys, views: Vec::new(), test: Test::Maybe, used: 0 };
        pruner.test = pruner.compile(predicate)?;
        pruner.used = pruner.views.iter().map(|view| view.key + 1).max().unwrap_or(0);
        // Tuples are compared key by key: those before the last used one are needed too.
        for key in 0..pruner.used {
            if pruner.base_view(key).is_none() && pruner.add_view(key, None, 0)?.is_none() {
                // A key that cannot be ordered ends the usable prefix.
                pruner.test = Test::Maybe;
                pruner.used = 0;
                break;
            }
        }
        Ok(pruner)
    }
    /// True if nothing will be pruned.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.test, Test::Maybe)
    }
    /// Encodes the entries of the keys (of the used ones at least), one array per key.
    pub(super) fn encode(&self, entries: &[ArrayRef]) -> Result<Encoded<'_>, TableError> {
        let mut rows = Vec::with_capacity(self.views.len());
        for view in &self.views {
            let Some(values) = entries.get(view.key) else {
                return Err(TableError::Definition {
                    clause: "primary key".to_owned(),
                    problem: format!("{} of {} keys given", entries.len(), self.used),
                });
            };
            rows.push(self.encode_view(view, values)?);
        }
        Ok(Encoded { pruner: self, rows })
    }

    fn encode_view(
        &self,
        view: &View,
        values: &ArrayRef,
    ) -> Result<(Rows, Option<Rows>), TableError> {
        let Some(function) = &view.function else {
            return Ok((view.ordinal.rows(values)?, None));
        };
        let key = &self.keys[view.key];
        let apply = |seconds| {
            let argument = moved(values, &key.data_type, seconds);
            let result = evaluate(function, &key.expression, &argument, &key.data_type)?;
            view.ordinal.rows(&result)
        };
        let low = apply(-view.slack)?;
        let high = if view.slack == 0 { None } else { Some(apply(view.slack)?) };
        Ok((low, high))
    }

    fn base_view(&self, key: usize) -> Option<usize> {
        self.views.iter().position(|view| view.key == key && view.function.is_none())
    }

    /// The index of a view, which is added if it is new; `None` if its values cannot be ordered.
    fn add_view(
        &mut self,
        key: usize,
        function: Option<(&Expression, &DataType)>,
        slack: i64,
    ) -> Result<Option<usize>, TableError> {
        let known = self
            .views
            .iter()
            .position(|view| view.key == key && view.function.as_ref() == function.map(|it| it.0));
        if known.is_some() {
            return Ok(known);
        }
        let data_type = function.map_or(&self.keys[key].data_type, |it| it.1);
        let Some(ordinal) = Ordinal::new(data_type)? else { return Ok(None) };
        let function = function.map(|it| it.0.clone());
        self.views.push(View { key, function, slack, ordinal });
        Ok(Some(self.views.len() - 1))
    }

    fn compile(&mut self, predicate: &Predicate) -> Result<Test, TableError> {
        match predicate {
            Predicate::Unknown | Predicate::Has(..) | Predicate::Contains(..) => Ok(Test::Maybe),
            Predicate::And(parts) => {
                let parts: Result<Vec<_>, _> = parts.iter().map(|it| self.compile(it)).collect();
                Ok(Test::all(parts?))
            }
            Predicate::Or(parts) => {
                let parts: Result<Vec<_>, _> = parts.iter().map(|it| self.compile(it)).collect();
                Ok(Test::any(parts?))
            }
            Predicate::Compare(expression, comparison, constant) => {
                self.condition(expression, Condition::Compare(*comparison, constant))
            }
            Predicate::In(expression, constants, not) => {
                self.condition(expression, Condition::In(constants, *not))
            }
            Predicate::IsNull(expression, not) => {
                self.condition(expression, Condition::IsNull(*not))
            }
            Predicate::StartsWith(expression, bytes) => {
                self.condition(expression, Condition::StartsWith(bytes))
            }
        }
    }

    fn condition(
        &mut self,
        expression: &Expression,
        condition: Condition<'_>,
    ) -> Result<Test, TableError> {
        let mut tests = Vec::new();
        for index in 0..self.keys.len() {
            let key = self.keys[index].clone();
            let found = if key.expression == *expression && self.is_certain(&key.expression) {
                self.direct(index, condition)?
            } else if let Some(column) = column_name(expression)
                && key.expression.columns() == [column]
            {
                self.image(index, column, condition)?
            } else if let Some(column) = column_name(&key.expression)
                && expression.columns() == [column]
            {
                self.derived(index, expression, condition)?
            } else {
                None
            };
            tests.extend(found.map(|(view, spans)| Test::Meets { view, spans }));
        }
        Ok(Test::all(tests))
    }

    /// False for functions of local time where the zone is the server's: what the part was made with is not known then.
    fn is_certain(&self, expression: &Expression) -> bool {
        column_name(expression).is_some()
            || expression.columns().iter().all(|name| {
                let found = self.columns.iter().find(|it| it.name == *name);
                found.is_none_or(|it| has_zone(&it.data_type))
            })
    }

    /// The condition is about the key itself.
    fn direct(
        &mut self,
        index: usize,
        condition: Condition<'_>,
    ) -> Result<Option<(usize, Vec<Span>)>, TableError> {
        let key = &self.keys[index];
        let (data_type, ends) = (key.data_type.clone(), key.ends);
        let Some(view) = self.add_view(index, None, 0)? else { return Ok(None) };
        let spans = spans(&self.views[view].ordinal, &data_type, ends, condition)?;
        Ok(spans.map(|spans| (view, spans)))
    }

    /// The condition is about a column that the key is a function of.
    fn image(
        &mut self,
        index: usize,
        column: &str,
        condition: Condition<'_>,
    ) -> Result<Option<(usize, Vec<Span>)>, TableError> {
        let key = self.keys[index].clone();
        let Some(argument) = self.columns.iter().find(|it| it.name == column) else {
            return Ok(None);
        };
        let argument = argument.data_type.clone();
        if matches!(order(&argument), Order::Float | Order::None) {
            // The two zeros are equal and may still have different images.
            return Ok(None);
        }
        let is_monotonic = follows(&key.expression, &argument, &key.data_type);
        let slack = slack(&key.expression, &argument);
        let (constants, wide): (&[Constant], bool) = match condition {
            Condition::Compare(_, Constant::Null) => (&[], false),
            Condition::Compare(Comparison::Equal, constant) => {
                (std::slice::from_ref(constant), false)
            }
            Condition::Compare(Comparison::NotEqual, _)
            | Condition::IsNull(_)
            | Condition::StartsWith(_)
            | Condition::In(_, true) => return Ok(None),
            Condition::Compare(_, constant) if is_monotonic => {
                (std::slice::from_ref(constant), true)
            }
            Condition::Compare(..) => return Ok(None),
            Condition::In(constants, false) => (constants, false),
        };
        let constants: Vec<&Constant> =
            constants.iter().filter(|it| **it != Constant::Null).collect();
        let Some(values) = constant_array(&constants, &argument) else { return Ok(None) };
        let Some(values) = within(values, &argument, wide) else { return Ok(None) };
        if !wide && !has_zone(&argument) {
            return Ok(None);
        }
        let Some(view) = self.add_view(index, None, 0)? else { return Ok(None) };
        let ordinal = &self.views[view].ordinal;
        let column = Expression::Column(column.to_owned());
        let apply = |seconds: i64| -> Option<Rows> {
            let values = moved(&values, &argument, seconds);
            let result = evaluate(&key.expression, &column, &values, bare(&argument)).ok()?;
            ordinal.rows(&result).ok()
        };
        if !wide {
            return Ok(apply(0).map(|rows| (view, points(&rows))));
        }
        let span = match condition {
            Condition::Compare(Comparison::Less | Comparison::LessOrEqual, _) => apply(slack)
                .map(|rows| (Bound::Unbounded, Bound::Included(rows.row(0).data().into()))),
            _ => apply(-slack)
                .map(|rows| (Bound::Included(rows.row(0).data().into()), Bound::Unbounded)),
        };
        Ok(span.map(|span| (view, vec![span])))
    }

    /// The condition is about a function of the key.
    fn derived(
        &mut self,
        index: usize,
        expression: &Expression,
        condition: Condition<'_>,
    ) -> Result<Option<(usize, Vec<Span>)>, TableError> {
        let key = self.keys[index].clone();
        let Some(name) = column_name(&key.expression) else { return Ok(None) };
        let column = Column { name: name.to_owned(), data_type: key.data_type.clone() };
        // An expression that does not fit the column is the SQL engine's to report.
        let Ok(data_type) = expression.data_type(std::slice::from_ref(&column)) else {
            return Ok(None);
        };
        if matches!(condition, Condition::IsNull(_))
            || !follows(expression, &key.data_type, &data_type)
        {
            return Ok(None);
        }
        let slack = slack(expression, &key.data_type);
        let Some(view) = self.add_view(index, Some((expression, &data_type)), slack)? else {
            return Ok(None);
        };
        let spans = spans(&self.views[view].ordinal, &data_type, key.ends, condition)?;
        Ok(spans.map(|spans| (view, spans)))
    }
}

impl Test {
    fn all(parts: Vec<Self>) -> Self {
        let mut parts: Vec<Self> =
            parts.into_iter().filter(|it| !matches!(it, Self::Maybe)).collect();
        match parts.len() {
            0 => Self::Maybe,
            1 => parts.swap_remove(0),
            _ => Self::All(parts),
        }
    }
    fn any(parts: Vec<Self>) -> Self {
        if parts.iter().any(|it| matches!(it, Self::Maybe)) {
            Self::Maybe
        } else {
            Self::Any(parts)
        }
    }
    fn may_match(&self, encoded: &Encoded<'_>, ends: &[(End, End)]) -> bool {
        match self {
            Self::Maybe => true,
            Self::All(parts) => parts.iter().all(|it| it.may_match(encoded, ends)),
            Self::Any(parts) => parts.iter().any(|it| it.may_match(encoded, ends)),
            Self::Meets { view, spans } => {
                let (low, high) = encoded.range(*view, ends);
                meets(spans, low, high)
            }
        }
    }
}

#[cfg(test)]
mod tests;
