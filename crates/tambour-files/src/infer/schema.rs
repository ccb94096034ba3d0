//! The columns of all files together.

use super::Reading;
use super::evidence::{Decision, Evidence};
use super::tree::{self, Wish};
use super::unify::{absent, settled, unify};
use std::collections::{BTreeSet, HashMap};
use tambour_function::value::time::DateOrder;
use tambour_part::DataType;
use tambour_part::types::Column;

/// What the files say of their columns.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    /// Columns in the order of their first appearance.
    names: Vec<String>,
    index: HashMap<String, usize>,
    columns: Vec<Entry>,
    /// Files of CSV, TSV and columnar formats.
    files: u64,
    json: tree::Fields,
    json_rows: u64,
}

/// What is known of a column.
#[derive(Clone, Debug, Default)]
struct Entry {
    fields: Option<Evidence>,
    typed: Vec<DataType>,
    /// Files (JSON lines apart) that have it.
    files: u64,
}

impl Sheet {
    fn entry(&mut self, name: &str) -> &mut Entry {
        let at = if let Some(&at) = self.index.get(name) {
            at
        } else {
            self.index.insert(name.to_owned(), self.names.len());
            self.names.push(name.to_owned());
            self.columns.push(Entry::default());
            self.names.len() - 1
        };
        &mut self.columns[at]
    }

    /// Adds a file of CSV or TSV.
    pub(crate) fn fields(&mut self, columns: Vec<(String, Evidence)>) {
        self.files += 1;
        for (name, evidence) in columns {
            let entry = self.entry(&name);
            entry.files += 1;
            match &mut entry.fields {
                Some(known) => known.merge(&evidence),
                None => entry.fields = Some(evidence),
            }
        }
    }

    /// Adds a file whose columns have types.
    pub(crate) fn typed(&mut self, columns: Vec<(String, DataType)>) {
        self.files += 1;
        for (name, data_type) in columns {
            let entry = self.entry(&name);
            entry.files += 1;
            entry.typed.push(data_type);
        }
    }

    /// What all JSON lines together have shown.
    pub(crate) fn json(&mut self) -> &mut tree::Fields {
        &mut self.json
    }

    /// Adds a file of JSON lines, of which this many rows were seen.
    pub(crate) fn json_rows(&mut self, rows: u64) {
        self.json_rows += rows;
        for name in self.json.names.clone() {
            let _ = self.entry(&String::from_utf8_lossy(&name));
        }
    }

    /// The columns that follow; those in `texts` are text whatever they look like.
    pub(crate) fn decide(&self, texts: &BTreeSet<String>) -> Vec<Reading> {
        let reading = |(name, entry): (&String, &Entry)| {
            let decision = if texts.contains(name) { text() } else { self.decision(name, entry) };
            Reading {
                column: Column { name: name.clone(), data_type: decision.data_type },
                order: decision.order,
                empty_is_null: decision.empty_is_null,
                inferred: true,
                whole: false,
                exact: false,
                finite: false,
                as_clickhouse: false,
            }
        };
        self.names.iter().zip(&self.columns).map(reading).collect()
    }

    fn decision(&self, name: &str, entry: &Entry) -> Decision {
        let fields = entry.fields.as_ref().map(Evidence::decide);
        let json = self.json.get(name.as_bytes()).map(|tree| tree.decide(self.json_rows, true));
        let is_absent = self.is_absent(name, entry);
        let mut types =
            fields.iter().chain(&json).map(|decision| &decision.data_type).chain(&entry.typed);
        let Some(first) = types.next().cloned() else { return text() };
        let common = types.try_fold(first, |one, other| unify(&one, other));
        let Some(common) = common.map(settled) else { return text() };
        Decision {
            data_type: if is_absent { absent(common) } else { common },
            order: fields.as_ref().map_or(DateOrder::Iso, |decision| decision.order),
            empty_is_null: fields.is_some_and(|decision| decision.empty_is_null),
        }
    }

    /// True if some of the files do not have a column.
    fn is_absent(&self, name: &str, entry: &Entry) -> bool {
        let has_json = self.json.get(name.as_bytes()).is_some();
        entry.files < self.files || !has_json && self.json_rows > 0
    }

    /// What becomes of a table's type whose column gets what all files say of it; nothing if they say something of another kind.
    pub(crate) fn joined(&self, name: &str, old: &DataType, wish: Wish) -> Option<DataType> {
        let entry = self.index.get(name).map(|&at| &self.columns[at])?;
        if entry.fields.is_some() {
            // Fields are texts, and nobody has looked at what stands in them.
            return (wish == Wish::Text).then(|| tree::as_text(old));
        }
        let mut joined = match self.json.get(name.as_bytes()) {
            Some(tree) => tree.join(old, self.json_rows, wish)?,
            None => old.clone(),
        };
        for data_type in &entry.typed {
            joined = unify(&joined, data_type)?;
        }
        let joined = settled(joined);
        Some(if self.is_absent(name, entry) { absent(joined) } else { joined })
    }

    /// Bounds of the whole numbers that a column of text showed.
    pub(crate) fn range(&self, name: &str) -> Option<(i128, i128)> {
        let entry = self.index.get(name).map(|&at| &self.columns[at])?;
        let json = self.json.get(name.as_bytes()).and_then(tree::Tree::range);
        let fields = entry.fields.as_ref().and_then(Evidence::range);
        let join =
            |one: (i128, i128), other: (i128, i128)| (one.0.min(other.0), one.1.max(other.1));
        match (fields, json) {
            (Some(one), Some(other)) => Some(join(one, other)),
            (one, other) => one.or(other),
        }
    }

    /// True if the texts of a column of integers look like floats.
    fn has_fractions(&self, column: &Column) -> bool {
        let is_integer =
            tambour_part::choose::integer_range(column.data_type.unwrapped()).is_some();
        let entry = self.index.get(&column.name).map(|&at| &self.columns[at]);
        is_integer
            && entry.is_some_and(|entry| {
                let seen = self.decision(&column.name, entry).data_type;
                *seen.unwrapped() == DataType::Float64
            })
    }

    /// True if a column of text showed nothing but NULLs.
    pub(crate) fn is_null(&self, name: &str) -> bool {
        let Some(entry) = self.index.get(name).map(|&at| &self.columns[at]) else { return false };
        let json = self.json.get(name.as_bytes());
        let is_unseen = entry.fields.as_ref().is_none_or(Evidence::is_null);
        is_unseen && entry.typed.is_empty() && json.is_none_or(tree::Tree::is_null)
    }

    /// Given columns, with what only the values can say.
    /// With `exact`, moments with a finer fraction of a second than their type has are refused.
    pub(crate) fn given(
        &self,
        columns: &[Column],
        exact: bool,
        as_clickhouse: bool,
    ) -> Vec<Reading> {
        let reading = |column: &Column| {
            let seen =
                self.index.get(&column.name).and_then(|&at| self.columns[at].fields.as_ref());
            Reading {
                column: column.clone(),
                order: seen.map_or(DateOrder::Iso, Evidence::order),
                empty_is_null: if exact && *column.data_type.unwrapped() == DataType::String {
                    // The file decides what nothing means, as it would for a table of its own.
                    seen.is_some_and(Evidence::tells_null_from_empty)
                } else {
                    column.data_type.is_nullable()
                },
                inferred: false,
                whole: exact && self.has_fractions(column),
                exact,
                finite: !as_clickhouse,
                as_clickhouse,
            }
        };
        columns.iter().map(reading).collect()
    }
}

/// What every value can be.
fn text() -> Decision {
    let data_type = DataType::String.made_nullable();
    Decision { data_type, order: DateOrder::Iso, empty_is_null: false }
}
