//! What the two examples have in common: the messages, and a connection that reads and writes them.
#![allow(dead_code, reason = "each example uses a part")]

use bytes::BytesMut;
use tambour_message::{Dictionary, FrameCodec, MessageError, Trainer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::codec::{Decoder, Encoder};

/// A message of a client.
pub(crate) fn request(client: u64, call: u64) -> Vec<u8> {
    let session = (client + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value = (client ^ call << 20).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
    format!(
        r#"{{"jsonrpc":"2.0","id":{call},"method":"sensor.report","params":{{"session":"{session:016x}","device":"probe-{:06}","value":{value},"unit":"lux"}},"agent":"example-client/1.0 (Linux; loopback)"}}"#,
        client % 1_000_000
    )
    .into_bytes()
}

/// The server's answer.
pub(crate) fn answer(request: &[u8]) -> Vec<u8> {
    let sum: u64 = request.iter().map(|&byte| u64::from(byte)).sum();
    let length = request.len();
    format!(r#"{{"jsonrpc":"2.0","result":{{"accepted":true,"length":{length},"sum":{sum}}}}}"#)
        .into_bytes()
}

/// The dictionary, which both ends train on the same samples; others would send it as a file.
pub(crate) fn dictionary() -> Result<Dictionary, MessageError> {
    let mut trainer = Trainer::default().with_content_bytes(16 << 10);
    for client in 0..400 {
        for call in 0..5 {
            let request = request(client << 8, call);
            trainer.add_from(2 * client, &request)?;
            trainer.add_from(2 * client + 1, &answer(&request))?;
        }
    }
    trainer.train()
}

/// A runtime with all that the examples need.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// A stream of messages. `tokio_util::codec::Framed` does the same with buffers of 8 KiB; these start empty.
pub(crate) struct Connection {
    stream: TcpStream,
    codec: FrameCodec,
    input: BytesMut,
    sent_bytes: usize,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, codec: FrameCodec) -> Self {
        Self { stream, codec, input: BytesMut::new(), sent_bytes: 0 }
    }

    pub(crate) async fn send(&mut self, message: &[u8]) -> Result<(), MessageError> {
        let mut output = BytesMut::new();
        self.codec.encode(message, &mut output)?;
        self.sent_bytes += output.len();
        Ok(self.stream.write_all(&output).await?)
    }

    /// The next message; `None` when the other side has closed.
    pub(crate) async fn receive(&mut self) -> Result<Option<Vec<u8>>, MessageError> {
        loop {
            if let Some(message) = self.codec.decode(&mut self.input)? {
                return Ok(Some(message));
            }
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return self.codec.decode_eof(&mut self.input);
            }
        }
    }

    pub(crate) fn sent_bytes(&self) -> usize {
        self.sent_bytes
    }

    pub(crate) fn codec_bytes(&self) -> usize {
        self.codec.memory_bytes()
    }
}
