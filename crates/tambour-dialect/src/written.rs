//! An expression as ClickHouse writes it in the name of a result: operators, CASE, CAST and the words of SQL are calls of
//! functions there.

use super::naming::Tables;
use super::{call, retype, within};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, CeilFloorKind, DateTimeField, DuplicateTreatment, Expr,
    Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Interval, OrderByExpr,
    Subscript, TrimWhereField, UnaryOperator, Value, WindowFrame, WindowFrameBound, WindowType,
};

/// The name; `subqueries` counts those that were named before.
pub(super) fn name(expr: &Expr, tables: &Tables, subqueries: &mut usize) -> String {
    Writer { tables, subqueries }.of(expr)
}

/// True for `nan` and `inf`, which are numbers.
pub(super) fn is_float(name: &Ident) -> bool {
    name.quote_style.is_none()
        && ["nan", "inf"].iter().any(|it| name.value.eq_ignore_ascii_case(it))
}

struct Writer<'a> {
    tables: &'a Tables,
    subqueries: &'a mut usize,
}

impl Writer<'_> {
    fn of(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Identifier(name) if is_float(name) => name.value.to_ascii_lowercase(),
            Expr::Identifier(name) => name.value.clone(),
            Expr::CompoundIdentifier(parts) => self.tables.shown(parts),
            Expr::Nested(inner) => self.of(inner),
            Expr::Value(value) => constant(&value.value),
            Expr::Array(list) => {
                let mut parts: Vec<String> = list.elem.iter().map(|it| self.of(it)).collect();
                // Numbers of which one is a float are floats.
                if list.elem.iter().all(is_number) && parts.iter().any(|it| !is_whole(it)) {
                    parts.iter_mut().filter(|it| is_whole(it)).for_each(|it| it.push('.'));
                }
                format!("[{}]", parts.join(", "))
            }
            Expr::Tuple(list) => format!("({})", self.list(list)),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            Expr::BinaryOp { .. } => self.binary(expr),
            Expr::Function(function) => self.function(function),
            Expr::Subquery(_) => self.subquery(),
            Expr::CompoundFieldAccess { root, access_chain } => self.elements(root, access_chain),
            Expr::Cast { kind, expr: value, data_type, .. } => {
                let value = self.cast(kind, value);
                let name = retype::name_of(data_type).unwrap_or_else(|| data_type.to_string());
                format!("CAST({value}, {})", quoted(&name))
            }
            Expr::Lambda(lambda) => {
                let names = lambda.params.iter().map(|it| it.name.value.as_str());
                let names = names.collect::<Vec<_>>().join(", ");
                format!("lambda(tuple({names}), {})", self.of(&lambda.body))
            }
            Expr::Interval(Interval {
                value, leading_field: Some(unit), last_field: None, ..
            }) => self.interval(value, unit),
            _ => self
                .predicate(expr)
                .or_else(|| self.words(expr))
                .unwrap_or_else(|| expr.to_string()),
        }
    }

    /// Predicates that are words.
    fn predicate(&mut self, expr: &Expr) -> Option<String> {
        Some(match expr {
            Expr::IsNull(value) => self.call("isNull", &[&**value]),
            Expr::IsNotNull(value) => self.call("isNotNull", &[&**value]),
            Expr::IsDistinctFrom(left, right) => self.call("isDistinctFrom", &[&**left, &**right]),
            Expr::IsNotDistinctFrom(left, right) => {
                self.call("isNotDistinctFrom", &[&**left, &**right])
            }
            Expr::InList { expr, list, negated } => {
                let value = self.of(expr);
                let set = match list.as_slice() {
                    [only] => self.of(only),
                    all => format!("({})", self.list(all)),
                };
                format!("{}({value}, {set})", either(*negated, "notIn", "in"))
            }
            Expr::InSubquery { expr, negated, .. } => {
                let value = self.of(expr);
                let set = self.subquery();
                format!("{}({value}, {set})", either(*negated, "notIn", "in"))
            }
            Expr::Between { expr, negated, low, high } => {
                let (first, second, both) = if *negated {
                    ("less", "greater", "or")
                } else {
                    ("greaterOrEquals", "lessOrEquals", "and")
                };
                let (value, low, high) = (self.of(expr), self.of(low), self.of(high));
                format!("{both}({first}({value}, {low}), {second}({value}, {high}))")
            }
            Expr::Like { negated, expr, pattern, any: false, escape_char: None } => {
                self.call(either(*negated, "notLike", "like"), &[&**expr, &**pattern])
            }
            Expr::ILike { negated, expr, pattern, any: false, escape_char: None } => {
                self.call(either(*negated, "notILike", "ilike"), &[&**expr, &**pattern])
            }
            Expr::RLike { negated: false, expr, pattern, .. } => {
                self.call("match", &[&**expr, &**pattern])
            }
            Expr::Exists { negated, .. } => {
                let exists = format!("exists({})", self.subquery());
                if *negated { format!("not({exists})") } else { exists }
            }
            _ => return None,
        })
    }

    /// Functions with words between their arguments.
    fn words(&mut self, expr: &Expr) -> Option<String> {
        Some(match expr {
            Expr::Case { operand, conditions, else_result, .. } => {
                let name = if operand.is_some() { "caseWithExpression" } else { "multiIf" };
                let mut parts: Vec<String> = operand.iter().map(|it| self.of(it)).collect();
                for branch in conditions {
                    parts.push(self.of(&branch.condition));
                    parts.push(self.of(&branch.result));
                }
                let otherwise = else_result.as_ref().map(|it| self.of(it));
                parts.push(otherwise.unwrap_or_else(|| "NULL".to_owned()));
                format!("{name}({})", parts.join(", "))
            }
            Expr::Extract { field, expr, .. } => {
                let part = self.of(expr);
                format!("{}({part})", part_of(field)?)
            }
            Expr::Ceil { expr, field } => self.rounded("ceil", expr, field),
            Expr::Floor { expr, field } => self.rounded("floor", expr, field),
            // The needle comes first in what was written.
            Expr::Position { expr, r#in } => self.call("position", &[&**r#in, &**expr]),
            Expr::Substring { expr, substring_from, substring_for, shorthand, .. } => {
                let parts = std::iter::once(expr).chain(substring_from).chain(substring_for);
                let parts: Vec<&Expr> = parts.map(|it| &**it).collect();
                self.call(either(*shorthand, "substr", "substring"), &parts)
            }
            Expr::Trim { trim_where, trim_what, expr, .. } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "trimLeft",
                    Some(TrimWhereField::Trailing) => "trimRight",
                    Some(TrimWhereField::Both) | None => "trimBoth",
                };
                let parts: Vec<&Expr> =
                    std::iter::once(expr).chain(trim_what).map(|it| &**it).collect();
                self.call(name, &parts)
            }
            Expr::TypedString(typed) => {
                let name = match typed.data_type.to_string().as_str() {
                    "DATE" => "toDate",
                    "TIMESTAMP" | "DATETIME" => "toDateTime",
                    _ => return None,
                };
                format!("{name}({})", constant(&typed.value.value))
            }
            _ => return None,
        })
    }

    fn call(&mut self, name: &str, arguments: &[&Expr]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|it| self.of(it)).collect();
        format!("{name}({})", arguments.join(", "))
    }

    fn rounded(&mut self, name: &str, value: &Expr, field: &CeilFloorKind) -> String {
        match field {
            CeilFloorKind::Scale(digits) => self.call(name, &[value, &Expr::Value(digits.clone())]),
            CeilFloorKind::DateTimeField(_) => self.call(name, &[value]),
        }
    }

    fn list(&mut self, list: &[Expr]) -> String {
        list.iter().map(|it| self.of(it)).collect::<Vec<_>>().join(", ")
    }

    fn subquery(&mut self) -> String {
        *self.subqueries += 1;
        format!("_subquery_{}", self.subqueries)
    }

    fn unary(&mut self, op: UnaryOperator, value: &Expr) -> String {
        match (op, value) {
            (UnaryOperator::Plus, _) => self.of(value),
            (UnaryOperator::Minus, Expr::Value(number))
                if matches!(number.value, Value::Number(..)) =>
            {
                format!("-{}", self.of(value))
            }
            (UnaryOperator::Minus, Expr::Identifier(name))
                if is_float(name) && name.value.eq_ignore_ascii_case("inf") =>
            {
                "-inf".to_owned()
            }
            (UnaryOperator::Minus, _) => self.call("negate", &[value]),
            (UnaryOperator::Not, _) => self.call("not", &[value]),
            (other, _) => format!("{other}{}", self.of(value)),
        }
    }

    /// Operators from the left to the right, without a call for each: chains of them may be long.
    fn binary(&mut self, whole: &Expr) -> String {
        let mut calls: Vec<(&BinaryOperator, &str, Vec<&Expr>)> = Vec::new();
        let mut first = whole;
        while let Expr::BinaryOp { left, op, right } = first
            && let Some(name) = function_of(op)
        {
            // `a AND b AND c` is one call.
            match calls.last_mut() {
                Some((last, _, parts)) if *last == op && is_chain(op) => parts.push(right),
                _ => calls.push((op, name, vec![right])),
            }
            first = left;
        }
        if calls.is_empty() {
            return whole.to_string();
        }
        let mut text = String::new();
        for (_, name, _) in &calls {
            text.push_str(name);
            text.push('(');
        }
        text.push_str(&self.of(first));
        for (_, _, parts) in calls.iter().rev() {
            for part in parts.iter().rev() {
                text.push_str(", ");
                text.push_str(&self.of(part));
            }
            text.push(')');
        }
        text
    }

    fn elements(&mut self, root: &Expr, chain: &[AccessExpr]) -> String {
        let mut text = self.of(root);
        for access in chain {
            text = match access {
                AccessExpr::Dot(other) => format!("tupleElement({text}, {})", self.of(other)),
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    format!("arrayElement({text}, {})", self.of(index))
                }
                AccessExpr::Subscript(other) => format!("{text}[{other}]"),
            };
        }
        text
    }

    /// The value of a CAST; ClickHouse makes a text of a literal before `::`.
    fn cast(&mut self, kind: &CastKind, value: &Expr) -> String {
        let is_list = matches!(value, Expr::Array(_) | Expr::Tuple(_)) && is_literal(value);
        let is_text = is_number(value) || is_list;
        if is_text && *kind == CastKind::DoubleColon {
            return quoted(&value.to_string());
        }
        self.of(value)
    }

    fn interval(&mut self, value: &Expr, unit: &DateTimeField) -> String {
        let unit = match unit {
            DateTimeField::Week(_) => "week".to_owned(),
            other => other.to_string().to_ascii_lowercase(),
        };
        let unit = unit.strip_suffix('s').unwrap_or(&unit);
        let (first, rest) = unit.split_at(unit.len().min(1));
        format!("toInterval{}{rest}({})", first.to_ascii_uppercase(), self.of(value))
    }

    fn function(&mut self, function: &Function) -> String {
        if let Some((_, name)) = within::parts(function) {
            return name.value;
        }
        let Some(written) = call::name(function) else { return function.to_string() };
        if let Some(other) = self.special(written, function) {
            return other;
        }
        let mut name = written.to_owned();
        let mut arguments = Vec::new();
        match &function.args {
            FunctionArguments::None => {}
            FunctionArguments::Subquery(_) => arguments.push(self.subquery()),
            FunctionArguments::List(list) => {
                if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
                    name.push_str("Distinct");
                }
                let is_count = written.eq_ignore_ascii_case("count");
                arguments.extend(list.args.iter().filter_map(|it| self.argument(it, is_count)));
            }
        }
        if let Some(filter) = &function.filter {
            name.push_str("If");
            arguments.push(self.of(filter));
        }
        if let FunctionArguments::List(list) = &function.parameters {
            let all = list.args.iter().filter_map(|it| self.argument(it, false));
            name = format!("{name}({})", all.collect::<Vec<_>>().join(", "));
        }
        let arguments = arguments.join(", ");
        let mut text = match written {
            "array" => format!("[{arguments}]"),
            "tuple" => format!("({arguments})"),
            _ => format!("{name}({arguments})"),
        };
        match &function.over {
            None => {}
            Some(WindowType::NamedWindow(name)) => text.push_str(&format!(" OVER {}", name.value)),
            Some(WindowType::WindowSpec(window)) => {
                let mut parts = Vec::new();
                parts.extend(window.window_name.as_ref().map(|name| name.value.clone()));
                if !window.partition_by.is_empty() {
                    parts.push(format!("PARTITION BY {}", self.list(&window.partition_by)));
                }
                if !window.order_by.is_empty() {
                    let keys = window.order_by.iter().map(|key| self.key(key));
                    parts.push(format!("ORDER BY {}", keys.collect::<Vec<_>>().join(", ")));
                }
                parts.extend(window.window_frame.as_ref().map(|frame| self.frame(frame)));
                text.push_str(&format!(" OVER ({})", parts.join(" ")));
            }
        }
        text
    }

    fn argument(&mut self, argument: &FunctionArg, is_count: bool) -> Option<String> {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(self.of(expr)),
            FunctionArg::Unnamed(_) if is_count => None,
            other => Some(other.to_string()),
        }
    }

    /// Functions that ClickHouse's parser makes others of.
    fn special(&mut self, written: &str, function: &Function) -> Option<String> {
        let FunctionArguments::List(list) = &function.args else { return None };
        let expr = |it: &FunctionArg| match it {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        };
        let all: Vec<Expr> = list.args.iter().map(expr).collect::<Option<_>>()?;
        let moved = match written.to_ascii_lowercase().as_str() {
            "dateadd" | "date_add" | "timestampadd" | "timestamp_add" => "plus",
            "datesub" | "date_sub" | "timestampsub" | "timestamp_sub" => "minus",
            "datediff" | "date_diff" | "timestampdiff" | "timestamp_diff" => {
                let (unit, rest) = all.split_first()?;
                let unit = match unit {
                    Expr::Identifier(unit) => quoted(&unit.value.to_ascii_lowercase()),
                    other => self.of(other),
                };
                return Some(format!("dateDiff({unit}, {})", self.list(rest)));
            }
            "ltrim" => return Some(format!("trimLeft({})", self.list(&all))),
            "rtrim" => return Some(format!("trimRight({})", self.list(&all))),
            "cast" => return Some(format!("CAST({})", self.list(&all))),
            _ => return None,
        };
        let text = match all.as_slice() {
            [date, interval] => format!("{moved}({}, {})", self.of(date), self.of(interval)),
            [Expr::Identifier(unit), count, date] => {
                let unit = unit.value.to_ascii_lowercase();
                let (first, rest) = unit.split_at(unit.len().min(1));
                let (date, count) = (self.of(date), self.of(count));
                let unit = first.to_ascii_uppercase();
                format!("{moved}({date}, toInterval{unit}{rest}({count}))")
            }
            _ => return None,
        };
        Some(text)
    }

    fn key(&mut self, key: &OrderByExpr) -> String {
        let nulls = match key.options.nulls_first {
            None => "",
            Some(true) => " NULLS FIRST",
            Some(false) => " NULLS LAST",
        };
        let order = either(key.options.asc == Some(false), "DESC", "ASC");
        format!("{} {order}{nulls}", self.of(&key.expr))
    }

    fn frame(&mut self, frame: &WindowFrame) -> String {
        let start = self.bound(&frame.start_bound);
        let end = frame.end_bound.as_ref().map(|it| self.bound(it));
        let end = end.unwrap_or_else(|| "CURRENT ROW".to_owned());
        format!("{} BETWEEN {start} AND {end}", frame.units)
    }

    fn bound(&mut self, bound: &WindowFrameBound) -> String {
        match bound {
            WindowFrameBound::CurrentRow => "CURRENT ROW".to_owned(),
            WindowFrameBound::Preceding(None) => "UNBOUNDED PRECEDING".to_owned(),
            WindowFrameBound::Following(None) => "UNBOUNDED FOLLOWING".to_owned(),
            WindowFrameBound::Preceding(Some(rows)) => format!("{} PRECEDING", self.of(rows)),
            WindowFrameBound::Following(Some(rows)) => format!("{} FOLLOWING", self.of(rows)),
        }
    }
}

fn either(is_first: bool, first: &'static str, second: &'static str) -> &'static str {
    if is_first { first } else { second }
}

/// The function that an operator is.
fn function_of(op: &BinaryOperator) -> Option<&'static str> {
    Some(match op {
        BinaryOperator::Plus => "plus",
        BinaryOperator::Minus => "minus",
        BinaryOperator::Multiply => "multiply",
        BinaryOperator::Divide => "divide",
        BinaryOperator::Modulo => "modulo",
        BinaryOperator::Eq => "equals",
        BinaryOperator::NotEq => "notEquals",
        BinaryOperator::Lt => "less",
        BinaryOperator::Gt => "greater",
        BinaryOperator::LtEq => "lessOrEquals",
        BinaryOperator::GtEq => "greaterOrEquals",
        BinaryOperator::Spaceship => "isNotDistinctFrom",
        BinaryOperator::And => "and",
        BinaryOperator::Or => "or",
        BinaryOperator::StringConcat => "concat",
        _ => return None,
    })
}

/// True for operators of which several with one another are one call.
fn is_chain(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::And | BinaryOperator::Or | BinaryOperator::StringConcat)
}

/// The function that EXTRACT is.
fn part_of(field: &DateTimeField) -> Option<&'static str> {
    Some(match field {
        DateTimeField::Year => "toYear",
        DateTimeField::Quarter => "toQuarter",
        DateTimeField::Month => "toMonth",
        DateTimeField::Week(None) => "toISOWeek",
        DateTimeField::Day => "toDayOfMonth",
        DateTimeField::Hour => "toHour",
        DateTimeField::Minute => "toMinute",
        DateTimeField::Second => "toSecond",
        _ => return None,
    })
}

/// True for literals, and for lists of nothing else.
fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => is_literal(expr),
        Expr::Array(list) => list.elem.iter().all(is_literal),
        Expr::Tuple(list) => list.iter().all(is_literal),
        _ => false,
    }
}

fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => is_number(expr),
        _ => false,
    }
}

fn is_whole(number: &str) -> bool {
    number.trim_start_matches('-').bytes().all(|it| it.is_ascii_digit())
}

fn constant(value: &Value) -> String {
    match value {
        Value::Number(text, _) => number(text),
        Value::SingleQuotedString(text) => quoted(text),
        other => other.to_string(),
    }
}

/// Whole numbers of 64 bits as they are; others are floats, with a point where nothing else says so.
fn number(text: &str) -> String {
    let digits = text.replace('_', "");
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.to_string();
    }
    let Ok(value) = digits.parse::<f64>() else { return text.to_owned() };
    let mut printed = Vec::new();
    tambour_value::print::float64(value, &mut printed);
    let mut printed = String::from_utf8_lossy(&printed).into_owned();
    if is_whole(&printed) {
        printed.push('.');
    }
    printed
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for character in text.chars() {
        match character {
            '\'' => quoted.push_str("\\'"),
            '\\' => quoted.push_str("\\\\"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\0' => quoted.push_str("\\0"),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}
