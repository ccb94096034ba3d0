//! UUIDs and IP addresses from text.

use super::Reject;
use std::net::{Ipv4Addr, Ipv6Addr};

const NOT_UUID: Reject = Reject::new("not a UUID");
const NOT_IPV4: Reject = Reject::new("not an IPv4 address");
const NOT_IPV6: Reject = Reject::new("not an IPv6 address");

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// A UUID, with its dashes or as 32 digits, in textual byte order.
///
/// ```
/// use tambour_value::address::uuid;
/// let dashes = uuid(b"00112233-4455-6677-8899-aabbccddeeff");
/// assert_eq!(dashes, uuid(b"00112233445566778899aabbccddeeff"));
/// assert!(uuid(b"0011").is_err());
/// ```
pub fn uuid(text: &[u8]) -> Result<[u8; 16], Reject> {
    let dashed = match text.len() {
        36 => true,
        32 => false,
        _ => return Err(NOT_UUID),
    };
    let mut target = [0; 16];
    let mut at = 0;
    for (index, slot) in target.iter_mut().enumerate() {
        if dashed && matches!(index, 4 | 6 | 8 | 10) {
            if text[at] != b'-' {
                return Err(NOT_UUID);
            }
            at += 1;
        }
        let (Some(high), Some(low)) = (hex(text[at]), hex(text[at + 1])) else {
            return Err(NOT_UUID);
        };
        *slot = high << 4 | low;
        at += 2;
    }
    Ok(target)
}

/// An IPv4 address.
///
/// ```
/// use tambour_value::address::ipv4;
/// assert_eq!(ipv4(b"127.0.0.1"), Ok(0x7f00_0001));
/// assert!(ipv4(b"127.0.0.256").is_err());
/// ```
pub fn ipv4(text: &[u8]) -> Result<u32, Reject> {
    let text = std::str::from_utf8(text).or(Err(NOT_IPV4))?;
    text.parse::<Ipv4Addr>().map(u32::from).or(Err(NOT_IPV4))
}

/// An IPv6 address; an IPv4 address becomes its mapped form, as in ClickHouse.
///
/// ```
/// use tambour_value::address::ipv6;
/// assert_eq!(ipv6(b"127.0.0.1"), ipv6(b"::ffff:127.0.0.1"));
/// ```
pub fn ipv6(text: &[u8]) -> Result<[u8; 16], Reject> {
    let text = std::str::from_utf8(text).or(Err(NOT_IPV6))?;
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Ok(address.octets());
    }
    text.parse::<Ipv4Addr>().map(|address| address.to_ipv6_mapped().octets()).or(Err(NOT_IPV6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids() {
        let value = uuid(b"61f0c404-5cb3-11e7-907b-a6006ad3dba0").unwrap();
        assert_eq!(value[..4], [0x61, 0xf0, 0xc4, 0x04]);
        assert_eq!(uuid(b"61F0C4045CB311E7907BA6006AD3DBA0"), Ok(value));
        assert!(uuid(b"61f0c404-5cb3-11e7-907b-a6006ad3dbag").is_err());
        assert!(uuid(b"61f0c40405cb3-11e7-907b-a6006ad3dba0").is_err());
        assert!(uuid(b"").is_err());
    }

    #[test]
    fn addresses() {
        assert_eq!(ipv4(b"1.2.3.4"), Ok(0x0102_0304));
        assert!(ipv4(b"1.2.3").is_err());
        assert_eq!(ipv6(b"::1").unwrap()[15], 1);
        assert_eq!(ipv6(b"1.2.3.4").unwrap()[10..], [0xff, 0xff, 1, 2, 3, 4]);
        assert!(ipv6(b"1.2.3.4.5").is_err());
    }
}
