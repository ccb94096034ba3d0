//! Hosts of URLs by RFC 3986, with names and passwords before them: `domainRFC` and its kin, `netloc`.
//!
//! Where ClickHouse stops at a byte that no host has depends on what was before it: such URLs are an error.

use arrow_array::ArrayRef;
use arrow_array::types::UInt16Type;
use std::ops::Range;
use tambour_function::kit::{Call, rule};
use tambour_function::{Function, FunctionError};
use tambour_part::types::DataType;
use tambour_value::url::{authority, port_after, top_level, without_www};

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("domainRFC", rule!(String => DataType::String), |c| part(c, |host| host)),
    Function::new("domainWithoutWWWRFC", rule!(String => DataType::String), |c| {
        part(c, without_www)
    }),
    Function::new("topLevelDomainRFC", rule!(String => DataType::String), |c| part(c, top_level)),
    Function::new("netloc", rule!(String => DataType::String), |c| {
        let urls = c.texts(0)?;
        c.make_texts(|row, out| out.extend_from_slice(locality(urls.get(row))))
    }),
    Function::new("portRFC", rule!(String [ConstInteger] => DataType::UInt16), port),
];

/// A URL whose host is not clear.
struct Unclear;

/// What stands between brackets.
fn bracketed(url: &[u8], begin: usize) -> Result<Range<usize>, Unclear> {
    let rest = url.get(begin + 1..).unwrap_or_default();
    let Some(length) = memchr::memchr(b']', rest) else { return Ok(0..0) };
    let inner = rest.get(..length).unwrap_or_default();
    if inner.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b':') {
        Ok(begin + 1..begin + 1 + length)
    } else {
        Err(Unclear)
    }
}

/// Where the host is; nowhere if it has no dot, or bytes that no host has.
fn host(url: &[u8]) -> Result<Range<usize>, Unclear> {
    let Some(begin) = authority(url) else { return Ok(0..0) };
    if url.get(begin) == Some(&b'[') {
        return bracketed(url, begin);
    }
    let (mut start, mut end, mut dot, mut colon) = (begin, url.len(), None, None);
    let (mut has_name, mut has_sign) = (false, false);
    for (at, byte) in url.iter().enumerate().skip(begin) {
        match byte {
            b'.' if has_name || colon.is_none() => dot = Some(at),
            b':' if !has_name && colon.is_none() => colon = Some(at),
            b'@' if !has_name => (has_name, has_sign, start) = (true, false, at + 1),
            b':' | b'/' | b'?' | b'#' | b'@' => {
                end = at;
                break;
            }
            // Names may have these, hosts not.
            b';' | b'=' | b'&' | b'~' | b'%' => has_sign = true,
            b' ' | b'\t' | b'<' | b'>' | b'{' | b'}' | b'|' | b'\\' | b'^' | b'[' | b']' => {
                return if has_name || colon.is_some() { Err(Unclear) } else { Ok(0..0) };
            }
            _ => {}
        }
    }
    if let Some(colon) = colon.filter(|_| !has_name) {
        end = colon;
    }
    match dot {
        Some(dot) if !has_sign && start != end && dot + 1 != end => {
            let after = url.get(dot + 1);
            let is_end = matches!(after, Some(b':' | b'/' | b'?' | b'#'));
            Ok(if is_end { 0..0 } else { start..end })
        }
        _ => Ok(0..0),
    }
}

fn hosts<'a>(call: &Call, row: usize, url: &'a [u8]) -> Result<(&'a [u8], usize), FunctionError> {
    let unclear = |_| call.value_error(row, "where the host of the URL ends is not clear");
    let range = host(url).map_err(unclear)?;
    Ok((url.get(range.clone()).unwrap_or_default(), range.end))
}

fn part(call: &Call, cut: fn(&[u8]) -> &[u8]) -> Result<ArrayRef, FunctionError> {
    let urls = call.texts(0)?;
    call.try_texts(|row, out| {
        let (host, _) = hosts(call, row, urls.get(row))?;
        out.extend_from_slice(cut(host));
        Ok(())
    })
}

fn port(call: &Call) -> Result<ArrayRef, FunctionError> {
    let urls = call.texts(0)?;
    let default = call.optional_integers(1)?.map_or(0, |defaults| defaults.get(0)) as u16;
    let mut ports = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let url = urls.get(row);
        let (host, end) = hosts(call, row, url)?;
        let rest = url.get(end..).unwrap_or_default();
        let rest = rest.strip_prefix(b"]").unwrap_or(rest);
        let port = if host.is_empty() { None } else { port_after(rest) };
        ports.push(port.unwrap_or(default));
    }
    call.make_numbers::<UInt16Type>(|row| ports[row])
}

/// The host with the port after it, and the name and password before it: the last slash and question mark end it, if there is no
/// name, and the first ones if there is one. The last byte that only names may have ends it too.
fn locality(url: &[u8]) -> &[u8] {
    let Some(begin) = authority(url) else { return &[] };
    let cut = |end: usize| url.get(begin..end).unwrap_or_default();
    let (mut slash, mut question, mut sign) = (url.len(), url.len(), url.len());
    let mut has_name = false;
    for (at, byte) in url.iter().enumerate().skip(begin) {
        match byte {
            b'/' | b'?' if has_name => return cut(at),
            b'/' => slash = at,
            b'?' => question = at,
            b'#' => return cut(at),
            b'@' => has_name = true,
            b';' | b'=' | b'&' | b'~' | b'%' if !has_name => sign = at,
            b' ' | b'\t' | b'<' | b'>' | b'{' | b'}' | b'|' | b'\\' | b'^' | b'[' | b']' | b';'
            | b'=' | b'&' | b'~' | b'%' => return cut(at.min(slash).min(question)),
            _ => {}
        }
    }
    if has_name { cut(url.len()) } else { cut(slash.min(question).min(sign)) }
}

#[cfg(test)]
mod tests {
    use super::{host, locality};

    /// Every line was given to ClickHouse 26.9.
    #[test]
    fn hosts_are_found() {
        for (url, expected) in [
            ("http://user:pass@example.com:8080/path?q#f", "example.com"),
            ("http://[2001:db8::1]:80/", "2001:db8::1"),
            ("http://a;b@c.d", "c.d"),
            ("http://a.b;c/", ""),
            ("http://a:b.c@d", ""),
            ("http://a.b@c/", "c"),
            ("a.b:80", "a.b"),
            ("http://localhost", ""),
        ] {
            let found = host(url.as_bytes()).ok().and_then(|range| url.get(range));
            assert_eq!(found, Some(expected), "{url}");
        }
        for (url, expected) in [
            ("http://user@a.com:80/x", "user@a.com:80"),
            ("http://a.b/c@d", "a.b/c@d"),
            ("//", "/"),
            ("http://a;b/", "a"),
            ("http://.@&.", ".@"),
            ("averyveryverylongprotocol://a.b", "averyveryverylongprotocol:/"),
            ("mailto:a@b.com", "mailto:a@b.com"),
            ("http://a b/", "a"),
        ] {
            assert_eq!(locality(url.as_bytes()), expected.as_bytes(), "{url}");
        }
    }
}
