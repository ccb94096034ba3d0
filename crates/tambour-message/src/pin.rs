//! The pinned first message of a connection.

use tambour_kernel::hash::xxh3_64;

/// Longest pinned message; of a longer one, the first bytes are kept.
pub const PIN_BYTES_MAX: usize = 512;

/// The start of a connection's first message, to which its later messages may refer. Sender and receiver each keep a copy.
///
/// ```
/// # use tambour_message::{MessageCodec, Scratch, Trainer};
/// use tambour_message::Pin;
/// # let mut trainer = Trainer::default();
/// # for i in 0..500_u32 {
/// #     let id = (u128::from(i) + 1).wrapping_pow(9).wrapping_mul(0x9e37_79b9_7f4a_7c15);
/// #     trainer.add_from(i.into(), format!("hello, I am client {id:032x}").as_bytes())?;
/// #     trainer.add_from(i.into(), format!("get:{i} for {id:032x}").as_bytes())?;
/// # }
/// # let codec = MessageCodec::new(1, trainer.train()?);
/// # let (mut scratch, mut alone, mut pinned) = (Scratch::default(), Vec::new(), Vec::new());
/// let pin = Pin::new(b"hello, I am client 0a1b2c3d4e5f60718293a4b5c6d7e8f9");
/// codec.encode(b"get:7 for 0a1b2c3d4e5f60718293a4b5c6d7e8f9", None, &mut scratch, &mut alone)?;
/// codec.encode(b"get:7 for 0a1b2c3d4e5f60718293a4b5c6d7e8f9", pin.as_ref(), &mut scratch, &mut pinned)?;
/// assert!(pinned.len() < alone.len());
/// assert_eq!(Pin::new(b""), None);
/// # Ok::<(), tambour_message::MessageError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    bytes: Box<[u8]>,
    hash: u64,
}

impl Pin {
    /// Keeps the first [`PIN_BYTES_MAX`] bytes of a message. `None` for an empty one, which is nothing to refer to.
    pub fn new(message: &[u8]) -> Option<Self> {
        let bytes = &message[..message.len().min(PIN_BYTES_MAX)];
        let hash = xxh3_64(bytes, 0);
        (!bytes.is_empty()).then(|| Self { bytes: bytes.into(), hash })
    }

    /// What is kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Tells pins apart in checks.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }
}
