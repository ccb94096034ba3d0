//! A small document of a search engine, serialised with the encodings of this crate.

use crate::{IntError, Reader, Writer};
use std::collections::BTreeMap;

/// How a term occurs in a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// Within-document frequency.
    pub wdf: u32,
    /// Positions, ascending without repetition.
    pub positions: Vec<u32>,
}

/// Values by slot, terms, and opaque data.
///
/// ```
/// use tambour_int::{Document, Term};
/// let mut document = Document { data: b"opaque".into(), ..Document::default() };
/// document.values.insert(3, b"2026".into());
/// document.terms.insert(b"drum".into(), Term { wdf: 2, positions: vec![4, 9] });
/// let mut bytes = Vec::new();
/// document.write(&mut bytes)?;
/// assert_eq!(bytes, b"\x01\x03\x042026\x01\x04drum\x02\x02\x04\x04opaque");
/// assert_eq!(Document::read(&bytes)?, document);
/// # Ok::<(), tambour_int::IntError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Values by the number of their slot.
    pub values: BTreeMap<u32, Vec<u8>>,
    /// Terms in the order of their bytes.
    pub terms: BTreeMap<Vec<u8>, Term>,
    /// What the engine does not look at.
    pub data: Vec<u8>,
}

/// Most bytes of a 32-bit number.
const NUMBER_MAX: usize = 5;

/// Most bytes of a length.
const LENGTH_MAX: usize = 10;

impl Document {
    /// More bytes than the document takes; enough room for a writer that never meets its end.
    fn bound(&self) -> usize {
        let values = self.values.values().map(|value| NUMBER_MAX + LENGTH_MAX + value.len());
        let terms = self.terms.iter().map(|(name, term)| {
            NUMBER_MAX + 2 * LENGTH_MAX + name.len() + NUMBER_MAX * term.positions.len()
        });
        values.chain(terms).sum::<usize>() + 3 * LENGTH_MAX + self.data.len()
    }

    /// Appends the document to `target`. Positions that do not ascend are [`IntError::Order`], with nothing written.
    pub fn write(&self, target: &mut Vec<u8>) -> Result<(), IntError> {
        let start = target.len();
        target.resize(start + self.bound(), 0);
        let mut writer = Writer::new(&mut target[start..]);
        let written = self.write_parts(&mut writer).map(|()| writer.written());
        target.truncate(start + written.unwrap_or(0));
        written.map(|_| ())
    }

    fn write_parts(&self, writer: &mut Writer<'_>) -> Result<(), IntError> {
        writer.pack_uint(self.values.len() as u64)?;
        let mut next = 0;
        for (&slot, value) in &self.values {
            writer.pack_uint(u64::from(slot) - next)?;
            next = u64::from(slot) + 1;
            writer.pack_string(value)?;
        }
        writer.pack_uint(self.terms.len() as u64)?;
        for (name, term) in &self.terms {
            writer.pack_string(name)?;
            writer.pack_uint(term.wdf.into())?;
            writer.pack_uint(term.positions.len() as u64)?;
            let mut next = 0;
            for &position in &term.positions {
                let gap = u64::from(position).checked_sub(next);
                writer.pack_uint(gap.ok_or(IntError::Order { at: writer.written() })?)?;
                next = u64::from(position) + 1;
            }
        }
        writer.put(&self.data)
    }

    /// Reads a document; its data reaches to the end of the source.
    pub fn read(source: &[u8]) -> Result<Self, IntError> {
        let mut reader = Reader::strict(source);
        let mut document = Self::default();
        let mut next = 0;
        for _ in 0..reader.count()? {
            let slot = number(&mut reader, &mut next)?;
            document.values.insert(slot, reader.unpack_string()?.to_vec());
        }
        let mut before: Option<&[u8]> = None;
        for _ in 0..reader.count()? {
            let at = reader.position();
            let name = reader.unpack_string()?;
            if before.is_some_and(|before| before >= name) {
                return Err(IntError::Order { at });
            }
            before = Some(name);
            let wdf = reader.unpack_uint()?;
            let mut next = 0;
            let positions = (0..reader.count()?).map(|_| number(&mut reader, &mut next));
            let positions = positions.collect::<Result<_, _>>()?;
            document.terms.insert(name.to_vec(), Term { wdf, positions });
        }
        document.data = reader.rest().to_vec();
        Ok(document)
    }
}

/// A number of an ascending sequence: the gap from the least that it can be.
fn number(reader: &mut Reader<'_>, next: &mut u64) -> Result<u32, IntError> {
    let at = reader.position();
    let gap = reader.unpack_uint::<u32>()?;
    let number = u32::try_from(*next + u64::from(gap)).ok().ok_or(IntError::Order { at })?;
    *next = u64::from(number) + 1;
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::{Document, Term};
    use crate::IntError;
    use proptest::prelude::{Strategy, any, proptest};
    use std::collections::BTreeSet;

    fn terms() -> impl Strategy<Value = std::collections::BTreeMap<Vec<u8>, Term>> {
        let term = (any::<u32>(), any::<BTreeSet<u32>>())
            .prop_map(|(wdf, positions)| Term { wdf, positions: positions.into_iter().collect() });
        proptest::collection::btree_map(any::<Vec<u8>>(), term, 0..8)
    }

    proptest! {
        #[test]
        fn documents_survive(values: std::collections::BTreeMap<u32, Vec<u8>>, terms in terms(), data: Vec<u8>) {
            let document = Document { values, terms, data };
            let mut bytes = vec![7];
            document.write(&mut bytes).unwrap();
            assert_eq!(Document::read(&bytes[1..]), Ok(document.clone()));
            for cut in 0..bytes.len() - 1 - document.data.len() {
                assert!(Document::read(&bytes[1..=cut]).is_err(), "cut at {cut} is accepted");
            }
        }
    }

    #[test]
    fn what_does_not_ascend_is_refused() {
        let term = Term { wdf: 1, positions: vec![4, 4] };
        let document = Document { terms: [(b"a".to_vec(), term)].into(), ..Document::default() };
        let mut bytes = vec![1, 2];
        assert!(matches!(document.write(&mut bytes), Err(IntError::Order { .. })));
        assert_eq!(bytes, [1, 2]);
        // Slot 2^32; two terms of one name.
        let bytes = [2, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0];
        assert_eq!(Document::read(&bytes), Err(IntError::Order { at: 7 }));
        assert_eq!(
            Document::read(&[0, 2, 1, b'a', 0, 0, 1, b'a', 0, 0]),
            Err(IntError::Order { at: 6 })
        );
    }

    #[test]
    fn counts_are_checked_against_what_is_left() {
        let promise = |at, length, left| Err(IntError::Promise { at, length, left });
        assert_eq!(Document::read(&[200, 1, 0]), promise(2, 200, 1));
        assert_eq!(
            Document::read(&[0, 1, 1, b'a', 0, 0x80, 0x80, 0x80, 0x80, 0x08]),
            promise(10, 1 << 31, 0)
        );
    }
}
