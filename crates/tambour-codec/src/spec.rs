//! `CODEC(Delta(4), ZSTD(3))`: parsing and printing.
//!
//! A specification says what a user wrote; whether the codecs can be built is for [`crate::block::Encoder::new`] to say.

use crate::CodecError;
use crate::codec::{Named, Scope, is_portable};

/// The name in `CODEC(auto)`.
pub const AUTO: &str = "auto";
/// Argument for ClickHouse versions that have no codecs but LZ4 and ZSTD.
pub const PLAIN: &str = "plain";
/// Argument for a choice among codecs of Tambour's own, too.
pub const OWN: &str = "own";

/// One codec call of a chain: a family's name and its arguments as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodecCall {
    /// Canonical name of the family (`LZ4`, `ZSTD`); as written when no such codec is known.
    pub name: String,
    /// Arguments, in order: numbers, words or quoted texts.
    pub arguments: Vec<String>,
}

impl CodecCall {
    fn bare(name: &str) -> Self {
        Self { name: name.to_owned(), arguments: Vec::new() }
    }

    /// Whether this leaves the chain to us: `auto`, whatever its arguments.
    pub fn is_auto(&self) -> bool {
        self.name.eq_ignore_ascii_case(AUTO)
    }

    /// Whether it is a choice that may take codecs of Tambour's own.
    fn takes_own(&self) -> bool {
        self.is_auto() && self.arguments.iter().any(|argument| argument.eq_ignore_ascii_case(OWN))
    }
}

/// A chain of codecs in the order of application. Parses and prints ClickHouse's syntax.
///
/// ```
/// use tambour_codec::spec::CodecSpec;
/// let spec: CodecSpec = "CODEC(Delta(4), zstd(3))".parse()?;
/// assert_eq!(spec.to_string(), "Delta(4), ZSTD(3)");
/// assert!("CODEC(Delta(4)".parse::<CodecSpec>().is_err());
/// # Ok::<(), tambour_codec::CodecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodecSpec {
    /// The calls in the order in which they are applied on writing; never empty.
    pub calls: Vec<CodecCall>,
}

impl CodecSpec {
    /// `LZ4`, the default of every column.
    pub fn lz4() -> Self {
        Self { calls: vec![CodecCall::bare("LZ4")] }
    }

    /// `auto`: the chain of each block is chosen.
    pub fn auto() -> Self {
        Self { calls: vec![CodecCall::bare(AUTO)] }
    }

    /// Whether this leaves the chain to us.
    ///
    /// ```
    /// use tambour_codec::spec::CodecSpec;
    /// assert!("auto(size)".parse::<CodecSpec>()?.is_auto());
    /// assert!(!CodecSpec::lz4().is_auto());
    /// # Ok::<(), tambour_codec::CodecError>(())
    /// ```
    pub fn is_auto(&self) -> bool {
        self.calls.iter().any(CodecCall::is_auto)
    }

    /// Whether ClickHouse reads the blocks.
    ///
    /// ```
    /// use tambour_codec::spec::CodecSpec;
    /// assert!("Delta, ZSTD".parse::<CodecSpec>()?.is_portable());
    /// assert!(!"Pco".parse::<CodecSpec>()?.is_portable());
    /// # Ok::<(), tambour_codec::CodecError>(())
    /// ```
    pub fn is_portable(&self) -> bool {
        self.calls.iter().all(|call| match Named::find(&call.name) {
            Some(Named::Family(family)) => is_portable(family.method),
            _ => !call.takes_own(),
        })
    }

    /// With a choice among codecs of Tambour's own, too, which ClickHouse does not read; other specifications as they are.
    ///
    /// ```
    /// use tambour_codec::spec::CodecSpec;
    /// let spec = "auto(size)".parse::<CodecSpec>()?.with_own();
    /// assert_eq!(spec.to_string(), "auto(size, own)");
    /// assert!(!spec.is_portable());
    /// # Ok::<(), tambour_codec::CodecError>(())
    /// ```
    #[must_use]
    pub fn with_own(mut self) -> Self {
        for call in self.calls.iter_mut().filter(|call| call.is_auto() && !call.takes_own()) {
            call.arguments.push(OWN.to_owned());
        }
        self
    }

    /// With a choice only among what every version of ClickHouse reads; other specifications as they are.
    #[must_use]
    pub fn plain(&self) -> Self {
        let mut spec = self.clone();
        for call in spec.calls.iter_mut().filter(|call| call.is_auto()) {
            call.arguments.push(PLAIN.to_owned());
        }
        spec
    }

    /// The nearest that a `CODEC(…)` in ClickHouse can say, which knows neither a choice nor our arguments; `None` leaves it
    /// to the server. It reads the blocks all the same.
    ///
    /// ```
    /// use tambour_codec::spec::CodecSpec;
    /// let spec: CodecSpec = "T64('padded'), LZ4".parse()?;
    /// assert_eq!(spec.in_clickhouse(), Some("T64, LZ4".parse()?));
    /// assert_eq!(CodecSpec::auto().in_clickhouse(), None);
    /// # Ok::<(), tambour_codec::CodecError>(())
    /// ```
    pub fn in_clickhouse(&self) -> Option<Self> {
        let mut spec = self.clone();
        for call in &mut spec.calls {
            match call.name.as_str() {
                "T64" => call.arguments.retain(|argument| argument != "'padded'"),
                "ALP" => call.arguments.retain(|argument| argument != "'wide'"),
                "ZSTD" => call.arguments.retain(|argument| !argument.starts_with('\'')),
                _ => {}
            }
        }
        (!self.is_auto() && self.is_portable()).then_some(spec)
    }

    /// Only the general-purpose members of the chain, as helper streams (null maps, sizes) use them; `NONE` if there are none.
    ///
    /// ```
    /// use tambour_codec::spec::CodecSpec;
    /// assert_eq!("Delta, LZ4".parse::<CodecSpec>()?.generic_only(), CodecSpec::lz4());
    /// assert_eq!("Delta".parse::<CodecSpec>()?.generic_only(), "NONE".parse()?);
    /// # Ok::<(), tambour_codec::CodecError>(())
    /// ```
    #[must_use]
    pub fn generic_only(&self) -> Self {
        let generic = |call: &&CodecCall| {
            call.is_auto()
                || Named::find(&call.name).is_some_and(|named| named.scope() == Scope::Generic)
        };
        let mut calls: Vec<_> = self.calls.iter().filter(generic).cloned().collect();
        if calls.is_empty() {
            calls.push(CodecCall::bare("NONE"));
        }
        Self { calls }
    }
}

impl std::str::FromStr for CodecSpec {
    type Err = CodecError;

    /// Accepts `LZ4`, `ZSTD(3)`, `Delta(4), LZ4` and the same inside `CODEC(…)`; names in any case.
    fn from_str(text: &str) -> Result<Self, CodecError> {
        let mut parser = Parser { rest: text };
        parser.spec().map_err(|reason| {
            // An argument may be a whole file; the message needs only its start.
            let spec = text.chars().take(SHOWN_CHARS_MAX).collect();
            CodecError::Spec { spec, reason: reason.to_owned() }
        })
    }
}

impl std::fmt::Display for CodecSpec {
    /// Prints without `CODEC(…)`: `Delta(4), ZSTD(3)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (k, call) in self.calls.iter().enumerate() {
            let comma = if k == 0 { "" } else { ", " };
            write!(f, "{comma}{call}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for CodecCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if !self.arguments.is_empty() {
            write!(f, "({})", self.arguments.join(", "))?;
        }
        Ok(())
    }
}

/// This much of a wrong specification is shown.
const SHOWN_CHARS_MAX: usize = 200;
/// Longest chain; ClickHouse stores the number of codecs in one byte.
const CALLS_MAX: usize = 255;

/// A parser by descent. Errors are what to tell the user.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// The whole text: calls, or `CODEC(` calls `)`.
    fn spec(&mut self) -> Result<CodecSpec, &'static str> {
        let start = self.rest;
        let wrapped =
            self.word().is_some_and(|word| word.eq_ignore_ascii_case("CODEC")) && self.take('(');
        if !wrapped {
            self.rest = start;
        }
        let calls = self.calls()?;
        if wrapped && !self.take(')') {
            return Err("a closing parenthesis is missing");
        }
        if self.rest.trim().is_empty() {
            Ok(CodecSpec { calls })
        } else {
            Err("text after the end")
        }
    }

    fn calls(&mut self) -> Result<Vec<CodecCall>, &'static str> {
        let mut calls = Vec::new();
        loop {
            calls.push(self.call()?);
            if !self.take(',') {
                return Ok(calls);
            }
            if calls.len() == CALLS_MAX {
                return Err("more than 255 codecs");
            }
        }
    }

    fn call(&mut self) -> Result<CodecCall, &'static str> {
        let written = self.word().ok_or("a codec name is missing")?;
        let name = Named::find(written).map_or(written, |named| named.name()).to_owned();
        let mut arguments = Vec::new();
        if self.take('(') && !self.take(')') {
            loop {
                arguments.push(self.argument()?);
                if self.take(')') {
                    break;
                }
                if !self.take(',') {
                    return Err("expected a comma or a closing parenthesis");
                }
            }
        }
        Ok(CodecCall { name, arguments })
    }

    /// A number, a quoted text or a word, kept as written.
    fn argument(&mut self) -> Result<String, &'static str> {
        self.rest = self.rest.trim_start();
        let length = if self.rest.starts_with('\'') {
            quoted_length(self.rest).ok_or("a quote is not closed")?
        } else if let Some(word) = self.word() {
            return Ok(word.to_owned());
        } else {
            self.rest.find(|c: char| !matches!(c, '0'..='9' | '.' | '-')).unwrap_or(self.rest.len())
        };
        let (argument, rest) = self.rest.split_at(length);
        self.rest = rest;
        if argument.is_empty() {
            return Err("an argument is a number, a word or a quoted text");
        }
        Ok(argument.to_owned())
    }

    /// A name: letters, digits and underscores, not a digit first.
    fn word(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.rest = rest;
        Some(word)
    }

    fn take(&mut self, wanted: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

/// Length of the quoted text at the start, both quotes included; a backslash takes the next character with it.
fn quoted_length(text: &str) -> Option<usize> {
    let mut escaped = false;
    let close = text.char_indices().skip(1).find(|&(_, c)| {
        let closes = c == '\'' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    });
    close.map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::CodecSpec;
    use crate::{CodecError, Kind};

    fn parse(text: &str) -> Result<CodecSpec, CodecError> {
        text.parse()
    }

    #[test]
    fn accepts_what_clickhouse_accepts() {
        for (text, printed) in [
            ("LZ4", "LZ4"),
            ("CODEC(LZ4)", "LZ4"),
            ("codec ( delta ( 4 ) , zstd(3) ) ", "Delta(4), ZSTD(3)"),
            ("Delta(4),LZ4", "Delta(4), LZ4"),
            ("T64('bit'), ZSTD", "T64('bit'), ZSTD"),
            ("ZSTD()", "ZSTD"),
            ("doubledelta, lz4hc(9)", "DoubleDelta, LZ4HC(9)"),
            ("ZSTD_QAT(1)", "ZSTD_QAT(1)"),
            ("Novel(1, 'it\\'s')", "Novel(1, 'it\\'s')"),
            ("ALP(STD)", "ALP(STD)"),
            ("codec", "codec"),
        ] {
            let spec = parse(text).unwrap();
            assert_eq!(spec.to_string(), printed, "{text}");
            assert_eq!(parse(printed).unwrap(), spec, "{text}");
        }
    }

    #[test]
    fn refuses_the_rest() {
        for text in [
            "",
            " ",
            "(",
            "CODEC()",
            "CODEC(LZ4",
            "CODEC(LZ4))",
            "LZ4,",
            ",LZ4",
            "LZ4 ZSTD",
            "ZSTD(",
            "ZSTD(3",
            "ZSTD(3,)",
            "ZSTD(,3)",
            "4",
            "T64('bit)",
            "T64(bit')",
            "Zstd((3))",
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.kind(), Kind::Argument, "{text}");
        }
    }

    #[test]
    fn clickhouse_is_told_what_it_knows() {
        let told = |text: &str| parse(text).unwrap().in_clickhouse().map(|spec| spec.to_string());
        assert_eq!(told("auto(size)"), None);
        assert_eq!(told("T64('padded'), ZSTD(1, 'minmatch=7')").as_deref(), Some("T64, ZSTD(1)"));
        assert_eq!(told("T64('bit'), ZSTD(3, 20)").as_deref(), Some("T64('bit'), ZSTD(3, 20)"));
        assert_eq!(parse("auto(size)").unwrap().plain().to_string(), "auto(size, plain)");
        assert_eq!(parse("LZ4").unwrap().plain().to_string(), "LZ4");
    }

    #[test]
    fn helper_streams_keep_the_generic_members() {
        let generic = |text: &str| parse(text).unwrap().generic_only().to_string();
        assert_eq!(generic("Delta(4), LZ4"), "LZ4");
        assert_eq!(generic("Delta(4)"), "NONE");
        assert_eq!(generic("Delta(4), LZ4HC(9), ZSTD(3)"), "LZ4HC(9), ZSTD(3)");
        assert_eq!(generic("auto(speed)"), "auto(speed)");
        assert_eq!(generic("Novel"), "NONE");
    }
}
