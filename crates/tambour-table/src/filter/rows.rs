//! Which rows match a filter.

use super::bound::{Bound, Places};
use super::{Filter, Literal};
use crate::TableError;
use crate::ordinal::{Order, Ordinal, bare, order};
use crate::predicate::{Comparison, Constant, Predicate};
use crate::schema::expression::Expression;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::filter_record_batch;
use std::ops::Not;
use std::sync::Arc;
use tambour_part::types::{Column, DataType, Strings};

/// A filter over columns of a table; made by [`Filter::bind`].
#[derive(Debug)]
pub struct RowFilter {
    root: Node,
    columns: Vec<String>,
    predicate: Predicate,
}

#[derive(Debug)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    /// Neither true nor false for any row.
    Null,
    IsNull(String),
    Leaf(Leaf),
}

/// Comparisons of one column, of which one has to be true.
#[derive(Debug)]
struct Leaf {
    column: String,
    ordinal: Arc<Ordinal>,
    comparison: Comparison,
    bounds: Vec<Bound>,
    /// The row of NaN, which compares with nothing.
    nan: Option<Box<[u8]>>,
}

/// What is known of rows: true, false, or (neither) NULL.
struct Verdict {
    yes: BooleanBuffer,
    no: BooleanBuffer,
}

impl RowFilter {
    pub(super) fn new(filter: &Filter, columns: &[Column]) -> Result<Self, TableError> {
        let (root, predicate) = bind(filter, columns, false)?;
        let mut names = Vec::new();
        root.columns(&mut names);
        names.sort_unstable();
        names.dedup();
        Ok(Self { root, columns: names, predicate })
    }

    /// Names of the columns that [`RowFilter::matches`] needs, each once.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// What a scan can prune by: true for every row that matches, and perhaps for others.
    pub fn predicate(&self) -> &Predicate {
        &self.predicate
    }

    /// For every row whether it matches; no value is NULL.
    pub fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray, TableError> {
        Ok(BooleanArray::new(self.root.verdict(batch)?.yes, None))
    }

    /// The rows that match.
    pub fn filter(&self, batch: &RecordBatch) -> Result<RecordBatch, TableError> {
        filter_record_batch(batch, &self.matches(batch)?).map_err(TableError::arrow("filter rows"))
    }
}

/// A filter and its predicate; that of the opposite if `negated`, since the opposite of a weak predicate is too strong.
fn bind(
    filter: &Filter,
    columns: &[Column],
    negated: bool,
) -> Result<(Node, Predicate), TableError> {
    Ok(match filter {
        Filter::All(parts) | Filter::Any(parts) => {
            let bound = parts.iter().map(|part| bind(part, columns, negated));
            let bound = bound.collect::<Result<Vec<_>, _>>()?;
            let (nodes, predicates): (Vec<_>, Vec<_>) = bound.into_iter().unzip();
            let is_all = matches!(filter, Filter::All(_));
            let node = if is_all { Node::All(nodes) } else { Node::Any(nodes) };
            let predicate = if is_all == negated {
                Predicate::any(predicates)
            } else {
                Predicate::all(predicates)
            };
            (node, predicate)
        }
        Filter::Not(inner) => {
            let (node, predicate) = bind(inner, columns, !negated)?;
            (Node::Not(Box::new(node)), predicate)
        }
        Filter::IsNull(name) => {
            column_named(columns, name)?;
            let predicate = Predicate::IsNull(Expression::Column(name.clone()), negated);
            (Node::IsNull(name.clone()), predicate)
        }
        Filter::IsTrue(name) => {
            let column = column_named(columns, name)?;
            if *bare(&column.data_type) != DataType::Bool {
                let reason = format!("it is {}; compare it with something", column.data_type);
                return Err(TableError::Refused {
                    clause: format!("`{name}` as a condition"),
                    reason,
                });
            }
            compared(column, Comparison::Equal, &[Literal::Bool(true)], negated)?
        }
        Filter::Compare(name, comparison, literal) => {
            let literals = std::slice::from_ref(literal);
            compared(column_named(columns, name)?, *comparison, literals, negated)?
        }
        Filter::In(name, literals) => {
            let column = column_named(columns, name)?;
            // A NULL in a list is equal to nothing.
            let literals: Vec<Literal> =
                literals.iter().filter(|literal| **literal != Literal::Null).cloned().collect();
            let (leaf, is_float) = leaf(column, Comparison::Equal, &literals)?;
            let predicate = listed(&leaf, is_float, negated);
            (Node::Leaf(leaf), predicate)
        }
    })
}

fn column_named<'a>(columns: &'a [Column], name: &str) -> Result<&'a Column, TableError> {
    columns.iter().find(|column| column.name == name).ok_or_else(|| TableError::UnknownColumn {
        clause: "filter".to_owned(),
        name: name.to_owned(),
    })
}

/// A comparison with one literal.
fn compared(
    column: &Column,
    comparison: Comparison,
    literals: &[Literal],
    negated: bool,
) -> Result<(Node, Predicate), TableError> {
    let (leaf, is_float) = leaf(column, comparison, literals)?;
    let Some(bound) = leaf.bounds.first() else {
        // Compared with NULL.
        return Ok((Node::Null, Predicate::Or(Vec::new())));
    };
    let comparison = if negated { comparison.negated() } else { comparison };
    // NaN is not less than 5 and not greater: what it does is not said by the opposite comparison.
    let is_certain = !is_float || !negated && comparison != Comparison::NotEqual;
    let predicate = match (bound.simplified(comparison), bound.constant()) {
        _ if !is_certain || negated && bound.is_apart() => Predicate::Unknown,
        (Ok(comparison), Some(constant)) => {
            let expression = Expression::Column(column.name.clone());
            Predicate::Compare(expression, comparison, constant.clone())
        }
        (Err(false), _) => Predicate::Or(Vec::new()),
        _ => Predicate::Unknown,
    };
    Ok((Node::Leaf(leaf), predicate))
}

fn leaf(
    column: &Column,
    comparison: Comparison,
    literals: &[Literal],
) -> Result<(Leaf, bool), TableError> {
    let data_type = &column.data_type;
    let ordinal = Ordinal::new(data_type)?.ok_or_else(|| TableError::Refused {
        clause: format!("comparing `{}`", column.name),
        reason: format!("values of {data_type} are not compared with literals"),
    })?;
    let is_float = order(data_type) == Order::Float;
    let nan = if is_float { Some(nan_row(&ordinal, data_type)?) } else { None };
    let places = Places { column: &column.name, data_type, ordinal: &ordinal };
    let mut bounds = Vec::with_capacity(literals.len());
    for literal in literals {
        bounds.extend(places.bound(literal)?);
    }
    let ordinal = Arc::new(ordinal);
    Ok((Leaf { column: column.name.clone(), ordinal, comparison, bounds, nan }, is_float))
}

fn nan_row(ordinal: &Ordinal, data_type: &DataType) -> Result<Box<[u8]>, TableError> {
    let nan: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN]));
    let nan = tambour_function::cast(&nan, &bare(data_type).arrow(Strings::Binary))?;
    Ok(ordinal.rows(&nan)?.row(0).data().into())
}

/// The predicate of a list.
fn listed(leaf: &Leaf, is_float: bool, negated: bool) -> Predicate {
    let values = leaf.bounds.iter().filter(|bound| bound.is_value());
    let constants: Option<Vec<Constant>> = values.map(|bound| bound.constant().cloned()).collect();
    match constants {
        _ if is_float && negated => Predicate::Unknown,
        Some(constants) if constants.is_empty() && negated => Predicate::Unknown,
        Some(constants) if constants.is_empty() => Predicate::Or(Vec::new()),
        Some(constants) => {
            Predicate::In(Expression::Column(leaf.column.clone()), constants, negated)
        }
        None => Predicate::Unknown,
    }
}

impl Node {
    fn columns(&self, names: &mut Vec<String>) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|it| it.columns(names)),
            Self::Not(inner) => inner.columns(names),
            Self::Null => {}
            Self::IsNull(name) => names.push(name.clone()),
            Self::Leaf(leaf) => names.push(leaf.column.clone()),
        }
    }

    fn verdict(&self, batch: &RecordBatch) -> Result<Verdict, TableError> {
        let rows = batch.num_rows();
        match self {
            Self::All(parts) => parts.iter().try_fold(Verdict::all(true, rows), |left, part| {
                let right = part.verdict(batch)?;
                Ok(Verdict { yes: &left.yes & &right.yes, no: &left.no | &right.no })
            }),
            Self::Any(parts) => parts.iter().try_fold(Verdict::all(false, rows), |left, part| {
                let right = part.verdict(batch)?;
                Ok(Verdict { yes: &left.yes | &right.yes, no: &left.no & &right.no })
            }),
            Self::Not(inner) => {
                let Verdict { yes, no } = inner.verdict(batch)?;
                Ok(Verdict { yes: no, no: yes })
            }
            Self::Null => {
                let none = BooleanBuffer::new_unset(rows);
                Ok(Verdict { yes: none.clone(), no: none })
            }
            Self::IsNull(name) => {
                let valid = valid(values(batch, name)?);
                Ok(Verdict { yes: valid.not(), no: valid })
            }
            Self::Leaf(leaf) => leaf.verdict(values(batch, &leaf.column)?),
        }
    }
}

impl Verdict {
    fn all(value: bool, rows: usize) -> Self {
        let (set, unset) = (BooleanBuffer::new_set(rows), BooleanBuffer::new_unset(rows));
        if value { Self { yes: set, no: unset } } else { Self { yes: unset, no: set } }
    }
}

impl Leaf {
    fn verdict(&self, values: &ArrayRef) -> Result<Verdict, TableError> {
        let rows = self.ordinal.rows(values)?;
        let is_met = BooleanBuffer::collect_bool(values.len(), |at| {
            let row = rows.row(at).data();
            if self.nan.as_deref() == Some(row) {
                return self.comparison == Comparison::NotEqual;
            }
            self.bounds.iter().any(|bound| bound.admits(self.comparison, row.cmp(bound.row())))
        });
        let valid = valid(values);
        Ok(Verdict { yes: &valid & &is_met, no: &valid & &is_met.not() })
    }
}

/// Rows that are not NULL.
fn valid(values: &ArrayRef) -> BooleanBuffer {
    match values.logical_nulls() {
        Some(nulls) => nulls.inner().clone(),
        None => BooleanBuffer::new_set(values.len()),
    }
}

fn values<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, TableError> {
    batch.column_by_name(name).ok_or_else(|| TableError::UnknownColumn {
        clause: "filter".to_owned(),
        name: name.to_owned(),
    })
}
