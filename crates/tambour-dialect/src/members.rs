//! What may stand after IN besides a list in parentheses: an array, `tuple(…)`, one value, the name of a tuple, of a query or of
//! a table. Before parsing, each becomes a list or a query.

use super::lexical::{closing, is_keyword, is_word, next};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Puts what stands after each IN into parentheses.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if is_keyword(&tokens[at].token, Keyword::IN)
            && !is_of_position(tokens, at)
            && let Some(next) = next(tokens, at)
        {
            arrange_one(tokens, next);
        }
        at += 1;
    }
}

/// True for the IN of `POSITION(needle IN text)`, which is not a predicate.
fn is_of_position(tokens: &[TokenWithSpan], at: usize) -> bool {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().take(at).rev() {
        match token.token {
            Token::RParen | Token::RBracket => depth += 1,
            Token::LParen | Token::LBracket if depth > 0 => depth -= 1,
            Token::LParen => {
                return place
                    .checked_sub(1)
                    .is_some_and(|it| is_word(&tokens[it].token, "POSITION"));
            }
            Token::LBracket | Token::Comma if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

fn arrange_one(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    match &tokens[at].token {
        token if is_word(token, "tuple") => {
            tokens[at].token = Token::Whitespace(Whitespace::Space);
        }
        Token::LBracket => {
            if let Some(end) = closing(tokens, at) {
                tokens[at].token = Token::LParen;
                tokens[end].token = Token::RParen;
            }
        }
        Token::Number(..) | Token::SingleQuotedString(_) => {
            let only = tokens[at].clone();
            replace(tokens, at, [only.token]);
        }
        Token::Word(word) => {
            let open = next(tokens, at).filter(|it| tokens[*it].token == Token::LParen);
            match open.map(|open| closing(tokens, open)) {
                // A function gives one value, which is refused later on if it is a whole set.
                Some(Some(end)) => {
                    let span = tokens[at].span;
                    if ARRAYS.contains(&word.value.as_str()) {
                        items_of(tokens, at, end);
                        return;
                    }
                    tokens.insert(end + 1, TokenWithSpan { token: Token::RParen, span });
                    tokens.insert(at, TokenWithSpan { token: Token::LParen, span });
                }
                Some(None) => {}
                None => {
                    let name = word.value.clone();
                    match tuple(tokens, &name) {
                        Some(items) => replace(tokens, at, items),
                        None => replace(tokens, at, query(tokens, at)),
                    }
                }
            }
        }
        _ => {}
    }
}

/// Functions that give arrays whatever they are given: the items of one are a set.
const ARRAYS: &[&str] = &[
    "array",
    "arrayConcat",
    "arrayDistinct",
    "arrayFilter",
    "arrayMap",
    "arrayReverse",
    "arraySlice",
    "arraySort",
    "range",
    "splitByChar",
    "splitByString",
];

/// `f(…)` after IN is `(SELECT arrayJoin(f(…)))`.
fn items_of(tokens: &mut Vec<TokenWithSpan>, at: usize, end: usize) {
    let span = tokens[at].span;
    let with_span = |token| TokenWithSpan { token, span };
    for _ in 0..2 {
        tokens.insert(end + 1, with_span(Token::RParen));
    }
    let space = Token::Whitespace(Whitespace::Space);
    let before = [
        Token::LParen,
        Token::make_keyword("SELECT"),
        space,
        Token::make_word("arrayJoin", None),
        Token::LParen,
    ];
    tokens.splice(at..at, before.map(with_span));
}

/// Puts tokens in parentheses in the place of one.
fn replace(tokens: &mut Vec<TokenWithSpan>, at: usize, inner: impl IntoIterator<Item = Token>) {
    let mut end = at + 1;
    // `schema.table` is a name, too.
    while tokens.get(end).is_some_and(|it| it.token == Token::Period) {
        end += 2;
    }
    let span = tokens[at].span;
    let whole = std::iter::once(Token::LParen).chain(inner).chain([Token::RParen]);
    let whole: Vec<TokenWithSpan> = whole.map(|token| TokenWithSpan { token, span }).collect();
    tokens.splice(at..end.min(tokens.len()), whole);
}

/// What stands between the parentheses or brackets that are called so: `(1, 2) AS name`.
fn tuple(tokens: &[TokenWithSpan], name: &str) -> Option<Vec<Token>> {
    let is_name = |token: &Token| matches!(token, Token::Word(word) if word.value == name);
    let (open, close) = (0..tokens.len()).find_map(|open| {
        if !matches!(tokens[open].token, Token::LParen | Token::LBracket) {
            return None;
        }
        let close = closing(tokens, open)?;
        let named = next(tokens, close).filter(|it| is_keyword(&tokens[*it].token, Keyword::AS))?;
        let named = next(tokens, named)?;
        is_name(&tokens[named].token).then_some((open, close))
    })?;
    let first = next(tokens, open)?;
    // Parentheses after a word are those of a function, and a query is not a list.
    let before = (0..open).rev().find(|it| !matches!(tokens[*it].token, Token::Whitespace(_)));
    let is_call = before.is_some_and(|it| match &tokens[it].token {
        Token::Word(word) => {
            word.keyword == Keyword::NoKeyword && !is_word(&tokens[it].token, "tuple")
        }
        _ => false,
    });
    let is_query =
        [Keyword::SELECT, Keyword::WITH].iter().any(|word| is_keyword(&tokens[first].token, *word));
    if is_call || is_query {
        return None;
    }
    Some(tokens[open + 1..close].iter().map(|it| it.token.clone()).collect())
}

/// All of a table, or of the query that is called so.
fn query(tokens: &[TokenWithSpan], at: usize) -> Vec<Token> {
    let mut end = at + 1;
    while tokens.get(end).is_some_and(|it| it.token == Token::Period) {
        end += 2;
    }
    let name = tokens[at..end.min(tokens.len())].iter().map(|it| it.token.clone());
    let space = Token::Whitespace(Whitespace::Space);
    [Token::make_keyword("SELECT"), space.clone(), Token::Mul, space.clone()]
        .into_iter()
        .chain([Token::make_keyword("FROM"), space])
        .chain(name)
        .collect()
}
