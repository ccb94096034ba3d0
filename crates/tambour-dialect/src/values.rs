//! `values('a UInt8, b String', (1, 'x'), …)` in FROM: a subquery of rows with names and types.

use super::grammar::Grammar;
use super::{call, refused};
use crate::DialectError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, FunctionArg, FunctionArgExpr, Parens, Query, SetExpr, TableFactor,
    UnaryOperator, Value,
};
use datafusion::sql::sqlparser::parser::Parser;

/// Replaces a table that is a list of values.
pub(super) fn rewrite(table: &mut TableFactor) -> Result<(), DialectError> {
    let TableFactor::Table { name, alias, args: Some(arguments), .. } = table else {
        return Ok(());
    };
    let is_it = name.0.as_slice().first().and_then(|part| part.as_ident());
    if name.0.len() != 1 || !is_it.is_some_and(|it| it.value.eq_ignore_ascii_case("values")) {
        return Ok(());
    }
    let mut rows: Vec<Expr> = Vec::new();
    for argument in &arguments.args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => rows.push(expr.clone()),
            other => return Err(refused(format!("values({other})"), "it takes rows")),
        }
    }
    let structure = match rows.first() {
        Some(Expr::Value(value)) if rows.len() > 1 => match &value.value {
            Value::SingleQuotedString(text) if text.trim().contains(' ') => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    if structure.is_some() {
        rows.remove(0);
    }
    let rows: Vec<Vec<Expr>> = rows.into_iter().map(elements).collect();
    let width = rows.first().map_or(0, Vec::len);
    if width == 0 || rows.iter().any(|row| row.len() != width) {
        return Err(refused("values with these rows", "all rows have the same number of elements"));
    }
    let columns = match structure {
        Some(text) => columns(&text)?,
        None => (1..=width).map(|number| (format!("c{number}"), None)).collect(),
    };
    if columns.len() != width {
        return Err(refused(
            format!("values with {} columns and rows of {width}", columns.len()),
            "each column has an element in each row",
        ));
    }
    let subquery = query(&columns, rows)?;
    *table = TableFactor::Derived { lateral: false, subquery, alias: alias.take(), sample: None };
    Ok(())
}

fn elements(row: Expr) -> Vec<Expr> {
    match row {
        Expr::Tuple(elements) => elements,
        Expr::Nested(inner) => elements(*inner),
        other => vec![other],
    }
}

/// Names and types of `a UInt8, b Array(String)`.
fn columns(structure: &str) -> Result<Vec<(String, Option<String>)>, DialectError> {
    let mut depth = 0_usize;
    let pieces = structure.split(|character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    pieces
        .map(|piece| match piece.trim().split_once(' ') {
            Some((name, data_type)) => {
                Ok((name.trim_matches('`').to_owned(), Some(data_type.trim().to_owned())))
            }
            None => Err(refused(
                format!("the column {piece:?} of values"),
                "it needs a name and a type",
            )),
        })
        .collect()
}

fn query(
    columns: &[(String, Option<String>)],
    rows: Vec<Vec<Expr>>,
) -> Result<Box<Query>, DialectError> {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let results: Vec<String> = columns
        .iter()
        .enumerate()
        .map(|(index, (name, _))| format!("\"v{index}\" AS {}", quoted(name)))
        .collect();
    let names: Vec<String> = (0..columns.len()).map(|index| format!("\"v{index}\"")).collect();
    let text = format!(
        "SELECT {} FROM (VALUES (1)) AS \"rows\" ({})",
        results.join(", "),
        names.join(", ")
    );
    let mut query = Parser::new(&Grammar)
        .try_with_sql(&text)
        .and_then(|mut parser| parser.parse_query())
        .map_err(DataFusionError::from)?;
    if let SetExpr::Select(select) = &mut *query.body
        && let Some(table) = select.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut table.relation
        && let SetExpr::Values(values) = &mut *subquery.body
    {
        let types: Vec<Option<(&str, DataType)>> = columns
            .iter()
            .map(|(_, name)| name.as_deref().map(|it| Ok((it, data_type(it)?))).transpose())
            .collect::<Result<_, DialectError>>()?;
        values.rows = rows
            .into_iter()
            .map(|row| Parens {
                opening_token: AttachedToken::empty(),
                content: row.into_iter().zip(&types).map(converted).collect(),
                closing_token: AttachedToken::empty(),
            })
            .collect();
    }
    Ok(query)
}

/// A type by its name.
pub(super) fn data_type(name: &str) -> Result<DataType, DialectError> {
    let parsed = Parser::new(&Grammar)
        .try_with_sql(name)
        .and_then(|mut parser| parser.parse_data_type())
        .map_err(DataFusionError::from)?;
    Ok(parsed)
}

/// Types that refuse what they do not hold, where a cast would wrap.
const EXACT: [&str; 8] = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"];

/// A value with the type of its column: each by itself, since the rows of a list are held to have one type.
fn converted((mut value, known): (Expr, &Option<(&str, DataType)>)) -> Expr {
    let Some((name, data_type)) = known else { return value };
    let inner = name.strip_prefix("Nullable(").and_then(|it| it.strip_suffix(')'));
    let bare = inner.unwrap_or(name).trim();
    if EXACT.contains(&bare) && is_written(&value) {
        let name = Value::SingleQuotedString(bare.to_owned());
        let arguments = vec![value, Expr::Value(name.with_empty_span())];
        value = Expr::Function(call::call("accurateCast", arguments));
        if inner.is_none() {
            return value;
        }
    }
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(value),
        data_type: data_type.clone(),
        array: false,
        format: None,
    }
}

/// True for a number or a text.
fn is_written(value: &Expr) -> bool {
    match value {
        Expr::Value(value) => {
            matches!(value.value, Value::Number(..) | Value::SingleQuotedString(_))
        }
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_written(expr),
        Expr::Nested(inner) => is_written(inner),
        _ => false,
    }
}
