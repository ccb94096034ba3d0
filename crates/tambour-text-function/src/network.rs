//! Addresses: `IPv4NumToString`, `IPv4StringToNum`, `IPv6NumToString`, `isIPv4String`, `isIPAddressInRange`,
//! `MACNumToString`, `MACStringToNum`.

use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use tambour_function::kit::{
    Call, Integer, Kind, expect_count, integer, nullable, rule, takes, type_at, wrong,
};
use tambour_function::{Function, FunctionError, Signature};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("IPv4NumToString", number_type, |c| {
        let numbers = c.integers(0)?;
        c.make_texts(|row, out| {
            out.extend(Ipv4Addr::from(numbers.get(row) as u32).to_string().into_bytes());
        })
    })
    .aliases(&["INET_NTOA"]),
    Function::new("IPv4NumToStringClassC", number_type, |c| {
        let numbers = c.integers(0)?;
        c.make_texts(|row, out| {
            let [a, b, c, _] = (numbers.get(row) as u32).to_be_bytes();
            out.extend(format!("{a}.{b}.{c}.xxx").into_bytes());
        })
    }),
    Function::new("IPv4StringToNum", rule!(Text => DataType::UInt32), |c| {
        let texts = c.texts(0)?;
        let mut numbers = Vec::with_capacity(c.rows);
        for row in 0..c.rows {
            match ipv4(texts.get(row)) {
                Some(number) => numbers.push(number),
                None if c.is_null(row) => numbers.push(0),
                None => return Err(c.value_error(row, "the text is not an IPv4 address")),
            }
        }
        Ok(Arc::new(PrimitiveArray::<UInt32Type>::from(numbers)))
    })
    .aliases(&["INET_ATON"]),
    Function::new("IPv4StringToNumOrDefault", rule!(Text => DataType::UInt32), |c| {
        let texts = c.texts(0)?;
        c.make_numbers::<UInt32Type>(|row| ipv4(texts.get(row)).unwrap_or(0))
    }),
    Function::new("IPv4StringToNumOrNull", rule!(Text => nullable(DataType::UInt32)), |c| {
        let texts = c.texts(0)?;
        c.make_optional_integers(|row| ipv4(texts.get(row)).map(i128::from))
    }),
    Function::new("IPv6NumToString", address_type, |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| {
            let bytes: [u8; 16] = texts.get(row).try_into().unwrap_or_default();
            out.extend(shown(Ipv6Addr::from(bytes)).into_bytes());
        })
    })
    .aliases(&["INET6_NTOA"]),
    Function::new("IPv6StringToNum", rule!(Text => DataType::FixedString(16)), |c| {
        let texts = c.texts(0)?;
        for row in 0..c.rows {
            if ipv6(texts.get(row)).is_none() && !c.is_null(row) {
                return Err(c.value_error(row, "the text is not an address"));
            }
        }
        c.make_fixed(16, |row, out| out.extend(ipv6(texts.get(row)).unwrap_or_default()))
    })
    .aliases(&["INET6_ATON"]),
    Function::new("IPv6StringToNumOrDefault", rule!(Text => DataType::FixedString(16)), |c| {
        let texts = c.texts(0)?;
        c.make_fixed(16, |row, out| out.extend(ipv6(texts.get(row)).unwrap_or_default()))
    }),
    Function::new("cutIPv6", cut_type, |c| {
        let (texts, wide, narrow) = (c.texts(0)?, c.integers(1)?, c.integers(2)?);
        c.make_texts(|row, out| {
            let mut bytes: [u8; 16] = texts.get(row).try_into().unwrap_or_default();
            let is_mapped = Ipv6Addr::from(bytes).to_ipv4_mapped().is_some();
            let count = if is_mapped { narrow.get(row) } else { wide.get(row) };
            let count = usize::try_from(count).unwrap_or(0);
            bytes.iter_mut().rev().take(count).for_each(|byte| *byte = 0);
            out.extend(shown(Ipv6Addr::from(bytes)).into_bytes());
        })
    }),
    Function::new("isIPv4String", rule!(Text => DataType::UInt8), |c| {
        let texts = c.texts(0)?;
        c.make_flags(|row| ipv4(texts.get(row)).is_some())
    })
    .predicate(),
    Function::new("isIPv6String", rule!(Text => DataType::UInt8), |c| {
        let texts = c.texts(0)?;
        c.make_flags(|row| parsed::<Ipv6Addr>(texts.get(row)).is_some())
    })
    .predicate(),
    Function::new("IPv4ToIPv6", rule_of_ipv4, |c| {
        let numbers = c.integers(0)?;
        c.make_fixed(16, |row, out| {
            out.extend(Ipv4Addr::from(numbers.get(row) as u32).to_ipv6_mapped().octets());
        })
    }),
    Function::new("isIPAddressInRange", range_type, in_range).predicate(),
    Function::new("MACNumToString", rule!(Integer => DataType::String), |c| {
        let numbers = c.integers(0)?;
        c.make_texts(|row, out| {
            let bytes = (numbers.get(row) as u64).to_be_bytes();
            let parts: Vec<String> =
                bytes.iter().skip(2).map(|byte| format!("{byte:02X}")).collect();
            out.extend(parts.join(":").into_bytes());
        })
    }),
    Function::new("MACStringToNum", rule!(Text => DataType::UInt64), |c| card(c, 6)),
    Function::new("MACStringToOUI", rule!(Text => DataType::UInt64), |c| card(c, 3)),
];

/// The first bytes of an address as a number; 0 if the text is not one.
fn card(call: &Call, bytes: usize) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    call.make_numbers::<UInt64Type>(|row| address(texts.get(row), bytes).unwrap_or(0))
}

/// Pairs of hexadecimal digits with one byte in between, whatever it is.
fn address(text: &[u8], bytes: usize) -> Option<u64> {
    let is_whole = text.len() == 17 || bytes == 3 && (8..17).contains(&text.len());
    let mut number = 0;
    for pair in text.chunks(3).take(bytes).filter(|_| is_whole) {
        let &[high, low, ..] = pair else { return None };
        // What is not a digit is 255, as in ClickHouse, and reaches into the pair before.
        let digits = [high, low].map(|digit| char::from(digit).to_digit(16).unwrap_or(0xff));
        number = number << 8 | u64::from(digits[0] << 4 | digits[1]);
    }
    is_whole.then_some(number)
}

fn cut_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 3..=3)?;
    address_type(name, s.get(..1).unwrap_or_default())?;
    takes(name, s.get(1..).unwrap_or_default(), &[Kind::ConstInteger, Kind::ConstInteger], &[])?;
    for index in [1, 2] {
        let count = tambour_function::kit::constant_integer(name, s, index)?;
        if !count.is_some_and(|count| (0..=16).contains(&count)) {
            return Err(wrong(name, "the number of bytes must be 0 to 16"));
        }
    }
    Ok(DataType::String)
}

fn number_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match (type_at(s, 0), integer(type_at(s, 0))) {
        (DataType::Ipv4, _) | (_, Some(Integer { is_signed: false, .. })) => Ok(DataType::String),
        (other, _) => Err(wrong(name, format!("it takes unsigned integers, not {other}"))),
    }
}

fn rule_of_ipv4(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    number_type(name, s)?;
    match type_at(s, 0) {
        DataType::Ipv4 => Ok(DataType::Ipv6),
        other => Err(wrong(name, format!("it takes an IPv4, not {other}"))),
    }
}

fn address_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match type_at(s, 0) {
        DataType::FixedString(16) | DataType::Ipv6 => Ok(DataType::String),
        other => Err(wrong(name, format!("it takes a FixedString(16), not {other}"))),
    }
}

fn parsed<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Four numbers of up to 255.
fn ipv4(text: &[u8]) -> Option<u32> {
    parsed::<Ipv4Addr>(text).map(u32::from)
}

fn ipv6(text: &[u8]) -> Option<[u8; 16]> {
    match parsed::<IpAddr>(text)? {
        IpAddr::V4(address) => Some(address.to_ipv6_mapped().octets()),
        IpAddr::V6(address) => Some(address.octets()),
    }
}

fn shown(address: Ipv6Addr) -> String {
    match address.to_ipv4_mapped() {
        Some(mapped) => format!("::ffff:{mapped}"),
        None => address.to_string(),
    }
}

fn range_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::String, Kind::String], &[]).map(|()| DataType::UInt8)
}

fn in_range(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (addresses, ranges) = (call.texts(0)?, call.texts(1)?);
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        if call.is_null(row) {
            found.push(false);
            continue;
        }
        let Some(address) = parsed::<IpAddr>(addresses.get(row)) else {
            return Err(call.value_error(row, "the first text is not an address"));
        };
        match range_of(ranges.get(row)) {
            Some((network, bits)) => found.push(is_inside(address, network, bits)),
            None => return Err(call.value_error(row, "the second text is not a range: 10.0.0.0/8")),
        }
    }
    call.make_flags(|row| found[row])
}

fn range_of(text: &[u8]) -> Option<(IpAddr, u32)> {
    let slash = memchr::memchr(b'/', text)?;
    let network = parsed::<IpAddr>(text.get(..slash)?)?;
    let bits = text.get(slash + 1..)?;
    let bits = parsed::<u32>(bits).filter(|_| bits.iter().all(u8::is_ascii_digit))?;
    (bits <= if network.is_ipv4() { 32 } else { 128 }).then_some((network, bits))
}

fn is_inside(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            (u32::from(address) ^ u32::from(network)) & mask == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            (u128::from(address) ^ u128::from(network)) & mask == 0
        }
        _ => false,
    }
}
