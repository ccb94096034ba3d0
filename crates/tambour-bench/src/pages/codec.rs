//! The codecs without a store: what its speed is measured against.

use crate::BenchError;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use tambour_kernel::lz4::{self, Policy, Selector};
use tambour_kernel::variant::Isa;
use tambour_page::{Method, PageCodec};
use zstd_safe::{CCtx, CParameter, DCtx};

/// A codec by itself.
pub(super) struct Alone {
    codec: PageCodec,
    lz4: lz4::Encoder,
    lz4_decode: Selector,
    zstd: CCtx<'static>,
    zstd_decode: DCtx<'static>,
    zlib: Compress,
    zlib_decode: Decompress,
    target: Vec<u8>,
}

fn failed(codec: PageCodec) -> BenchError {
    BenchError::WrongOutput {
        contender: codec.to_string(),
        file: "generated pages".to_owned(),
        block: 0,
        reason: "the codec failed".to_owned(),
    }
}

impl Alone {
    pub(super) fn new(codec: PageCodec) -> Result<Self, BenchError> {
        let mut zstd = CCtx::create();
        for parameter in [
            CParameter::CompressionLevel(codec.level),
            CParameter::ContentSizeFlag(false),
            CParameter::DictIdFlag(false),
        ] {
            zstd.set_parameter(parameter).map_err(|_| failed(codec))?;
        }
        Ok(Self {
            codec,
            lz4: lz4::Encoder::new(lz4::Level::default()),
            lz4_decode: Selector::new(Policy::Adaptive, Isa::best(), lz4::ticks),
            zstd,
            zstd_decode: DCtx::create(),
            zlib: Compress::new(Compression::new(u32::try_from(codec.level).unwrap_or(6)), true),
            zlib_decode: Decompress::new(true),
            target: Vec::new(),
        })
    }

    fn encode(&mut self, page: &[u8]) -> Option<usize> {
        match self.codec.method {
            Method::None => {
                self.target[..page.len()].copy_from_slice(page);
                Some(page.len())
            }
            Method::Lz4 => self.lz4.encode(page, &mut self.target),
            Method::Zstd => self.zstd.compress2(&mut self.target[..], page).ok(),
            Method::Zlib => {
                self.zlib.reset();
                self.zlib.compress(page, &mut self.target, FlushCompress::Finish).ok()?;
                usize::try_from(self.zlib.total_out()).ok()
            }
        }
    }

    /// The payloads of all pages.
    pub(super) fn encode_all(&mut self, pages: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, BenchError> {
        let mut images = Vec::with_capacity(pages.len());
        for page in pages {
            self.target.resize(2 * page.len() + 1024, 0);
            let length = self.encode(page).ok_or_else(|| failed(self.codec))?;
            images.push(self.target[..length].to_vec());
        }
        Ok(images)
    }

    /// Decodes all payloads.
    pub(super) fn decode_all(
        &mut self,
        images: &[Vec<u8>],
        page_bytes: usize,
    ) -> Result<(), BenchError> {
        let mut page = vec![0; page_bytes];
        for image in images {
            let good = match self.codec.method {
                Method::None => {
                    page.copy_from_slice(image);
                    true
                }
                Method::Lz4 => self.lz4_decode.decode(image, &mut page).is_ok(),
                Method::Zstd => self.zstd_decode.decompress(&mut page[..], image).is_ok(),
                Method::Zlib => {
                    self.zlib_decode.reset(true);
                    let finish = FlushDecompress::Finish;
                    self.zlib_decode.decompress(image, &mut page, finish).is_ok()
                }
            };
            if !good {
                return Err(failed(self.codec));
            }
        }
        Ok(())
    }
}
