//! Tokens as ClickHouse means them, before the parser sees them: texts keep the backslash of an escape that there is not,
//! `0xFF` and `0b101` are numbers, and the words in front of JOIN that the parser would take for names are moved to where
//! [`super::joins`] finds them.

use super::{
    array_join, change, columns, joins, limits, members, merged, parentheses, refused, retype,
    scalar, show, within,
};
use crate::DialectError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace, Word};
use std::borrow::Cow;

/// The tokens of a statement.
pub(super) fn tokens(sql: &str) -> Result<Vec<TokenWithSpan>, DialectError> {
    let sql = comments_and_quotes(sql);
    let mut tokens = Tokenizer::new(&super::grammar::Grammar, &sql)
        .with_unescape(false)
        .tokenize_with_location()
        .map_err(|error| DataFusionError::from(ParserError::from(error)))?;
    let mut index = 0;
    while index < tokens.len() {
        if let Some((replacement, length)) = replacement(&tokens[index..])? {
            let span = tokens[index].span;
            tokens.splice(index..index + length, [TokenWithSpan { token: replacement, span }]);
        }
        index += 1;
    }
    show::from_for_in(&mut tokens);
    last_commas(&mut tokens);
    materialized(&mut tokens);
    parentheses::arrange(&mut tokens);
    change::arrange(&mut tokens);
    array_join::arrange(&mut tokens);
    columns::arrange(&mut tokens);
    units_in_texts(&mut tokens);
    members::arrange(&mut tokens);
    joins::mark(&mut tokens)?;
    limits::arrange(&mut tokens);
    retype::arrange(&mut tokens);
    within::mark(&mut tokens);
    merged::mark(&mut tokens);
    settings_first(&mut tokens);
    views(&mut tokens);
    scalar::arrange(&mut tokens);
    Ok(tokens)
}

/// Comments that begin with `# ` or `#!` begin with `--` for the tokenizer, and the quote of a name is written twice inside of
/// it, not after a backslash.
fn comments_and_quotes(sql: &str) -> Cow<'_, str> {
    if !sql.contains('#') && !sql.contains("\\`") && !sql.contains("\\\"") {
        return Cow::Borrowed(sql);
    }
    let mut text = sql.to_owned();
    let (mut at, mut quote) = (0, None);
    while let Some(rest) = sql.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or_default();
        let mut length = first.len_utf8();
        match quote {
            Some(end) if first == '\\' => {
                let escaped = rest.chars().nth(1);
                length += escaped.map_or(0, char::len_utf8);
                if end != '\'' && escaped == Some(end) {
                    text.replace_range(at..=at, &end.to_string());
                }
            }
            Some(end) if first == end => quote = None,
            Some(_) => {}
            None if matches!(first, '\'' | '"' | '`') => quote = Some(first),
            None if rest.starts_with("--") => length = rest.find('\n').unwrap_or(rest.len()),
            None if rest.starts_with("/*") => {
                length = rest.find("*/").map_or(rest.len(), |end| end + 2);
            }
            None if rest.starts_with("# ") || rest.starts_with("#!") => {
                text.replace_range(at..at + 2, "--");
                length = rest.find('\n').unwrap_or(rest.len());
            }
            None => {}
        }
        at += length;
    }
    Cow::Owned(text)
}

/// `WITH c AS MATERIALIZED (…)`: how often a query is computed changes nothing of its rows.
fn materialized(tokens: &mut [TokenWithSpan]) {
    for at in 0..tokens.len() {
        let is_one = is_word(&tokens[at].token, "MATERIALIZED")
            && next(tokens, at).is_some_and(|it| tokens[it].token == Token::LParen)
            && (0..at)
                .rev()
                .find(|it| !matches!(tokens[*it].token, Token::Whitespace(_)))
                .is_some_and(|it| is_keyword(&tokens[it].token, Keyword::AS));
        if is_one && first_is(tokens, Keyword::WITH) {
            tokens[at].token = Token::Whitespace(Whitespace::Space);
        }
    }
}

/// True of a statement that begins with this word.
fn first_is(tokens: &[TokenWithSpan], keyword: Keyword) -> bool {
    let first = tokens.iter().find(|it| !matches!(it.token, Token::Whitespace(_)));
    first.is_some_and(|it| is_keyword(&it.token, keyword))
}

/// `SELECT a, b, FROM t`: the last comma is none. The parser's own switch for it takes `format(…)` after a comma for a clause.
fn last_commas(tokens: &mut [TokenWithSpan]) {
    for at in 0..tokens.len() {
        let is_last = tokens[at].token == Token::Comma
            && next(tokens, at).is_some_and(|it| is_keyword(&tokens[it].token, Keyword::FROM));
        if is_last {
            tokens[at].token = Token::Whitespace(Whitespace::Space);
        }
    }
}

/// `FROM view(SELECT …)` is a subquery.
fn views(tokens: &mut [TokenWithSpan]) {
    let mut at = 0;
    while let Some(place) = next(tokens, at) {
        at = place;
        let is_name = |token: &Token| matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("view"));
        let is_from = |token: &Token| {
            *token == Token::Comma
                || is_keyword(token, Keyword::FROM)
                || is_keyword(token, Keyword::JOIN)
        };
        if is_from(&tokens[at].token)
            && let Some(view) = next(tokens, at).filter(|it| is_name(&tokens[*it].token))
            && let Some(open) = next(tokens, view)
            && tokens[open].token == Token::LParen
            && let Some(first) = next(tokens, open)
            && (is_keyword(&tokens[first].token, Keyword::SELECT)
                || is_keyword(&tokens[first].token, Keyword::WITH))
        {
            tokens[view].token = Token::Whitespace(Whitespace::Space);
        }
    }
}

/// `FORMAT JSON SETTINGS a = 1` is `SETTINGS a = 1 FORMAT JSON`, which is the order that the parser knows.
fn settings_first(tokens: &mut [TokenWithSpan]) {
    let mut at = 0;
    while let Some(place) = next(tokens, at) {
        at = place;
        if matches!(tokens[at].token, Token::LParen | Token::LBracket) {
            match closing(tokens, at) {
                Some(end) => at = end,
                None => return,
            }
        }
        if is_keyword(&tokens[at].token, Keyword::FORMAT)
            && let Some(name) = next(tokens, at)
            && let Some(settings) = next(tokens, name)
            && is_keyword(&tokens[settings].token, Keyword::SETTINGS)
        {
            let is_end = |it: &TokenWithSpan| matches!(it.token, Token::SemiColon | Token::EOF);
            let end = tokens.iter().skip(at).position(is_end).map_or(tokens.len(), |it| at + it);
            tokens[at..end].rotate_left(settings - at);
            return;
        }
    }
}

/// What comes in the place of the first tokens, and of how many.
fn replacement(tokens: &[TokenWithSpan]) -> Result<Option<(Token, usize)>, DialectError> {
    let next = tokens.get(1).filter(|next| next.span.start == tokens[0].span.end);
    Ok(match (&tokens[0].token, next.map(|next| &next.token)) {
        (
            Token::Word(Word { value, quote_style: None, .. }),
            Some(Token::SingleQuotedString(digits)),
        ) if value.eq_ignore_ascii_case("b") => {
            Some((Token::SingleQuotedString(text_of_digits(digits, 2)?), 2))
        }
        (Token::Word(Word { value, quote_style: Some(quote), .. }), _)
            if value.contains([*quote, '\\']) =>
        {
            Some((Token::make_word(&unescaped(value, *quote)?, Some(*quote)), 1))
        }
        (Token::SingleQuotedString(raw), _) => {
            Some((Token::SingleQuotedString(unescaped(raw, '\'')?), 1))
        }
        (Token::DoubleQuotedString(raw), _) => {
            Some((Token::DoubleQuotedString(unescaped(raw, '"')?), 1))
        }
        (Token::Number(zero, false), Some(Token::Word(word)))
            if zero == "0" && binary_digits(&word.value).is_some() =>
        {
            let digits = binary_digits(&word.value).unwrap_or_default();
            let whole = format!("0{}", word.value);
            Some((before_cast(&whole, tokens.get(2)).map_or_else(|| number(digits, 2), Ok)?, 2))
        }
        // `1st_table` is a name, as a table of ClickHouse's tests has it.
        (Token::Number(digits, false), Some(Token::Word(word))) if word.quote_style.is_none() => {
            Some((Token::make_word(&format!("{digits}{}", word.value), None), 2))
        }
        (Token::HexStringLiteral(digits), _) => {
            // `0xFF` is as long as its digits and two; `x'FF'` has its quotes besides.
            let (start, end) = (tokens[0].span.start, tokens[0].span.end);
            let length = end.column.saturating_sub(start.column);
            let is_followed = matches!(next, Some(it) if matches!(it.token, Token::Word(_) | Token::Number(..) | Token::Period));
            if length == digits.len() as u64 + 2 {
                if is_followed {
                    return Err(refused(
                        format!("the number that begins with 0x{digits}"),
                        "numbers to the base 16 are whole here",
                    ));
                }
                let whole = format!("0x{digits}");
                Some((before_cast(&whole, next).map_or_else(|| number(digits, 16), Ok)?, 1))
            } else {
                Some((Token::SingleQuotedString(text_of_digits(digits, 16)?), 1))
            }
        }
        _ => None,
    })
}

/// A number to another base before `::` is a text, as ClickHouse takes it.
fn before_cast(number: &str, next: Option<&TokenWithSpan>) -> Option<Token> {
    let is_cast = next.is_some_and(|it| it.token == Token::DoubleColon);
    is_cast.then(|| Token::SingleQuotedString(number.to_owned()))
}

/// The digits of `0b101` without the zero.
fn binary_digits(word: &str) -> Option<&str> {
    let digits = word.strip_prefix(['b', 'B'])?;
    let is_binary =
        !digits.is_empty() && digits.bytes().all(|digit| matches!(digit, b'0' | b'1' | b'_'));
    is_binary.then_some(digits)
}

fn number(digits: &str, radix: u32) -> Result<Token, DialectError> {
    let digits: String = digits.chars().filter(|digit| *digit != '_').collect();
    match u64::from_str_radix(&digits, radix) {
        Ok(number) => Ok(Token::Number(number.to_string(), false)),
        Err(_) => Err(refused(
            format!("the number with the digits {digits} to the base {radix}"),
            "such numbers have 64 bits at most",
        )),
    }
}

/// The text whose bytes are written as digits: `x'41'`, `b'01000001'`.
fn text_of_digits(digits: &str, radix: u32) -> Result<String, DialectError> {
    let wrong = |reason: &str| refused(format!("the text with the digits {digits:?}"), reason);
    let per_byte = if radix == 2 { 8 } else { 2 };
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(wrong("these are not the digits of bytes"));
    }
    let missing = (per_byte - digits.len() % per_byte) % per_byte;
    let whole = "0".repeat(missing) + digits;
    let bytes: Option<Vec<u8>> = (0..whole.len() / per_byte)
        .map(|byte| u8::from_str_radix(&whole[byte * per_byte..(byte + 1) * per_byte], radix).ok())
        .collect();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| wrong("its bytes are not UTF-8; make it with unhex('...')"))
}

/// A text without its escapes. ClickHouse leaves a backslash in place that begins no escape: `'\d'` has two characters.
fn unescaped(raw: &str, quote: char) -> Result<String, DialectError> {
    if !raw.contains(['\\', quote]) {
        return Ok(raw.to_owned());
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut characters = raw.chars();
    let push = |bytes: &mut Vec<u8>, character: char| {
        bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    };
    while let Some(character) = characters.next() {
        if character == quote {
            // A quote inside is written twice.
            characters.next();
            push(&mut bytes, quote);
            continue;
        }
        if character != '\\' {
            push(&mut bytes, character);
            continue;
        }
        match characters.next() {
            None => bytes.push(b'\\'),
            Some('x') => bytes.push(hex_byte(&mut characters, raw)?),
            Some('N') => {}
            Some(escaped) => {
                if escape(escaped).is_none() {
                    bytes.push(b'\\');
                }
                push(&mut bytes, escape(escaped).unwrap_or(escaped));
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| {
        refused(format!("the text '{raw}'"), "its bytes are not UTF-8; make it with unhex('...')")
    })
}

/// The two digits after `\x`.
fn hex_byte(characters: &mut std::str::Chars<'_>, raw: &str) -> Result<u8, DialectError> {
    let digits: String = characters.by_ref().take(2).collect();
    u8::from_str_radix(&digits, 16).map_err(|_| {
        refused(format!("the text '{raw}'"), "\\x is followed by two hexadecimal digits")
    })
}

/// What an escape means; `None` if there is no such escape.
fn escape(escaped: char) -> Option<char> {
    Some(match escaped {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' => '\u{1b}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '\'' | '"' | '`' | '/' | '=' => escaped,
        _ => return None,
    })
}

/// `INTERVAL '1 day'` has its unit in the text; the parser wants it after.
fn units_in_texts(tokens: &mut Vec<TokenWithSpan>) {
    for at in (0..tokens.len()).rev() {
        if !is_keyword(&tokens[at].token, Keyword::INTERVAL) {
            continue;
        }
        let Some(text) = next(tokens, at) else { continue };
        let Token::SingleQuotedString(written) = &tokens[text].token else { continue };
        let Some((count, unit)) = written.trim().split_once(' ') else { continue };
        let unit = unit.trim().to_ascii_uppercase();
        let unit = unit.strip_suffix('S').unwrap_or(&unit);
        if count.parse::<i64>().is_err() || !UNITS.contains(&unit) {
            continue;
        }
        let span = tokens[text].span;
        let parts = [
            Token::SingleQuotedString(count.to_owned()),
            Token::Whitespace(Whitespace::Space),
            Token::make_keyword(unit),
        ];
        tokens.splice(text..=text, parts.map(|token| TokenWithSpan { token, span }));
    }
}

/// The units of intervals.
const UNITS: [&str; 8] = ["SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"];

/// The next token that is not blank.
pub(super) fn next(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    (at + 1..tokens.len()).find(|it| !matches!(tokens[*it].token, Token::Whitespace(_)))
}

/// The bracket or parenthesis that closes the one at a place.
pub(super) fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// True for a bare word, in any case.
pub(super) fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(it) if it.quote_style.is_none() && it.value.eq_ignore_ascii_case(word))
}

/// True for a keyword.
pub(super) fn is_keyword(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(it) if it.quote_style.is_none() && it.keyword == keyword)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &str) -> String {
        unescaped(raw, '\'').unwrap()
    }

    #[test]
    fn unknown_escapes_keep_their_backslash() {
        assert_eq!(text(r"a\_b\%\d"), r"a\_b\%\d");
        assert_eq!(text(r"\\d"), r"\d");
        assert_eq!(text(r"it''s\'\t\x41\e\0"), "it's'\tA\u{1b}\0");
        assert_eq!(text(r"\u0041"), r"\u0041");
        assert!(unescaped(r"\xFF", '\'').is_err());
        assert!(unescaped(r"\xG1", '\'').is_err());
    }

    #[test]
    fn comments_begin_with_a_number_sign() {
        let text = "SELECT '# a' # b 'c\n, `#!` #! d\n-- # e\n/* # */ #f";
        let expected = "SELECT '# a' --b 'c\n, `#!` -- d\n-- # e\n/* # */ #f";
        assert_eq!(comments_and_quotes(text), expected);
    }

    #[test]
    fn numbers_and_texts_of_digits() {
        let of = |sql: &str| {
            let tokens = tokens(sql).unwrap();
            tokens.into_iter().map(|token| token.token.to_string()).collect::<String>()
        };
        assert_eq!(of("0xFF 0b101 x'41' b'01000001' 0x_f"), "255 5 'A' 'A' 15");
        assert_eq!(of("0 b"), "0 b");
        assert!(tokens("0x10000000000000000").is_err());
    }
}
