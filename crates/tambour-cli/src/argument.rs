//! Values of flags that are more than a word: sizes, codecs, delimiters.

use crate::exit::Failure;
use std::str::FromStr;
use tambour::Kind;
use tambour::codec::CodecError;
use tambour::codec::block::Encoder;
use tambour::codec::codec::Element;
use tambour::codec::spec::CodecSpec;

/// A number of bytes: `1GiB`, `512MB`, `64k`, `4096`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteSize(pub(crate) u64);

/// Units in lower case; a bare letter is the binary unit, as in most tools that take sizes.
const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1_000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = unit.trim().to_ascii_lowercase();
        let Some(&(_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(
                "a size is a number with a unit: B, KB, KiB, MB, MiB, GB, GiB, TB, TiB".to_owned()
            );
        };
        let size = match number.parse::<u64>() {
            Ok(whole) => whole.checked_mul(factor),
            Err(_) => fraction(number, factor),
        };
        match size {
            Some(0) => Err("a size of zero is of no use".to_owned()),
            Some(size) => Ok(Self(size)),
            None => Err("not a number of bytes that fits".to_owned()),
        }
    }
}

/// `1.5` times a unit; `None` if it is no number or too large.
fn fraction(number: &str, factor: u64) -> Option<u64> {
    let value = number.parse::<f64>().ok()? * factor as f64;
    #[expect(clippy::cast_possible_truncation, reason = "checked to be below 2^63")]
    (1.0..9.2e18).contains(&value).then_some(value as u64)
}

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
    fn sizes_with_every_unit() {
        let size = |text: &str| text.parse::<ByteSize>().map(|size| size.0);
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("1GiB"), Ok(1 << 30));
        assert_eq!(size("1 gib"), Ok(1 << 30));
        assert_eq!(size("512MB"), Ok(512_000_000));
        assert_eq!(size("1.5KiB"), Ok(1536));
        assert_eq!(size("64k"), Ok(65536));
    }

    #[test]
    fn sizes_that_are_none() {
        for text in [
            "",
            "GiB",
            "-1",
            "1XB",
            "0",
            "1e9",
            "99999999999999999999",
            "18446744073709551615KiB",
            "1.2.3",
        ] {
            assert!(text.parse::<ByteSize>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn delimiters() {
        assert_eq!(";".parse(), Ok(Delimiter(b';')));
        assert_eq!("tab".parse(), Ok(Delimiter(b'\t')));
        for text in ["", "ab", "\"", "\n", "\u{e4}"] {
            assert!(text.parse::<Delimiter>().is_err(), "{text:?}");
        }
    }
}
