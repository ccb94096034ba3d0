//! Parentheses that ClickHouse does not need and the parser does: `f(x, y -> x + y, a)` is `f((x, y) -> x + y, a)`, and
//! `('a',)`, a tuple of one, is `tuple('a')`.

use super::lexical::{closing, next};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Puts them in.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    for open in (0..tokens.len()).rev() {
        if tokens[open].token != Token::LParen {
            continue;
        }
        if let Some((first, last)) = parameters(tokens, open) {
            let (start, end) = (tokens[first].span, tokens[last].span);
            tokens.insert(last + 1, TokenWithSpan { token: Token::RParen, span: end });
            tokens.insert(first, TokenWithSpan { token: Token::LParen, span: start });
        } else if let Some(comma) = last_comma(tokens, open) {
            tokens[comma].token = Token::Whitespace(Whitespace::Space);
            let span = tokens[open].span;
            tokens.insert(open, TokenWithSpan { token: Token::make_word("tuple", None), span });
        }
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

/// The comma before the end of parentheses that follow no name.
fn last_comma(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut before = tokens[..open].iter().rev().map(|it| &it.token);
    let stands_alone = match before.find(|it| !matches!(it, Token::Whitespace(_))) {
        Some(Token::LParen | Token::LBracket | Token::Comma | Token::Eq) => true,
        Some(Token::Word(word)) => word.keyword == Keyword::SELECT,
        _ => false,
    };
    let end = closing(tokens, open).filter(|_| stands_alone)?;
    let is_blank = |it: &usize| matches!(tokens[*it].token, Token::Whitespace(_));
    let comma = (open + 1..end).rev().find(|it| !is_blank(it))?;
    (tokens[comma].token == Token::Comma).then_some(comma)
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
        assert_eq!(of("a IN (1,)"), "a IN (1,)");
    }
}
