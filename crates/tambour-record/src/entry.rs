//! What stands in a segment with keys for one record: the key in front of it, or that there is none.
//!
//! A key is compressed together with its record, in which it mostly stands as well, and takes a few bytes so. Everything that
//! moves records from file to file moves these bytes as they are.

use super::bytes::{Parser, put_varint};
use super::error::Damage;
use super::{RECORD_BYTES_MAX, RecordError};

/// Longest key.
pub const KEY_BYTES_MAX: usize = (64 << 10) - 1;

/// Longest entry: the longest record after the longest key, and the number in front.
pub(super) const ENTRY_BYTES_MAX: usize = RECORD_BYTES_MAX + KEY_BYTES_MAX + 3;

/// What the first number of an entry says.
mod head {
    /// A record without a key.
    pub(super) const PLAIN: u64 = 0;
    /// A record that was reclaimed.
    pub(super) const RECLAIMED: u64 = 1;
    /// From here on: twice the length of the key, plus one if the key is deleted.
    pub(super) const KEYED: u64 = 2;
}

/// What a record of a log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// A record.
    #[default]
    Record,
    /// Tells that a key is deleted from here on.
    Deletion,
    /// Was updated or deleted later, and its space reclaimed.
    Reclaimed,
}

/// An entry, taken apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) state: State,
    pub(super) key: Option<&'a [u8]>,
    pub(super) record: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Takes stored bytes apart; those of a segment without keys are the record.
    #[inline]
    pub(super) fn of(stored: &'a [u8], keyed: bool) -> Result<Self, Damage> {
        if keyed { Self::parse(stored) } else { Ok(Self { record: stored, ..Self::default() }) }
    }

    fn parse(stored: &'a [u8]) -> Result<Self, Damage> {
        let mut parser = Parser::new(stored);
        let told = parser.varint_up_to(2 * KEY_BYTES_MAX + 3)? as u64;
        let (state, key) = match told {
            head::PLAIN => (State::Record, None),
            head::RECLAIMED => (State::Reclaimed, None),
            _ => {
                let told = told - head::KEYED;
                let state = if told & 1 == 1 { State::Deletion } else { State::Record };
                let bytes = usize::try_from(told >> 1).unwrap_or(usize::MAX);
                let key = parser.take(bytes)?;
                if key.is_empty() {
                    return Err(Damage::new(0, "a key", "1 byte at least", 0));
                }
                (state, Some(key))
            }
        };
        let record = stored.get(parser.at()..).unwrap_or_default();
        if state != State::Record && !record.is_empty() {
            return Err(Damage::new(parser.at(), "a deletion", "no record", record.len()));
        }
        Ok(Self { state, key, record })
    }

    /// Appends the stored form of an entry in a segment with keys.
    pub(super) fn write(&self, target: &mut Vec<u8>) {
        let told = match (self.state, self.key) {
            (State::Reclaimed, _) => head::RECLAIMED,
            (_, None) => head::PLAIN,
            (state, Some(key)) => {
                head::KEYED + ((key.len() as u64) << 1 | u64::from(state == State::Deletion))
            }
        };
        put_varint(target, told);
        if self.state != State::Reclaimed {
            target.extend_from_slice(self.key.unwrap_or_default());
            target.extend_from_slice(self.record);
        }
    }
}

/// Whether a key can be one.
pub(super) fn check_key(key: &[u8]) -> Result<(), RecordError> {
    if key.is_empty() {
        let problem = "a key is empty; keys have 1 byte at least".to_owned();
        return Err(RecordError::Argument { problem });
    }
    if key.len() > KEY_BYTES_MAX {
        let (bytes, limit) = (key.len() as u64, KEY_BYTES_MAX as u64);
        return Err(RecordError::TooLarge { what: "a key", bytes, limit });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_cut_ones_are_refused() {
        let long = vec![7; KEY_BYTES_MAX];
        let entries = [
            Entry { state: State::Record, key: None, record: b"record" },
            Entry { state: State::Record, key: None, record: b"" },
            Entry { state: State::Record, key: Some(b"k"), record: b"" },
            Entry { state: State::Record, key: Some(&long), record: b"\xff\0" },
            Entry { state: State::Deletion, key: Some(b"key \xff"), record: b"" },
            Entry { state: State::Reclaimed, key: None, record: b"" },
        ];
        for entry in entries {
            let mut stored = Vec::new();
            entry.write(&mut stored);
            assert_eq!(Entry::of(&stored, true).unwrap(), entry);
            assert_eq!(Entry::of(&stored, false).unwrap().record, stored);
            if let Some(key) = entry.key {
                for cut in 0..key.len().min(100) {
                    assert!(Entry::of(&stored[..cut], true).is_err());
                }
            }
        }
        // An empty key, a deletion with a record, a key that is too long.
        for bad in [&b"\x02"[..], b"\x05kx", b"\xff\xff\xff\x7fk", b"\x01x", b""] {
            assert!(Entry::of(bad, true).is_err(), "{bad:?}");
        }
        check_key(b"").unwrap_err();
        check_key(&vec![1; KEY_BYTES_MAX + 1]).unwrap_err();
        check_key(&long).unwrap();
    }
}
