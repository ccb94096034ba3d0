//! What a store is made with.

use super::PageError;
use std::str::FromStr;

/// Number of a page, from 0.
pub type PageId = u64;

/// Number of a commit, from 1; 0 is the empty store.
pub type Generation = u64;

/// Smallest page.
pub const PAGE_BYTES_MIN: usize = 4 << 10;
/// Largest page.
pub const PAGE_BYTES_MAX: usize = 1 << 20;
/// Most pages of a store.
pub const PAGES_MAX: u64 = 1 << 32;
/// Highest generation and epoch that a file may name: so high that none is reached, and the next one is still a number.
pub(crate) const GENERATION_MAX: u64 = u64::MAX / 2;

/// How images lie on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One after the other in extents, found through a map.
    Packed,
    /// Each at number times page size in a sparse file, the rest of the range a hole.
    Holes,
}

impl Layout {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Packed => "packed",
            Self::Holes => "holes",
        }
    }
}

/// When a commit returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When it survives a power cut.
    Sync,
    /// At once; it survives from the next durable commit or checkpoint on, and is whole or absent before.
    Async,
}

/// How images are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As they are.
    None,
    /// LZ4 blocks, with a dictionary if the store has one.
    Lz4,
    /// zstd frames, with a dictionary if the store has one.
    Zstd,
    /// zlib streams.
    Zlib,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Lz4, Self::Zstd, Self::Zlib];

    /// Its byte on disk.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Lz4 => 1,
            Self::Zstd => 2,
            Self::Zlib => 3,
        }
    }

    /// The method of a byte.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.byte() == byte)
    }

    /// True if its images can use a dictionary.
    pub fn takes_dictionary(self) -> bool {
        matches!(self, Self::Lz4 | Self::Zstd)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Zlib => "zlib",
        }
    }
}

/// A method and its level.
///
/// ```
/// use tambour_page::{Method, PageCodec};
/// let codec = PageCodec { method: Method::Zstd, level: 9 };
/// assert_eq!(codec.check()?, codec);
/// assert!(PageCodec { level: 99, ..codec }.check().is_err());
/// # Ok::<(), tambour_page::PageError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCodec {
    /// How.
    pub method: Method,
    /// How hard; 0 for methods without levels.
    pub level: i32,
}

impl PageCodec {
    /// No compression.
    pub const NONE: Self = Self { method: Method::None, level: 0 };
    /// LZ4, fast.
    pub const LZ4: Self = Self { method: Method::Lz4, level: 1 };
    /// zstd at its usual level.
    pub const ZSTD: Self = Self { method: Method::Zstd, level: 3 };
    /// zlib at its usual level.
    pub const ZLIB: Self = Self { method: Method::Zlib, level: 6 };

    /// Refuses levels that the method does not have.
    pub fn check(self) -> Result<Self, PageError> {
        let levels = match self.method {
            Method::None => 0..=0,
            Method::Lz4 => 1..=12,
            Method::Zstd => -7..=22,
            Method::Zlib => 1..=9,
        };
        if levels.contains(&self.level) {
            return Ok(self);
        }
        let problem = format!("level {} of {}", self.level, self.method.name());
        let range = format!("{problem}: levels are {} to {}", levels.start(), levels.end());
        Err(PageError::Argument { what: "codec", problem: range })
    }
}

impl std::fmt::Display for PageCodec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.method {
            Method::None => f.write_str("none"),
            method => write!(f, "{}:{}", method.name(), self.level),
        }
    }
}

impl FromStr for PageCodec {
    type Err = PageError;

    /// `none`, `lz4`, `lz4:9`, `zstd`, `ZSTD(3)`, `zlib:6`.
    fn from_str(text: &str) -> Result<Self, PageError> {
        let lower = text.trim().to_ascii_lowercase();
        let (name, level) = match lower.split_once([':', '(']) {
            Some((name, level)) => (name, Some(level.trim_end_matches(')'))),
            None => (lower.as_str(), None),
        };
        let refused = || PageError::Argument {
            what: "codec",
            problem: format!(
                "{text:?} is not a codec: use none, lz4, zstd or zlib, with a level as in zstd:3"
            ),
        };
        let codec = match name {
            "none" => Self::NONE,
            "lz4" => Self::LZ4,
            "zstd" => Self::ZSTD,
            "zlib" => Self::ZLIB,
            _ => return Err(refused()),
        };
        match level {
            Some(level) => Self { level: level.parse().map_err(|_| refused())?, ..codec }.check(),
            None => Ok(codec),
        }
    }
}

/// What a store is made with. Page size, layout and granule are for ever; the codec can be changed.
///
/// ```
/// use tambour_page::Options;
/// assert!(Options { page_bytes: 8192, ..Options::default() }.check().is_ok());
/// assert!(Options { page_bytes: 5000, ..Options::default() }.check().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of a page: a power of two from 4 KiB to 1 MiB.
    pub page_bytes: usize,
    /// Where images lie.
    pub layout: Layout,
    /// How new images are encoded.
    pub codec: PageCodec,
    /// Extents begin at multiples of it and are padded to it: a power of two from 16 to 4096.
    pub granule: u64,
    /// Number that all images of the store carry, so that one of another file is found out; drawn if `None`.
    pub file_id: Option<u64>,
    /// Commits may write this many bytes before a checkpoint is made by itself; `None` is a twentieth of the images, and at
    /// least 8 MiB.
    pub checkpoint_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            page_bytes: 16 << 10,
            layout: Layout::Packed,
            codec: PageCodec::ZSTD,
            granule: 16,
            file_id: None,
            checkpoint_bytes: None,
        }
    }
}

impl Options {
    /// Refuses what no store can have.
    pub fn check(&self) -> Result<(), PageError> {
        let refused =
            |what, problem: &str| Err(PageError::Argument { what, problem: problem.to_owned() });
        let size = PAGE_BYTES_MIN..=PAGE_BYTES_MAX;
        if !self.page_bytes.is_power_of_two() || !size.contains(&self.page_bytes) {
            return refused("page size", "a power of two from 4 KiB to 1 MiB");
        }
        if !self.granule.is_power_of_two() || !(16..=4096).contains(&self.granule) {
            return refused("granule", "a power of two from 16 to 4096");
        }
        self.codec.check().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, PageCodec};

    #[test]
    fn codecs_as_people_write_them() {
        let codec = |text: &str| text.parse::<PageCodec>().map(|codec| codec.to_string()).ok();
        assert_eq!(codec("ZSTD(3)"), Some("zstd:3".to_owned()));
        assert_eq!(codec("lz4"), Some("lz4:1".to_owned()));
        assert_eq!(codec("zlib:9"), Some("zlib:9".to_owned()));
        assert_eq!(codec("none"), Some("none".to_owned()));
        for text in ["", "zstd:99", "lz4:0", "gzip", "zlib:x"] {
            assert_eq!(codec(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_powers_of_two_in_range() {
        let fits = |page_bytes, granule| {
            Options { page_bytes, granule, ..Options::default() }.check().is_ok()
        };
        assert!(fits(4096, 16) && fits(1 << 20, 512));
        assert!(!fits(2048, 64) && !fits(1 << 21, 64) && !fits(5000, 64) && !fits(4096, 8));
    }
}
