//! Dictionaries of zstd: content that matches reach into, and for trained ones tables to begin with (RFC 8878, 5).

use super::bits::Fault;
use super::field::Field;
use super::fse::Table;
use super::huffman::Tree;
use super::sequences::History;
use crate::frame::FrameError;

/// First four bytes of a trained dictionary.
const MAGIC: [u8; 4] = 0xec30_a437_u32.to_le_bytes();

/// A dictionary, read.
#[derive(Clone, Debug)]
pub struct ZstdDictionary {
    /// Its identity; a dictionary that is nothing but content has none.
    pub id: Option<u32>,
    /// Bytes that matches can reach.
    pub content: Vec<u8>,
    pub(super) tree: Option<Tree>,
    pub(super) history: History,
}

impl ZstdDictionary {
    /// Reads a dictionary. Whatever has no magic number is content.
    pub fn read(bytes: &[u8]) -> Result<Self, FrameError> {
        let wrong = |fault: Fault| FrameError::Malformed {
            what: "dictionary",
            offset: fault.at as u64,
            reason: fault.reason,
        };
        match bytes.strip_prefix(&MAGIC) {
            Some(rest) => trained(rest).map_err(|fault| wrong(fault.after(MAGIC.len()))),
            None => Ok(Self {
                id: None,
                content: bytes.to_vec(),
                tree: None,
                history: History::default(),
            }),
        }
    }
}

fn trained(bytes: &[u8]) -> Result<ZstdDictionary, Fault> {
    let cut = Fault::new(bytes.len(), "the dictionary is cut short");
    let number = |at: usize| {
        let field = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>);
        field.map(|field| u32::from_le_bytes(*field)).ok_or(cut)
    };
    let id = number(0)?;
    let mut at = 4;
    let rest = |at: usize| bytes.get(at..).unwrap_or_default();
    let (tree, used) = Tree::read(rest(at)).map_err(|fault| fault.after(at))?;
    at += used;
    let mut history = History::default();
    // The order is another one than in a block.
    for field in [Field::Offset, Field::Match, Field::Literals] {
        let (table, used) = Table::read(rest(at), field.log_max(), field.code_max())
            .map_err(|fault| fault.after(at))?;
        history.tables[field as usize] = Some(table);
        at += used;
    }
    let content = bytes.get(at + 12..).ok_or(cut)?.to_vec();
    for offset in &mut history.offsets {
        *offset = number(at)?;
        if *offset == 0 || *offset as usize > content.len() {
            return Err(Fault::new(at, "an offset does not reach into the content"));
        }
        at += 4;
    }
    Ok(ZstdDictionary { id: (id != 0).then_some(id), content, tree: Some(tree), history })
}
