//! The manifest: which files a backup has, and where their bytes are.

use crate::error::BackupError;
use crate::window::Stream;
use quick_xml::Reader;
use quick_xml::events::Event;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use tambour_kernel::hash::Hash128;
use tambour_storage::{ReadAt, Storage};

/// The only version that there is.
const VERSION: &str = "1";
/// Most bytes of a manifest: millions of files.
const MANIFEST_MAX: u64 = 4 << 30;
/// Elements about the backup as a whole that do not say where bytes are.
const PLAIN_HEADS: [&str; 6] = [
    "deduplicate_files",
    "timestamp",
    "backup_id",
    "base_backup_copy_s3_credentials_from_backup",
    "data_file_name_generator",
    "data_file_name_prefix_length",
];

/// A manifest.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    /// The backup's own UUID.
    pub(crate) uuid: Option<String>,
    /// Where the base was, as ClickHouse was told: `Disk('backups', 'monday')`.
    pub(crate) base: Option<String>,
    /// The base's UUID.
    pub(crate) base_uuid: Option<String>,
    /// The files.
    pub(crate) files: Vec<Listed>,
}

/// A file by size and hash: what the base is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Content {
    pub(crate) size: u64,
    pub(crate) hash: Hash128,
}

/// A file.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Its name in the backup.
    pub(crate) name: String,
    /// All of it.
    pub(crate) content: Content,
    /// What of its beginning lies in the base.
    pub(crate) base: Option<Content>,
    /// The name under which the rest lies.
    pub(crate) data_file: Option<String>,
}

/// Reads a manifest.
pub(crate) fn read(storage: &Arc<dyn Storage>, path: &Path) -> Result<Manifest, BackupError> {
    let file = storage.open(path).map_err(BackupError::file(path))?;
    if file.len() > MANIFEST_MAX {
        return Err(BackupError::Limit {
            path: path.to_owned(),
            what: format!("a manifest of {} bytes", file.len()),
            limit: format!("{MANIFEST_MAX} bytes"),
        });
    }
    parse(Stream::new(file), path)
}

/// The UUID of a backup by the first bytes of its manifest, which has it before the files.
pub(crate) fn uuid_of(file: &Arc<dyn ReadAt>) -> Option<String> {
    let mut head = vec![0; usize::try_from(file.len().min(4096)).unwrap_or_default()];
    file.read_exact_at(&mut head, 0).ok()?;
    let head = String::from_utf8_lossy(&head);
    let (_, rest) = head.split_once("<uuid>")?;
    rest.split_once("</uuid>").map(|(uuid, _)| uuid.trim().to_owned())
}

/// Elements of one file, before they are looked at together.
#[derive(Debug, Default)]
struct Fields {
    name: Option<String>,
    size: Option<String>,
    checksum: Option<String>,
    use_base: Option<String>,
    base_size: Option<String>,
    base_checksum: Option<String>,
    data_file: Option<String>,
}

fn parse(source: impl Read, path: &Path) -> Result<Manifest, BackupError> {
    let mut reader = Reader::from_reader(BufReader::new(source));
    let (mut buffer, mut open, mut text) = (Vec::new(), Vec::<String>::new(), String::new());
    let mut manifest = Manifest::default();
    let mut version = None;
    let mut fields = Fields::default();
    loop {
        let damaged = |what: String| BackupError::damaged(path, what);
        let event = reader
            .read_event_into(&mut buffer)
            .map_err(|error| damaged(format!("not a manifest: {error}")))?;
        match event {
            Event::Start(tag) => {
                open.push(tag.name().as_ref().to_owned());
                text.clear();
            }
            Event::Text(found) => {
                text.push_str(&found);
            }
            Event::GeneralRef(found) => {
                let whole = format!("&{};", &*found);
                let plain = quick_xml::escape::unescape(&whole);
                text.push_str(&plain.map_err(|error| damaged(error.to_string()))?);
            }
            Event::End(_) => {
                let places: Vec<&str> = open.iter().map(String::as_str).collect();
                let value = std::mem::take(&mut text);
                match places.as_slice() {
                    ["config", "version"] => version = Some(value),
                    ["config", "uuid"] => manifest.uuid = Some(value),
                    ["config", "base_backup"] => manifest.base = Some(value),
                    ["config", "base_backup_uuid"] => manifest.base_uuid = Some(value),
                    ["config", "contents", "file"] => {
                        manifest.files.push(std::mem::take(&mut fields).listed(path)?);
                    }
                    ["config", "contents", "file", field] => fields.set(field, value, path)?,
                    ["config"] | ["config", "contents"] => {}
                    ["config", head] if PLAIN_HEADS.contains(head) => {}
                    other => return Err(unknown(path, &other.join("/"))),
                }
                open.pop();
            }
            Event::Eof => break,
            _ => {}
        }
        buffer.clear();
    }
    if !open.is_empty() || version.is_none() {
        return Err(BackupError::damaged(path, "the manifest is cut off"));
    }
    match version.as_deref() {
        Some(VERSION) => Ok(manifest),
        other => Err(BackupError::Unsupported {
            path: path.to_owned(),
            what: format!(
                "a manifest of version {}, known is {VERSION}",
                other.unwrap_or_default()
            ),
        }),
    }
}

fn unknown(path: &Path, what: &str) -> BackupError {
    let what =
        format!("a manifest with {what:?}, which is not known here; restore it with ClickHouse");
    BackupError::Unsupported { path: path.to_owned(), what }
}

impl Fields {
    fn set(&mut self, field: &str, value: String, path: &Path) -> Result<(), BackupError> {
        let place = match field {
            "name" => &mut self.name,
            "size" => &mut self.size,
            "checksum" => &mut self.checksum,
            "use_base" => &mut self.use_base,
            "base_size" => &mut self.base_size,
            "base_checksum" => &mut self.base_checksum,
            "data_file" => &mut self.data_file,
            // Encrypted files and those that lie in object storage alone are among these.
            other => return Err(unknown(path, other)),
        };
        *place = Some(value);
        Ok(())
    }

    fn listed(self, path: &Path) -> Result<Listed, BackupError> {
        let name = self.name.ok_or_else(|| BackupError::damaged(path, "a file without a name"))?;
        let wrong = |what: &str| BackupError::damaged(path, format!("{what} of {name:?}"));
        let number = |text: Option<&String>, what| match text {
            Some(text) => text.trim().parse::<u64>().map(Some).map_err(|_| wrong(what)),
            None => Ok(None),
        };
        let hash = |text: Option<&String>, what| {
            let text = text.ok_or_else(|| wrong(what))?;
            parse_hash(text.trim()).ok_or_else(|| wrong(what))
        };
        let size = number(self.size.as_ref(), "the size")?.ok_or_else(|| wrong("no size"))?;
        if size == 0 {
            let content = Content { size, hash: Hash128::default() };
            return Ok(Listed { name, content, base: None, data_file: None });
        }
        let content = Content { size, hash: hash(self.checksum.as_ref(), "the checksum")? };
        let use_base = matches!(self.use_base.as_deref().map(str::trim), Some("true" | "1"));
        let base_size = number(self.base_size.as_ref(), "the size in the base")?;
        let base_size = base_size.unwrap_or(if use_base { size } else { 0 });
        let base = match base_size {
            0 => None,
            _ if base_size > size => return Err(wrong("a size in the base above the size")),
            _ if base_size == size => Some(content),
            _ => {
                let hash = hash(self.base_checksum.as_ref(), "the checksum in the base")?;
                Some(Content { size: base_size, hash })
            }
        };
        let data_file = (base_size < size).then(|| self.data_file.unwrap_or_else(|| name.clone()));
        Ok(Listed { name, content, base, data_file })
    }
}

/// 32 hexadecimal digits.
fn parse_hash(text: &str) -> Option<Hash128> {
    if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(text, 16).ok().map(|value| Hash128::from_bytes(value.to_le_bytes()))
}

/// A hash as the manifest writes it: a number, its highest digits first.
pub(crate) fn shown(hash: Hash128) -> String {
    format!("{:032x}", u128::from_le_bytes(hash.to_bytes()))
}
