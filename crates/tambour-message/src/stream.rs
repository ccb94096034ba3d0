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
///
/// ```
/// # use tambour_message::{Dictionary, MessageCodec, Scratch, Trainer};
/// # let mut trainer = Trainer::default();
/// # for i in 0..200 {
/// #     trainer.add(format!("get:{i} ok").as_bytes())?;
/// # }
/// # let dictionary = trainer.train()?;
/// # use std::sync::Arc;
/// use tambour_message::{FrameCodec, MessageReader, MessageWriter};
/// let codec = Arc::new(MessageCodec::new(1, dictionary));
/// let mut writer = MessageWriter::new(Vec::new(), FrameCodec::with_pins(Arc::clone(&codec)));
/// writer.write(b"get:7 ok")?;
/// writer.write(b"get:8 ok")?;
/// let stream = writer.finish()?;
///
/// let mut reader = MessageReader::new(stream.as_slice(), FrameCodec::with_pins(codec));
/// assert_eq!(reader.read()?.as_deref(), Some(&b"get:7 ok"[..]));
/// assert_eq!(reader.read()?.as_deref(), Some(&b"get:8 ok"[..]));
/// assert_eq!(reader.read()?, None);
/// # Ok::<(), tambour_message::MessageError>(())
/// ```
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
