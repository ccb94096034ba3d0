//! A literal among the values of a type: where it stands in their order.

use super::Literal;
use super::number::{Magnitude, Number, Scaled};
use crate::TableError;
use crate::ordinal::{Ordinal, bare, constant_array};
use crate::predicate::{Comparison, Constant};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Decimal256Array, Int16Array, StringViewArray, UInt8Array};
use arrow_buffer::i256;
use arrow_schema::{DataType as ArrowType, TimeUnit};
use std::cmp::Ordering;
use std::sync::Arc;
use tambour_function::{Operand, cast, find_in_queries};
use tambour_part::types::{DataType, Strings};

/// Where a literal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// It is a value of the type.
    At,
    /// Between a value and the next one.
    After,
    /// Above all values.
    Above,
    /// Below all values.
    Below,
    /// Nowhere: no value is equal to it, and none less or greater.
    Apart,
}

/// A literal in the order of a type.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    edge: Edge,
    row: Box<[u8]>,
    constant: Option<Constant>,
}

impl Bound {
    /// Whether a value compares so with the literal, if `order` is how it compares with [`Bound::row`].
    pub(super) fn admits(&self, comparison: Comparison, order: Ordering) -> bool {
        let order = match self.edge {
            Edge::At => order,
            Edge::After if order == Ordering::Greater => order,
            Edge::After | Edge::Above => Ordering::Less,
            Edge::Below => Ordering::Greater,
            Edge::Apart => return comparison == Comparison::NotEqual,
        };
        match comparison {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }
    /// The row of the value, or of the one before the literal.
    pub(super) fn row(&self) -> &[u8] {
        &self.row
    }
    /// True if there may be values that are equal to the literal.
    pub(super) fn is_value(&self) -> bool {
        self.edge == Edge::At
    }
    /// True if the opposite of a comparison that is false is false, too.
    pub(super) fn is_apart(&self) -> bool {
        self.edge == Edge::Apart
    }
    /// The value for pruning.
    pub(super) fn constant(&self) -> Option<&Constant> {
        self.constant.as_ref()
    }
    /// The comparison with [`Bound::constant`] that means the same; `Err` if it is the same for all values: true or false.
    pub(super) fn simplified(&self, comparison: Comparison) -> Result<Comparison, bool> {
        match self.edge {
            Edge::At => Ok(comparison),
            Edge::After => match comparison {
                Comparison::Less | Comparison::LessOrEqual => Ok(Comparison::LessOrEqual),
                Comparison::Greater | Comparison::GreaterOrEqual => Ok(Comparison::Greater),
                Comparison::Equal => Err(false),
                Comparison::NotEqual => Err(true),
            },
            Edge::Above | Edge::Below | Edge::Apart => {
                Err(self.admits(comparison, Ordering::Equal))
            }
        }
    }
}

/// Places literals among the values of one column.
#[derive(Debug)]
pub(super) struct Places<'a> {
    pub(super) column: &'a str,
    pub(super) data_type: &'a DataType,
    pub(super) ordinal: &'a Ordinal,
}

impl Places<'_> {
    /// Where a literal stands; `None` for NULL.
    pub(super) fn bound(&self, literal: &Literal) -> Result<Option<Bound>, TableError> {
        let (edge, constant) = match (bare(self.data_type), literal) {
            (_, Literal::Null) => return Ok(None),
            (DataType::Enum8(_) | DataType::Enum16(_), _) => return self.enumerated(literal),
            (DataType::String, Literal::Text(text)) => {
                (Edge::At, Constant::Bytes(text.as_bytes().to_vec()))
            }
            (DataType::FixedString(width), Literal::Text(text)) => fixed(text.as_bytes(), *width),
            (DataType::Float64, _) => float(self.double(literal)?, |value| value),
            // BFloat16 is handed out as Float32.
            (DataType::Float32 | DataType::BFloat16, _) => float(self.double(literal)?, narrow),
            (DataType::Date | DataType::Date32, Literal::Text(text)) => self.date(text)?,
            (
                DataType::DateTime { zone } | DataType::DateTime64 { zone, .. },
                Literal::Text(text),
            ) if !is_seconds(text) => self.moment(text, zone.as_deref())?,
            (DataType::Uuid, Literal::Text(text)) => self.converted("toUUID", text)?,
            (DataType::Ipv4, Literal::Text(text)) => self.converted("toIPv4", text)?,
            (DataType::Ipv6, Literal::Text(text)) => self.converted("toIPv6", text)?,
            _ => return self.numeric(literal).map(Some),
        };
        let array = constant_array(&[&constant], self.data_type);
        let array = array.ok_or_else(|| self.refused(literal))?;
        Ok(Some(Bound { edge, row: self.row(&array)?, constant: Some(constant) }))
    }

    fn row(&self, array: &ArrayRef) -> Result<Box<[u8]>, TableError> {
        Ok(self.ordinal.rows(array)?.row(0).data().into())
    }

    fn refused(&self, literal: &Literal) -> TableError {
        let written = match literal {
            Literal::Null => "NULL".to_owned(),
            Literal::Bool(value) => value.to_string(),
            Literal::Number(text) => text.clone(),
            Literal::Text(text) => format!("'{}'", text.escape_default()),
        };
        TableError::Refused {
            clause: format!("comparing `{}` with {written}", self.column),
            reason: format!("it is no value that {} is compared with", self.data_type),
        }
    }

    /// Enums are compared by number; a name that is not there is equal to nothing.
    fn enumerated(&self, literal: &Literal) -> Result<Option<Bound>, TableError> {
        let names: Vec<(&str, i16)> = match bare(self.data_type) {
            DataType::Enum8(names) => {
                names.iter().map(|(name, number)| (name.as_str(), i16::from(*number))).collect()
            }
            DataType::Enum16(names) => {
                names.iter().map(|(name, number)| (name.as_str(), *number)).collect()
            }
            _ => Vec::new(),
        };
        let (edge, number) = match literal {
            Literal::Text(text) => {
                let found = names.iter().find(|(name, _)| name == text);
                found.map_or((Edge::Apart, 0), |(_, number)| (Edge::At, *number))
            }
            Literal::Number(text) => {
                let number = Number::parse(text).ok_or_else(|| self.refused(literal))?;
                let (edge, number) = placed(number, 0, Magnitude::ones(15), true);
                let number = number.to_i128().and_then(|number| i16::try_from(number).ok());
                (edge, number.unwrap_or_default())
            }
            Literal::Null | Literal::Bool(_) => return Err(self.refused(literal)),
        };
        let row = self.row(&(Arc::new(Int16Array::from(vec![number])) as ArrayRef))?;
        let name = names.iter().find(|(_, it)| *it == number);
        let constant = name.map(|(name, _)| Constant::Bytes(name.as_bytes().to_vec()));
        Ok(Some(Bound { edge, row, constant }))
    }

    /// Numbers of types that are exact, and what is compared as one.
    fn numeric(&self, literal: &Literal) -> Result<Bound, TableError> {
        let (scale, max, is_signed) = self.range().ok_or_else(|| self.refused(literal))?;
        let number = match literal {
            Literal::Bool(value) => Number::parse(if *value { "1" } else { "0" }),
            Literal::Number(text) => Number::parse(text),
            Literal::Text(text) if *bare(self.data_type) == DataType::Bool => match text.as_str() {
                "true" => Number::parse("1"),
                "false" => Number::parse("0"),
                other => Number::parse(other),
            },
            Literal::Text(text) => Number::parse(text),
            Literal::Null => None,
        };
        let number = number.ok_or_else(|| self.refused(literal))?;
        let (edge, value) = placed(number, scale, max, is_signed);
        let small = value.to_i128();
        let constant = match bare(self.data_type) {
            DataType::Int256 | DataType::UInt256 => Some(Constant::Bytes(value.bytes().to_vec())),
            DataType::Decimal { scale, .. } => {
                i8::try_from(*scale).ok().zip(small).map(|(scale, it)| Constant::Decimal(it, scale))
            }
            _ => small.map(Constant::Integer),
        };
        let array = match &constant {
            Some(constant) => constant_array(&[constant], self.data_type),
            None => self.wide(value),
        };
        let array = array.ok_or_else(|| self.refused(literal))?;
        Ok(Bound { edge, row: self.row(&array)?, constant })
    }

    /// Decimal places, the largest value, and whether there are negative ones.
    fn range(&self) -> Option<(i32, Magnitude, bool)> {
        Some(match bare(self.data_type) {
            DataType::Bool => (0, Magnitude::ONE, false),
            DataType::UInt8 => (0, Magnitude::ones(8), false),
            DataType::UInt16 => (0, Magnitude::ones(16), false),
            DataType::UInt32 | DataType::DateTime { .. } => (0, Magnitude::ones(32), false),
            DataType::UInt64 => (0, Magnitude::ones(64), false),
            DataType::UInt128 => (0, Magnitude::ones(128), false),
            DataType::UInt256 => (0, Magnitude::ones(256), false),
            DataType::Int8 => (0, Magnitude::ones(7), true),
            DataType::Int16 => (0, Magnitude::ones(15), true),
            DataType::Int32 => (0, Magnitude::ones(31), true),
            DataType::Int64 => (0, Magnitude::ones(63), true),
            DataType::Int128 => (0, Magnitude::ones(127), true),
            DataType::Int256 => (0, Magnitude::ones(255), true),
            DataType::Decimal { precision, scale } => {
                (i32::from(*scale), Magnitude::nines(*precision), true)
            }
            DataType::DateTime64 { .. } => {
                let ArrowType::Timestamp(unit, _) = bare(self.data_type).arrow(Strings::Binary)
                else {
                    return None;
                };
                (places(unit), Magnitude::ones(63), true)
            }
            _ => return None,
        })
    }

    /// A value of more than 128 bits as a Decimal.
    fn wide(&self, value: Whole) -> Option<ArrayRef> {
        let arrow = bare(self.data_type).arrow(Strings::Binary);
        let ArrowType::Decimal256(..) = arrow else { return None };
        let array = Decimal256Array::from_iter_values([i256::from_le_bytes(value.bytes())]);
        Some(Arc::new(array.with_data_type(arrow)))
    }

    fn double(&self, literal: &Literal) -> Result<Double, TableError> {
        let text = match literal {
            Literal::Number(text) | Literal::Text(text) => text.as_str(),
            Literal::Bool(true) => "1",
            Literal::Bool(false) => "0",
            Literal::Null => return Err(self.refused(literal)),
        };
        Double::parse(text).ok_or_else(|| self.refused(literal))
    }

    fn date(&self, text: &str) -> Result<(Edge, Constant), TableError> {
        if text.len() > "2020-01-01".len() {
            return Err(self.refused(&Literal::Text(text.to_owned())));
        }
        let days = self.evaluated("toDate32", text, Vec::new())?;
        let days = cast(&days, &ArrowType::Int32).and_then(|it| cast(&it, &ArrowType::Int64))?;
        Ok((Edge::At, Constant::Integer(days.as_primitive::<Int64Type>().value(0).into())))
    }

    /// A time in the zone of the column; digits that the type does not have are cut off.
    fn moment(&self, text: &str, zone: Option<&str>) -> Result<(Edge, Constant), TableError> {
        let precision = match bare(self.data_type) {
            DataType::DateTime64 { precision, .. } => *precision,
            _ => 0,
        };
        let digits: ArrayRef = Arc::new(UInt8Array::from(vec![precision]));
        let mut more =
            vec![Operand { data_type: DataType::UInt8, values: digits, is_constant: true }];
        more.extend(zone.map(text_operand));
        let ticks = self.evaluated("toDateTime64", text, more)?;
        let ticks = cast(&ticks, &ArrowType::Int64)?;
        Ok((Edge::At, Constant::Integer(ticks.as_primitive::<Int64Type>().value(0).into())))
    }

    /// A UUID or an address.
    fn converted(&self, function: &str, text: &str) -> Result<(Edge, Constant), TableError> {
        let value = self.evaluated(function, text, Vec::new())?;
        if let Some(bytes) = value.as_fixed_size_binary_opt() {
            return Ok((Edge::At, Constant::Bytes(bytes.value(0).to_vec())));
        }
        let number = cast(&value, &ArrowType::Int64)?;
        Ok((Edge::At, Constant::Integer(number.as_primitive::<Int64Type>().value(0).into())))
    }

    /// What a conversion makes of a text; refused if that is nothing.
    fn evaluated(
        &self,
        function: &str,
        text: &str,
        more: Vec<Operand>,
    ) -> Result<ArrayRef, TableError> {
        let refused = || self.refused(&Literal::Text(text.to_owned()));
        let function = find_in_queries(function).ok_or_else(refused)?;
        let mut arguments = vec![text_operand(text)];
        arguments.extend(more);
        let result = function.evaluate(&arguments)?;
        if result.values.is_empty() || result.values.is_null(0) {
            return Err(refused());
        }
        Ok(result.values)
    }
}

fn text_operand(text: &str) -> Operand {
    let values: ArrayRef = Arc::new(StringViewArray::from_iter_values([text]));
    Operand { data_type: DataType::String, values, is_constant: true }
}

/// True for seconds since 1970 in quotes: as many digits as no date has.
fn is_seconds(text: &str) -> bool {
    matches!(text.len(), 9 | 10) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn places(unit: TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Trailing zeros of a FixedString mean nothing.
fn fixed(text: &[u8], width: usize) -> (Edge, Constant) {
    let length = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let mut bytes = text[..length.min(width)].to_vec();
    bytes.resize(width, 0);
    (if length > width { Edge::After } else { Edge::At }, Constant::Bytes(bytes))
}

/// A whole number of units.
#[derive(Clone, Copy, Debug)]
struct Whole {
    negative: bool,
    magnitude: Magnitude,
}

impl Whole {
    fn to_i128(self) -> Option<i128> {
        self.magnitude.to_i128(self.negative)
    }
    fn bytes(self) -> [u8; 32] {
        self.magnitude.to_bytes(self.negative)
    }
}

/// A number among the multiples of a unit from below zero (one more than above it, for integers) to `max`. What is out of
/// the range stands at zero, and its edge says so.
fn placed(number: Number, scale: i32, max: Magnitude, is_signed: bool) -> (Edge, Whole) {
    let zero = Whole { negative: false, magnitude: Magnitude::ZERO };
    match number.scaled(scale) {
        Scaled::Huge { negative: true } => (Edge::Below, zero),
        Scaled::Huge { negative: false } => (Edge::Above, zero),
        Scaled::Floor { negative: true, .. } if !is_signed => (Edge::Below, zero),
        Scaled::Floor { negative: true, magnitude, .. }
            if max.next().is_some_and(|lowest| magnitude.is_above(lowest)) =>
        {
            (Edge::Below, zero)
        }
        Scaled::Floor { negative: false, magnitude, .. } if magnitude.is_above(max) => {
            (Edge::Above, zero)
        }
        Scaled::Floor { negative, magnitude, is_exact } => {
            let edge = if is_exact { Edge::At } else { Edge::After };
            (edge, Whole { negative, magnitude })
        }
    }
}

/// A number that is compared with floats: a float, or a whole number just above one.
#[derive(Clone, Copy, Debug)]
struct Double {
    floor: f64,
    is_exact: bool,
}

impl Double {
    /// Whole numbers of at most 64 bits are exact, all others are the nearest float.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "what is lost is looked for"
    )]
    fn parse(text: &str) -> Option<Self> {
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
            && let Ok(whole) = text.parse::<i128>()
            && (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&whole)
        {
            let nearest = whole as f64;
            return Some(match (nearest as i128).cmp(&whole) {
                Ordering::Equal => Self { floor: nearest, is_exact: true },
                Ordering::Less => Self { floor: nearest, is_exact: false },
                Ordering::Greater => Self { floor: nearest.next_down(), is_exact: false },
            });
        }
        Number::parse(text)?;
        text.parse().ok().map(|floor| Self { floor, is_exact: true })
    }
}

#[expect(clippy::float_cmp, reason = "the very number is meant")]
/// A number among the floats of a type; `round` gives the largest that is not above it.
fn float(number: Double, round: fn(f64) -> f64) -> (Edge, Constant) {
    let value = round(number.floor);
    let is_exact = number.is_exact && value == number.floor;
    (if is_exact { Edge::At } else { Edge::After }, Constant::Float(value + 0.0))
}

/// The largest Float32 that is not above a float.
#[expect(clippy::cast_possible_truncation, reason = "the nearest one is meant")]
fn narrow(value: f64) -> f64 {
    let nearest = value as f32;
    f64::from(if f64::from(nearest) > value { nearest.next_down() } else { nearest })
}
