//! The arguments of an index of the kind `text`: `text(tokenizer = ngrams(3), preprocessor = lower(s))`.

use super::Shape;
use super::token::Tokenizer;

/// Characters of an n-gram if none are given, and the most.
const GRAM_DEFAULT: usize = 3;
const GRAM_MAX: usize = 64;
/// What texts are split at if nothing is given.
const SEPARATOR_DEFAULT: &[u8] = b" ";
/// Arguments that change how files are written; what they are read as is in the files.
const OF_WRITERS: [&str; 5] = [
    "dictionary_block_size",
    "dictionary_block_frontcoding_compression",
    "posting_list_block_size",
    "posting_list_codec",
    "support_phrase_search",
];

/// Of an index over `column`; `None` if anything is not understood.
pub(super) fn shape(kind_full: &str, column: &str) -> Option<Shape> {
    let (mut tokenizer, mut is_lower) = (None, false);
    for argument in split(inside(kind_full, "text", '(', ')')?)? {
        let (name, value) = argument.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        match name {
            "tokenizer" => tokenizer = Some(tokenizer_of(value)?),
            "preprocessor" => {
                let of = inside(value, "lower", '(', ')')?.trim();
                let of = of.strip_prefix('`').and_then(|it| it.strip_suffix('`')).unwrap_or(of);
                is_lower = of == column;
                if !is_lower {
                    return None;
                }
            }
            _ if OF_WRITERS.contains(&name) => {}
            _ => return None,
        }
    }
    Some(Shape { tokenizer: tokenizer?, is_lower })
}

fn tokenizer_of(value: &str) -> Option<Tokenizer> {
    let quoted = value.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
    let value = quoted.unwrap_or(value);
    let name = value.split('(').next()?.trim();
    let arguments =
        if value.contains('(') { split(inside(value, name, '(', ')')?)? } else { Vec::new() };
    match (name, arguments.as_slice()) {
        ("splitByNonAlpha" | "tokenbf_v1", []) => Some(Tokenizer::Words),
        ("ngrams" | "ngrambf_v1", []) => Some(Tokenizer::Grams(GRAM_DEFAULT)),
        ("ngrams" | "ngrambf_v1", [length]) => {
            let length = length.parse().ok().filter(|it| (1..=GRAM_MAX).contains(it))?;
            Some(Tokenizer::Grams(length))
        }
        ("array", []) => Some(Tokenizer::Whole),
        ("splitByString", []) => Some(Tokenizer::Separators(vec![SEPARATOR_DEFAULT.to_vec()])),
        ("splitByString", [list]) => {
            let listed = split(inside(list, "", '[', ']')?)?;
            let separators: Option<Vec<_>> = listed.into_iter().map(literal).collect();
            let separators =
                separators.filter(|it| !it.is_empty() && it.iter().all(|it| !it.is_empty()))?;
            Some(Tokenizer::Separators(separators))
        }
        _ => None,
    }
}

/// What stands between the brackets after a name.
fn inside<'a>(text: &'a str, name: &str, open: char, close: char) -> Option<&'a str> {
    let rest = text.trim().strip_prefix(name)?.trim_start();
    rest.strip_prefix(open)?.strip_suffix(close)
}

/// Cuts at the commas outside of brackets and quotes; `None` if these do not fit.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut pieces, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut quote, mut is_escaped) = (None, false);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '`' | '"') => quote = Some(character),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.checked_sub(1)?,
            (None, ',') if depth == 0 => {
                pieces.push(text[start..at].trim());
                start = at + 1;
            }
            (None, _) => {}
        }
    }
    pieces.push(text[start..].trim());
    if pieces == [""] {
        pieces.clear();
    }
    (depth == 0 && quote.is_none() && !pieces.contains(&"")).then_some(pieces)
}

/// The bytes of a string literal; `None` for escapes that are rare.
fn literal(text: &str) -> Option<Vec<u8>> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let (mut bytes, mut rest) = (Vec::new(), inner.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\'' => return None,
            b'\\' => match rest.next()? {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'0' => 0,
                other @ (b'\\' | b'\'') => other,
                _ => return None,
            },
            other => other,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let of = |text: &str| shape(text, "s").map(|it| (it.tokenizer, it.is_lower));
        assert_eq!(of("text(tokenizer = splitByNonAlpha)"), Some((Tokenizer::Words, false)));
        assert_eq!(of("text(tokenizer = 'ngrams')"), Some((Tokenizer::Grams(3), false)));
        assert_eq!(
            of(
                "text(tokenizer = ngrams(5), preprocessor = lower(`s`), posting_list_codec = 'bitpacking')"
            ),
            Some((Tokenizer::Grams(5), true))
        );
        let separators = Tokenizer::Separators(vec![b", ".to_vec(), b"\\".to_vec(), b"'".to_vec()]);
        let text = r"text(tokenizer = splitByString([', ', '\\', '\'']))";
        assert_eq!(of(text), Some((separators, false)));
        let space = Tokenizer::Separators(vec![b" ".to_vec()]);
        assert_eq!(of("text(tokenizer = splitByString())"), Some((space, false)));
        assert_eq!(of("text(tokenizer=array())"), Some((Tokenizer::Whole, false)));
        for other in [
            "text",
            "text()",
            "text(tokenizer = sparseGrams(3, 5))",
            "text(tokenizer = array, preprocessor = lower(t))",
            "text(tokenizer = array, preprocessor = upper(s))",
            "text(tokenizer = array, postprocessor = lower(s))",
            "text(tokenizer = ngrams(0))",
            "text(tokenizer = ngrams(3, 4))",
            "text(tokenizer = splitByString(['']))",
            "text(tokenizer = splitByString(['a))",
            "text(tokenizer = array, )",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
