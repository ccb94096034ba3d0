//! Streams and blocks of compressed bytes: `compress`, `decompress`, `decode_block`, `encode_block`, `codecs`.

use crate::buffer::{Bytes, codec};
use crate::failure::{Failure, argument};
use crate::work::{self, Watch};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::io::{self, Write};
use tambour::Kind;
use tambour::codec::block::{Block, Decoder, Encoder};
use tambour::codec::codec::{ALIASES, Class, Element, FAMILIES, Scope, is_portable};
use tambour::codec::kernels;
use tambour::frame::{self, CompressOptions, DecompressOptions, Dictionary, Format};

/// The format of a word.
pub(crate) fn format(word: &str) -> Result<Format, Failure> {
    match word {
        "lz4" => Ok(Format::Lz4),
        "zstd" => Ok(Format::Zstd),
        "block" => Ok(Format::Block),
        other => Err(argument(format!("format {other:?}: there are lz4, zstd and block"))),
    }
}

/// How `compress` compresses, as Python says it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wishes {
    format: String,
    codec: String,
    level: Option<i32>,
    block_bytes: Option<usize>,
    threads: usize,
    dictionary: Option<Vec<u8>>,
    linked: bool,
    block_checksums: bool,
    content_checksum: bool,
}

impl Wishes {
    /// The options of the library.
    pub(crate) fn options(self, content_size: Option<u64>) -> Result<CompressOptions, Failure> {
        let mut options = CompressOptions::new(format(&self.format)?);
        options.codec = codec(&self.codec)?;
        options.level = self.level;
        options.block_bytes = self.block_bytes;
        options.threads = self.threads;
        options.content_size = content_size;
        options.dictionary = self.dictionary.map(|bytes| Dictionary { id: None, bytes });
        options.lz4.linked = self.linked;
        options.lz4.block_checksums = self.block_checksums;
        options.lz4.content_checksum = self.content_checksum;
        Ok(options)
    }
}

/// Compresses bytes.
#[pyfunction]
pub(crate) fn compress<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    wishes: Wishes,
) -> PyResult<Bound<'py, PyBytes>> {
    let data = Bytes::of(data)?;
    let options = wishes.options(Some(data.as_slice().len() as u64))?;
    let compressed = work::over(py, data.is_read_only(), |_| {
        let mut target = Vec::new();
        frame::compress(&mut data.as_slice(), &mut target, &options)?;
        Ok(target)
    })?;
    Ok(PyBytes::new(py, &compressed))
}

/// Decompresses bytes, at most `bytes_max` of them.
#[pyfunction]
pub(crate) fn decompress<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    format: Option<&str>,
    dictionary: Option<Vec<u8>>,
    bytes_max: Option<u64>,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let data = Bytes::of(data)?;
    let options = reading(format, dictionary, threads)?;
    let decompressed = work::over(py, data.is_read_only(), |watch| {
        let mut target = Capped { bytes: Vec::new(), bytes_max, is_full: false, watch };
        let result = frame::decompress(&mut data.as_slice(), &mut target, &options);
        if target.is_full {
            let max = bytes_max.unwrap_or(u64::MAX);
            let text = format!("the data decompress to more than the {max} bytes allowed");
            return Err(Failure::Said(Kind::Limit, text));
        }
        result?;
        Ok(target.bytes)
    })?;
    Ok(PyBytes::new(py, &decompressed))
}

/// How to decompress, as Python says it.
pub(crate) fn reading(
    word: Option<&str>,
    dictionary: Option<Vec<u8>>,
    threads: usize,
) -> Result<DecompressOptions, Failure> {
    Ok(DecompressOptions {
        format: word.map(format).transpose()?,
        dictionary: dictionary.map(|bytes| Dictionary { id: None, bytes }),
        threads,
        ..DecompressOptions::default()
    })
}

/// Memory that takes this many bytes and no more.
struct Capped<'a> {
    bytes: Vec<u8>,
    bytes_max: Option<u64>,
    is_full: bool,
    watch: &'a mut Watch,
}

impl Write for Capped<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let total = self.bytes.len() as u64 + piece.len() as u64;
        self.is_full |= self.bytes_max.is_some_and(|max| total > max);
        if self.is_full || self.watch.flow().is_break() {
            return Err(io::ErrorKind::Other.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The content of one of ClickHouse's blocks, and where the next one starts.
#[pyfunction]
pub(crate) fn decode_block<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    offset: usize,
) -> PyResult<(Bound<'py, PyBytes>, usize)> {
    let data = Bytes::of(data)?;
    let source = data.as_slice().get(offset..).ok_or_else(|| {
        argument(format!("offset {offset} is past the {} bytes", data.as_slice().len()))
    })?;
    let (content, next) = work::over(py, data.is_read_only(), |_| {
        let block = Block::parse(source)?;
        let mut content = Vec::new();
        Decoder::new().decode_append(&block, &mut content)?;
        Ok((content, offset + block.block_bytes()))
    })?;
    Ok((PyBytes::new(py, &content), next))
}

/// One of ClickHouse's blocks of some content; `data_type` says what its values are.
#[pyfunction]
pub(crate) fn encode_block<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    codec_text: &str,
    data_type: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let data = Bytes::of(data)?;
    let (spec, element) = (codec(codec_text)?, element(data_type)?);
    let block = work::over(py, data.is_read_only(), |_| {
        let mut block = Vec::new();
        let mut encoder = Encoder::new(&spec, element)?;
        encoder.encode(data.as_slice(), &mut block)?;
        Ok(block)
    })?;
    Ok(PyBytes::new(py, &block))
}

/// What codecs learn of a type.
fn element(data_type: &str) -> Result<Element, Failure> {
    let parsed: tambour::DataType =
        data_type.parse().map_err(|error: tambour::part::PartError| Failure::from(error))?;
    let element = parsed.element();
    Ok(if element.class == Class::Unknown { Element::BYTES } else { element })
}

/// The codecs: a dictionary for each.
#[pyfunction]
pub(crate) fn codecs(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for family in FAMILIES.iter().chain(ALIASES) {
        let entry = PyDict::new(py);
        entry.set_item("name", family.name)?;
        entry.set_item("method", family.method)?;
        let scope = if family.scope == Scope::Generic { "bytes" } else { "values" };
        entry.set_item("takes", scope)?;
        entry.set_item("portable", is_portable(family.method))?;
        let variant = kernels::in_use(family.name).map_err(Failure::from)?;
        entry.set_item("variant", variant)?;
        list.append(entry)?;
    }
    Ok(list)
}
