//! The type of a column of a table that gets what was seen in JSON, too.
//!
//! It goes by the table's type: what is a map there stays one, whatever the objects look like.

use super::{Fields, TUPLE_FIELDS_MAX, Tree};
use crate::infer::unify::{absent, are_named, unify};
use tambour_part::DataType;
use tambour_part::choose::{integer, integer_range};

/// How types may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// To the natural ones of both.
    Natural,
    /// To the least integers that hold both.
    Smallest,
    /// To text where nothing else holds both.
    Text,
}

impl Tree {
    /// The table's type, made wide enough for what was seen here, of which there could have been `expected` values; nothing if
    /// that is of another kind. Where values of no common type are seen, the table's stays: they may fit it all the same.
    pub(crate) fn join(&self, old: &DataType, expected: u64, wish: Wish) -> Option<DataType> {
        use DataType as T;
        match old {
            T::Array(item) => {
                if self.scalars > 0 || self.objects > 0 {
                    return None;
                }
                let item = match &self.element {
                    Some(element) => element.join(item, element.values, wish)?,
                    None => item.as_ref().clone(),
                };
                Some(T::Array(Box::new(item)))
            }
            T::Map(key, value) => {
                if self.scalars > 0 || self.lists > 0 || *key.unwrapped() != T::String {
                    return None;
                }
                let mut trees = self.fields.trees.iter();
                let value = trees.try_fold(value.as_ref().clone(), |value, tree| {
                    tree.join(&value, tree.values, wish)
                })?;
                Some(T::Map(key.clone(), Box::new(value)))
            }
            T::Tuple(elements) => {
                if self.scalars > 0 || self.lists > 0 || !are_named(elements) {
                    return None;
                }
                self.fields.join(elements, expected, wish)
            }
            _ => {
                let joined = self.join_scalar(old, wish)?;
                let is_null = self.nulls > 0 || self.values < expected;
                Some(if is_null { joined.made_nullable() } else { joined })
            }
        }
    }

    fn join_scalar(&self, old: &DataType, wish: Wish) -> Option<DataType> {
        if *old.unwrapped() == DataType::String {
            // It takes the JSON text of whatever stands there.
            return Some(old.clone());
        }
        if self.lists > 0 || self.objects > 0 {
            return None;
        }
        if self.scalars == 0 {
            return Some(old.clone());
        }
        let range = self.range();
        if let (Some((low, high)), Some((least, greatest))) =
            (integer_range(old.unwrapped()), range)
            && low <= least
            && greatest <= high
        {
            return Some(old.clone());
        }
        let seen = self.scalar_type(0, false).data_type;
        Some(common(old, &seen, range, wish).unwrap_or_else(|| old.clone()))
    }
}

impl Fields {
    /// A tuple with the elements of both; a value that objects from before or from here lack may be NULL.
    fn join(
        &self,
        elements: &[(Option<String>, DataType)],
        expected: u64,
        wish: Wish,
    ) -> Option<DataType> {
        let mut all = Vec::with_capacity(elements.len());
        for (name, inner) in elements {
            let seen = name.as_ref().and_then(|name| self.get(name.as_bytes()));
            let joined = match seen {
                Some(tree) => tree.join(inner, expected, wish)?,
                None if expected > 0 => absent(inner.clone()),
                None => inner.clone(),
            };
            all.push((name.clone(), joined));
        }
        for (name, tree) in self.names.iter().zip(&self.trees) {
            let name = String::from_utf8(name.clone()).ok().filter(|name| !name.is_empty());
            let name = Some(name?);
            if !elements.iter().any(|(known, _)| *known == name) {
                all.push((name, absent(tree.decide(expected, false).data_type)));
            }
        }
        (all.len() <= TUPLE_FIELDS_MAX.max(elements.len())).then_some(DataType::Tuple(all))
    }
}

/// The type that a column with values of both kinds has, if there is one.
pub(crate) fn common(
    old: &DataType,
    seen: &DataType,
    range: Option<(i128, i128)>,
    wish: Wish,
) -> Option<DataType> {
    let is_nullable = old.is_nullable() || seen.is_nullable();
    let open = |it: DataType| if is_nullable { it.made_nullable() } else { it };
    if wish == Wish::Smallest
        && let (Some((low, high)), Some(range)) =
            (integer_range(old.unwrapped()), range.or_else(|| integer_range(seen.unwrapped())))
    {
        return Some(open(integer(low.min(range.0), high.max(range.1))?));
    }
    if let (DataType::LowCardinality(inner), DataType::String, DataType::String) =
        (old, seen.unwrapped(), old.unwrapped())
    {
        return Some(DataType::LowCardinality(Box::new(open(inner.as_ref().clone()))));
    }
    let text = || (wish == Wish::Text).then(|| open(DataType::String));
    unify(old, seen).or_else(text)
}

/// The same type with texts in it, which may be NULL.
pub(crate) fn as_text(data_type: &DataType) -> DataType {
    use DataType as T;
    match data_type {
        T::Array(item) => T::Array(Box::new(as_text(item))),
        T::Map(key, value) => T::Map(key.clone(), Box::new(as_text(value))),
        T::Tuple(elements) => {
            let element = |(name, inner): &(_, _)| (Option::clone(name), as_text(inner));
            T::Tuple(elements.iter().map(element).collect())
        }
        _ => T::String.made_nullable(),
    }
}
