//! The three files of an index: the head, the dictionary, and the lists of rows.

use super::rows::{Bytes, Info, Rows, broken};
use crate::{Index, IndexError};
use std::ops::Range;
use tambour_part::Part;
use tambour_part::part::{SkipBytes, SkipFile};

/// The newest version of the head that is read, and those that say something more.
const VERSION_MAX: u64 = 2;
const VERSION_CODEC: u64 = 1;
const VERSION_POSITIONS: u64 = 2;
/// Codecs of lists: none, and packed differences.
const CODEC_MAX: u64 = 1;
/// The form of positions that is known.
const POSITIONS: u64 = 1;
/// Forms of the tokens of a block: one after the other, and each as what it has of the one before.
const TOKENS_WHOLE: u64 = 0;
const TOKENS_FRONT: u64 = 1;
/// Names of the files beside the head.
const DICTIONARY: &str = "dct";
const LISTS: &str = "pst";

/// The start of each block of the dictionary: its first token, and its place in the file.
#[derive(Clone, Debug)]
struct Head {
    /// Lists of rows may be packed.
    packs: bool,
    starts: Vec<(Vec<u8>, u64)>,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Self, IndexError> {
        let mut bytes = Bytes(bytes);
        let version = bytes.number()?;
        let codec = if version >= VERSION_CODEC { bytes.number()? } else { 0 };
        let positions = version >= VERSION_POSITIONS && bytes.number()? != 0;
        if version > VERSION_MAX || codec > CODEC_MAX || positions && bytes.number()? > POSITIONS {
            return Err(IndexError::Unusable { reason: "it has a form that is not known" });
        }
        let count = bytes.count()?;
        let mut tokens: Vec<Vec<u8>> = Vec::new();
        for _ in 0..count {
            let length = bytes.count()?;
            let token = bytes.take(length)?;
            if tokens.last().is_some_and(|before| before.as_slice() >= token) {
                return Err(broken("first tokens of blocks that are not ascending"));
            }
            tokens.push(token.to_vec());
        }
        let mut starts: Vec<(Vec<u8>, u64)> = Vec::new();
        for token in tokens {
            let offset = bytes.long()?;
            if starts.last().is_some_and(|before| before.1 >= offset) {
                return Err(broken("blocks of the dictionary that are not ascending"));
            }
            starts.push((token, offset));
        }
        bytes.end()?;
        Ok(Self { packs: codec > 0, starts })
    }

    /// The block that a token is in, if it is in any.
    fn block_of(&self, token: &[u8]) -> Option<usize> {
        self.starts.partition_point(|(first, _)| first.as_slice() <= token).checked_sub(1)
    }
}

/// Walks through a block of the dictionary. `wanted` is called with each token, ascending, and gives those that it wants a number;
/// what the block says of them. Tokens are not kept: together they may be far larger than the block.
fn walk(
    bytes: &[u8],
    first: Option<&[u8]>,
    before: Option<&[u8]>,
    wanted: &mut dyn FnMut(&[u8]) -> Option<usize>,
) -> Result<Vec<(usize, Info)>, IndexError> {
    let mut bytes = Bytes(bytes);
    let (form, count) = (bytes.number()?, bytes.count()?);
    if form > TOKENS_FRONT {
        return Err(IndexError::Unusable { reason: "its tokens have a form that is not known" });
    }
    let (mut token, mut found) = (Vec::new(), Vec::new());
    for place in 0..count {
        let same = if form == TOKENS_FRONT && place > 0 { bytes.number()? } else { 0 };
        let same = usize::try_from(same).ok().filter(|same| *same <= token.len());
        let same = same.ok_or_else(|| broken("a token has more of the one before than that is"))?;
        let length = bytes.count()?;
        let rest = bytes.take(length)?;
        let ascends =
            if form == TOKENS_WHOLE { token.as_slice() < rest } else { &token[same..] < rest };
        if place > 0 && !ascends {
            return Err(broken("tokens that are not ascending"));
        }
        token.truncate(same);
        token.extend_from_slice(rest);
        if place == 0 && first.is_some_and(|first| first != token) {
            return Err(broken("a block with another first token than the head says"));
        }
        found.extend(wanted(&token).map(|number| (place, number)));
    }
    if before.is_some_and(|before| token.as_slice() >= before) {
        return Err(broken("a block with tokens of the next one"));
    }
    let mut infos = Vec::with_capacity(found.len());
    let mut found = found.into_iter().peekable();
    for place in 0..count {
        let info = Info::read(&mut bytes)?;
        if let Some((_, number)) = found.next_if(|(wanted, _)| *wanted == place) {
            infos.push((number, info));
        }
    }
    bytes.end()?;
    Ok(infos)
}

/// The files of an index in a part.
#[derive(Debug)]
pub(crate) struct TextFile {
    head: Head,
    dictionary: SkipFile,
    lists: SkipBytes,
    rows: u64,
}

impl TextFile {
    /// `None` if the part has none. An error if they do not fit the part or the table.
    pub(crate) fn open(part: &Part, index: &Index) -> Result<Option<Self>, IndexError> {
        let Some(mut head) = crate::prune::open(part, index)? else { return Ok(None) };
        let name = &index.definition.name;
        let (dictionary, lists) =
            (part.skip_file_of(name, DICTIONARY)?, part.skip_bytes(name, LISTS)?);
        let (Some(dictionary), Some(lists)) = (dictionary, lists) else {
            return Err(broken("its dictionary or its lists of rows are missing"));
        };
        let head = Head::read(&head.entry(0)?)?;
        Ok(Some(Self { head, dictionary, lists, rows: part.rows() }))
    }
    /// Blocks of the dictionary.
    pub(super) fn blocks(&self) -> usize {
        self.head.starts.len()
    }

    /// What a block of the dictionary says of the tokens that are wanted.
    fn walk(
        &mut self,
        block: usize,
        wanted: &mut dyn FnMut(&[u8]) -> Option<usize>,
    ) -> Result<Vec<(usize, Info)>, IndexError> {
        let Some((first, start)) = self.head.starts.get(block) else { return Ok(Vec::new()) };
        let next = self.head.starts.get(block + 1);
        let bytes = self.dictionary.blocks(*start, next.map(|(_, start)| *start))?;
        walk(&bytes, Some(first), next.map(|(token, _)| token.as_slice()), wanted)
    }

    /// Calls `each` with the place of every one of these tokens, which ascend, and the rows of it in a range: those of a token that
    /// is nowhere are none.
    pub(super) fn find<T: AsRef<[u8]>>(
        &mut self,
        tokens: &[T],
        range: &Range<u64>,
        each: &mut dyn FnMut(usize, &Rows),
    ) -> Result<(), IndexError> {
        let mut rows = Rows::none(range.clone());
        let mut start = 0;
        while let Some(token) = tokens.get(start) {
            let block = self.head.block_of(token.as_ref());
            let same =
                tokens[start..].partition_point(|it| self.head.block_of(it.as_ref()) == block);
            let (own, mut next) = (&tokens[start..start + same], 0);
            let infos = block.map(|block| {
                self.walk(block, &mut |token| {
                    while own.get(next).is_some_and(|it| it.as_ref() < token) {
                        next += 1;
                    }
                    own.get(next).filter(|it| it.as_ref() == token).map(|_| next)
                })
            });
            let mut infos = infos.transpose()?.unwrap_or_default().into_iter().peekable();
            for place in 0..same {
                rows.clear();
                if let Some((_, info)) = infos.next_if(|(it, _)| *it == place) {
                    self.visit(&info, range, &mut |row| rows.add(row))?;
                }
                each(start + place, &rows);
            }
            start += same;
        }
        Ok(())
    }

    fn visit(
        &self,
        info: &Info,
        range: &Range<u64>,
        each: &mut dyn FnMut(u64),
    ) -> Result<(), IndexError> {
        let read = |offset, length| {
            let left = self.lists.length().saturating_sub(offset);
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(length);
            Ok(self.lists.read(offset, length)?)
        };
        info.visit(&read, self.head.packs, (self.rows, range), each)
    }

    /// Reads a block of the dictionary and all lists of its tokens.
    pub(super) fn check_block(&mut self, block: usize) -> Result<(), IndexError> {
        let infos = self.walk(block, &mut |_| Some(0))?;
        let all = 0..self.rows;
        infos.iter().try_for_each(|(_, info)| self.visit(info, &all, &mut |_| {}))
    }
}

/// Decodes bytes as a head, or as a block of the dictionary, whichever the first byte says; the number of tokens. In front of a block
/// are lists of rows, and a byte that says of how many bytes.
pub(crate) fn decode(bytes: &[u8]) -> Result<usize, IndexError> {
    /// Rows that the part of these bytes would have.
    const ROWS: u64 = 1 << 20;
    let mut bytes = Bytes(bytes);
    let kind = bytes.number()?;
    if kind & 1 == 0 {
        return Ok(Head::read(bytes.0)?.starts.len());
    }
    let length = bytes.count()?;
    let lists = bytes.take(length)?;
    let infos = walk(bytes.0, None, None, &mut |_| Some(0))?;
    let read = |offset: u64, length: usize| {
        let start = usize::try_from(offset).ok().and_then(|it| lists.get(it..));
        let start = start.unwrap_or_default();
        Ok(start[..length.min(start.len())].to_vec())
    };
    for (_, info) in &infos {
        info.visit(&read, kind & 2 == 0, (ROWS, &(0..ROWS)), &mut |_| {})?;
    }
    Ok(infos.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As ClickHouse writes it: two blocks of a dictionary.
    #[test]
    fn heads_are_read() {
        let bytes = b"\x02\x01\x00\x02\x010\x0256\x00\0\0\0\0\0\0\0\x27\x10\0\0\0\0\0\0";
        let head = Head::read(bytes).unwrap();
        assert!(head.packs);
        assert_eq!(head.starts, [(b"0".to_vec(), 0), (b"56".to_vec(), 0x1027)]);
        let blocks = [&b""[..], b"0", b"55", b"56", b"z"].map(|token| head.block_of(token));
        assert_eq!(blocks, [None, Some(0), Some(0), Some(1), Some(1)]);
        for cut in 0..bytes.len() {
            assert!(Head::read(&bytes[..cut]).is_err(), "{cut}");
        }
        assert!(Head::read(b"\x03\0\0\0\0").is_err());
    }

    #[test]
    fn blocks_are_walked() {
        let infos = b"\x03\x02\x01\x05\x03\x01\x07\x03\x01\x09";
        let whole = [&b"\0\x03\x01a\x02ab\x01b"[..], infos].concat();
        let front = [&b"\x01\x03\x01a\x01\x01b\x00\x01b"[..], infos].concat();
        for bytes in [whole, front] {
            let mut seen = Vec::new();
            let found = walk(&bytes, Some(b"a"), Some(b"c"), &mut |token| {
                seen.push(token.to_vec());
                (token != b"ab").then_some(seen.len())
            });
            assert_eq!(seen, [&b"a"[..], b"ab", b"b"]);
            assert_eq!(found.unwrap().into_iter().map(|it| it.0).collect::<Vec<_>>(), [1, 3]);
            assert!(walk(&bytes, Some(b"b"), None, &mut |_| None).is_err());
            assert!(walk(&bytes, None, Some(b"b"), &mut |_| None).is_err());
            for cut in 0..bytes.len() {
                assert!(walk(&bytes[..cut], None, None, &mut |_| None).is_err(), "{cut}");
            }
        }
        let twice = b"\0\x02\x01a\x01a\x03\x01\x01\x03\x01\x02";
        assert!(walk(twice, None, None, &mut |_| None).is_err());
    }
}
