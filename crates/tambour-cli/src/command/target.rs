//! What a path on the command line is: a table, a part, or a file of blocks.

use crate::exit::Failure;
use anyhow::Context;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use tambour::store::table::PartName;

/// Files by which a directory is known to be a part; any of them will do, so that a damaged part is still one.
const PART_FILES: [&str; 4] = ["columns.txt", "checksums.txt", "count.txt", "data.bin"];

/// The kinds of things that `inspect` and `verify` look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Table,
    Part,
    Blocks,
    Pages,
}

impl Target {
    /// The word for it in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Part => "part",
            Self::Blocks => "blocks",
            Self::Pages => "pages",
        }
    }

    /// Looks at what is there.
    pub(crate) fn identify(path: &Path) -> anyhow::Result<Self> {
        let place = || path.display().to_string();
        if std::fs::metadata(path).with_context(place)?.is_dir() {
            return Ok(if is_part(path) { Self::Part } else { Self::Table });
        }
        if super::pages::is_store(path) {
            return Ok(Self::Pages);
        }
        if path.extension().is_some_and(|extension| extension == "bin") {
            return Ok(Self::Blocks);
        }
        let mut head = [0; 4];
        let mut file = File::open(path).with_context(place)?;
        let frame = match read_head(&mut file, &mut head).with_context(place)? {
            4 => frame_name(u32::from_le_bytes(head)),
            _ => None,
        };
        let what = match frame {
            Some(name) => format!("{}: {name} files are not supported yet", path.display()),
            None => format!("{}: no table, no part, no file of blocks (.bin)", path.display()),
        };
        Err(Failure::Unsupported(what).into())
    }
}

fn is_part(path: &Path) -> bool {
    let named = path.file_name().and_then(|name| name.to_str()).and_then(PartName::parse).is_some();
    named || PART_FILES.iter().any(|name| path.join(name).is_file())
}

/// Containers of others, by their magic numbers.
fn frame_name(magic: u32) -> Option<&'static str> {
    match magic {
        0x184d_2204 | 0x184c_2102 => Some("LZ4 frame"),
        0xfd2f_b528 => Some("zstd frame"),
        0x3152_4150 => Some("Parquet"),
        _ => None,
    }
}

fn read_head(file: &mut File, head: &mut [u8; 4]) -> std::io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = head.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}
