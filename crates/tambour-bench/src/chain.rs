//! Chains of codecs on streams of values: what they store, and loops that encode and decode it.

use crate::BenchError;
use crate::measure::wrong;
use crate::race::{Runner, Work};
use std::rc::Rc;
use tambour_codec::block::{Block, Decoder, Encoder};
use tambour_codec::choose;
use tambour_codec::codec::Element;
use tambour_codec::kernels;
use tambour_codec::spec::CodecSpec;
use tambour_kernel::variant::Isa;
use tambour_report::Tone;

/// The blocks that a chain makes of streams.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) spec: CodecSpec,
    column: String,
    blocks: Rc<Vec<Vec<u8>>>,
}

impl Chain {
    /// Encodes streams in blocks, as the choice cuts them; each has a chain of its own.
    pub(crate) fn new<'a>(
        spec: CodecSpec,
        column: &str,
        streams: impl IntoIterator<Item = (CodecSpec, Element, &'a [u8])>,
    ) -> Result<Self, BenchError> {
        let mut blocks = Vec::new();
        for (own, element, bytes) in streams {
            let mut encoder =
                Encoder::new(&own, element).map_err(|error| failed(&own, column, &error))?;
            for source in cut(bytes, element) {
                let mut target = Vec::new();
                encoder
                    .encode(source, &mut target)
                    .map_err(|error| failed(&own, column, &error))?;
                blocks.push(target);
            }
        }
        Ok(Self { spec, column: column.to_owned(), blocks: Rc::new(blocks) })
    }

    /// Bytes of all blocks, with their headers.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// An error if decoding at a level does not give the sources back.
    pub(crate) fn check<'a>(
        &self,
        isa: Isa,
        mut sources: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), BenchError> {
        let mut target = Vec::new();
        let is_right = kernels::at_most(isa, || {
            let mut decoder = Decoder::new();
            self.blocks.iter().all(|block| {
                target.clear();
                let decoded = Block::parse(block)
                    .and_then(|parsed| decoder.decode_append(&parsed, &mut target));
                decoded.is_ok() && sources.next() == Some(&target[..])
            })
        });
        if is_right && sources.next().is_none() {
            return Ok(());
        }
        Err(wrong(format!("CODEC({}), {isa}", self.spec), &self.column))
    }

    /// Decodes all blocks at a level, into a buffer that begins anew when it is full. The checksum costs every chain the same
    /// per stored byte, and is part of reading.
    pub(crate) fn decoding(&self, isa: Isa, room: usize) -> Runner<'static> {
        let blocks = Rc::clone(&self.blocks);
        let (mut decoder, mut target) = (kernels::at_most(isa, Decoder::new), vec![0; room]);
        self.runner(Box::new(move || {
            let mut start = 0;
            let mut decode = |block: &Vec<u8>| {
                let decoded = Block::parse(block).and_then(|block| {
                    let size = block.header.uncompressed_size as usize;
                    let from = if start + size > room { 0 } else { start };
                    start = from + size;
                    decoder.decode(&block, &mut target[from..start])
                });
                decoded.is_ok()
            };
            let good = kernels::at_most(isa, || blocks.iter().all(&mut decode));
            std::hint::black_box(&target);
            good
        }))
    }

    /// Encodes a stream.
    pub(crate) fn encoding<'a>(
        &self,
        element: Element,
        source: &'a [u8],
    ) -> Result<Runner<'a>, BenchError> {
        let mut encoder = Encoder::new(&self.spec, element)
            .map_err(|error| failed(&self.spec, &self.column, &error))?;
        let mut target = Vec::new();
        Ok(self.runner(Box::new(move || {
            let good = cut(source, element).all(|block| {
                target.clear();
                encoder.encode(block, &mut target).is_ok()
            });
            std::hint::black_box(&target);
            good
        })))
    }

    fn runner<'a>(&self, work: Work<'a>) -> Runner<'a> {
        Runner { name: self.spec.to_string(), tone: Tone::First, bits: None, works: vec![work] }
    }
}

/// A stream in blocks, as the choice cuts it.
pub(crate) fn cut(stream: &[u8], element: Element) -> impl Iterator<Item = &[u8]> {
    stream.chunks(choose::block_bytes(element).0)
}

fn failed(spec: &CodecSpec, column: &str, error: &tambour_codec::CodecError) -> BenchError {
    BenchError::Library {
        contender: format!("CODEC({spec}) on {column}"),
        reason: error.to_string(),
    }
}
