//! The registry of codec families.
//!
//! Adding a codec is one file here with a [`Family`], and its two lines below: the module and the entry in [`FAMILIES`].
//! Everything else (blocks, specifications, tests, listings) walks the registry. A second name for a method byte stands in
//! [`ALIASES`] instead.

use crate::CodecError;

mod alp;
mod counted;
mod delta;
mod double_delta;
mod explain;
mod fpc;
mod fsst;
mod gcd;
mod gorilla;
mod lz4;
mod lz4hc;
mod multiple;
mod none;
mod offsets;
mod pco;
mod pfor;
mod stream_vbyte;
mod t64;
mod width;
mod zstd;
/// Every family that this version encodes and decodes: those for any bytes, then those for values.
pub const FAMILIES: &[&Family] = &[
    &lz4::FAMILY,
    &none::FAMILY,
    &zstd::FAMILY,
    &alp::FAMILY,
    &delta::FAMILY,
    &double_delta::FAMILY,
    &fpc::FAMILY,
    &fsst::FAMILY,
    &gcd::FAMILY,
    &gorilla::FAMILY,
    &multiple::FAMILY,
    &pco::FAMILY,
    &pfor::FAMILY,
    &stream_vbyte::FAMILY,
    &t64::FAMILY,
];
pub use explain::{Explain, Fact, Inside, Payload, Values};
pub(crate) use multiple::{Budget, Chain, Inner, check_chain, split};
pub(crate) use zstd::Frames;

/// Method bytes of codecs that only we have; ClickHouse does not read their blocks.
const OURS: std::ops::RangeInclusive<u8> = 0xe0..=0xef;

/// Whether ClickHouse reads blocks of this method.
pub fn is_portable(method: u8) -> bool {
    !OURS.contains(&method)
}

/// Families that write under the method byte of one of [`FAMILIES`], which decodes their blocks.
pub const ALIASES: &[&Family] = &[&lz4hc::FAMILY];

/// A codec before its arguments: what the registry knows of it.
#[derive(Debug)]
pub struct Family {
    /// Name in ClickHouse's `CODEC(…)`.
    pub name: &'static str,
    /// The byte that names it in a block.
    pub method: u8,
    /// What it works on.
    pub scope: Scope,
    /// This many bytes of output, at most, come from one byte of payload: a header that claims more is refused before
    /// anything is allocated.
    pub expansion_max: u64,
    /// Makes a codec, if it suits the elements. Without arguments and for [`Element::UNKNOWN`] it can decode whatever the
    /// family wrote.
    pub build: Build,
    /// Tells what is in a payload of this family, without decoding it.
    pub explain: Explain,
}

/// Makes a codec from its arguments as written, for a stream of such elements.
pub type Build = fn(&[String], Element) -> Result<Box<dyn Codec>, CodecError>;

/// What a codec works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Any bytes: helper streams (null maps, sizes) use such codecs, too.
    Generic,
    /// Values of the column's type.
    Values,
}

/// A reversible transform of a block's bytes. Keeps contexts and scratch memory between calls.
pub trait Codec: Send + std::fmt::Debug {
    /// Appends the payload for `source` to `target`.
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Decodes a payload into exactly `target.len()` bytes, which the caller has checked against the limits. On an error
    /// the target holds unspecified bytes.
    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError>;
}

/// All that a codec learns of the column whose bytes it encodes.
///
/// ```
/// use tambour_codec::codec::{Class, Element};
/// let price = Element { width: 8, class: Class::Float };
/// assert_eq!(price.to_string(), "floats of 8 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Width of one value in bytes; 1 for strings and other byte streams.
    pub width: u8,
    /// What the bytes of a value mean.
    pub class: Class,
}

/// What the bytes of a value mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// No numbers: strings, raw bytes.
    Bytes,
    /// Unsigned integers.
    Unsigned,
    /// Signed integers, two's complement.
    Signed,
    /// IEEE floats.
    Float,
    /// Not known: who decodes finds all that in the payload.
    Unknown,
}

impl Class {
    /// What several values of the class are called.
    fn plural(self) -> &'static str {
        match self {
            Self::Bytes => "text or bytes",
            Self::Unsigned => "unsigned integers",
            Self::Signed => "signed integers",
            Self::Float => "floats",
            Self::Unknown => "values",
        }
    }
}

impl Element {
    /// A stream of bytes that are not numbers.
    pub const BYTES: Self = Self { width: 1, class: Class::Bytes };
    /// A stream of which nothing is known. Codecs are built for it to decode, and to find out whether a specification is
    /// good for any column at all.
    pub const UNKNOWN: Self = Self { width: 1, class: Class::Unknown };
}

impl std::fmt::Display for Element {
    /// `floats of 8 bytes`, `text or bytes`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.class {
            Class::Bytes if self.width == 1 => f.write_str(self.class.plural()),
            Class::Bytes => write!(f, "bytes, {} at a time", self.width),
            class => write!(f, "{} of {} bytes", class.plural(), self.width),
        }
    }
}

/// A codec of ClickHouse that this version does not have.
struct Foreign {
    name: &'static str,
    /// The byte that names it in a block; families may share one.
    method: u8,
    scope: Scope,
}

const fn foreign(name: &'static str, method: u8, scope: Scope) -> Foreign {
    Foreign { name, method, scope }
}

/// What ClickHouse knows and this version does not. A codec that arrives leaves this list.
const FOREIGN: &[Foreign] = &[
    foreign("AES_128_GCM_SIV", 0x96, Scope::Values),
    foreign("AES_256_GCM_SIV", 0x97, Scope::Values),
    foreign("DEFLATE_QPL", 0x99, Scope::Generic),
    foreign("ZSTD_QAT", 0x9b, Scope::Generic),
    foreign("Quantized", 0x9e, Scope::Values),
    foreign("ZXC", 0x9f, Scope::Generic),
];

const _: () = assert!(methods_are_distinct(), "two codecs share a method byte");
const _: () = assert!(aliases_are_read(), "nothing decodes what an alias writes");

const fn aliases_are_read() -> bool {
    let mut k = 0;
    while k < ALIASES.len() {
        let mut reader = 0;
        while reader < FAMILIES.len() && FAMILIES[reader].method != ALIASES[k].method {
            reader += 1;
        }
        if reader == FAMILIES.len() {
            return false;
        }
        k += 1;
    }
    true
}

const fn methods_are_distinct() -> bool {
    let mut seen = [false; 256];
    let mut k = 0;
    while k < FAMILIES.len() + FOREIGN.len() {
        let method = if k < FAMILIES.len() {
            FAMILIES[k].method
        } else {
            FOREIGN[k - FAMILIES.len()].method
        };
        if seen[method as usize] {
            return false;
        }
        seen[method as usize] = true;
        k += 1;
    }
    true
}

/// One decoder per family, made on its first use and kept.
#[derive(Debug, Default)]
pub(crate) struct Decoders([Option<Box<dyn Codec>>; FAMILIES.len()]);

impl Decoders {
    /// The decoder for a method byte.
    pub(crate) fn get(&mut self, method: u8) -> Result<&mut dyn Codec, CodecError> {
        let family = family(method)?;
        let mut slots = FAMILIES.iter().zip(&mut self.0);
        match slots.find(|(entry, _)| entry.method == method) {
            Some((_, Some(codec))) => Ok(codec.as_mut()),
            Some((_, slot)) => Ok(slot.insert((family.build)(&[], Element::UNKNOWN)?).as_mut()),
            None => Err(CodecError::UnsupportedMethod { method, name: family.name }),
        }
    }
}

/// The family of a method byte.
///
/// ```
/// use tambour_codec::codec::family;
/// assert_eq!(family(0x82)?.name, "LZ4");
/// assert!(family(0x00).is_err());
/// # Ok::<(), tambour_codec::CodecError>(())
/// ```
pub fn family(method: u8) -> Result<&'static Family, CodecError> {
    let known = FAMILIES.iter().copied().find(|family| family.method == method);
    known.ok_or(CodecError::UnsupportedMethod { method, name: method_name(method) })
}

/// ClickHouse's name for a method byte, `unknown` if it has none.
///
/// ```
/// use tambour_codec::codec::method_name;
/// assert_eq!((method_name(0x90), method_name(0xff)), ("ZSTD", "unknown"));
/// ```
pub fn method_name(method: u8) -> &'static str {
    let ours = FAMILIES.iter().map(|family| (family.method, family.name));
    let theirs = FOREIGN.iter().map(|foreign| (foreign.method, foreign.name));
    ours.chain(theirs).find(|entry| entry.0 == method).map_or("unknown", |entry| entry.1)
}

/// The codec with this name.
pub(crate) enum Named {
    /// One of [`FAMILIES`] or [`ALIASES`].
    Family(&'static Family),
    /// A codec of ClickHouse that this version does not have.
    Foreign(&'static str, Scope),
}

impl Named {
    /// Looks a name up, in any case.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let mut families = FAMILIES.iter().chain(ALIASES);
        if let Some(family) = families.find(|family| family.name.eq_ignore_ascii_case(name)) {
            return Some(Self::Family(family));
        }
        let found = FOREIGN.iter().find(|foreign| foreign.name.eq_ignore_ascii_case(name))?;
        Some(Self::Foreign(found.name, found.scope))
    }

    /// The name as ClickHouse writes it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Family(family) => family.name,
            Self::Foreign(name, _) => name,
        }
    }

    /// What the codec works on.
    pub(crate) fn scope(&self) -> Scope {
        match self {
            Self::Family(family) => family.scope,
            Self::Foreign(_, scope) => *scope,
        }
    }
}

/// An error about the arguments of a codec.
pub(crate) fn argument_error(name: &str, arguments: &[String], reason: &str) -> CodecError {
    let spec = format!("{name}({})", arguments.join(", "));
    CodecError::Spec { spec, reason: reason.to_owned() }
}

/// Refuses arguments.
pub(crate) fn no_arguments(name: &str, arguments: &[String]) -> Result<(), CodecError> {
    if arguments.is_empty() {
        Ok(())
    } else {
        Err(argument_error(name, arguments, "takes no arguments"))
    }
}
