//! Words of statements that change tables which the parser library does not know, before it sees them.

use super::super::lexical::{closing, is_word, next};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Begins the alias that tells `ALTER TABLE … DELETE` from `DELETE FROM`; nobody types it.
pub(super) const MUTATION: &str = "\u{1f}mutation";
/// Begins what follows in the alias, or the alias: `PARTITION …`.
pub(super) const PARTITION: &str = "\u{1f}in ";

/// The first of the columns of an INSERT: all but those that follow.
pub(super) const ALL_BUT: &str = "\u{1f}all but";

/// Settings of an INSERT that change nothing of its rows.
const SETTINGS: [&str; 9] = [
    "async_insert",
    "wait_for_async_insert",
    "insert_deduplicate",
    "insert_quorum",
    "max_insert_threads",
    "max_insert_block_size",
    "max_threads",
    "min_insert_block_size_rows",
    "min_insert_block_size_bytes",
];

/// Changes the words of a statement.
pub(in super::super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    let Some(start) = first(tokens) else { return };
    let word = |text: &str| is_word(&tokens[start].token, text);
    if word("WITH") {
        with_before(tokens, start);
    } else if word("ALTER") {
        mutation(tokens, start);
    } else if word("DELETE") {
        let table = next(tokens, start).filter(|it| is_word(&tokens[*it].token, "FROM"));
        if let Some(last) = table.and_then(|it| end_of_name(tokens, it)) {
            in_partition(tokens, last, "");
        }
    } else if word("DROP") || word("TRUNCATE") {
        at_once(tokens);
    } else if word("INSERT") {
        insert(tokens, start);
    } else if word("OPTIMIZE") {
        duplicates(tokens, start);
    }
}

/// The first word.
pub(in super::super) fn first(tokens: &[TokenWithSpan]) -> Option<usize> {
    (0..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
}

fn blank(tokens: &mut [TokenWithSpan], start: usize, end: usize) {
    for token in &mut tokens[start..end] {
        if token.token != Token::SemiColon {
            token.token = Token::Whitespace(Whitespace::Space);
        }
    }
}

/// `WITH … INSERT INTO t SELECT` is `INSERT INTO t WITH … SELECT`.
fn with_before(tokens: &mut [TokenWithSpan], start: usize) {
    let find = |from: usize, word: &str| {
        let mut at = from;
        while let Some(place) = next(tokens, at) {
            at = place;
            match tokens[at].token {
                Token::LParen | Token::LBracket => at = closing(tokens, at)?,
                _ if is_word(&tokens[at].token, word) => return Some(at),
                _ => {}
            }
        }
        None
    };
    let Some(insert) = find(start, "INSERT") else { return };
    let select = find(insert, "SELECT").filter(|select| find(start, "SELECT") == Some(*select));
    if let Some(select) = select {
        tokens[start..select].rotate_left(insert - start);
    }
}

/// The last word of the name of a table, which stands after this place.
fn end_of_name(tokens: &[TokenWithSpan], before: usize) -> Option<usize> {
    let mut last = next(tokens, before)?;
    while let Some(dot) = next(tokens, last).filter(|at| tokens[*at].token == Token::Period) {
        last = next(tokens, dot)?;
    }
    Some(last)
}

/// `ALTER TABLE t DELETE WHERE c` is `DELETE FROM t WHERE c`, but for the alias of `t`; `ALTER TABLE t UPDATE a = b WHERE c` likewise.
fn mutation(tokens: &mut Vec<TokenWithSpan>, start: usize) {
    let Some(table) = next(tokens, start).filter(|at| is_word(&tokens[*at].token, "TABLE")) else {
        return;
    };
    let Some(last) = end_of_name(tokens, table) else { return };
    let Some(mut verb) = next(tokens, last) else { return };
    let is_mutation = |token: &Token| is_word(token, "DELETE") || is_word(token, "UPDATE");
    if tokens[verb].token == Token::LParen
        && let Some(inner) = next(tokens, verb).filter(|it| is_mutation(&tokens[*it].token))
        && let Some(close) = closing(tokens, verb)
    {
        blank(tokens, verb, verb + 1);
        blank(tokens, close, close + 1);
        verb = inner;
    }
    let word = |text: &str| Token::make_word(text, None);
    let (before, after) = if is_word(&tokens[verb].token, "DELETE") {
        ((word("DELETE"), word("FROM")), Token::Whitespace(Whitespace::Space))
    } else if is_word(&tokens[verb].token, "UPDATE") {
        ((word("UPDATE"), Token::Whitespace(Whitespace::Space)), word("SET"))
    } else {
        return;
    };
    if has_more(tokens, verb) {
        // Several commands are taken apart before they come here.
        return;
    }
    (tokens[start].token, tokens[table].token) = before;
    tokens[verb].token = after;
    in_partition(tokens, last, MUTATION);
}

/// True if a comma after WHERE begins another command.
fn has_more(tokens: &[TokenWithSpan], verb: usize) -> bool {
    let (mut at, mut is_past) = (verb, false);
    while let Some(place) = next(tokens, at) {
        at = place;
        match &tokens[at].token {
            Token::LParen | Token::LBracket => at = closing(tokens, at).unwrap_or(at),
            Token::Comma if is_past => return true,
            token => is_past |= is_word(token, "WHERE"),
        }
    }
    false
}

/// Takes `IN PARTITION p` away, which stands before WHERE, and puts it into an alias after the name of the table.
fn in_partition(tokens: &mut Vec<TokenWithSpan>, name: usize, mark: &str) {
    let mut alias = mark.to_owned();
    let mut at = name;
    let mut found = None;
    while let Some(place) = next(tokens, at) {
        at = place;
        match &tokens[at].token {
            Token::LParen | Token::LBracket => at = closing(tokens, at).unwrap_or(at),
            token if is_word(token, "WHERE") => break,
            token if is_word(token, "IN") => {
                let partition = next(tokens, at);
                if partition.is_some_and(|it| is_word(&tokens[it].token, "PARTITION")) {
                    found = Some((at, partition.unwrap_or(at)));
                    break;
                }
            }
            _ => {}
        }
    }
    if let Some((start, partition)) = found {
        let mut end = partition;
        while let Some(place) = next(tokens, end).filter(|it| !is_word(&tokens[*it].token, "WHERE"))
        {
            end = place;
        }
        let text: String = tokens[partition..=end].iter().map(|it| it.token.to_string()).collect();
        alias.push_str(PARTITION);
        alias.push_str(&text);
        blank(tokens, start, end + 1);
    }
    if !alias.is_empty() {
        let span = tokens[name].span;
        let words = [Token::Whitespace(Whitespace::Space), Token::make_word(&alias, Some('"'))];
        let words = words.into_iter().map(|token| TokenWithSpan { token, span });
        let after = name + 1;
        tokens.splice(after..after, words);
    }
}

/// `SYNC`, `NO DELAY`: a table is removed at once in any case.
fn at_once(tokens: &mut [TokenWithSpan]) {
    let is_end = |token: &Token| matches!(token, Token::Whitespace(_) | Token::SemiColon);
    let before = |end: usize| (0..end).rev().find(|at| !is_end(&tokens[*at].token));
    let Some(last) = before(tokens.len()) else { return };
    if is_word(&tokens[last].token, "SYNC") {
        blank(tokens, last, last + 1);
    } else if is_word(&tokens[last].token, "DELAY")
        && let Some(no) = before(last).filter(|at| is_word(&tokens[*at].token, "NO"))
    {
        blank(tokens, no, last + 1);
    }
}

/// `INSERT INTO t SETTINGS … VALUES` without settings that change nothing, and `FORMAT Values` as VALUES.
fn insert(tokens: &mut Vec<TokenWithSpan>, start: usize) {
    let mut at = start;
    while let Some(place) = next(tokens, at) {
        at = place;
        let is = |text: &str| is_word(&tokens[at].token, text);
        if tokens[at].token == Token::LParen {
            let end = closing(tokens, at).unwrap_or(at);
            all_but(tokens, at, end);
            at = end;
        } else if is("VALUES") {
            between_rows(tokens, at);
            return;
        } else if is("SELECT") || is("WITH") {
            return;
        } else if is("SETTINGS") {
            let Some(end) = end_of_settings(tokens, at) else { return };
            blank(tokens, at, end + 1);
            at = end;
        } else if is("FORMAT") {
            let name = next(tokens, at).filter(|it| is_word(&tokens[*it].token, "VALUES"));
            let row = name.and_then(|it| next(tokens, it));
            if row.is_some_and(|it| tokens[it].token == Token::LParen) {
                blank(tokens, at, at + 1);
                between_rows(tokens, name.unwrap_or(at));
            }
            return;
        }
    }
}

/// `DEDUPLICATE BY a, b` and `… BY * EXCEPT (a, b)` are expressions in parentheses.
fn duplicates(tokens: &mut Vec<TokenWithSpan>, start: usize) {
    let mut at = start;
    while let Some(place) = next(tokens, at) {
        at = place;
        if !is_word(&tokens[at].token, "DEDUPLICATE") {
            continue;
        }
        let Some(by) = next(tokens, at).filter(|it| is_word(&tokens[*it].token, "BY")) else {
            return;
        };
        let mut end = by;
        while let Some(place) = next(tokens, end)
            && tokens[place].token != Token::SemiColon
        {
            end = place;
        }
        let span = tokens[end].span;
        tokens.insert(end + 1, TokenWithSpan { token: Token::RParen, span });
        let space = TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span };
        tokens.splice(by + 1..=by, [space, TokenWithSpan { token: Token::LParen, span }]);
        all_but(tokens, by + 2, end + 3);
        return;
    }
}

/// `VALUES (1) (2)` has a comma between its rows.
fn between_rows(tokens: &mut Vec<TokenWithSpan>, values: usize) {
    let mut at = values;
    while let Some(row) = next(tokens, at).filter(|it| tokens[*it].token == Token::LParen) {
        let Some(end) = closing(tokens, row) else { return };
        match next(tokens, end).map(|it| (it, &tokens[it].token)) {
            Some((comma, Token::Comma)) => at = comma,
            Some((_, Token::LParen)) => {
                let span = tokens[end].span;
                tokens.insert(end + 1, TokenWithSpan { token: Token::Comma, span });
                at = end + 1;
            }
            _ => return,
        }
    }
}

/// `(* EXCEPT b)`, `(* EXCEPT (a, b))` and `(*)` in the place of columns: names after one that tells what they are.
fn all_but(tokens: &mut [TokenWithSpan], open: usize, end: usize) {
    let Some(star) = next(tokens, open).filter(|it| tokens[*it].token == Token::Mul) else {
        return;
    };
    tokens[star].token = Token::make_word(ALL_BUT, Some('"'));
    let Some(except) = next(tokens, star).filter(|it| is_word(&tokens[*it].token, "EXCEPT")) else {
        return;
    };
    tokens[except].token = Token::Comma;
    let Some(inner) = next(tokens, except).filter(|it| tokens[*it].token == Token::LParen) else {
        return;
    };
    if let Some(close) = closing(tokens, inner).filter(|it| *it < end) {
        blank(tokens, inner, inner + 1);
        blank(tokens, close, close + 1);
    }
}

/// The last value of `SETTINGS name = value, …`; nothing if one of them may change rows.
fn end_of_settings(tokens: &[TokenWithSpan], settings: usize) -> Option<usize> {
    let mut at = settings;
    loop {
        let name = next(tokens, at)?;
        if !SETTINGS.iter().any(|it| is_word(&tokens[name].token, it)) {
            return None;
        }
        let sign = next(tokens, name).filter(|it| tokens[*it].token == Token::Eq)?;
        let value = next(tokens, sign)?;
        match next(tokens, value).filter(|it| tokens[*it].token == Token::Comma) {
            Some(comma) => at = comma,
            None => return Some(value),
        }
    }
}
