//! Partition ids: from key values, and whether an id can belong to bytes whose types are not known.

use crate::name::{days_of_old_name, hex};
use crate::types::DataType;
use crate::{PartError, Place};
use std::collections::BTreeSet;
use tambour_kernel::hash::sip_hash_128;

/// Name of the file with the values of the partition key.
pub(crate) const PARTITION_FILE: &str = "partition.dat";
/// Id of the only partition of a table without PARTITION BY.
pub(crate) const ALL: &str = "all";

/// Name of the file with the range of a column.
pub(crate) fn minmax_file(escaped_column: &str) -> String {
    format!("minmax_{escaped_column}.idx")
}

/// A key value as it goes into the id.
enum KeyValue<'a> {
    Unsigned(u64),
    Signed(i64),
    /// Days since 1970, printed as YYYYMMDD.
    Date(u16),
    /// Anything that is only hashed: type byte, whether a length goes in front, contents.
    Hashed(u8, bool, &'a [u8]),
    /// Floats are hashed as doubles.
    Float(f64),
}

/// ClickHouse's type bytes, as they go into the hash.
const TYPE_NULL: u8 = 0;
const TYPE_UNSIGNED: u8 = 1;
const TYPE_SIGNED: u8 = 2;
const TYPE_FLOAT: u8 = 3;
const TYPE_UINT128: u8 = 4;
const TYPE_INT128: u8 = 5;
const TYPE_STRING: u8 = 16;
const TYPE_DECIMAL32: u8 = 19;
const TYPE_DECIMAL64: u8 = 20;
const TYPE_DECIMAL128: u8 = 21;
const TYPE_DECIMAL256: u8 = 23;
const TYPE_UINT256: u8 = 24;
const TYPE_INT256: u8 = 25;

/// The id for key values in single value form.
pub(crate) fn id<'a>(
    values: impl Iterator<Item = (&'a DataType, &'a [u8])>,
) -> Result<String, PartError> {
    let values =
        values.map(|(t, bytes)| key_value(t, bytes, true)).collect::<Result<Vec<_>, _>>()?;
    if values.is_empty() {
        return Ok(ALL.to_owned());
    }
    let texts: Option<Vec<String>> = values.iter().map(KeyValue::text).collect();
    if let Some(texts) = texts {
        return Ok(texts.join("-"));
    }
    let mut input = Vec::new();
    for value in &values {
        value.hash_input(&mut input);
    }
    Ok(hex(&sip_hash_128(&input)))
}

/// Interprets the bytes of one value. A date inside another type is a plain number to ClickHouse.
fn key_value<'a>(
    data_type: &DataType,
    bytes: &'a [u8],
    top: bool,
) -> Result<KeyValue<'a>, PartError> {
    let value = match data_type {
        DataType::Nullable(inner) => {
            return match bytes.split_first() {
                Some((1, [])) => Ok(KeyValue::Hashed(TYPE_NULL, false, &[])),
                Some((0, rest)) if **inner != DataType::Ipv4 => key_value(inner, rest, false),
                _ => Err(unsupported(data_type)),
            };
        }
        DataType::LowCardinality(inner) => return key_value(inner, bytes, false),
        DataType::Date if top => number(bytes).map(KeyValue::Date),
        DataType::Bool | DataType::UInt8 => {
            number::<u8>(bytes).map(|v| KeyValue::Unsigned(v.into()))
        }
        DataType::UInt16 | DataType::Date => {
            number::<u16>(bytes).map(|v| KeyValue::Unsigned(v.into()))
        }
        DataType::UInt32 | DataType::DateTime { .. } | DataType::Ipv4 => {
            number::<u32>(bytes).map(|v| KeyValue::Unsigned(v.into()))
        }
        DataType::UInt64 => number(bytes).map(KeyValue::Unsigned),
        DataType::Int8 | DataType::Enum8(_) => {
            number::<i8>(bytes).map(|v| KeyValue::Signed(v.into()))
        }
        DataType::Int16 | DataType::Enum16(_) => {
            number::<i16>(bytes).map(|v| KeyValue::Signed(v.into()))
        }
        DataType::Int32 | DataType::Date32 => {
            number::<i32>(bytes).map(|v| KeyValue::Signed(v.into()))
        }
        DataType::Int64 => number(bytes).map(KeyValue::Signed),
        DataType::Float32 => number::<f32>(bytes).map(|v| KeyValue::Float(v.into())),
        DataType::Float64 => number(bytes).map(KeyValue::Float),
        DataType::BFloat16 => {
            number::<u16>(bytes).map(|v| KeyValue::Float(f32::from_bits(u32::from(v) << 16).into()))
        }
        DataType::String => string(bytes).map(|text| KeyValue::Hashed(TYPE_STRING, true, text)),
        DataType::FixedString(_) | DataType::Ipv6 => {
            Some(KeyValue::Hashed(TYPE_STRING, true, bytes))
        }
        DataType::UInt128 | DataType::Uuid => Some(KeyValue::Hashed(TYPE_UINT128, false, bytes)),
        DataType::Int128 => Some(KeyValue::Hashed(TYPE_INT128, false, bytes)),
        DataType::UInt256 => Some(KeyValue::Hashed(TYPE_UINT256, false, bytes)),
        DataType::Int256 => Some(KeyValue::Hashed(TYPE_INT256, false, bytes)),
        DataType::DateTime64 { .. } => Some(KeyValue::Hashed(TYPE_DECIMAL64, false, bytes)),
        DataType::Decimal { .. } => {
            let type_byte = match bytes.len() {
                4 => TYPE_DECIMAL32,
                8 => TYPE_DECIMAL64,
                16 => TYPE_DECIMAL128,
                _ => TYPE_DECIMAL256,
            };
            Some(KeyValue::Hashed(type_byte, false, bytes))
        }
        _ => None,
    };
    value.ok_or_else(|| unsupported(data_type))
}

fn unsupported(data_type: &DataType) -> PartError {
    PartError::unsupported(Place::default(), format!("a partition key of type {data_type}"))
}

/// A number of fixed width that takes all of the bytes.
fn number<T: FromLittleEndian>(bytes: &[u8]) -> Option<T> {
    T::from_little_endian(bytes)
}

trait FromLittleEndian: Sized {
    fn from_little_endian(bytes: &[u8]) -> Option<Self>;
}

macro_rules! little_endian {
    ($($number:ty),*) => {$(
        impl FromLittleEndian for $number {
            fn from_little_endian(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_le_bytes)
            }
        }
    )*};
}
little_endian!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

/// The bytes of a string after its length.
fn string(bytes: &[u8]) -> Option<&[u8]> {
    let length_bytes = bytes.iter().position(|byte| *byte < 0x80)? + 1;
    bytes.get(length_bytes..)
}

impl KeyValue<'_> {
    /// What stands in an id of integers only.
    fn text(&self) -> Option<String> {
        match self {
            Self::Unsigned(value) => Some(value.to_string()),
            Self::Signed(value) => Some(value.to_string()),
            Self::Date(days) => Some(calendar(*days).to_string()),
            Self::Hashed(..) | Self::Float(_) => None,
        }
    }

    fn hash_input(&self, input: &mut Vec<u8>) {
        let mut push = |type_byte: u8, contents: &[u8]| {
            input.push(type_byte);
            input.extend_from_slice(contents);
        };
        match self {
            Self::Unsigned(value) => push(TYPE_UNSIGNED, &value.to_le_bytes()),
            Self::Signed(value) => push(TYPE_SIGNED, &value.to_le_bytes()),
            Self::Date(days) => push(TYPE_UNSIGNED, &u64::from(*days).to_le_bytes()),
            Self::Float(value) => push(TYPE_FLOAT, &value.to_le_bytes()),
            Self::Hashed(type_byte, sized, contents) => {
                let size = (contents.len() as u64).to_le_bytes();
                push(*type_byte, if *sized { &size } else { &[] });
                input.extend_from_slice(contents);
            }
        }
    }
}

/// Days since 1970 as the number YYYYMMDD (proleptic Gregorian calendar; Howard Hinnant's `civil_from_days`).
fn calendar(days: u16) -> u32 {
    // Days since 0000-03-01, so that the leap day is the last of its year; 1970 + 65535 days stay within one era.
    let shifted = u32::from(days) + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, carry) =
        if month_from_march < 10 { (month_from_march + 3, 0) } else { (month_from_march - 9, 1) };
    (era * 400 + year_of_era + carry) * 10_000 + month * 100 + day
}

/// The partition id in a directory name `<id>_<min>_<max>_<level>[_<mutation>]`; `None` for any other name (a temporary
/// one, a prefix such as `broken_`).
pub(crate) fn id_of_name(name: &str) -> Option<&str> {
    if month_of_old_name(name).is_some() {
        return name.get(..6);
    }
    let pieces: Vec<&str> = name.split('_').collect();
    let (id, numbers) = pieces.split_first()?;
    let valid_id = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let valid_numbers = matches!(numbers.len(), 3 | 4)
        && numbers.iter().all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    (valid_id && valid_numbers).then_some(*id)
}

/// The partition key of a part whose name is of the syntax before 2018, a `UInt32`.
pub(crate) fn month_of_old_name(name: &str) -> Option<u32> {
    days_of_old_name(name).map(|((first, _), _)| first / 100)
}

/// False if the bytes of `partition.dat` cannot have this id, whatever the types of the key. Ids that are hashes cannot
/// be judged without types.
pub(crate) fn id_fits(id: &str, bytes: Option<&[u8]>) -> bool {
    let Some(bytes) = bytes else { return id == ALL };
    let Some(tokens) = tokens(id) else { return id.len() == 32 };
    // Offsets that the values so far may have reached.
    let mut ends = BTreeSet::from([0]);
    for token in tokens {
        let mut next = BTreeSet::new();
        for start in ends {
            let rest = bytes.get(start..).unwrap_or_default();
            next.extend(widths(rest, token).map(|width| start + width));
            if let Some((0, rest)) = rest.split_first() {
                next.extend(widths(rest, token).map(|width| start + 1 + width));
            }
        }
        ends = next;
    }
    ends.contains(&bytes.len())
}

/// Widths of the types under which these bytes start with this number.
fn widths(bytes: &[u8], token: i128) -> impl Iterator<Item = usize> {
    fn start<T: FromLittleEndian + Into<i128>>(bytes: &[u8]) -> Option<i128> {
        bytes.get(..size_of::<T>()).and_then(T::from_little_endian).map(Into::into)
    }
    let date = bytes.get(..2).and_then(u16::from_little_endian).map(|d| i128::from(calendar(d)));
    let readings = [
        (1, start::<u8>(bytes)),
        (1, start::<i8>(bytes)),
        (2, start::<u16>(bytes)),
        (2, start::<i16>(bytes)),
        (2, date),
        (4, start::<u32>(bytes)),
        (4, start::<i32>(bytes)),
        (8, start::<u64>(bytes)),
        (8, start::<i64>(bytes)),
    ];
    readings.into_iter().filter(move |(_, value)| *value == Some(token)).map(|(width, _)| width)
}

/// The numbers of an id such as `202402--5`; `None` if it is something else.
fn tokens(id: &str) -> Option<Vec<i128>> {
    let mut tokens = Vec::new();
    let mut rest = id;
    loop {
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest.get(sign..)?.bytes().take_while(u8::is_ascii_digit).count();
        let (token, tail) = rest.split_at_checked(sign + digits)?;
        // 20 digits hold any 64-bit number.
        if digits == 0 || digits > 20 {
            return None;
        }
        tokens.push(token.parse().ok()?);
        match tail.strip_prefix('-') {
            Some(next) => rest = next,
            None if tail.is_empty() => return Some(tokens),
            None => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(data_type: &str, bytes: &[u8]) -> String {
        let data_type: DataType = data_type.parse().unwrap();
        id([(&data_type, bytes)].into_iter()).unwrap()
    }

    /// As ClickHouse 26.9 names them.
    #[test]
    fn integers_are_printed() {
        assert_eq!(id(std::iter::empty()).unwrap(), "all");
        for (data_type, bytes, expected) in [
            ("UInt8", &[7][..], "7"),
            ("Bool", &[1], "1"),
            ("Int8", &[0xfb], "-5"),
            ("Date", &[0x34, 0x4d], "20240211"),
            ("Nullable(Date)", &[0, 0x34, 0x4d], "19764"),
            ("LowCardinality(Date)", &[0x34, 0x4d], "19764"),
            ("Date32", &[0x77, 0xe3, 0xff, 0xff], "-7305"),
            ("DateTime('UTC')", &[0, 0x0e, 0xc8, 0x65], "1707609600"),
            ("Enum8('a' = -3)", &[0xfd], "-3"),
            ("IPv4", &[4, 3, 2, 1], "16909060"),
            ("LowCardinality(Nullable(UInt32))", &[0, 9, 0, 0, 0], "9"),
            ("Nullable(Int16)", &[0, 0xf7, 0xff], "-9"),
            ("UInt64", &[0xff; 8], "18446744073709551615"),
        ] {
            assert_eq!(one(data_type, bytes), expected, "{data_type}");
        }
        let month = DataType::UInt32;
        let region = DataType::Int32;
        let values: [(&DataType, &[u8]); 2] =
            [(&month, &[0xa2, 0x16, 3, 0]), (&region, &[0xfb, 0xff, 0xff, 0xff])];
        assert_eq!(id(values.into_iter()).unwrap(), "202402--5");
    }

    /// As ClickHouse 26.9 names them.
    #[test]
    fn everything_else_is_hashed() {
        let wide = |number: i64, width: usize| {
            let mut bytes = number.to_le_bytes().to_vec();
            bytes.resize(width, if number < 0 { 0xff } else { 0 });
            bytes
        };
        let mut ipv6 = [0; 16];
        ipv6[15] = 1;
        let uuid = 0x7766_5544_3322_1100_ffee_ddcc_bbaa_9988_u128.to_be_bytes();
        let hello = b"\x05hello";
        for (data_type, bytes, expected) in [
            ("String", &hello[..], "21818ffeee1ae033898614f81c7c3c75"),
            ("LowCardinality(String)", hello, "21818ffeee1ae033898614f81c7c3c75"),
            ("Nullable(String)", b"\0\x05hello", "21818ffeee1ae033898614f81c7c3c75"),
            ("FixedString(7)", b"hello\0\0", "b3ae2a9347ee419583f96fac3e48b9ab"),
            ("Float32", &1.5f32.to_le_bytes(), "11876ff8640afac37203e8651c527cea"),
            ("Float64", &1.5f64.to_le_bytes(), "11876ff8640afac37203e8651c527cea"),
            ("BFloat16", &[0xc0, 0x3f], "11876ff8640afac37203e8651c527cea"),
            ("Nullable(UInt8)", &[1], "2b16b490a87466b6a6d34fd9027f3c3d"),
            ("IPv6", &ipv6, "1ebc31932a947b7ca9e898a271e7f028"),
            ("UUID", &uuid, "2462615b0a052003f1dfc9e6cda040a3"),
            ("UInt128", &wide(5, 16), "7950b33bf17282bc39c6aa3e17c9c7a5"),
            ("Int128", &wide(-5, 16), "1d894163b5898d55565fce607a003475"),
            ("UInt256", &wide(5, 32), "e1a93702bcea104d9fca12231c6fcfa7"),
            ("Int256", &wide(-5, 32), "a0fe8a7c892175c3ec0438ddafaa49d9"),
            ("Decimal(9, 2)", &wide(150, 4), "5a693d6b11ee645c737d2fa6e60e123c"),
            ("Decimal(18, 2)", &wide(150, 8), "007e2937f2c1dc02133e19db4b226f3b"),
            ("Decimal(38, 2)", &wide(150, 16), "86ecbfa0fddcdfc79868d3cc5e953ac0"),
            ("Decimal(76, 2)", &wide(150, 32), "28fbcce3e6012354ce983f28061492ee"),
            (
                "DateTime64(3, 'UTC')",
                &0x18d_9576_b07b_i64.to_le_bytes(),
                "719a8f2e6d3ad7cc43cf91a66310c7e0",
            ),
        ] {
            assert_eq!(one(data_type, bytes), expected, "{data_type}");
        }
        let (number, text) = (DataType::Int32, DataType::String);
        let values: [(&DataType, &[u8]); 2] =
            [(&number, &[0xfb, 0xff, 0xff, 0xff]), (&text, hello)];
        assert_eq!(id(values.into_iter()).unwrap(), "3aa5629d74044404b36b28b02c1e3faf");
        let array: DataType = "Array(UInt8)".parse().unwrap();
        assert!(id([(&array, &[1u8, 1][..])].into_iter()).is_err());
    }

    #[test]
    fn dates_are_printed_by_the_calendar() {
        for (days, date) in
            [(0, 19_700_101), (59, 19_700_301), (11_016, 20_000_229), (65_535, 21_490_606)]
        {
            assert_eq!(calendar(days), date);
        }
    }

    #[test]
    fn names_of_parts_are_told_from_others() {
        assert_eq!(id_of_name("all_1_1_0"), Some("all"));
        assert_eq!(id_of_name("202402--5_1_7_2_9"), Some("202402--5"));
        for name in ["all", "tmp_all_1_1_0", "all_1_1", "all_1_1_x", "_1_1_0", "broken_all_1_1_0_1"]
        {
            assert_eq!(id_of_name(name), None, "{name}");
        }
        assert_eq!(month_of_old_name("20140317_20140323_2_2_0"), Some(201_403));
        assert_eq!(id_of_name("20140317_20140323_2_2_0_9"), Some("201403"));
        assert_eq!(month_of_old_name("202402_1_1_0_5"), None);
    }

    #[test]
    fn an_id_is_checked_without_knowing_the_types() {
        for (id, bytes) in [
            ("202402", &[0xa2, 0x16, 3, 0][..]),
            ("20240211", &[0x34, 0x4d]),
            ("202402--5", &[0xa2, 0x16, 3, 0, 0xfb, 0xff, 0xff, 0xff]),
            ("-9", &[0, 0xf7, 0xff]),
            ("21818ffeee1ae033898614f81c7c3c75", b"\x05hello"),
        ] {
            assert!(id_fits(id, Some(bytes)), "{id}");
        }
        assert!(id_fits("all", None));
        for (id, bytes) in [
            ("202402", Some(&[0xa3, 0x16, 3, 0][..])),
            ("202402", Some(&[0xa2, 0x16, 3, 0, 0])),
            ("202402", None),
            ("all", Some(&[1])),
            ("5-6", Some(&[5])),
        ] {
            assert!(!id_fits(id, bytes), "{id}");
        }
    }
}
