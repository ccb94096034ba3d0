//! Messages compressed one by one with a shared dictionary: no state per connection.
//!
//! A protocol's messages repeat each other, and each alone is too short to compress. A stream compressor remembers what a
//! connection has sent, which takes a hundred kilobytes and more for every connection. Here all connections share one
//! [`Dictionary`]: text that messages are likely to repeat, and codes that fit them, trained on samples. What is kept per
//! connection is nothing, or a [`Pin`]: a copy of its first message, up to [`PIN_BYTES_MAX`], to which later ones may refer.
//!
//! - [`Trainer`] makes a dictionary from samples.
//! - [`MessageCodec`] encodes and decodes single messages; it knows dictionaries by their generation, so that they can be
//!   replaced while messages are under way. All threads share it; each thread has a [`Scratch`].
//! - [`FrameCodec`] is the codec of `tokio_util` for streams of messages after their length;
//!   [`MessageReader`] and [`MessageWriter`] do the same on files and pipes.
//!
//! The format is described in `docs/format/message.md`. It is one of its own: in messages of a few hundred bytes with a
//! dictionary, what is left are short matches and digits, for which LZ4 takes three bytes and one; and zstd cannot put a
//! pin after a digested dictionary, nor a digest per connection into the memory. Codes that are trained with the dictionary
//! cost nothing per message and keep the ratio of a stream.
//!
//! ```
//! use tambour_message::{Dictionary, MessageCodec, Scratch, Trainer};
//! let samples: Vec<String> = (0..2000).map(|i| format!(r#"{{"method":"get","user":"u{i}","id":{i}}}"#)).collect();
//! let mut trainer = Trainer::default();
//! for sample in &samples {
//!     trainer.add(sample.as_bytes())?;
//! }
//! let codec = MessageCodec::new(1, trainer.train()?);
//! let (mut scratch, mut encoded, mut decoded) = (Scratch::default(), Vec::new(), Vec::new());
//! let message = br#"{"method":"get","user":"u77","id":123456}"#;
//! codec.encode(message, None, &mut scratch, &mut encoded)?;
//! assert!(encoded.len() < message.len() / 2);
//! codec.decode(&encoded, None, &mut scratch, &mut decoded)?;
//! assert_eq!(decoded, message);
//! # Ok::<(), tambour_message::MessageError>(())
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::inline_always, reason = "the loops over symbols are one function in the end")]

mod bits;
mod code;
mod codec;
mod decode;
mod dictionary;
mod encode;
mod error;
mod file;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod matches;
mod model;
mod pin;
mod stream;
mod symbol;
mod table;
mod train;

pub use codec::{MessageCodec, Scratch};
pub use dictionary::{Check, DICTIONARY_BYTES_MAX, Dictionary};
pub use error::{Malformed, MessageError};
pub use frame::FrameCodec;
pub use pin::{PIN_BYTES_MAX, Pin};
pub use stream::{MessageReader, MessageWriter};
pub use train::{SAMPLE_BYTES_MAX, Trainer};

/// Longest message that a codec takes unless told otherwise.
pub const MESSAGE_BYTES_DEFAULT: usize = 1 << 20;
/// Longest message of the format.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;
