//! What a category is made of.

use super::codec::Codec;
use super::layout::FileKind;
use super::view::{Segment, View};
use std::ops::Range;

/// What a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentState {
    /// Appended to, or full and not yet sealed.
    Open,
    /// Sealed.
    Sealed,
    /// Cannot be opened.
    Broken,
}

/// A segment in figures. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentStat {
    /// Its records.
    pub ids: Range<u64>,
    /// What it is.
    pub state: SegmentState,
    /// Codec, if it can be read.
    pub codec: Option<Codec>,
    /// Records of a group; of an open segment, the most.
    pub group: usize,
    /// All records, decoded; 0 where that is not known without reading them.
    pub raw_bytes: u64,
    /// The file.
    pub file_bytes: u64,
    /// Groups with their sums.
    pub data_bytes: u64,
    /// Index of groups and lengths.
    pub index_bytes: u64,
    /// Times.
    pub time_bytes: u64,
    /// The dictionary as stored.
    pub dictionary_bytes: u64,
    /// The index of keys.
    pub key_bytes: u64,
    /// Sum of the dictionary, its name; 0 for none.
    pub dictionary: u32,
    /// First and last time.
    pub times: Option<(i64, i64)>,
}

/// A category in figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Its segments, oldest first.
    pub segments: Vec<SegmentStat>,
}

impl Stat {
    /// Bytes of all files.
    pub fn file_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.file_bytes).sum()
    }

    /// Bytes of all records.
    pub fn raw_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.raw_bytes).sum()
    }

    /// Records.
    pub fn records(&self) -> u64 {
        self.segments.iter().map(|segment| segment.ids.end - segment.ids.start).sum()
    }
}

impl View {
    /// What the category is made of.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// writer.append_batch(&[&b"first"[..], b"second"].into_iter().collect())?;
    /// let stat = store.view("default", &ViewOptions::default())?.stat();
    /// assert_eq!((stat.records(), stat.segments.len()), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stat(&self) -> Stat {
        let segments = self.slots.iter().map(|slot| {
            let mut stat = SegmentStat {
                ids: slot.ids.clone(),
                state: SegmentState::Broken,
                codec: None,
                group: 0,
                raw_bytes: 0,
                file_bytes: 0,
                data_bytes: 0,
                index_bytes: 0,
                time_bytes: 0,
                dictionary_bytes: 0,
                key_bytes: 0,
                dictionary: 0,
                times: None,
            };
            match &slot.segment {
                Segment::Sealed(sealed) => {
                    let header = &sealed.header;
                    stat.state = SegmentState::Sealed;
                    stat.codec = Some(header.codec);
                    stat.group = header.group;
                    stat.raw_bytes = header.raw_bytes;
                    stat.file_bytes = sealed.file_bytes();
                    stat.data_bytes = header.data_bytes;
                    let [index, times, dictionary, keys] = sealed.meta.sizes;
                    stat.index_bytes = index as u64;
                    stat.time_bytes = times as u64;
                    stat.dictionary_bytes = dictionary as u64;
                    stat.key_bytes = keys as u64;
                    stat.dictionary = sealed.meta.dictionary.sum();
                    stat.times = header.timed.then_some(header.times);
                }
                Segment::Open(open) => {
                    stat.state = SegmentState::Open;
                    stat.codec = Some(Codec::Lz4);
                    stat.group = super::GROUP_RECORDS_MAX;
                    stat.raw_bytes = open.raw_bytes().unwrap_or(0);
                    stat.file_bytes = open.file_bytes as u64;
                    stat.data_bytes = open.frames_bytes() as u64;
                    stat.dictionary = open.dictionary.sum();
                }
                Segment::Broken(FileKind::Sealed | FileKind::Open, _) => {}
            }
            stat
        });
        Stat { segments: segments.collect() }
    }
}
