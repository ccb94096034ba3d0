//! Where a statement ends: cuts text at semicolons that are not inside quotes or comments.

use tambour::sql::split_data;

/// What a character is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Words, numbers, operators, space.
    Code,
    /// A quoted text or name, quotes included; the character that ends it.
    Quote(char),
    /// From `--`, `# ` or `#!` to the end of the line.
    LineComment,
    /// From `/*` to `*/`.
    BlockComment,
}

/// Walks over the characters of SQL text, telling what each is part of.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    part: Part,
    /// Characters that belong to the current part whatever they are: the second of `''`, of `\'`, of `*/`.
    forced: usize,
    /// The part ends after this character.
    closing: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, part: Part::Code, forced: 0, closing: false }
    }

    /// What the text is in the middle of, after its last character.
    pub(crate) fn part(&self) -> Part {
        if self.closing { Part::Code } else { self.part }
    }
}

impl Iterator for Scanner<'_> {
    /// Offset, character, and what it is part of.
    type Item = (usize, char, Part);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..)?;
        let c = rest.chars().next()?;
        let at = self.at;
        self.at += c.len_utf8();
        if self.forced > 0 {
            self.forced -= 1;
            return Some((at, c, self.part));
        }
        if std::mem::take(&mut self.closing) {
            self.part = Part::Code;
        }
        match self.part {
            Part::Code => match c {
                '\'' | '"' | '`' => self.part = Part::Quote(c),
                '-' if rest.starts_with("--") => (self.part, self.forced) = (Part::LineComment, 1),
                '#' if rest.starts_with("# ") || rest.starts_with("#!") => {
                    (self.part, self.forced) = (Part::LineComment, 1);
                }
                '/' if rest.starts_with("/*") => (self.part, self.forced) = (Part::BlockComment, 1),
                _ => {}
            },
            Part::Quote(_) if c == '\\' => self.forced = 1,
            Part::Quote(end) if c == end => {
                let doubled = rest.chars().nth(1) == Some(end);
                (self.forced, self.closing) = (usize::from(doubled), !doubled);
            }
            Part::LineComment if c == '\n' => self.closing = true,
            Part::BlockComment if rest.starts_with("*/") => (self.forced, self.closing) = (1, true),
            Part::Quote(_) | Part::LineComment | Part::BlockComment => {}
        }
        Some((at, c, self.part))
    }
}

/// The statements of a text, without their semicolons, without those that are only space and comments. Data after an INSERT go on
/// to the end of the text, whatever is in them.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut statements = Vec::new();
    let (mut start, mut blank) = (0, true);
    for (at, c, part) in Scanner::new(text) {
        if part == Part::Code && c == ';' {
            if !blank {
                statements.extend(text.get(start..at).map(str::trim));
            }
            (start, blank) = (at + 1, true);
        } else if blank && matches!(part, Part::Code | Part::Quote(_)) && !c.is_whitespace() {
            blank = false;
            let rest = text.get(start..).unwrap_or_default();
            if split_data(rest).is_some() {
                statements.push(rest.trim_start());
                return statements;
            }
        }
    }
    if !blank {
        statements.extend(text.get(start..).map(str::trim));
    }
    statements
}

/// True if the text ends with a semicolon that ends a statement (only space and comments after it).
pub(crate) fn is_complete(text: &str) -> bool {
    let mut complete = false;
    let mut scanner = Scanner::new(text);
    for (_, c, part) in scanner.by_ref() {
        match part {
            Part::Code if c == ';' => complete = true,
            Part::Code if !c.is_whitespace() => complete = false,
            Part::Quote(_) => complete = false,
            Part::Code | Part::LineComment | Part::BlockComment => {}
        }
    }
    complete && !matches!(scanner.part(), Part::BlockComment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_in_quotes_and_comments_do_not_count() {
        assert_eq!(split("a; b"), ["a", "b"]);
        assert_eq!(
            split("select ';' ; -- one; two\n select `;`, \";\""),
            ["select ';'", "-- one; two\n select `;`, \";\""]
        );
        assert_eq!(split("select 'it''s; \\'; ' ;"), ["select 'it''s; \\'; '"]);
        assert_eq!(split("select /* ; */ 1; /* nothing */ ; -- x"), ["select /* ; */ 1"]);
        assert_eq!(
            split("select 1 # it's; drop\n; select '# ;' #! x;"),
            ["select 1 # it's; drop", "select '# ;' #! x;"]
        );
        assert_eq!(split("  ;; "), Vec::<&str>::new());
        assert_eq!(split("select 'open; quote"), ["select 'open; quote"]);
    }

    #[test]
    fn data_are_not_statements() {
        let data = "INSERT INTO t FORMAT TSV\n1\tx; DROP TABLE t;\n it's\t\n";
        assert_eq!(split(&format!("SELECT 1; {data}")), ["SELECT 1", data]);
        assert_eq!(
            split("INSERT INTO t FORMAT TSV; SELECT 1"),
            ["INSERT INTO t FORMAT TSV", "SELECT 1"]
        );
    }

    #[test]
    fn completeness() {
        assert!(is_complete("select 1;"));
        assert!(is_complete("select 1; -- done"));
        assert!(!is_complete("select 1"));
        assert!(!is_complete("select ';"));
        assert!(!is_complete("select 1; select 2"));
        assert!(!is_complete("select 1; /* open"));
        assert!(is_complete("select '\u{e4};';"));
    }
}
