//! A query made ready to look at many records: bytes are looked for by a searcher that is made once, and words by their first
//! letters instead of by splitting every record. [`Query::matches`] says what the answer must be.

use super::query::Query;
use super::token::is_word;
use memchr::memmem::Finder;

/// What [`Query::matches`] does, faster.
pub(super) enum Matcher<'q> {
    Word {
        word: &'q [u8],
        /// Whether it is the beginning of a word.
        prefix: bool,
        /// Its first byte, in lower and in upper case.
        first: [u8; 2],
    },
    Bytes(Box<Finder<'q>>),
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
    Plain(&'q Query),
}

impl<'q> Matcher<'q> {
    pub(super) fn new(query: &'q Query) -> Self {
        let all = |queries: &'q [Query]| queries.iter().map(Self::new).collect();
        match query {
            Query::Words { words, prefix } => {
                let last = words.len().saturating_sub(1);
                let word = |(number, word): (usize, &'q Vec<u8>)| {
                    Self::word(word, *prefix && number == last)
                };
                match words.iter().enumerate().map(word).collect::<Option<Vec<Self>>>() {
                    Some(mut one) if one.len() == 1 => one.remove(0),
                    // A phrase: where all of its words are, their order is looked at.
                    Some(mut words) if !words.is_empty() => {
                        words.push(Self::Plain(query));
                        Self::And(words)
                    }
                    _ => Self::Plain(query),
                }
            }
            Query::Bytes(bytes) => Self::Bytes(Box::new(Finder::new(bytes))),
            Query::And(queries) => Self::And(all(queries)),
            Query::Or(queries) => Self::Or(all(queries)),
            Query::Not(other) => Self::Not(Box::new(Self::new(other))),
        }
    }

    /// `None` for what is not a word.
    fn word(word: &'q [u8], prefix: bool) -> Option<Self> {
        let first = word.first()?;
        let first = [first.to_ascii_lowercase(), first.to_ascii_uppercase()];
        word.iter().all(|byte| is_word(*byte)).then_some(Self::Word { word, prefix, first })
    }

    /// Whether a record matches.
    pub(super) fn matches(&self, record: &[u8]) -> bool {
        match self {
            Self::Word { word, prefix, first } => holds(record, word, *prefix, *first),
            Self::Bytes(finder) => finder.find(record).is_some(),
            Self::And(all) => all.iter().all(|one| one.matches(record)),
            Self::Or(any) => any.iter().any(|one| one.matches(record)),
            Self::Not(other) => !other.matches(record),
            Self::Plain(query) => query.matches(record),
        }
    }
}

fn holds(record: &[u8], word: &[u8], prefix: bool, [lower, upper]: [u8; 2]) -> bool {
    memchr::memchr2_iter(lower, upper, record).any(|start| {
        let end = start + word.len();
        let is_border =
            |at: Option<usize>| at.and_then(|at| record.get(at)).is_none_or(|byte| !is_word(*byte));
        record.get(start..end).is_some_and(|found| found.eq_ignore_ascii_case(word))
            && is_border(start.checked_sub(1))
            && (prefix || is_border(Some(end)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of few letters, so that words meet often.
    fn text(seed: &mut u64, bytes: u64) -> Vec<u8> {
        let mut next = |end: u64| {
            *seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (*seed >> 33) % end
        };
        let letters = b"aAbB1 -\xc3\xa9";
        (0..next(bytes + 1)).map(|_| letters[usize::try_from(next(9)).unwrap()]).collect()
    }

    fn query(seed: &mut u64, depth: u64) -> Query {
        let kind = text(seed, 6).len() as u64;
        match kind {
            0 | 1 if depth > 0 => Query::And(vec![query(seed, depth - 1), query(seed, depth - 1)]),
            2 if depth > 0 => Query::Or(vec![query(seed, depth - 1), query(seed, depth - 1)]),
            3 if depth > 0 => Query::Not(Box::new(query(seed, depth - 1))),
            4 => Query::Bytes(text(seed, 3)),
            // Words that none of our own parsing makes are allowed, too: empty, with spaces, none at all.
            _ => Query::Words {
                words: (0..text(seed, 4).len()).map(|_| text(seed, 3)).collect(),
                prefix: text(seed, 2).is_empty(),
            },
        }
    }

    #[test]
    fn answers_are_those_of_the_query() {
        let mut seed = 7;
        let mut matched = 0;
        for round in 0..20_000 {
            let query = query(&mut seed, 3);
            let matcher = Matcher::new(&query);
            for _ in 0..5 {
                let record = text(&mut seed, 24);
                let expected = query.matches(&record);
                assert_eq!(matcher.matches(&record), expected, "{round}: {query:?} in {record:?}");
                matched += u32::from(expected);
            }
        }
        assert!((10_000..90_000).contains(&matched), "{matched} of 100,000");
    }
}
