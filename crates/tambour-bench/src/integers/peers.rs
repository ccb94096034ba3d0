//! Contenders of crates that nothing else needs.

use super::contender::{Coding, coding};
use fastpfor::{AnyLenCodec, FastPForSimd256};
use tambour_report::Tone;

/// Patched blocks of 256 by the `fastpfor` crate, with the vectors that it chooses at run time. Its words decode into a vector
/// of its own, which is swapped for a copy: that costs a tenth at most.
pub(super) fn fastpfor() -> Coding {
    let (mut encoder, mut decoder) = (FastPForSimd256::default(), FastPForSimd256::default());
    let (mut words, mut aligned, mut values) = (Vec::new(), Vec::new(), Vec::new());
    coding(
        "fastpfor 256",
        Tone::Quiet,
        move |source, target| {
            words.clear();
            if encoder.encode(source, &mut words).is_err() {
                return 0;
            }
            for (bytes, word) in target.as_chunks_mut::<4>().0.iter_mut().zip(&words) {
                *bytes = word.to_le_bytes();
            }
            4 * words.len()
        },
        move |source, target| {
            aligned.clear();
            aligned.extend(source.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)));
            values.clear();
            // Missing values show in the comparison.
            let decoded = decoder.decode(&aligned, &mut values, u32::try_from(target.len()).ok());
            if decoded.is_ok() && values.len() == target.len() {
                target.copy_from_slice(&values);
            }
        },
    )
}

/// Single values by the `varint-simd` crate.
#[cfg(target_arch = "x86_64")]
pub(super) fn varint_simd() -> Coding {
    coding(
        "varint-simd",
        Tone::Quiet,
        |source, target| {
            let mut at = 0;
            for &value in source {
                at += usize::from(varint_simd::encode_to_slice(value, &mut target[at..]));
            }
            at
        },
        |source, target| {
            let mut at = 0;
            for value in target {
                let Ok((decoded, length)) = varint_simd::decode::<u32>(&source[at..]) else {
                    return;
                };
                *value = decoded;
                at += length;
            }
        },
    )
}
