//! Streams of messages on plain readers and writers: the frames of [`FrameCodec`], without tokio.

use crate::{FrameCodec, MessageError};
use bytes::BytesMut;
use std::io::{Read, Write};
use tokio_util::codec::{Decoder, Encoder};

/// Read at once.
const PIECE_BYTES: usize = 64 << 10;

/// Reads messages.
#[derive(Debug)]
pub struct MessageReader<R> {
    source: R,
    codec: FrameCodec,
    input: BytesMut,
    piece: Vec<u8>,
}

impl<R: Read> MessageReader<R> {
    /// Reads frames from `source`.
    pub fn new(source: R, codec: FrameCodec) -> Self {
        Self { source, codec, input: BytesMut::new(), piece: vec![0; PIECE_BYTES] }
    }

    /// The next message; `None` at the end.
    pub fn read(&mut self) -> Result<Option<Vec<u8>>, MessageError> {
        loop {
            if let Some(message) = self.codec.decode(&mut self.input)? {
                return Ok(Some(message));
            }
            match self.source.read(&mut self.piece) {
                Ok(0) => return self.codec.decode_eof(&mut self.input),
                Ok(count) => self.input.extend_from_slice(&self.piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Writes messages.
#[derive(Debug)]
pub struct MessageWriter<W> {
    target: W,
    codec: FrameCodec,
    output: BytesMut,
    written: u64,
}

impl<W: Write> MessageWriter<W> {
    /// Writes frames to `target`.
    pub fn new(target: W, codec: FrameCodec) -> Self {
        Self { target, codec, output: BytesMut::new(), written: 0 }
    }

    /// Writes a message.
    pub fn write(&mut self, message: &[u8]) -> Result<(), MessageError> {
        self.output.clear();
        self.codec.encode(message, &mut self.output)?;
        self.written += self.output.len() as u64;
        Ok(self.target.write_all(&self.output)?)
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Flushes; gives the target back.
    pub fn finish(mut self) -> Result<W, MessageError> {
        self.target.flush()?;
        Ok(self.target)
    }
}
