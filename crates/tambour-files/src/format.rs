//! Which format a file has: by its name, then by its first bytes.

use crate::FileError;
use crate::source::{Source, is_stream};
use std::fmt;
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Format {
    Csv,
    Tsv,
    JsonLines,
    Parquet,
    ArrowIpc,
}

/// Bytes of a file that sniffing looks at.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

impl Format {
    /// By extension (`.csv`, `.tsv`, `.jsonl`/`.ndjson`, `.parquet`, `.arrow`/`.feather`/`.ipc`), then by the first bytes;
    /// `.zst` and `.gz` after it are looked through.
    pub fn detect(path: &Path) -> Result<Self, FileError> {
        if let Some(format) = Self::by_extension(path) {
            return Ok(format);
        }
        if is_stream(path) {
            let reason = "the format of a stream has to be given (--format)".to_owned();
            return Err(FileError::Argument { reason });
        }
        let mut source = Source::open(path, None)?;
        let mut head = Vec::new();
        source.fill(&mut head, HEAD_BYTES)?;
        Self::sniff(path, &head)
    }

    /// By the name that the command line uses: `csv`, `tsv`, `jsonl`, `parquet`, `arrow`.
    ///
    /// ```
    /// use tambour_files::Format;
    /// assert_eq!(Format::from_name("jsonl"), Some(Format::JsonLines));
    /// assert_eq!(Format::from_name("xls"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "jsonl" | "ndjson" => Self::JsonLines,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "feather" | "ipc" | "arrows" => Self::ArrowIpc,
            _ => return None,
        })
    }

    /// By the extension alone, `.zst` and `.gz` looked through.
    ///
    /// ```
    /// use tambour_files::Format;
    /// assert_eq!(Format::by_extension("hits.csv.gz".as_ref()), Some(Format::Csv));
    /// assert_eq!(Format::by_extension("hits.txt".as_ref()), None);
    /// ```
    pub fn by_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        if ["zst", "zstd", "gz"].iter().any(|&known| extension.eq_ignore_ascii_case(known)) {
            return Self::by_extension(Path::new(path.file_stem()?));
        }
        Self::from_name(extension)
    }

    /// By the (decompressed) first bytes.
    pub(crate) fn sniff(path: &Path, head: &[u8]) -> Result<Self, FileError> {
        let unsupported =
            |reason: String| Err(FileError::Unsupported { path: path.to_owned(), reason });
        if head.is_empty() {
            return Err(FileError::Empty { path: path.to_owned(), what: "the file is empty" });
        }
        if head.starts_with(b"PAR1") {
            return Ok(Self::Parquet);
        }
        if head.starts_with(b"ARROW1") || head.starts_with(&[0xff; 4]) {
            return Ok(Self::ArrowIpc);
        }
        refuse_foreign(path, head)?;
        if head.contains(&0) {
            return unsupported("binary data of an unknown format".to_owned());
        }
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        match text.first() {
            Some(b'{') => Ok(Self::JsonLines),
            Some(b'[') if looks_like_json_array(text) => unsupported(
                "a JSON array; JSON lines (one object per line) can be imported".to_owned(),
            ),
            _ => Ok(if looks_like_tsv(text) { Self::Tsv } else { Self::Csv }),
        }
    }

    /// The name that the command line uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::JsonLines => "jsonl",
            Self::Parquet => "parquet",
            Self::ArrowIpc => "arrow",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Refuses what is known not to be text, whatever its name says.
pub(crate) fn refuse_foreign(path: &Path, head: &[u8]) -> Result<(), FileError> {
    // Some marks are words that a text may begin with; then only binary data after them counts.
    let binary = head.contains(&0);
    let is_word = |magic: &[u8]| magic.iter().all(u8::is_ascii_alphanumeric);
    let known =
        |(magic, _): &&(&[u8], &str)| head.starts_with(magic) && (binary || !is_word(magic));
    match UNREAD.iter().find(known) {
        Some((_, name)) => {
            let reason = format!("{name} is not a format that can be imported");
            Err(FileError::Unsupported { path: path.to_owned(), reason })
        }
        None => Ok(()),
    }
}

/// First bytes of what people try to import all the same.
const UNREAD: &[(&[u8], &str)] = &[
    (b"FEA1", "Feather version 1"),
    (b"ORC", "ORC"),
    (b"Obj\x01", "Avro"),
    (b"PK\x03\x04", "a zip archive (or a spreadsheet)"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x04\x22\x4d\x18", "an LZ4 frame"),
    (b"\xff\xfe", "UTF-16 text (convert it to UTF-8)"),
    (b"\xfe\xff", "UTF-16 text (convert it to UTF-8)"),
];

fn looks_like_json_array(text: &[u8]) -> bool {
    text[1..].trim_ascii_start().first().is_some_and(|&byte| byte == b'{')
}

/// Tabs in the first line and no quoted fields: then it is ClickHouse's (and everyone's) TSV; with quotes it is CSV whose
/// delimiter is a tab.
fn looks_like_tsv(text: &[u8]) -> bool {
    let line = &text[..memchr::memchr(b'\n', text).unwrap_or(text.len())];
    let tabs = memchr::memchr_iter(b'\t', line).count();
    let commas = memchr::memchr_iter(b',', line).count();
    tabs > 0 && tabs >= commas && !line.starts_with(b"\"") && !line.windows(2).any(|w| w == b"\t\"")
}
