//! Parts of URLs as ClickHouse finds them: byte by byte, without a check that they are URLs.

use arrow_array::ArrayRef;
use arrow_array::types::UInt16Type;
use memchr::memchr;
use tambour_function::kit::{Call, array_of, rule};
use tambour_function::{Function, FunctionError};
use tambour_part::types::DataType;
use tambour_value::url::{
    before, cut_parameter, domain, fragment, parameter, parameters, path, path_full, port_of,
    protocol, query, query_and_fragment, top_level, without_www,
};

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
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

fn port(call: &Call) -> Result<ArrayRef, FunctionError> {
    let urls = call.texts(0)?;
    let default = call.optional_integers(1)?.map_or(0, |defaults| defaults.get(0)) as u16;
    call.make_numbers::<UInt16Type>(|row| port_of(urls.get(row)).unwrap_or(default))
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
                // The two bytes after are not looked at again.
                (b'%', ..) if after.len() > 1 => {
                    let (escape, others) = rest.split_at(3);
                    out.extend_from_slice(escape);
                    rest = others;
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
