//! What helps while typing: completion of names, colours, and the decision whether Enter ends the entry.

use super::directive::{self, DIRECTIVES};
use super::highlight::{self, KEYWORDS};
use crate::query::statement;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};
use std::borrow::Cow;
use tambour::sql::Session;

/// Tables of the system schema.
const SYSTEM_TABLES: [&str; 6] = [
    "system.codecs",
    "system.columns",
    "system.detached_parts",
    "system.merges",
    "system.mutations",
    "system.parts",
];

/// The helper of the line editor.
#[derive(Debug)]
pub(super) struct Assistant {
    /// Names of tables and columns, as they must be written.
    names: Vec<String>,
    functions: Vec<String>,
    colors: bool,
}

impl Assistant {
    pub(super) fn new(session: &Session) -> Self {
        let mut names: Vec<String> = SYSTEM_TABLES.map(str::to_owned).to_vec();
        for (name, table) in session.tables() {
            names.extend(table.columns().iter().map(|column| quoted(&column.name)));
            names.push(quoted(&name));
        }
        names.sort_unstable();
        names.dedup();
        let choice = anstream::AutoStream::choice(&std::io::stdout());
        Self {
            names,
            functions: session.function_names(),
            colors: choice != anstream::ColorChoice::Never,
        }
    }

    /// Candidates for a word, in the order: names, keywords, functions.
    fn candidates(&self, word: &str) -> Vec<Pair> {
        let plain = |text: &str| Pair { display: text.to_owned(), replacement: text.to_owned() };
        let starts = |text: &&str| {
            text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        let names = self
            .names
            .iter()
            .map(String::as_str)
            .filter(|name| starts(name) || starts(&name.trim_matches('"')));
        let upper = word.chars().any(char::is_uppercase) || word.is_empty();
        let keywords =
            KEYWORDS.iter().copied().filter(starts).map(|keyword| {
                if upper { keyword.to_owned() } else { keyword.to_ascii_lowercase() }
            });
        let functions = self
            .functions
            .iter()
            .map(String::as_str)
            .filter(starts)
            .map(|name| Pair { display: name.to_owned(), replacement: format!("{name}(") });
        names.map(plain).chain(keywords.map(|keyword| plain(&keyword))).chain(functions).collect()
    }
}

/// A name as SQL takes it: in quotes unless it is letters, digits and underscores.
fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Where the word before the cursor begins.
fn word_start(line: &str, position: usize) -> usize {
    let before = line.get(..position).unwrap_or(line);
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '"';
    before
        .char_indices()
        .rev()
        .take_while(|(_, c)| part(*c))
        .last()
        .map_or(before.len(), |(at, _)| at)
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let start = word_start(line, position);
        let word = line.get(start..position).unwrap_or_default();
        if start == 0 && word.starts_with('.') {
            let names = DIRECTIVES.iter().filter_map(|(text, _)| text.split(' ').next());
            let fitting = names.filter(|name| name.starts_with(word));
            let pairs =
                fitting.map(|name| Pair { display: name.to_owned(), replacement: name.to_owned() });
            return Ok((0, pairs.collect()));
        }
        // After a table's name and a dot, only the column is completed.
        if let Some((qualifier, column)) = word.rsplit_once('.') {
            let whole = self.candidates(word);
            if !whole.is_empty() {
                return Ok((start, whole));
            }
            return Ok((start + qualifier.len() + 1, self.candidates(column)));
        }
        Ok((start, self.candidates(word)))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_whole(context.input()) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

fn is_whole(text: &str) -> bool {
    text.trim().is_empty()
        || directive::is_one(text)
        || text.trim_end().ends_with("\\G")
        || statement::is_complete(text)
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if self.colors { highlight::highlight(line).into() } else { line.into() }
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        self.colors
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Helper for Assistant {}

#[cfg(test)]
mod tests {
    use super::*;

    fn assistant() -> Assistant {
        Assistant {
            names: ["delay", "\"Flight Date\"", "flights", "system.parts"]
                .map(str::to_owned)
                .to_vec(),
            functions: vec!["first_value".to_owned(), "toDate".to_owned()],
            colors: false,
        }
    }

    fn complete(line: &str) -> (usize, Vec<String>) {
        let history = rustyline::history::DefaultHistory::new();
        let (start, pairs) =
            assistant().complete(line, line.len(), &Context::new(&history)).unwrap();
        (start, pairs.into_iter().map(|pair| pair.replacement).collect())
    }

    #[test]
    fn names_keywords_functions() {
        assert_eq!(
            complete("select de"),
            (7, vec!["delay".into(), "desc".into(), "describe".into()])
        );
        assert_eq!(complete("SELECT todA"), (7, vec!["toDate(".into()]));
        assert_eq!(complete("select fli"), (7, vec!["\"Flight Date\"".into(), "flights".into()]));
        assert_eq!(complete("select flights.del"), (15, vec!["delay".into()]));
        assert_eq!(complete("select * from system.p"), (14, vec!["system.parts".into()]));
        assert_eq!(complete(".he"), (0, vec![".help".into()]));
    }

    #[test]
    fn entries_end_where_statements_do() {
        for text in ["", "select 1;", ".tables", "select 1\\G", "exit"] {
            assert!(is_whole(text), "{text}");
        }
        for text in ["select 1", "select ';", "select 1; select"] {
            assert!(!is_whole(text), "{text}");
        }
    }
}
