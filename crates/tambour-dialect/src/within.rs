//! Names of parts of expressions: `(a + 1 AS b) * 2`. The parser library knows names of whole results only. Before parsing, the
//! AS becomes an operator that binds weaker than all others; after parsing, the names are gathered with those of the
//! results, and each part stands where it stood.

use super::alias::{self, Aliases};
use super::call;
use super::lexical::{is_keyword, is_word, next};
use crate::DialectError;
use crate::walk::walk_mut;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, OrderBy, OrderByKind,
    Query, Select, SelectItem, SetExpr, VisitorMut,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use std::ops::ControlFlow;

/// The operator; nobody types it.
pub(super) const MARK: &str = "\u{1f}as";

/// What a pair of parentheses holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    /// An expression, or the arguments of a function.
    Expression,
    /// A query, or something that has an AS of its own.
    Other,
}

/// Marks each AS inside of an expression.
pub(super) fn mark(tokens: &mut [TokenWithSpan]) {
    let first = tokens.iter().find(|it| !matches!(it.token, Token::Whitespace(_)));
    if first.is_some_and(|first| {
        [Keyword::CREATE, Keyword::ALTER].iter().any(|word| is_keyword(&first.token, *word))
    }) {
        return;
    }
    let mut around = Vec::new();
    let mut before = None;
    for at in 0..tokens.len() {
        match &tokens[at].token {
            Token::Whitespace(_) => continue,
            Token::LParen => around.push(inside(tokens, before, at)),
            Token::LBracket => around.push(Inside::Expression),
            Token::RParen | Token::RBracket => {
                around.pop();
            }
            token if is_keyword(token, Keyword::AS) => {
                let is_name = next(tokens, at)
                    .is_some_and(|name| matches!(tokens[name].token, Token::Word(_)));
                if is_name && around.last() == Some(&Inside::Expression) {
                    tokens[at].token = Token::Placeholder(MARK.to_owned());
                }
            }
            _ => {}
        }
        before = Some(at);
    }
}

/// What the parentheses hold that open at a place, after the token `before`.
fn inside(tokens: &[TokenWithSpan], before: Option<usize>, open: usize) -> Inside {
    let has_own = |token: &Token| {
        let keywords =
            [Keyword::CAST, Keyword::TRY_CAST, Keyword::FROM, Keyword::JOIN, Keyword::AS];
        keywords.iter().any(|word| is_keyword(token, *word))
            || ["REPLACE", "INTERPOLATE", "APPLY"].iter().any(|word| is_word(token, word))
    };
    let is_query = |token: &Token| {
        let keywords = [Keyword::SELECT, Keyword::WITH, Keyword::FROM, Keyword::VALUES];
        keywords.iter().any(|word| is_keyword(token, *word))
    };
    // `replace(s, a, b)` is a function; `* REPLACE (…)` is not.
    let is_function = before.is_some_and(|before| {
        is_word(&tokens[before].token, "REPLACE")
            && (0..before)
                .rev()
                .find(|it| !matches!(tokens[*it].token, Token::Whitespace(_)))
                .is_none_or(|it| !matches!(tokens[it].token, Token::Mul | Token::RParen))
    });
    if before.is_some_and(|before| has_own(&tokens[before].token)) && !is_function {
        return Inside::Other;
    }
    if next(tokens, open).is_some_and(|first| is_query(&tokens[first].token)) {
        return Inside::Other;
    }
    Inside::Expression
}

/// The call that holds a part and its name.
pub(super) fn marked(part: Expr, name: Ident) -> Expr {
    Expr::Function(call::call(MARK, vec![part, Expr::Identifier(name)]))
}

/// Takes the names out of a SELECT.
pub(super) fn names(select: &mut Select) -> Result<Aliases, DialectError> {
    let mut work = Gathering { aliases: Aliases::new(), queries: 0 };
    let taken = work.of(select);
    match taken {
        ControlFlow::Continue(()) => Ok(work.aliases),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Replaces the names of parts in ORDER BY, which sees the names of results only.
pub(super) fn names_in_order(query: &mut Query) -> Result<(), DialectError> {
    let Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) = &mut query.order_by else {
        return Ok(());
    };
    let SetExpr::Select(select) = &*query.body else { return Ok(()) };
    let mut parts = names(&mut select.clone())?;
    for item in &select.projection {
        if let SelectItem::ExprWithAlias { alias, .. } = item {
            parts.remove(&alias.value);
        }
    }
    if parts.is_empty() {
        return Ok(());
    }
    keys.iter_mut().try_for_each(|key| alias::apply_to(&mut key.expr, &parts))
}

struct Gathering {
    aliases: Aliases,
    queries: usize,
}

impl Gathering {
    fn of(&mut self, select: &mut Select) -> ControlFlow<DialectError> {
        for item in &mut select.projection {
            // `SELECT (a AS b)` is `SELECT a AS b`.
            if let SelectItem::UnnamedExpr(expr) = item
                && let Some((part, name)) = whole(expr)
            {
                *item = SelectItem::ExprWithAlias { expr: part, alias: name };
            }
        }
        walk_mut(&mut select.projection, self)?;
        for condition in
            [&mut select.prewhere, &mut select.selection, &mut select.having, &mut select.qualify]
        {
            walk_mut(condition, self)?;
        }
        walk_mut(&mut select.group_by, self)
    }
}

/// The part and the name of an expression that is nothing but a named part.
fn whole(expr: &Expr) -> Option<(Expr, Ident)> {
    match expr {
        Expr::Nested(inner) => whole(inner),
        Expr::Function(function) => parts(function),
        _ => None,
    }
}

/// The part and its name that a call holds.
pub(super) fn parts(function: &Function) -> Option<(Expr, Ident)> {
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(part)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name))),
        ] if call::name(function) == Some(MARK) => Some((part.clone(), name.clone())),
        _ => None,
    }
}

impl VisitorMut for Gathering {
    type Break = DialectError;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<DialectError> {
        self.queries += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<DialectError> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        // A query inside has its own names, and is looked at when its turn comes.
        if self.queries > 0 {
            return ControlFlow::Continue(());
        }
        let Expr::Function(function) = &*expr else { return ControlFlow::Continue(()) };
        let Some((part, name)) = parts(function) else { return ControlFlow::Continue(()) };
        if let Err(error) = alias::add(&mut self.aliases, &name, &part) {
            return ControlFlow::Break(error);
        }
        *expr = match part {
            plain
            @ (Expr::Identifier(_) | Expr::Function(_) | Expr::Nested(_) | Expr::Value(_)) => plain,
            other => Expr::Nested(Box::new(other)),
        };
        ControlFlow::Continue(())
    }
}
