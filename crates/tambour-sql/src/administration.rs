//! Statements about a running server: what there is in their place here.

use crate::SqlError;
use tambour_table::schema::token::Cursor;

/// The words that such a statement begins with, and what to do.
const STATEMENTS: [(&[&str], &str); 28] = [
    (
        &["SYSTEM", "STOP", "MERGES"],
        "parts are merged by OPTIMIZE, and by tambour optimize --watch until that process ends",
    ),
    (
        &["SYSTEM", "START", "MERGES"],
        "parts are merged by OPTIMIZE, and by tambour optimize --watch while that process runs",
    ),
    (&["SYSTEM"], "it is about a running server; nothing runs here between statements"),
    (&["KILL", "MUTATION"], "end the process: system.mutations has its process_id"),
    (&["KILL"], "end the process that runs it: a statement that is cut off changes nothing"),
    (&["DETACH"], "a table is a directory: move it out of the directory of the database"),
    (&["ATTACH"], "a table is a directory: move it into the directory of the database"),
    (&["UNDROP"], "DROP TABLE removes the files at once"),
    (&["BACKUP"], "a table is a directory: copy it while nothing writes to it"),
    (&["RESTORE"], "give the directory of the backup in the place of a table to read it"),
    (&["WATCH"], "there are no live views"),
    (&["CREATE", "DATABASE"], "a database is a directory: make it, and name it by --database"),
    (&["DROP", "DATABASE"], "a database is a directory: remove it"),
    (&["RENAME", "DATABASE"], "a database is a directory: rename it"),
    (&["ALTER", "DATABASE"], "a database is a directory, which has no settings"),
    (&["CREATE", "MATERIALIZED"], "a view is a name for a query, and lives as long as the session"),
    (&["CREATE", "DICTIONARY"], "there are tables and views: a table can be joined"),
    (&["CREATE", "FUNCTION"], "functions are those of system.functions"),
    (&["CREATE", "USER"], USERS),
    (&["CREATE", "ROLE"], USERS),
    (&["CREATE", "QUOTA"], USERS),
    (&["CREATE", "ROW"], USERS),
    (&["ALTER", "USER"], USERS),
    (&["ALTER", "ROLE"], USERS),
    (&["GRANT"], USERS),
    (&["REVOKE"], USERS),
    (&["BEGIN", "TRANSACTION"], STATEMENT),
    (&["START", "TRANSACTION"], STATEMENT),
];
const USERS: &str = "there are no users here: the permissions of the files hold";
const STATEMENT: &str = "each statement happens as a whole or not at all, and by itself";

/// An error if a statement is about a running server.
pub(crate) fn check(text: &str) -> Result<(), SqlError> {
    let start = text.trim_start();
    let begins =
        |word: &str| start.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word));
    let is_comment = || ["--", "/*", "#"].iter().any(|comment| start.starts_with(comment));
    if !is_comment()
        && !STATEMENTS.iter().any(|(words, _)| words.first().is_some_and(|it| begins(it)))
    {
        return Ok(());
    }
    // What cannot be read is another one's to say.
    let Ok(cursor) = Cursor::new(text) else { return Ok(()) };
    match STATEMENTS.iter().find(|(words, _)| cursor.at_words(words)) {
        Some((words, reason)) => Err(SqlError::refused(words.join(" "), *reason)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_is_about_a_server_is_told_apart() {
        let told = |text: &str| check(text).map_err(|error| error.to_string());
        let error = told("-- x\nsystem  stop merges t").unwrap_err();
        assert!(
            error.starts_with("SYSTEM STOP MERGES is not supported: parts are merged"),
            "{error}"
        );
        assert!(told("SYSTEM RELOAD CONFIG").unwrap_err().starts_with("SYSTEM is not supported"));
        for other in
            ["SELECT 1", "DROP TABLE t", "SYSTEMS", "ALTER TABLE t DETACH PART 'x'", "'", ""]
        {
            assert_eq!(told(other), Ok(()), "{other}");
        }
    }
}
