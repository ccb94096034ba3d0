//! The grid: rows, page sizes, codecs, layouts; and a server beside it, if one is at hand.

use super::case::{Case, Keeper, Settings};
use super::generate::Rows;
use super::targets::{Target, load};
use crate::BenchError;
use crate::measure::seconds;
use std::path::PathBuf;
use tambour_page::{Durability, Layout, Options, PageCodec, Store};
use tambour_report::random::Random;

/// All figures.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was measured.
    pub settings: Settings,
    /// In the order of rows, page sizes, codecs, keepers.
    pub cases: Vec<Case>,
    /// What the page store promises, where that was asked for.
    pub promises: Vec<Target>,
}

/// Measures every combination; `progress` is told how many are done, of how many.
pub fn run(
    settings: &Settings,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Results, BenchError> {
    check_server(settings)?;
    let total = settings.case_count();
    let mut cases = Vec::with_capacity(total);
    for rows in Rows::ALL {
        for &page_bytes in &settings.page_sizes {
            let pages = rows.pages(page_bytes, settings.bytes);
            for &codec in &settings.codecs {
                for layout in [Layout::Packed, Layout::Holes] {
                    cases.push(case(settings, rows, &pages, codec, layout)?);
                    progress(cases.len(), total);
                }
                if settings.is_served(codec) {
                    cases.push(served(settings, rows, page_bytes, codec)?);
                    progress(cases.len(), total);
                }
            }
        }
    }
    Ok(Results { settings: settings.clone(), cases, promises: Vec::new() })
}

/// The same by a server.
#[cfg(feature = "mariadb")]
use super::mariadb::{case as served, check_server};

#[cfg(not(feature = "mariadb"))]
fn served(_: &Settings, _: Rows, _: usize, _: PageCodec) -> Result<Case, BenchError> {
    let reason = "not in this build: it takes the feature `mariadb` of tambour-bench".to_owned();
    Err(BenchError::Library { contender: Keeper::MariaDb.name().to_owned(), reason })
}

#[cfg(not(feature = "mariadb"))]
fn check_server(settings: &Settings) -> Result<(), BenchError> {
    if settings.mariadb.is_none() {
        return Ok(());
    }
    served(settings, Rows::AccessLog, 0, PageCodec::NONE).map(drop)
}

/// A store that is gone when the measurement is.
struct Trial(PathBuf);

impl Drop for Trial {
    fn drop(&mut self) {
        super::remove(&self.0);
    }
}

fn case(
    settings: &Settings,
    rows: Rows,
    pages: &[Vec<u8>],
    codec: PageCodec,
    layout: Layout,
) -> Result<Case, BenchError> {
    let page_bytes = pages.first().map_or(0, Vec::len);
    let trial =
        Trial(settings.directory.join(format!("tambour-bench-{}.pages", std::process::id())));
    super::remove(&trial.0);
    let options = Options { page_bytes, layout, codec, ..Options::default() };
    let mut store = Store::create(&trial.0, &options)?;

    let load_seconds = seconds(|| load(&mut store, pages))?;
    let stat = store.stat(false)?;

    let mut wrong = None;
    let scan_seconds = seconds(|| {
        Ok(store.reader().scan(0..u64::MAX, &mut |page, content| {
            let expected = usize::try_from(page).ok().and_then(|page| pages.get(page));
            // A look at a few bytes of each page costs nothing next to decoding it.
            if expected.is_none_or(|expected| expected[..64] != content[..64]) {
                wrong = Some(page);
            }
        })?)
    })?;
    if let Some(page) = wrong {
        return Err(wrong_page(codec, layout, page));
    }

    let before = store.counts();
    let update_seconds = update(settings, pages, &mut store)?;
    let after = store.counts();
    let allocated_after = store.stat(false)?.allocated_bytes();
    Ok(Case {
        rows,
        page_bytes,
        codec,
        keeper: Keeper::Store(layout),
        logical_bytes: stat.logical_bytes,
        allocated_bytes: stat.allocated_bytes(),
        load_seconds,
        load_written: stat.counts.bytes_written,
        scan_seconds,
        update_seconds,
        update_written: after.bytes_written - before.bytes_written,
        updates: settings.updates,
        allocated_after,
        syncs: Some(after.syncs - before.syncs),
        punches: Some(after.punches - before.punches),
        served: None,
    })
}

/// Updates random pages, and compares all of them afterwards. Returns the seconds of the updates alone.
fn update(settings: &Settings, pages: &[Vec<u8>], store: &mut Store) -> Result<f64, BenchError> {
    let mut contents = pages.to_vec();
    let mut random = Random::new(11);
    let time = seconds(|| {
        let mut done = 0;
        while done < settings.updates {
            let count = settings.batch_pages.min(settings.updates - done);
            let mut batch = store.batch()?;
            for _ in 0..count {
                let page = random.index(contents.len());
                let content = &mut contents[page];
                Rows::update(content, &mut random);
                batch.put(page as u64, content)?;
            }
            batch.commit(Durability::Sync)?;
            done += count;
        }
        Ok(store.checkpoint()?)
    })?;
    let mut wrong = None;
    store.reader().scan(0..u64::MAX, &mut |page, content| {
        if usize::try_from(page)
            .ok()
            .and_then(|page| contents.get(page))
            .is_none_or(|it| it != content)
        {
            wrong = Some(page);
        }
    })?;
    match wrong {
        Some(page) => Err(wrong_page(store.codec(), store.layout(), page)),
        None => Ok(time),
    }
}

fn wrong_page(codec: PageCodec, layout: Layout, page: u64) -> BenchError {
    BenchError::WrongOutput {
        contender: format!("{} {codec}", layout.name()),
        file: "generated pages".to_owned(),
        block: usize::try_from(page).unwrap_or(0),
        reason: "the page differs from what was put".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_there_is_missed_before_anything_is_measured() {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings {
            bytes: 1 << 18,
            updates: 1,
            mariadb: Some(directory.path().to_owned()),
            ..Settings::of_the_study(directory.path().to_owned())
        };
        let mut measured = 0;
        let error = run(&settings, &mut |done, _| measured = done).unwrap_err();
        assert!(matches!(error, BenchError::Library { .. }), "{error:?}");
        assert_eq!(measured, 0);
    }
}
