//! What all connections share.

use crate::MessageError;
use crate::matches::Index;
use crate::model::Model;
use tambour_kernel::hash::xxh3_64;

/// Longest text of a dictionary: 64 KiB less one, so that positions counted from 1 fit into 16 bits.
pub const DICTIONARY_BYTES_MAX: usize = (1 << 16) - 1;

/// Bytes after every message that tell damage, a wrong dictionary and a wrong pin.
///
/// ```
/// use tambour_message::Check;
/// assert_eq!(Check::of_bytes(2), Some(Check::Short));
/// assert_eq!(Check::of_bytes(3), None);
/// assert_eq!(Check::default().bytes(), 4);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// None: damage that yields a well-formed message goes unnoticed. For streams that have their own, such as TLS.
    None,
    /// Two bytes: of damaged messages that are well formed, one in 65,536 goes unnoticed.
    Short,
    /// Four bytes: one in four billion.
    #[default]
    Full,
}

impl Check {
    /// How many bytes it takes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Short => 2,
            Self::Full => 4,
        }
    }

    /// The check with this many bytes.
    pub fn of_bytes(bytes: usize) -> Option<Self> {
        [Self::None, Self::Short, Self::Full].into_iter().find(|check| check.bytes() == bytes)
    }
}

/// Text that messages are likely to repeat, and codes that fit them. Never changes; share it behind an `Arc`.
///
/// Made by a [`Trainer`](crate::Trainer), or read from a file with [`Dictionary::from_bytes`].
pub struct Dictionary {
    pub(crate) content: Vec<u8>,
    pub(crate) check: Check,
    /// Codes of messages without a pin.
    pub(crate) plain: Model,
    /// Codes of messages after a pin; the same as `plain` where nothing is known about them.
    pub(crate) pinned: Option<Model>,
    pub(crate) index: Index,
    id: u64,
}

impl Dictionary {
    /// A dictionary of these parts.
    pub(crate) fn new(
        content: Vec<u8>,
        check: Check,
        plain: Model,
        pinned: Option<Model>,
    ) -> Result<Self, MessageError> {
        if content.len() > DICTIONARY_BYTES_MAX {
            return Err(MessageError::Dictionary {
                reason: "its text is longer than 65,535 bytes",
            });
        }
        let index = Index::new(&content);
        let mut dictionary = Self { content, check, plain, pinned, index, id: 0 };
        dictionary.id = xxh3_64(&dictionary.parts(), 0);
        Ok(dictionary)
    }

    /// Tells dictionaries apart: a hash of all that encoding and decoding depend on.
    ///
    /// ```
    /// # use tambour_message::{Dictionary, MessageCodec, Scratch, Trainer};
    /// # let mut trainer = Trainer::default();
    /// # for i in 0..200 {
    /// #     trainer.add(format!("get:{i} ok").as_bytes())?;
    /// # }
    /// # let dictionary = trainer.train()?;
    /// let again = Dictionary::from_bytes(&dictionary.to_bytes())?;
    /// assert_eq!(again.id(), dictionary.id());
    /// # Ok::<(), tambour_message::MessageError>(())
    /// ```
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Bytes of text.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// The check of its messages.
    pub fn check(&self) -> Check {
        self.check
    }

    /// Whether it has codes of their own for messages after a pin.
    pub fn knows_pins(&self) -> bool {
        self.pinned.is_some()
    }

    /// Bytes that it takes in memory.
    pub fn memory_bytes(&self) -> usize {
        let pinned = self.pinned.as_ref().map_or(0, Model::memory_bytes);
        self.content.capacity() + self.index.memory_bytes() + self.plain.memory_bytes() + pinned
    }

    /// The codes in use.
    pub(crate) fn model(&self, pinned: bool) -> &Model {
        self.pinned.as_ref().filter(|_| pinned).unwrap_or(&self.plain)
    }
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary")
            .field("id", &format_args!("{:016x}", self.id))
            .field("content_bytes", &self.content.len())
            .field("check", &self.check)
            .finish_non_exhaustive()
    }
}
