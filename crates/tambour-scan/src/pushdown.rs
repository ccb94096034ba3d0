//! Filters of the SQL engine as predicates of the store.
//!
//! What comes out may be weaker than the filter, never stronger: the engine filters the rows again. Negation is pushed to the
//! leaves while converting, since the opposite of a weakened predicate would be too strong. A constant is taken only if it has
//! exactly the type of what it is compared with; casts are looked through only where they keep every value.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Cast, InList, Like, ScalarFunction};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use tambour_part::types::{Column, DataType, Strings};
use tambour_table::predicate::{Comparison, Constant, Predicate, Within};
use tambour_table::schema::expression::Expression;

/// Converts filters on a table with these columns.
#[derive(Clone, Copy, Debug)]
pub struct Pushdown<'a> {
    /// The table's columns.
    pub columns: &'a [Column],
    /// How its strings are handed out.
    pub strings: Strings,
}

/// ClickHouse's functions that are conditions: of arrays, and of words.
const HAS: &str = "has";
const HAS_TOKEN: &str = "hasToken";
const HAS_ALL_TOKENS: &str = "hasAllTokens";
const HAS_ANY_TOKENS: &str = "hasAnyTokens";
const STARTS_WITH: [&str; 2] = ["startsWith", "starts_with"];
const ENDS_WITH: [&str; 2] = ["endsWith", "ends_with"];

/// One side of a comparison: an expression of the store, and the Arrow type in which it is compared.
struct Side {
    expression: Expression,
    compared: ArrowType,
}

impl Pushdown<'_> {
    /// The conjunction of some filters.
    pub fn all(&self, filters: &[Expr]) -> Predicate {
        Predicate::all(filters.iter().map(|filter| self.filter(filter)))
    }
    /// One filter.
    pub fn filter(&self, filter: &Expr) -> Predicate {
        self.convert(filter, false).unwrap_or(Predicate::Unknown)
    }

    /// `filter`, or its negation; `None` is unknown.
    fn convert(&self, filter: &Expr, negated: bool) -> Option<Predicate> {
        match filter {
            Expr::Not(inner) | Expr::IsFalse(inner) => self.convert(inner, !negated),
            Expr::IsTrue(inner) if !negated => self.convert(inner, false),
            Expr::Alias(alias) => self.convert(&alias.expr, negated),
            Expr::BinaryExpr(binary) => self.binary(binary, negated),
            Expr::IsNull(inner) => Some(Predicate::IsNull(self.side(inner)?.expression, negated)),
            Expr::IsNotNull(inner) => {
                Some(Predicate::IsNull(self.side(inner)?.expression, !negated))
            }
            Expr::Between(between) => self.between(between, negated),
            Expr::InList(list) => self.list(list, negated),
            Expr::Like(like) => self.like(like, negated),
            Expr::Literal(ScalarValue::Boolean(Some(value)), _) if *value == negated => {
                Some(Predicate::Or(Vec::new()))
            }
            Expr::Cast(cast) if !negated && *cast.field.data_type() == ArrowType::Boolean => {
                match &*cast.expr {
                    Expr::ScalarFunction(call) => self.called(call),
                    _ => None,
                }
            }
            Expr::ScalarFunction(call) if !negated => self.called(call),
            // A column of type Bool is a condition by itself.
            Expr::Column(_) => {
                let side = self.side(filter)?;
                (side.compared == ArrowType::Boolean).then(|| {
                    let constant = Constant::Bool(!negated);
                    Predicate::Compare(side.expression, Comparison::Equal, constant)
                })
            }
            _ => None,
        }
    }

    fn binary(&self, binary: &BinaryExpr, negated: bool) -> Option<Predicate> {
        let comparison = match binary.op {
            Operator::And | Operator::Or => {
                let parts = [&binary.left, &binary.right]
                    .map(|part| self.convert(part, negated).unwrap_or(Predicate::Unknown));
                let is_and = (binary.op == Operator::And) != negated;
                return Some(if is_and { Predicate::all(parts) } else { Predicate::any(parts) });
            }
            Operator::Eq => Comparison::Equal,
            Operator::NotEq => Comparison::NotEqual,
            Operator::Lt => Comparison::Less,
            Operator::LtEq => Comparison::LessOrEqual,
            Operator::Gt => Comparison::Greater,
            Operator::GtEq => Comparison::GreaterOrEqual,
            _ => return None,
        };
        let comparison = if negated { comparison.negated() } else { comparison };
        let (expression, literal, comparison) = match (&*binary.left, &*binary.right) {
            (expression, Expr::Literal(literal, _)) => (expression, literal, comparison),
            (Expr::Literal(literal, _), expression) => (expression, literal, comparison.swapped()),
            _ => return None,
        };
        if let Expr::ScalarFunction(call) = expression
            && is_yes(comparison, literal)
            && let Some(predicate) = self.called(call)
        {
            return Some(predicate);
        }
        self.compare(expression, comparison, literal)
    }

    fn compare(
        &self,
        expression: &Expr,
        comparison: Comparison,
        literal: &ScalarValue,
    ) -> Option<Predicate> {
        let side = self.side(expression)?;
        let constant = constant(literal, &side.compared)?;
        Some(Predicate::Compare(side.expression, comparison, constant))
    }

    fn between(&self, between: &Between, negated: bool) -> Option<Predicate> {
        let (Expr::Literal(low, _), Expr::Literal(high, _)) = (&*between.low, &*between.high)
        else {
            return None;
        };
        let expression = &*between.expr;
        Some(if between.negated == negated {
            let low = self.compare(expression, Comparison::GreaterOrEqual, low);
            let high = self.compare(expression, Comparison::LessOrEqual, high);
            Predicate::all([low, high].into_iter().flatten())
        } else {
            let below = self.compare(expression, Comparison::Less, low)?;
            let above = self.compare(expression, Comparison::Greater, high)?;
            Predicate::any([below, above])
        })
    }

    /// A function whose result is 0 or 1, where it is 1.
    fn called(&self, call: &ScalarFunction) -> Option<Predicate> {
        let within = match call.name() {
            HAS => return self.has(call),
            HAS_TOKEN | HAS_ALL_TOKENS | HAS_ANY_TOKENS => Within::Word,
            name if ENDS_WITH.contains(&name) || STARTS_WITH.contains(&name) => Within::End,
            _ => return None,
        };
        let [text_of, Expr::Literal(wanted, _)] = call.args.as_slice() else { return None };
        let side = self.side(text_of).filter(|side| is_text(&side.compared))?;
        let wanted = text(wanted)??.as_bytes();
        let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80;
        let contains =
            |bytes: &[u8]| Predicate::Contains(side.expression.clone(), bytes.to_vec(), within);
        let words = wanted.split(|byte| !is_inside(byte)).filter(|word| !word.is_empty());
        match call.name() {
            // Anything but a word is an error, which the function tells.
            HAS_TOKEN => wanted.iter().all(is_inside).then(|| contains(wanted)),
            HAS_ALL_TOKENS => Some(Predicate::all(words.map(contains))),
            HAS_ANY_TOKENS => Some(Predicate::any(words.map(contains))),
            name if STARTS_WITH.contains(&name) => {
                Some(Predicate::StartsWith(side.expression.clone(), wanted.to_vec()))
            }
            _ => Some(contains(wanted)),
        }
    }

    /// `has(array, element)`: a number that is a condition.
    fn has(&self, call: &ScalarFunction) -> Option<Predicate> {
        let (HAS, [Expr::Column(column), Expr::Literal(element, _)]) =
            (call.name(), call.args.as_slice())
        else {
            return None;
        };
        let column = self.columns.iter().find(|it| it.name == column.name)?;
        let DataType::Array(inner) = &column.data_type else { return None };
        // Numbers are compared by what they are worth, whatever their types.
        let (own, compared) = (element.data_type(), inner.unwrapped().arrow(self.strings));
        let are_integers = own.is_integer() && compared.is_integer();
        let element = constant(element, if are_integers { &own } else { &compared })?;
        (element != Constant::Null)
            .then(|| Predicate::Has(Expression::Column(column.name.clone()), element))
    }

    fn list(&self, list: &InList, negated: bool) -> Option<Predicate> {
        let side = self.side(&list.expr)?;
        let constants: Option<Vec<Constant>> = list
            .list
            .iter()
            .map(|item| match item {
                Expr::Literal(literal, _) => constant(literal, &side.compared),
                _ => None,
            })
            .collect();
        Some(Predicate::In(side.expression, constants?, list.negated != negated))
    }

    fn like(&self, like: &Like, negated: bool) -> Option<Predicate> {
        if like.negated != negated || like.case_insensitive {
            return None;
        }
        let Expr::Literal(pattern, _) = &*like.pattern else { return None };
        let pattern = text(pattern)??;
        let side = self.side(&like.expr)?;
        if !is_text(&side.compared) {
            return None;
        }
        let (mut runs, is_understood) = like_runs(pattern, like.escape_char.unwrap_or('\\'));
        let prefix = runs.remove(0).into_bytes();
        let expression = side.expression;
        if runs.is_empty() && is_understood {
            let constant = Constant::Bytes(prefix);
            return Some(Predicate::Compare(expression, Comparison::Equal, constant));
        }
        let mut parts = Vec::new();
        if let Some(last) = runs.pop() {
            let within = if is_understood { Within::End } else { Within::Anywhere };
            let others = runs.into_iter().map(|run| (run, Within::Anywhere));
            let all = others.chain([(last, within)]).filter(|(run, _)| !run.is_empty());
            parts.extend(all.map(|(run, within)| {
                Predicate::Contains(expression.clone(), run.into_bytes(), within)
            }));
        }
        if !prefix.is_empty() {
            parts.insert(0, Predicate::StartsWith(expression, prefix));
        }
        Some(Predicate::all(parts))
    }

    /// A column, or a function of one that keys know, and what it is cast to.
    fn side(&self, expression: &Expr) -> Option<Side> {
        match expression {
            Expr::Column(column) => {
                let column = self.columns.iter().find(|it| it.name == column.name)?;
                Some(Side {
                    expression: Expression::Column(column.name.clone()),
                    compared: column.data_type.arrow(self.strings),
                })
            }
            Expr::ScalarFunction(call) => {
                let expression = Expression::parse(&Self::key_text(call)?).ok()?;
                let data_type = expression.data_type(self.columns).ok()?;
                Some(Side { expression, compared: data_type.arrow(self.strings) })
            }
            Expr::Alias(alias) => self.side(&alias.expr),
            Expr::Cast(Cast { expr, field }) => {
                let side = self.side(expr)?;
                let keeps = keeps_values(&side.compared, field.data_type());
                keeps.then(|| Side { compared: field.data_type().clone(), ..side })
            }
            _ => None,
        }
    }

    /// A function call as the text of a key expression.
    fn key_text(call: &ScalarFunction) -> Option<String> {
        // The engine's own functions have lower-case names and may mean something else than ClickHouse's of the same name
        // (`lower` of letters outside ASCII): only those that we brought along are the key functions.
        if !call.name().chars().any(|letter| letter.is_ascii_uppercase()) {
            return None;
        }
        let mut arguments = Vec::with_capacity(call.args.len());
        for argument in &call.args {
            arguments.push(match argument {
                Expr::Column(column) => {
                    format!("`{}`", column.name.replace('\\', "\\\\").replace('`', "\\`"))
                }
                Expr::ScalarFunction(inner) => Self::key_text(inner)?,
                Expr::Literal(literal, _) => match text(literal) {
                    Some(text) => {
                        format!("'{}'", text?.replace('\\', "\\\\").replace('\'', "\\'"))
                    }
                    None if literal.data_type().is_integer() && !literal.is_null() => {
                        literal.to_string()
                    }
                    None => return None,
                },
                _ => return None,
            });
        }
        Some(format!("{}({})", call.name(), arguments.join(", ")))
    }
}

/// What stands before, between and after the wildcards of a LIKE pattern, and whether the pattern was understood to its end.
fn like_runs(pattern: &str, escape: char) -> (Vec<String>, bool) {
    let (mut runs, mut run) = (Vec::new(), String::new());
    let mut characters = pattern.chars();
    let mut is_understood = true;
    while let Some(character) = characters.next() {
        match character {
            '%' | '_' => runs.push(std::mem::take(&mut run)),
            _ if character == escape => match characters.next() {
                Some(next) if next == '%' || next == '_' || next == escape => run.push(next),
                // What other characters mean after an escape is the engine's affair.
                _ => {
                    is_understood = false;
                    break;
                }
            },
            _ => run.push(character),
        }
    }
    runs.push(run);
    (runs, is_understood)
}

/// True if a comparison of a function's 0 or 1 with a number says that it is 1.
fn is_yes(comparison: Comparison, literal: &ScalarValue) -> bool {
    let number = literal.data_type().is_integer().then(|| literal.to_string());
    match number.as_deref() {
        Some("0") => matches!(comparison, Comparison::NotEqual | Comparison::Greater),
        Some("1") => matches!(comparison, Comparison::Equal | Comparison::GreaterOrEqual),
        _ => false,
    }
}

fn is_text(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Utf8 | ArrowType::Utf8View | ArrowType::LargeUtf8 => true,
        ArrowType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn is_bytes(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Binary | ArrowType::BinaryView | ArrowType::LargeBinary => true,
        ArrowType::Dictionary(_, values) => is_bytes(values),
        _ => is_text(data_type),
    }
}

/// True if a cast keeps every value and the order of all of them.
fn keeps_values(from: &ArrowType, to: &ArrowType) -> bool {
    use ArrowType::{Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    if from == to || (is_bytes(from) && is_bytes(to)) {
        return true;
    }
    matches!(
        (from, to),
        (UInt8, UInt16 | UInt32 | UInt64 | Int16 | Int32 | Int64)
            | (UInt16, UInt32 | UInt64 | Int32 | Int64)
            | (UInt32, UInt64 | Int64)
            | (Int8, Int16 | Int32 | Int64)
            | (Int16, Int32 | Int64)
            | (Int32, Int64)
            | (Float32, Float64)
    )
}

/// The text of a string literal; `Some(None)` for NULL, `None` for what is not a string.
#[expect(clippy::option_option, reason = "no string and the string NULL are two things")]
fn text(literal: &ScalarValue) -> Option<Option<&str>> {
    match literal {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => {
            Some(text.as_deref())
        }
        ScalarValue::Dictionary(_, inner) => text(inner),
        _ => None,
    }
}

/// A literal as a constant, if its type is the one in which it is compared.
fn constant(literal: &ScalarValue, compared: &ArrowType) -> Option<Constant> {
    if let ScalarValue::Dictionary(_, inner) = literal {
        return constant(inner, compared);
    }
    let is_same =
        literal.data_type() == *compared || (is_bytes(&literal.data_type()) && is_bytes(compared));
    if literal.is_null() {
        return Some(Constant::Null);
    }
    if !is_same {
        return None;
    }
    Some(match literal {
        ScalarValue::Boolean(Some(value)) => Constant::Bool(*value),
        ScalarValue::Float32(Some(value)) => Constant::Float(f64::from(*value)),
        ScalarValue::Float64(Some(value)) => Constant::Float(*value),
        ScalarValue::Decimal128(Some(value), _, scale) => Constant::Decimal(*value, *scale),
        ScalarValue::Decimal256(Some(value), _, scale) => {
            Constant::Decimal(value.to_i128()?, *scale)
        }
        ScalarValue::Int8(Some(value)) => Constant::Integer(i128::from(*value)),
        ScalarValue::Int16(Some(value)) => Constant::Integer(i128::from(*value)),
        ScalarValue::Int32(Some(value)) | ScalarValue::Date32(Some(value)) => {
            Constant::Integer(i128::from(*value))
        }
        ScalarValue::Int64(Some(value))
        | ScalarValue::TimestampSecond(Some(value), _)
        | ScalarValue::TimestampMillisecond(Some(value), _)
        | ScalarValue::TimestampMicrosecond(Some(value), _)
        | ScalarValue::TimestampNanosecond(Some(value), _) => Constant::Integer(i128::from(*value)),
        ScalarValue::UInt8(Some(value)) => Constant::Integer(i128::from(*value)),
        ScalarValue::UInt16(Some(value)) => Constant::Integer(i128::from(*value)),
        ScalarValue::UInt32(Some(value)) => Constant::Integer(i128::from(*value)),
        ScalarValue::UInt64(Some(value)) => Constant::Integer(i128::from(*value)),
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)) => Constant::Bytes(text.as_bytes().to_vec()),
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::FixedSizeBinary(_, Some(bytes)) => Constant::Bytes(bytes.clone()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
