//! Dictionaries: what records have in common, trained from a sample and stored with every segment that needs it.

use super::RecordError;
use super::bytes::{Parser, put_length};
use super::error::Damage;
use super::guard;
use tambour_kernel::hash::crc32c;

/// Longest dictionary.
pub const DICTIONARY_BYTES_MAX: usize = 256 << 10;
/// What LZ4 reaches of a dictionary: the bytes at its end. Longer ones make its records larger, not smaller.
pub const LZ4_DICTIONARY_BYTES_MAX: usize = 64 << 10;
/// Fewest sample records to train from: libzstd wants some.
pub const SAMPLES_MIN: usize = 16;

/// A dictionary. An empty one stands for none.
///
/// ```
/// use tambour_record::Dictionary;
/// let dictionary = Dictionary::new(b"{\"method\":\"get\",\"user\":".to_vec())?;
/// assert!(!dictionary.is_empty() && dictionary.sum() != 0);
/// assert!(Dictionary::new(Vec::new())?.is_empty());
/// # Ok::<(), tambour_record::RecordError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Dictionary {
    bytes: Vec<u8>,
    /// Sum of the bytes: its name.
    sum: u32,
}

impl Dictionary {
    /// A dictionary of these bytes, of which the last are the nearest to a record.
    pub fn new(bytes: Vec<u8>) -> Result<Self, RecordError> {
        if bytes.len() > DICTIONARY_BYTES_MAX {
            let (bytes, limit) = (bytes.len() as u64, DICTIONARY_BYTES_MAX as u64);
            return Err(RecordError::TooLarge { what: "a dictionary", bytes, limit });
        }
        let sum = crc32c(0, &bytes);
        Ok(Self { bytes, sum })
    }

    /// Trains a dictionary of up to `bytes_max` from records side by side in `sample`. Empty when there is too little to
    /// learn from, or nothing to learn.
    pub fn train(sample: &[u8], lengths: &[usize], bytes_max: usize) -> Self {
        let bytes_max = bytes_max.min(DICTIONARY_BYTES_MAX);
        if lengths.len() < SAMPLES_MIN || bytes_max < 256 {
            return Self::default();
        }
        let mut bytes = Vec::with_capacity(bytes_max);
        match zstd_safe::train_from_buffer(&mut bytes, sample, lengths) {
            Ok(_) => {
                let sum = crc32c(0, &bytes);
                Self { bytes, sum }
            }
            // Too few or too small samples, or all alike: there is no other way to find out.
            Err(_) => Self::default(),
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The sum that names it; 0 for none.
    pub fn sum(&self) -> u32 {
        self.sum
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The form for a file: length, sum, and itself compressed.
    pub(super) fn store(&self, level: i32) -> Result<Vec<u8>, RecordError> {
        let mut stored = Vec::new();
        put_length(&mut stored, self.bytes.len());
        stored.extend_from_slice(&self.sum.to_le_bytes());
        if !self.bytes.is_empty() {
            let mut frame = Vec::with_capacity(zstd_safe::compress_bound(self.bytes.len()));
            zstd_safe::compress(&mut frame, &self.bytes, level).map_err(zstd("compress"))?;
            stored.extend_from_slice(&frame);
        }
        Ok(stored)
    }

    /// The inverse of [`Dictionary::store`].
    pub(super) fn restore(stored: &[u8]) -> Result<Self, Damage> {
        let mut parser = Parser::new(stored);
        let (length, sum) = (parser.length()?, parser.u32()?);
        if length > DICTIONARY_BYTES_MAX {
            return Err(Damage::new(0, "length of a dictionary", DICTIONARY_BYTES_MAX, length));
        }
        let frame = stored.get(8..).unwrap_or_default();
        let mut bytes = Vec::with_capacity(length);
        if length > 0 {
            zstd_safe::decompress(&mut bytes, frame).map_err(|code| {
                Damage::new(8, "a dictionary", "a zstd frame", zstd_safe::get_error_name(code))
            })?;
        }
        if bytes.len() != length {
            return Err(Damage::new(0, "length of a dictionary", length, bytes.len()));
        }
        let got = crc32c(0, &bytes);
        if got != sum {
            return Err(Damage::sum(4, "a dictionary", sum, got));
        }
        Ok(Self { bytes, sum })
    }
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary")
            .field("bytes", &self.bytes.len())
            .field("sum", &self.sum)
            .finish()
    }
}

/// An error of libzstd.
pub(super) fn zstd(operation: &'static str) -> impl Fn(usize) -> RecordError {
    move |code| RecordError::Zstd { operation, reason: zstd_safe::get_error_name(code) }
}

/// Marks the file that holds the dictionary for the next segment.
const MAGIC: [u8; 8] = *b"TMBRDICT";

/// A file that holds a dictionary and nothing else.
pub(super) fn to_file(dictionary: &Dictionary, store: u64) -> Result<Vec<u8>, RecordError> {
    let stored = dictionary.store(19)?;
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&store.to_le_bytes());
    put_length(&mut file, stored.len());
    file.extend_from_slice(&crc32c(0, &stored).to_le_bytes());
    file.extend_from_slice(&crc32c(0, &file).to_le_bytes());
    file.extend_from_slice(&stored);
    guard::write(&stored, &mut file);
    Ok(file)
}

/// Store number and dictionary of such a file, and whether it had to be repaired.
pub(super) fn from_file(file: &[u8]) -> Result<(u64, Dictionary, bool), Damage> {
    let mut parser = Parser::new(file);
    if parser.array()? != MAGIC {
        return Err(Damage::new(0, "the magic of a dictionary", "TMBRDICT", "something else"));
    }
    let (store, length, sum) = (parser.u64()?, parser.length()?, parser.u32()?);
    let (expected, got) = (parser.u32()?, crc32c(0, &file[..24]));
    if got != expected {
        return Err(Damage::sum(0, "header of a dictionary", expected, got));
    }
    let mut stored = parser.take(length)?.to_vec();
    let guard_piece = parser.take(guard::guard_bytes(length))?;
    parser.end()?;
    let repaired = guard::repair(&mut stored, guard_piece, sum)?;
    Ok((store, Dictionary::restore(&stored)?, repaired))
}

#[cfg(test)]
mod tests {
    use super::{Dictionary, from_file, to_file};

    #[test]
    fn dictionaries_come_back_and_damage_is_repaired_or_seen() {
        let dictionary = Dictionary::new(b"tambour ".repeat(500)).unwrap();
        for dictionary in [dictionary, Dictionary::default()] {
            let file = to_file(&dictionary, 7).unwrap();
            assert_eq!(from_file(&file).unwrap(), (7, dictionary.clone(), false));
            for at in 0..file.len() {
                let mut damaged = file.clone();
                damaged[at] ^= 4;
                if let Ok((store, got, _)) = from_file(&damaged) {
                    assert_eq!((store, got), (7, dictionary.clone()));
                } else {
                    assert!(at < 28, "only a header is not repaired");
                }
            }
        }
    }
}
