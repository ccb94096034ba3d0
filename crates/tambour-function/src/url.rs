//! Parts of URLs as ClickHouse finds them: byte by byte, without a check that they are URLs.

use super::access::{array_of, rule};
use super::{Call, Function};
use crate::FunctionError;
use arrow_array::ArrayRef;
use arrow_array::types::UInt16Type;
use memchr::{memchr, memmem};
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("protocol", rule!(String => DataType::String), |c| part(c, protocol)),
    Function::new("domain", rule!(String => DataType::String), |c| part(c, domain)),
    Function::new("domainWithoutWWW", rule!(String => DataType::String), |c| {
        part(c, |url| without_www(domain(url)))
    }),
    Function::new("topLevelDomain", rule!(String => DataType::String), |c| {
        part(c, |url| top_level(domain(url)))
    }),
    Function::new("path", rule!(String => DataType::String), |c| part(c, path)),
    Function::new("pathFull", rule!(String => DataType::String), |c| part(c, path_full)),
    Function::new("queryString", rule!(String => DataType::String), |c| part(c, query)),
    Function::new("fragment", rule!(String => DataType::String), |c| part(c, fragment)),
    Function::new("queryStringAndFragment", rule!(String => DataType::String), |c| {
        part(c, query_and_fragment)
    }),
    Function::new("port", rule!(String [ConstInteger] => DataType::UInt16), port),
    Function::new("cutFragment", rule!(String => DataType::String), |c| {
        part(c, |url| before(url, b'#'))
    }),
    Function::new("cutQueryString", rule!(String => DataType::String), |c| {
        let urls = c.texts(0)?;
        c.make_texts(|row, out| {
            let url = urls.get(row);
            let Some(start) = memchr(b'?', url) else { return out.extend_from_slice(url) };
            out.extend_from_slice(url.get(..start).unwrap_or_default());
            let rest = url.get(start..).unwrap_or_default();
            if let Some(at) = memchr(b'#', rest) {
                out.extend_from_slice(rest.get(at..).unwrap_or_default());
            }
        })
    }),
    Function::new("cutQueryStringAndFragment", rule!(String => DataType::String), |c| {
        part(c, |url| {
            let end = memchr(b'?', url).or_else(|| memchr(b'#', url));
            url.get(..end.unwrap_or(url.len())).unwrap_or_default()
        })
    }),
    Function::new("cutURLParameter", rule!(String ConstText => DataType::String), |c| {
        let (urls, names) = (c.texts(0)?, c.texts(1)?);
        c.make_texts(|row, out| cut_parameter(urls.get(row), names.get(row), out))
    }),
    Function::new("extractURLParameter", rule!(String Text => DataType::String), |c| {
        let (urls, names) = (c.texts(0)?, c.texts(1)?);
        c.make_texts(|row, out| {
            out.extend_from_slice(parameter(urls.get(row), names.get(row)).unwrap_or_default());
        })
    }),
    Function::new("extractURLParameters", rule!(String => array_of(DataType::String)), |c| {
        let urls = c.texts(0)?;
        c.make_text_lists(|row, list| {
            parameters(urls.get(row)).for_each(|(_, whole)| list.push(whole));
        })
    }),
    Function::new("extractURLParameterNames", rule!(String => array_of(DataType::String)), |c| {
        let urls = c.texts(0)?;
        c.make_text_lists(|row, list| {
            parameters(urls.get(row)).for_each(|(name, _)| list.push(name));
        })
    }),
    Function::new("URLHierarchy", rule!(String => array_of(DataType::String)), |c| {
        hierarchy(c, false)
    }),
    Function::new("URLPathHierarchy", rule!(String => array_of(DataType::String)), |c| {
        hierarchy(c, true)
    }),
    Function::new("decodeURLComponent", rule!(String => DataType::String), |c| decode(c, false))
        .bytes(),
    Function::new("decodeURLFormComponent", rule!(String => DataType::String), |c| decode(c, true))
        .bytes(),
    Function::new("encodeURLComponent", rule!(String => DataType::String), |c| encode(c, false)),
    Function::new("encodeURLFormComponent", rule!(String => DataType::String), |c| encode(c, true)),
];

fn part(call: &Call, find: impl Fn(&[u8]) -> &[u8]) -> Result<ArrayRef, FunctionError> {
    let urls = call.texts(0)?;
    call.make_texts(|row, out| out.extend_from_slice(find(urls.get(row))))
}

fn before(text: &[u8], byte: u8) -> &[u8] {
    text.get(..memchr(byte, text).unwrap_or(text.len())).unwrap_or_default()
}

fn after(text: &[u8], byte: u8) -> &[u8] {
    memchr(byte, text).and_then(|at| text.get(at + 1..)).unwrap_or_default()
}

/// Without a colon after it, it is none.
fn protocol(url: &[u8]) -> &[u8] {
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
fn authority(url: &[u8]) -> Option<usize> {
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

fn domain(url: &[u8]) -> &[u8] {
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

fn without_www(host: &[u8]) -> &[u8] {
    host.strip_prefix(b"www.").unwrap_or(host)
}

fn top_level(host: &[u8]) -> &[u8] {
    let last = host.iter().rposition(|byte| *byte == b'.');
    let label = last.and_then(|at| host.get(at + 1..)).unwrap_or_default();
    // An address has none.
    if label.first().is_some_and(u8::is_ascii_digit) { &[] } else { label }
}

/// From the slash after the host on; a host stands after two slashes, if those are the first.
fn path_full(url: &[u8]) -> &[u8] {
    let first = memchr(b'/', url).and_then(|at| url.get(at..)).unwrap_or_default();
    let rest = first.strip_prefix(b"//").unwrap_or(first);
    memchr(b'/', rest).and_then(|at| rest.get(at..)).unwrap_or_default()
}

fn path(url: &[u8]) -> &[u8] {
    let full = path_full(url);
    let end = full.iter().position(|byte| matches!(byte, b'?' | b'#'));
    full.get(..end.unwrap_or(full.len())).unwrap_or_default()
}

fn query(url: &[u8]) -> &[u8] {
    before(after(url, b'?'), b'#')
}

fn fragment(url: &[u8]) -> &[u8] {
    after(url, b'#')
}

fn query_and_fragment(url: &[u8]) -> &[u8] {
    match memchr(b'?', url) {
        Some(at) => url.get(at + 1..).unwrap_or_default(),
        None => memchr(b'#', url).and_then(|at| url.get(at..)).unwrap_or_default(),
    }
}

fn port(call: &Call) -> Result<ArrayRef, FunctionError> {
    let urls = call.texts(0)?;
    let default = call.optional_integers(1)?.map_or(0, |defaults| defaults.get(0)) as u16;
    call.make_numbers::<UInt16Type>(|row| port_of(urls.get(row)).unwrap_or(default))
}

fn port_of(url: &[u8]) -> Option<u16> {
    let host = domain(url);
    if host.is_empty() {
        return None;
    }
    let begin = host.as_ptr() as usize - url.as_ptr() as usize + host.len();
    let digits = url.get(begin..)?.strip_prefix(b":")?;
    let end = digits.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    let digits = digits.get(..end.unwrap_or(digits.len()))?;
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|port| *port > 0)
}

/// Names, and names with values, of what stands after the `?`.
fn parameters(url: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let start = url.iter().position(|byte| matches!(byte, b'?' | b'#'));
    let rest = start.and_then(|at| url.get(at + 1..)).unwrap_or_default();
    let mut pieces: Vec<&[u8]> = rest.split(|byte| matches!(byte, b'&' | b'#')).collect();
    // The last one is none without a value.
    if pieces.last().is_some_and(|last| memchr(b'=', last).is_none()) {
        pieces.pop();
    }
    pieces.into_iter().map(|whole| (before(whole, b'='), whole))
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

fn parameter<'a>(url: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (_, value) = value_start(url, name)?;
    url.get(value..value_end(url, value))
}

fn cut_parameter(url: &[u8], name: &[u8], out: &mut Vec<u8>) {
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

/// The URL cut after each slash and sign of a query.
fn hierarchy(call: &Call, only_path: bool) -> Result<ArrayRef, FunctionError> {
    let urls = call.texts(0)?;
    call.make_text_lists(|row, list| {
        let url = urls.get(row);
        let is_sign = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
        let is_word = |byte: &&u8| **byte > b'!' && !matches!(**byte, b':' | b'/' | b'?' | b'#');
        let word = url.iter().take_while(is_word).count();
        let has_protocol = url.get(word..).is_some_and(|rest| rest.starts_with(b"://"));
        if !has_protocol {
            if !only_path && !url.is_empty() {
                list.push(url);
            }
            return;
        }
        let mut at = word + 3;
        at += url.iter().skip(at).take_while(|byte| !is_sign(byte)).count();
        let base = if only_path { at } else { 0 };
        at = url.len().min(at + 1);
        if !only_path {
            list.push(url.get(..at).unwrap_or_default());
        }
        while at < url.len() {
            // Signs one after the other begin the next one.
            at += url.iter().skip(at).take_while(|byte| is_sign(byte)).count();
            if at == url.len() {
                break;
            }
            at += url.iter().skip(at).take_while(|byte| !is_sign(byte)).count();
            at = url.len().min(at + 1);
            list.push(url.get(base..at).unwrap_or_default());
        }
    })
}

fn decode(call: &Call, is_form: bool) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    call.make_texts(|row, out| {
        let mut rest = texts.get(row);
        while let Some((byte, after)) = rest.split_first() {
            let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
            match (byte, digit(0), digit(1)) {
                (b'%', Some(high), Some(low)) => {
                    out.push((high << 4 | low) as u8);
                    rest = after.get(2..).unwrap_or_default();
                    continue;
                }
                (b'+', ..) if is_form => out.push(b' '),
                (other, ..) => out.push(*other),
            }
            rest = after;
        }
    })
}

fn encode(call: &Call, is_form: bool) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    call.make_texts(|row, out| {
        for byte in texts.get(row) {
            match byte {
                b'-' | b'_' | b'.' | b'~' => out.push(*byte),
                byte if byte.is_ascii_alphanumeric() => out.push(*byte),
                b' ' if is_form => out.push(b'+'),
                other => out.extend(format!("%{other:02X}").into_bytes()),
            }
        }
    })
}
