//! A file of blocks, walked over from its start.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use tambour::Place;
use tambour::codec::CodecError;
use tambour::codec::block::{Block, Decoder, HASH_BYTES, HEADER_BYTES, Header};
use tambour::codec::codec::method_name;
use tambour::part::PartError;

const PREFIX_BYTES: usize = HASH_BYTES + HEADER_BYTES;
/// Method byte of a chain: its payload begins with the number of codecs and their method bytes.
const MULTIPLE: u8 = 0x91;

/// How closely blocks are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Checksums are verified.
    Checksums,
    /// Payloads are decoded as well.
    Contents,
}

/// One block, or what is left of it.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Where it starts in the file.
    pub(crate) offset: u64,
    /// Its header.
    pub(crate) header: Header,
    /// The method's name; for a chain the names of its codecs.
    pub(crate) codec: String,
    /// What is wrong with it.
    pub(crate) damage: Option<PartError>,
}

/// Walks over the blocks of a file. Ends at the first header that cannot be read, since nothing tells where the next is.
#[derive(Debug)]
pub(crate) struct BlockFile {
    path: PathBuf,
    file: BufReader<File>,
    length: u64,
    offset: u64,
    depth: Depth,
    decoder: Decoder,
    block: Vec<u8>,
    contents: Vec<u8>,
}

impl BlockFile {
    /// Opens a file.
    pub(crate) fn open(path: &Path, depth: Depth) -> Result<Self, PartError> {
        let io = |operation| move |cause| PartError::io(path, operation, cause);
        let file = File::open(path).map_err(io("open"))?;
        let length = file.metadata().map_err(io("open"))?.len();
        Ok(Self {
            path: path.to_owned(),
            file: BufReader::with_capacity(1 << 16, file),
            length,
            offset: 0,
            depth,
            decoder: Decoder::new(),
            block: Vec::new(),
            contents: Vec::new(),
        })
    }

    /// Bytes of the file.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The payload of the block that came last.
    pub(crate) fn payload(&self) -> &[u8] {
        self.block.get(PREFIX_BYTES..).unwrap_or_default()
    }

    fn damage(&self, cause: CodecError) -> PartError {
        PartError::Block { place: Box::new(Place::file(&self.path).at(self.offset)), cause }
    }

    fn io(&self, cause: std::io::Error) -> PartError {
        let place = Box::new(Place::file(&self.path).at(self.offset));
        PartError::Io { place, operation: "read", cause }
    }

    fn read(&mut self) -> Result<Entry, PartError> {
        let left = self.length - self.offset;
        self.block.clear();
        self.fill(PREFIX_BYTES.min(usize::try_from(left).unwrap_or(PREFIX_BYTES)))?;
        let header = Header::parse(&self.block).map_err(|cause| self.damage(cause))?;
        let needed = header.block_bytes();
        if needed as u64 > left {
            let got = usize::try_from(left).unwrap_or(usize::MAX);
            return Err(self.damage(CodecError::Truncated { needed, got }));
        }
        self.fill(needed - PREFIX_BYTES)?;
        let codec = codec_name(header.method, self.payload());
        let damage = self.check().err().map(|cause| self.damage(cause));
        let entry = Entry { offset: self.offset, header, codec, damage };
        self.offset += needed as u64;
        Ok(entry)
    }

    /// Appends this many bytes of the file to the block.
    fn fill(&mut self, count: usize) -> Result<(), PartError> {
        let start = self.block.len();
        self.block.resize(start + count, 0);
        let target = self.block.get_mut(start..).unwrap_or_default();
        self.file.read_exact(target).map_err(|cause| self.io(cause))
    }

    fn check(&mut self) -> Result<(), CodecError> {
        let block = Block::parse(&self.block)?;
        if self.depth == Depth::Contents {
            self.contents.clear();
            self.decoder.decode_append(&block, &mut self.contents)?;
        }
        Ok(())
    }
}

impl Iterator for BlockFile {
    type Item = Result<Entry, PartError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.length {
            return None;
        }
        let entry = self.read();
        if entry.is_err() {
            self.offset = self.length;
        }
        Some(entry)
    }
}

/// The name of a method; for a chain the names of its codecs, in the order of writing.
fn codec_name(method: u8, payload: &[u8]) -> String {
    if method != MULTIPLE {
        return method_name(method).to_owned();
    }
    let count = payload.first().map_or(0, |count| usize::from(*count));
    let methods = payload.get(1..=count).unwrap_or_default();
    let names: Vec<&str> = methods.iter().map(|method| method_name(*method)).collect();
    names.join(", ")
}
