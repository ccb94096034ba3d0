//! `ANY`, `ASOF` and the other words in front of JOIN, which the parser library does not know: it would take them for names
//! of tables.
//!
//! Before parsing, the word is taken out and a mark is put after ON or USING: `a ANY LEFT JOIN b ON c` becomes
//! `a LEFT JOIN b ON "mark" -> c`, a lambda, which conditions cannot be. After parsing, the mark is a call beside the
//! condition, and whoever plans it finds it.

use super::lexical::{is_keyword, is_word, next};
use super::{call, refused};
use crate::DialectError;
use crate::marks::Strictness;
use crate::walk::walk_expressions;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart,
    Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use std::ops::ControlFlow;

const SIDES: [Keyword; 6] =
    [Keyword::LEFT, Keyword::RIGHT, Keyword::FULL, Keyword::INNER, Keyword::CROSS, Keyword::OUTER];

/// One of the words in front of JOIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Any,
    Asof,
    All,
    Global,
    Paste,
    Local,
    Side(Keyword),
}

fn word(token: &Token) -> Option<Word> {
    let bare = [
        ("ANY", Word::Any),
        ("ASOF", Word::Asof),
        ("ALL", Word::All),
        ("GLOBAL", Word::Global),
        ("PASTE", Word::Paste),
        ("LOCAL", Word::Local),
    ];
    let found = bare.into_iter().find(|(text, _)| is_word(token, text)).map(|(_, word)| word);
    found.or_else(|| SIDES.into_iter().find(|side| is_keyword(token, *side)).map(Word::Side))
}

/// Takes the words out and puts the marks in.
pub(super) fn mark(tokens: &mut Vec<TokenWithSpan>) -> Result<(), DialectError> {
    sides_first(tokens);
    let mut index = 0;
    while index < tokens.len() {
        let is_join = is_keyword(&tokens[index].token, Keyword::JOIN);
        index += 1;
        if !is_join {
            without_global(tokens, index - 1);
            continue;
        }
        let join = index - 1;
        let words = words_before(tokens, join);
        let strictness = words.iter().find_map(|(_, word)| match word {
            Word::Any => Some(Strictness::Any),
            Word::Asof => Some(Strictness::Asof),
            _ => None,
        });
        if let Some((paste, _)) = words.iter().find(|(_, word)| *word == Word::Paste) {
            pasted(tokens, join, *paste, &words)?;
            index += 1;
            continue;
        }
        if let Some(strictness) = strictness {
            constrain(tokens, join, strictness)?;
        } else {
            in_parentheses(tokens, join);
        }
        for (at, _) in words.iter().filter(|(_, word)| !matches!(word, Word::Side(_))) {
            // A space keeps the positions of all others.
            let blank = Token::Whitespace(Whitespace::Space);
            tokens[*at].token = blank;
        }
    }
    Ok(())
}

/// `SEMI LEFT JOIN` is `LEFT SEMI JOIN`.
fn sides_first(tokens: &mut [TokenWithSpan]) {
    let is_one = |tokens: &[TokenWithSpan], at: usize, words: &[Keyword]| {
        words.iter().any(|word| is_keyword(&tokens[at].token, *word))
    };
    for at in 0..tokens.len() {
        let (Some(side), true) =
            (next(tokens, at), is_one(tokens, at, &[Keyword::SEMI, Keyword::ANTI]))
        else {
            continue;
        };
        let is_join = next(tokens, side).is_some_and(|join| is_one(tokens, join, &[Keyword::JOIN]));
        if is_join && is_one(tokens, side, &[Keyword::LEFT, Keyword::RIGHT]) {
            let word = tokens[at].token.clone();
            tokens[at].token = std::mem::replace(&mut tokens[side].token, word);
        }
    }
}

/// `a PASTE JOIN b` is `a GLOBAL CROSS JOIN b` for the parser; where somebody writes that, GLOBAL is taken out.
fn pasted(
    tokens: &mut Vec<TokenWithSpan>,
    join: usize,
    paste: usize,
    words: &[(usize, Word)],
) -> Result<(), DialectError> {
    if words.len() > 1 {
        return Err(refused("PASTE JOIN with another word", "it has no sides: write PASTE JOIN"));
    }
    let span = tokens[join].span;
    tokens[paste].token = Token::make_keyword("GLOBAL");
    tokens.insert(join, TokenWithSpan { token: Token::make_keyword("CROSS"), span });
    Ok(())
}

/// `GLOBAL IN` is `IN` for a single machine.
fn without_global(tokens: &mut [TokenWithSpan], at: usize) {
    if !is_word(&tokens[at].token, "GLOBAL") {
        return;
    }
    let mut rest = tokens[at + 1..].iter().filter(|it| !is_blank(&it.token));
    let next = rest.next();
    let is_set = next.is_some_and(|next| {
        is_keyword(&next.token, Keyword::IN)
            || (is_keyword(&next.token, Keyword::NOT)
                && rest.next().is_some_and(|it| is_keyword(&it.token, Keyword::IN)))
    });
    if is_set {
        tokens[at].token = Token::Whitespace(Whitespace::Space);
    }
}

fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

/// The words in front of a JOIN with their places, the nearest first; none if ARRAY, SEMI or ANTI is among them or the
/// first one is the name of a table.
fn words_before(tokens: &[TokenWithSpan], join: usize) -> Vec<(usize, Word)> {
    let mut words = Vec::new();
    let mut at = join;
    while let Some(before) = (0..at).rev().find(|it| !is_blank(&tokens[*it].token)) {
        let is_semi = [Keyword::SEMI, Keyword::ANTI]
            .iter()
            .any(|keyword| is_keyword(&tokens[before].token, *keyword));
        match word(&tokens[before].token) {
            Some(word) => words.push((before, word)),
            None if is_semi => {}
            None => {
                // `FROM any JOIN b`, `a AS any JOIN b`: a name of a table, not one of the words.
                let is_name_next = [Keyword::FROM, Keyword::JOIN, Keyword::AS]
                    .iter()
                    .any(|keyword| is_keyword(&tokens[before].token, *keyword))
                    || matches!(tokens[before].token, Token::Comma | Token::Period);
                if is_name_next {
                    words.pop();
                }
                break;
            }
        }
        at = before;
    }
    words
}

/// The ON or USING of a JOIN.
fn constraint(tokens: &[TokenWithSpan], join: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(join + 1) {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.checked_sub(1)?,
            token if depth == 0 => {
                // A join between has its own.
                if is_keyword(token, Keyword::JOIN) {
                    open += 1;
                }
                if is_keyword(token, Keyword::ON) || is_keyword(token, Keyword::USING) {
                    if open == 0 {
                        return Some(at);
                    }
                    open -= 1;
                }
            }
            _ => {}
        }
    }
    None
}

/// The marks as names that nobody types.
fn marked(strictness: Strictness) -> Token {
    Token::make_word(strictness.mark(), Some('"'))
}

fn constrain(
    tokens: &mut Vec<TokenWithSpan>,
    join: usize,
    strictness: Strictness,
) -> Result<(), DialectError> {
    let Some(at) = constraint(tokens, join) else {
        return Err(refused(
            format!("{} JOIN without ON", strictness.words()),
            "it needs a condition",
        ));
    };
    let span = tokens[at].span;
    let token = |token| TokenWithSpan { token, span };
    if is_keyword(&tokens[at].token, Keyword::ON) {
        tokens.splice(at + 1..=at, [token(marked(strictness)), token(Token::Arrow)]);
        return Ok(());
    }
    parenthesize(tokens, at);
    if let Some(open) = tokens[at..].iter().position(|it| it.token == Token::LParen) {
        let behind = at + open + 1;
        tokens.splice(behind..behind, [token(marked(strictness)), token(Token::Comma)]);
    }
    Ok(())
}

/// `USING a, b` is `USING (a, b)`.
fn in_parentheses(tokens: &mut Vec<TokenWithSpan>, join: usize) {
    if let Some(at) = constraint(tokens, join)
        && is_keyword(&tokens[at].token, Keyword::USING)
    {
        parenthesize(tokens, at);
    }
}

fn parenthesize(tokens: &mut Vec<TokenWithSpan>, using: usize) {
    let Some(first) = next(tokens, using) else { return };
    if tokens[first].token == Token::LParen {
        return;
    }
    let mut last = first;
    while let Some(comma) = next(tokens, last) {
        if tokens[comma].token != Token::Comma {
            break;
        }
        match next(tokens, comma) {
            Some(name) => last = name,
            None => break,
        }
    }
    let span = tokens[last].span;
    tokens.insert(last + 1, TokenWithSpan { token: Token::RParen, span });
    let span = tokens[first].span;
    tokens.insert(first, TokenWithSpan { token: Token::LParen, span });
}

/// Turns the mark of a join into a call beside its condition.
pub(super) fn translate(join: &mut Join) -> Result<(), DialectError> {
    if join.global && matches!(join.join_operator, JoinOperator::CrossJoin(_)) {
        join.global = false;
        let mark = Expr::Function(call::call(Strictness::Paste.mark(), Vec::new()));
        join.join_operator = JoinOperator::Inner(JoinConstraint::On(mark));
        return Ok(());
    }
    let is_semi = matches!(
        join.join_operator,
        JoinOperator::LeftSemi(_)
            | JoinOperator::RightSemi(_)
            | JoinOperator::LeftAnti(_)
            | JoinOperator::RightAnti(_)
    );
    // SEMI and ANTI look from the left.
    join.join_operator = match std::mem::replace(&mut join.join_operator, JoinOperator::CrossApply)
    {
        JoinOperator::Semi(constraint) => JoinOperator::LeftSemi(constraint),
        JoinOperator::Anti(constraint) => JoinOperator::LeftAnti(constraint),
        other => other,
    };
    let Some(constraint) = constraint_of(&mut join.join_operator) else { return Ok(()) };
    match constraint {
        JoinConstraint::On(Expr::Lambda(lambda)) => {
            let mark = lambda.params.iter().next().map(|it| it.name.value.clone());
            let condition = call::take(&mut lambda.body);
            let call = mark.as_deref().and_then(Strictness::of_mark).map(Strictness::mark);
            *constraint = JoinConstraint::On(match call.filter(|_| !is_semi) {
                Some(mark) => Expr::BinaryOp {
                    left: Box::new(Expr::Function(call::call(mark, Vec::new()))),
                    op: BinaryOperator::And,
                    right: Box::new(Expr::Nested(Box::new(condition))),
                },
                None => condition,
            });
            Ok(())
        }
        JoinConstraint::Using(names) => {
            let mark = names.first().and_then(name_of).and_then(Strictness::of_mark);
            if let Some(strictness) = mark {
                names.remove(0);
                if !is_semi {
                    let words = strictness.words();
                    return Err(refused(
                        format!("{words} JOIN ... USING"),
                        "write ON with the columns of both tables",
                    ));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The condition of a join, if it has one that is written out.
pub(super) fn condition(operator: &mut JoinOperator) -> Option<&mut Expr> {
    match constraint_of(operator)? {
        JoinConstraint::On(condition) => Some(condition),
        _ => None,
    }
}

/// What says which rows of two tables a join takes, if something does.
fn constraint_of(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint) => Some(constraint),
        _ => None,
    }
}

/// Refuses `*` of a SEMI or ANTI JOIN: ClickHouse shows the columns of both tables, the engine has those of one.
pub(super) fn check_semi(select: &Select) -> Result<(), DialectError> {
    let is_semi = select.from.iter().flat_map(|table| &table.joins).any(|join| {
        matches!(
            join.join_operator,
            JoinOperator::LeftSemi(_)
                | JoinOperator::RightSemi(_)
                | JoinOperator::LeftAnti(_)
                | JoinOperator::RightAnti(_)
                | JoinOperator::Semi(_)
                | JoinOperator::Anti(_)
        )
    });
    let is_all = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
    if is_semi && is_all {
        return Err(refused(
            "* of a SEMI or ANTI JOIN",
            "name the columns, which are those of one table",
        ));
    }
    Ok(())
}

/// Refuses `a.k` beside `a FULL JOIN b USING (k)`, whose `k` is that of both.
pub(super) fn check_merged(select: &Select) -> Result<(), DialectError> {
    let mut merged: Vec<(String, String)> = Vec::new();
    for join in select.from.iter().flat_map(|table| &table.joins) {
        let (JoinOperator::Right(JoinConstraint::Using(names))
        | JoinOperator::RightOuter(JoinConstraint::Using(names))
        | JoinOperator::FullOuter(JoinConstraint::Using(names))) = &join.join_operator
        else {
            continue;
        };
        let right = match &join.relation {
            TableFactor::Table { alias: Some(alias), .. }
            | TableFactor::Derived { alias: Some(alias), .. } => alias.name.value.clone(),
            TableFactor::Table { name, .. } => name.to_string(),
            _ => String::new(),
        };
        let names = names.iter().filter_map(name_of);
        merged.extend(names.map(|name| (right.clone(), name.to_owned())));
    }
    if merged.is_empty() {
        return Ok(());
    }
    let found = walk_expressions(select, |expr| match expr {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., table, column]
                if merged
                    .iter()
                    .any(|(right, key)| *key == column.value && *right != table.value) =>
            {
                ControlFlow::Break(expr.to_string())
            }
            _ => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    });
    let all_of_left = select.projection.iter().find_map(|item| match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            let table = name_of(name)?;
            merged
                .iter()
                .any(|(right, _)| right != table)
                .then(|| ControlFlow::Break(item.to_string()))
        }
        _ => None,
    });
    match all_of_left.unwrap_or(found) {
        ControlFlow::Break(written) => Err(refused(
            format!("{written} beside RIGHT or FULL JOIN ... USING"),
            "the name alone is the key of both sides; write ON to have each",
        )),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn name_of(name: &ObjectName) -> Option<&str> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(Ident { value, .. })] => Some(value),
        _ => None,
    }
}
