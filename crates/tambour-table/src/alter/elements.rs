//! Constraints, skip indexes, projections and settings: what ALTER TABLE makes of them in the definition. No part is written for it,
//! except those with files of an old index or projection whose name a new one takes (`Altered::has_stale_files`).

use super::Draft;
use crate::TableError;
use crate::schema::alter::{ElementAction, ElementKind, Spot};
use crate::schema::token::Cursor;
use crate::schema::{is_setting, parse_index};

/// Settings by which existing parts were written.
const FIXED_SETTINGS: [&str; 5] = [
    "index_granularity",
    "index_granularity_bytes",
    "enable_mixed_granularity_parts",
    "disk",
    "storage_policy",
];

impl Draft {
    pub(super) fn change_element(
        &mut self,
        action: &ElementAction,
        is_optional: bool,
    ) -> Result<(), TableError> {
        match action {
            ElementAction::Add(kind, name, text, spot) => {
                self.add_element((*kind, name), text, spot.as_ref(), is_optional)
            }
            ElementAction::Drop(kind, name) => match self.place(*kind, name) {
                Some(at) => {
                    self.definition.clauses.elements.remove(at);
                    self.added.retain(|(it, other)| it != kind || other != name);
                    Ok(())
                }
                None if is_optional => Ok(()),
                None => Err(wrong(*kind, name, "the table does not have it")),
            },
            ElementAction::Set(settings) => {
                for (name, value) in settings {
                    check_setting(name)?;
                    self.definition.settings.retain(|(other, _)| other != name);
                    self.definition.settings.push((name.clone(), value.clone()));
                }
                Ok(())
            }
            ElementAction::Reset(names) => names.iter().try_for_each(|name| {
                check_setting(name)?;
                self.definition.settings.retain(|(other, _)| other != name);
                Ok(())
            }),
        }
    }

    fn add_element(
        &mut self,
        (kind, name): (ElementKind, &String),
        text: &str,
        spot: Option<&Spot>,
        is_optional: bool,
    ) -> Result<(), TableError> {
        if self.place(kind, name).is_some() {
            if is_optional {
                return Ok(());
            }
            return Err(wrong(kind, name, "the table has one of this name"));
        }
        check_text(kind, name, text)?;
        let elements = &self.definition.clauses.elements;
        let is_of_kind = |text: &String| named(text).is_some_and(|(it, _)| it == kind);
        let at = match spot {
            Some(Spot::First) => elements.iter().position(is_of_kind).unwrap_or(elements.len()),
            Some(Spot::After(other)) => match self.place(kind, other) {
                Some(at) => at + 1,
                None => return Err(wrong(kind, other, "the table does not have it")),
            },
            None => elements.iter().rposition(is_of_kind).map_or(elements.len(), |at| at + 1),
        };
        self.definition.clauses.elements.insert(at, text.to_owned());
        self.added.push((kind, name.clone()));
        Ok(())
    }

    /// Where an element is in the list.
    fn place(&self, kind: ElementKind, name: &str) -> Option<usize> {
        let is_it = |text: &String| named(text).is_some_and(|it| it.0 == kind && it.1 == name);
        self.definition.clauses.elements.iter().position(is_it)
    }
}

/// The kind of an element, and its name.
fn named(text: &str) -> Option<(ElementKind, String)> {
    let mut cursor = Cursor::new(text).ok()?;
    let kinds = [ElementKind::Constraint, ElementKind::Index, ElementKind::Projection];
    let kind = kinds.into_iter().find(|kind| cursor.take_words(&[kind.word()]))?;
    Some((kind, cursor.expect_name("a name").ok()?))
}

/// An error if the text is not an element of its kind.
fn check_text(kind: ElementKind, name: &str, text: &str) -> Result<(), TableError> {
    let mut cursor = Cursor::new(text)?;
    cursor.expect_words(&[kind.word()])?;
    cursor.expect_name("a name")?;
    match kind {
        ElementKind::Constraint if !cursor.take_words(&["ASSUME"]) => {
            cursor.expect_words(&["CHECK"])?;
        }
        ElementKind::Index => {
            parse_index(text)?;
        }
        ElementKind::Projection if !cursor.at_symbol("(") => {
            return Err(cursor.expected("a query in parentheses"));
        }
        ElementKind::Constraint | ElementKind::Projection => {}
    }
    if cursor.skip_until(|_| false)?.is_empty() {
        return Err(wrong(kind, name, "its expression is missing"));
    }
    Ok(())
}

fn check_setting(name: &str) -> Result<(), TableError> {
    if !is_setting(name) {
        return Err(TableError::Definition {
            clause: format!("the setting {name}"),
            problem: "ClickHouse's tables do not have it".to_owned(),
        });
    }
    if FIXED_SETTINGS.contains(&name) {
        return Err(TableError::Definition {
            clause: format!("the setting {name}"),
            problem: "existing parts were written by it".to_owned(),
        });
    }
    Ok(())
}

fn wrong(kind: ElementKind, name: &str, problem: &str) -> TableError {
    TableError::Definition {
        clause: format!("{} `{name}`", kind.word()),
        problem: problem.to_owned(),
    }
}
