//! Types from JSON, whose values nest.

mod join;

use super::evidence::{Decision, Evidence, nullable};
use super::unify::{NOTHING, settled, unify};
use crate::FileError;
use crate::error::{Reject, quoted};
use crate::literal::{Cursor, Token};
use crate::options::COLUMNS_MAX;
use crate::text::block::Block;
pub(crate) use join::{Wish, as_text, common};
use std::collections::HashMap;
use tambour_function::value::time::DateOrder;
use tambour_part::DataType;

/// Objects with more keys than this are maps, or text.
pub(crate) const TUPLE_FIELDS_MAX: usize = 100;

/// What the values at one place of JSON documents have looked like so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Values, NULLs among them.
    values: u64,
    nulls: u64,
    scalars: u64,
    scalar: Evidence,
    lists: u64,
    element: Option<Box<Tree>>,
    objects: u64,
    fields: Fields,
}

/// The keys of objects, in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields {
    pub(crate) names: Vec<Vec<u8>>,
    pub(crate) trees: Vec<Tree>,
    index: HashMap<Vec<u8>, usize>,
    /// Where the next key is expected: objects mostly repeat each other's order.
    next: usize,
}

impl Fields {
    pub(crate) fn tree(&mut self, name: &[u8]) -> &mut Tree {
        let expected = self.names.get(self.next).is_some_and(|known| known == name);
        let at = if expected {
            self.next
        } else if let Some(&at) = self.index.get(name) {
            at
        } else {
            let at = self.names.len();
            self.names.push(name.to_vec());
            self.trees.push(Tree::default());
            self.index.insert(name.to_vec(), at);
            at
        };
        self.next = at + 1;
        &mut self.trees[at]
    }

    /// What was seen under a key.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Tree> {
        self.index.get(name).map(|&at| &self.trees[at])
    }

    /// Keys that are not names, or more of them than a table may have columns.
    pub(crate) fn check(&self, block: &Block) -> Result<(), FileError> {
        let spot = Box::new(block.spot(block.rows().saturating_sub(1), None));
        if let Some(name) = self.names.iter().find(|name| std::str::from_utf8(name).is_err()) {
            return Err(FileError::Utf8 { spot, value: quoted(name) });
        }
        if self.names.iter().any(Vec::is_empty) {
            let reason = "a key is empty, but a column needs a name";
            return Err(FileError::Json { spot, at: 1, reason });
        }
        if self.names.len() <= COLUMNS_MAX {
            return Ok(());
        }
        let what = "the number of different keys";
        Err(FileError::Limit { spot, what, limit: COLUMNS_MAX as u64 })
    }

    /// Looks at an object that has just been opened.
    pub(crate) fn observe(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reject> {
        self.next = 0;
        cursor.entries(|cursor, key| self.tree(&key).observe(cursor))
    }
}

impl Tree {
    /// Looks at the value at the cursor.
    pub(crate) fn observe(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reject> {
        self.values += 1;
        match cursor.token()? {
            Token::Null => self.nulls += 1,
            Token::Bare(word) => {
                self.scalars += 1;
                self.scalar.observe_bare(word);
            }
            Token::String(text) => {
                self.scalars += 1;
                self.scalar.observe_string(&text);
            }
            Token::Open(b'{') => {
                self.objects += 1;
                self.fields.observe(cursor)?;
            }
            Token::Open(open) => {
                self.lists += 1;
                let element = self.element.get_or_insert_default();
                cursor.elements(open, |cursor, _| element.observe(cursor))?;
            }
        }
        Ok(())
    }

    /// True if nothing but NULL stood here.
    pub(crate) fn is_null(&self) -> bool {
        self.values == self.nulls
    }

    /// Bounds of the whole numbers at this place.
    pub(crate) fn range(&self) -> Option<(i128, i128)> {
        self.scalar.range()
    }

    /// The type of a column (`top`) or of a nested value, of which there could have been `expected` ones.
    pub(crate) fn decide(&self, expected: u64, top: bool) -> Decision {
        let decision = self.draft(expected, top);
        Decision { data_type: settled(decision.data_type), ..decision }
    }

    /// The same, with [`NOTHING`] in places where no value was seen.
    fn draft(&self, expected: u64, top: bool) -> Decision {
        let null = self.nulls > 0 || self.values < expected;
        let text = || Decision {
            data_type: nullable(DataType::String, null),
            order: DateOrder::Iso,
            empty_is_null: false,
        };
        match (self.scalars > 0, self.lists > 0, self.objects > 0) {
            (_, false, false) => {
                self.scalar_type(self.nulls + expected.saturating_sub(self.values), top)
            }
            (false, true, false) => match &self.element {
                Some(element) => {
                    let inner = element.draft(element.values, false);
                    Decision {
                        data_type: DataType::Array(Box::new(inner.data_type)),
                        order: inner.order,
                        empty_is_null: false,
                    }
                }
                None => text(),
            },
            (false, false, true) => self.object_type(expected).map_or_else(text, |data_type| {
                Decision { data_type, order: DateOrder::Iso, empty_is_null: false }
            }),
            _ => text(),
        }
    }

    fn scalar_type(&self, nulls: u64, top: bool) -> Decision {
        if self.scalars == 0 && !top {
            let data_type = nullable(DataType::Foreign(NOTHING.to_owned()), nulls > 0);
            return Decision { data_type, order: DateOrder::Iso, empty_is_null: false };
        }
        let mut evidence = self.scalar.clone();
        evidence.nulls += nulls;
        let mut decision = evidence.decide();
        // The order of days and months is not guessed in JSON: its writers know ISO dates.
        if decision.order != DateOrder::Iso {
            decision.data_type = nullable(DataType::String, nulls > 0);
            decision.order = DateOrder::Iso;
        }
        if !top && let DataType::LowCardinality(inner) = decision.data_type {
            decision.data_type = *inner;
        }
        decision
    }

    /// A tuple where all objects look alike, a map where the keys are data and the values are of one type.
    fn object_type(&self, expected: u64) -> Option<DataType> {
        let fields = &self.fields;
        let present: u64 = fields.trees.iter().map(|tree| tree.values).sum();
        let places = self.objects.saturating_mul(fields.trees.len() as u64);
        // An element of a tuple has a name, or none.
        let are_names = fields.names.iter().all(|name| !name.is_empty());
        let alike = are_names
            && fields.trees.len() <= TUPLE_FIELDS_MAX
            && present.saturating_mul(2) >= places;
        if fields.trees.is_empty() {
            return None;
        }
        if alike {
            let element = |(name, tree): (&Vec<u8>, &Tree)| {
                let name = String::from_utf8(name.clone()).ok()?;
                Some((Some(name), tree.draft(expected, false).data_type))
            };
            let elements = fields.names.iter().zip(&fields.trees).map(element);
            return elements.collect::<Option<Vec<_>>>().map(DataType::Tuple);
        }
        let mut types = fields.trees.iter().map(|tree| tree.draft(tree.values, false).data_type);
        let first = types.next()?;
        let common = types.try_fold(first, |one, other| unify(&one, &other))?;
        let common = match common {
            DataType::LowCardinality(_) => return None,
            other => other,
        };
        Some(DataType::Map(Box::new(DataType::String), Box::new(common)))
    }
}
