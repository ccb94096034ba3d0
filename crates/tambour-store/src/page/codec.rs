//! Payloads: pages to bytes and back. Keeps contexts and scratch memory between calls; a [`Coder`] belongs to one thread.

use super::PageError;
use super::dictionary::{Dictionaries, Dictionary};
use super::options::{Method, PageCodec};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use std::sync::Arc;
use tambour_codec::{CodecError, Kind, kernels};
use tambour_kernel::lz4::{self, Policy, Selector};
use zstd_safe::{CCtx, CDict, CParameter, DCtx, DDict};

/// Encodes and decodes payloads.
pub(crate) struct Coder {
    lz4: Option<(i32, lz4::Encoder)>,
    lz4_decode: Option<Selector>,
    zstd: Option<(i32, CCtx<'static>)>,
    zstd_decode: Option<DCtx<'static>>,
    prepared: Option<(u16, i32, CDict<'static>)>,
    opened: Option<(u16, DDict<'static>)>,
    zlib: Option<(i32, Compress)>,
    zlib_decode: Option<Decompress>,
}

impl std::fmt::Debug for Coder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coder").finish_non_exhaustive()
    }
}

fn zstd_error(reason: &'static str, kind: Kind) -> CodecError {
    CodecError::Zstd { reason, kind }
}

fn zstd_code(code: usize, kind: Kind) -> CodecError {
    zstd_error(zstd_safe::get_error_name(code), kind)
}

/// What became of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    /// How the payload is stored; [`Method::None`] where compression gained too little.
    pub(crate) method: Method,
    /// Number of the dictionary, 0 for none.
    pub(crate) dictionary: u16,
    /// Bytes of the payload.
    pub(crate) bytes: usize,
}

impl Coder {
    pub(crate) fn new() -> Self {
        Self {
            lz4: None,
            lz4_decode: None,
            zstd: None,
            zstd_decode: None,
            prepared: None,
            opened: None,
            zlib: None,
            zlib_decode: None,
        }
    }

    /// Writes the payload of a page into `target`, which has room for the page's length and the worst case of its codec.
    /// What is not at least `gain` bytes smaller than the page is stored as it is.
    pub(crate) fn encode(
        &mut self,
        codec: PageCodec,
        dictionary: Option<&Arc<Dictionary>>,
        page: &[u8],
        gain: usize,
        target: &mut [u8],
    ) -> Result<Encoded, PageError> {
        let size = match codec.method {
            Method::None => None,
            Method::Lz4 => self.lz4(codec.level, page, target),
            Method::Zstd => {
                let result = self.zstd(codec.level, dictionary, page, target);
                Some(result.map_err(|cause| PageError::Codec { codec: codec.to_string(), cause })?)
            }
            Method::Zlib => self.zlib(codec.level, page, target),
        };
        if let Some(bytes) = size.filter(|size| size + gain <= page.len()) {
            let dictionary = match codec.method {
                Method::Zstd => dictionary.map_or(0, |dictionary| dictionary.id),
                _ => 0,
            };
            return Ok(Encoded { method: codec.method, dictionary, bytes });
        }
        target[..page.len()].copy_from_slice(page);
        Ok(Encoded { method: Method::None, dictionary: 0, bytes: page.len() })
    }

    /// Room that [`Coder::encode`] needs for a page of this length.
    pub(crate) fn bound(page_bytes: usize) -> usize {
        lz4::bound(page_bytes).max(zstd_safe::compress_bound(page_bytes)).max(page_bytes + 1024)
    }

    fn lz4(&mut self, level: i32, page: &[u8], target: &mut [u8]) -> Option<usize> {
        if self.lz4.as_ref().is_none_or(|(made, _)| *made != level) {
            let effort = match u8::try_from(level) {
                Ok(level) if level >= lz4::Level::HIGH_MIN => lz4::Level::High(level),
                _ => lz4::Level::default(),
            };
            self.lz4 = Some((level, lz4::Encoder::new(effort)));
        }
        self.lz4.as_mut().and_then(|(_, encoder)| encoder.encode(page, target))
    }

    fn zstd(
        &mut self,
        level: i32,
        dictionary: Option<&Arc<Dictionary>>,
        page: &[u8],
        target: &mut [u8],
    ) -> Result<usize, CodecError> {
        let no_memory = || zstd_error("no memory for a context", Kind::Limit);
        if self.zstd.as_ref().is_none_or(|(made, _)| *made != level) {
            let mut context = CCtx::try_create().ok_or_else(no_memory)?;
            let parameters = [
                CParameter::CompressionLevel(level),
                CParameter::ContentSizeFlag(false),
                CParameter::DictIdFlag(false),
            ];
            for parameter in parameters {
                let set = context.set_parameter(parameter);
                set.map_err(|code| zstd_code(code, Kind::Argument))?;
            }
            self.zstd = Some((level, context));
        }
        let Some((_, context)) = &mut self.zstd else { return Err(no_memory()) };
        let result = match dictionary {
            None => context.compress2(target, page),
            Some(dictionary) => {
                let key = (dictionary.id, level);
                if self.prepared.as_ref().is_none_or(|(id, level, _)| (*id, *level) != key) {
                    let made = CDict::try_create(&dictionary.bytes, level).ok_or_else(no_memory)?;
                    self.prepared = Some((dictionary.id, level, made));
                }
                let Some((_, _, prepared)) = &self.prepared else { return Err(no_memory()) };
                context.compress_using_cdict(target, page, prepared)
            }
        };
        result.map_err(|code| zstd_code(code, Kind::Limit))
    }

    fn zlib(&mut self, level: i32, page: &[u8], target: &mut [u8]) -> Option<usize> {
        if self.zlib.as_ref().is_none_or(|(made, _)| *made != level) {
            let compression = Compression::new(u32::try_from(level).unwrap_or(6));
            self.zlib = Some((level, Compress::new(compression, true)));
        }
        let (_, zlib) = self.zlib.as_mut()?;
        zlib.reset();
        let status = zlib.compress(page, target, FlushCompress::Finish).ok()?;
        let done = status == Status::StreamEnd;
        done.then(|| usize::try_from(zlib.total_out()).ok()).flatten()
    }

    /// Decodes a payload into exactly one page.
    pub(crate) fn decode(
        &mut self,
        method: Method,
        dictionary: u16,
        dictionaries: &Dictionaries,
        payload: &[u8],
        target: &mut [u8],
    ) -> Result<(), CodecError> {
        let expected = target.len() as u64;
        let got = match method {
            Method::None => {
                if payload.len() == target.len() {
                    target.copy_from_slice(payload);
                }
                payload.len() as u64
            }
            Method::Lz4 => {
                if self.lz4_decode.is_none() {
                    let selector = Selector::new(Policy::Adaptive, kernels::isa()?, lz4::ticks);
                    self.lz4_decode = Some(selector);
                }
                if let Some(selector) = &mut self.lz4_decode {
                    selector.decode(payload, target)?;
                }
                expected
            }
            Method::Zstd => self.unzstd(dictionary, dictionaries, payload, target)? as u64,
            Method::Zlib => {
                let zlib = self.zlib_decode.get_or_insert_with(|| Decompress::new(true));
                zlib.reset(true);
                let status = zlib.decompress(payload, target, FlushDecompress::Finish);
                let ended = status.is_ok_and(|status| status == Status::StreamEnd);
                if !ended || zlib.total_in() != payload.len() as u64 {
                    return Err(CodecError::Frame { reason: "no whole zlib stream" });
                }
                zlib.total_out()
            }
        };
        if got == expected {
            return Ok(());
        }
        Err(CodecError::Size { field: "decoded page", got, min: expected, max: expected })
    }

    fn unzstd(
        &mut self,
        dictionary: u16,
        dictionaries: &Dictionaries,
        payload: &[u8],
        target: &mut [u8],
    ) -> Result<usize, CodecError> {
        let no_memory = || zstd_error("no memory for a context", Kind::Limit);
        if self.zstd_decode.is_none() {
            self.zstd_decode = Some(DCtx::try_create().ok_or_else(no_memory)?);
        }
        let context = self.zstd_decode.as_mut().ok_or_else(no_memory)?;
        let result = if dictionary == 0 {
            context.decompress(target, payload)
        } else {
            if self.opened.as_ref().is_none_or(|(id, _)| *id != dictionary) {
                let found = dictionaries.get(dictionary);
                let unknown =
                    || zstd_error("the store does not have the dictionary", Kind::Corrupt);
                let bytes = &found.ok_or_else(unknown)?.bytes;
                let made = DDict::try_create(bytes).ok_or_else(no_memory)?;
                self.opened = Some((dictionary, made));
            }
            let (_, opened) = self.opened.as_ref().ok_or_else(no_memory)?;
            context.decompress_using_ddict(target, payload, opened)
        };
        result.map_err(|code| zstd_code(code, Kind::Corrupt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_back_from_every_codec() {
        let dictionaries = Dictionaries::default();
        let mut coder = Coder::new();
        let text: Vec<u8> = b"drum, shaft, capital; ".iter().copied().cycle().take(4096).collect();
        let mut seed = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 56) as u8
        })
        .take(4096)
        .collect();
        for name in ["none", "lz4", "lz4:9", "zstd:1", "zstd:19", "zlib:1", "zlib:9"] {
            let codec: PageCodec = name.parse().unwrap();
            for (page, method) in [(&text, codec.method), (&noise, Method::None)] {
                let mut target = vec![0; Coder::bound(page.len())];
                let encoded = coder.encode(codec, None, page, 64, &mut target).unwrap();
                assert_eq!(encoded.method, method, "{name}");
                let mut back = vec![0; page.len()];
                let payload = &target[..encoded.bytes];
                coder.decode(method, 0, &dictionaries, payload, &mut back).unwrap();
                assert_eq!(&back, page);
                for cut in 0..payload.len() {
                    let cut = &payload[..cut];
                    assert!(coder.decode(method, 0, &dictionaries, cut, &mut back).is_err());
                }
            }
        }
    }
}
