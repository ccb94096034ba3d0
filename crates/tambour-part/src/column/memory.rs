//! Streams in memory: for values in single form, and for tests.

use super::{Sinks, Source, Sources, StreamName};
use crate::{PartError, Place};
use arrow_buffer::Buffer;
use std::collections::HashMap;

/// A stream that lies in memory as a number of blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct MemorySource {
    blocks: Vec<Buffer>,
    block: usize,
    at: usize,
}

impl MemorySource {
    /// A stream of one block.
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self::cut(bytes, &[])
    }

    /// A stream that is cut into blocks of these sizes, over and over; zeros make empty blocks.
    pub(super) fn cut(bytes: &[u8], sizes: &[usize]) -> Self {
        let mut blocks = Vec::new();
        let mut rest = bytes;
        let mut sizes =
            sizes.iter().copied().filter(|_| sizes.iter().any(|&size| size > 0)).cycle();
        while !rest.is_empty() {
            let (block, after) = rest.split_at(sizes.next().unwrap_or(usize::MAX).min(rest.len()));
            blocks.push(Buffer::from(block));
            rest = after;
        }
        Self { blocks, block: 0, at: 0 }
    }

    /// Bytes that were not read.
    #[cfg(test)]
    pub(super) fn remaining(&self) -> usize {
        self.blocks.iter().skip(self.block).map(Buffer::len).sum::<usize>() - self.at
    }
}

impl Source for MemorySource {
    fn read_exact(&mut self, target: &mut [u8]) -> Result<(), PartError> {
        let mut rest = target;
        while !rest.is_empty() {
            let step = match self.block()? {
                Some((block, at)) => {
                    let bytes = &block.as_slice()[at..];
                    let step = bytes.len().min(rest.len());
                    rest[..step].copy_from_slice(&bytes[..step]);
                    step
                }
                None => return Err(self.corrupt("the stream ends too early")),
            };
            self.consume(step);
            rest = &mut rest[step..];
        }
        Ok(())
    }

    fn block(&mut self) -> Result<Option<(&Buffer, usize)>, PartError> {
        while self.blocks.get(self.block).is_some_and(|block| self.at == block.len()) {
            self.block += 1;
            self.at = 0;
        }
        Ok(self.blocks.get(self.block).map(|block| (block, self.at)))
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }

    fn corrupt(&self, reason: &str) -> PartError {
        let before: usize = self.blocks.iter().take(self.block).map(Buffer::len).sum();
        PartError::malformed(Place::default().at((before + self.at) as u64), reason.to_owned())
    }
}

/// Streams in memory, by name. A stream that is not there is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct MemorySources {
    streams: HashMap<StreamName, MemorySource>,
}

impl MemorySources {
    /// Adds a stream.
    pub(super) fn insert(&mut self, name: StreamName, source: MemorySource) {
        self.streams.insert(name, source);
    }
}

impl Sources for MemorySources {
    fn stream(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        Ok(self.streams.entry(name.clone()).or_default())
    }

    fn dictionary(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        self.stream(name)
    }
}

/// Takes streams in memory, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct MemorySinks {
    /// What was written, by name of the stream.
    pub(super) streams: HashMap<StreamName, Vec<u8>>,
}

impl Sinks for MemorySinks {
    fn stream(&mut self, name: &StreamName) -> &mut Vec<u8> {
        self.streams.entry(name.clone()).or_default()
    }
}
