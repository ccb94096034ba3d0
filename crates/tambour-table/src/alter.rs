//! ALTER TABLE of columns: from one definition to another, and what becomes of the parts.
//!
//! A part stays as it is as long as it can be read as the new definition says: a column that it lacks has its DEFAULT
//! ([`super::fill`]), and a type that holds all values of the old one is cast when it is read ([`super::widen`]). Parts with a
//! column that is dropped, renamed or of a type that has to be computed are written anew.

mod elements;
mod part;

use super::conform::is_same_data;
use super::fresh::check_codec_of;
use super::widen::widens;
use crate::TableError;
use crate::schema::alter::{
    Action, Alter, ElementKind, Modification, Property, Spot, renamed, texts,
};
use crate::schema::expression::Expression;
use crate::schema::{ChooseCodec, ColumnDefinition, ColumnKind, TableDefinition};
use tambour_part::types::{Column, DataType};

/// A definition that comes from another one.
#[derive(Clone, Debug)]
pub struct Altered {
    before: TableDefinition,
    /// What the table is from now on.
    after: TableDefinition,
    /// For each column of `after`, where it was in `before`; nothing if all of its values are new.
    origins: Vec<Option<usize>>,
    /// Skip indexes and projections that are new.
    added: Vec<(ElementKind, String)>,
}

/// A column whose values have to be computed where a part is written anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recast {
    /// Where the column was.
    pub index: usize,
    /// Its name before, and its new type.
    pub column: Column,
    /// What rows with NULL get, if the new type has none: the column's DEFAULT.
    pub in_place_of_null: Option<String>,
}

/// What becomes of a column that a part stores.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change<'a> {
    Keep,
    /// It has another name.
    Rename(&'a str),
    /// It is gone, or its values are.
    Drop,
    /// Its values are computed of those that it has, which was at this place.
    Recast(usize, &'a ColumnDefinition),
}

/// The definition while commands change it.
struct Draft {
    definition: TableDefinition,
    origins: Vec<Option<usize>>,
    /// Columns whose clauses were given; by name.
    given: Vec<String>,
    /// Skip indexes and projections that were added.
    added: Vec<(ElementKind, String)>,
}

impl Altered {
    /// Applies commands to a definition; refuses what ClickHouse refuses.
    pub fn new(before: &TableDefinition, commands: &[Alter]) -> Result<Self, TableError> {
        let origins = (0..before.columns.len()).map(Some).collect();
        let (given, added) = (Vec::new(), Vec::new());
        let mut draft = Draft { definition: before.clone(), origins, given, added };
        for command in commands {
            draft.apply(command)?;
        }
        let Draft { definition: after, origins, given, added } = draft;
        after.check()?;
        check_defaults(&after, &given)?;
        for column in &after.columns {
            if let Some(codec) = &column.codec
                && !before.columns.contains(column)
            {
                check_codec_of(&column.column, codec)?;
            }
        }
        // What cannot be read again would shut everybody out of the table.
        TableDefinition::parse(&after.to_string())?;
        let altered = Self { before: before.clone(), after, origins, added };
        altered.check_types()?;
        Ok(altered)
    }

    /// Other codecs for the columns for which `choose` has one.
    pub fn with_codecs(
        before: &TableDefinition,
        choose: &ChooseCodec<'_>,
    ) -> Result<Self, TableError> {
        let mut after = before.clone();
        after.choose_codecs(choose);
        after.check()?;
        let origins = (0..before.columns.len()).map(Some).collect();
        Ok(Self { before: before.clone(), after, origins, added: Vec::new() })
    }

    /// The new definition.
    pub fn definition(&self) -> &TableDefinition {
        &self.after
    }

    /// The columns of another type than before.
    pub fn recasts(&self) -> Vec<Recast> {
        let pairs = self
            .pairs()
            .filter(|(_, old, new)| !is_same_data(&old.column.data_type, &new.column.data_type));
        let recast = |(index, old, new): (usize, &ColumnDefinition, &ColumnDefinition)| {
            let data_type = new.column.data_type.clone();
            let loses_null = old.column.data_type.is_nullable() && !data_type.is_nullable();
            let in_place_of_null = new.clauses.default.clone().filter(|_| loses_null);
            let column = Column { name: old.column.name.clone(), data_type };
            Recast { index, column, in_place_of_null }
        };
        pairs.map(recast).collect()
    }

    /// Columns that stay: where each was, what it was, what it is.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, &ColumnDefinition, &ColumnDefinition)> {
        self.after.columns.iter().zip(&self.origins).filter_map(|(new, origin)| {
            let index = (*origin)?;
            Some((index, self.before.columns.get(index)?, new))
        })
    }

    fn check_types(&self) -> Result<(), TableError> {
        for (_, old, new) in self.pairs() {
            let (from, to) = (&old.column.data_type, &new.column.data_type);
            if from == to {
                continue;
            }
            let name = &old.column.name;
            if key_of(&self.before, name).is_some() && !is_longer_enum(from, to) {
                return Err(wrong(
                    name,
                    format!("{from} as {to} would change a key by which the parts are sorted"),
                ));
            }
            if from.is_nullable() && !to.is_nullable() && new.clauses.default.is_none() {
                let told = format!("{from} as {to} needs a DEFAULT for the rows with NULL");
                return Err(wrong(name, told));
            }
        }
        for (new, origin) in self.after.columns.iter().zip(&self.origins) {
            let is_new = origin
                .and_then(|at| self.before.columns.get(at))
                .is_none_or(|old| old.column.data_type != new.column.data_type);
            if is_new && new.column.data_type.is_foreign() {
                return Err(TableError::Refused {
                    clause: format!("a column of type {}", new.column.data_type),
                    reason: "values of this type are not written here".to_owned(),
                });
            }
        }
        Ok(())
    }
}

impl Draft {
    fn apply(&mut self, command: &Alter) -> Result<(), TableError> {
        let skips = |error: TableError| match error {
            TableError::UnknownColumn { .. } if command.is_optional => Ok(()),
            error => Err(error),
        };
        match &command.action {
            Action::Add(columns, spot) => self.add(columns, spot.as_ref(), command.is_optional),
            Action::Drop(name) => self.remove("DROP", name).map(drop).or_else(skips),
            Action::Clear(name, _) => match self.find("CLEAR COLUMN", name) {
                Ok(at) => {
                    self.check_key("CLEAR", name)?;
                    self.origins[at] = None;
                    Ok(())
                }
                Err(error) => skips(error),
            },
            Action::Rename(from, to) => self.rename(from, to).or_else(skips),
            Action::Modify(modification) => self.modify(modification).or_else(skips),
            Action::Remove(name, property) => self.remove_property(name, *property).or_else(skips),
            Action::Element(action) => self.change_element(action, command.is_optional),
            Action::Parts(_) | Action::Rows(_) => Err(TableError::Refused {
                clause: "ALTER TABLE of columns and of parts or rows at once".to_owned(),
                reason: "make two statements of it".to_owned(),
            }),
            Action::Ttl(ttl) => self.set_ttl(ttl.as_deref()),
            Action::OrderBy(key) => self.extend_order(key),
            Action::TableComment(text) => {
                self.definition.clauses.comment = Some(text.clone()).filter(|it| !it.is_empty());
                Ok(())
            }
        }
    }

    /// `MODIFY COLUMN c REMOVE …`.
    fn remove_property(&mut self, name: &str, property: Property) -> Result<(), TableError> {
        let unstored = self.find_unstored(name);
        let column = if let Some(at) = unstored {
            &mut self.definition.unstored[at]
        } else {
            let at = self.find("MODIFY COLUMN", name)?;
            &mut self.definition.columns[at]
        };
        let kind = match property {
            Property::Default => Some(ColumnKind::Given),
            Property::Materialized => Some(ColumnKind::Materialized),
            _ => None,
        };
        if let Some(kind) = kind {
            if column.clauses.kind != kind || column.clauses.default.is_none() {
                return Err(wrong(name, format!("it has no {}", kind.word())));
            }
            column.clauses.default = None;
            column.clauses.kind = ColumnKind::Given;
        }
        match property {
            Property::Comment => column.comment = None,
            Property::Codec => column.codec = None,
            Property::Ttl => column.clauses.ttl = None,
            Property::Settings => column.clauses.settings = None,
            Property::Default | Property::Materialized => {}
        }
        Ok(())
    }

    fn find(&self, clause: &str, name: &str) -> Result<usize, TableError> {
        let found = self.definition.columns.iter().position(|it| it.column.name == name);
        found.ok_or_else(|| TableError::UnknownColumn {
            clause: clause.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Where an ALIAS or EPHEMERAL column is in the list of these.
    fn find_unstored(&self, name: &str) -> Option<usize> {
        self.definition.unstored.iter().position(|it| it.column.name == name)
    }

    fn add(
        &mut self,
        columns: &[ColumnDefinition],
        spot: Option<&Spot>,
        is_optional: bool,
    ) -> Result<(), TableError> {
        let mut at = match spot {
            None => self.origins.len(),
            Some(Spot::First) => 0,
            Some(Spot::After(name)) => self.find("AFTER", name)? + 1,
        };
        for column in columns {
            let name = &column.column.name;
            if self.find("ADD COLUMN", name).is_ok() || self.find_unstored(name).is_some() {
                if is_optional {
                    continue;
                }
                return Err(TableError::DuplicateColumn { name: name.clone() });
            }
            if !column.clauses.kind.is_stored() {
                self.definition.unstored.push(column.clone());
                continue;
            }
            self.definition.columns.insert(at, column.clone());
            self.origins.insert(at, None);
            self.given.push(name.clone());
            at += 1;
        }
        Ok(())
    }

    /// Takes a column out.
    fn remove(&mut self, verb: &str, name: &str) -> Result<(), TableError> {
        let unstored = self.find_unstored(name);
        if unstored.is_none() {
            self.find(&format!("{verb} COLUMN"), name)?;
        }
        self.check_key(verb, name)?;
        self.check_texts(verb, name)?;
        for other in self.definition.columns.iter().chain(&self.definition.unstored) {
            let default = other.clauses.default.as_deref().unwrap_or_default();
            if other.column.name != name && renamed(default, name, name)?.is_some() {
                let (kind, other) = (other.clauses.kind.word(), &other.column.name);
                return Err(wrong(name, format!("the {kind} of `{other}` reads it: {default}")));
            }
        }
        if let Some(at) = unstored {
            self.definition.unstored.remove(at);
            return Ok(());
        }
        let at = self.find(verb, name)?;
        self.definition.columns.remove(at);
        self.origins.remove(at);
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), TableError> {
        let unstored = self.find_unstored(from);
        if unstored.is_none() {
            self.find("RENAME COLUMN", from)?;
        }
        if from == to {
            return Ok(());
        }
        if self.find("RENAME COLUMN", to).is_ok() || self.find_unstored(to).is_some() {
            return Err(TableError::DuplicateColumn { name: to.to_owned() });
        }
        let nested = |name: &str| name.split_once('.').map(|(table, _)| table.to_owned());
        if nested(from) != nested(to) {
            return Err(wrong(from, format!("{to} is a column of another Nested, or of none")));
        }
        self.check_key("RENAME", from)?;
        self.check_texts("RENAME", from)?;
        let definition = &mut self.definition;
        for column in definition.columns.iter_mut().chain(&mut definition.unstored) {
            if let Some(default) = &mut column.clauses.default
                && let Some(text) = renamed(default, from, to)?
            {
                *default = text;
            }
        }
        let column = if let Some(at) = unstored {
            &mut self.definition.unstored[at]
        } else {
            let at = self.find("RENAME COLUMN", from)?;
            &mut self.definition.columns[at]
        };
        to.clone_into(&mut column.column.name);
        for name in self.given.iter_mut().filter(|name| *name == from) {
            to.clone_into(name);
        }
        Ok(())
    }

    fn modify(&mut self, modification: &Modification) -> Result<(), TableError> {
        let Modification { data_type, column: given, spot } = modification;
        let name = &given.column.name;
        if let Some(at) = self.find_unstored(name) {
            return self.modify_unstored(at, modification);
        }
        let mut at = self.find("MODIFY COLUMN", name)?;
        if !given.clauses.kind.is_stored() {
            let told = format!("parts hold it, it cannot become {}", given.clauses.kind.word());
            return Err(wrong(name, told));
        }
        if let Some(spot) = spot {
            let (column, origin) = (self.definition.columns.remove(at), self.origins.remove(at));
            at = match spot {
                Spot::First => 0,
                Spot::After(other) => self.find("AFTER", other)? + 1,
            };
            self.definition.columns.insert(at, column);
            self.origins.insert(at, origin);
        }
        let column = &mut self.definition.columns[at];
        if let Some(data_type) = data_type {
            column.column.data_type = data_type.clone();
            column.clauses.aggregate.clone_from(&given.clauses.aggregate);
        }
        if given.clauses.default.is_some() {
            let is_in =
                |key: &[Expression]| key.iter().any(|it| it.columns().contains(&name.as_str()));
            // Parts from before the key had it lack it: their rows would be out of order.
            if is_in(&self.definition.order_by) && !is_in(&self.definition.primary_key) {
                return Err(wrong(
                    name,
                    "DEFAULT of a column that ORDER BY reads past PRIMARY KEY",
                ));
            }
            let column = &mut self.definition.columns[at];
            column.clauses.default.clone_from(&given.clauses.default);
            column.clauses.kind = given.clauses.kind;
            self.given.push(name.clone());
        }
        let column = &mut self.definition.columns[at];
        if let Some(comment) = &given.comment {
            column.comment = Some(comment.clone()).filter(|it| !it.is_empty());
        }
        if given.codec.is_some() {
            column.codec.clone_from(&given.codec);
        }
        if given.clauses.ttl.is_some() {
            column.clauses.ttl.clone_from(&given.clauses.ttl);
        }
        if given.clauses.statistics.is_some() {
            column.clauses.statistics.clone_from(&given.clauses.statistics);
        }
        if given.clauses.settings.is_some() {
            column.clauses.settings.clone_from(&given.clauses.settings);
        }
        Ok(())
    }

    /// An ALIAS or EPHEMERAL column: nothing but its definition changes.
    fn modify_unstored(&mut self, at: usize, given: &Modification) -> Result<(), TableError> {
        let Modification { data_type, column: given, .. } = given;
        let column = &mut self.definition.unstored[at];
        let (name, kind) = (&given.column.name, given.clauses.kind);
        if given.clauses.default.is_some() {
            if kind != column.clauses.kind {
                let told = format!("parts do not hold it, it cannot become {}", kind.word());
                return Err(wrong(name, told));
            }
            column.clauses.default.clone_from(&given.clauses.default);
            self.given.push(name.clone());
        }
        if let Some(data_type) = data_type {
            column.column.data_type = data_type.clone();
        }
        if let Some(comment) = &given.comment {
            column.comment = Some(comment.clone()).filter(|it| !it.is_empty());
        }
        Ok(())
    }

    /// A TTL is for servers to apply; it must be of a date or a time that the table has.
    fn set_ttl(&mut self, ttl: Option<&str>) -> Result<(), TableError> {
        let refused = |problem: &str| TableError::Definition {
            clause: "TTL".to_owned(),
            problem: problem.to_owned(),
        };
        if ttl.is_none() && self.definition.clauses.ttl.is_none() {
            return Err(refused("the table has none"));
        }
        if let Some(ttl) = ttl {
            let mut is_of_time = false;
            for column in &self.definition.columns {
                let is_time = matches!(
                    column.column.data_type,
                    DataType::Date
                        | DataType::Date32
                        | DataType::DateTime { .. }
                        | DataType::DateTime64 { .. }
                );
                let name = &column.column.name;
                is_of_time |= is_time && renamed(ttl, name, name)?.is_some();
            }
            if !is_of_time {
                return Err(refused("it reads no column with a date or a time"));
            }
        }
        self.definition.clauses.ttl = ttl.map(str::to_owned);
        Ok(())
    }

    /// The sorting key may get columns at its end that come with the same statement: all rows have the same value there, so their
    /// order stays. The primary key stays what it was.
    fn extend_order(&mut self, key: &[Expression]) -> Result<(), TableError> {
        let refused = |problem: String| TableError::Definition {
            clause: "MODIFY ORDER BY".to_owned(),
            problem,
        };
        let old = &self.definition.order_by;
        let Some(added) = key.strip_prefix(old.as_slice()) else {
            return Err(refused("the key must begin with the old one".to_owned()));
        };
        for name in added.iter().flat_map(Expression::columns) {
            let at = self.find("MODIFY ORDER BY", name)?;
            let is_new = self.origins[at].is_none() && self.given.iter().any(|it| it == name);
            let has_default = self.definition.columns[at].clauses.default.is_some();
            if !is_new || has_default {
                let told = "is not one that the same statement adds without a DEFAULT";
                return Err(refused(format!("the column `{name}` {told}")));
            }
        }
        self.definition.order_by = key.to_vec();
        Ok(())
    }

    fn check_key(&self, verb: &str, name: &str) -> Result<(), TableError> {
        match key_of(&self.definition, name) {
            Some(key) => Err(wrong(name, format!("{verb} of a column that {key} reads"))),
            None => Ok(()),
        }
    }

    fn check_texts(&self, verb: &str, name: &str) -> Result<(), TableError> {
        for (what, text) in texts(&self.definition) {
            if renamed(text, name, name)?.is_some() {
                return Err(wrong(name, format!("{verb} of a column that {what} reads")));
            }
        }
        Ok(())
    }
}

/// The key that reads a column, if any.
pub(super) fn key_of(definition: &TableDefinition, name: &str) -> Option<&'static str> {
    let keys = [
        ("ORDER BY", &definition.order_by),
        ("PRIMARY KEY", &definition.primary_key),
        ("PARTITION BY", &definition.partition_by),
    ];
    let reads = |key: &[Expression]| key.iter().any(|it| it.columns().contains(&name));
    keys.into_iter().find(|(_, key)| reads(key)).map(|(clause, _)| clause)
}

/// True of an Enum with more names, whose numbers stay.
fn is_longer_enum(from: &DataType, to: &DataType) -> bool {
    let is_enum = |it: &DataType| matches!(it, DataType::Enum8(_) | DataType::Enum16(_));
    is_enum(from) && is_enum(to) && widens(from, to).is_some_and(|it| it.keeps_order)
}

/// The columns that a DEFAULT names must be there. What cannot be parsed here is for the server to judge.
fn check_defaults(definition: &TableDefinition, given: &[String]) -> Result<(), TableError> {
    let columns = definition.columns.iter().filter(|it| given.contains(&it.column.name));
    for column in columns {
        let default = column.clauses.default.as_deref();
        let default = default.filter(|text| !text.eq_ignore_ascii_case("null"));
        let Some(Ok(expression)) = default.map(Expression::parse) else {
            continue;
        };
        let name = &column.column.name;
        for read in expression.columns() {
            let mut columns = definition.columns.iter().chain(&definition.unstored);
            // `t.y` may be of the tuple `t`.
            let tuple = read.split_once('.').map_or(read, |(tuple, _)| tuple);
            let is_known = columns.any(|it| it.column.name == read || it.column.name == tuple);
            if !is_known || read == name {
                let clause = format!("DEFAULT of column `{name}`");
                return Err(TableError::UnknownColumn { clause, name: read.to_owned() });
            }
        }
    }
    Ok(())
}

fn wrong(column: &str, problem: impl Into<String>) -> TableError {
    TableError::Definition { clause: format!("column `{column}`"), problem: problem.into() }
}
