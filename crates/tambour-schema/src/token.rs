//! Words, names, numbers, texts and symbols of a statement, with the places where they stand.

use crate::TableError;

/// Most bytes of a statement.
pub const STATEMENT_MAX: usize = 1 << 20;
/// Deepest nesting of parentheses.
pub const DEPTH_MAX: usize = 100;

/// Most operators of a statement.
const OPERATORS_MAX: usize = 200;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A bare word: keyword or name.
    Word,
    /// A name in back or double quotes.
    Quoted,
    /// A number.
    Number,
    /// A text in single quotes.
    Text,
    /// One character that is none of the above (two for `!=`, `<=`, `>=`, `||`, `->`, `::`).
    Symbol,
    /// The end.
    End,
}

/// A token: what it is and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// The place of its first byte.
    pub start: usize,
    /// The place past its last byte.
    pub end: usize,
}

/// A reader over the tokens of a statement.
#[derive(Debug)]
pub struct Cursor<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    operators: usize,
}

/// A place to come back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    at: usize,
    depth: usize,
    operators: usize,
}

impl<'a> Cursor<'a> {
    /// Cuts a statement into tokens.
    pub fn new(source: &'a str) -> Result<Self, TableError> {
        let mut cursor = Self { source, tokens: Vec::new(), at: 0, depth: 0, operators: 0 };
        if source.len() > STATEMENT_MAX {
            return Err(cursor.limit(0, "length of the statement", STATEMENT_MAX));
        }
        let mut offset = 0;
        while let Some(token) = cursor.scan(offset)? {
            offset = token.end;
            cursor.tokens.push(token);
        }
        let end = source.len();
        cursor.tokens.push(Token { kind: Kind::End, start: end, end });
        Ok(cursor)
    }

    /// True for a statement that a server keeps: its columns are those of the parts.
    pub fn is_kept(&self) -> bool {
        let first = self.tokens.first().and_then(|it| self.source.get(it.start..it.end));
        first.is_some_and(|word| word.eq_ignore_ascii_case("ATTACH"))
    }

    /// The next token from an offset on, after blanks and comments.
    fn scan(&self, offset: usize) -> Result<Option<Token>, TableError> {
        let start = self.skip_blanks(offset)?;
        let rest = &self.source[start..];
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let length_while =
            |accept: fn(char) -> bool| rest.find(|c| !accept(c)).unwrap_or(rest.len());
        let (kind, length) = match first {
            '\'' => (Kind::Text, self.quoted_length(start, '\'', "the end of the text")?),
            '`' | '"' => (Kind::Quoted, self.quoted_length(start, first, "the end of the name")?),
            '0'..='9' => (Kind::Number, number_length(rest)),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                (Kind::Number, number_length(rest))
            }
            c if c.is_alphabetic() || c == '_' => {
                (Kind::Word, length_while(|c| c.is_alphanumeric() || c == '_' || c == '$'))
            }
            c => {
                let pairs = ["!=", "<>", "<=", ">=", "||", "->", "::", "=="];
                let is_pair = pairs.iter().any(|pair| rest.starts_with(pair));
                (Kind::Symbol, if is_pair { 2 } else { c.len_utf8() })
            }
        };
        Ok(Some(Token { kind, start, end: start + length }))
    }

    /// Where blanks and comments end.
    fn skip_blanks(&self, mut offset: usize) -> Result<usize, TableError> {
        loop {
            let rest = &self.source[offset..];
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\0');
            offset += rest.len() - trimmed.len();
            if trimmed.starts_with("--") || trimmed.starts_with("#!") || trimmed.starts_with("# ") {
                offset += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                let Some(length) = comment_length(trimmed) else {
                    return Err(self.error_at(offset, "`*/`", "the end of the statement"));
                };
                offset += length;
            } else {
                return Ok(offset);
            }
        }
    }

    /// Length of a quoted token: a backslash takes the next character along, a doubled quote is one of the text.
    fn quoted_length(
        &self,
        start: usize,
        quote: char,
        expected: &str,
    ) -> Result<usize, TableError> {
        let mut characters = self.source[start..].char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            if character == '\\' {
                characters.next();
            } else if character == quote {
                if characters.peek().is_some_and(|(_, next)| *next == quote) {
                    characters.next();
                } else {
                    return Ok(at + quote.len_utf8());
                }
            }
        }
        Err(self.error_at(start, expected, "the end of the statement"))
    }

    /// Where the cursor is.
    pub fn mark(&self) -> Mark {
        Mark { at: self.at, depth: self.depth, operators: self.operators }
    }
    /// Goes back.
    pub fn reset(&mut self, mark: Mark) {
        self.at = mark.at;
        self.depth = mark.depth;
        self.operators = mark.operators;
    }
    /// The token that comes next.
    pub fn peek(&self) -> Token {
        self.peek_ahead(0)
    }
    /// The token that comes after `count` others.
    pub fn peek_ahead(&self, count: usize) -> Token {
        let end = Token { kind: Kind::End, start: self.source.len(), end: self.source.len() };
        self.tokens.get(self.at + count).copied().unwrap_or(end)
    }
    /// Takes the next token.
    pub fn advance(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len().saturating_sub(1));
        token
    }
    /// The source of a token.
    pub fn text(&self, token: Token) -> &'a str {
        &self.source[token.start..token.end]
    }
    /// True if the next token is this keyword.
    pub fn at_word(&self, word: &str) -> bool {
        self.is_word(self.peek(), word)
    }
    /// True if a token is this keyword.
    pub fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind == Kind::Word && self.text(token).eq_ignore_ascii_case(word)
    }
    /// True if the next token is one of these keywords.
    pub fn at_any_word(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at_word(word))
    }
    /// True if the next token is one of these symbols.
    pub fn at_any_symbol(&self, symbols: &[&str]) -> bool {
        symbols.iter().any(|symbol| self.at_symbol(symbol))
    }
    /// True if these keywords come next.
    pub fn at_words(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(ahead, word)| self.is_word(self.peek_ahead(ahead), word))
    }
    /// Takes these keywords if they come next, all of them or none.
    pub fn take_words(&mut self, words: &[&str]) -> bool {
        let found = self.at_words(words);
        if found {
            self.at += words.len();
        }
        found
    }
    /// Takes these keywords.
    pub fn expect_words(&mut self, words: &[&str]) -> Result<(), TableError> {
        for word in words {
            if !self.take_words(&[word]) {
                return Err(self.expected(word));
            }
        }
        Ok(())
    }
    /// True if the next token is this symbol.
    pub fn at_symbol(&self, symbol: &str) -> bool {
        let token = self.peek();
        token.kind == Kind::Symbol && self.text(token) == symbol
    }
    /// Takes this symbol if it comes next.
    pub fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }
    /// Takes this symbol.
    pub fn expect_symbol(&mut self, symbol: &str) -> Result<(), TableError> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }
    /// Takes a name, quoted or not.
    pub fn expect_name(&mut self, what: &str) -> Result<String, TableError> {
        let token = self.peek();
        let text = self.text(token);
        let name = match token.kind {
            Kind::Word => text.to_owned(),
            Kind::Quoted => unquote(text),
            _ => return Err(self.expected(what)),
        };
        if name.is_empty() {
            return Err(self.expected(what));
        }
        self.advance();
        Ok(name)
    }
    /// Takes a text in single quotes; its value.
    pub fn expect_text(&mut self, what: &str) -> Result<String, TableError> {
        let token = self.peek();
        if token.kind != Kind::Text {
            return Err(self.expected(what));
        }
        self.advance();
        Ok(unquote(self.text(token)))
    }
    /// Takes the end, after a semicolon perhaps.
    pub fn expect_end(&mut self) -> Result<(), TableError> {
        while self.take_symbol(";") {}
        if self.peek().kind == Kind::End { Ok(()) } else { Err(self.expected("the end")) }
    }

    /// Takes tokens up to the first that `is_end` accepts outside of parentheses; their source.
    pub fn skip_until(&mut self, is_end: impl Fn(&Self) -> bool) -> Result<&'a str, TableError> {
        let start = self.peek().start;
        let mut end = start;
        let mut open: Vec<&str> = Vec::new();
        loop {
            let token = self.peek();
            if token.kind == Kind::End || open.is_empty() && is_end(self) {
                break;
            }
            if token.kind == Kind::Symbol {
                match self.text(token) {
                    "(" => open.push(")"),
                    "[" => open.push("]"),
                    "{" => open.push("}"),
                    close @ (")" | "]" | "}") => match open.pop() {
                        Some(wanted) if wanted == close => {}
                        Some(wanted) => return Err(self.expected(&format!("`{wanted}`"))),
                        None => break,
                    },
                    _ => {}
                }
                if open.len() > DEPTH_MAX {
                    return Err(self.limit(token.start, "nesting of parentheses", DEPTH_MAX));
                }
            }
            end = token.end;
            self.advance();
        }
        match open.pop() {
            Some(wanted) => Err(self.expected(&format!("`{wanted}`"))),
            None => Ok(self.source[start..end].trim()),
        }
    }

    /// Takes `( … )`; the source of what is inside.
    pub fn balanced(&mut self) -> Result<&'a str, TableError> {
        self.expect_symbol("(")?;
        let inside = self.skip_until(|cursor| cursor.at_symbol(")"))?;
        self.expect_symbol(")")?;
        Ok(inside)
    }

    /// The source from an offset up to the last token that was taken.
    pub fn since(&self, start: usize) -> &'a str {
        let end = self.at.checked_sub(1).and_then(|before| self.tokens.get(before));
        end.map_or("", |token| self.source.get(start..token.end).unwrap_or(""))
    }

    /// Goes one level deeper in an expression.
    pub fn enter(&mut self) -> Result<(), TableError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.limit(self.peek().start, "nesting of the expression", DEPTH_MAX));
        }
        Ok(())
    }
    /// Counts an operator: a long chain of them makes a tree as deep as it is long.
    pub fn count_operator(&mut self) -> Result<(), TableError> {
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            return Err(self.limit(self.peek().start, "number of operators", OPERATORS_MAX));
        }
        Ok(())
    }
    /// Comes back.
    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The error that something else was expected here.
    pub fn expected(&self, what: &str) -> TableError {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end".to_owned(),
            _ => format!("`{}`", self.text(token).chars().take(40).collect::<String>()),
        };
        self.error_at(token.start, what, &found)
    }
    fn error_at(&self, offset: usize, expected: &str, found: &str) -> TableError {
        let (line, column) = self.place(offset);
        TableError::Syntax { line, column, expected: expected.to_owned(), found: found.to_owned() }
    }
    fn limit(&self, offset: usize, what: &'static str, limit: usize) -> TableError {
        let (line, column) = self.place(offset);
        TableError::Nesting { line, column, what, limit }
    }
    /// Line and column of an offset, both from 1.
    fn place(&self, offset: usize) -> (usize, usize) {
        let before = &self.source[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// Length of a comment; comments may stand in comments.
fn comment_length(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        match bytes.get(at..at + 2)? {
            b"/*" => depth += 1,
            b"*/" if depth == 1 => return Some(at + 2),
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
    }
}

/// Length of a number: digits, a point, an exponent, or `0x…`.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        let after_exponent = length > 0 && matches!(bytes[length - 1], b'e' | b'E');
        let is_hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
        let is_part = byte.is_ascii_alphanumeric()
            || matches!(byte, b'.' | b'_')
            || matches!(byte, b'+' | b'-') && after_exponent && !is_hexadecimal;
        if !is_part {
            break;
        }
        length += 1;
    }
    length
}

/// The value of a quoted token: without quotes, escapes resolved as ClickHouse does.
pub fn unquote(token: &str) -> String {
    let quote = token.chars().next().unwrap_or('\'');
    let inside = token.get(1..token.len().saturating_sub(1)).unwrap_or("");
    let mut value = String::with_capacity(inside.len());
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        if character == quote {
            characters.next();
        }
        if character != '\\' {
            value.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => value.push('\n'),
            Some('t') => value.push('\t'),
            Some('r') => value.push('\r'),
            Some('0') => value.push('\0'),
            Some('b') => value.push('\u{8}'),
            Some('f') => value.push('\u{c}'),
            Some('a') => value.push('\u{7}'),
            Some('v') => value.push('\u{b}'),
            Some('e') => value.push('\u{1b}'),
            Some('x') => {
                let digits: String = characters.by_ref().take(2).collect();
                // A byte above 7f alone would be no text; as a character it stays readable.
                value.push(u8::from_str_radix(&digits, 16).map_or('\u{fffd}', char::from));
            }
            Some(other @ ('\\' | '\'' | '"' | '`' | '/' | '=')) => value.push(other),
            Some(other) => value.extend(['\\', other]),
            None => value.push('\\'),
        }
    }
    value
}

/// A text as a token in these quotes.
pub fn quote(value: &str, quote: char) -> String {
    let mut token = String::with_capacity(value.len() + 2);
    token.push(quote);
    for character in value.chars() {
        match character {
            '\\' => token.push_str("\\\\"),
            '\n' => token.push_str("\\n"),
            '\t' => token.push_str("\\t"),
            '\r' => token.push_str("\\r"),
            '\0' => token.push_str("\\0"),
            other if other == quote => token.extend(['\\', other]),
            other => token.push(other),
        }
    }
    token.push(quote);
    token
}

/// A name as it must be written in a statement: in backticks only where it needs them.
///
/// ```
/// use tambour_schema::quoted_name;
/// assert_eq!(quoted_name("visits"), "visits");
/// assert_eq!(quoted_name("page views"), "`page views`");
/// ```
pub fn quoted_name(value: &str) -> String {
    let is_bare = value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !RESERVED.iter().any(|word| word.eq_ignore_ascii_case(value));
    if is_bare { value.to_owned() } else { quote(value, '`') }
}

/// Words that mean something else in an expression.
const RESERVED: &[&str] = &[
    "and", "or", "not", "null", "true", "false", "inf", "nan", "div", "mod", "as", "in", "is",
    "like", "between", "interval", "case", "when", "then", "else", "end", "asc", "desc",
    "distinct", "all", "from", "select",
];
