//! What a path on the command line is: a table, a part, a server's disk or a backup of one, a file of blocks, or one of frames.

use crate::exit::Failure;
use anyhow::Context;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use tambour::codec::block::{Block, Header};
use tambour::sample::is_part;
use tambour::table::server::{ServerDisk, is_archive};
use tambour::table::store::{is_url, storage_of};

/// Bytes by which a file is known; the first block of a stream is rarely longer.
const HEAD_BYTES: u64 = 4 << 20;
/// Magic number of Parquet files.
const PARQUET: u32 = 0x3152_4150;

/// The kinds of things that `inspect` and `verify` look at.
#[derive(Debug)]
pub(crate) enum Target {
    Table,
    Server(ServerDisk),
    Part,
    Blocks,
    Pages,
    Frames,
}

impl Target {
    /// The word for it in JSON.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Server(_) => "server",
            Self::Part => "part",
            Self::Blocks => "blocks",
            Self::Pages => "pages",
            Self::Frames => "frames",
        }
    }

    /// The same for a URL: files of blocks and of frames are looked at on this machine only.
    fn in_store(path: &Path) -> anyhow::Result<Self> {
        let storage = storage_of(path)?;
        if let Some(disk) = ServerDisk::open(&storage, path)? {
            return Ok(Self::Server(disk));
        }
        let columns = path.join("columns.txt");
        let is_part = storage.exists(&columns).with_context(|| columns.display().to_string())?;
        Ok(if is_part { Self::Part } else { Self::Table })
    }

    /// Looks at what is there.
    pub(crate) fn identify(path: &Path) -> anyhow::Result<Self> {
        if is_url(path) {
            return Self::in_store(path);
        }
        let place = || path.display().to_string();
        let is_directory = std::fs::metadata(path).with_context(place)?.is_dir();
        if is_directory && is_part(path) {
            return Ok(Self::Part);
        }
        if (is_directory || is_archive(path))
            && let Some(disk) = ServerDisk::open(&storage_of(path)?, path)?
        {
            return Ok(Self::Server(disk));
        }
        if is_directory {
            return Ok(Self::Table);
        }
        if super::pages::is_store(path) {
            return Ok(Self::Pages);
        }
        if path.extension().is_some_and(|extension| extension == "bin") {
            return Ok(Self::Blocks);
        }
        let mut head = Vec::new();
        let file = File::open(path).with_context(place)?;
        file.take(HEAD_BYTES).read_to_end(&mut head).with_context(place)?;
        let magic = head.first_chunk().map(|magic| u32::from_le_bytes(*magic));
        match magic {
            Some(0x184d_2204 | 0x184c_2102 | 0xfd2f_b528 | 0x184d_2a50..=0x184d_2a5f) => {
                return Ok(Self::Frames);
            }
            // A stream of blocks has no magic number, but nothing else has its checksum.
            _ if is_block(&head) => return Ok(Self::Blocks),
            _ => {}
        }
        let what = if magic == Some(PARQUET) {
            format!("{}: Parquet files are not supported here", path.display())
        } else {
            let what = "not a table, a part, or a file of blocks or of LZ4 or zstd frames";
            format!("{}: {what}", path.display())
        };
        Err(Failure::Unsupported(what).into())
    }
}

/// True if the first block is whole and its checksum is right.
fn is_block(head: &[u8]) -> bool {
    let header = Header::parse(head).ok();
    let block = header.and_then(|header| head.get(..header.block_bytes()));
    block.is_some_and(|block| Block::parse(block).is_ok())
}
