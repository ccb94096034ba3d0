//! The kernel variants in use: the best of this CPU, capped by `TAMBOUR_ISA`.
//!
//! `TAMBOUR_ISA=avx2` makes each kernel take its best variant at or below that level ([`tambour_kernel::level`] reads it); a
//! level that does not exist or that this CPU lacks is an error here, never a silent fallback.

use crate::CodecError;
use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use tambour_kernel::column::{DecodeItems, alp, delta, double_delta, gcd, gorilla, t64};
use tambour_kernel::hash::{self, column};
use tambour_kernel::integer::{encode_length, leb128, packed, stream_vbyte};
use tambour_kernel::level::{self, RefusedLevel};
use tambour_kernel::lz4;
use tambour_kernel::variant::{Isa, Runnable, Variants};

/// One runnable per kernel.
#[derive(Clone, Copy, Debug)]
struct Kernels {
    isa: Isa,
    lz4_decode: Runnable<lz4::Decode>,
    delta_decode: Runnable<delta::Decode>,
    double_delta_decode: Runnable<DecodeItems>,
    gorilla_decode: Runnable<DecodeItems>,
    t64_decode: Runnable<t64::Decode>,
    gcd_decode: Runnable<gcd::Decode>,
    alp_decode: Runnable<alp::Decode>,
    alp_encode: Runnable<alp::Encode>,
    alp_pack: Runnable<alp::Pack>,
}

static KERNELS: LazyLock<Result<Kernels, &'static RefusedLevel>> =
    LazyLock::new(|| level::in_use().map(Kernels::at));

impl Kernels {
    /// The best at or below a level.
    fn at(isa: Isa) -> Self {
        Self {
            isa,
            lz4_decode: lz4::DECODE_VARIANTS.best_at_most(isa),
            delta_decode: delta::DECODE_VARIANTS.best_at_most(isa),
            double_delta_decode: double_delta::DECODE_VARIANTS.best_at_most(isa),
            gorilla_decode: gorilla::DECODE_VARIANTS.best_at_most(isa),
            t64_decode: t64::DECODE_VARIANTS.best_at_most(isa),
            gcd_decode: gcd::DECODE_VARIANTS.best_at_most(isa),
            alp_decode: alp::DECODE_VARIANTS.best_at_most(isa),
            alp_encode: alp::ENCODE_VARIANTS.best_at_most(isa),
            alp_pack: alp::PACK_VARIANTS.best_at_most(isa),
        }
    }
}

thread_local! {
    /// What [`at_most`] says for this thread.
    static CAP: Cell<Option<Isa>> = const { Cell::new(None) };
}

/// Does work with the variants at or below a level, in this thread: for measurements and tests that compare them. Above the
/// level in use nothing changes. Codecs of LZ4 keep the level that they were made with.
pub fn at_most<T>(isa: Isa, work: impl FnOnce() -> T) -> T {
    struct Restored(Option<Isa>);
    impl Drop for Restored {
        fn drop(&mut self) {
            CAP.set(self.0);
        }
    }
    let _before = Restored(CAP.replace(Some(isa)));
    work()
}

fn kernels() -> Result<Kernels, CodecError> {
    let known = KERNELS.as_ref().map_err(|refused| {
        let RefusedLevel { value, reason } = RefusedLevel::clone(refused);
        CodecError::Isa { value, reason }
    })?;
    Ok(match CAP.get().filter(|isa| *isa < known.isa) {
        Some(isa) => Kernels::at(isa),
        None => *known,
    })
}

/// The level in use: the best of this CPU, or `TAMBOUR_ISA`. Programs call it at their start to report a wrong level early.
///
/// ```
/// let level = tambour_codec::kernels::isa()?;
/// assert!(level.is_available(), "the best of this CPU, or what TAMBOUR_ISA names");
/// # Ok::<(), tambour_codec::CodecError>(())
/// ```
pub fn isa() -> Result<Isa, CodecError> {
    Ok(kernels()?.isa)
}

static DETERMINISTIC: AtomicBool = AtomicBool::new(false);

/// Makes every decoder of this process that is made from now on take the same path for the same input: no clock is asked
/// which variant is fastest. It costs speed and is there to reproduce faults; results are the same either way.
pub fn be_deterministic() {
    DETERMINISTIC.store(true, Ordering::Relaxed);
}

/// How LZ4 blocks are decoded: by the fastest variant as measured on the way, or always by the same one.
fn lz4_policy() -> lz4::Policy {
    if DETERMINISTIC.load(Ordering::Relaxed) {
        lz4::Policy::Deterministic
    } else {
        lz4::Policy::Adaptive
    }
}

/// A selector of LZ4 decoders for one stream, at the level in use.
pub fn lz4_selector() -> Result<lz4::Selector, CodecError> {
    Ok(lz4::Selector::new(lz4_policy(), isa()?, lz4::ticks))
}

/// The LZ4 decoder in use.
///
/// ```
/// let mut target = [0; 3];
/// tambour_codec::kernels::lz4_decode()?.decode(b"\x30abc", &mut target)?;
/// assert_eq!(&target, b"abc");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lz4_decode() -> Result<Runnable<lz4::Decode>, CodecError> {
    Ok(kernels()?.lz4_decode)
}

/// The decoder of differences in use.
pub fn delta_decode() -> Result<Runnable<delta::Decode>, CodecError> {
    Ok(kernels()?.delta_decode)
}

/// The decoder of differences of differences in use.
pub fn double_delta_decode() -> Result<Runnable<DecodeItems>, CodecError> {
    Ok(kernels()?.double_delta_decode)
}

/// The decoder of exclusive ors in use.
pub fn gorilla_decode() -> Result<Runnable<DecodeItems>, CodecError> {
    Ok(kernels()?.gorilla_decode)
}

/// The decoder of T64 groups in use.
pub fn t64_decode() -> Result<Runnable<t64::Decode>, CodecError> {
    Ok(kernels()?.t64_decode)
}

/// The decoder of quotients in use.
pub fn gcd_decode() -> Result<Runnable<gcd::Decode>, CodecError> {
    Ok(kernels()?.gcd_decode)
}

/// The decoder of ALP vectors in use.
pub fn alp_decode() -> Result<Runnable<alp::Decode>, CodecError> {
    Ok(kernels()?.alp_decode)
}

/// The encoder of ALP vectors in use.
pub fn alp_encode() -> Result<Runnable<alp::Encode>, CodecError> {
    Ok(kernels()?.alp_encode)
}

/// The packer of ALP vectors in use.
pub fn alp_pack() -> Result<Runnable<alp::Pack>, CodecError> {
    Ok(kernels()?.alp_pack)
}

/// The name of the variant that decodes a codec; `None` where there is one way only.
///
/// ```
/// use tambour_codec::kernels::in_use;
/// assert!(in_use("LZ4")?.is_some());
/// assert_eq!(in_use("NONE")?, None);
/// # Ok::<(), tambour_codec::CodecError>(())
/// ```
pub fn in_use(codec: &str) -> Result<Option<&'static str>, CodecError> {
    let kernels = kernels()?;
    Ok(match codec {
        "LZ4" | "LZ4HC" => Some(kernels.lz4_decode.name()),
        "Delta" => Some(kernels.delta_decode.name()),
        "DoubleDelta" => Some(kernels.double_delta_decode.name()),
        "Gorilla" => Some(kernels.gorilla_decode.name()),
        "T64" => Some(kernels.t64_decode.name()),
        "GCD" => Some(kernels.gcd_decode.name()),
        "ALP" => Some(kernels.alp_decode.name()),
        "PFOR" => Some(packed::PATCHED_SUM_VARIANTS.best_at_most(kernels.isa).name()),
        "StreamVByte" => Some(stream_vbyte::DECODE_1234_VARIANTS.best_at_most(kernels.isa).name()),
        _ => None,
    })
}

/// The variant in use of any kernel: the best at or below the level in use.
pub fn chosen<F: Copy>(variants: &'static Variants<F>) -> Result<Runnable<F>, CodecError> {
    Ok(variants.best_at_most(kernels()?.isa))
}

/// The variants of a kernel that this CPU can run, best first, and the one in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name of the kernel.
    pub kernel: &'static str,
    /// Names of the variants.
    pub variants: Vec<&'static str>,
    /// Name of the one in use.
    pub in_use: &'static str,
}

/// The kernels of integers and hashes, which belong to no codec.
///
/// ```
/// let listed = tambour_codec::kernels::beside_codecs()?;
/// assert!(listed.iter().all(|kernel| kernel.variants.contains(&kernel.in_use)));
/// # Ok::<(), tambour_codec::CodecError>(())
/// ```
pub fn beside_codecs() -> Result<Vec<Listed>, CodecError> {
    fn listed<F: Copy>(
        kernel: &'static str,
        variants: &'static Variants<F>,
    ) -> Result<Listed, CodecError> {
        let names = variants.available().map(Runnable::name).collect();
        Ok(Listed { kernel, variants: names, in_use: chosen(variants)?.name() })
    }
    Ok(vec![
        listed("LEB128 decode, 32 bits", &leb128::DECODE_U32_VARIANTS)?,
        listed("LEB128 decode, 64 bits", &leb128::DECODE_U64_VARIANTS)?,
        listed("LEB128 encode, 32 bits", &leb128::ENCODE_U32_VARIANTS)?,
        listed("LEB128 encode, 64 bits", &leb128::ENCODE_U64_VARIANTS)?,
        listed("encode_length decode", &encode_length::DECODE_VARIANTS)?,
        listed("StreamVByte 1234 decode", &stream_vbyte::DECODE_1234_VARIANTS)?,
        listed("StreamVByte 0124 decode", &stream_vbyte::DECODE_0124_VARIANTS)?,
        listed("StreamVByte 1234 encode", &stream_vbyte::ENCODE_1234_VARIANTS)?,
        listed("StreamVByte 0124 encode", &stream_vbyte::ENCODE_0124_VARIANTS)?,
        listed("packed decode", &packed::PLAIN_VARIANTS)?,
        listed("packed decode with prefix sum", &packed::PLAIN_SUM_VARIANTS)?,
        listed("patched decode", &packed::PATCHED_VARIANTS)?,
        listed("patched decode with prefix sum", &packed::PATCHED_SUM_VARIANTS)?,
        listed("XXH32 of columns", &column::XXH32_VARIANTS)?,
        listed("XXH64 of columns", &column::XXH64_VARIANTS)?,
        listed("XXH3-64 of columns", &column::XXH3_64_VARIANTS)?,
        listed("XXH3-128 of columns", &column::XXH3_128_VARIANTS)?,
        listed("XXH3 of long inputs", &hash::LONG_VARIANTS)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::{Isa, at_most, beside_codecs, in_use, isa};

    #[test]
    fn no_kernel_is_above_the_level_in_use() {
        let cap = isa().unwrap();
        for kernel in beside_codecs().unwrap() {
            assert!(kernel.variants.contains(&kernel.in_use), "{kernel:?}");
            let named = Isa::ALL.iter().filter(|isa| kernel.in_use.starts_with(isa.name()));
            assert!(named.into_iter().all(|isa| *isa <= cap), "{kernel:?} at {cap}");
        }
    }

    #[test]
    fn a_thread_may_have_less() {
        let best = isa().unwrap();
        let seen = at_most(Isa::Scalar, || {
            assert_eq!(at_most(best, || isa().unwrap()), best);
            (isa().unwrap(), in_use("T64").unwrap().unwrap())
        });
        assert_eq!(seen, (Isa::Scalar, "scalar"));
        assert_eq!((isa().unwrap(), in_use("ZSTD").unwrap()), (best, None));
        assert!(std::panic::catch_unwind(|| at_most(Isa::Scalar, || panic!("{best}"))).is_err());
        assert_eq!(isa().unwrap(), best);
    }

    #[test]
    fn encoders_have_no_more_than_decoders() {
        let seen = at_most(Isa::Scalar, || {
            (super::alp_encode().unwrap().name(), super::alp_pack().unwrap().name())
        });
        assert_eq!(seen, ("scalar", "scalar"));
    }

    #[test]
    fn a_process_can_be_deterministic() {
        assert!(matches!(super::lz4_policy(), super::lz4::Policy::Adaptive));
        super::be_deterministic();
        assert!(matches!(super::lz4_policy(), super::lz4::Policy::Deterministic));
    }
}
