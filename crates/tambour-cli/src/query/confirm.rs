//! The question before a statement removes all rows of a table.

use super::Style;
use crate::exit::Failure;
use std::io::{BufRead, Write};

/// Asks on a terminal if a statement is DROP or TRUNCATE; an error if the answer is not yes.
pub(crate) fn removal(statement: &str, style: Style) -> anyhow::Result<()> {
    if !style.asks || !removes(statement) {
        return Ok(());
    }
    let mut terminal = anstream::stderr();
    write!(terminal, "{}\nThis cannot be undone. Type yes to go on: ", statement.trim())?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if answer.trim().eq_ignore_ascii_case("yes") {
        return Ok(());
    }
    Err(Failure::Usage("nothing was removed; the answer was not yes".to_owned()).into())
}

/// True if the statement begins with DROP or TRUNCATE.
fn removes(statement: &str) -> bool {
    let code = super::statement::Scanner::new(statement).filter_map(|(_, character, part)| {
        let is_comment = matches!(
            part,
            super::statement::Part::LineComment | super::statement::Part::BlockComment
        );
        (!is_comment).then_some(character)
    });
    let code: String = code.skip_while(|it| it.is_whitespace()).take(9).collect();
    let word = code.split(|it: char| !it.is_ascii_alphabetic()).next().unwrap_or_default();
    ["DROP", "TRUNCATE"].iter().any(|it| it.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_removes_is_asked_about() {
        for statement in
            ["DROP TABLE t", "  drop table t", "/* a */ TRUNCATE t", "-- x\nTruncate\tt"]
        {
            assert!(removes(statement), "{statement}");
        }
        for statement in ["SELECT 'DROP'", "DROPS", "-- DROP TABLE t\nSELECT 1", "", "TRUNCATES t"]
        {
            assert!(!removes(statement), "{statement}");
        }
    }
}
