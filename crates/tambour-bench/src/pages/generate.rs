//! Rows laid out in pages, as a B-tree that was filled in the order of its key has them.
//!
//! A page is what InnoDB makes of it, in outline: a header of 120 bytes, records one behind the other (each with a header of 5
//! bytes, 13 bytes of transaction and undo pointer), free space of a sixteenth, a directory of two bytes for every six records
//! that grows from the end, a trailer of 8 bytes. Numbers are big-endian.

use tambour_report::random::Random;

/// Bytes in front of the first record.
const HEAD_BYTES: usize = 120;
/// Bytes at the end.
const TAIL_BYTES: usize = 8;
/// Records that share a slot of the directory.
const SLOT_RECORDS: usize = 6;

/// The kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Lines of an access log: project, title, requests, bytes; about 60 bytes.
    AccessLog,
    /// Samples of 134 metrics of a machine.
    Metrics,
}

impl Rows {
    /// Both.
    pub const ALL: [Self; 2] = [Self::AccessLog, Self::Metrics];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccessLog => "access log",
            Self::Metrics => "metrics",
        }
    }

    /// So many bytes of pages, rows filled in until they are full. The same sizes give the same bytes everywhere.
    pub fn pages(self, page_bytes: usize, bytes: usize) -> Vec<Vec<u8>> {
        self.pages_and_rows(page_bytes, bytes, &mut |_| ())
    }

    /// The same; `take` gets every row that the pages hold.
    pub(super) fn pages_and_rows(
        self,
        page_bytes: usize,
        bytes: usize,
        take: &mut dyn FnMut(&[u8]),
    ) -> Vec<Vec<u8>> {
        let mut random = Random::new(page_bytes as u64);
        let mut log = AccessLog::new(&mut random);
        let mut metrics = Metrics::new();
        let mut pages = Vec::new();
        let mut row = Vec::new();
        let mut page = PageBuilder::new(page_bytes, 0);
        while pages.len() * page_bytes < bytes {
            row.clear();
            match self {
                Self::AccessLog => log.row(&mut random, &mut row),
                Self::Metrics => metrics.row(&mut random, &mut row),
            }
            if !page.add(&row) {
                #[expect(clippy::cast_possible_truncation, reason = "pages fit into memory")]
                let number = pages.len() as u32 + 1;
                let full = std::mem::replace(&mut page, PageBuilder::new(page_bytes, number));
                pages.push(full.finish());
                page.add(&row);
                if pages.len() * page_bytes >= bytes {
                    break;
                }
            }
            take(&row);
        }
        pages
    }

    /// Changes a number of one row of a page, as an update of a counter does.
    pub(super) fn update(page: &mut [u8], random: &mut Random) {
        let used = u16::from_be_bytes([page[40], page[41]]).max(1);
        let slot = page.len() - TAIL_BYTES - 2 * (1 + random.index(usize::from(used)));
        let record = usize::from(u16::from_be_bytes([page[slot], page[slot + 1]])) << SHIFT;
        // The record's own number, which a directory of two bytes cannot place exactly in large pages: near it is enough.
        let at = (record + 5 + 8).min(page.len() - 64);
        let value = u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
        page[at..at + 4].copy_from_slice(&value.wrapping_add(1).to_be_bytes());
        // The page's own sequence number moves with every change.
        let sequence = random.number().to_be_bytes();
        page[16..24].copy_from_slice(&sequence);
    }
}

/// Offsets in the directory are in units of 32 bytes, so that they fit pages of 1 MiB.
const SHIFT: usize = 5;

/// A page that is being filled.
struct PageBuilder {
    bytes: Vec<u8>,
    used: usize,
    records: usize,
    slots: Vec<u16>,
}

impl PageBuilder {
    fn new(page_bytes: usize, number: u32) -> Self {
        let mut bytes = vec![0; page_bytes];
        bytes[4..8].copy_from_slice(&number.to_be_bytes());
        bytes[8..12].copy_from_slice(&number.wrapping_sub(1).to_be_bytes());
        bytes[12..16].copy_from_slice(&number.wrapping_add(1).to_be_bytes());
        bytes[16..24].copy_from_slice(&(0x1_0000_0000 + u64::from(number) * 7919).to_be_bytes());
        bytes[24..26].copy_from_slice(&17_855_u16.to_be_bytes());
        bytes[34..38].copy_from_slice(&25_u32.to_be_bytes());
        bytes[94..HEAD_BYTES].copy_from_slice(b"\x01\0\x02\0\x1cinfimum\0\x05\0\x0b\0\0supremum");
        Self { bytes, used: HEAD_BYTES, records: 0, slots: Vec::new() }
    }

    /// Adds a record, if a sixteenth of the page stays free.
    fn add(&mut self, row: &[u8]) -> bool {
        let length = 5 + 13 + row.len();
        let directory = 2 * (self.slots.len() + 1) + TAIL_BYTES;
        if self.used + length + directory > self.bytes.len() - self.bytes.len() / 16 {
            return false;
        }
        if self.records.is_multiple_of(SLOT_RECORDS) {
            self.slots.push(u16::try_from(self.used >> SHIFT).unwrap_or(u16::MAX));
        }
        let number = u16::try_from(self.records + 2).unwrap_or(u16::MAX);
        let next = u16::try_from(length).unwrap_or(u16::MAX);
        let mut record = Vec::with_capacity(length);
        record.push(0);
        record.extend((number << 3).to_be_bytes());
        record.extend(next.to_be_bytes());
        // The key stands before transaction and undo pointer.
        record.extend(&row[..8]);
        record.extend([0, 0, 0, 1, 0x2f, 0x11, 0x82]);
        #[expect(clippy::cast_possible_truncation, reason = "the low bytes are what is wanted")]
        record.extend([0, 1, 0x2a, (self.records >> 8) as u8, self.records as u8, 0x10]);
        record.extend(&row[8..]);
        self.bytes[self.used..self.used + record.len()].copy_from_slice(&record);
        self.used += record.len();
        self.records += 1;
        true
    }

    fn finish(mut self) -> Vec<u8> {
        let end = self.bytes.len() - TAIL_BYTES;
        for (index, slot) in self.slots.iter().enumerate() {
            let at = end - 2 * (index + 1);
            self.bytes[at..at + 2].copy_from_slice(&slot.to_be_bytes());
        }
        let slots = u16::try_from(self.slots.len()).unwrap_or(u16::MAX);
        self.bytes[40..42].copy_from_slice(&slots.to_be_bytes());
        let records = u16::try_from(self.records).unwrap_or(u16::MAX);
        self.bytes[54..56].copy_from_slice(&records.to_be_bytes());
        let sequence: [u8; 4] = self.bytes[20..24].try_into().unwrap_or_default();
        self.bytes[end + 4..].copy_from_slice(&sequence);
        self.bytes
    }
}

/// Lines of hourly page counts: sorted by nothing but the order in which they came.
struct AccessLog {
    id: u64,
    time: u32,
    words: Vec<String>,
}

/// Projects with their share in a thousand.
const PROJECTS: [(&str, u64); 12] = [
    ("en", 420),
    ("ja", 90),
    ("de", 85),
    ("es", 80),
    ("fr", 70),
    ("ru", 65),
    ("pt", 40),
    ("it", 38),
    ("zh", 35),
    ("commons.m", 30),
    ("pl", 27),
    ("en.d", 20),
];

impl AccessLog {
    fn new(random: &mut Random) -> Self {
        // Words that are spelled by syllables: letters are as unevenly spread as in a language.
        const SYLLABLES: [&str; 40] = [
            "an", "be", "ca", "der", "en", "fo", "ga", "he", "in", "ja", "ka", "la", "mar", "na",
            "or", "pa", "qui", "ra", "sta", "te", "un", "vi", "wa", "xi", "yo", "za", "ing",
            "tion", "al", "er", "es", "ic", "is", "ist", "ly", "man", "ness", "on", "ton", "us",
        ];
        let word = |random: &mut Random| {
            let mut word = String::new();
            for _ in 0..=1 + random.below(3) {
                word.push_str(SYLLABLES[random.index(40)]);
            }
            let first = word.remove(0).to_ascii_uppercase();
            format!("{first}{word}")
        };
        let words = (0..2_500).map(|_| word(random)).collect();
        Self { id: 0, time: 1_400_000_000, words }
    }

    fn row(&mut self, random: &mut Random, row: &mut Vec<u8>) {
        self.id += 1;
        if random.below(20) == 0 {
            self.time += 1;
        }
        row.extend(self.id.to_be_bytes());
        row.extend(self.time.to_be_bytes());
        // Few are asked for much, many for little.
        let size = random.number();
        let hits = 1 + (1_u64 << (size % 8)) * u64::from(size & 0x700 == 0) + (size >> 20 & 1);
        row.extend(u32::try_from(hits).unwrap_or(1).to_be_bytes());
        let bytes = hits * (6_000 + random.below(4_000) * 15);
        row.extend(u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes());
        let mut share = random.below(1000);
        let project = PROJECTS.iter().find(|(_, part)| {
            let found = share < *part;
            share = share.saturating_sub(*part);
            found
        });
        row.extend(project.map_or("nl", |(name, _)| name).as_bytes());
        let special = random.below(12);
        let title: String = match special {
            0 => format!("Special:Search/{}", self.word(random)),
            1 => format!("File:{}_{}.jpg", self.word(random), random.below(10_000)),
            2 => format!("Category:{}", self.word(random)),
            3 => format!("Talk:{}_{}", self.word(random), self.word(random)),
            _ => {
                let count = 1 + random.below(4);
                let words: Vec<&str> = (0..count).map(|_| self.word(random)).collect();
                words.join("_")
            }
        };
        row.extend(title.as_bytes());
    }

    /// A word; the first ones are the most frequent.
    fn word(&self, random: &mut Random) -> &str {
        let count = self.words.len() as u64;
        let skewed = random.below(count) * random.below(count) / count;
        &self.words[usize::try_from(skewed).unwrap_or(0)]
    }
}

/// Samples of one machine after the other, a day of each in turn.
struct Metrics {
    host: u32,
    sample: u32,
    state: Vec<u64>,
}

/// Metrics of a row.
pub(super) const METRICS: usize = 132;
/// Samples of a machine in a row.
const SAMPLES: u32 = 288;

/// True for the metrics of 32 bits; the others have 64.
pub(super) fn is_short(metric: usize) -> bool {
    metric % 12 != 3 && metric % 5 < 2
}

/// What a metric does from one sample to the next.
#[derive(Clone, Copy)]
enum Course {
    /// Always the same for a machine: sizes, versions, limits.
    Constant,
    /// Nearly always zero: errors, drops, retries.
    Rare,
    /// Counts up by about its rate.
    Counter,
    /// Counts up seldom.
    Slow,
    /// A mean of something: wanders, with all digits.
    Gauge,
}

fn course(metric: usize) -> Course {
    match metric % 12 {
        3 => Course::Gauge,
        7 if metric % 48 == 7 => Course::Counter,
        11 if metric % 48 == 11 => Course::Slow,
        kind if kind < 7 => Course::Rare,
        _ => Course::Constant,
    }
}

impl Metrics {
    fn new() -> Self {
        Self { host: 0, sample: 0, state: Vec::new() }
    }

    fn row(&mut self, random: &mut Random, row: &mut Vec<u8>) {
        if self.sample.is_multiple_of(SAMPLES) {
            self.host += 1;
            self.state = (0..METRICS).map(|metric| start(metric, random)).collect();
        }
        self.sample += 1;
        row.extend(self.host.to_be_bytes());
        row.extend((1_400_000_000 + self.sample * 300).to_be_bytes());
        for metric in 0..METRICS {
            let state = &mut self.state[metric];
            let value = match course(metric) {
                Course::Constant => *state,
                Course::Rare => u64::from(random.below(400) == 0) * (1 + random.below(9)),
                Course::Slow => {
                    *state += u64::from(random.below(12) == 0);
                    *state
                }
                Course::Gauge => {
                    // A mean of measurements, as a double: it wanders around the state, and no two are equal.
                    let share = random.below(1 << 52) as f64 / (1_u64 << 52) as f64;
                    (*state as f64 * (0.9 + share / 5.0)).to_bits()
                }
                Course::Counter => {
                    let rate = 1 << (9 + metric % 13);
                    *state += rate / 2 + random.below(rate + 1);
                    *state
                }
            };
            if is_short(metric) {
                row.extend(u32::try_from(value & 0xffff_ffff).unwrap_or(0).to_be_bytes());
            } else {
                row.extend(value.to_be_bytes());
            }
        }
    }
}

/// Where a metric of a machine begins.
fn start(metric: usize, random: &mut Random) -> u64 {
    let magnitude = 1_u64 << (metric % 29 + 3);
    match course(metric) {
        Course::Constant => magnitude,
        Course::Rare => 0,
        Course::Slow => random.below(500),
        Course::Gauge => magnitude / 64 + random.below(magnitude / 8 + 1),
        Course::Counter => random.below(magnitude) << 8,
    }
}

#[cfg(test)]
mod tests {
    use super::{Random, Rows};

    #[test]
    fn pages_are_full_and_the_same_every_time() {
        for rows in Rows::ALL {
            for page_bytes in [4096, 16384, 65536] {
                let pages = rows.pages(page_bytes, 1 << 20);
                assert!(pages.len() * page_bytes >= 1 << 20);
                assert!(pages.iter().all(|page| page.len() == page_bytes));
                assert_eq!(pages, rows.pages(page_bytes, 1 << 20));
                assert_ne!(pages[0][120..], pages[1][120..]);
            }
        }
    }

    #[test]
    fn an_update_changes_little() {
        let mut random = Random::new(3);
        for rows in Rows::ALL {
            let mut page = rows.pages(16384, 1 << 16).remove(1);
            let before = page.clone();
            Rows::update(&mut page, &mut random);
            let changed = page.iter().zip(&before).filter(|(new, old)| new != old).count();
            assert!((1..=12).contains(&changed), "{changed}");
        }
    }
}
