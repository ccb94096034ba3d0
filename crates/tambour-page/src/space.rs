//! What a file would take as pages: per page size and codec, packed and with holes, with and without a dictionary.

use super::PageError;
use super::codec::Coder;
use super::dictionary::Dictionary;
use super::header::HEADER_BYTES;
use super::options::PageCodec;
use super::shared::BLOCK_BYTES;
use super::training;
use std::sync::Arc;

/// The granule of the packed layout that is counted with.
const GRANULE: u64 = 16;

/// What pages of one size and codec take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes of a page.
    pub page_bytes: usize,
    /// How they are encoded.
    pub codec: PageCodec,
    /// Bytes of the dictionary; 0 without one. A dictionary is trained on every other page and judged by the rest.
    pub dictionary_bytes: usize,
    /// Pages that were encoded.
    pub pages: u64,
    /// Their bytes.
    pub raw_bytes: u64,
    /// Bytes that they take packed, headers and padding included.
    pub packed_bytes: u64,
    /// Bytes that they take with holes, in blocks of 4 KiB.
    pub holes_bytes: u64,
    /// Pages by the blocks of 4 KiB that they take with holes: the first for none, as pages of zeros.
    pub blocks: Vec<u64>,
}

impl Space {
    /// How many times smaller, packed.
    pub fn packed_ratio(&self) -> f64 {
        self.raw_bytes as f64 / self.packed_bytes.max(1) as f64
    }

    /// How many times smaller, with holes.
    pub fn holes_ratio(&self) -> f64 {
        self.raw_bytes as f64 / self.holes_bytes.max(1) as f64
    }
}

/// Encodes `content`, cut into pages of each size, with each codec, and for zstd with a dictionary, too. The last page is
/// filled up with zeros. `progress` is told after each of the combinations.
///
/// ```
/// use tambour_page::{PageCodec, space::measure};
/// let content = [7; 64 << 10];
/// let found = measure(&content, &[4096, 16384], &[PageCodec::LZ4], false, &mut || {})?;
/// assert_eq!((found[0].pages, found[1].pages), (16, 4));
/// assert!(found.iter().all(|space| space.packed_ratio() > 10.0));
/// # Ok::<(), tambour_page::PageError>(())
/// ```
pub fn measure(
    content: &[u8],
    page_sizes: &[usize],
    codecs: &[PageCodec],
    dictionaries: bool,
    progress: &mut dyn FnMut(),
) -> Result<Vec<Space>, PageError> {
    let mut found = Vec::new();
    for &page_bytes in page_sizes {
        super::Options { page_bytes, ..super::Options::default() }.check()?;
        let pages: Vec<Vec<u8>> = content
            .chunks(page_bytes)
            .map(|piece| {
                let mut page = piece.to_vec();
                page.resize(page_bytes, 0);
                page
            })
            .collect();
        for &codec in codecs {
            found.push(encode(&pages, codec, None)?);
            progress();
            if dictionaries && codec.method.takes_dictionary() && pages.len() >= 16 {
                let sample: Vec<Vec<u8>> = sample(&pages);
                let total = pages.len() as u64;
                let trained = training::train(&mut Coder::new(), codec, 1, &sample, total)?;
                if let (_, Some(dictionary)) = trained {
                    let held_out: Vec<Vec<u8>> = pages.iter().skip(1).step_by(2).cloned().collect();
                    found.push(encode(&held_out, codec, Some(&Arc::new(dictionary)))?);
                }
                progress();
            }
        }
    }
    Ok(found)
}

/// At most some two thousand pages, so that pages at odd places are never trained on.
fn sample(pages: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let step = (pages.len() / 2000).max(1);
    let pairs = pages.chunks_exact(2).step_by(step);
    pairs.flat_map(|pair| pair.iter().cloned()).collect()
}

fn encode(
    pages: &[Vec<u8>],
    codec: PageCodec,
    dictionary: Option<&Arc<Dictionary>>,
) -> Result<Space, PageError> {
    let page_bytes = pages.first().map_or(0, Vec::len);
    let blocks_max = page_bytes as u64 / BLOCK_BYTES;
    let mut space = Space {
        page_bytes,
        codec,
        dictionary_bytes: dictionary.map_or(0, |dictionary| dictionary.bytes.len()),
        pages: pages.len() as u64,
        raw_bytes: (page_bytes * pages.len()) as u64,
        packed_bytes: 0,
        holes_bytes: 0,
        blocks: vec![0; usize::try_from(blocks_max).unwrap_or(0) + 1],
    };
    let mut coder = Coder::new();
    let mut target = vec![0; Coder::bound(page_bytes)];
    for page in pages {
        if page.iter().all(|byte| *byte == 0) {
            space.blocks[0] += 1;
            continue;
        }
        let gain = usize::try_from(GRANULE).unwrap_or(64);
        let encoded = coder.encode(codec, dictionary, page, gain, &mut target)?;
        let image = (HEADER_BYTES + encoded.bytes) as u64;
        space.packed_bytes += image.next_multiple_of(GRANULE);
        let blocks = image.div_ceil(BLOCK_BYTES).min(blocks_max);
        space.holes_bytes += blocks * BLOCK_BYTES;
        space.blocks[usize::try_from(blocks).unwrap_or(0)] += 1;
    }
    Ok(space)
}

#[cfg(test)]
mod tests {
    use super::measure;
    use crate::PageCodec;

    #[test]
    fn holes_take_whole_blocks_and_packed_pages_do_not() {
        let content: Vec<u8> = (0..200_000_u32).flat_map(|k| (k / 9).to_le_bytes()).collect();
        let codecs = [PageCodec::NONE, PageCodec::LZ4, PageCodec::ZSTD];
        let found = measure(&content, &[4096, 16384], &codecs, false, &mut || {}).unwrap();
        assert_eq!(found.len(), 6);
        for space in &found {
            assert!(space.packed_bytes <= space.holes_bytes + space.pages * 64);
            assert_eq!(space.holes_bytes % 4096, 0);
            assert_eq!(space.blocks.iter().sum::<u64>(), space.pages);
        }
        let of = |index: usize| found[index].packed_ratio();
        assert!(of(0) < 1.0 && of(1) > 1.5 && of(2) > of(1) && of(5) > of(2));
        assert!((found[1].holes_ratio() - 1.0).abs() < 1e-9, "a page of 4 KiB has no hole");
    }
}
