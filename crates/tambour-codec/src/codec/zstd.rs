//! `ZSTD`, method 0x90: the payload is one zstd frame. The codec is libzstd; contexts are kept between blocks.
//!
//! Before libzstd sees a payload, the frame header is checked here: one frame that fills the payload, a window of at most
//! [`WINDOW_BYTES_MAX`], and the content size of the block's header, if the frame states one.

use super::{Codec, Family, Scope, argument_error};
use crate::frame::look;
use crate::{CodecError, Kind};
use std::io::Cursor;
use zstd_safe::{CCtx, CParameter, DCtx, ErrorCode, ResetDirective, Strategy};

pub(super) const FAMILY: Family = Family {
    name: "ZSTD",
    method: 0x90,
    scope: Scope::Generic,
    // A block of 128 KiB takes at least four bytes: three of header and one that is repeated.
    expansion_max: (128 << 10) / 4,
    build: |arguments, _| Ok(Box::new(build(arguments)?)),
    explain: look::explain_zstd,
};

/// Level of `ZSTD` without an argument, as in ClickHouse.
const LEVEL_DEFAULT: i32 = 1;
const LEVEL_MAX: i32 = 22;
/// Logarithms of windows that ClickHouse accepts for long mode.
const WINDOW_LOGS: std::ops::RangeInclusive<u32> = 10..=31;
/// Largest window that is decoded; what the `zstd` program accepts without being asked for more.
const WINDOW_BYTES_MAX: u64 = 128 << 20;
/// Argument that asks for long matches only.
const SPARSE: &str = "'minmatch=7'";
/// The first four bytes of a frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

struct Zstd {
    level: i32,
    /// Logarithm of the window in long mode.
    window: Option<u32>,
    /// Whether only long matches are sought, and fast: of shuffled numbers short ones are not worth their codes.
    sparse: bool,
    /// Both made on their first use.
    encode: Option<CCtx<'static>>,
    decode: Option<DCtx<'static>>,
}

impl std::fmt::Debug for Zstd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Zstd").field("level", &self.level).finish_non_exhaustive()
    }
}

fn build(arguments: &[String]) -> Result<Zstd, CodecError> {
    let refused = |reason| argument_error("ZSTD", arguments, reason);
    // Ours: ClickHouse reads the frames and does not know the word.
    let sparse = arguments.get(1).is_some_and(|argument| argument == SPARSE);
    let (level, window) = match arguments {
        [] => (None, None),
        [level] => (Some(level), None),
        [level, _] if sparse => (Some(level), None),
        [level, window] => (Some(level), Some(window)),
        _ => return Err(refused("takes two arguments, the level and the window of long mode")),
    };
    let level = level.map_or(Some(LEVEL_DEFAULT), |level| level.parse().ok());
    let level = level.filter(|level| (1..=LEVEL_MAX).contains(level));
    let level = level.ok_or_else(|| refused("the level is 1 to 22"))?;
    let parse = |window: &String| {
        let window = window.parse().ok().filter(|window| WINDOW_LOGS.contains(window));
        // A block never needs more, and the decoder takes no more.
        let max = WINDOW_BYTES_MAX.ilog2();
        window.map(|window: u32| window.min(max)).ok_or_else(|| refused("the window is 10 to 31"))
    };
    let window = window.map(parse).transpose()?;
    Ok(Zstd { level, window, sparse, encode: None, decode: None })
}

fn no_memory() -> CodecError {
    CodecError::Zstd { reason: "no memory for a context", kind: Kind::Limit }
}

fn refused(code: ErrorCode, kind: Kind) -> CodecError {
    CodecError::Zstd { reason: zstd_safe::get_error_name(code), kind }
}

impl Zstd {
    fn encoder(&mut self) -> Result<&mut CCtx<'static>, CodecError> {
        if self.encode.is_none() {
            let mut context = CCtx::try_create().ok_or_else(no_memory)?;
            set_level(&mut context, self.level, self.sparse)?;
            if let Some(window) = self.window {
                let long =
                    [CParameter::EnableLongDistanceMatching(true), CParameter::WindowLog(window)];
                for parameter in long {
                    let set = context.set_parameter(parameter);
                    set.map_err(|code| refused(code, Kind::Argument))?;
                }
            }
            self.encode = Some(context);
        }
        self.encode.as_mut().ok_or_else(no_memory)
    }

    fn decoder(&mut self) -> Result<&mut DCtx<'static>, CodecError> {
        if self.decode.is_none() {
            self.decode = DCtx::try_create();
        }
        self.decode.as_mut().ok_or_else(no_memory)
    }
}

fn set_level(context: &mut CCtx<'static>, level: i32, sparse: bool) -> Result<(), CodecError> {
    let mut set = |parameter| {
        let set = context.set_parameter(parameter);
        set.map(drop).map_err(|code| refused(code, Kind::Argument))
    };
    set(CParameter::CompressionLevel(level))?;
    if sparse {
        set(CParameter::Strategy(Strategy::ZSTD_fast))?;
        set(CParameter::MinMatch(7))?;
    }
    Ok(())
}

/// Appends a frame.
fn compress(
    context: &mut CCtx<'static>,
    source: &[u8],
    target: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let start = target.len();
    target.reserve(zstd_safe::compress_bound(source.len()));
    let mut cursor = Cursor::new(target);
    cursor.set_position(start as u64);
    let result = context.compress2(&mut cursor, source);
    result.map(drop).map_err(|code| refused(code, Kind::Limit))
}

/// Writes frames of any level with one context, for who tries several.
#[derive(Default)]
pub(crate) struct Frames(Option<CCtx<'static>>);

impl std::fmt::Debug for Frames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frames").finish_non_exhaustive()
    }
}

impl Frames {
    /// Appends a frame; `sparse` as in [`Zstd`].
    pub(crate) fn encode(
        &mut self,
        level: i32,
        sparse: bool,
        source: &[u8],
        target: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        if self.0.is_none() {
            self.0 = CCtx::try_create();
        }
        let context = self.0.as_mut().ok_or_else(no_memory)?;
        let reset = context.reset(ResetDirective::SessionAndParameters);
        reset.map_err(|code| refused(code, Kind::Argument))?;
        set_level(context, level, sparse)?;
        compress(context, source, target)
    }
}

impl Codec for Zstd {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        compress(self.encoder()?, source, target)
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        check_frame(source, target.len() as u64)?;
        let written = self
            .decoder()?
            .decompress(target, source)
            .map_err(|code| refused(code, Kind::Corrupt))?;
        check_content_size(written as u64, target.len() as u64)
    }
}

/// Refuses anything but one frame of acceptable window that, as far as it says, holds `expected` bytes.
fn check_frame(source: &[u8], expected: u64) -> Result<(), CodecError> {
    if !source.starts_with(&MAGIC) {
        return Err(CodecError::Frame { reason: "no zstd magic" });
    }
    let window = declared_window(source).ok_or(CodecError::Frame { reason: "header cut short" })?;
    if window > WINDOW_BYTES_MAX {
        let max = WINDOW_BYTES_MAX;
        return Err(CodecError::Limit { what: "zstd window", got: window, max });
    }
    let content = zstd_safe::get_frame_content_size(source);
    if let Some(size) = content.map_err(|_| CodecError::Frame { reason: "header cut short" })? {
        check_content_size(size, expected)?;
    }
    match zstd_safe::find_frame_compressed_size(source) {
        Ok(size) if size == source.len() => Ok(()),
        Ok(_) => Err(CodecError::Frame { reason: "trailing bytes after the frame" }),
        Err(code) => Err(refused(code, Kind::Corrupt)),
    }
}

fn check_content_size(got: u64, expected: u64) -> Result<(), CodecError> {
    if got == expected {
        Ok(())
    } else {
        Err(CodecError::Size { field: "zstd content size", got, min: expected, max: expected })
    }
}

/// The window that a frame header declares. A single-segment frame declares none (its window is its content, which the
/// block's limits cover): 0. `None` when the header is cut short.
fn declared_window(source: &[u8]) -> Option<u64> {
    let descriptor = *source.get(MAGIC.len())?;
    let single_segment = descriptor & 0x20 != 0;
    let window = *source.get(MAGIC.len() + 1)?;
    if single_segment {
        return Some(0);
    }
    // The upper five bits are an exponent above 1 KiB, the lower three add eighths.
    let base = 1_u64 << (10 + (window >> 3));
    Some(base + base / 8 * u64::from(window & 7))
}

#[cfg(test)]
mod tests {
    use super::{Codec, FAMILY, declared_window};
    use crate::codec::Element;
    use crate::{CodecError, Kind};

    fn codec(arguments: &[&str]) -> Result<Box<dyn Codec>, CodecError> {
        let arguments: Vec<_> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        (FAMILY.build)(&arguments, Element::BYTES)
    }

    #[test]
    fn levels_are_1_to_22() {
        for level in ["1", "22"] {
            assert!(codec(&[level]).is_ok());
        }
        for arguments in [&["0"][..], &["23"], &["-1"], &["x"], &["3", "9"], &["3", "32"]] {
            assert_eq!(codec(arguments).unwrap_err().kind(), Kind::Argument);
        }
    }

    #[test]
    fn appends_and_round_trips() {
        let mut codec = codec(&["3"]).unwrap();
        let source = b"drum drum drum drum".repeat(100);
        let mut target = b"before".to_vec();
        codec.encode(&source, &mut target).unwrap();
        codec.encode(&source, &mut target).unwrap();
        let size = (target.len() - 6) / 2;
        for payload in target[6..].chunks(size) {
            let mut decoded = vec![0; source.len()];
            codec.decode(payload, &mut decoded).unwrap();
            assert_eq!(decoded, source);
        }
        assert!(target.starts_with(b"before"));
    }

    /// What repeats farther back than the window of level 1 reaches (512 KiB) is found only in long mode.
    #[test]
    fn long_mode_finds_what_is_far() {
        let noise = |k: u64| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).to_le_bytes();
        let source: Vec<u8> = (0..200_000_u64).flat_map(noise).collect::<Vec<_>>().repeat(2);
        let size = |arguments: &[&str]| {
            let mut codec = codec(arguments).unwrap();
            let mut target = Vec::new();
            codec.encode(&source, &mut target).unwrap();
            let mut decoded = vec![0; source.len()];
            codec.decode(&target, &mut decoded).unwrap();
            assert!(decoded == source);
            target.len()
        };
        assert!(size(&["1", "24"]) < size(&["1"]) * 2 / 3);
        size(&["1", "31"]);
        size(&["1", "10"]);
    }

    #[test]
    fn only_one_whole_frame_of_the_right_size_is_taken() {
        let mut codec = codec(&[]).unwrap();
        let source = [7; 1000];
        let mut frame = Vec::new();
        codec.encode(&source, &mut frame).unwrap();
        let mut refuse = |payload: &[u8], room: usize| {
            codec.decode(payload, &mut vec![0; room]).unwrap_err().kind()
        };
        assert_eq!(refuse(&frame, 999), Kind::Corrupt);
        assert_eq!(refuse(&frame, 1001), Kind::Corrupt);
        assert_eq!(refuse(&[&frame[..], &frame].concat(), 2000), Kind::Corrupt);
        assert_eq!(refuse(&[&frame[..], b"x"].concat(), 1000), Kind::Corrupt);
        for cut in 0..frame.len() {
            assert_eq!(refuse(&frame[..cut], 1000), Kind::Corrupt);
        }
    }

    #[test]
    fn a_window_over_the_limit_is_refused() {
        // Magic, no flags, window exponent 21 (2 GiB), one last raw block of one byte.
        let frame = |window: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, window, 9, 0, 0, b'x'];
        assert_eq!(declared_window(&frame(21 << 3)), Some(2 << 30));
        let mut codec = codec(&[]).unwrap();
        let error = codec.decode(&frame(21 << 3), &mut [0]).unwrap_err();
        assert!(matches!(error, CodecError::Limit { .. }), "{error}");
        assert!(codec.decode(&frame(17 << 3), &mut [0]).is_ok());
        assert!(codec.decode(&frame((17 << 3) + 1), &mut [0]).is_err());
    }
}
