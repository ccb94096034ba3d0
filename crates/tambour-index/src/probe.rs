//! A predicate over values: which of them a granule must have for a row of it to match, as Bloom filters are asked.

use crate::IndexError;
use crate::filter::{Scheme, hashes_of_text, hashes_of_value};
use crate::kind::{Index, Kind, bare, element};
use crate::text::Stand;
use tambour_part::types::DataType;
use tambour_table::predicate::{Comparison, Constant, Predicate};
use tambour_table::prune::constants;
use tambour_table::schema::expression::Expression;

/// What an index is asked: which values a row must have, as hashes or as they are.
#[derive(Debug)]
pub(crate) enum Probe<T> {
    /// Anything may match.
    Maybe,
    /// Every one must be possible.
    All(Vec<Probe<T>>),
    /// One must be possible.
    Any(Vec<Probe<T>>),
    /// A column must have all of one of these.
    Has { column: usize, any: Vec<Vec<T>> },
}

impl<T> Probe<T> {
    /// Compiles a predicate; `leaf` compiles what is neither AND nor OR.
    pub(crate) fn of(predicate: &Predicate, leaf: &dyn Fn(&Predicate) -> Self) -> Self {
        match predicate {
            Predicate::And(parts) => {
                let parts = parts.iter().map(|it| Self::of(it, leaf));
                let parts: Vec<_> = parts.filter(|it| !it.is_idle()).collect();
                if parts.is_empty() { Self::Maybe } else { Self::All(parts) }
            }
            Predicate::Or(parts) => {
                let parts: Vec<_> = parts.iter().map(|it| Self::of(it, leaf)).collect();
                if parts.iter().any(Self::is_idle) { Self::Maybe } else { Self::Any(parts) }
            }
            other => leaf(other),
        }
    }

    /// True if nothing is asked.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self, Self::Maybe)
    }

    /// Calls `each` with all values in it.
    pub(crate) fn each(&self, each: &mut dyn FnMut(&T)) {
        match self {
            Self::Maybe => {}
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|it| it.each(each)),
            Self::Has { any, .. } => any.iter().flatten().for_each(each),
        }
    }
}

impl Probe<u64> {
    /// Compiles a predicate for an index of filters.
    pub(crate) fn of_filters(predicate: &Predicate, index: &Index) -> Self {
        Self::of(predicate, &|leaf| Self::of_leaf(leaf, index))
    }

    fn of_leaf(predicate: &Predicate, index: &Index) -> Self {
        let sure = |expression, bytes: &[u8], stand| {
            let found = place_of(index, expression, false)
                .and_then(|at| Some((at, hashes_of_text(index.kind, bytes, stand)?)));
            found.map_or(Self::Maybe, |(column, hashes)| Self::Has { column, any: vec![hashes] })
        };
        match predicate {
            Predicate::Compare(expression, Comparison::Equal, constant) => {
                Self::one_of(index, expression, std::slice::from_ref(constant), false)
            }
            Predicate::In(expression, constants, false) => {
                Self::one_of(index, expression, constants, false)
            }
            Predicate::Has(expression, constant) => {
                Self::one_of(index, expression, std::slice::from_ref(constant), true)
            }
            Predicate::StartsWith(expression, prefix) => sure(expression, prefix, Stand::Start),
            Predicate::Contains(expression, bytes, within) => {
                sure(expression, bytes, Stand::In(*within))
            }
            _ => Self::Maybe,
        }
    }

    /// A column is one of these constants, or has one of them if it is of arrays.
    fn one_of(index: &Index, expression: &Expression, wanted: &[Constant], in_array: bool) -> Self {
        let Some(column) = place_of(index, expression, in_array) else { return Self::Maybe };
        let data_type = element(&index.columns[column].data_type);
        let mut any = Vec::new();
        for constant in wanted {
            match hashes(index.kind, constant, data_type) {
                Ok(Some(found)) => any.extend(found),
                // What cannot be hashed may be anywhere.
                Ok(None) | Err(_) => return Self::Maybe,
            }
        }
        Self::Has { column, any }
    }

    /// May a row match, given the filter of each column?
    pub(crate) fn may_match(&self, filters: &[&[u8]], scheme: Scheme) -> bool {
        match self {
            Self::Maybe => true,
            Self::All(parts) => parts.iter().all(|it| it.may_match(filters, scheme)),
            Self::Any(parts) => parts.iter().any(|it| it.may_match(filters, scheme)),
            Self::Has { column, any } => filters.get(*column).is_none_or(|filter| {
                any.iter().any(|hashes| hashes.iter().all(|hash| scheme.has(filter, *hash)))
            }),
        }
    }
}

/// The place of a column among those of an index, if it is of arrays or not as wanted.
pub(crate) fn place_of(index: &Index, expression: &Expression, of_arrays: bool) -> Option<usize> {
    let Expression::Column(name) = expression else { return None };
    let place = index.columns.iter().position(|column| column.name == *name)?;
    let is_array = matches!(bare(&index.columns[place].data_type), DataType::Array(_));
    (is_array == of_arrays).then_some(place)
}

/// The hashes of each value that counts as equal to a constant, none for NULL; `None` if they are not known.
fn hashes(
    kind: Kind,
    constant: &Constant,
    data_type: &DataType,
) -> Result<Option<Vec<Vec<u64>>>, IndexError> {
    let equal = match constant {
        Constant::Null => return Ok(Some(Vec::new())),
        Constant::Float(value) if value.is_nan() => return Ok(None),
        Constant::Float(value) if *value == 0.0 => {
            vec![Constant::Float(0.0), Constant::Float(-0.0)]
        }
        other => vec![other.clone()],
    };
    let wanted: Vec<&Constant> = equal.iter().collect();
    let Some(values) = constants(&wanted, data_type) else { return Ok(None) };
    let of_row = |row| hashes_of_value(kind, &values, row, data_type);
    (0..values.len()).map(of_row).collect()
}
