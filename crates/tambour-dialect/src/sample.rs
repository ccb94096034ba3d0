//! `FROM t SAMPLE 1/10 OFFSET 1/2`: the rows whose SAMPLE BY is in a part of all its values, as ClickHouse has it. The table becomes
//! a subquery with that condition.

use super::columns::Catalog;
use super::refused;
use crate::DialectError;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, SetExpr, TableAlias, TableFactor, TableSample, TableSampleKind,
    Value,
};

/// What a table is sampled by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The expression of SAMPLE BY, as written.
    pub expression: String,
    /// Bits of its unsigned type.
    pub bits: u32,
}

/// A number from 0 on, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    numerator: u64,
    denominator: u64,
}

impl Part {
    /// Of `0.1`, `1/10` or `1`.
    fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Nested(inner) => Self::of(inner),
            Expr::BinaryOp { left, op: BinaryOperator::Divide, right } => {
                let (left, right) = (Self::of(left)?, Self::of(right)?);
                let denominator = left.denominator.checked_mul(right.numerator)?;
                let numerator = left.numerator.checked_mul(right.denominator)?;
                (denominator > 0).then_some(Self { numerator, denominator })
            }
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => Self::decimal(text),
                _ => None,
            },
            _ => None,
        }
    }
    fn decimal(text: &str) -> Option<Self> {
        let (text, exponent) = match text.split_once(['e', 'E']) {
            Some((text, exponent)) => (text, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{}", fraction.trim_end_matches('0'));
        let scale = i32::try_from(fraction.trim_end_matches('0').len()).ok()? - exponent;
        let power = 10_u64.checked_pow(scale.unsigned_abs())?;
        let number = if digits.is_empty() { 0 } else { digits.parse::<u64>().ok()? };
        Some(if scale >= 0 {
            Self { numerator: number, denominator: power }
        } else {
            Self { numerator: number.checked_mul(power)?, denominator: 1 }
        })
    }
    /// This part of 2^`bits` values, as ClickHouse cuts it.
    fn of_values(self, bits: u32) -> u128 {
        (u128::from(self.numerator) << bits) / u128::from(self.denominator)
    }
    fn plus(self, other: Self) -> Option<Self> {
        let denominator = self.denominator.checked_mul(other.denominator)?;
        let left = self.numerator.checked_mul(other.denominator)?;
        let right = other.numerator.checked_mul(self.denominator)?;
        Some(Self { numerator: left.checked_add(right)?, denominator })
    }
    fn is_above_one(self) -> bool {
        self.numerator > self.denominator
    }
}

/// Makes a subquery of a table with SAMPLE.
pub(super) fn translate(table: &mut TableFactor, catalog: &Catalog) -> Result<(), DialectError> {
    let TableFactor::Table { name, sample, args, .. } = table else { return Ok(()) };
    let Some(kind) = sample.take() else { return Ok(()) };
    let (TableSampleKind::BeforeTableAlias(wanted) | TableSampleKind::AfterTableAlias(wanted)) =
        kind;
    let own = name.0.last().and_then(|part| part.as_ident()).map(|it| it.value.clone());
    let own = own.filter(|_| args.is_none()).unwrap_or_default();
    let Some(sampling) = catalog.samplings.get(&own) else {
        return Err(refused(
            format!("SAMPLE of {name}"),
            "its statement has no SAMPLE BY, or one of an expression that is not known here; filter by a hash of a column instead, as in cityHash64(id) % 10 = 0",
        ));
    };
    let condition = condition(&wanted, sampling)?;
    let TableFactor::Table { alias, .. } = table else { return Ok(()) };
    let alias = alias.take().unwrap_or(TableAlias {
        explicit: true,
        name: Ident::with_quote('"', own),
        columns: Vec::new(),
        at: None,
    });
    let mut subquery = super::parse_query(&format!("SELECT * FROM t WHERE {condition}"))?;
    if let SetExpr::Select(select) = &mut *subquery.body
        && let Some(place) = select.from.first_mut()
    {
        std::mem::swap(&mut place.relation, table);
        *table = TableFactor::Derived {
            lateral: false,
            subquery: Box::new(subquery),
            alias: Some(alias),
            sample: None,
        };
    }
    Ok(())
}

/// Which values of SAMPLE BY are in the sample.
fn condition(wanted: &TableSample, sampling: &Sampling) -> Result<String, DialectError> {
    let wrong = |reason: &str| refused(wanted.to_string(), reason);
    let is_plain = wanted.name.is_none() && wanted.seed.is_none() && wanted.bucket.is_none();
    let quantity = wanted.quantity.as_ref().filter(|it| is_plain && it.unit.is_none());
    let Some(size) = quantity.and_then(|it| Part::of(&it.value)) else {
        return Err(wrong(
            "it takes a part of the rows, like SAMPLE 1/10 or SAMPLE 0.1 OFFSET 0.5",
        ));
    };
    if size.numerator == 0 {
        return Err(wrong("ClickHouse takes all rows then; leave it out"));
    }
    if size.is_above_one() {
        return Err(wrong("a number of rows is not taken; write a part of them, like SAMPLE 1/10"));
    }
    let offset = match &wanted.offset {
        Some(offset) => Part::of(offset).ok_or_else(|| wrong("its OFFSET is a part, like 1/2"))?,
        None => Part { numerator: 0, denominator: 1 },
    };
    if offset.is_above_one() {
        return Err(wrong("its OFFSET is at most 1"));
    }
    let end = offset.plus(size).ok_or_else(|| wrong("its numbers have too many digits"))?;
    let Sampling { expression, bits } = sampling;
    let (from, to) = (offset.of_values(*bits), end.of_values(*bits));
    let mut conditions = Vec::new();
    if from >> bits > 0 || from == to {
        return Ok("false".to_owned());
    }
    if from > 0 {
        conditions.push(format!("({expression}) >= {from}"));
    }
    if to >> bits == 0 {
        conditions.push(format!("({expression}) < {to}"));
    }
    Ok(if conditions.is_empty() { "true".to_owned() } else { conditions.join(" AND ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare_for;

    fn catalog(bits: u32) -> Catalog {
        let mut catalog = Catalog::new();
        catalog.insert("t".to_owned(), vec!["a".to_owned()]);
        catalog.samplings.insert("t".to_owned(), Sampling { expression: "h(a)".to_owned(), bits });
        catalog
    }

    #[test]
    fn parts_of_all_values() {
        let of = |sql: &str| {
            let prepared = prepare_for(sql, &catalog(32)).map(|it| it.statement.to_string());
            prepared
                .map(|it| it.split_once("WHERE ").map_or(it.clone(), |(_, rest)| rest.to_owned()))
        };
        assert!(of("SELECT a FROM t SAMPLE 1/4").unwrap().starts_with("(h(a)) < 1073741824)"));
        assert!(
            of("SELECT a FROM t SAMPLE 0.25 OFFSET 0.5")
                .unwrap()
                .starts_with("(h(a)) >= 2147483648 AND (h(a)) < 3221225472)")
        );
        assert!(
            of("SELECT a FROM t SAMPLE 0.5 OFFSET 1/2")
                .unwrap()
                .starts_with("(h(a)) >= 2147483648)")
        );
        assert!(of("SELECT a FROM t AS b SAMPLE 1").unwrap().starts_with("CAST(true"));
        for sql in [
            "SELECT a FROM t SAMPLE 1000",
            "SELECT a FROM u SAMPLE 0.1",
            "SELECT a FROM t SAMPLE 0.1 OFFSET 2",
        ] {
            assert!(of(sql).is_err(), "{sql}");
        }
    }

    #[test]
    fn numbers_as_fractions() {
        assert_eq!(Part::decimal("0.10"), Some(Part { numerator: 1, denominator: 10 }));
        assert_eq!(Part::decimal("1e-2"), Some(Part { numerator: 1, denominator: 100 }));
        assert_eq!(Part::decimal(".5"), Some(Part { numerator: 5, denominator: 10 }));
        assert_eq!(Part::decimal("1e30"), None);
    }
}
