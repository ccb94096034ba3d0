//! How fast a store loads, scans and saves, over what the codec or a plain copy takes.

use super::generate::Rows;
use super::targets::{Pages, Targets, at_least, at_most, load};
use crate::BenchError;
use crate::measure::{Order, race, seconds};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use tambour_page::{Access, Layout, Method, PageCodec, Store};

/// Passes of which the median counts.
const ROUNDS: usize = 7;

impl Targets {
    /// Loads, scans and backups.
    pub(super) fn speeds(&mut self, rows: Rows, pages: &Pages) -> Result<(), BenchError> {
        let plain = self.path.with_extension("plain");
        let found = quotient(|| {
            let write = seconds(|| plain_write(&plain, pages))?;
            let mut store = self.create(&pages[0], Layout::Packed, PageCodec::NONE)?;
            Ok(vec![write, seconds(|| load(&mut store, pages))?])
        })?[0];
        let what =
            format!("{}: load without a codec over a plain write of the same bytes", rows.name());
        self.found.push(at_least(what, 0.8, found));
        for method in [Method::Lz4, Method::Zstd, Method::Zlib] {
            self.codec_speeds(rows, pages, method)?;
        }
        self.backup(rows, &plain)?;
        let _ = std::fs::remove_file(&plain);
        Ok(())
    }

    fn codec_speeds(
        &mut self,
        rows: Rows,
        pages: &Pages,
        method: Method,
    ) -> Result<(), BenchError> {
        let codec: PageCodec = method.name().parse()?;
        let mut alone = super::codec::Alone::new(codec)?;
        let images = alone.encode_all(pages)?;
        let found = quotient(|| {
            let encode = seconds(|| alone.encode_all(pages))?;
            let mut store = self.create(&pages[0], Layout::Packed, codec)?;
            let load = seconds(|| load(&mut store, pages))?;
            let decode = seconds(|| alone.decode_all(&images, pages[0].len()))?;
            let mut reader = store.reader();
            let mut seen = 0_u64;
            let scan = seconds(|| {
                Ok(reader.scan(0..u64::MAX, &mut |_, page| seen += u64::from(page[7]))?)
            })?;
            assert!(seen > 0, "nothing was read");
            Ok(vec![encode, load, decode, scan])
        })?;
        let name = format!("{}, {}", rows.name(), method.name());
        self.found.push(at_least(
            format!("{name}: load over the codec's own speed"),
            0.9,
            found[0],
        ));
        self.found.push(at_least(
            format!("{name}: scan over the decoder's own speed"),
            0.9,
            found[1],
        ));
        Ok(())
    }

    fn backup(&mut self, rows: Rows, target: &Path) -> Result<(), BenchError> {
        let store = Store::open(&self.path, Access::Write)?;
        let mut bytes = 0;
        let found = quotient(|| {
            let _ = std::fs::remove_file(target);
            let copy = seconds(|| copy(&self.path, target))?;
            let _ = std::fs::remove_file(target);
            let backup = seconds(|| {
                let mut file = std::io::BufWriter::with_capacity(1 << 18, open(target)?);
                bytes = store.backup(&mut file, 0)?.bytes;
                file.flush().map_err(|source| io(target, source))
            })?;
            Ok(vec![backup, copy])
        })?[0];
        let name = rows.name();
        let what = format!("{name}: backup over a copy of the packed file");
        self.found.push(at_most(what, 1.15, found));
        drop(store);
        let mut store = Store::open(&self.path, Access::Read)?;
        let images = store.stat(false)?.image_bytes;
        let found = bytes as f64 / images as f64;
        self.found.push(at_most(format!("{name}: backup over images"), 1.01, found));
        Ok(())
    }
}

fn io(path: &Path, source: std::io::Error) -> BenchError {
    BenchError::Io { path: path.to_owned(), source }
}

fn open(path: &Path) -> Result<File, BenchError> {
    File::create(path).map_err(|source| io(path, source))
}

/// The same bytes in writes of a megabyte.
fn plain_write(path: &Path, pages: &[Vec<u8>]) -> Result<(), BenchError> {
    let _ = std::fs::remove_file(path);
    let mut file = open(path)?;
    let mut buffer = Vec::with_capacity(1 << 20);
    for group in pages.chunks(((1 << 20) / pages[0].len()).max(1)) {
        buffer.clear();
        for page in group {
            buffer.extend_from_slice(page);
        }
        file.write_all(&buffer).map_err(|source| io(path, source))?;
    }
    file.sync_data().map_err(|source| io(path, source))
}

/// A copy through a buffer, as `cp` does where it cannot clone.
fn copy(from: &Path, to: &Path) -> Result<(), BenchError> {
    let mut source = File::open(from).map_err(|source| io(from, source))?;
    let mut target = open(to)?;
    let mut buffer = vec![0; 1 << 18];
    loop {
        let read = source.read(&mut buffer).map_err(|source| io(from, source))?;
        if read == 0 {
            return Ok(());
        }
        target.write_all(&buffer[..read]).map_err(|source| io(to, source))?;
    }
}

/// Medians of times that are measured in turns, the first over the second, the third over the fourth.
fn quotient(
    mut round: impl FnMut() -> Result<Vec<f64>, BenchError>,
) -> Result<[f64; 2], BenchError> {
    let times = race(&mut [()], ROUNDS, Order::AsGiven, |()| round())?;
    let median = |measure| times.first().map_or(f64::NAN, |times| times.median(measure));
    Ok([median(0) / median(1), median(2) / median(3)])
}
