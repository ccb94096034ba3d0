//! Payloads: pages to bytes and back. Keeps contexts and scratch memory between calls; a [`Coder`] belongs to one thread.

use super::PageError;
use super::dictionary::{Dictionaries, Dictionary};
use super::options::{Method, PageCodec};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use std::sync::Arc;
use tambour_codec::{CodecError, Kind, kernels};
use tambour_kernel::lz4::{self, Policy, Prepared, SHORT_MARGIN, Selector};
use zstd_safe::{CCtx, CParameter, DCtx, DDict};

/// Encodes and decodes payloads.
pub(crate) struct Coder {
    lz4: Option<(i32, lz4::Encoder)>,
    /// Level, number of the dictionary, and what has taken it in.
    prepared: Option<(i32, u16, Prepared)>,
    lz4_decode: Option<Selector>,
    room: Option<Room>,
    company: Company,
    /// Level, and number of the dictionary that is loaded.
    zstd: Option<(i32, u16, CCtx<'static>)>,
    zstd_decode: Option<DCtx<'static>>,
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

/// The dictionary that an image names.
fn find(dictionaries: &Dictionaries, id: u16) -> Result<&Arc<Dictionary>, CodecError> {
    let reason = "the store does not have the dictionary";
    dictionaries.get(id).ok_or(CodecError::Frame { reason })
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

/// Whether LZ4 blocks are decoded faster two at a time or one after the other. That depends on what is in them, and is found
/// out by trying both, now and then again.
#[derive(Default)]
struct Company {
    groups: u32,
    /// Ticks per byte, alone and together; 0 for not known.
    costs: [f32; 2],
}

impl Company {
    /// Groups after which both are tried again, twice.
    const INTERVAL: u32 = 64;

    fn is_better(&self) -> bool {
        match self.groups % Self::INTERVAL {
            trial @ 0..4 => trial % 2 == 0,
            _ => self.costs[1] <= self.costs[0],
        }
    }

    fn learn(&mut self, together: bool, ticks: u64, bytes: usize) {
        let cost = ticks as f32 / bytes.max(1) as f32;
        let known = &mut self.costs[usize::from(together)];
        // Interruptions make costs high, nothing makes them low.
        *known = if *known == 0.0 { cost } else { known.midpoint(cost.min(1.5 * *known)) };
        self.groups = self.groups.wrapping_add(1);
    }
}

/// Highest level of LZ4 for which a dictionary is taken in once, and not for each page.
const PREPARED_LEVEL_MAX: u8 = 9;

/// A copy of a dictionary with room for a page after it: LZ4 decodes there in one loop, with no case for matches that begin in
/// the dictionary and end in the page.
struct Room {
    id: u16,
    buffer: Vec<u8>,
    start: usize,
    /// The payload, with a margin after it.
    source: Vec<u8>,
}

impl Room {
    fn new(dictionary: &Dictionary, page_bytes: usize) -> Self {
        let start = dictionary.bytes.len().min(usize::from(u16::MAX));
        let mut buffer = dictionary.bytes[dictionary.bytes.len() - start..].to_vec();
        buffer.resize(start + page_bytes + SHORT_MARGIN, 0);
        Self { id: dictionary.id, buffer, start, source: Vec::new() }
    }

    fn fits(&self, dictionary: &Dictionary, page_bytes: usize) -> bool {
        self.id == dictionary.id && self.buffer.len() == self.start + page_bytes + SHORT_MARGIN
    }

    /// Decodes a block into `target`; returns how many bytes it had, which is less than wanted if it ends too early.
    fn decode(&mut self, payload: &[u8], target: &mut [u8]) -> Result<u64, CodecError> {
        self.source.clear();
        self.source.extend_from_slice(payload);
        self.source.resize(payload.len() + SHORT_MARGIN, 0);
        let (buffer, start) = (&mut self.buffer, self.start);
        let written = lz4::decode_short(&self.source, payload.len(), buffer, start, usize::MAX)?;
        if written == target.len() {
            target.copy_from_slice(&buffer[start..start + written]);
        }
        Ok(written as u64)
    }
}

/// A payload to decode into exactly one page, and what becomes of it.
pub(crate) struct Job<'a> {
    pub(crate) method: Method,
    /// Number of the dictionary, 0 for none.
    pub(crate) dictionary: u16,
    pub(crate) payload: &'a [u8],
    pub(crate) target: &'a mut [u8],
    pub(crate) result: Result<(), CodecError>,
}

impl Coder {
    pub(crate) fn new() -> Self {
        Self {
            lz4: None,
            prepared: None,
            lz4_decode: None,
            room: None,
            company: Company::default(),
            zstd: None,
            zstd_decode: None,
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
            Method::Lz4 => self.lz4(codec.level, dictionary, page, target),
            Method::Zstd => {
                let result = self.zstd(codec.level, dictionary, page, target);
                Some(result.map_err(|cause| PageError::Codec { codec: codec.to_string(), cause })?)
            }
            Method::Zlib => self.zlib(codec.level, page, target),
        };
        if let Some(bytes) = size.filter(|size| size + gain <= page.len()) {
            let dictionary = match codec.method {
                Method::Lz4 | Method::Zstd => dictionary.map_or(0, |dictionary| dictionary.id),
                Method::None | Method::Zlib => 0,
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

    fn lz4(
        &mut self,
        level: i32,
        dictionary: Option<&Arc<Dictionary>>,
        page: &[u8],
        target: &mut [u8],
    ) -> Option<usize> {
        let quick = u8::try_from(level).ok().filter(|level| *level <= PREPARED_LEVEL_MAX);
        if let (Some(quick), Some(dictionary)) = (quick, dictionary) {
            let known =
                |(made, id, _): &(i32, u16, Prepared)| (*made, *id) == (level, dictionary.id);
            if !self.prepared.as_ref().is_some_and(known) {
                let prepared = Prepared::new(quick, &dictionary.bytes);
                self.prepared = Some((level, dictionary.id, prepared));
            }
            let (_, _, prepared) = self.prepared.as_mut()?;
            return prepared.encode(page, target);
        }
        if self.lz4.as_ref().is_none_or(|(made, _)| *made != level) {
            let effort = match u8::try_from(level) {
                Ok(level) if level >= lz4::Level::HIGH_MIN => lz4::Level::High(level),
                _ => lz4::Level::default(),
            };
            self.lz4 = Some((level, lz4::Encoder::new(effort)));
        }
        let (_, encoder) = self.lz4.as_mut()?;
        match dictionary {
            None => encoder.encode(page, target),
            Some(dictionary) => encoder.encode_with_dictionary(&dictionary.bytes, page, target),
        }
    }

    fn zstd(
        &mut self,
        level: i32,
        dictionary: Option<&Arc<Dictionary>>,
        page: &[u8],
        target: &mut [u8],
    ) -> Result<usize, CodecError> {
        let no_memory = || zstd_error("no memory for a context", Kind::Limit);
        let wrong = |code| zstd_code(code, Kind::Argument);
        if self.zstd.as_ref().is_none_or(|(made, _, _)| *made != level) {
            let mut context = CCtx::try_create().ok_or_else(no_memory)?;
            // The header of the image says all of it.
            let parameters = [
                CParameter::CompressionLevel(level),
                CParameter::ContentSizeFlag(false),
                CParameter::DictIdFlag(false),
            ];
            for parameter in parameters {
                context.set_parameter(parameter).map_err(wrong)?;
            }
            self.zstd = Some((level, 0, context));
        }
        let Some((_, loaded, context)) = &mut self.zstd else { return Err(no_memory()) };
        let id = dictionary.map_or(0, |dictionary| dictionary.id);
        if *loaded != id {
            let bytes = dictionary.map_or(&[][..], |dictionary| &dictionary.bytes);
            context.load_dictionary(bytes).map_err(wrong)?;
            *loaded = id;
        }
        context.compress2(target, page).map_err(|code| zstd_code(code, Kind::Limit))
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
            Method::Lz4 if dictionary == 0 => {
                self.selector()?.decode(payload, target)?;
                expected
            }
            Method::Lz4 => {
                let dictionary = find(dictionaries, dictionary)?;
                let known = self.room.take().filter(|room| room.fits(dictionary, target.len()));
                let room = known.unwrap_or_else(|| Room::new(dictionary, target.len()));
                self.room.insert(room).decode(payload, target)?
            }
            Method::Zstd => self.unzstd(dictionary, dictionaries, payload, target)? as u64,
            Method::Zlib => {
                let zlib = self.zlib_decode.get_or_insert_with(|| Decompress::new(true));
                zlib.reset(true);
                let status = zlib.decompress(payload, target, FlushDecompress::Finish);
                let ended = status.is_ok_and(|status| status == Status::StreamEnd);
                if !ended || zlib.total_in() != payload.len() as u64 {
                    return Err(CodecError::Frame { reason: "not a complete zlib stream" });
                }
                zlib.total_out()
            }
        };
        if got == expected {
            return Ok(());
        }
        Err(CodecError::Size { field: "decoded page", got, min: expected, max: expected })
    }

    fn selector(&mut self) -> Result<&mut Selector, CodecError> {
        match &mut self.lz4_decode {
            Some(selector) => Ok(selector),
            none => {
                let selector = Selector::new(Policy::Adaptive, kernels::isa()?, lz4::ticks);
                Ok(none.insert(selector))
            }
        }
    }

    /// Decodes several payloads: what LZ4 has encoded two at a time, which is faster than one after the other.
    pub(crate) fn decode_all<'a, 'b: 'a>(
        &mut self,
        jobs: impl Iterator<Item = &'a mut Job<'b>>,
        dictionaries: &Dictionaries,
    ) {
        let mut blocks = Vec::new();
        let mut results = Vec::new();
        for job in jobs {
            let plain = job.method == Method::Lz4 && job.dictionary == 0;
            if plain && self.selector().is_ok() {
                blocks.push(lz4::Block::new(job.payload, job.target));
                results.push(&mut job.result);
            } else {
                let (method, dictionary) = (job.method, job.dictionary);
                job.result = self.decode(method, dictionary, dictionaries, job.payload, job.target);
            }
        }
        if blocks.is_empty() {
            return;
        }
        let together = self.company.is_better();
        let bytes: usize = blocks.iter().map(|block| block.target.len()).sum();
        let start = lz4::ticks();
        if let Ok(selector) = self.selector() {
            if together {
                selector.decode_batch(&mut blocks);
            } else {
                for block in &mut blocks {
                    block.result = selector.decode(block.source, block.target);
                }
            }
        }
        self.company.learn(together, lz4::ticks().wrapping_sub(start), bytes);
        for (block, result) in blocks.iter().zip(results) {
            *result = block.result.map_err(CodecError::from);
        }
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
                let bytes = &find(dictionaries, dictionary)?.bytes;
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
    fn pages_come_back_behind_a_dictionary_and_not_without() {
        let bytes: Vec<u8> =
            (0..9000_u32).flat_map(|k| k.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let page = bytes[1000..1000 + 4096].to_vec();
        for bytes in [bytes.clone(), bytes.repeat(4)] {
            let dictionary = Arc::new(Dictionary { id: 3, bytes: bytes.clone() });
            let mut dictionaries = Dictionaries::default();
            dictionaries.add(Dictionary { id: 3, bytes });
            for name in ["lz4", "lz4:9", "zstd:1", "zstd:9"] {
                let mut coder = Coder::new();
                let codec: PageCodec = name.parse().unwrap();
                let mut target = vec![0; Coder::bound(page.len())];
                let with = coder.encode(codec, Some(&dictionary), &page, 64, &mut target).unwrap();
                assert_eq!((with.method, with.dictionary), (codec.method, 3), "{name}");
                let payload = &target[..with.bytes];
                assert!(payload.len() < 300, "{name}: {}", payload.len());
                let mut back = vec![0; page.len()];
                coder.decode(codec.method, 3, &dictionaries, payload, &mut back).unwrap();
                assert_eq!(back, page);
                for cut in 0..payload.len() {
                    let cut = &payload[..cut];
                    assert!(coder.decode(codec.method, 3, &dictionaries, cut, &mut back).is_err());
                }
                for id in 1..=3 {
                    // Pages of another length, and another dictionary, take the place of what the coder keeps.
                    let mut longer = vec![0; page.len() + 1];
                    assert!(
                        coder
                            .decode(codec.method, id, &dictionaries, payload, &mut longer)
                            .is_err()
                    );
                }
                coder.decode(codec.method, 3, &dictionaries, payload, &mut back).unwrap();
                assert_eq!(back, page);
                for (id, known) in [(0, &dictionaries), (3, &Dictionaries::default())] {
                    let mut other = Coder::new();
                    assert!(other.decode(codec.method, id, known, payload, &mut back).is_err());
                }
                // The dictionary is not left behind in the context.
                let mut target = vec![0; Coder::bound(page.len())];
                let without = coder.encode(codec, None, &page, 64, &mut target).unwrap();
                assert_eq!((without.method, without.dictionary), (Method::None, 0));
            }
        }
    }

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
