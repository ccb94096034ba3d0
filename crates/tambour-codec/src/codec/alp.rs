//! `ALP`, method 0x9c: floats that are decimals, as packed integers.
//!
//! `[1][width]`, u16 1024, then vectors of 1024 values; see `docs/format/codecs.md`. The RD scheme, for floats that are not
//! decimals, is marked in the first byte; it is not read here, and not written: such vectors are stored as they are.
//! `ALP('wide')` is ours, for chains that go on: see [`wide`].

mod wide;

use super::fpc::float_width;
use super::width::element_width;
use super::{Class, Codec, Fact, Family, Inside, Payload, Scope, Values, argument_error};
use crate::{CodecError, kernels};
use tambour_kernel::column::alp::{self, Decimal, Encoded, Integers, POWER_MAX, Packed, VECTOR};
use tambour_kernel::column::fpc::FloatWidth;
use tambour_kernel::variant::Runnable;

pub(super) const FAMILY: Family = Family {
    name: "ALP",
    method: 0x9c,
    scope: Scope::Values,
    // A vector of equal doubles takes 13 bytes.
    expansion_max: 1024,
    build: |arguments, element| {
        let is_wide = match arguments {
            [] => false,
            [variant] if ["AUTO", "STD"].iter().any(|v| variant.eq_ignore_ascii_case(v)) => false,
            // Ours: ClickHouse reads the blocks and does not know the word.
            [variant] if variant == WIDE => true,
            [variant] if variant.eq_ignore_ascii_case("RD") => return Err(rd()),
            _ => {
                let reason = "the variant is AUTO, STD, RD or 'wide'";
                return Err(argument_error("ALP", arguments, reason));
            }
        };
        let width = element_width("ALP", arguments, element, &[Class::Float], &[8, 4])?;
        let refused = || argument_error("ALP", arguments, "the width is 4 or 8");
        let width = float_width(width).ok_or_else(refused)?;
        Ok(Box::new(Alp { width, is_wide, vector: None }))
    },
    explain,
};

const VERSION: u8 = 1;
const VERSION_MASK: u8 = 0x0f;
/// The bit that says RD.
const RD_FLAG: u8 = 0x10;
/// First byte, width, values per vector.
const HEADER_BYTES: usize = 4;
/// Values per vector, as in the header.
const VALUES: u16 = 1024;
/// Instead of an exponent: the values follow as they are.
const RAW: u8 = 0xff;
/// Exponent, factor, u16 exceptions, bits, i64 base.
const VECTOR_HEADER_BYTES: usize = 13;
/// Values of a vector by which pairs of powers are compared.
const SAMPLE: usize = 32;
/// The argument that asks for integers in whole words.
pub(crate) const WIDE: &str = "'wide'";

#[derive(Debug)]
struct Alp {
    width: FloatWidth,
    /// Whether integers take whole words.
    is_wide: bool,
    /// Made on the first encoding.
    vector: Option<Box<Vector>>,
}

#[derive(Debug)]
struct Vector {
    integers: Integers,
    exceptions: [u16; VECTOR],
    /// The pair of powers that was found last, and what a sample cost then: most columns need one pair.
    found: Option<(usize, Decimal)>,
}

impl Default for Vector {
    fn default() -> Self {
        Self { integers: [0; VECTOR], exceptions: [0; VECTOR], found: None }
    }
}

/// The width of values, and the kernels that encode them.
#[derive(Clone, Copy, Debug)]
struct How {
    width: FloatWidth,
    encode: Runnable<alp::Encode>,
    pack: Runnable<alp::Pack>,
}

/// Bytes of a vector after its header.
fn vector_bytes(width: FloatWidth, encoded: Encoded) -> usize {
    alp::packed_bytes(encoded.bits) + encoded.exceptions * (2 + width.bytes())
}

impl Vector {
    fn encode(&mut self, how: How, decimal: Decimal, source: &[u8]) -> Encoded {
        let How { width, encode, .. } = how;
        encode.encode(width, decimal, source, &mut self.integers, &mut self.exceptions)
    }

    /// The pair of powers with the smallest estimate on a sample of `values`, in which a bit of the range counts `bit`
    /// eighths for each of them.
    fn choose(&mut self, how: How, source: &[u8], values: usize, bit: usize) -> Decimal {
        let How { width, .. } = how;
        let count = source.len() / width.bytes();
        let mut sample = Vec::with_capacity(values * width.bytes());
        for k in 0..count.min(values) {
            let at = k * count / count.min(values) * width.bytes();
            sample.extend(&source[at..at + width.bytes()]);
        }
        let taken = sample.len() / width.bytes();
        // A bit of a packed value counts for the values of the sample, too.
        let cost = |encoded: Encoded| {
            encoded.bits as usize * taken * bit + encoded.exceptions * 64 * (2 + width.bytes())
        };
        if let Some((known, decimal)) = self.found
            && cost(self.encode(how, decimal, &sample)) <= known + taken * bit
        {
            return decimal;
        }
        // Single precision has no more digits.
        let exponent_max = if width == FloatWidth::F4 { 10 } else { POWER_MAX };
        let pairs = (0..=exponent_max)
            .flat_map(|exponent| (0..=exponent).map(move |factor| Decimal { exponent, factor }));
        // The first of equals: the smallest powers.
        let best = pairs.map(|decimal| (cost(self.encode(how, decimal, &sample)), decimal));
        let best = best.min_by_key(|(cost, _)| *cost);
        self.found = best;
        best.map_or(Decimal { exponent: 0, factor: 0 }, |best| best.1)
    }

    /// Appends a vector.
    fn write(&mut self, how: How, source: &[u8], target: &mut Vec<u8>) {
        let How { width, .. } = how;
        let decimal = self.choose(how, source, SAMPLE, 8);
        let encoded = self.encode(how, decimal, source);
        if VECTOR_HEADER_BYTES + vector_bytes(width, encoded) > source.len() {
            target.push(RAW);
            target.extend(source);
            return;
        }
        put(how, decimal, encoded, &self.integers, target);
        put_exceptions(width, &self.exceptions[..encoded.exceptions], source, target);
    }
}

/// Appends the header of a vector and its packed integers.
fn put(how: How, decimal: Decimal, encoded: Encoded, integers: &Integers, target: &mut Vec<u8>) {
    let Encoded { base, bits, exceptions } = encoded;
    target.extend([decimal.exponent, decimal.factor]);
    let count = u16::try_from(exceptions).expect("a vector has 1024 values");
    target.extend(count.to_le_bytes());
    target.push(u8::try_from(bits).expect("an integer has 64 bits"));
    target.extend(base.to_le_bytes());
    let start = target.len();
    target.resize(start + alp::packed_bytes(bits), 0);
    how.pack.pack(bits, base, integers, &mut target[start..]);
}

/// Appends the exceptions of a vector, whose values `source` has.
fn put_exceptions(width: FloatWidth, indices: &[u16], source: &[u8], target: &mut Vec<u8>) {
    for &index in indices {
        target.extend(index.to_le_bytes());
        let at = usize::from(index) * width.bytes();
        target.extend(&source[at..at + width.bytes()]);
    }
}

impl Codec for Alp {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let (width, byte) = match self.width {
            FloatWidth::F4 => (4, 4),
            FloatWidth::F8 => (8, 8),
        };
        if !source.len().is_multiple_of(width) {
            let reason = format!("encodes whole values of {width} bytes, not {}", source.len());
            return Err(argument_error("ALP", &[], &reason));
        }
        let (encode, pack) = (kernels::alp_encode()?, kernels::alp_pack()?);
        let how = How { width: self.width, encode, pack };
        target.extend([VERSION, byte]);
        target.extend(VALUES.to_le_bytes());
        let vector = self.vector.get_or_insert_default();
        // Nothing is kept from one block to the next.
        vector.found = None;
        if self.is_wide {
            wide::write(vector, how, source, target);
            return Ok(());
        }
        for piece in source.chunks(VECTOR * width) {
            vector.write(how, piece, target);
        }
        Ok(())
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        let width = read_header(source)?;
        if !target.len().is_multiple_of(width.bytes()) {
            return Err(malformed(1, "a width of values that does not divide the block's size"));
        }
        let decode = kernels::alp_decode()?;
        let mut at = HEADER_BYTES;
        for piece in target.chunks_mut(VECTOR * width.bytes()) {
            at += read_vector(decode, width, source, at, piece)?;
        }
        if at == source.len() { Ok(()) } else { Err(malformed(at, "trailing bytes")) }
    }
}

fn malformed(at: usize, reason: &'static str) -> CodecError {
    CodecError::Payload { codec: "ALP", at, reason }
}

/// The variant that ClickHouse chooses for floats that are not decimals.
fn rd() -> CodecError {
    CodecError::UnsupportedCodec { name: "ALP in its RD variant".to_owned() }
}

fn read_header(source: &[u8]) -> Result<FloatWidth, CodecError> {
    let Some(&[meta, width, low, high]) = source.first_chunk::<HEADER_BYTES>() else {
        return Err(malformed(source.len(), "header cut short"));
    };
    if meta & VERSION_MASK != VERSION || meta & !(VERSION_MASK | RD_FLAG) != 0 {
        return Err(CodecError::UnsupportedCodec {
            name: format!("ALP, version byte {meta:#04x},"),
        });
    }
    if meta & RD_FLAG != 0 {
        return Err(rd());
    }
    let width = float_width(width).ok_or_else(|| malformed(1, "an unknown width"))?;
    if u16::from_le_bytes([low, high]) == VALUES {
        Ok(width)
    } else {
        Err(malformed(2, "vectors that do not have 1024 values"))
    }
}

/// What stands in front of a vector.
struct VectorHead<'a> {
    decimal: Decimal,
    bits: u32,
    base: i64,
    packed: &'a [u8],
    exceptions: &'a [u8],
}

/// Reads a vector at `at`; `None` if this many bytes of values follow as they are.
fn read_head(
    width: FloatWidth,
    source: &[u8],
    at: usize,
    value_bytes: usize,
) -> Result<Option<VectorHead<'_>>, CodecError> {
    let rest = source.get(at..).unwrap_or_default();
    let short = || malformed(at, "vector cut short");
    if let Some((&RAW, rest)) = rest.split_first() {
        return if rest.len() < value_bytes { Err(short()) } else { Ok(None) };
    }
    let (header, rest) = rest.split_first_chunk::<VECTOR_HEADER_BYTES>().ok_or_else(short)?;
    let [exponent, factor, low, high, bits, base @ ..] = *header;
    let bits = u32::from(bits);
    if exponent > POWER_MAX || factor > POWER_MAX {
        return Err(malformed(at, "an unknown power of ten"));
    }
    if bits > 64 {
        return Err(malformed(at + 4, "more than 64 bits for a value"));
    }
    let (packed, rest) = rest.split_at_checked(alp::packed_bytes(bits)).ok_or_else(short)?;
    let count = usize::from(u16::from_le_bytes([low, high]));
    let exceptions = rest.get(..count * (2 + width.bytes())).ok_or_else(short)?;
    let (decimal, base) = (Decimal { exponent, factor }, i64::from_le_bytes(base));
    Ok(Some(VectorHead { decimal, bits, base, packed, exceptions }))
}

/// Tells of the vectors by their headers, each of which says where the next one is.
fn explain(payload: &Payload<'_>, inside: &mut Inside) -> Result<(), CodecError> {
    let values = inside.values();
    let width = read_header(payload.bytes)?;
    values.width = width.bytes();
    values.count = payload.content_bytes / values.width;
    values.header_bytes = HEADER_BYTES;
    if !payload.content_bytes.is_multiple_of(values.width) {
        return Err(malformed(1, "a width of values that does not divide the block's size"));
    }
    let mut sums = VectorSums { least: u32::MAX, ..VectorSums::default() };
    let mut at = HEADER_BYTES;
    let mut left = payload.content_bytes;
    let mut damage = None;
    while left > 0 {
        let piece = left.min(VECTOR * values.width);
        match read_head(width, payload.bytes, at, piece) {
            Ok(None) => {
                sums.plain += 1;
                values.header_bytes += 1;
                values.value_bytes += piece;
                at += 1 + piece;
            }
            Ok(Some(head)) => {
                values.header_bytes += VECTOR_HEADER_BYTES;
                values.value_bytes += head.packed.len();
                values.exception_bytes += head.exceptions.len();
                at += VECTOR_HEADER_BYTES + head.packed.len() + head.exceptions.len();
                sums.add(&head, head.exceptions.len() / (2 + values.width));
            }
            Err(error) => {
                damage = Some(error);
                break;
            }
        }
        left -= piece;
    }
    sums.tell(values);
    let behind = || (at < payload.bytes.len()).then(|| malformed(at, "trailing bytes"));
    damage.or_else(behind).map_or(Ok(()), Err)
}

/// What vectors have in common.
#[derive(Default)]
struct VectorSums {
    /// Vectors whose values follow as they are.
    plain: usize,
    exceptions: usize,
    least: u32,
    most: u32,
    /// Exponent, factor, exceptions, bits and base of each of the others.
    rows: Vec<[i64; 5]>,
}

impl VectorSums {
    fn add(&mut self, head: &VectorHead<'_>, exceptions: usize) {
        self.exceptions += exceptions;
        (self.least, self.most) = (self.least.min(head.bits), self.most.max(head.bits));
        let Decimal { exponent, factor } = head.decimal;
        // At most 65,535.
        let exceptions = i64::try_from(exceptions).unwrap_or(i64::MAX);
        self.rows.push([exponent.into(), factor.into(), exceptions, head.bits.into(), head.base]);
    }

    fn tell(self, values: &mut Values) {
        values.say("vectors", self.rows.len() + self.plain);
        if self.plain > 0 {
            values.say("vectors as they are", self.plain);
        }
        if !self.rows.is_empty() {
            values.say("least bits", u64::from(self.least));
            values.say("most bits", u64::from(self.most));
            values.say("exceptions", self.exceptions);
            values.facts.push(("packed vectors", Fact::Rows(self.rows)));
        }
    }
}

/// Decodes one vector at `at` and returns how many bytes it took.
fn read_vector(
    decode: Runnable<alp::Decode>,
    width: FloatWidth,
    source: &[u8],
    at: usize,
    target: &mut [u8],
) -> Result<usize, CodecError> {
    let Some(head) = read_head(width, source, at, target.len())? else {
        target.copy_from_slice(&source[at + 1..at + 1 + target.len()]);
        return Ok(1 + target.len());
    };
    let VectorHead { decimal, bits, base, packed, exceptions } = head;
    decode.decode(width, Packed { decimal, bits, base, words: packed }, target);
    let patched = match width {
        FloatWidth::F4 => patch::<4, 6>(exceptions, target),
        FloatWidth::F8 => patch::<8, 10>(exceptions, target),
    };
    let outside = |k| at + VECTOR_HEADER_BYTES + packed.len() + k * (2 + width.bytes());
    patched.map_err(|k| malformed(outside(k), "an exception past the end"))?;
    Ok(VECTOR_HEADER_BYTES + packed.len() + exceptions.len())
}

/// Puts exceptions, of two bytes more than a value, in their places; an error is the ordinal of one that has no place.
fn patch<const WIDTH: usize, const SIZE: usize>(
    exceptions: &[u8],
    target: &mut [u8],
) -> Result<(), usize> {
    let (places, _) = target.as_chunks_mut::<WIDTH>();
    let (exceptions, _) = exceptions.as_chunks::<SIZE>();
    for (k, exception) in exceptions.iter().enumerate() {
        let (index, value) = exception.split_first_chunk::<2>().ok_or(k)?;
        let place = places.get_mut(usize::from(u16::from_le_bytes(*index)));
        place.ok_or(k)?.copy_from_slice(value);
    }
    Ok(())
}
