//! Values of flags that are more than a word: codecs, delimiters, numbers of threads.

use crate::exit::Failure;
use std::str::FromStr;
use tambour::Kind;
use tambour::codec::CodecError;
use tambour::codec::block::Encoder;
use tambour::codec::codec::Element;
use tambour::codec::spec::CodecSpec;
pub(crate) use tambour_report::quantity::ByteSize;

/// `--codec`: of one column or of all, a chain or the choice left to tambour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodecChoice {
    /// The column; all others if `None`.
    pub(crate) column: Option<String>,
    /// The chain, or `auto`.
    pub(crate) codec: CodecSpec,
}

impl FromStr for CodecChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (column, chain) = match text.split_once('=') {
            Some((column, chain)) if !column.contains('(') => (Some(column.trim()), chain.trim()),
            _ => (None, text.trim()),
        };
        if column == Some("") {
            return Err("a column's name is missing before `=`".to_owned());
        }
        Ok(Self { column: column.map(str::to_owned), codec: self::codec(chain)? })
    }
}

/// A codec or chain that somebody may have.
pub(crate) fn codec(text: &str) -> Result<CodecSpec, String> {
    let spec = text.parse::<CodecSpec>().map_err(|error| error.to_string())?;
    check_names(&spec)?;
    Ok(spec)
}

/// A name that no codec has is a slip of the keys; a codec that does not suit a column or is not supported is found later.
fn check_names(spec: &CodecSpec) -> Result<(), String> {
    match Encoder::new(spec, Element::UNKNOWN) {
        Err(error @ CodecError::Spec { .. }) if error.kind() == Kind::Argument => {
            Err(error.to_string())
        }
        _ => Ok(()),
    }
}

/// `--portable`: yes or no.
pub(crate) fn portable(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("yes or no".to_owned()),
    }
}

/// Refuses codecs that ClickHouse does not read, unless that was allowed.
pub(crate) fn check_portable<'a>(
    is_wanted: bool,
    mut specs: impl Iterator<Item = &'a CodecSpec>,
) -> Result<(), Failure> {
    match specs.find(|spec| is_wanted && !spec.is_portable()) {
        None => Ok(()),
        Some(spec) => Err(not_portable(spec)),
    }
}

/// A codec was given that ClickHouse does not read.
pub(crate) fn not_portable(spec: &CodecSpec) -> Failure {
    Failure::Usage(format!(
        "CODEC({spec}) is Tambour's own, and ClickHouse does not read it; --portable=no allows that"
    ))
}

/// `--delimiter`: one ASCII character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delimiter(pub(crate) u8);

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.as_bytes()) {
            ("tab" | "\\t", _) => Ok(Self(b'\t')),
            (_, b"\n" | b"\r" | b"\"") => {
                Err("a line break or quote cannot separate fields".to_owned())
            }
            (_, &[byte]) if byte.is_ascii() => Ok(Self(byte)),
            _ => Err("one ASCII character, or `tab`".to_owned()),
        }
    }
}

/// A number of threads.
pub(crate) fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("at least one".to_owned()),
        Ok(count) if count <= 1024 => Ok(count),
        Ok(_) => Err("at most 1024".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters() {
        assert_eq!(";".parse(), Ok(Delimiter(b';')));
        assert_eq!("tab".parse(), Ok(Delimiter(b'\t')));
        for text in ["", "ab", "\"", "\n", "\u{e4}"] {
            assert!(text.parse::<Delimiter>().is_err(), "{text:?}");
        }
    }
}
