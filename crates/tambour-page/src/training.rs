//! How a dictionary is trained and judged.

use super::PageError;
use super::codec::Coder;
use super::dictionary::Dictionary;
use super::options::{Method, PageCodec};
use std::sync::Arc;

/// Sizes that are tried. LZ4 reaches back 64 KiB and no further.
const SIZES: [usize; 4] = [16 << 10, 64 << 10, 110 << 10, 220 << 10];
const LZ4_BYTES_MAX: usize = 64 << 10;
/// Pages are cut into samples of this size at most: the trainer looks at no more of one than that.
const SAMPLE_BYTES: usize = 8 << 10;

/// What training a dictionary brought.
#[derive(Clone, Debug, PartialEq)]
pub struct DictionaryReport {
    /// Pages that it was trained on.
    pub trained_pages: usize,
    /// Pages that it was judged by; none of them was trained on.
    pub held_out_pages: usize,
    /// Bytes of these pages.
    pub held_out_bytes: u64,
    /// Bytes of their images without a dictionary.
    pub bytes_without: u64,
    /// Bytes of their images with each candidate: size of the dictionary, bytes.
    pub candidates: Vec<(usize, u64)>,
    /// Size of the dictionary that was kept, if one was.
    pub kept: Option<usize>,
}

impl DictionaryReport {
    /// Bytes of the held-out pages as they would be stored: with the dictionary that was kept, or without one.
    pub fn best_bytes(&self) -> u64 {
        let kept = self.candidates.iter().filter(|candidate| Some(candidate.0) == self.kept);
        kept.map(|candidate| candidate.1).min().unwrap_or(self.bytes_without)
    }

    /// How many times smaller the held-out pages became.
    pub fn ratio(&self) -> f64 {
        let best = self.candidates.iter().map(|candidate| candidate.1).min();
        self.held_out_bytes as f64 / best.unwrap_or(self.bytes_without).max(1) as f64
    }
}

/// Trains dictionaries of several sizes on every other page of a sample and judges them by the rest. Returns the best if it
/// makes images smaller by more than a hundredth, its own size (spread over `pages_total`) included.
pub(crate) fn train(
    coder: &mut Coder,
    codec: PageCodec,
    id: u16,
    sample: &[Vec<u8>],
    pages_total: u64,
) -> Result<(DictionaryReport, Option<Dictionary>), PageError> {
    let trained: Vec<&Vec<u8>> = sample.iter().step_by(2).collect();
    let held_out: Vec<&Vec<u8>> = sample.iter().skip(1).step_by(2).collect();
    let codec = codec.check()?;
    let mut size = |dictionary: Option<&Arc<Dictionary>>| -> Result<u64, PageError> {
        let mut total = 0;
        for page in &held_out {
            let mut target = vec![0; Coder::bound(page.len())];
            let encoded = coder.encode(codec, dictionary, page, 0, &mut target)?;
            total += (encoded.bytes + super::header::HEADER_BYTES) as u64;
        }
        Ok(total)
    };
    let bytes_without = size(None)?;
    let (samples, sizes) = cut(&trained);
    let mut candidates = Vec::new();
    let mut best: Option<(u64, Dictionary)> = None;
    // A number of its own for each candidate: the coder keeps what it prepared by number.
    let fits = |bytes: &usize| codec.method != Method::Lz4 || *bytes <= LZ4_BYTES_MAX;
    for (index, bytes_max) in SIZES.into_iter().filter(fits).enumerate() {
        let mut bytes = vec![0; bytes_max];
        let trial = u16::MAX - u16::try_from(index).unwrap_or(0);
        let Ok(length) = zstd_safe::train_from_buffer(&mut bytes[..], &samples, &sizes) else {
            continue;
        };
        bytes.truncate(length);
        let dictionary = Arc::new(Dictionary { id: trial, bytes });
        let total = size(Some(&dictionary))?;
        candidates.push((length, total));
        let held_out_pages = held_out.len().max(1) as u64;
        let share = length as u64 * held_out_pages / pages_total.max(held_out_pages);
        if best.as_ref().is_none_or(|(other, _)| total + share < *other) {
            let bytes = dictionary.bytes.clone();
            best = Some((total + share, Dictionary { id, bytes }));
        }
    }
    let kept = best.filter(|(total, _)| *total < bytes_without - bytes_without / 100);
    let kept = kept.map(|(_, dictionary)| dictionary);
    let report = DictionaryReport {
        trained_pages: trained.len(),
        held_out_pages: held_out.len(),
        held_out_bytes: held_out.iter().map(|page| page.len() as u64).sum(),
        bytes_without,
        candidates,
        kept: kept.as_ref().map(|dictionary| dictionary.bytes.len()),
    };
    Ok((report, kept))
}

/// All pages one after another, and the lengths of the samples in them.
fn cut(pages: &[&Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
    let mut samples = Vec::new();
    let mut sizes = Vec::new();
    for page in pages {
        for piece in page.chunks(SAMPLE_BYTES) {
            samples.extend_from_slice(piece);
            sizes.push(piece.len());
        }
    }
    (samples, sizes)
}
