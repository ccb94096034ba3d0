//! What is searched for: words, phrases, beginnings of words, with AND, OR, NOT and parentheses.

use super::token::{is_word, words};
use crate::RecordError;
use std::ops::Range;

/// Most parentheses and NOTs within each other.
const DEPTH_MAX: usize = 64;
/// Longest query.
const QUERY_BYTES_MAX: usize = 64 << 10;

/// A search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// Words that follow each other, in lower case; with `prefix` the last is the beginning of one.
    Words {
        /// At least one.
        words: Vec<Vec<u8>>,
        /// Whether the last is the beginning of a word.
        prefix: bool,
    },
    /// Bytes, anywhere; upper and lower case differ.
    Bytes(Vec<u8>),
    /// All of them.
    And(Vec<Self>),
    /// One of them at least.
    Or(Vec<Self>),
    /// What does not match.
    Not(Box<Self>),
}

impl Query {
    /// Reads a query: `error AND (disk OR "file system") NOT test conn*`. Words side by side must all be there; what is not a
    /// letter or a digit within a word makes a phrase of it.
    ///
    /// ```
    /// use tambour_record::Query;
    /// let query = Query::parse("error AND (disk OR \"file system\") NOT test")?;
    /// assert!(query.matches(b"Error: the file system is full"));
    /// assert!(!query.matches(b"error in a test of the disk"));
    /// assert!(Query::parse("error AND").is_err());
    /// # Ok::<(), tambour_record::RecordError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        if text.len() > QUERY_BYTES_MAX {
            let (bytes, limit) = (text.len() as u64, QUERY_BYTES_MAX as u64);
            return Err(RecordError::TooLarge { what: "a query", bytes, limit });
        }
        let mut parser = Parser { text, at: 0, depth: 0 };
        let query = parser.any()?;
        match parser.peek() {
            None => Ok(query),
            Some(_) => Err(parser.bad("the end, or AND, OR, NOT")),
        }
    }

    /// The phrase of the words of a text.
    ///
    /// ```
    /// use tambour_record::Query;
    /// let query = Query::words("Disk fu", true).ok_or("no words")?;
    /// assert!(query.matches(b"the disk full of logs"));
    /// assert_eq!(Query::words("...", false), None);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn words(text: &str, prefix: bool) -> Option<Self> {
        let lower = text.to_ascii_lowercase().into_bytes();
        let words: Vec<Vec<u8>> = words(&lower).map(|place| lower[place].to_vec()).collect();
        (!words.is_empty()).then_some(Self::Words { words, prefix })
    }

    /// Whether a record matches.
    pub fn matches(&self, record: &[u8]) -> bool {
        match self {
            Self::Words { words: wanted, prefix } => holds_words(record, wanted, *prefix),
            Self::Bytes(bytes) => memchr::memmem::find(record, bytes).is_some(),
            Self::And(all) => all.iter().all(|query| query.matches(record)),
            Self::Or(any) => any.iter().any(|query| query.matches(record)),
            Self::Not(other) => !other.matches(record),
        }
    }
}

fn holds_words(record: &[u8], wanted: &[Vec<u8>], prefix: bool) -> bool {
    let fits = |place: &Range<usize>, number: usize| {
        let (word, sought) = (&record[place.clone()], &wanted[number]);
        if prefix && number + 1 == wanted.len() {
            word.get(..sought.len()).is_some_and(|start| start.eq_ignore_ascii_case(sought))
        } else {
            word.eq_ignore_ascii_case(sought)
        }
    };
    match wanted {
        // As for candidates: an empty list leaves out nothing.
        [] => return true,
        [_] => return words(record).any(|place| fits(&place, 0)),
        _ => {}
    }
    let places: Vec<Range<usize>> = words(record).collect();
    let follows = |run: &[Range<usize>]| run.iter().enumerate().all(|(k, place)| fits(place, k));
    places.windows(wanted.len()).any(follows)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed.chars().next()
    }

    fn bad(&self, expected: &str) -> RecordError {
        let got = self.rest().split_whitespace().next().unwrap_or("the end of the query");
        let problem = format!(
            "the query, at byte {}: expected {expected}, got {got:?}; write `error AND (disk OR \"file system\") NOT test`",
            self.at
        );
        RecordError::Argument { problem }
    }

    /// The next word, up to a space, a parenthesis or a quote.
    fn word(&mut self) -> &'a str {
        self.peek();
        let rest = self.rest();
        let ends = |c: char| c.is_whitespace() || "()\"".contains(c);
        &rest[..rest.find(ends).unwrap_or(rest.len())]
    }

    fn take(&mut self, keyword: &str) -> bool {
        let found = self.word() == keyword;
        self.at += if found { keyword.len() } else { 0 };
        found
    }

    fn any(&mut self) -> Result<Query, RecordError> {
        let mut any = vec![self.all()?];
        while self.take("OR") {
            any.push(self.all()?);
        }
        Ok(one(any, Query::Or))
    }

    fn all(&mut self) -> Result<Query, RecordError> {
        let mut all = vec![self.single()?];
        loop {
            let and = self.take("AND");
            let ends = matches!(self.peek(), None | Some(')')) || self.word() == "OR";
            if ends && !and {
                return Ok(one(all, Query::And));
            }
            all.push(self.single()?);
        }
    }

    fn single(&mut self) -> Result<Query, RecordError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.bad("less parentheses within each other"));
        }
        let query = self.inner();
        self.depth -= 1;
        query
    }

    fn inner(&mut self) -> Result<Query, RecordError> {
        if self.take("NOT") {
            return Ok(Query::Not(Box::new(self.single()?)));
        }
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let query = self.any()?;
                if self.peek() != Some(')') {
                    return Err(self.bad("`)`"));
                }
                self.at += 1;
                Ok(query)
            }
            Some('"') => {
                let rest = &self.rest()[1..];
                let Some(end) = rest.find('"') else { return Err(self.bad("a second `\"`")) };
                let query = Query::words(&rest[..end], false);
                let query = query.ok_or_else(|| self.bad("a word between quotes"))?;
                if rest[..end].contains('*') {
                    return Err(
                        self.bad("no `*` between quotes: without them, `disk.fu*` is a phrase")
                    );
                }
                self.at += end + 2;
                Ok(query)
            }
            _ => {
                let word = self.word();
                if matches!(word, "AND" | "OR") {
                    return Err(self.bad("a word"));
                }
                let start = word.strip_suffix('*');
                if start.unwrap_or(word).contains('*') {
                    return Err(self.bad("a `*` only at the end of a word"));
                }
                if word.contains(['\u{201c}', '\u{201d}', '\u{201e}', '\u{ab}', '\u{bb}']) {
                    return Err(self.bad("straight quotes, `\"`"));
                }
                // What the last word is the beginning of has to begin with it.
                let prefix = start.and_then(|start| start.bytes().last()).is_some_and(is_word);
                let query = Query::words(word, prefix).ok_or_else(|| self.bad("a word"))?;
                self.at += word.len();
                Ok(query)
            }
        }
    }
}

fn one(mut queries: Vec<Query>, of: fn(Vec<Query>) -> Query) -> Query {
    match queries.len() {
        1 => queries.remove(0),
        _ => of(queries),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_match_as_they_read() {
        let record = br#"{"level":"ERROR","text":"Disk sda-1 is full: /var/log","code":17}"#;
        for (query, expected) in [
            ("error", true),
            ("Error AND disk", true),
            ("error disk", true),
            ("error NOT disk", false),
            ("NOT test", true),
            ("test OR disk", true),
            ("test OR (disk AND (full OR empty)) NOT level9", true),
            ("\"disk sda 1\"", true),
            ("\"disk is\"", false),
            ("sda-1", true),
            ("sda-2", false),
            ("dis*", true),
            ("sda-1 is fu*", true),
            ("\"dis\"", false),
            ("dis", false),
            ("/var/lo*", true),
            ("error AND", false),
        ] {
            match Query::parse(query) {
                Ok(query) => assert_eq!(query.matches(record), expected, "{query:?}"),
                Err(error) => assert_eq!(query, "error AND", "{error}"),
            }
        }
        assert!(Query::Bytes(b"sda-1 is".to_vec()).matches(record));
        assert!(!Query::Bytes(b"SDA".to_vec()).matches(record));
    }

    #[test]
    fn text_that_is_not_a_query_is_refused_with_its_place() {
        let stars = ["f*o", "*oo", "\"foo ba*\"", "\u{201c}foo bar\u{201d}"];
        let other =
            ["", " ", "AND a", "a OR", "(a", "a)", "\"a", "\"-\"", "a AND OR b", "NOT", "--"];
        for bad in stars.into_iter().chain(other) {
            let error = Query::parse(bad).unwrap_err().to_string();
            assert!(error.contains("at byte"), "{bad}: {error}");
        }
        assert!(Query::parse(&"(".repeat(10_000)).is_err());
        assert!(Query::parse(&"NOT ".repeat(10_000)).is_err());
        assert!(Query::parse(&"a ".repeat(100_000)).is_err());
    }
}
