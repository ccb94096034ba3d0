//! The commands of ALTER TABLE that concern parts as a whole: parsing only.

use super::alter::refused;
use super::token::{Cursor, Kind};
use crate::TableError;

/// What happens to parts as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartsAction {
    /// `DROP PART` and `DROP PARTITION`.
    Drop(Selection),
    /// `DETACH`: into the directory `detached/`.
    Detach(Selection),
    /// `ATTACH`: from there.
    Attach(Selection),
    /// `DROP DETACHED`: those that are there.
    DropDetached(Selection),
    /// `ATTACH PARTITION … FROM`: those of another table, which keeps them.
    AttachFrom(Selection, String),
    /// `REPLACE PARTITION … FROM`: they take the place of those of the partition.
    Replace(Selection, String),
    /// `MOVE PARTITION … TO TABLE`: into another table.
    Move(Selection, String),
}

/// Some of a table's parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The part of this name.
    Part(String),
    /// Those of a partition, by the texts of its values, `202402`, `('a', 3)`; `None` is NULL.
    Partition(Vec<Option<String>>),
    /// Those of a partition, by what the names of its parts begin with.
    PartitionId(String),
    /// All.
    All,
}

impl Selection {
    /// Reads `PARTITION …`.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut cursor = Cursor::new(text)?;
        let selection = selection(&mut cursor)?;
        cursor.expect_end()?;
        Ok(selection)
    }
}

/// A command about parts; `None` if the words are another one's.
pub(super) fn command(cursor: &mut Cursor) -> Result<Option<PartsAction>, TableError> {
    if cursor.take_words(&["DROP", "DETACHED"]) {
        return selection(cursor).map(PartsAction::DropDetached).map(Some);
    }
    let verbs = ["DROP", "DETACH", "ATTACH", "REPLACE", "MOVE"];
    let is_at =
        |verb: &str| cursor.at_words(&[verb, "PART"]) || cursor.at_words(&[verb, "PARTITION"]);
    let Some(verb) = verbs.into_iter().find(|verb| is_at(verb)) else { return Ok(None) };
    cursor.expect_words(&[verb])?;
    let selection = selection(cursor)?;
    Ok(Some(match verb {
        "DROP" => PartsAction::Drop(selection),
        "DETACH" => PartsAction::Detach(selection),
        "ATTACH" if !cursor.at_word("FROM") => PartsAction::Attach(selection),
        "MOVE" => {
            if cursor.take_words(&["TO", "DISK"]) || cursor.take_words(&["TO", "VOLUME"]) {
                return Err(refused("MOVE to another disk", "a table is in one directory"));
            }
            cursor.expect_words(&["TO", "TABLE"])?;
            PartsAction::Move(whole(verb, selection)?, table(cursor)?)
        }
        _ => {
            cursor.expect_words(&["FROM"])?;
            let selection = whole(verb, selection)?;
            let from = table(cursor)?;
            if verb == "ATTACH" {
                PartsAction::AttachFrom(selection, from)
            } else {
                PartsAction::Replace(selection, from)
            }
        }
    }))
}

/// Between tables, partitions go.
fn whole(verb: &str, selection: Selection) -> Result<Selection, TableError> {
    match selection {
        Selection::Part(_) => {
            Err(refused(&format!("{verb} PART with another table"), "it takes a partition"))
        }
        selection => Ok(selection),
    }
}

/// The name of another table of the database.
fn table(cursor: &mut Cursor) -> Result<String, TableError> {
    let name = cursor.expect_name("the table's name")?;
    if !cursor.take_symbol(".") {
        return Ok(name);
    }
    let table = cursor.expect_name("the table's name")?;
    if name == "default" {
        return Ok(table);
    }
    Err(refused(&format!("the table {name}.{table}"), "only tables of the database default"))
}

/// `PART 'name'`, `PARTITION value`, `PARTITION ID 'id'`, `PARTITION ALL`.
pub(super) fn selection(cursor: &mut Cursor) -> Result<Selection, TableError> {
    if cursor.take_words(&["PART"]) {
        return Ok(Selection::Part(cursor.expect_text("the name of a part in quotes")?));
    }
    cursor.expect_words(&["PARTITION"])?;
    if cursor.take_words(&["ALL"]) {
        return Ok(Selection::All);
    }
    if cursor.take_words(&["ID"]) {
        return Ok(Selection::PartitionId(cursor.expect_text("the ID of a partition in quotes")?));
    }
    literals(cursor).map(Selection::Partition)
}

/// The texts of the literals in `202402`, `('a', 3)`, `tuple('a')` or `tuple()`.
fn literals(cursor: &mut Cursor) -> Result<Vec<Option<String>>, TableError> {
    let is_tuple = cursor.take_words(&["tuple"]);
    if !is_tuple && !cursor.at_symbol("(") {
        return Ok(vec![literal(cursor)?]);
    }
    cursor.expect_symbol("(")?;
    let mut values = Vec::new();
    while !cursor.take_symbol(")") {
        if !values.is_empty() {
            cursor.expect_symbol(",")?;
        }
        values.push(literal(cursor)?);
    }
    Ok(values)
}

fn literal(cursor: &mut Cursor) -> Result<Option<String>, TableError> {
    let sign = if cursor.take_symbol("-") { "-" } else { "" };
    let token = cursor.peek();
    let is_word = ["true", "false"].iter().any(|word| cursor.at_word(word));
    match token.kind {
        Kind::Text if sign.is_empty() => cursor.expect_text("a value").map(Some),
        Kind::Number => {
            cursor.advance();
            Ok(Some(format!("{sign}{}", cursor.text(token))))
        }
        Kind::Word if cursor.at_word("NULL") && sign.is_empty() => {
            cursor.advance();
            Ok(None)
        }
        Kind::Word if is_word && sign.is_empty() => {
            cursor.advance();
            Ok(Some(cursor.text(token).to_owned()))
        }
        _ => Err(cursor.expected("a number or a text in quotes")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::alter::{Action, Alteration};
    use super::*;

    fn parse(sql: &str) -> Vec<super::super::alter::Alter> {
        Alteration::parse(sql).unwrap().unwrap().commands
    }

    #[test]
    fn partitions_are_read() {
        let selected = |text: &str| {
            let mut commands = parse(&format!("ALTER TABLE t DROP {text}"));
            let Action::Parts(PartsAction::Drop(selection)) = commands.remove(0).action else {
                panic!()
            };
            selection
        };
        let values = |values: &[&str]| {
            Selection::Partition(values.iter().map(|it| Some((*it).to_owned())).collect())
        };
        assert_eq!(selected("PARTITION 202402"), values(&["202402"]));
        assert_eq!(selected("PARTITION '2024-02-29'"), values(&["2024-02-29"]));
        assert_eq!(selected("PARTITION ('it''s', -3)"), values(&["it's", "-3"]));
        assert_eq!(selected("PARTITION tuple()"), values(&[]));
        assert_eq!(selected("PARTITION ALL"), Selection::All);
        assert_eq!(selected("PARTITION ID 'all'"), Selection::PartitionId("all".to_owned()));
        assert_eq!(selected("PART 'all_1_1_0'"), Selection::Part("all_1_1_0".to_owned()));
        assert_eq!(selected("PARTITION NULL"), Selection::Partition(vec![None]));
        assert!(Alteration::parse("ALTER TABLE t DROP PARTITION toYYYYMM('2024-01-01')").is_err());
    }

    #[test]
    fn commands_are_read() {
        let action = |text: &str| {
            let mut commands = parse(&format!("ALTER TABLE t {text}"));
            let Action::Parts(action) = commands.remove(0).action else { panic!() };
            action
        };
        let part = Selection::Part("a".to_owned());
        assert_eq!(action("DETACH PART 'a'"), PartsAction::Detach(part.clone()));
        assert_eq!(action("ATTACH PART 'a'"), PartsAction::Attach(part.clone()));
        assert_eq!(action("DROP DETACHED PART 'a'"), PartsAction::DropDetached(part));
        let other = || "u".to_owned();
        assert_eq!(
            action("ATTACH PARTITION ALL FROM u"),
            PartsAction::AttachFrom(Selection::All, other())
        );
        assert_eq!(
            action("REPLACE PARTITION ALL FROM default.u"),
            PartsAction::Replace(Selection::All, other())
        );
        assert_eq!(
            action("MOVE PARTITION ALL TO TABLE u"),
            PartsAction::Move(Selection::All, other())
        );
        for bad in [
            "ATTACH PART 'a' FROM u",
            "MOVE PARTITION 1 TO DISK 'd'",
            "REPLACE PARTITION 1",
            "DETACH 1",
        ] {
            assert!(Alteration::parse(&format!("ALTER TABLE t {bad}")).is_err(), "{bad}");
        }
    }
}
