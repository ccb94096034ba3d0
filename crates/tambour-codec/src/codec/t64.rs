//! `T64`, method 0x93: the low bits of integers as planes of 64 values, for integers in a small range.
//!
//! `[cookie][leading bytes]`, minimum and maximum as eight bytes each, then the planes. The cookie is the type of the
//! values, and 0x80 for the variant that stores every bit as a plane. Nothing follows when all values are equal, and no
//! minimum either when there is no whole value.

use super::width::{WORDS, element_width};
use super::{Class, Codec, Element, Family, Inside, Payload, Scope, argument_error};
use crate::{CodecError, kernels};
use tambour_kernel::column::t64::{self, Planes, Shape};
use tambour_kernel::column::{Width, fill};

pub(super) const FAMILY: Family = Family {
    name: "T64",
    method: 0x93,
    scope: Scope::Values,
    // A block of equal values has no size of its own. This much is far above what anybody writes into one block: 17 bytes of
    // payload may become 68 MiB.
    expansion_max: 4 << 20,
    build: |arguments, element| Ok(Box::new(build(arguments, element)?)),
    explain,
};

/// The bit of the cookie that says [`Planes::Bits`].
const BITS_FLAG: u8 = 0x80;
/// Minimum and maximum.
const RANGE_BYTES: usize = 16;

/// Types by the cookie's low bits: width, and whether they are signed.
fn cookie_type(cookie: u8) -> Option<(Width, bool)> {
    Some(match cookie & !BITS_FLAG {
        // UInt8, Enum8
        1 | 17 => (Width::W1, false),
        // UInt16, Date, Enum16
        2 | 13 | 18 => (Width::W2, false),
        // UInt32, DateTime, IPv4
        3 | 14 | 21 => (Width::W4, false),
        4 => (Width::W8, false),
        6 => (Width::W1, true),
        7 => (Width::W2, true),
        // Int32, Decimal32, Date32, Time
        8 | 19 | 22 | 23 => (Width::W4, true),
        // Int64, DateTime64, Decimal64, Time64
        9 | 15 | 20 | 24 => (Width::W8, true),
        _ => return None,
    })
}

#[derive(Debug)]
struct T64 {
    width: Width,
    signed: bool,
    planes: Planes,
    /// Whether whole bytes are stored of the values, so that there are no planes of bits.
    padded: bool,
}

fn build(arguments: &[String], element: Element) -> Result<T64, CodecError> {
    let refused = |reason| argument_error("T64", arguments, reason);
    let (planes, padded) = match arguments {
        [] => (Planes::Bytes, false),
        [variant] if variant == "'byte'" => (Planes::Bytes, false),
        [variant] if variant == "'bit'" => (Planes::Bits, false),
        // Ours: ClickHouse reads the blocks and does not know the word.
        [variant] if variant == "'padded'" => (Planes::Bytes, true),
        _ => return Err(refused("the argument is 'byte', 'bit' or 'padded'")),
    };
    let classes = [Class::Unsigned, Class::Signed];
    let width = element_width("T64", arguments, element, &classes, WORDS)?;
    let width = Width::new(width).ok_or_else(|| refused("no such width"))?;
    Ok(T64 { width, signed: element.class == Class::Signed, planes, padded })
}

/// Bits that tell apart all values from `low` to `high`, which are signed integers or unsigned ones in the same bits.
fn range_bits(signed: bool, low: i64, high: i64) -> u32 {
    let length = |value: i64| 64 - value.leading_zeros();
    if signed && low < 0 && high >= 0 {
        // One more for the sign.
        return 1 + if low + high >= 0 { length(high) } else { length(!low) };
    }
    length(low ^ high)
}

/// A minimum and a maximum around these for which every value has whole bytes: a decoder knows the number of bits by them
/// alone. Equal ones stay.
fn padded_range(width: Width, signed: bool, low: i64, high: i64) -> (i64, i64) {
    let bits = range_bits(signed, low, high).next_multiple_of(8);
    let has_both_signs = signed && low < 0 && high >= 0;
    match bits {
        0 => (low, high),
        64 if !signed => (0, u64::MAX.cast_signed()),
        _ if has_both_signs || signed && bits == width.bits() => {
            (-1 << (bits - 1), !(-1 << (bits - 1)))
        }
        _ => (low >> bits << bits, low >> bits << bits | !(-1 << bits)),
    }
}

/// What stands above the stored bits of a value whose highest stored bit is clear, and of one in which it is set.
fn above(signed: bool, bits: u32, low: i64, high: i64) -> [u64; 2] {
    let upper = |value: i64| if bits >= 64 { 0 } else { value.cast_unsigned() >> bits << bits };
    if signed && low < 0 && high >= 0 { [upper(high), upper(low)] } else { [upper(low); 2] }
}

impl T64 {
    fn cookie(&self) -> u8 {
        let unsigned = match self.width {
            Width::W1 => 1,
            Width::W2 => 2,
            Width::W4 => 3,
            Width::W8 => 4,
        };
        let flag = if self.planes == Planes::Bits { BITS_FLAG } else { 0 };
        flag | if self.signed { unsigned + 5 } else { unsigned }
    }
}

impl Codec for T64 {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let (leading, values) = source.split_at(source.len() % self.width.bytes());
        target.push(self.cookie());
        target.extend(leading);
        if values.is_empty() {
            return Ok(());
        }
        let (mut low, mut high) = t64::range(self.width, self.signed, values);
        if self.padded {
            (low, high) = padded_range(self.width, self.signed, low, high);
        }
        target.extend(low.to_le_bytes());
        target.extend(high.to_le_bytes());
        let bits = range_bits(self.signed, low, high);
        if bits > 0 {
            let shape = Shape { width: self.width, bits, planes: self.planes };
            let start = target.len();
            target.resize(start + shape.packed_bytes(values.len() / self.width.bytes()), 0);
            t64::encode(shape, values, &mut target[start..]);
        }
        Ok(())
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        let Head { width, signed, planes, leading, rest } = Head::read(source, target.len())?;
        let (places, target) = target.split_at_mut(leading.len());
        places.copy_from_slice(leading);
        if target.is_empty() && rest.is_empty() {
            return Ok(());
        }
        let at = 1 + leading.len();
        let Range { low, high, bits, packed } = Range::read(rest, at, width, signed)?;
        let shape = Shape { width, bits, planes };
        check_planes(shape, target.len() / width.bytes(), packed, at)?;
        if bits == 0 {
            fill(width, low.cast_unsigned(), target);
            return Ok(());
        }
        kernels::t64_decode()?.decode(shape, above(signed, bits, low, high), packed, target);
        Ok(())
    }
}

fn malformed(at: usize, reason: &'static str) -> CodecError {
    CodecError::Payload { codec: "T64", at, reason }
}

/// The start of a payload, which says the type.
struct Head<'a> {
    width: Width,
    signed: bool,
    planes: Planes,
    leading: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Head<'a> {
    fn read(source: &'a [u8], content_bytes: usize) -> Result<Self, CodecError> {
        let (&cookie, rest) = source.split_first().ok_or_else(|| malformed(0, "no cookie"))?;
        let found = cookie_type(cookie);
        let (width, signed) = found.ok_or_else(|| malformed(0, "an unknown type"))?;
        let planes = if cookie & BITS_FLAG == 0 { Planes::Bytes } else { Planes::Bits };
        let split = rest.split_at_checked(content_bytes % width.bytes());
        let cut = || malformed(source.len(), "leading bytes cut short");
        let (leading, rest) = split.ok_or_else(cut)?;
        Ok(Self { width, signed, planes, leading, rest })
    }
}

/// Least and greatest value, and what follows them.
struct Range<'a> {
    low: i64,
    high: i64,
    bits: u32,
    packed: &'a [u8],
}

impl<'a> Range<'a> {
    fn read(rest: &'a [u8], at: usize, width: Width, signed: bool) -> Result<Self, CodecError> {
        let Some((range, packed)) = rest.split_first_chunk::<RANGE_BYTES>() else {
            return Err(malformed(at, "minimum and maximum cut short"));
        };
        let [low, high] = [&range[..8], &range[8..]].map(signed_word);
        if !fits(width, signed, low, high) {
            return Err(malformed(at, "minimum and maximum are outside the type"));
        }
        Ok(Self { low, high, bits: range_bits(signed, low, high), packed })
    }
}

/// Whether the planes are those of this many values, after a range that begins at `at`.
fn check_planes(shape: Shape, count: usize, packed: &[u8], at: usize) -> Result<(), CodecError> {
    let end = at + RANGE_BYTES;
    if shape.bits == 0 {
        let over = malformed(end, "trailing bytes");
        return if packed.is_empty() { Ok(()) } else { Err(over) };
    }
    if packed.len() == shape.packed_bytes(count) {
        Ok(())
    } else {
        Err(malformed(end, "planes of another size than the values"))
    }
}

fn explain(payload: &Payload<'_>, inside: &mut Inside) -> Result<(), CodecError> {
    let values = inside.values();
    let Head { width, signed, planes, leading, rest } =
        Head::read(payload.bytes, payload.content_bytes)?;
    values.width = width.bytes();
    values.count = payload.content_bytes / width.bytes();
    values.header_bytes = payload.bytes.len() - rest.len();
    if !leading.is_empty() {
        values.say("leading bytes", leading.len());
    }
    values.say("type", if signed { "signed" } else { "unsigned" });
    values.say("planes", if planes == Planes::Bits { "of bits" } else { "of bytes" });
    if values.count == 0 && rest.is_empty() {
        return Ok(());
    }
    let at = values.header_bytes;
    let Range { low, high, bits, packed } = Range::read(rest, at, width, signed)?;
    values.header_bytes += RANGE_BYTES;
    values.value_bytes = packed.len();
    for (name, value) in [("least", low), ("greatest", high)] {
        if signed {
            values.say(name, value);
        } else {
            values.say(name, value.cast_unsigned());
        }
    }
    values.say("bits", u64::from(bits));
    check_planes(Shape { width, bits, planes }, values.count, packed, at)
}

fn signed_word(bytes: &[u8]) -> i64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    i64::from_le_bytes(word)
}

/// Whether these are, in order, values of the type.
fn fits(width: Width, signed: bool, low: i64, high: i64) -> bool {
    let unused = 64 - width.bits();
    let is_value = |value: i64| {
        let shifted = value << unused;
        value
            == if signed {
                shifted >> unused
            } else {
                (shifted.cast_unsigned() >> unused).cast_signed()
            }
    };
    let ordered = if signed { low <= high } else { low.cast_unsigned() <= high.cast_unsigned() };
    ordered && is_value(low) && is_value(high)
}

#[cfg(test)]
mod tests {
    use super::{fits, padded_range, range_bits};
    use tambour_kernel::column::Width;

    /// Around every range of a small type there is one of whole bytes, and it is one that decoders take.
    #[test]
    fn padded_ranges_are_ranges_of_whole_bytes() {
        for signed in [false, true] {
            let values =
                || (i16::MIN..=i16::MAX).step_by(211).chain([-1, 0, 1, 255, 256, i16::MAX]);
            for (a, b) in values().flat_map(|a| values().map(move |b| (a, b))) {
                let wide = |value: i16| {
                    if signed { i64::from(value) } else { i64::from(value.cast_unsigned()) }
                };
                let (low, high) = (wide(a).min(wide(b)), wide(a).max(wide(b)));
                let (least, most) = padded_range(Width::W2, signed, low, high);
                assert!(least <= low && most >= high && fits(Width::W2, signed, least, most));
                let bits = range_bits(signed, low, high).next_multiple_of(8);
                assert_eq!(range_bits(signed, least, most), bits, "{low} to {high}");
            }
        }
        assert_eq!(padded_range(Width::W8, false, 0, -1), (0, -1));
        assert_eq!(padded_range(Width::W8, false, 5, i64::MIN), (0, -1));
        assert_eq!(padded_range(Width::W8, true, -5, i64::MAX), (i64::MIN, i64::MAX));
    }
}
