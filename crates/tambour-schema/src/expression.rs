//! Key expressions: columns, and the functions that keys are made of, evaluated over Arrow with ClickHouse's results.
//!
//! ```
//! use tambour_schema::expression::Expression;
//!
//! let key = Expression::parse_key("(toYYYYMM(t), intDiv(id, 1000))")?;
//! assert_eq!(key[1].to_string(), "intDiv(id, 1000)");
//! assert_eq!(key[0].columns(), ["t"]);
//! # Ok::<(), tambour_schema::TableError>(())
//! ```

use super::token::{self, Cursor, Kind};
use crate::TableError;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringViewArray};
use std::sync::Arc;
use tambour_function::{self as function, Function, Growth, Operand, Signature};
use tambour_part::types::{Column, DataType};

pub use super::sort::sort_form;

/// An expression of a sorting, primary or partition key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Expression {
    /// A column by name.
    Column(String),
    /// A number or string as written.
    Literal(String),
    /// A function call, e.g. `toYYYYMM(t)`, `intDiv(k, 2)`.
    Call {
        /// Function name, canonical case.
        function: String,
        /// Arguments.
        arguments: Vec<Expression>,
    },
}

impl Expression {
    /// Parses one expression.
    pub fn parse(sql: &str) -> Result<Self, TableError> {
        let mut cursor = Cursor::new(sql)?;
        let expression = Self::read(&mut cursor)?;
        cursor.expect_end()?;
        Ok(expression)
    }

    /// Parses a key: `a`, `a, b`, `(a, b)`, `tuple()`, `toYYYYMM(t)`.
    ///
    /// ```
    /// use tambour_schema::expression::Expression;
    /// assert_eq!(Expression::parse_key("(page, toDate(t))")?.len(), 2);
    /// assert!(Expression::parse_key("tuple()")?.is_empty());
    /// # Ok::<(), tambour_schema::TableError>(())
    /// ```
    pub fn parse_key(sql: &str) -> Result<Vec<Self>, TableError> {
        let mut cursor = Cursor::new(sql)?;
        let mut key = Self::read_key(&mut cursor)?;
        while cursor.take_symbol(",") {
            key.push(Self::read_directed(&mut cursor)?);
        }
        cursor.expect_end()?;
        Ok(key)
    }

    /// Parses a partition key; see [`Expression::for_partition`].
    pub fn parse_partition_key(sql: &str) -> Result<Vec<Self>, TableError> {
        Ok(Self::parse_key(sql)?.into_iter().map(Self::for_partition).collect())
    }

    /// Reads what stands after `ORDER BY` or `PARTITION BY`: one expression, a tuple, or `tuple()`.
    pub(super) fn read_key(cursor: &mut Cursor) -> Result<Vec<Self>, TableError> {
        if cursor.at_word("tuple") && cursor.text(cursor.peek_ahead(1)) == "(" {
            cursor.advance();
            return Self::read_list(cursor);
        }
        if !cursor.at_symbol("(") {
            return Ok(vec![Self::read_directed(cursor)?]);
        }
        // `(a, b)` is a tuple, `(a + b) * 2` an expression that begins with one.
        let mark = cursor.mark();
        let list = Self::read_list(cursor)?;
        if !cursor.at_any_symbol(&["+", "-", "*", "/", "%"]) && !cursor.at_any_word(&["DIV", "MOD"])
        {
            return Ok(list);
        }
        cursor.reset(mark);
        Ok(vec![Self::read_directed(cursor)?])
    }

    /// `( … , … )`
    fn read_list(cursor: &mut Cursor) -> Result<Vec<Self>, TableError> {
        cursor.expect_symbol("(")?;
        let mut items = Vec::new();
        while !cursor.at_symbol(")") {
            items.push(Self::read_directed(cursor)?);
            if !cursor.take_symbol(",") {
                break;
            }
        }
        cursor.expect_symbol(")")?;
        Ok(items)
    }

    /// An expression of a sorting key, with ASC perhaps.
    fn read_directed(cursor: &mut Cursor) -> Result<Self, TableError> {
        let expression = Self::read(cursor)?;
        let direction = ["ASC", "ASCENDING"].iter().any(|word| cursor.take_words(&[word]));
        if !direction && cursor.at_any_word(&["DESC", "DESCENDING"]) {
            return Err(TableError::Refused {
                clause: format!("ORDER BY {expression} DESC"),
                reason: "keys are ascending here".to_owned(),
            });
        }
        Ok(expression)
    }

    /// Reads an expression: sums of products of signed operands.
    pub(super) fn read(cursor: &mut Cursor) -> Result<Self, TableError> {
        cursor.enter()?;
        let mut left = Self::read_product(cursor)?;
        loop {
            let function = match () {
                () if cursor.take_symbol("+") => "plus",
                () if cursor.take_symbol("-") => "minus",
                () => break,
            };
            cursor.count_operator()?;
            let right = Self::read_product(cursor)?;
            left = Self::Call { function: function.to_owned(), arguments: vec![left, right] };
        }
        cursor.leave();
        Ok(left)
    }

    fn read_product(cursor: &mut Cursor) -> Result<Self, TableError> {
        let mut left = Self::read_operand(cursor)?;
        loop {
            let function = match () {
                () if cursor.take_symbol("*") => "multiply",
                () if cursor.take_symbol("%") || cursor.take_words(&["MOD"]) => "modulo",
                () if cursor.take_words(&["DIV"]) => "intDiv",
                () if cursor.at_symbol("/") => {
                    return Err(TableError::Refused {
                        clause: "the operator `/`".to_owned(),
                        reason: "use intDiv for whole numbers".to_owned(),
                    });
                }
                () => return Ok(left),
            };
            cursor.count_operator()?;
            let right = Self::read_operand(cursor)?;
            left = Self::Call { function: function.to_owned(), arguments: vec![left, right] };
        }
    }

    fn read_operand(cursor: &mut Cursor) -> Result<Self, TableError> {
        if cursor.take_symbol("-") {
            let next = cursor.peek();
            if next.kind == Kind::Number {
                cursor.advance();
                return Self::number(cursor, &format!("-{}", cursor.text(next)));
            }
            cursor.enter()?;
            let operand = Self::read_operand(cursor)?;
            cursor.leave();
            return Ok(Self::Call { function: "negate".to_owned(), arguments: vec![operand] });
        }
        if cursor.take_symbol("(") {
            let inside = Self::read(cursor)?;
            cursor.expect_symbol(")")?;
            return Ok(inside);
        }
        let token = cursor.peek();
        match token.kind {
            Kind::Number => {
                cursor.advance();
                Self::number(cursor, cursor.text(token))
            }
            Kind::Text => Ok(Self::Literal(token::quote(&cursor.expect_text("a text")?, '\''))),
            Kind::Word if cursor.text(cursor.peek_ahead(1)) == "(" => Self::read_call(cursor),
            Kind::Word if cursor.at_any_word(&["true", "false"]) => {
                cursor.advance();
                Ok(Self::Literal(cursor.text(token).to_ascii_lowercase()))
            }
            Kind::Word | Kind::Quoted => {
                let mut name = cursor.expect_name("a column")?;
                // A subcolumn or a column of Nested: `n.a`.
                while cursor.take_symbol(".") {
                    name.push('.');
                    name.push_str(&cursor.expect_name("a column")?);
                }
                Ok(Self::Column(name))
            }
            Kind::Symbol | Kind::End => Err(cursor.expected("a column, a function or a number")),
        }
    }

    fn number(cursor: &Cursor, text: &str) -> Result<Self, TableError> {
        let expression = Self::Literal(text.to_owned());
        match literal(text) {
            Some(_) => Ok(expression),
            None => Err(cursor.expected(&format!("a number instead of `{text}` before"))),
        }
    }

    fn read_call(cursor: &mut Cursor) -> Result<Self, TableError> {
        let written = cursor.expect_name("a function")?;
        let Some(found) = function::find(&written) else { return Err(unknown_function(&written)) };
        cursor.enter()?;
        let arguments = Self::read_list(cursor)?;
        cursor.leave();
        Ok(Self::Call { function: found.name().to_owned(), arguments })
    }

    /// Names of the columns it reads, without duplicates, in order of appearance.
    pub fn columns(&self) -> Vec<&str> {
        fn collect<'a>(expression: &'a Expression, names: &mut Vec<&'a str>) {
            match expression {
                Expression::Column(name) if !names.contains(&name.as_str()) => names.push(name),
                Expression::Column(_) | Expression::Literal(_) => {}
                Expression::Call { arguments, .. } => {
                    for argument in arguments {
                        collect(argument, names);
                    }
                }
            }
        }
        let mut names = Vec::new();
        collect(self, &mut names);
        names
    }

    /// Its result type over these columns.
    pub fn data_type(&self, columns: &[Column]) -> Result<DataType, TableError> {
        Ok(self.signature(columns)?.data_type)
    }

    fn signature(&self, columns: &[Column]) -> Result<Signature, TableError> {
        match self {
            Self::Column(name) => match columns.iter().find(|column| column.name == *name) {
                Some(column) => {
                    Ok(Signature { data_type: column.data_type.clone(), constant: None })
                }
                None => Err(self.unknown_column(name)),
            },
            Self::Literal(text) => Ok(constant(text)?.signature()),
            Self::Call { function, arguments } => {
                let signatures: Vec<Signature> =
                    arguments.iter().map(|a| a.signature(columns)).collect::<Result<_, _>>()?;
                let data_type = known(function)?.data_type(&signatures)?;
                let is_constant = signatures.iter().all(|s| s.constant.is_some());
                let constant = if is_constant { Some(self.operand(None)?.values) } else { None };
                Ok(Signature { data_type, constant })
            }
        }
    }

    /// Its values for every row of a batch (Arrow form of [`Expression::data_type`]).
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef, TableError> {
        Ok(self.operand(Some(batch))?.expanded(batch.num_rows())?)
    }

    fn operand(&self, batch: Option<&RecordBatch>) -> Result<Operand, TableError> {
        match self {
            Self::Column(name) => {
                let schema = batch.map(RecordBatch::schema);
                let found = schema.as_ref().and_then(|schema| schema.column_with_name(name));
                let (Some((index, field)), Some(batch)) = (found, batch) else {
                    return Err(self.unknown_column(name));
                };
                let data_type = DataType::from_field(field)
                    .map_err(|cause| TableError::Type { column: name.clone(), cause })?;
                Ok(Operand { data_type, values: batch.column(index).clone(), is_constant: false })
            }
            Self::Literal(text) => constant(text),
            Self::Call { function, arguments } => {
                let operands: Vec<Operand> =
                    arguments.iter().map(|a| a.operand(batch)).collect::<Result<_, _>>()?;
                Ok(known(function)?.evaluate(&operands)?)
            }
        }
    }

    fn unknown_column(&self, name: &str) -> TableError {
        TableError::UnknownColumn {
            clause: format!("the expression {self}"),
            name: name.to_owned(),
        }
    }

    /// True if it never decreases when its only column, of type `Date` or `DateTime`, grows (`toYYYYMM(t)`, `toDate(t)`),
    /// or when its only column of integers grows (`intDiv(k, 10)`, the column itself). Over `Date32` and `DateTime64` that
    /// holds for results that are numbers, not for `toDate`, which wraps around after 2149.
    ///
    /// ```
    /// use tambour_schema::expression::Expression;
    /// assert!(Expression::parse("toYYYYMM(t)")?.is_monotonic());
    /// assert!(!Expression::parse("cityHash64(user)")?.is_monotonic());
    /// # Ok::<(), tambour_schema::TableError>(())
    /// ```
    pub fn is_monotonic(&self) -> bool {
        match self {
            Self::Column(_) => true,
            Self::Literal(_) => false,
            Self::Call { function, arguments } => {
                let [first, others @ ..] = arguments.as_slice() else { return false };
                let constants_only = others.iter().all(|other| matches!(other, Self::Literal(_)));
                let is_growing =
                    function::find(function).is_some_and(|f| f.growth() == Growth::Monotonic);
                let by_positive = function != "intDiv"
                    || matches!(others, [Self::Literal(by)] if is_surely_positive(by));
                is_growing && constants_only && by_positive && first.is_monotonic()
            }
        }
    }

    /// The same as an expression of a partition key, where remainders keep the result type they had when the format was
    /// made (`moduloLegacy`).
    #[must_use]
    pub fn for_partition(self) -> Self {
        match self {
            Self::Call { function, arguments } => Self::Call {
                function: if function == "modulo" { "moduloLegacy".to_owned() } else { function },
                arguments: arguments.into_iter().map(Self::for_partition).collect(),
            },
            other => other,
        }
    }
}

/// True for a literal that is positive whatever it divides: ClickHouse reads one whose narrowest type has its top bit set
/// (200 is a UInt8) as a negative number where the dividend is signed and not wider.
fn is_surely_positive(literal: &str) -> bool {
    let Ok(number) = literal.parse::<u64>() else { return false };
    let has_top_bit = match number {
        0..=0xff => number >= 0x80,
        0x100..=0xffff => number >= 0x8000,
        0x1_0000..=0xffff_ffff => number >= 0x8000_0000,
        _ => number >= 1 << 63,
    };
    number > 0 && !has_top_bit
}

/// The function of an expression that was parsed or deserialised. Intervals are added in TTL, and not in keys: texts of those
/// name functions that [`function::find`] knows.
fn known(name: &str) -> Result<&'static Function, TableError> {
    let found = function::find(name).or_else(|| super::moment::shift(name));
    found.ok_or_else(|| unknown_function(name))
}

fn unknown_function(name: &str) -> TableError {
    const HASHES: &[&str] = &["murmurHash3_64", "murmurHash2_64", "farmHash64", "metroHash64"];
    if HASHES.contains(&name) {
        return TableError::Refused {
            clause: format!("the function {name}"),
            reason: "of hash functions, keys may have cityHash64, sipHash64, xxHash32, xxHash64, xxh3, intHash32 and intHash64".to_owned(),
        };
    }
    TableError::UnknownFunction { name: name.to_owned() }
}

/// A literal as a constant with ClickHouse's type: the narrowest integer, Float64, String or Bool.
fn constant(text: &str) -> Result<Operand, TableError> {
    let (data_type, values) = literal(text).ok_or_else(|| TableError::Syntax {
        line: 1,
        column: 1,
        expected: "a number or a text".to_owned(),
        found: format!("`{text}`"),
    })?;
    Ok(Operand { data_type, values, is_constant: true })
}

fn literal(text: &str) -> Option<(DataType, ArrayRef)> {
    fn one<T: ArrowPrimitiveType>(data_type: DataType, value: T::Native) -> (DataType, ArrayRef) {
        (data_type, Arc::new(PrimitiveArray::<T>::from_value(value, 1)))
    }
    if text.starts_with('\'') {
        let values = StringViewArray::from_iter_values([token::unquote(text)]);
        return Some((DataType::String, Arc::new(values)));
    }
    if let Ok(value) = text.parse::<bool>() {
        return Some((DataType::Bool, Arc::new(BooleanArray::from(vec![value]))));
    }
    let digits = text.trim_start_matches('-');
    if digits.is_empty() || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let whole = match hexadecimal {
        Some(hexadecimal) => i128::from(u64::from_str_radix(hexadecimal, 16).ok()?),
        None => match digits.parse::<i128>() {
            Ok(whole) => whole,
            Err(_) => return Some(one::<Float64Type>(DataType::Float64, text.parse().ok()?)),
        },
    };
    let whole = if text.starts_with('-') { -whole } else { whole };
    // The narrowest type that holds it, as in ClickHouse.
    macro_rules! narrowest {
        ($($native:ty, $arrow:ty, $name:ident;)+) => {
            $(if let Ok(value) = <$native>::try_from(whole) {
                return Some(one::<$arrow>(DataType::$name, value));
            })+
        };
    }
    narrowest! {
        u8, UInt8Type, UInt8;
        u16, UInt16Type, UInt16;
        u32, UInt32Type, UInt32;
        u64, UInt64Type, UInt64;
        i8, Int8Type, Int8;
        i16, Int16Type, Int16;
        i32, Int32Type, Int32;
        i64, Int64Type, Int64;
    }
    Some(one::<Float64Type>(DataType::Float64, whole as f64))
}

impl std::fmt::Display for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Column(name) => {
                let parts: Vec<String> = name.split('.').map(token::quoted_name).collect();
                // A name with a point in it stays one name if its pieces need no quotes.
                if parts.iter().any(|part| part.starts_with('`')) {
                    f.write_str(&token::quote(name, '`'))
                } else {
                    f.write_str(&parts.join("."))
                }
            }
            Self::Literal(text) => f.write_str(text),
            Self::Call { function, arguments } => match (function.as_str(), arguments.as_slice()) {
                ("plus", [left, right]) => write_operation(f, left, "+", right),
                ("minus", [left, right]) => write_operation(f, left, "-", right),
                ("multiply", [left, right]) => write_operation(f, left, "*", right),
                ("modulo" | "moduloLegacy", [left, right]) => write_operation(f, left, "%", right),
                _ => {
                    write!(f, "{function}(")?;
                    for (index, argument) in arguments.iter().enumerate() {
                        f.write_str(if index == 0 { "" } else { ", " })?;
                        write!(f, "{argument}")?;
                    }
                    f.write_str(")")
                }
            },
        }
    }
}

/// Operands that are operations themselves stand in parentheses.
fn write_operation(
    f: &mut std::fmt::Formatter<'_>,
    left: &Expression,
    operator: &str,
    right: &Expression,
) -> std::fmt::Result {
    let write_side = |f: &mut std::fmt::Formatter<'_>, side: &Expression| {
        let is_operation = matches!(side, Expression::Call { function, arguments }
            if arguments.len() == 2
                && matches!(function.as_str(), "plus" | "minus" | "multiply" | "modulo" | "moduloLegacy"));
        if is_operation { write!(f, "({side})") } else { write!(f, "{side}") }
    };
    write_side(f, left)?;
    write!(f, " {operator} ")?;
    write_side(f, right)
}
