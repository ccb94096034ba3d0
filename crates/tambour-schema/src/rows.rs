//! The commands of ALTER TABLE that concern rows: what they are, and where those stand that SQL reads. Parsing only.

use super::alter::refused;
use super::create::column_name;
use super::parts::selection;
use super::token::Cursor;
use crate::TableError;
use std::ops::Range;

/// What happens to rows, of all parts or of those of a partition, by the text `PARTITION …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowsAction {
    /// `DELETE` or `UPDATE`, which are SQL: where the command stands in the statement.
    Mutate(Range<usize>),
    /// `MATERIALIZE COLUMN`: the values that are computed are stored.
    Materialize(String, Option<String>),
    /// `APPLY DELETED MASK`: rows that are hidden go.
    ApplyMask(Option<String>),
    /// `MATERIALIZE TTL`: what has expired goes.
    Expire(Option<String>),
}

/// A command about rows; `None` if the words are another one's.
pub(super) fn command(cursor: &mut Cursor) -> Result<Option<RowsAction>, TableError> {
    let start = cursor.peek().start;
    if cursor.at_any_word(&["DELETE", "UPDATE"]) {
        // Commas before WHERE are between assignments.
        cursor.skip_until(|cursor| cursor.at_word("WHERE") || cursor.at_symbol(";"))?;
        cursor.skip_until(|cursor| cursor.at_symbol(",") || cursor.at_symbol(";"))?;
        let end = start + cursor.since(start).len();
        return Ok(Some(RowsAction::Mutate(start..end)));
    }
    if cursor.take_words(&["APPLY", "DELETED", "MASK"]) {
        return in_some(cursor).map(RowsAction::ApplyMask).map(Some);
    }
    if cursor.take_words(&["MATERIALIZE", "TTL"]) {
        return in_some(cursor).map(RowsAction::Expire).map(Some);
    }
    if cursor.take_words(&["MATERIALIZE", "COLUMN"]) {
        let name = column_name(cursor)?;
        return Ok(Some(RowsAction::Materialize(name, in_some(cursor)?)));
    }
    for verb in ["FREEZE", "UNFREEZE", "FETCH"] {
        if cursor.at_word(verb) {
            let reason = "a table is a directory: copy it while nothing writes to it";
            return Err(refused(&format!("ALTER TABLE ... {verb}"), reason));
        }
    }
    for element in ["INDEX", "PROJECTION", "STATISTICS"] {
        let verb = ["MATERIALIZE", "CLEAR"].into_iter().find(|it| cursor.at_words(&[it, element]));
        if let Some(verb) = verb {
            let reason =
                "no part has files of it that were written here: a server makes and removes them";
            return Err(refused(&format!("ALTER TABLE ... {verb} {element}"), reason));
        }
    }
    Ok(None)
}

/// What stands after IN.
fn in_some(cursor: &mut Cursor) -> Result<Option<String>, TableError> {
    if !cursor.take_words(&["IN"]) {
        return Ok(None);
    }
    let start = cursor.peek().start;
    selection(cursor)?;
    Ok(Some(cursor.since(start).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::alter::{Action, Alteration};
    use super::RowsAction;

    #[test]
    fn commands_and_their_places_are_read() {
        let sql = "ALTER TABLE t UPDATE a = f(1, 2), b = [1, 2] WHERE c IN (1, 2) AND d = 'x, DELETE', DELETE IN PARTITION 1 WHERE 1, \
                   (UPDATE a = 2 WHERE 1), MATERIALIZE COLUMN `n.a` IN PARTITION ID 'x', APPLY DELETED MASK, MATERIALIZE TTL ;";
        let commands = Alteration::parse(sql).unwrap().unwrap().commands;
        let mutation = |text: &str| {
            let start = sql.find(text).unwrap();
            RowsAction::Mutate(start..start + text.len())
        };
        let some = Some("PARTITION ID 'x'".to_owned());
        let expected = [
            mutation("UPDATE a = f(1, 2), b = [1, 2] WHERE c IN (1, 2) AND d = 'x, DELETE'"),
            mutation("DELETE IN PARTITION 1 WHERE 1"),
            mutation("UPDATE a = 2 WHERE 1"),
            RowsAction::Materialize("n.a".to_owned(), some),
            RowsAction::ApplyMask(None),
            RowsAction::Expire(None),
        ];
        let found: Vec<Action> = commands.iter().map(|it| it.action.clone()).collect();
        assert_eq!(found, expected.map(Action::Rows));
        for bad in ["MATERIALIZE COLUMN", "APPLY DELETED", "MATERIALIZE INDEX i", "DELETE WHERE (1"]
        {
            assert!(Alteration::parse(&format!("ALTER TABLE t {bad}")).is_err(), "{bad}");
        }
    }
}
