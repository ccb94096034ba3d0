//! Parsing ClickHouse's type syntax. Depth and lengths are limited: types come from files and from strangers.

mod scanner;

use self::scanner::Parser;
use super::DataType;
use super::names::{plain, synonym};
use crate::PartError;
use std::str::FromStr;

/// Deepest nesting of types that is accepted.
const DEPTH_MAX: usize = 64;
/// Widest FixedString, as in ClickHouse.
const FIXED_STRING_MAX: usize = 0xff_ffff;

impl FromStr for DataType {
    type Err = PartError;
    /// Parses ClickHouse's type syntax, synonyms included (`DOUBLE`, `Decimal64(2)`, `Point`,
    /// `SimpleAggregateFunction(f, T)` as T).
    fn from_str(text: &str) -> Result<Self, PartError> {
        let mut parser = Parser::new(text)?;
        let parsed = parser.data_type(0)?;
        parser.end()?;
        Ok(parsed)
    }
}

/// The named elements of `Nested(a T, b U)`; `None` if the text is another type. A table that declares it has one `Array`
/// column per element (`nest.a`, `nest.b`).
///
/// ```
/// use tambour_part::types::nested_elements;
/// let elements = nested_elements("Nested(a UInt8, b String)")?.ok_or("not Nested")?;
/// assert_eq!(elements[1], ("b".to_owned(), "String".parse()?));
/// assert_eq!(nested_elements("String")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn nested_elements(text: &str) -> Result<Option<Vec<(String, DataType)>>, PartError> {
    let mut parser = Parser::new(text)?;
    if parser.word().is_none_or(|word| word != "Nested") {
        return Ok(None);
    }
    let elements = parser.elements(0)?;
    parser.end()?;
    let named = elements.into_iter().map(|(name, element)| name.map(|name| (name, element)));
    match named.collect::<Option<Vec<_>>>() {
        Some(elements) if !elements.is_empty() => Ok(Some(elements)),
        _ => Err(parser.error("every element of Nested needs a name")),
    }
}

impl Parser<'_> {
    fn data_type(&mut self, depth: usize) -> Result<DataType, PartError> {
        if depth >= DEPTH_MAX {
            return Err(self.error("types are nested too deep"));
        }
        let start = self.at;
        let Some(name) = self.word() else {
            return Err(self.error("expected a type"));
        };
        if let Some(found) = plain(name) {
            return Ok(found);
        }
        match name {
            "Nullable" => self.nullable(depth),
            "LowCardinality" => self.low_cardinality(depth),
            "Array" => Ok(DataType::Array(Box::new(self.single(depth)?))),
            "Tuple" => self.tuple(depth),
            "Nested" => self.nested(depth),
            "Map" => self.map(depth),
            "FixedString" => self.fixed_string(),
            "SimpleAggregateFunction" => self.simple_aggregate(depth),
            _ => {
                let upper = name.to_ascii_uppercase();
                if let Some(found) = self.parametric(&upper)? {
                    return Ok(found);
                }
                self.at = start;
                self.synonym()
            }
        }
    }

    /// `(T)`.
    fn single(&mut self, depth: usize) -> Result<DataType, PartError> {
        self.expect('(')?;
        let inner = self.data_type(depth + 1)?;
        self.take(',');
        self.expect(')')?;
        Ok(inner)
    }

    fn nullable(&mut self, depth: usize) -> Result<DataType, PartError> {
        let inner = self.single(depth)?;
        if matches!(inner, DataType::Tuple(_)) {
            return Err(unsupported(format!("Nullable({inner})")));
        }
        if !inner.can_be_nullable() {
            return Err(self.error(&format!("{inner} cannot be inside Nullable")));
        }
        Ok(DataType::Nullable(Box::new(inner)))
    }

    fn low_cardinality(&mut self, depth: usize) -> Result<DataType, PartError> {
        let inner = self.single(depth)?;
        if !inner.can_be_low_cardinality() {
            return Err(self.error(&format!("{inner} cannot be inside LowCardinality")));
        }
        Ok(DataType::LowCardinality(Box::new(inner)))
    }

    fn map(&mut self, depth: usize) -> Result<DataType, PartError> {
        self.expect('(')?;
        let key = self.data_type(depth + 1)?;
        self.expect(',')?;
        let value = self.data_type(depth + 1)?;
        self.take(',');
        self.expect(')')?;
        if key.is_nullable() {
            return Err(self.error("the key of a Map cannot be Nullable"));
        }
        Ok(DataType::Map(Box::new(key), Box::new(value)))
    }

    fn tuple(&mut self, depth: usize) -> Result<DataType, PartError> {
        let elements = self.elements(depth)?;
        if elements.is_empty() {
            return Err(unsupported("Tuple()".to_owned()));
        }
        let named = elements.iter().filter(|(name, _)| name.is_some()).count();
        if named != 0 && named != elements.len() {
            return Err(self.error("either all elements of a Tuple have names or none"));
        }
        let mut names: Vec<_> = elements.iter().filter_map(|(name, _)| name.as_deref()).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(self.error("two elements of the Tuple have the same name"));
        }
        Ok(DataType::Tuple(elements))
    }

    /// `Nested(a T, b U)` of one column, which a server has with `flatten_nested = 0`: an array of tuples by another name.
    fn nested(&mut self, depth: usize) -> Result<DataType, PartError> {
        let tuple = self.tuple(depth)?;
        let is_named = matches!(&tuple, DataType::Tuple(elements)
            if elements.iter().all(|(name, _)| name.is_some()));
        if !is_named {
            return Err(self.error("every element of Nested needs a name"));
        }
        Ok(DataType::Array(Box::new(tuple)))
    }

    /// `(T, U)` or `(a T, b U)`.
    fn elements(&mut self, depth: usize) -> Result<Vec<(Option<String>, DataType)>, PartError> {
        self.expect('(')?;
        let mut elements = Vec::new();
        while !self.take(')') {
            let name = self.element_name()?;
            elements.push((name, self.data_type(depth + 1)?));
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(elements)
    }

    /// A name, if a type follows it; otherwise nothing is taken.
    fn element_name(&mut self) -> Result<Option<String>, PartError> {
        self.space();
        for quote in ['`', '"'] {
            if self.rest().starts_with(quote) {
                let name = self.quoted(quote)?;
                return if name.is_empty() {
                    Err(self.error("a name is empty"))
                } else {
                    Ok(Some(name))
                };
            }
        }
        let start = self.at;
        let name = self.word().map(ToOwned::to_owned);
        let after = self.at;
        // A second word makes the first one a name, unless both together are a type (`DOUBLE PRECISION`).
        let follows = self.word().is_some();
        self.at = start;
        if !follows || self.is_two_word_synonym() {
            return Ok(None);
        }
        self.at = after;
        Ok(name)
    }

    fn is_two_word_synonym(&mut self) -> bool {
        let start = self.at;
        let text = self.words();
        self.at = start;
        text.contains(' ') && synonym(&text).is_some()
    }

    /// All words that follow each other, in upper case with single spaces.
    fn words(&mut self) -> String {
        let mut words = String::new();
        while let Some(word) = self.word() {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(&word.to_ascii_uppercase());
            // No synonym is longer.
            if words.len() > 64 {
                break;
            }
        }
        words
    }

    fn fixed_string(&mut self) -> Result<DataType, PartError> {
        self.expect('(')?;
        let width = self.number()?;
        self.expect(')')?;
        match usize::try_from(width) {
            Ok(width @ 1..=FIXED_STRING_MAX) => Ok(DataType::FixedString(width)),
            _ => Err(self.error("the width of a FixedString is 1 to 16777215")),
        }
    }

    /// The function's name and parameters say how values are merged, which is no matter of the format.
    fn simple_aggregate(&mut self, depth: usize) -> Result<DataType, PartError> {
        self.expect('(')?;
        if self.word().is_none() {
            return Err(self.error("the name of a function expected"));
        }
        if self.take('(') {
            let rest = self.rest();
            let length = rest.find([')', '(']).filter(|&at| rest.get(at..=at) == Some(")"));
            let Some(length) = length else {
                return Err(self.error("the parameters of a function expected"));
            };
            self.at += length + 1;
        }
        self.expect(',')?;
        let inner = self.data_type(depth + 1)?;
        self.expect(')')?;
        Ok(inner)
    }

    /// Families that take parameters and are known in any case.
    fn parametric(&mut self, name: &str) -> Result<Option<DataType>, PartError> {
        Ok(Some(match name {
            "DECIMAL" | "DEC" | "NUMERIC" | "FIXED" => self.decimal()?,
            "DECIMAL32" => self.decimal_scale(9)?,
            "DECIMAL64" => self.decimal_scale(18)?,
            "DECIMAL128" => self.decimal_scale(38)?,
            "DECIMAL256" => self.decimal_scale(76)?,
            "DATETIME" | "TIMESTAMP" => self.date_time(None)?,
            "DATETIME32" => {
                let found = self.date_time(None)?;
                if !matches!(found, DataType::DateTime { .. }) {
                    return Err(self.error("DateTime32 has no precision"));
                }
                found
            }
            "DATETIME64" => self.date_time(Some(3))?,
            "ENUM" => self.enumeration(None)?,
            "ENUM8" => self.enumeration(Some(false))?,
            "ENUM16" => self.enumeration(Some(true))?,
            "BINARY" if self.rest().trim_start().starts_with('(') => self.fixed_string()?,
            _ => return Ok(None),
        }))
    }

    fn decimal(&mut self) -> Result<DataType, PartError> {
        if !self.take('(') {
            return Ok(DataType::Decimal { precision: 10, scale: 0 });
        }
        let precision = self.number()?;
        let scale = if self.take(',') { self.number()? } else { 0 };
        self.expect(')')?;
        self.checked_decimal(precision, scale)
    }

    fn decimal_scale(&mut self, precision: i64) -> Result<DataType, PartError> {
        self.expect('(')?;
        let scale = self.number()?;
        self.expect(')')?;
        self.checked_decimal(precision, scale)
    }

    fn checked_decimal(&self, precision: i64, scale: i64) -> Result<DataType, PartError> {
        match (u8::try_from(precision), u8::try_from(scale)) {
            (Ok(precision @ 1..=76), Ok(scale)) if scale <= precision => {
                Ok(DataType::Decimal { precision, scale })
            }
            _ => {
                Err(self
                    .error("a Decimal has 1 to 76 digits, and at most that many after the point"))
            }
        }
    }

    /// `DateTime`, `DateTime(zone)`, `DateTime(precision[, zone])`; `DateTime64` has a precision even if none is written.
    fn date_time(&mut self, default: Option<u8>) -> Result<DataType, PartError> {
        let mut precision = default;
        let mut zone = None;
        if self.take('(') && !self.take(')') {
            self.space();
            if self.rest().starts_with('\'') {
                zone = Some(self.quoted('\'')?);
            } else {
                match u8::try_from(self.number()?) {
                    Ok(digits @ 0..=9) => precision = Some(digits),
                    _ => {
                        return Err(self.error("a DateTime64 has 0 to 9 digits after the seconds"));
                    }
                }
                if self.take(',') {
                    self.space();
                    zone = Some(self.quoted('\'')?);
                }
            }
            self.expect(')')?;
        }
        if zone.as_ref().is_some_and(String::is_empty) {
            return Err(self.error("the time zone is empty"));
        }
        Ok(match precision {
            None => DataType::DateTime { zone },
            Some(precision) => DataType::DateTime64 { precision, zone },
        })
    }

    /// `('a' = 1, 'b' = 2)` or `('a', 'b')`; sorted by number as ClickHouse does.
    fn enumeration(&mut self, wide: Option<bool>) -> Result<DataType, PartError> {
        let mut values = self.enumeration_values()?;
        values.sort_by_key(|(_, number)| *number);
        if values.windows(2).any(|pair| pair[0].1 == pair[1].1) {
            return Err(self.error("two values of the Enum have the same number"));
        }
        let mut names: Vec<_> = values.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(self.error("two values of the Enum have the same name"));
        }
        let narrow = narrowed::<i8>(&values);
        match (wide, narrow) {
            (None | Some(false), Some(narrow)) => Ok(DataType::Enum8(narrow)),
            (Some(false), None) => Err(self.error("numbers of an Enum8 are -128 to 127")),
            _ => narrowed::<i16>(&values)
                .map(DataType::Enum16)
                .ok_or_else(|| self.error("numbers of an Enum16 are -32768 to 32767")),
        }
    }

    fn enumeration_values(&mut self) -> Result<Vec<(String, i64)>, PartError> {
        self.expect('(')?;
        let mut values = Vec::new();
        let mut numbered = None;
        loop {
            self.space();
            let name = self.quoted('\'')?;
            let explicit = self.take('=');
            if *numbered.get_or_insert(explicit) != explicit {
                return Err(self.error("either all values of an Enum have numbers or none"));
            }
            let number = if explicit { self.number()? } else { values.len() as i64 + 1 };
            values.push((name, number));
            if !self.take(',') || self.rest().trim_start().starts_with(')') {
                break;
            }
        }
        self.expect(')')?;
        Ok(values)
    }

    /// Names of other databases, of one or several words, with lengths that mean nothing.
    fn synonym(&mut self) -> Result<DataType, PartError> {
        let start = self.at;
        let words = self.words();
        let Some(found) = synonym(&words) else {
            let name = self.text.get(start..self.at).unwrap_or_default().trim();
            return Err(unsupported(name.chars().take(200).collect()));
        };
        if self.take('(') {
            self.number()?;
            self.expect(')')?;
            let sign = self.words();
            return match (sign.as_str(), &found) {
                ("", _)
                | (
                    "SIGNED",
                    DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64,
                ) => Ok(found),
                ("UNSIGNED", _) => synonym(&format!("{words} UNSIGNED"))
                    .ok_or_else(|| self.error("UNSIGNED does not belong here")),
                _ => Err(self.error("something follows the type")),
            };
        }
        Ok(found)
    }
}

fn unsupported(text: String) -> PartError {
    PartError::UnknownType { text, reason: "not a type that is supported".into() }
}

fn narrowed<N: TryFrom<i64>>(values: &[(String, i64)]) -> Option<Vec<(String, N)>> {
    values.iter().map(|(name, number)| Some((name.clone(), N::try_from(*number).ok()?))).collect()
}
