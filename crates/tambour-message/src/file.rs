//! Dictionaries as bytes: `docs/format/message.md`.

use crate::MessageError;
use crate::dictionary::{Check, DICTIONARY_BYTES_MAX, Dictionary};
use crate::model::Model;
use crate::symbol::AfterMatch;
use tambour_kernel::hash::xxh3_64;

const MAGIC: [u8; 4] = *b"TMBD";
/// Versions, by what the context after a match hangs on.
const VERSIONS: [(u8, AfterMatch); 2] = [(1, AfterMatch::Byte), (2, AfterMatch::Nothing)];
/// Flag: there are codes for messages after a pin.
const PINNED: u8 = 1;
/// Magic, version, flags, check, a zero, length of the text.
const HEADER_BYTES: usize = 12;
/// The hash at the end.
const HASH_BYTES: usize = 8;

impl Dictionary {
    /// Longest file that [`Dictionary::from_bytes`] can take.
    pub const FILE_BYTES_MAX: usize =
        HEADER_BYTES + DICTIONARY_BYTES_MAX + 2 * Model::STORED_BYTES + HASH_BYTES;

    /// The dictionary as a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.parts();
        let hash = xxh3_64(&bytes, 0);
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes
    }

    /// All but the hash at the end, which is that of this.
    pub(crate) fn parts(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::FILE_BYTES_MAX);
        bytes.extend_from_slice(&MAGIC);
        let version = match self.plain.after_match {
            AfterMatch::Byte => 1,
            AfterMatch::Nothing => 2,
        };
        let flags = if self.pinned.is_some() { PINNED } else { 0 };
        #[expect(clippy::cast_possible_truncation, reason = "0, 2 or 4; below 64 KiB")]
        {
            bytes.extend_from_slice(&[version, flags, self.check.bytes() as u8, 0]);
            bytes.extend_from_slice(&(self.content.len() as u32).to_le_bytes());
        }
        bytes.extend_from_slice(&self.content);
        self.plain.store(&mut bytes);
        if let Some(pinned) = &self.pinned {
            pinned.store(&mut bytes);
        }
        bytes
    }

    /// Reads a file. Every byte is checked.
    ///
    /// ```
    /// # use tambour_message::{Dictionary, MessageCodec, Scratch, Trainer};
    /// # let mut trainer = Trainer::default();
    /// # for i in 0..200 {
    /// #     trainer.add(format!("get:{i} ok").as_bytes())?;
    /// # }
    /// # let dictionary = trainer.train()?;
    /// let mut file = dictionary.to_bytes();
    /// assert_eq!(Dictionary::from_bytes(&file)?.content(), dictionary.content());
    /// file[20] ^= 1;
    /// assert!(Dictionary::from_bytes(&file).is_err(), "one bit is different");
    /// # Ok::<(), tambour_message::MessageError>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        let refused = |reason| MessageError::Dictionary { reason };
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or(refused("too short"))?;
        if header[..4] != MAGIC {
            return Err(refused("not a dictionary of messages"));
        }
        let &[version, flags, check, zero] = &header[4..8] else {
            return Err(refused("too short"));
        };
        let known = VERSIONS.iter().find(|&&(known, _)| known == version);
        let &(_, after_match) = known.ok_or(MessageError::Version { version })?;
        let check = Check::of_bytes(check.into()).ok_or(refused("no such check"))?;
        if flags > PINNED || zero != 0 {
            return Err(refused("unknown flags"));
        }
        let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let models = if flags == PINNED { 2 } else { 1 };
        let expected = models * Model::STORED_BYTES + HASH_BYTES;
        if length > DICTIONARY_BYTES_MAX || rest.len() != length + expected {
            return Err(refused("its length is not what its header says"));
        }
        let (content, rest) = rest.split_at(length);
        let (models, hash) = rest.split_at(rest.len() - HASH_BYTES);
        if xxh3_64(&bytes[..bytes.len() - HASH_BYTES], 0).to_le_bytes() != *hash {
            return Err(refused("its hash is wrong: the file is damaged"));
        }
        let mut models =
            models.chunks(Model::STORED_BYTES).map(|source| Model::load(source, after_match));
        let plain = models.next().ok_or(refused("too short"))??;
        Self::new(content.to_vec(), check, plain, models.next().transpose()?)
    }
}
