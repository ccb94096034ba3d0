//! Where a string stands in another: `position`, `multiSearch…`, `countSubstrings`, `hasToken`, `hasAllTokens`, `hasSubsequence`.

use super::super::access::{Lists, array_of, list_array, nullable, rule};
use super::super::{Call, Function, wrong};
use super::{letter_at, letter_from_end, letter_width, letters, letters_end, lower, lower_utf8};
use crate::FunctionError;
use arrow_array::types::{UInt8Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use memchr::memmem;
use std::borrow::Cow;
use std::sync::Arc;
use tambour_part::types::DataType;

/// How letters are compared, and what positions count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Bytes,
    AnyCase,
    Letters,
    LettersAnyCase,
}

impl Way {
    fn folded(self, text: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Bytes | Self::Letters => Cow::Borrowed(text),
            Self::AnyCase => lower(text),
            Self::LettersAnyCase => Cow::Owned(lower_utf8(text)),
        }
    }
    fn counts_letters(self) -> bool {
        matches!(self, Self::Letters | Self::LettersAnyCase)
    }
    /// The length in what is counted.
    fn length(self, text: &[u8]) -> usize {
        if self.counts_letters() { letters(text) } else { text.len() }
    }
    /// The place in bytes of a place in what is counted.
    fn offset(self, text: &[u8], place: usize) -> usize {
        if self.counts_letters() { letter_at(text, place) } else { place.min(text.len()) }
    }
    /// True if bytes are compared one by one. In any case, a text that is not UTF-8 stands nowhere, and in one that is not letters
    /// are as long as their first bytes say.
    fn is_plain(self, text: &[u8], needle: &[u8]) -> bool {
        let is_utf8 = |text| std::str::from_utf8(text).is_ok();
        self != Self::LettersAnyCase || is_utf8(text) && is_utf8(needle)
    }
    /// Where a text stands in another.
    fn find(self, text: &[u8], needle: &[u8]) -> Option<usize> {
        if self.is_plain(text, needle) {
            return memmem::find(text, needle);
        }
        std::str::from_utf8(needle).ok()?;
        let step = |at: &usize| text.get(*at).map(|first| at + letter_width(*first));
        let mut places = std::iter::successors(Some(0), step);
        places.find(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(needle)))
    }
    /// From 1; 0 if it is not there.
    fn position(self, text: &[u8], needle: &[u8], start: usize) -> u64 {
        let (text, needle) = (self.folded(text), self.folded(needle));
        let start = start.max(1) - 1;
        if start > self.length(&text) {
            return 0;
        }
        let from = self.offset(&text, start);
        let rest = text.get(from..).unwrap_or_default();
        self.find(rest, &needle).map_or(0, |at| {
            let before = text.get(..from + at).unwrap_or_default();
            self.length(before) as u64 + 1
        })
    }
    fn count(self, text: &[u8], needle: &[u8], start: usize) -> u64 {
        let (text, needle) = (self.folded(text), self.folded(needle));
        let start = start.max(1) - 1;
        if needle.is_empty() || start > self.length(&text) {
            return 0;
        }
        let mut rest = text.get(self.offset(&text, start)..).unwrap_or_default();
        if self.is_plain(rest, &needle) {
            return memmem::find_iter(rest, needle.as_ref()).count() as u64;
        }
        let mut count = 0;
        while let Some(at) = self.find(rest, &needle) {
            count += 1;
            rest = rest.get(at + needle.len()..).unwrap_or_default();
        }
        count
    }
}

macro_rules! ways {
    ($($name:literal $aliases:expr, $way:ident, $count:ident;)+) => {
        &[$(
            Function::new($name, rule!(Text Text [Integer] => DataType::UInt64), |c| {
                with_start(c, 0, 1, |text, needle, start| Way::$way.$count(text, needle, start))
            })
            .aliases($aliases),
        )+]
    };
}

const POSITIONS: &[Function] = ways! {
    "position" &["position"], Bytes, position;
    "positionUTF8" &[], Letters, position;
    "positionCaseInsensitive" &["instr"], AnyCase, position;
    "positionCaseInsensitiveUTF8" &[], LettersAnyCase, position;
    "countSubstrings" &[], Bytes, count;
    "countSubstringsCaseInsensitive" &[], AnyCase, count;
    "countSubstringsCaseInsensitiveUTF8" &[], LettersAnyCase, count;
};

macro_rules! multi {
    ($($way:ident $all:literal $first:literal $index:literal $any:literal;)+) => {
        &[$(
            Function::new($all, rule!(Text Texts => array_of(DataType::UInt64)), |c| {
                all_positions(c, Way::$way)
            }),
            Function::new($first, rule!(Text Texts => DataType::UInt64), |c| {
                multi::<UInt64Type>(c, Way::$way, |found| {
                    found.iter().filter(|at| **at > 0).min().copied().unwrap_or(0)
                })
            }),
            Function::new($index, rule!(Text Texts => DataType::UInt64), |c| {
                multi::<UInt64Type>(c, Way::$way, |found| {
                    found.iter().position(|at| *at > 0).map_or(0, |index| index as u64 + 1)
                })
            }),
            Function::new($any, rule!(Text Texts => DataType::UInt8), |c| {
                multi::<UInt8Type>(c, Way::$way, |found| {
                    u8::from(found.iter().any(|at| *at > 0))
                })
            })
            .predicate(),
        )+]
    };
}

const MULTI: &[Function] = multi! {
    Bytes "multiSearchAllPositions" "multiSearchFirstPosition" "multiSearchFirstIndex" "multiSearchAny";
    Letters "multiSearchAllPositionsUTF8" "multiSearchFirstPositionUTF8" "multiSearchFirstIndexUTF8" "multiSearchAnyUTF8";
    AnyCase "multiSearchAllPositionsCaseInsensitive" "multiSearchFirstPositionCaseInsensitive" "multiSearchFirstIndexCaseInsensitive" "multiSearchAnyCaseInsensitive";
    LettersAnyCase "multiSearchAllPositionsCaseInsensitiveUTF8" "multiSearchFirstPositionCaseInsensitiveUTF8" "multiSearchFirstIndexCaseInsensitiveUTF8" "multiSearchAnyCaseInsensitiveUTF8";
};

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[&[Function]] = &[POSITIONS, MULTI, OTHERS];

const OTHERS: &[Function] = &[
    Function::new("locate", rule!(Text Text [Integer] => DataType::UInt64), |c| {
        with_start(c, 1, 0, |text, needle, start| Way::Bytes.position(text, needle, start))
    })
    .any_case(),
    Function::new("hasSubsequence", rule!(Text Text => DataType::UInt8), |c| {
        flags(c, Way::Bytes, subsequence)
    })
    .predicate(),
    Function::new("hasSubsequenceCaseInsensitive", rule!(Text Text => DataType::UInt8), |c| {
        flags(c, Way::AnyCase, subsequence)
    })
    .predicate(),
    Function::new("hasSubsequenceUTF8", rule!(Text Text => DataType::UInt8), |c| {
        flags(c, Way::Letters, subsequence_of_letters)
    })
    .predicate(),
    Function::new("hasSubsequenceCaseInsensitiveUTF8", rule!(Text Text => DataType::UInt8), |c| {
        flags(c, Way::LettersAnyCase, subsequence_of_letters)
    })
    .predicate(),
    Function::new("startsWithUTF8", rule!(Text Text => DataType::UInt8), |c| {
        flags(c, Way::Letters, |text, start| {
            text.get(..letters_end(text, letters(start))) == Some(start)
        })
    })
    .predicate(),
    Function::new("endsWithUTF8", rule!(Text Text => DataType::UInt8), |c| {
        flags(c, Way::Letters, |text, end| {
            text.get(letter_from_end(text, letters(end))..) == Some(end)
        })
    })
    .predicate(),
    Function::new("startsWithCaseInsensitive", rule!(Text Text => DataType::UInt8), |c| {
        flags(c, Way::AnyCase, <[u8]>::starts_with)
    })
    .predicate(),
    Function::new("endsWithCaseInsensitive", rule!(Text Text => DataType::UInt8), |c| {
        flags(c, Way::AnyCase, <[u8]>::ends_with)
    })
    .predicate(),
    Function::new("startsWithCaseInsensitiveUTF8", rule!(Text Text => DataType::UInt8), |c| {
        flags(c, Way::LettersAnyCase, |text, start| {
            text.starts_with(start) && std::str::from_utf8(start).is_ok()
        })
    })
    .predicate(),
    Function::new("endsWithCaseInsensitiveUTF8", rule!(Text Text => DataType::UInt8), |c| {
        flags(c, Way::LettersAnyCase, |text, end| {
            text.ends_with(end) && std::str::from_utf8(end).is_ok()
        })
    })
    .predicate(),
    Function::new("hasToken", rule!(Text ConstText => DataType::UInt8), |c| {
        has_token(c, Way::Bytes, false)
    })
    .predicate(),
    Function::new("hasAnyTokens", rule!(Text ConstText => DataType::UInt8), |c| {
        has_tokens(c, |wanted, found| wanted.iter().any(|token| found(token)))
    })
    .predicate(),
    Function::new("hasAllTokens", rule!(Text ConstText => DataType::UInt8), |c| {
        has_tokens(c, |wanted, found| !wanted.is_empty() && wanted.iter().all(|token| found(token)))
    })
    .predicate(),
    Function::new("hasTokenCaseInsensitive", rule!(Text ConstText => DataType::UInt8), |c| {
        has_token(c, Way::AnyCase, false)
    })
    .predicate(),
    Function::new("hasTokenOrNull", rule!(Text ConstText => nullable(DataType::UInt8)), |c| {
        has_token(c, Way::Bytes, true)
    })
    .predicate(),
    Function::new(
        "hasTokenCaseInsensitiveOrNull",
        rule!(Text ConstText => nullable(DataType::UInt8)),
        |c| has_token(c, Way::AnyCase, true),
    )
    .predicate(),
];

/// Two texts and where to begin, from 1.
fn with_start(
    call: &Call,
    haystack: usize,
    needle: usize,
    find: impl Fn(&[u8], &[u8], usize) -> u64,
) -> Result<ArrayRef, FunctionError> {
    let (texts, needles) = (call.texts(haystack)?, call.texts(needle)?);
    let starts = call.optional_integers(2)?;
    call.make_numbers::<UInt64Type>(|row| {
        let start = starts.as_ref().map_or(1, |starts| starts.get(row));
        // A negative one is a great one, as ClickHouse reads it.
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        find(texts.get(row), needles.get(row), start)
    })
}

fn flags(
    call: &Call,
    way: Way,
    is_it: impl Fn(&[u8], &[u8]) -> bool,
) -> Result<ArrayRef, FunctionError> {
    let (texts, others) = (call.texts(0)?, call.texts(1)?);
    call.make_flags(|row| is_it(&way.folded(texts.get(row)), &way.folded(others.get(row))))
}

fn positions<'a>(
    way: Way,
    text: &'a [u8],
    needles: &'a Lists,
    texts: &'a super::super::text::Texts,
    row: usize,
) -> impl Iterator<Item = u64> + 'a {
    let range = needles.range(row);
    // In an empty text there is nothing, not even another one.
    let position = move |at: usize| way.position(text, texts.value(at).unwrap_or_default(), 1);
    range.map(move |at| if text.is_empty() { 0 } else { position(at) })
}

fn multi<T: arrow_array::types::ArrowPrimitiveType>(
    call: &Call,
    way: Way,
    fold: impl Fn(&[u64]) -> T::Native,
) -> Result<ArrayRef, FunctionError> {
    let (texts, needles) = (call.texts(0)?, call.lists(1)?);
    let items = needles.texts();
    call.make_numbers::<T>(|row| {
        fold(&positions(way, texts.get(row), &needles, &items, row).collect::<Vec<u64>>())
    })
}

fn all_positions(call: &Call, way: Way) -> Result<ArrayRef, FunctionError> {
    let (texts, needles) = (call.texts(0)?, call.lists(1)?);
    let items = needles.texts();
    let mut found = Vec::new();
    let mut lengths = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let before = found.len();
        found.extend(positions(way, texts.get(row), &needles, &items, row));
        lengths.push(found.len() - before);
    }
    let values = PrimitiveArray::<UInt64Type>::new(found.into(), None);
    list_array(lengths, Arc::new(values), &DataType::UInt64)
}

fn subsequence(text: &[u8], needle: &[u8]) -> bool {
    let mut rest = text.iter();
    needle.iter().all(|byte| rest.any(|other| other == byte))
}

/// The same of letters, up to what is not UTF-8.
fn subsequence_of_letters(text: &[u8], needle: &[u8]) -> bool {
    let Ok(needle) = std::str::from_utf8(needle) else { return false };
    let text = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let mut rest = text.chars();
    needle.chars().all(|letter| rest.any(|other| other == letter))
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !is_token_byte(*byte)).filter(|token| !token.is_empty())
}

/// The tokens of one text in another, which `holds` is told of each.
fn has_tokens(
    call: &Call,
    holds: impl Fn(&[&[u8]], &dyn Fn(&[u8]) -> bool) -> bool,
) -> Result<ArrayRef, FunctionError> {
    let (texts, wanted) = (call.texts(0)?, call.texts(1)?);
    let wanted: Vec<&[u8]> = tokens(wanted.get(0)).collect();
    call.make_flags(|row| {
        let text = texts.get(row);
        holds(&wanted, &|token| tokens(text).any(|it| it == token))
    })
}

fn has_token(call: &Call, way: Way, or_null: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, tokens) = (call.texts(0)?, call.texts(1)?);
    let token = way.folded(tokens.get(0)).into_owned();
    let is_token = !token.is_empty() && token.iter().all(|byte| is_token_byte(*byte));
    if !is_token && !or_null {
        return Err(wrong(call.name, "the token must be letters and digits without separators"));
    }
    // An empty token is one that is nowhere.
    let is_token = is_token || token.is_empty();
    let has = |row: usize| {
        if token.is_empty() {
            return false;
        }
        let text = way.folded(texts.get(row));
        text.split(|byte| !is_token_byte(*byte)).any(|part| part == token)
    };
    if or_null {
        return call.make_optional_integers(|row| is_token.then(|| i128::from(has(row))));
    }
    call.make_flags(has)
}
