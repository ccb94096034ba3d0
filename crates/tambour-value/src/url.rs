//! Parts of URLs as ClickHouse finds them: byte by byte, without a check that they are URLs.

use memchr::{memchr, memmem};

/// What stands before the first of this byte; all of it if there is none.
pub fn before(text: &[u8], byte: u8) -> &[u8] {
    text.get(..memchr(byte, text).unwrap_or(text.len())).unwrap_or_default()
}

/// What stands after the first of this byte; nothing if there is none.
fn after(text: &[u8], byte: u8) -> &[u8] {
    memchr(byte, text).and_then(|at| text.get(at + 1..)).unwrap_or_default()
}

/// The protocol; without a colon after it, it is none.
pub fn protocol(url: &[u8]) -> &[u8] {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if !url.first().is_some_and(u8::is_ascii_alphabetic) {
        return &[];
    }
    let length = url.iter().take_while(|byte| is_word(byte)).count();
    if url.get(length) == Some(&b':') { url.get(..length).unwrap_or_default() } else { &[] }
}

/// Bytes that no host has.
fn is_foreign(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'<'
            | b'>'
            | b'%'
            | b'{'
            | b'}'
            | b'|'
            | b'\\'
            | b'^'
            | b'~'
            | b'['
            | b']'
            | b';'
            | b'='
            | b'&'
    )
}

/// Longest name of a protocol with its colon and slashes that is looked for.
const PROTOCOL_MAX: usize = 16;

/// Where the authority begins; `None` if the URL cannot have one.
pub fn authority(url: &[u8]) -> Option<usize> {
    if url.len() > 2 && url.starts_with(b"//") {
        return Some(2);
    }
    let end = url.len().min(PROTOCOL_MAX);
    for (at, byte) in url.iter().enumerate().take(end).skip(1) {
        match byte {
            b'.' | b'-' | b'+' => {}
            byte if byte.is_ascii_alphanumeric() => {}
            byte if is_foreign(*byte) => return None,
            _ => {
                let has_slashes = end - at > 2 && url.get(at..at + 3) == Some(b"://");
                return Some(if has_slashes { at + 3 } else { 0 });
            }
        }
    }
    Some(0)
}

/// The host; nothing if it has no dot inside, or a byte that no host has.
pub fn domain(url: &[u8]) -> &[u8] {
    let Some(begin) = authority(url) else { return &[] };
    let (mut start, mut dot) = (begin, None);
    let mut end = url.len();
    for (at, byte) in url.iter().enumerate().skip(begin) {
        match byte {
            b'.' => {
                if at + 1 == url.len() {
                    return &[];
                }
                dot = Some(at);
            }
            b':' | b'/' | b'?' | b'#' => {
                end = at;
                break;
            }
            b'@' => start = at + 1,
            byte if is_foreign(*byte) => return &[],
            _ => {}
        }
    }
    match dot {
        Some(dot) if start != end && end - dot > 1 => url.get(start..end).unwrap_or_default(),
        _ => &[],
    }
}

/// A host without a leading `www.`.
pub fn without_www(host: &[u8]) -> &[u8] {
    host.strip_prefix(b"www.").unwrap_or(host)
}

/// The last label of a host.
pub fn top_level(host: &[u8]) -> &[u8] {
    let last = host.iter().rposition(|byte| *byte == b'.');
    let label = last.and_then(|at| host.get(at + 1..)).unwrap_or_default();
    // An address has none.
    if label.first().is_some_and(u8::is_ascii_digit) { &[] } else { label }
}

/// From the slash after the host on; a host stands after two slashes, if those are the first.
pub fn path_full(url: &[u8]) -> &[u8] {
    let first = memchr(b'/', url).and_then(|at| url.get(at..)).unwrap_or_default();
    let rest = first.strip_prefix(b"//").unwrap_or(first);
    memchr(b'/', rest).and_then(|at| rest.get(at..)).unwrap_or_default()
}

/// The path, without what follows `?` or `#`.
pub fn path(url: &[u8]) -> &[u8] {
    let full = path_full(url);
    let end = full.iter().position(|byte| matches!(byte, b'?' | b'#'));
    full.get(..end.unwrap_or(full.len())).unwrap_or_default()
}

/// What stands between `?` and `#`.
pub fn query(url: &[u8]) -> &[u8] {
    before(after(url, b'?'), b'#')
}

/// What stands after `#`.
pub fn fragment(url: &[u8]) -> &[u8] {
    after(url, b'#')
}

/// What stands after `?`, or after `#` if there is no `?`.
pub fn query_and_fragment(url: &[u8]) -> &[u8] {
    match memchr(b'?', url) {
        Some(at) => url.get(at + 1..).unwrap_or_default(),
        None => memchr(b'#', url).and_then(|at| url.get(at..)).unwrap_or_default(),
    }
}

/// The port after the host, if there is one from 1 on.
pub fn port_of(url: &[u8]) -> Option<u16> {
    let host = domain(url);
    if host.is_empty() {
        return None;
    }
    let begin = host.as_ptr() as usize - url.as_ptr() as usize + host.len();
    port_after(url.get(begin..)?)
}

/// The port at the front of what follows a host.
pub fn port_after(rest: &[u8]) -> Option<u16> {
    let digits = rest.strip_prefix(b":")?;
    let end = digits.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    let digits = digits.get(..end.unwrap_or(digits.len()))?;
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|port| *port > 0)
}

/// Names, and names with values, of what stands after the `?`.
pub fn parameters(url: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let start = url.iter().position(|byte| matches!(byte, b'?' | b'#'));
    let rest = start.and_then(|at| url.get(at + 1..)).unwrap_or_default();
    let mut pieces: Vec<&[u8]> = rest.split(|byte| matches!(byte, b'&' | b'#')).collect();
    // The last one is none without a value.
    if pieces.last().is_some_and(|last| memchr(b'=', last).is_none()) {
        pieces.pop();
    }
    pieces.into_iter().map(|whole| {
        // A question mark in a name begins it anew.
        let name = before(whole, b'=');
        let start = name.iter().rposition(|byte| *byte == b'?').map_or(0, |at| at + 1);
        let from = |text| <[u8]>::get(text, start..).unwrap_or_default();
        (from(name), from(whole))
    })
}

/// Where the value of a parameter begins.
fn value_start(url: &[u8], name: &[u8]) -> Option<(usize, usize)> {
    let begin = url.iter().position(|byte| matches!(byte, b'?' | b'#'))?;
    let pattern = [name, b"="].concat();
    let found = memmem::find_iter(url.get(begin..)?, &pattern).find(|at| {
        let before = at.checked_sub(1).and_then(|at| url.get(begin + at));
        matches!(before, Some(b'?' | b'#' | b'&'))
    })?;
    Some((begin + found, begin + found + pattern.len()))
}

fn value_end(url: &[u8], from: usize) -> usize {
    let rest = url.get(from..).unwrap_or_default();
    let end = rest.iter().position(|byte| matches!(byte, b'&' | b'#'));
    from + end.unwrap_or(rest.len())
}

/// The value of a parameter.
pub fn parameter<'a>(url: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (_, value) = value_start(url, name)?;
    url.get(value..value_end(url, value))
}

/// Appends the URL without a parameter.
pub fn cut_parameter(url: &[u8], name: &[u8], out: &mut Vec<u8>) {
    let Some((start, value)) = value_start(url, name).filter(|_| !name.is_empty()) else {
        return out.extend_from_slice(url);
    };
    let end = value_end(url, value);
    let is_followed = url.get(end) == Some(&b'&');
    // The sign before goes with the last one, the sign after with the others.
    let (cut_from, cut_to) = match url.get(start - 1) {
        _ if is_followed => (start, end + 1),
        Some(b'&') => (start - 1, end),
        _ => (start, end),
    };
    out.extend_from_slice(url.get(..cut_from).unwrap_or_default());
    out.extend_from_slice(url.get(cut_to..).unwrap_or_default());
}
