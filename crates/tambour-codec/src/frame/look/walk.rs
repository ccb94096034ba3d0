//! The walk over a stream: frames, their blocks, their ends.

use super::bits::Fault;
use super::zstd::{self, BlockHeader, Closely, State, ZstdHeader};
use super::{Block, BlockData, End, Event, Frame, FrameKind, LookOptions, Lz4Header, lz4};
use crate::frame::ends::Source;
use crate::frame::lz4::{
    Descriptor, LEGACY_BLOCK_BYTES, LEGACY_MAGIC, MAGIC, STORED, WINDOW_BYTES, hash, is_skippable,
};
use crate::frame::{FrameError, zstd as format};
use std::io::Read;

/// Walks over the frames of a stream to its end. After an error nothing more comes.
#[derive(Debug)]
pub struct Look<'a> {
    source: Source<'a>,
    options: LookOptions<'a>,
    part: Part,
    blocks: u64,
    /// Content of the frame so far, as long as it is known.
    content: Option<u64>,
    state: State,
    buffer: Vec<u8>,
}

/// Where the walk is.
#[derive(Clone, Debug)]
enum Part {
    Between,
    Zstd { start: u64, header: ZstdHeader },
    ZstdEnd { start: u64, header: ZstdHeader },
    Lz4 { start: u64, header: Lz4Header },
    Legacy { start: u64 },
    Skippable { start: u64, bytes: u32 },
    Over,
}

impl<'a> Look<'a> {
    /// A walk from here to the end of the input.
    pub fn new(input: &'a mut dyn Read, options: LookOptions<'a>) -> Self {
        let source = Source::new(input);
        let (state, buffer) = (State::default(), Vec::new());
        Self { source, options, part: Part::Between, blocks: 0, content: Some(0), state, buffer }
    }

    /// The stored bytes of the compressed block that came last, without header and checksum.
    pub fn stored(&self) -> &[u8] {
        &self.buffer
    }

    fn step(&mut self) -> Result<Option<Event>, FrameError> {
        match self.part.clone() {
            Part::Between => self.between(),
            Part::Zstd { start, header } => self.zstd_block(start, header).map(Some),
            Part::ZstdEnd { start, header } => self.zstd_end(start, &header).map(Some),
            Part::Lz4 { start, header } => self.lz4_block(start, header).map(Some),
            Part::Legacy { start } => self.legacy_block(start).map(Some),
            Part::Skippable { start, bytes } => {
                self.source.skip(u64::from(bytes), "skippable frame", start)?;
                Ok(Some(self.end(None)))
            }
            Part::Over => Ok(None),
        }
    }

    fn between(&mut self) -> Result<Option<Event>, FrameError> {
        let start = self.source.offset();
        let Some(magic) = self.source.magic()? else {
            self.part = Part::Over;
            return Ok(None);
        };
        (self.blocks, self.content) = (0, Some(0));
        let kind = if magic == format::MAGIC {
            let header = ZstdHeader::read(&mut self.source, start)?;
            self.begin_zstd(start, &header)?;
            self.part = Part::Zstd { start, header };
            FrameKind::Zstd(header)
        } else if magic == MAGIC {
            let header = Lz4Header::from(Descriptor::read(&mut self.source, start)?);
            self.part = Part::Lz4 { start, header };
            FrameKind::Lz4(header)
        } else if magic == LEGACY_MAGIC {
            self.part = Part::Legacy { start };
            FrameKind::Legacy
        } else if is_skippable(magic) {
            let bytes = u32::from_le_bytes(self.source.array("skippable frame", start)?);
            self.part = Part::Skippable { start, bytes };
            FrameKind::Skippable { variant: magic.to_le_bytes()[0] & 15, bytes }
        } else {
            return Err(FrameError::Magic { offset: start, got: magic });
        };
        Ok(Some(Event::Frame(Frame { offset: start, kind })))
    }

    /// Gets what the dictionary has for a frame. To look at headers, none is needed.
    fn begin_zstd(&mut self, start: u64, header: &ZstdHeader) -> Result<(), FrameError> {
        let dictionary = self.options.dictionary;
        if let Some(id) = header.dictionary
            && self.options.sequences
            && dictionary.and_then(|dictionary| dictionary.id) != Some(id)
        {
            return Err(FrameError::Dictionary { offset: start, id });
        }
        self.state = State::new(dictionary);
        Ok(())
    }

    fn event(&mut self, offset: u64, content_bytes: Option<u64>, data: BlockData) -> Block {
        self.blocks += 1;
        self.content = self.content.zip(content_bytes).map(|(sum, bytes)| sum + bytes);
        let stored_bytes = self.source.offset() - offset;
        Block { offset, stored_bytes, content_bytes, data, checksum: None }
    }

    fn end(&mut self, checksum: Option<u32>) -> Event {
        self.part = Part::Between;
        let (blocks, content_bytes) = (self.blocks, self.content);
        Event::End(End { offset: self.source.offset(), blocks, content_bytes, checksum })
    }

    fn read_block(&mut self, size: usize, offset: u64) -> Result<(), FrameError> {
        self.buffer.clear();
        self.source.append(size, &mut self.buffer, "block", offset)
    }

    fn zstd_block(&mut self, start: u64, header: ZstdHeader) -> Result<Event, FrameError> {
        let offset = self.source.offset();
        let BlockHeader { last, kind, size } = BlockHeader::read(&mut self.source, start)?;
        let max = header.block_max();
        if size > max {
            let (got, max) = (size as u64, max as u64);
            return Err(FrameError::Size { what: "block size", offset, got, max });
        }
        let (content, data) = match kind {
            0 => {
                self.source.skip(size as u64, "block", offset)?;
                (Some(size as u64), BlockData::Raw)
            }
            1 => {
                let [byte] = self.source.array("block", offset)?;
                (Some(size as u64), BlockData::Run(byte))
            }
            2 => self.compressed(size, offset, max)?,
            _ => {
                let reason = "its type is reserved";
                return Err(FrameError::Malformed { what: "zstd block", offset, reason });
            }
        };
        if kind < 2 {
            self.state.reach += size as u64;
        }
        if last {
            self.part = Part::ZstdEnd { start, header };
        }
        let block = self.event(offset, content, data);
        if let (Some(expected), Some(got)) = (header.content_bytes, self.content)
            && got > expected
        {
            return Err(FrameError::ContentSize { offset: start, expected, got });
        }
        Ok(Event::Block(block))
    }

    fn compressed(
        &mut self,
        size: usize,
        offset: u64,
        max: usize,
    ) -> Result<(Option<u64>, BlockData), FrameError> {
        self.read_block(size, offset)?;
        let LookOptions { sequences, literals, .. } = self.options;
        let closely = Closely { sequences: sequences || literals, literals };
        let block = zstd::look(&self.buffer, max, &mut self.state, closely)
            .map_err(|fault| malformed("zstd block", offset + 3, fault))?;
        let content = block.inside.as_ref().map(|inside| inside.content_bytes as u64);
        Ok((content, BlockData::Zstd(Box::new(block))))
    }

    fn zstd_end(&mut self, start: u64, header: &ZstdHeader) -> Result<Event, FrameError> {
        if let (Some(expected), Some(got)) = (header.content_bytes, self.content)
            && got != expected
        {
            return Err(FrameError::ContentSize { offset: start, expected, got });
        }
        let mut checksum = None;
        if header.checksum {
            checksum = Some(u32::from_le_bytes(self.source.array("zstd frame", start)?));
        }
        Ok(self.end(checksum))
    }

    fn lz4_block(&mut self, start: u64, header: Lz4Header) -> Result<Event, FrameError> {
        let offset = self.source.offset();
        let field = u32::from_le_bytes(self.source.array("frame", start)?);
        if field == 0 {
            return self.lz4_end(start, &header);
        }
        let size = (field & !STORED) as usize;
        let max = header.block_bytes_max;
        if size > max {
            let (got, max) = (size as u64, max as u64);
            return Err(FrameError::Size { what: "block size", offset, got, max });
        }
        self.read_block(size, offset)?;
        let mut checksum = None;
        if header.block_checksums {
            let expected = u32::from_le_bytes(self.source.array("block", offset)?);
            checksum = Some(expected == hash(&self.buffer));
        }
        let mut block = if field & STORED != 0 {
            self.event(offset, Some(size as u64), BlockData::Raw)
        } else {
            // Without the dictionary, what lies before the content is taken to be long enough.
            let before = if header.dictionary.is_some() { u64::MAX } else { self.reach(&header) };
            let reach =
                usize::try_from(before).map_or(WINDOW_BYTES, |reach| reach.min(WINDOW_BYTES));
            self.lz4_data(offset + 4, offset, max, reach)?
        };
        block.checksum = checksum;
        Ok(Event::Block(block))
    }

    /// How far matches of the next block may reach before it.
    fn reach(&self, header: &Lz4Header) -> u64 {
        let dictionary = self.options.dictionary.map_or(0, |dictionary| dictionary.content.len());
        let content = if header.independent { Some(0) } else { self.content };
        content.unwrap_or(u64::MAX).saturating_add(dictionary as u64)
    }

    /// The block in the buffer, whose data begin at `at`.
    fn lz4_data(
        &mut self,
        at: u64,
        offset: u64,
        max: usize,
        reach: usize,
    ) -> Result<Block, FrameError> {
        let found = lz4::look(&self.buffer, max, reach, self.options.sequences, &mut |_| {})
            .map_err(|fault| malformed("LZ4 block", at, fault))?;
        let content = found.content_bytes() as u64;
        Ok(self.event(offset, Some(content), BlockData::Lz4(found)))
    }

    fn lz4_end(&mut self, start: u64, header: &Lz4Header) -> Result<Event, FrameError> {
        if let (Some(expected), Some(got)) = (header.content_bytes, self.content)
            && got != expected
        {
            return Err(FrameError::ContentSize { offset: start, expected, got });
        }
        let mut checksum = None;
        if header.content_checksum {
            checksum = Some(u32::from_le_bytes(self.source.array("frame", start)?));
        }
        Ok(self.end(checksum))
    }

    fn legacy_block(&mut self, start: u64) -> Result<Event, FrameError> {
        let offset = self.source.offset();
        let max = tambour_kernel::lz4::bound(LEGACY_BLOCK_BYTES);
        match self.source.magic()? {
            Some(size) if size as usize <= max => {
                self.read_block(size as usize, offset)?;
                let block = self.lz4_data(offset + 4, offset, LEGACY_BLOCK_BYTES, 0)?;
                Ok(Event::Block(block))
            }
            Some(magic) if self.blocks == 0 && !is_magic(magic) => {
                let (got, max) = (u64::from(magic), max as u64);
                Err(FrameError::Size { what: "block size", offset: start, got, max })
            }
            magic => {
                if let Some(magic) = magic {
                    self.source.give_back(magic);
                }
                Ok(self.end(None))
            }
        }
    }
}

fn is_magic(number: u32) -> bool {
    [format::MAGIC, MAGIC, LEGACY_MAGIC].contains(&number) || is_skippable(number)
}

fn malformed(what: &'static str, start: u64, fault: Fault) -> FrameError {
    FrameError::Malformed { what, offset: start + fault.at as u64, reason: fault.reason }
}

impl Iterator for Look<'_> {
    type Item = Result<Event, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.part = Part::Over;
        }
        step.transpose()
    }
}
