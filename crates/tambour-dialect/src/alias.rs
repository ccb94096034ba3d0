//! Names of results in other clauses. For ClickHouse `GROUP BY d` after `SELECT toStartOfMonth(d) AS d` means the result,
//! for DataFusion the column; and DataFusion knows no names of results in WHERE. So names are replaced by what they stand
//! for, before anything else is rewritten. Inside of its own expression a name is the column.

use super::{aggregate, call, joins, lambda, naming, refused, values};
use crate::DialectError;
use crate::walk::{walk, walk_mut};
use datafusion::sql::sqlparser::ast::{
    DataType, Distinct, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    GroupByExpr, Ident, NamedWindowExpr, Query, Select, SelectItem, UnaryOperator, Value, VisitMut,
    Visitor, VisitorMut,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Most expressions that come in the place of names: names that stand for other names twice double each time.
const ADDED_MAX: usize = 20_000;
/// Deepest nesting with names replaced, in operators.
const DEPTH_MAX: usize = 1_000;
/// Operators that take as much of the planner's stack as one function.
const FUNCTION_DEPTH: usize = 5;

/// Expressions by the names they were given.
pub(super) type Aliases = BTreeMap<String, Expr>;

/// Adds a name; a second expression under it is refused.
pub(super) fn add(aliases: &mut Aliases, name: &Ident, expr: &Expr) -> Result<(), DialectError> {
    match aliases.get(&name.value) {
        Some(other) if other != expr => Err(refused(
            format!("the name {} for two results", name.value),
            format!("it stands for {other} and for {expr}"),
        )),
        Some(_) => Ok(()),
        None => {
            aliases.insert(name.value.clone(), expr.clone());
            Ok(())
        }
    }
}

/// The names that a list of results gives, besides those of parts of expressions.
pub(super) fn of_results(
    projection: &[SelectItem],
    mut aliases: Aliases,
) -> Result<Aliases, DialectError> {
    for item in projection {
        if let SelectItem::ExprWithAlias { expr, alias } = item {
            add(&mut aliases, alias, expr)?;
        }
    }
    aliases.retain(|alias, expr| !matches!(expr, Expr::Identifier(name) if name.value == *alias));
    Ok(aliases)
}

/// Replaces the names of a SELECT's results in its clauses. (ORDER BY sees results anyway.)
pub(super) fn apply(select: &mut Select, aliases: &Aliases) -> Result<(), DialectError> {
    if aliases.is_empty() {
        return Ok(());
    }
    keep_names(&mut select.projection, aliases);
    let mut work = Substitution::new(aliases, false);
    for (clause, condition) in [
        (Clause::Prewhere, &mut select.prewhere),
        (Clause::Where, &mut select.selection),
        (Clause::Having, &mut select.having),
        (Clause::Other, &mut select.qualify),
    ] {
        if let Some(expr) = condition {
            work.run(clause, None, expr)?;
        }
    }
    if let GroupByExpr::Expressions(list, _) = &mut select.group_by {
        work.run(Clause::GroupBy, None, list)?;
    }
    if let Some(Distinct::On(list)) = &mut select.distinct {
        work.run(Clause::Other, None, list)?;
    }
    for join in select.from.iter_mut().flat_map(|table| &mut table.joins) {
        if let Some(condition) = joins::condition(&mut join.join_operator) {
            work.run(Clause::On, None, condition)?;
        }
    }
    for window in &mut select.named_window {
        if let NamedWindowExpr::WindowSpec(window) = &mut window.1 {
            work.run(Clause::Other, None, window)?;
        }
    }
    for item in &mut select.projection {
        match item {
            SelectItem::ExprWithAlias { expr, alias } => {
                // Inside of its own expression a name is the column; alone it is no expression.
                let is_name = matches!(expr, Expr::Identifier(name) if name.value == alias.value);
                let own = (!is_name).then(|| alias.value.clone());
                work.run(Clause::Other, own, expr)?;
            }
            SelectItem::UnnamedExpr(expr) => work.run(Clause::Other, None, expr)?,
            _ => {}
        }
    }
    Ok(())
}

/// Replaces names in a whole query with all that is inside.
pub(super) fn apply_everywhere(query: &mut Query, aliases: &Aliases) -> Result<(), DialectError> {
    Substitution::new(aliases, true).run(Clause::Other, None, query)
}

/// Replaces names in an expression.
pub(super) fn apply_to(expr: &mut Expr, aliases: &Aliases) -> Result<(), DialectError> {
    Substitution::new(aliases, true).run(Clause::Other, None, expr)
}

/// A result that is nothing but a name keeps it, whatever will be in its place.
fn keep_names(projection: &mut [SelectItem], aliases: &Aliases) {
    for item in projection {
        let SelectItem::UnnamedExpr(Expr::Identifier(name)) = item else { continue };
        if aliases.contains_key(&name.value) {
            let alias = Ident::with_quote('"', name.value.clone());
            *item = SelectItem::ExprWithAlias { expr: Expr::Identifier(name.clone()), alias };
        }
    }
}

/// Where a name is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clause {
    Prewhere,
    Where,
    GroupBy,
    Having,
    On,
    Other,
}

impl Clause {
    fn words(self) -> &'static str {
        match self {
            Self::Prewhere => "PREWHERE",
            Self::Where => "WHERE",
            Self::GroupBy => "GROUP BY",
            Self::Having => "HAVING",
            Self::On => "ON",
            Self::Other => "this place",
        }
    }
    fn is_before_aggregation(self) -> bool {
        matches!(self, Self::Prewhere | Self::Where | Self::GroupBy | Self::On)
    }
}

/// The walk that replaces.
#[derive(Debug)]
struct Substitution<'a> {
    aliases: &'a Aliases,
    clause: Clause,
    into_subqueries: bool,
    subqueries: usize,
    /// Names whose expression this is.
    active: Vec<String>,
    /// Parameters of the lambdas around.
    parameters: Vec<String>,
    /// Aggregates around.
    aggregates: usize,
    /// Replaced names around.
    replaced: usize,
    added: usize,
    depth: usize,
}

impl<'a> Substitution<'a> {
    fn new(aliases: &'a Aliases, into_subqueries: bool) -> Self {
        Self {
            aliases,
            clause: Clause::Other,
            into_subqueries,
            subqueries: 0,
            active: Vec::new(),
            parameters: Vec::new(),
            aggregates: 0,
            replaced: 0,
            added: 0,
            depth: 0,
        }
    }
    fn run(
        &mut self,
        clause: Clause,
        own: Option<String>,
        target: &mut impl VisitMut,
    ) -> Result<(), DialectError> {
        self.clause = clause;
        self.active = own.into_iter().collect();
        match walk_mut(target, self) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }
    /// What comes in the place of a name. In what it stands for, too, the parameters of the lambdas around are parameters, as in
    /// ClickHouse: `WITH x + 1 AS y` makes `x -> x * y` mean `x -> x * (x + 1)`.
    fn replacement(&mut self, name: &Ident) -> Result<Option<Expr>, DialectError> {
        let aliases = self.aliases;
        let Some(expr) = aliases.get(&name.value) else { return Ok(None) };
        let is_foreign = self.subqueries > 0 && !self.into_subqueries;
        if is_foreign || self.parameters.contains(&name.value) || self.active.contains(&name.value)
        {
            return Ok(None);
        }
        self.check(name, expr)?;
        if self.clause == Clause::GroupBy && is_literal(expr) {
            return Ok(Some(constant(expr)));
        }
        let mut expr = expr.clone();
        self.active.push(name.value.clone());
        self.replaced += 1;
        let flow = walk_mut(&mut expr, self);
        self.replaced -= 1;
        self.active.pop();
        match flow {
            ControlFlow::Continue(()) => Ok(Some(in_parentheses(expr))),
            ControlFlow::Break(error) => Err(error),
        }
    }
    /// What comes in the place of `tuple.name`, if the tuple's type is written and has that name. Whatever else the words may be
    /// (a column of a table, a part of a Nested) is left alone.
    fn element(&mut self, parts: &[Ident]) -> Result<Option<Expr>, DialectError> {
        let [first, name] = parts else { return Ok(None) };
        // A subquery may have a column of that name.
        if self.subqueries > 1 {
            return Ok(None);
        }
        let is_element =
            |tuple| written_type(tuple).is_some_and(|it| has_element(&it, &name.value));
        if !self.aliases.get(&first.value).is_some_and(is_element) {
            return Ok(None);
        }
        let Some(tuple) = self.replacement(first)? else { return Ok(None) };
        let name = Value::SingleQuotedString(name.value.clone());
        let arguments = vec![tuple, Expr::Value(name.with_empty_span())];
        Ok(Some(Expr::Function(call::call("tupleElement", arguments))))
    }
    /// What comes in the place of a call of a lambda that has a name.
    fn applied(&mut self, function: &mut Function) -> Result<Option<Expr>, DialectError> {
        let aliases = self.aliases;
        let Some((lambda, values)) = lambda::called(function, aliases)? else { return Ok(None) };
        let written = function.name.to_string();
        if self.active.contains(&written) {
            return Err(refused(format!("{written} in its own lambda"), "it would have no end"));
        }
        let mut body = (*lambda.body).clone();
        let around = self.parameters.len();
        self.parameters.extend(values.keys().cloned());
        let into_subqueries = std::mem::replace(&mut self.into_subqueries, true);
        self.active.push(written);
        self.replaced += 1;
        let flow = walk_mut(&mut body, self);
        self.replaced -= 1;
        self.active.pop();
        self.into_subqueries = into_subqueries;
        self.parameters.truncate(around);
        if let ControlFlow::Break(error) = flow {
            return Err(error);
        }
        self.added += lambda::bind(&mut body, &values)?;
        check_added(self.added)?;
        Ok(Some(Expr::Nested(Box::new(body))))
    }
    /// Refuses aggregates where they cannot be computed.
    fn check(&self, name: &Ident, expr: &Expr) -> Result<(), DialectError> {
        let Some(kind) = aggregation(expr) else { return Ok(()) };
        let refuse = |place: &str, reason: &str| {
            let reason =
                format!("the result of this name is {expr}; {reason}, or give it another name");
            Err(refused(format!("{name} in {place}"), reason))
        };
        match kind {
            Aggregation::Group if self.clause.is_before_aggregation() => {
                refuse(self.clause.words(), "aggregates can be in HAVING")
            }
            Aggregation::Group if self.aggregates > 0 => {
                refuse("an aggregate", "use a subquery for aggregates of aggregates")
            }
            Aggregation::Window if self.clause != Clause::Other => {
                refuse(self.clause.words(), "use a subquery to filter by window functions")
            }
            Aggregation::Group | Aggregation::Window => Ok(()),
        }
    }
}

impl VisitorMut for Substitution<'_> {
    type Break = DialectError;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<DialectError> {
        self.subqueries += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<DialectError> {
        self.subqueries -= 1;
        ControlFlow::Continue(())
    }
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<DialectError> {
        if self.into_subqueries {
            let tables = naming::Tables::of(select, None);
            naming::name(&mut select.projection, &tables);
            keep_names(&mut select.projection, self.aliases);
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        self.depth += depth(expr);
        if self.replaced > 0 {
            self.added += 1;
            if self.depth > DEPTH_MAX {
                let what = "levels of a statement with the names of results replaced";
                return ControlFlow::Break(DialectError::Limit { what, limit: DEPTH_MAX });
            }
            if let Err(error) = check_added(self.added) {
                return ControlFlow::Break(error);
            }
        }
        match expr {
            Expr::Lambda(lambda) => {
                self.parameters.extend(lambda.params.iter().map(|it| it.name.value.clone()));
            }
            Expr::Function(function) if aggregate::is_one(function) => self.aggregates += 1,
            _ => {}
        }
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        self.depth -= depth(expr);
        let other = match expr {
            Expr::Lambda(lambda) => {
                let left = self.parameters.len() - lambda.params.len();
                self.parameters.truncate(left);
                Ok(None)
            }
            Expr::Function(function) if aggregate::is_one(function) => {
                self.aggregates -= 1;
                Ok(None)
            }
            Expr::Function(function) => self.applied(function),
            Expr::Identifier(name) => self.replacement(name),
            Expr::CompoundIdentifier(parts) => self.element(parts),
            _ => Ok(None),
        };
        match other {
            Ok(Some(other)) => *expr = other,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

/// The type that an expression is converted to.
fn written_type(expr: &Expr) -> Option<DataType> {
    match expr {
        Expr::Nested(inner) => written_type(inner),
        Expr::Cast { data_type, .. } => Some(data_type.clone()),
        Expr::Function(function) if call::name(function)?.eq_ignore_ascii_case("cast") => {
            let FunctionArguments::List(list) = &function.args else { return None };
            let [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(name)))] =
                list.args.as_slice()
            else {
                return None;
            };
            let Value::SingleQuotedString(name) = &name.value else { return None };
            values::data_type(name).ok()
        }
        _ => None,
    }
}

fn has_element(data_type: &DataType, name: &str) -> bool {
    let DataType::Tuple(elements) = data_type else { return false };
    elements.iter().any(|it| it.field_name.as_ref().is_some_and(|it| it.value == name))
}

/// Refuses a statement that grows without bounds.
pub(super) fn check_added(added: usize) -> Result<(), DialectError> {
    if added <= ADDED_MAX {
        return Ok(());
    }
    let what = "expressions that stand for the names of results";
    Err(DialectError::Limit { what, limit: ADDED_MAX })
}

/// What an expression adds to the depth of those inside.
fn depth(expr: &Expr) -> usize {
    match expr {
        Expr::Function(_) | Expr::Case { .. } => FUNCTION_DEPTH,
        _ => 1,
    }
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_literal(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => is_literal(expr),
        Expr::Value(value) => !matches!(value.value, Value::Placeholder(_)),
        // What is left of it is the number.
        Expr::Function(function) if call::name(function) == Some("materialize") => {
            let FunctionArguments::List(list) = &function.args else { return false };
            let is_one = |it: &FunctionArg| match it {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => is_literal(argument),
                _ => false,
            };
            list.args.iter().all(is_one)
        }
        _ => false,
    }
}

/// A bare number in GROUP BY would be that of a result. Which constant it is makes no difference there.
fn constant(literal: &Expr) -> Expr {
    let is_null = Expr::IsNull(Box::new(literal.clone()));
    Expr::Nested(Box::new(is_null))
}

/// Operators around it must not take it apart.
pub(super) fn in_parentheses(expr: Expr) -> Expr {
    match expr {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Function(_)
        | Expr::Nested(_)
        | Expr::Subquery(_) => expr,
        other => Expr::Nested(Box::new(other)),
    }
}

/// What an expression needs more rows than its own for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aggregation {
    Group,
    Window,
}

/// True for an expression with an aggregate or a window function, subqueries left out.
pub(super) fn needs_more_rows(expr: &Expr) -> bool {
    aggregation(expr).is_some()
}

/// True for an expression with an aggregate, subqueries left out.
pub(super) fn has_aggregate(expr: &Expr) -> bool {
    aggregation(expr) == Some(Aggregation::Group)
}

/// The first aggregate or window function in an expression, subqueries left out.
fn aggregation(expr: &Expr) -> Option<Aggregation> {
    // Here only: elsewhere it would hide the walk that changes.

    struct Search {
        subqueries: usize,
    }
    impl Visitor for Search {
        type Break = Aggregation;

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Aggregation> {
            self.subqueries += 1;
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Aggregation> {
            self.subqueries -= 1;
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Aggregation> {
            match expr {
                Expr::Function(_) if self.subqueries > 0 => ControlFlow::Continue(()),
                Expr::Function(function) if function.over.is_some() => {
                    ControlFlow::Break(Aggregation::Window)
                }
                Expr::Function(function) if aggregate::is_one(function) => {
                    ControlFlow::Break(Aggregation::Group)
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    walk(expr, &mut Search { subqueries: 0 }).break_value()
}
