//! The commands of ALTER TABLE that concern neither columns nor parts: constraints, skip indexes, projections and settings. Parsing
//! only.

use super::alter::{Spot, at_spot, optional, refused};
use super::quoted_name;
use super::token::{Cursor, Kind};
use crate::TableError;

/// What stands in the list of columns and is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// `CONSTRAINT`.
    Constraint,
    /// `INDEX`.
    Index,
    /// `PROJECTION`.
    Projection,
}

impl ElementKind {
    /// The word that begins it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Constraint => "CONSTRAINT",
            Self::Index => "INDEX",
            Self::Projection => "PROJECTION",
        }
    }
}

/// What happens to an element or to settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementAction {
    /// `ADD`: its name, the whole element, and where it goes.
    Add(ElementKind, String, String, Option<Spot>),
    /// `DROP`.
    Drop(ElementKind, String),
    /// `MODIFY SETTING`: names and values.
    Set(Vec<(String, String)>),
    /// `RESET SETTING`.
    Reset(Vec<String>),
}

/// A command about them, and whether it is `IF [NOT] EXISTS`; `None` if the words are another one's.
pub(super) fn command(cursor: &mut Cursor) -> Result<Option<(ElementAction, bool)>, TableError> {
    if cursor.take_words(&["MODIFY", "SETTING"]) {
        let mut settings = Vec::new();
        loop {
            settings.push(super::create::setting(cursor)?);
            if !at_next_name(cursor) {
                return Ok(Some((ElementAction::Set(settings), false)));
            }
            cursor.take_symbol(",");
        }
    }
    if cursor.take_words(&["RESET", "SETTING"]) {
        let mut names = Vec::new();
        loop {
            names.push(cursor.expect_name("a setting")?);
            if !at_next_name(cursor) {
                return Ok(Some((ElementAction::Reset(names), false)));
            }
            cursor.take_symbol(",");
        }
    }
    for kind in [ElementKind::Constraint, ElementKind::Index, ElementKind::Projection] {
        if cursor.take_words(&["DROP", kind.word()]) {
            let is_optional = optional(cursor, &["EXISTS"])?;
            let name = cursor.expect_name("a name")?;
            if cursor.at_word("IN") {
                let clause = format!("DROP {} ... IN PARTITION", kind.word());
                return Err(refused(&clause, "it is dropped in the whole table"));
            }
            return Ok(Some((ElementAction::Drop(kind, name), is_optional)));
        }
        if cursor.take_words(&["ADD", kind.word()]) {
            let is_optional = optional(cursor, &["NOT", "EXISTS"])?;
            let name = cursor.expect_name("a name")?;
            let text = cursor.skip_until(|cursor| at_end(cursor) || at_spot(cursor))?;
            if text.is_empty() {
                return Err(cursor.expected("its definition"));
            }
            let element = format!("{} {} {text}", kind.word(), quoted_name(&name));
            let spot = super::alter::spot(cursor)?;
            return Ok(Some((ElementAction::Add(kind, name, element, spot), is_optional)));
        }
    }
    Ok(None)
}

/// True at a comma after which a name stands that begins no other command.
fn at_next_name(cursor: &Cursor) -> bool {
    let next = cursor.peek_ahead(1);
    let after = cursor.text(cursor.peek_ahead(2));
    cursor.at_symbol(",")
        && matches!(next.kind, Kind::Word | Kind::Quoted)
        && matches!(after, "=" | "," | ";" | "")
}

/// True where a command ends: at the end, and at a comma, which stands outside of parentheses here.
fn at_end(cursor: &Cursor) -> bool {
    cursor.at_symbol(",") || cursor.at_symbol(";")
}

#[cfg(test)]
mod tests {
    use super::super::alter::{Action, Alteration, Spot};
    use super::{ElementAction, ElementKind};

    #[test]
    fn elements_and_settings_are_read() {
        let statement = Alteration::parse(
            "ALTER TABLE t ADD CONSTRAINT IF NOT EXISTS c CHECK a IN (1, 2) AND b > 0, DROP INDEX i, MODIFY SETTING x = 5, y = 'z', \
             ADD INDEX j (a, lower(b)) TYPE set(10) GRANULARITY 2 AFTER `k l`, RESET SETTING x, y, DROP PROJECTION IF EXISTS p",
        );
        let commands = statement.unwrap().unwrap().commands;
        let text = |it: &str| it.to_owned();
        let expected = [
            ElementAction::Add(
                ElementKind::Constraint,
                text("c"),
                text("CONSTRAINT c CHECK a IN (1, 2) AND b > 0"),
                None,
            ),
            ElementAction::Drop(ElementKind::Index, text("i")),
            ElementAction::Set(vec![(text("x"), text("5")), (text("y"), text("z"))]),
            ElementAction::Add(
                ElementKind::Index,
                text("j"),
                text("INDEX j (a, lower(b)) TYPE set(10) GRANULARITY 2"),
                Some(Spot::After(text("k l"))),
            ),
            ElementAction::Reset(vec![text("x"), text("y")]),
            ElementAction::Drop(ElementKind::Projection, text("p")),
        ];
        let found: Vec<Action> = commands.iter().map(|it| it.action.clone()).collect();
        assert_eq!(found, expected.map(Action::Element));
        let optional: Vec<bool> = commands.iter().map(|it| it.is_optional).collect();
        assert_eq!(optional, [true, false, false, false, false, true]);
        for bad in
            ["ADD INDEX", "ADD CONSTRAINT c", "MODIFY SETTING x", "DROP INDEX i IN PARTITION 1"]
        {
            assert!(Alteration::parse(&format!("ALTER TABLE t {bad}")).is_err(), "{bad}");
        }
    }
}
