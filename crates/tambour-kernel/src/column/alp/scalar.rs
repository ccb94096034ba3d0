//! The decoder for every machine.

use super::{Decode, Float, LANES, Packed, power};
use crate::column::Word;
use crate::column::bits::mask;
use crate::column::fpc::FloatWidth;
use crate::variant::{Isa, Variant};

pub(super) const VARIANT: Variant<Decode> =
    Variant { name: "scalar", isa: Isa::Scalar, run: decode };

fn decode(width: FloatWidth, packed: Packed<'_>, target: &mut [u8]) {
    match width {
        FloatWidth::F4 => decode_floats::<f32>(packed, target),
        FloatWidth::F8 => decode_floats::<f64>(packed, target),
    }
}

fn decode_floats<F: Float>(packed: Packed<'_>, target: &mut [u8]) {
    let Packed { decimal, bits, base, words } = packed;
    let ((_, down), (unfactor, _)) = (power(decimal.exponent), power(decimal.factor));
    for (i, place) in target.chunks_exact_mut(F::BYTES).enumerate() {
        let (lane, bit) = (i % LANES, i / LANES * bits as usize);
        let at = (bit / 64 * LANES + lane) * 8;
        let shift = bit % 64;
        let mut distance = if bits == 0 { 0 } else { u64::read(&words[at..at + 8]) >> shift };
        if shift + bits as usize > 64 {
            let next = at + LANES * 8;
            distance |= u64::read(&words[next..next + 8]) << (64 - shift);
        }
        let integer = (distance & mask(bits)).cast_signed().wrapping_add(base);
        F::narrow(integer as f64 * unfactor * down).write(place);
    }
}
