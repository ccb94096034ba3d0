//! `Multiple`, method 0x91: a chain of codecs.
//!
//! `[n]`, the method bytes of n codecs in the order in which they were applied, then what the last of them made. Each codec
//! but the first was given a block without checksum: method, compressed size and uncompressed size of the one before it,
//! and its payload. No chain stands inside of a chain.

use super::{Codec, Decoders, Family, Scope, argument_error, family};
use crate::CodecError;
use crate::block::{HEADER_BYTES, SIZE_MAX};

pub(super) const FAMILY: Family = Family {
    name: "Multiple",
    method: Chain::METHOD,
    scope: Scope::Values,
    // Any, by itself: what its members can be is for `check_chain`.
    expansion_max: u64::MAX,
    build: |arguments, _| {
        if arguments.is_empty() {
            Ok(Box::new(Chain::new(Vec::new())))
        } else {
            Err(argument_error("Multiple", arguments, "a chain is written as its codecs"))
        }
    },
    // Its codecs are explained one by one.
    explain: |_, _| Ok(()),
};

/// All that stands between the codecs of a chain may be this many times as large as its block ...
const BETWEEN_FACTOR: u64 = 16;
/// ... and this many bytes more. Who wrote the block had no reason for more; whoever made it up wants us to work for nothing.
const BETWEEN_BYTES: u64 = 64 << 20;

/// Bytes that may stand between the codecs of a chain.
#[derive(Debug)]
pub(crate) struct Budget {
    max: u64,
    left: u64,
}

impl Budget {
    /// That of a block of this many bytes.
    pub(crate) fn new(content_bytes: usize) -> Self {
        let max = BETWEEN_BYTES + BETWEEN_FACTOR * content_bytes as u64;
        Self { max, left: max }
    }

    /// Takes the bytes that one codec makes for the next, before they are allocated.
    pub(crate) fn take(&mut self, size: u32) -> Result<(), CodecError> {
        let Self { max, left } = *self;
        let (what, got) = ("blocks between codecs", max - left + u64::from(size));
        self.left = left.checked_sub(size.into()).ok_or(CodecError::Limit { what, got, max })?;
        Ok(())
    }
}

/// A chain as one codec. Without members it only decodes.
#[derive(Debug)]
pub(crate) struct Chain {
    /// Method bytes and codecs, in the order of application.
    members: Vec<(u8, Box<dyn Codec>)>,
    decoders: Box<Decoders>,
    /// What one codec made and what the next makes of it.
    between: [Vec<u8>; 2],
}

impl Chain {
    /// The method byte.
    pub(crate) const METHOD: u8 = 0x91;

    /// A chain of codecs in the order of application, each with its method byte.
    pub(crate) fn new(members: Vec<(u8, Box<dyn Codec>)>) -> Self {
        Self { members, decoders: Box::default(), between: Default::default() }
    }
}

fn malformed(at: usize, reason: &'static str) -> CodecError {
    CodecError::Payload { codec: "Multiple", at, reason }
}

impl Codec for Chain {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let Self { members, between: [current, next], .. } = self;
        let limit = |got: usize| CodecError::Limit {
            what: "block between codecs",
            got: got as u64,
            max: u64::from(SIZE_MAX),
        };
        let count = u8::try_from(members.len()).map_err(|_| limit(members.len()))?;
        target.push(count);
        target.extend(members.iter().map(|member| member.0));
        current.clear();
        let mut source = source;
        for (method, codec) in members {
            next.clear();
            next.extend([0; HEADER_BYTES]);
            codec.encode(source, next)?;
            let sizes = [next.len(), source.len()].map(|size| {
                u32::try_from(size).ok().filter(|&size| size <= SIZE_MAX).ok_or(limit(size))
            });
            let [compressed_size, uncompressed_size] = sizes;
            next[0] = *method;
            next[1..5].copy_from_slice(&compressed_size?.to_le_bytes());
            next[5..9].copy_from_slice(&uncompressed_size?.to_le_bytes());
            std::mem::swap(current, next);
            source = current;
        }
        target.extend_from_slice(current);
        Ok(())
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        let (methods, body) = split(source)?;
        let at = 1 + methods.len();
        let Self { decoders, between: [current, next], .. } = self;
        let mut budget = Budget::new(target.len());
        let mut steps = methods.iter().rev();
        let last = steps.next_back();
        let mut body = body;
        for &method in steps {
            let inner = Inner::parse(method, body, at)?;
            budget.take(inner.uncompressed_size)?;
            next.clear();
            next.resize(inner.uncompressed_size as usize, 0);
            decoders.get(method)?.decode(inner.payload, next)?;
            std::mem::swap(current, next);
            body = current;
        }
        let Some(&method) = last else { return Err(malformed(0, "a chain of no codecs")) };
        let inner = Inner::parse(method, body, at)?;
        if inner.uncompressed_size as usize != target.len() {
            return Err(malformed(at, "an inner size that is not the block's"));
        }
        decoders.get(method)?.decode(inner.payload, target)
    }
}

/// The method bytes of a chain and what follows them.
pub(crate) fn split(payload: &[u8]) -> Result<(&[u8], &[u8]), CodecError> {
    let Some((&count, rest)) = payload.split_first() else {
        return Err(malformed(0, "the number of codecs is missing"));
    };
    let Some((methods, body)) = rest.split_at_checked(count.into()) else {
        return Err(malformed(0, "more codecs than bytes"));
    };
    if methods.is_empty() {
        return Err(malformed(0, "a chain of no codecs"));
    }
    if let Some(index) = methods.iter().position(|&method| method == Chain::METHOD) {
        return Err(malformed(1 + index, "a chain inside of a chain"));
    }
    Ok((methods, body))
}

/// A block without checksum.
pub(crate) struct Inner<'a> {
    pub(crate) uncompressed_size: u32,
    pub(crate) payload: &'a [u8],
}

impl<'a> Inner<'a> {
    /// Parses what has to be one whole block of a method; `at` is the position of the last one in the payload, which stands
    /// for those inside of it, too.
    pub(crate) fn parse(method: u8, body: &'a [u8], at: usize) -> Result<Self, CodecError> {
        let Some((&[got, c0, c1, c2, c3, u0, u1, u2, u3], payload)) =
            body.split_first_chunk::<HEADER_BYTES>()
        else {
            return Err(malformed(at, "an inner header cut short"));
        };
        if got != method {
            return Err(malformed(at, "another method in an inner header than in the list"));
        }
        if u32::from_le_bytes([c0, c1, c2, c3]) as usize != body.len() {
            return Err(malformed(at, "an inner compressed size that differs from the data"));
        }
        let uncompressed_size = u32::from_le_bytes([u0, u1, u2, u3]);
        let possible = (payload.len() as u64).saturating_mul(family(method)?.expansion_max);
        let max = possible.min(SIZE_MAX.into());
        if u64::from(uncompressed_size) > max {
            let (field, got) = ("inner uncompressed size", uncompressed_size.into());
            return Err(CodecError::Size { field, got, min: 0, max });
        }
        Ok(Self { uncompressed_size, payload })
    }
}

/// Checks the uncompressed size of a block against what its chain can at most make of the innermost size that shows, so
/// that nobody allocates more. Does nothing for blocks of one codec, and for chains with codecs that are not known, which
/// cannot be decoded.
pub(crate) fn check_chain(
    method: u8,
    uncompressed_size: u32,
    payload: &[u8],
) -> Result<(), CodecError> {
    if method != Chain::METHOD {
        return Ok(());
    }
    let (methods, body) = split(payload)?;
    let Some((&last, before)) = methods.split_last() else { return Ok(()) };
    let mut max = match Inner::parse(last, body, 1 + methods.len()) {
        Ok(inner) => u64::from(inner.uncompressed_size),
        Err(CodecError::UnsupportedMethod { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    for &method in before {
        let Ok(family) = family(method) else { return Ok(()) };
        max = max.saturating_mul(family.expansion_max);
    }
    let got = u64::from(uncompressed_size);
    if got <= max {
        Ok(())
    } else {
        Err(CodecError::Size { field: "uncompressed size", got, min: 0, max })
    }
}

#[cfg(test)]
mod tests {
    use super::{BETWEEN_BYTES, BETWEEN_FACTOR, Budget};

    /// The message tells what all codecs together wanted, not the last one alone.
    #[test]
    fn a_budget_is_for_all_codecs_together() {
        let mut budget = Budget::new(100);
        let max = BETWEEN_BYTES + 100 * BETWEEN_FACTOR;
        budget.take(u32::try_from(max - 10).unwrap()).unwrap();
        budget.take(10).unwrap();
        budget.take(0).unwrap();
        let error = budget.take(7).unwrap_err().to_string();
        assert!(error.contains(&(max + 7).to_string()), "{error}");
        assert!(error.contains(&max.to_string()), "{error}");
    }
}
