//! The map as bytes: what a checkpoint writes. Numbers are LEB128; offsets and generations are differences to the page before.

use super::dictionary::{DICTIONARIES_MAX, DICTIONARY_BYTES_MAX};
use super::map::{Entry, Map, State};
use super::options::PAGES_MAX;
use super::superblock::Stretch;

/// A dictionary in a snapshot: its number and where it is.
pub(crate) type Reference = (u16, Stretch);

fn put(target: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        target.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    target.push(value.to_le_bytes()[0]);
}

/// Small magnitudes of either sign become small numbers.
fn put_difference(target: &mut Vec<u8>, value: u64, from: u64) {
    let difference = value.wrapping_sub(from) as i64;
    put(target, ((difference << 1) ^ (difference >> 63)) as u64);
}

struct Source<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Source<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn whole(&mut self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..self.at + 8)?;
        self.at += 8;
        bytes.try_into().ok().map(u64::from_le_bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A number that stands as its difference to another.
    fn difference(&mut self, from: u64) -> Option<u64> {
        let value = self.number()?;
        Some(from.wrapping_add((value >> 1) ^ (value & 1).wrapping_neg()))
    }
}

/// Writes the map. Runs of free pages, and of zero pages of one commit, take a few bytes together.
pub(crate) fn encode(map: &Map, dictionaries: &[Reference], granule: u64) -> Vec<u8> {
    let mut target = Vec::new();
    put(&mut target, dictionaries.len() as u64);
    for (id, stretch) in dictionaries {
        put(&mut target, u64::from(*id));
        put(&mut target, stretch.offset);
        put(&mut target, stretch.bytes);
        target.extend(stretch.checksum.to_le_bytes());
    }
    let (mut next, mut generation, mut page) = (0, 0, 0);
    let mut runs = map.runs().peekable();
    while let Some((id, count, entry)) = runs.next() {
        if id > page {
            target.push(State::Free as u8);
            put(&mut target, id - page);
        }
        page = id + count;
        target.push(entry.state as u8);
        if entry.state == State::Zero {
            while let Some((_, count, _)) =
                runs.next_if(|(first, _, same)| *first == page && *same == entry)
            {
                page += count;
            }
            put(&mut target, page - id);
        }
        put_difference(&mut target, entry.generation, generation);
        generation = entry.generation;
        put(&mut target, u64::from(entry.home_blocks));
        if entry.has_image() {
            put(&mut target, u64::from(entry.length));
        }
        if entry.state == State::Raw {
            target.extend(entry.offset.to_le_bytes());
        }
        if entry.state == State::Packed {
            put_difference(&mut target, entry.offset / granule, next);
            next = entry.offset / granule + u64::from(entry.length).div_ceil(granule);
        }
    }
    if map.page_count() > page {
        target.push(State::Free as u8);
        put(&mut target, map.page_count() - page);
    }
    target
}

/// What a snapshot holds.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) map: Map,
    pub(crate) dictionaries: Vec<Reference>,
}

/// Reads a snapshot of a store of this many pages; `None` if it is none.
pub(crate) fn decode(bytes: &[u8], page_count: u64, granule: u64) -> Option<Snapshot> {
    let mut source = Source { bytes, at: 0 };
    let count = usize::try_from(source.number()?).ok()?;
    if count > DICTIONARIES_MAX {
        return None;
    }
    let mut dictionaries = Vec::with_capacity(count);
    for _ in 0..count {
        let id = u16::try_from(source.number()?).ok()?;
        let (offset, bytes) = (source.number()?, source.number()?);
        if id == 0 || bytes > DICTIONARY_BYTES_MAX as u64 || offset % granule != 0 {
            return None;
        }
        let checksum = source.whole()?;
        dictionaries.push((id, Stretch { offset, bytes, checksum }));
    }
    let map = decode_map(&mut source, page_count.min(PAGES_MAX), granule)?;
    Some(Snapshot { map, dictionaries })
}

fn decode_map(source: &mut Source<'_>, page_count: u64, granule: u64) -> Option<Map> {
    let mut map = Map::default();
    let (mut next, mut generation, mut page) = (0_u64, 0, 0_u64);
    while source.at < source.bytes.len() {
        let state = match source.byte()? {
            0 => State::Free,
            1 => State::Zero,
            2 => State::Packed,
            3 => State::Home,
            4 => State::Raw,
            _ => return None,
        };
        let run = if matches!(state, State::Free | State::Zero) { source.number()? } else { 1 };
        let end = page.checked_add(run).filter(|end| run > 0 && *end <= page_count)?;
        if state == State::Free {
            page = end;
            continue;
        }
        generation = source.difference(generation)?;
        let home_blocks = u16::try_from(source.number()?).ok()?;
        let mut entry = Entry { generation, home_blocks, state, ..Entry::default() };
        if entry.has_image() {
            entry.length = u32::try_from(source.number()?).ok()?;
        }
        if state == State::Raw {
            entry.offset = source.whole()?;
        }
        if state == State::Packed {
            let at = source.difference(next)?;
            entry.offset = at.checked_mul(granule)?;
            next = at.checked_add(u64::from(entry.length).div_ceil(granule))?;
        }
        if run > 1 {
            map.fill(page, end, entry);
        } else {
            map.set(page, entry);
        }
        page = end;
    }
    map.grow(page_count);
    (page == page_count).then_some(map)
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "numbers of tests are small")]
mod tests {
    use super::*;

    #[test]
    fn maps_come_back() {
        let mut map = Map::default();
        let mut seed = 7_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            seed >> 33
        };
        for page in 0..5000 {
            let (offset, length) = (random() * 64, random() as u32 % 9000 + 40);
            let generation = random();
            let entry = match random() % 6 {
                0 => continue,
                1 => Entry { generation: 5, state: State::Zero, ..Entry::default() },
                2 => Entry { generation, length, home_blocks: 4, state: State::Raw, offset },
                3 => Entry { generation, length, home_blocks: 3, state: State::Home, offset: 0 },
                _ => Entry { offset, generation, length, home_blocks: 0, state: State::Packed },
            };
            map.set(page, entry);
        }
        map.grow(6000);
        let dictionaries = vec![(1, Stretch { offset: 640, bytes: 1000, checksum: u64::MAX })];
        let bytes = encode(&map, &dictionaries, 64);
        let found = decode(&bytes, 6000, 64).unwrap();
        assert_eq!(found.dictionaries, dictionaries);
        assert!(found.map.iter(0).eq(map.iter(0)));
        assert_eq!(found.map.page_count(), 6000);
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut], 6000, 64).is_none());
        }
        assert!(decode(&bytes, 5999, 64).is_none());
    }

    #[test]
    fn a_short_snapshot_does_not_ask_for_much() {
        // A free run of nearly all pages, then nothing: chunks that are free take no memory.
        let mut bytes = vec![0, 0];
        put(&mut bytes, PAGES_MAX);
        assert_eq!(decode(&bytes, PAGES_MAX, 64).unwrap().map.iter(0).count(), 0);
        // A zero run of as many: all of its chunks are one.
        let mut bytes = vec![0, 1];
        put(&mut bytes, PAGES_MAX);
        bytes.extend([2, 0]);
        let map = decode(&bytes, PAGES_MAX, 64).unwrap().map;
        assert_eq!(map.get(PAGES_MAX - 1).state, State::Zero);
    }
}
