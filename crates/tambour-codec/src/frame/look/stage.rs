//! The payload of a ClickHouse block, codec by codec: what stands in the file first, then on request what is inside of that.

use crate::block::{HEADER_BYTES, Header};
use crate::codec::{Budget, Chain, Decoders, Inner, Inside, Payload, family, split};
use crate::{CodecError, Kind};

/// How closely to look into blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct StageOptions {
    /// Decode the sequences of LZ4 and zstd.
    pub sequences: bool,
    /// Of a chain look also into the codecs that were applied before the last one. All that came after them is decoded.
    pub inner: bool,
}

/// What a block is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stages {
    /// Method bytes in the order of application: one, or those of a chain.
    pub methods: Vec<u8>,
    /// Bytes in front of the outermost payload: the list of a chain, and the header after it.
    pub chain_bytes: usize,
    /// What was looked into: the codec that was applied last comes first, since its payload is what is stored.
    pub stages: Vec<Stage>,
}

/// The payload of one codec.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The method byte.
    pub method: u8,
    /// Bytes of the payload.
    pub stored_bytes: usize,
    /// Bytes that it decodes to.
    pub content_bytes: usize,
    /// What is in it.
    pub inside: Inside,
}

/// Looks into blocks. Keeps contexts and memory from one to the next.
#[derive(Debug, Default)]
pub struct StageLook {
    decoders: Decoders,
    between: [Vec<u8>; 2],
}

impl StageLook {
    /// Looks into a block. The second value is what is wrong with it, if anything is; the first has what was understood up to
    /// there. A codec that this version does not know is not a fault.
    ///
    /// ```
    /// use tambour_codec::block::{Block, Encoder};
    /// use tambour_codec::codec::{Class, Element, Fact, Inside};
    /// use tambour_codec::frame::look::{StageLook, StageOptions};
    ///
    /// let mut stream = Vec::new();
    /// let integers = Element { width: 4, class: Class::Unsigned };
    /// let values: Vec<u8> = (7..4007_u32).flat_map(u32::to_le_bytes).collect();
    /// Encoder::new(&"Delta, LZ4".parse()?, integers)?.encode(&values, &mut stream)?;
    ///
    /// let block = Block::parse(&stream)?;
    /// let options = StageOptions { sequences: true, inner: true };
    /// let (found, fault) = StageLook::default().look(&block.header, block.payload, options);
    /// assert!(fault.is_none());
    /// let [lz4, delta] = &found.stages[..] else { panic!("two codecs") };
    /// assert!(matches!(&lz4.inside, Inside::Lz4(lz4) if lz4.each.len() == lz4.sequences));
    /// let Inside::Values(delta) = &delta.inside else { panic!("a codec for values") };
    /// assert_eq!((delta.width, delta.count), (4, 4000));
    /// assert_eq!(delta.facts, [("first", Fact::Unsigned(7))]);
    /// # Ok::<(), tambour_codec::CodecError>(())
    /// ```
    pub fn look(
        &mut self,
        header: &Header,
        payload: &[u8],
        options: StageOptions,
    ) -> (Stages, Option<CodecError>) {
        let mut found = Stages { methods: vec![header.method], ..Stages::default() };
        let content_bytes = header.uncompressed_size as usize;
        let result = if header.method == Chain::METHOD {
            self.chain(payload, content_bytes, options, &mut found)
        } else {
            found.add(header.method, payload, content_bytes, options)
        };
        // What is not known is not wrong.
        (found, result.err().filter(|error| error.kind() != Kind::Unsupported))
    }

    fn chain(
        &mut self,
        payload: &[u8],
        content_bytes: usize,
        options: StageOptions,
        found: &mut Stages,
    ) -> Result<(), CodecError> {
        let (methods, body) = split(payload)?;
        found.methods = methods.to_vec();
        let at = 1 + methods.len();
        let mut budget = Budget::new(content_bytes);
        let Self { decoders, between: [current, next] } = self;
        let mut body = body;
        for (left, &method) in methods.iter().enumerate().rev() {
            let Inner { uncompressed_size, payload } = Inner::parse(method, body, at)?;
            let size = uncompressed_size as usize;
            if found.stages.is_empty() {
                found.chain_bytes = at + HEADER_BYTES;
            }
            found.add(method, payload, size, options)?;
            if left == 0 && size != content_bytes {
                let reason = "an inner size that is not the block's";
                return Err(CodecError::Payload { codec: "Multiple", at, reason });
            }
            if left == 0 || !options.inner {
                break;
            }
            budget.take(uncompressed_size)?;
            next.clear();
            next.resize(size, 0);
            decoders.get(method)?.decode(payload, next)?;
            std::mem::swap(current, next);
            body = current;
        }
        Ok(())
    }
}

impl Stages {
    fn add(
        &mut self,
        method: u8,
        bytes: &[u8],
        content_bytes: usize,
        options: StageOptions,
    ) -> Result<(), CodecError> {
        let mut inside = Inside::Opaque;
        let payload = Payload { bytes, content_bytes, sequences: options.sequences };
        let result = family(method).and_then(|family| (family.explain)(&payload, &mut inside));
        if result.as_ref().is_err_and(|error| error.kind() == Kind::Unsupported) {
            inside = Inside::Opaque;
        }
        self.stages.push(Stage { method, stored_bytes: bytes.len(), content_bytes, inside });
        result
    }
}
