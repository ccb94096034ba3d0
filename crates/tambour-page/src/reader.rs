//! Reading: one page, several, or all of a range in the order in which they lie on the disk.

use super::PageError;
use super::codec::{Coder, Job};
use super::dictionary::Dictionaries;
use super::header::HEADER_BYTES;
use super::images::{Image, Images};
use super::map::{Entry, Map, State};
use super::options::{Generation, PageId};
use super::shared::{Pin, Shared};
use std::ops::Range;

/// Bytes of pages that are decoded together: enough for decoders that take two at a time, few enough to stay near the
/// processor.
const GROUP_BYTES: usize = 64 << 10;

/// Fills `target` with a page.
pub(super) fn read_page(
    shared: &Shared,
    page: PageId,
    entry: &Entry,
    with: (&mut Coder, &Dictionaries),
    scratch: &mut Vec<u8>,
    target: &mut [u8],
) -> Result<(), PageError> {
    if target.len() != shared.page_bytes() {
        let problem = format!("{} bytes, pages have {}", target.len(), shared.page_bytes());
        return Err(PageError::Argument { what: "room for a page", problem });
    }
    match entry.state {
        State::Free => Err(PageError::NoPage { path: shared.path.clone(), page }),
        State::Zero => {
            target.fill(0);
            Ok(())
        }
        State::Packed | State::Home | State::Raw => {
            let image = shared.fetch(page, entry, scratch)?;
            shared.decode(page, entry, image, with, target)
        }
    }
}

/// A view of a store as of one generation. Later commits neither change it nor take the space of what it sees.
///
/// ```
/// # use tambour_page::*;
/// # use tambour_storage::place::disk;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("drum.pages");
/// # let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
/// # let mut batch = store.batch()?;
/// # batch.put(0, &[1; 4096])?;
/// # batch.commit(Durability::Sync)?;
/// let mut before = store.reader();
/// let mut batch = store.batch()?;
/// batch.put(0, &[2; 4096])?;
/// batch.commit(Durability::Sync)?;
/// let mut content = [0; 4096];
/// before.read(0, &mut content)?;
/// assert_eq!(content, [1; 4096], "as of its generation");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    pin: Pin,
    map: Map,
    dictionaries: Dictionaries,
    coder: Coder,
    scratch: Vec<u8>,
    pages: Vec<u8>,
}

impl Reader {
    pub(super) fn new(pin: Pin, map: Map, dictionaries: Dictionaries) -> Self {
        let (scratch, pages) = (Vec::new(), Vec::new());
        Self { pin, map, dictionaries, coder: Coder::new(), scratch, pages }
    }

    /// The generation that it sees.
    pub fn generation(&self) -> Generation {
        self.pin.generation()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.pin.page_bytes()
    }

    /// One more than the highest page ever written.
    pub fn len(&self) -> u64 {
        self.map.page_count()
    }

    /// True if no page was ever written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if a page was written and not freed.
    pub fn contains(&self, page: PageId) -> bool {
        self.map.get(page).state != State::Free
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.pin
    }

    pub(super) fn map(&self) -> &Map {
        &self.map
    }

    pub(super) fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    /// Fills `target`, one page long, with a page.
    pub fn read(&mut self, page: PageId, target: &mut [u8]) -> Result<(), PageError> {
        let entry = self.map.get(page);
        let with = (&mut self.coder, &self.dictionaries);
        read_page(&self.pin, page, &entry, with, &mut self.scratch, target)
    }

    /// Reads pages in the order in which they lie on the disk, and hands each one over. All of them must exist.
    pub fn read_many(
        &mut self,
        pages: &[PageId],
        take: &mut dyn FnMut(PageId, &[u8]),
    ) -> Result<(), PageError> {
        let mut wanted = Vec::with_capacity(pages.len());
        for &page in pages {
            let entry = self.map.get(page);
            if entry.state == State::Free {
                return Err(PageError::NoPage { path: self.pin.path.clone(), page });
            }
            wanted.push((page, entry));
        }
        self.run(wanted, take)
    }

    /// Hands over every page of a range that exists, in the order in which they lie on the disk.
    ///
    /// ```
    /// # use tambour_page::*;
    /// # use tambour_storage::place::disk;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("drum.pages");
    /// # let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
    /// let mut batch = store.batch()?;
    /// batch.put(0, &[1; 4096])?;
    /// batch.put(7, &[2; 4096])?;
    /// batch.commit(Durability::Sync)?;
    /// let mut found = Vec::new();
    /// store.reader().scan(0..100, &mut |page, content| found.push((page, content[0])))?;
    /// found.sort_unstable();
    /// assert_eq!(found, [(0, 1), (7, 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(
        &mut self,
        pages: Range<PageId>,
        take: &mut dyn FnMut(PageId, &[u8]),
    ) -> Result<(), PageError> {
        let inside = |(page, _): &(PageId, Entry)| *page < pages.end;
        let wanted = self.map.images(pages.start).take_while(inside).collect();
        let zero = vec![0; self.pin.page_bytes()];
        for (first, count, _) in self.map.zeros() {
            let range = first.max(pages.start)..(first + count).min(pages.end);
            range.for_each(|page| take(page, &zero));
        }
        self.run(wanted, take)
    }

    fn run(
        &mut self,
        wanted: Vec<(PageId, Entry)>,
        take: &mut dyn FnMut(PageId, &[u8]),
    ) -> Result<(), PageError> {
        let page_bytes = self.pin.page_bytes();
        let count = (GROUP_BYTES / page_bytes).max(2);
        self.pages.resize(count * page_bytes, 0);
        let (zeros, wanted): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|(_, entry)| entry.state == State::Zero);
        if !zeros.is_empty() {
            let zero = &mut self.pages[..page_bytes];
            zero.fill(0);
            for (page, _) in &zeros {
                take(*page, zero);
            }
        }
        let mut images = Images::new(&self.pin, wanted, std::mem::take(&mut self.scratch));
        let mut result = Ok(());
        while result.is_ok()
            && let Some(group) = images.next_group(count)
        {
            let with = (&mut self.coder, &self.dictionaries);
            result = decode_group(&self.pin, group, with, &mut self.pages, take);
        }
        self.scratch = images.into_buffer();
        result
    }
}

/// Checks and decodes images and hands their pages over, up to the first that is damaged.
fn decode_group(
    shared: &Shared,
    group: Vec<Result<Image<'_>, PageError>>,
    with: (&mut Coder, &Dictionaries),
    targets: &mut [u8],
    take: &mut dyn FnMut(PageId, &[u8]),
) -> Result<(), PageError> {
    let mut jobs = Vec::with_capacity(group.len());
    let mut damage = Ok(());
    for (image, target) in group.into_iter().zip(targets.chunks_exact_mut(shared.page_bytes())) {
        let checked = image.and_then(|(page, entry, image)| {
            Ok((page, entry, shared.check(page, &entry, image)?, &image[HEADER_BYTES..]))
        });
        match checked {
            Ok((page, entry, header, payload)) => {
                let (method, dictionary) = (header.method, header.dictionary);
                let job = Job { method, dictionary, payload, target, result: Ok(()) };
                jobs.push((page, entry, job));
            }
            Err(error) => {
                damage = Err(error);
                break;
            }
        }
    }
    let (coder, dictionaries) = with;
    coder.decode_all(jobs.iter_mut().map(|(_, _, job)| job), dictionaries);
    for (page, entry, job) in jobs {
        job.result.map_err(|cause| shared.decode_error(page, &entry, cause))?;
        take(page, job.target);
    }
    damage
}
