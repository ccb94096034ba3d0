//! Printing types in ClickHouse's canonical form.

use super::DataType;
use std::fmt::{self, Display, Formatter, Write};

impl Display for DataType {
    /// Prints the canonical form: `Decimal(9, 2)`, `Enum8('a' = 1)`, `DateTime('UTC')`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimal { precision, scale } => write!(f, "Decimal({precision}, {scale})"),
            Self::DateTime { zone: None } => f.write_str("DateTime"),
            Self::DateTime { zone: Some(zone) } => write!(f, "DateTime({})", Quoted(zone)),
            Self::DateTime64 { precision, zone: None } => write!(f, "DateTime64({precision})"),
            Self::DateTime64 { precision, zone: Some(zone) } => {
                write!(f, "DateTime64({precision}, {})", Quoted(zone))
            }
            Self::FixedString(width) => write!(f, "FixedString({width})"),
            Self::Enum8(values) => enumeration(f, "Enum8", values),
            Self::Enum16(values) => enumeration(f, "Enum16", values),
            Self::Nullable(inner) => write!(f, "Nullable({inner})"),
            Self::LowCardinality(inner) => write!(f, "LowCardinality({inner})"),
            Self::Array(inner) => write!(f, "Array({inner})"),
            Self::Map(key, value) => write!(f, "Map({key}, {value})"),
            Self::Tuple(elements) => tuple(f, elements),
            Self::Foreign(text) => f.write_str(text),
            Self::Bool => f.write_str("Bool"),
            Self::UInt8 => f.write_str("UInt8"),
            Self::UInt16 => f.write_str("UInt16"),
            Self::UInt32 => f.write_str("UInt32"),
            Self::UInt64 => f.write_str("UInt64"),
            Self::UInt128 => f.write_str("UInt128"),
            Self::UInt256 => f.write_str("UInt256"),
            Self::Int8 => f.write_str("Int8"),
            Self::Int16 => f.write_str("Int16"),
            Self::Int32 => f.write_str("Int32"),
            Self::Int64 => f.write_str("Int64"),
            Self::Int128 => f.write_str("Int128"),
            Self::Int256 => f.write_str("Int256"),
            Self::Float32 => f.write_str("Float32"),
            Self::Float64 => f.write_str("Float64"),
            Self::BFloat16 => f.write_str("BFloat16"),
            Self::Date => f.write_str("Date"),
            Self::Date32 => f.write_str("Date32"),
            Self::String => f.write_str("String"),
            Self::Uuid => f.write_str("UUID"),
            Self::Ipv4 => f.write_str("IPv4"),
            Self::Ipv6 => f.write_str("IPv6"),
        }
    }
}

fn enumeration<N: Display>(
    f: &mut Formatter<'_>,
    name: &str,
    values: &[(String, N)],
) -> fmt::Result {
    write!(f, "{name}(")?;
    for (index, (value, number)) in values.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{} = {number}", Quoted(value))?;
    }
    f.write_char(')')
}

fn tuple(f: &mut Formatter<'_>, elements: &[(Option<String>, DataType)]) -> fmt::Result {
    f.write_str("Tuple(")?;
    for (index, (name, element)) in elements.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        match name {
            Some(name) => write!(f, "{} {element}", Name(name))?,
            None => write!(f, "{element}")?,
        }
    }
    f.write_char(')')
}

/// A text in single quotes, escaped as ClickHouse escapes.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('\'')?;
        escape(f, self.0, '\'')?;
        f.write_char('\'')
    }
}

/// An element's name, back-quoted unless it is a plain identifier.
struct Name<'a>(&'a str);

/// Identifiers that ClickHouse quotes all the same, since they could be read as something else.
const QUOTED_ALWAYS: [&str; 8] =
    ["distinct", "all", "table", "select", "from", "null", "order", "limit"];

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plain = !self.0.is_empty()
            && !self.0.starts_with(|c: char| c.is_ascii_digit())
            && self.0.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !QUOTED_ALWAYS.iter().any(|word| self.0.eq_ignore_ascii_case(word));
        if plain {
            return f.write_str(self.0);
        }
        f.write_char('`')?;
        escape(f, self.0, '`')?;
        f.write_char('`')
    }
}

fn escape(f: &mut Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    for c in text.chars() {
        match c {
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\0' => f.write_str("\\0")?,
            '\\' => f.write_str("\\\\")?,
            c if c == quote => write!(f, "\\{c}")?,
            c => f.write_char(c)?,
        }
    }
    Ok(())
}
