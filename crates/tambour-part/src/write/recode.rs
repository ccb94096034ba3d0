//! The same part with other codecs: its blocks are decoded, encoded anew, decoded again and compared. Rows, granules, layout
//! and all other files stay as they are; only where a granule's block starts is another place.

use super::{Dialect, StringLayout, check_dialect};
use crate::column::{Layout, Stream, StreamKind, streams};
use crate::manifest::checksums::{CHECKSUMS_FILE, Checksums, FileSum};
use crate::manifest::guard::{GUARD_BYTES_MAX, GUARD_FILE, Guard, files_hash};
use crate::mark::{Mark, Marks};
use crate::part::{Form, Part, StoredColumn};
use crate::stream::headers::Headers;
use crate::stream::write::{HashedFile, write_file, write_marks};
use crate::types::Column;
use crate::{PartError, Place};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use tambour_codec::block::{Block, Decoder, Encoder};
use tambour_codec::spec::CodecSpec;
use tambour_kernel::hash::{FileHasher, Hash128};
use tambour_storage::Storage;

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecodeSummary {
    /// Bytes of the recoded files before ...
    pub bytes_before: u64,
    /// ... and after.
    pub bytes_after: u64,
    /// Bytes of all columns, decoded.
    pub uncompressed: u64,
}

/// Files are copied in pieces of this many bytes.
const COPY_BYTES: usize = 1 << 20;

/// Where the bytes of a block have gone: the new block and the position in it, and how many bytes they are.
type Moves = BTreeMap<u64, (Mark, u64)>;

/// Writes a part into a new directory, with the codec that `codec` names for each column. `progress` is told of bytes done,
/// before coding. On an error the directory is left as it is, for the caller to remove.
pub fn recode(
    part: &Arc<Part>,
    storage: &Arc<dyn Storage>,
    target: &Path,
    codec: &dyn Fn(&str) -> CodecSpec,
    progress: &mut dyn FnMut(u64),
) -> Result<RecodeSummary, PartError> {
    check(part, codec)?;
    let Some(sums) = part.files.sums.clone() else { return Err(refusal(part)) };
    let created = storage.create_directory(target);
    created.map_err(|cause| PartError::io(target, "create directory", cause))?;
    let mut work = Recoding {
        part,
        storage,
        target,
        before: sums.clone(),
        sums,
        summary: RecodeSummary::default(),
    };
    let mut seen = HashSet::new();
    for column in part.stored.iter().chain(&part.row_exists) {
        let spec = codec(&column.column.name);
        let dialect = if part.mark_extension() == "mrk" { Dialect::Old } else { Dialect::New };
        check_dialect(dialect, &column.column.name, &spec)?;
        let spec = if dialect == Dialect::Old { spec.plain() } else { spec };
        for stream in &column.streams {
            let stem = part.files.stem(&stream.name.0);
            if seen.insert(stem.clone()) {
                work.stream(column, stream, &stem, &spec)?;
                progress(work.summary.uncompressed);
            }
        }
    }
    work.others(&seen)?;
    let Recoding { before, sums, summary, .. } = work;
    seal(part, (storage, target), &before, sums, None)?;
    let synced = storage.sync_directory(target);
    synced.map_err(|cause| PartError::io(target, "sync directory", cause))?;
    Ok(summary)
}

/// An error if a part cannot be written with other codecs: it is compact, has projections, or no checksums, or servers that the
/// codecs are chosen for do not read how its strings lie.
pub fn check(part: &Part, codec: &dyn Fn(&str) -> CodecSpec) -> Result<(), PartError> {
    let is_wide = part.form() == Form::Wide && part.files.directories.is_empty();
    if !is_wide || part.files.sums.is_none() {
        return Err(refusal(part));
    }
    for column in &part.stored {
        let layout = &column.layout;
        let needed = match (layout.string_sizes, layout.string_sizes_nested) {
            (false, _) => continue,
            (true, false) => StringLayout::Sized,
            (true, true) => StringLayout::SizedInside,
        };
        if needed.is_beyond(&codec(&column.column.name)) {
            let what = "strings with sizes for servers that do not read them: `tambour optimize --codec` \
                        writes its rows anew";
            return Err(PartError::unsupported(Place::file(part.path()), what));
        }
    }
    Ok(())
}

fn refusal(part: &Part) -> PartError {
    let what = "other codecs for the blocks of a part that is compact, has projections or no checksums: \
                `tambour optimize --codec` writes its rows anew, without projections and indexes";
    PartError::unsupported(Place::file(part.path()), what)
}

/// An error if a codec does not suit a column, or is none.
pub fn check_codec(column: &Column, codec: &CodecSpec) -> Result<(), PartError> {
    let streams = streams(&column.name, &column.data_type, &Layout::default());
    streams.iter().try_for_each(|stream| encoder(&column.name, codec, stream).map(drop))
}

/// The encoder of a stream: helpers take the general-purpose codecs of a chain.
pub(super) fn encoder(
    column: &str,
    codec: &CodecSpec,
    stream: &Stream,
) -> Result<Encoder, PartError> {
    let built = match stream.kind {
        StreamKind::Values => Encoder::new(codec, stream.element),
        StreamKind::Helper | StreamKind::Keys => {
            Encoder::new(&codec.generic_only(), stream.element)
        }
    };
    built.map_err(|cause| PartError::Block { place: Box::new(Place::column(column)), cause })
}

struct Recoding<'a> {
    part: &'a Arc<Part>,
    storage: &'a Arc<dyn Storage>,
    target: &'a Path,
    before: Checksums,
    sums: Checksums,
    summary: RecodeSummary,
}

/// The file that a stream is written to, and what waits for it.
struct Output {
    file: HashedFile,
    size: u64,
    encoder: Encoder,
    decoder: Decoder,
    pending: Vec<u8>,
    encoded: Vec<u8>,
    compared: Vec<u8>,
}

impl Output {
    /// Writes what is pending as one block, after it was decoded and compared.
    fn close(&mut self, place: &Place) -> Result<(), PartError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let broken = |cause| PartError::Block { place: Box::new(place.clone()), cause };
        self.encoded.clear();
        self.encoder.encode(&self.pending, &mut self.encoded).map_err(broken)?;
        let block = Block::parse(&self.encoded).map_err(broken)?;
        self.compared.clear();
        self.decoder.decode_append(&block, &mut self.compared).map_err(broken)?;
        if self.compared != self.pending {
            let reason = "a block did not decode to what was encoded; nothing was replaced";
            return Err(PartError::malformed(place.clone(), reason));
        }
        self.size += self.encoded.len() as u64;
        self.file.write(&self.encoded)?;
        self.pending.clear();
        Ok(())
    }
}

impl Recoding<'_> {
    /// One data file and its marks.
    fn stream(
        &mut self,
        column: &StoredColumn,
        stream: &Stream,
        stem: &str,
        codec: &CodecSpec,
    ) -> Result<(), PartError> {
        let name = format!("{stem}.bin");
        let encoder = encoder(&column.column.name, codec, stream)?;
        let (sum, moves) = self.blocks(&name, encoder)?;
        self.summary.bytes_before += self.part.files.length(&name);
        self.summary.bytes_after += sum.size;
        self.sums.files.insert(name, sum);
        let marks = self.part.stream_marks(stem)?;
        let marks_name = self.part.marks_name(stem);
        let sum = self.marks(&marks_name, &marks, &moves)?;
        self.sums.files.insert(marks_name, sum);
        Ok(())
    }

    fn blocks(&mut self, name: &str, encoder: Encoder) -> Result<(FileSum, Moves), PartError> {
        let files = &self.part.files;
        let (path, file) = (files.path_of(name), files.open(name)?);
        // Where the chain is chosen, blocks are as large as suits that; otherwise they stay as they are.
        let wanted = encoder.block_bytes().map_or(1, |bytes| bytes.0);
        let mut output = Output {
            file: HashedFile::new(self.storage, self.target.join(name)),
            size: 0,
            encoder,
            decoder: Decoder::new(),
            pending: Vec::new(),
            encoded: Vec::new(),
            compared: Vec::new(),
        };
        let (mut stored, mut contents, mut size) = (Vec::new(), FileHasher::default(), 0);
        let mut decoder = Decoder::new();
        let mut moves = Moves::new();
        for block in Headers::new(file.as_ref(), &path, 0) {
            let block = block?;
            block.check_size(&path)?;
            let place = Place::file(&path).at(block.start);
            let broken = |cause| PartError::Block { place: Box::new(place.clone()), cause };
            stored.resize(block.header.block_bytes(), 0);
            let read = file.read_exact_at(&mut stored, block.start);
            read.map_err(|cause| PartError::io(&path, "read", cause))?;
            let start = output.pending.len();
            let moved = Mark { block: output.size, offset: start as u64 };
            let parsed = Block::parse(&stored).map_err(broken)?;
            decoder.decode_append(&parsed, &mut output.pending).map_err(broken)?;
            contents.update(&output.pending[start..]);
            let own = (output.pending.len() - start) as u64;
            moves.insert(block.start, (moved, own));
            size += own;
            if output.pending.len() >= wanted {
                output.close(&place)?;
            }
        }
        output.close(&Place::file(&path).at(file.len()))?;
        moves.insert(file.len(), (Mark { block: output.size, offset: 0 }, 0));
        let contents = (size, contents.finish());
        let listed = self.before.files.get(name).and_then(|sum| sum.contents);
        if let Some((listed_size, listed_hash)) = listed {
            let place = || files.place(name);
            if listed_size != size {
                return Err(PartError::mismatch(
                    place(),
                    "size of the contents",
                    listed_size,
                    size,
                ));
            }
            files.check_hash(name, "hash of the contents", listed_hash, contents.1)?;
        }
        self.summary.uncompressed += size;
        Ok((FileSum { contents: Some(contents), ..output.file.finish()? }, moves))
    }

    /// The marks of a stream whose blocks have moved.
    fn marks(&self, name: &str, marks: &Marks, moves: &Moves) -> Result<FileSum, PartError> {
        let mut records = Vec::new();
        for (index, mark) in marks.of_stream(0).enumerate() {
            let place = || self.part.files.place(name).at(index as u64);
            let Some((moved, size)) = moves.get(&mark.block) else {
                return Err(PartError::malformed(place(), "a mark that leads to no block"));
            };
            // Blocks are joined: after its own block, a mark would be in another one's values.
            if mark.offset > *size {
                return Err(PartError::mismatch(place(), "offset of a mark", *size, mark.offset));
            }
            records.extend_from_slice(&moved.block.to_le_bytes());
            records.extend_from_slice(&(moved.offset + mark.offset).to_le_bytes());
            if let Some(rows) = marks.rows.get(index) {
                records.extend_from_slice(&rows.to_le_bytes());
            }
        }
        let path = self.target.join(name);
        write_marks(self.storage, path, &records, self.part.format.compressed)
    }

    /// Copies the files that stay, each checked against what is listed.
    fn others(&self, recoded: &HashSet<String>) -> Result<(), PartError> {
        let files = &self.part.files;
        let is_recoded = |name: &str| {
            let stem = name.strip_suffix(".bin").or_else(|| {
                name.strip_suffix(self.part.mark_extension())
                    .and_then(|name| name.strip_suffix('.'))
            });
            stem.is_some_and(|stem| recoded.contains(stem))
        };
        let fresh = [CHECKSUMS_FILE, GUARD_FILE];
        let staying = files.lengths.keys().filter(|name| !fresh.contains(&name.as_str()));
        for name in staying.filter(|name| !is_recoded(name)) {
            let file = files.open(name)?;
            let mut copy = HashedFile::new(self.storage, self.target.join(name));
            let mut piece = Vec::new();
            let mut at = 0;
            while at < file.len() {
                let left = usize::try_from(file.len() - at).unwrap_or(COPY_BYTES);
                piece.resize(COPY_BYTES.min(left), 0);
                let read = file.read_exact_at(&mut piece, at);
                read.map_err(|cause| PartError::io(&files.path_of(name), "read", cause))?;
                copy.write(&piece)?;
                at += piece.len() as u64;
            }
            let sum = copy.finish()?;
            if let Some(listed) = files.sum(name) {
                files.check_hash(name, "hash", listed.hash, sum.hash)?;
            }
        }
        Ok(())
    }
}

/// Writes our own file, if the part has one, and the list of files: those of `before` as they are now, and the hash of `columns.txt`
/// if that is another file now.
pub(super) fn seal(
    part: &Part,
    (storage, target): (&Arc<dyn Storage>, &Path),
    before: &Checksums,
    mut sums: Checksums,
    columns_file: Option<Hash128>,
) -> Result<(), PartError> {
    let files = &part.files;
    if files.has(GUARD_FILE) {
        let text = files.read(GUARD_FILE, GUARD_BYTES_MAX)?;
        let mut guard = Guard::parse(&files.path_of(GUARD_FILE), &text)?;
        // One that belongs to other files says nothing of these either.
        if guard.files == files_hash(before) {
            guard.files = files_hash(&sums);
            guard.columns_file = columns_file.unwrap_or(guard.columns_file);
        }
        let sum = write_file(storage, target.join(GUARD_FILE), guard.print().as_bytes())?;
        sums.files.insert(GUARD_FILE.to_owned(), sum);
    }
    let path = target.join(CHECKSUMS_FILE);
    let list = sums
        .print()
        .map_err(|cause| PartError::Block { place: Box::new(Place::file(&path)), cause })?;
    write_file(storage, path, &list)?;
    Ok(())
}
