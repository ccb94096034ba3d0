//! Parentheses that ClickHouse does not need and the parser does: `f(x, y -> x + y, a)` is `f((x, y) -> x + y, a)`, and
//! `('a',)`, a tuple of one, is `tuple('a')`.

use super::lexical::next;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Keywords that an expression follows.
const BEFORE: &[Keyword] = &[
    Keyword::SELECT,
    Keyword::WHERE,
    Keyword::HAVING,
    Keyword::BY,
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::WHEN,
    Keyword::THEN,
    Keyword::ELSE,
];

/// Puts them in.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    let mut added: Vec<(usize, Token)> = Vec::new();
    let mut opened = Vec::new();
    for at in 0..tokens.len() {
        match tokens[at].token {
            Token::LParen => {
                opened.push(at);
                if let Some((first, last)) = parameters(tokens, at) {
                    added.extend([(first, Token::LParen), (last + 1, Token::RParen)]);
                }
            }
            Token::LBracket => opened.push(at),
            Token::RParen | Token::RBracket => {
                if let Some(open) = opened.pop()
                    && tokens[open].token == Token::LParen
                    && let Some((comma, is_list)) = last_comma(tokens, open, at)
                {
                    tokens[comma].token = Token::Whitespace(Whitespace::Space);
                    added.extend((!is_list).then(|| (open, Token::make_word("tuple", None))));
                }
            }
            _ => {}
        }
    }
    if added.is_empty() {
        return;
    }
    added.sort_by_key(|(at, _)| *at);
    let mut added = added.into_iter().peekable();
    let before = std::mem::take(tokens);
    tokens.reserve(before.len() + added.len());
    for (at, token) in before.into_iter().enumerate() {
        let span = token.span;
        while let Some((_, token)) = added.next_if(|(place, _)| *place == at) {
            tokens.push(TokenWithSpan { token, span });
        }
        tokens.push(token);
    }
}

/// The first and the last of several bare names at the front of arguments that an arrow follows.
fn parameters(tokens: &[TokenWithSpan], open: usize) -> Option<(usize, usize)> {
    let is_call = open.checked_sub(1).is_some_and(|before| is_name(&tokens[before].token));
    let first = next(tokens, open).filter(|_| is_call)?;
    let mut at = first;
    let mut count = 0_usize;
    loop {
        if !is_name(&tokens[at].token) {
            return None;
        }
        count += 1;
        let after = next(tokens, at)?;
        match tokens[after].token {
            Token::Comma => at = next(tokens, after)?,
            Token::Arrow if count > 1 => return Some((first, at)),
            _ => return None,
        }
    }
}

fn is_name(token: &Token) -> bool {
    matches!(token, Token::Word(_))
}

/// The comma before the end of parentheses that follow no name, and whether they are the list after IN.
fn last_comma(tokens: &[TokenWithSpan], open: usize, end: usize) -> Option<(usize, bool)> {
    let is_blank = |it: &usize| matches!(tokens[*it].token, Token::Whitespace(_));
    let comma = (open + 1..end).rev().find(|it| !is_blank(it))?;
    if tokens[comma].token != Token::Comma {
        return None;
    }
    let before = (0..open).rev().find(|it| !is_blank(it)).map(|it| &tokens[it].token);
    match before {
        Some(
            Token::LParen
            | Token::LBracket
            | Token::Comma
            | Token::Arrow
            | Token::Eq
            | Token::Neq
            | Token::Lt
            | Token::LtEq
            | Token::Gt
            | Token::GtEq,
        ) => Some((comma, false)),
        Some(Token::Word(word)) if word.keyword == Keyword::IN => Some((comma, true)),
        Some(Token::Word(word)) => BEFORE.contains(&word.keyword).then_some((comma, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::lexical::tokens;

    #[test]
    fn parameters_and_tuples_of_one_get_parentheses() {
        let of = |sql: &str| {
            let tokens = tokens(sql).unwrap();
            tokens.into_iter().map(|token| token.token.to_string()).collect::<String>()
        };
        assert_eq!(of("f(x, y -> x, a)"), "f((x, y) -> x, a)");
        assert_eq!(of("f(x -> g(a, b -> c), a)"), "f(x -> g((a, b) -> c), a)");
        assert_eq!(of("SELECT ('a', ), f((1,), 2)"), "SELECT tuple('a'  ), f(tuple(1 ), 2)");
        assert_eq!(of("((1,), [(2, )])"), "(tuple(1 ), [tuple(2  )])");
        assert_eq!(of("a IN (1,)"), "a IN (1 )");
        assert_eq!(of("f(x -> (x,), a)"), "f(x -> tuple(x ), a)");
        assert_eq!(of("WHERE (1,) = (a,)"), "WHERE tuple(1 ) = tuple(a )");
        assert_eq!(of(")(,](1,"), ")(,](1,");
    }
}
