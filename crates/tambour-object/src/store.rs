//! A store as files by name.

use crate::address::Address;
use crate::cache::{BUDGET_BYTES, Cache};
use crate::error::{StoreError, io as told_io};
use crate::fetch::Object;
use crate::file::ObjectFile;
use crate::listing::{self, Listing, Listings};
use crate::runtime;
use crate::settings::Client;
use object_store::path::Path;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use tambour_storage::read_only::Files;
use tambour_storage::{Entry, ReadAt};

/// What every part has, by which a directory is known where nothing is listed.
const IN_EVERY_PART: &str = "checksums.txt";

/// A store.
#[derive(Debug)]
pub(crate) struct Store {
    address: Address,
    client: Client,
    cache: Arc<Cache>,
    listings: Listings,
}

impl Store {
    pub(crate) fn new(address: Address, client: Client) -> Self {
        let cache = Arc::new(Cache::new(BUDGET_BYTES));
        Self { address, client, cache, listings: Listings::default() }
    }

    fn path(&self, name: &str) -> Result<Path, StoreError> {
        let url = self.address.url(name);
        Path::parse(self.address.key(name))
            .map_err(|error| StoreError::Address { url, problem: error.to_string() })
    }

    fn listing(&self, name: &str) -> Result<Arc<Listing>, StoreError> {
        if let Some(known) = self.listings.get(name) {
            return Ok(known);
        }
        let url = self.address.url(name);
        let Some(pages) = self.client.pages.clone() else {
            let problem = "a web server does not list its directories; give the URL of an archive, or of a table \
                           that has tambour.json";
            return Err(StoreError::Listing { url, problem: problem.to_owned() });
        };
        let directory = self.path(name)?.to_string();
        let work = listing::list(pages, url.clone(), directory);
        let listing = Arc::new(runtime::wait(&url, work)??);
        self.listings.put(name, &listing);
        Ok(listing)
    }

    /// What is known of a name from the listing of its directory.
    fn listed(&self, name: &str) -> Option<Result<Object, StoreError>> {
        let (directory, own) = name.rsplit_once('/').unwrap_or(("", name));
        let listing = self.listings.get(directory)?;
        let meta = listing.get(own).cloned().flatten();
        let url = self.address.url(name);
        Some(meta.map(|meta| self.object(name, meta)).ok_or(StoreError::NotFound { url }))
    }

    fn object(&self, name: &str, meta: object_store::ObjectMeta) -> Object {
        Object::new(Arc::clone(&self.client.objects), self.address.url(name), meta)
    }

    fn look(&self, name: &str) -> Result<Object, StoreError> {
        let url = self.address.url(name);
        if let Some(known) = self.listed(name) {
            return known;
        }
        let work = Object::look(Arc::clone(&self.client.objects), url.clone(), self.path(name)?);
        runtime::wait(&url, work)?
    }

    fn is_there(&self, name: &str) -> Result<bool, StoreError> {
        let (directory, own) = name.rsplit_once('/').unwrap_or(("", name));
        if let Some(listing) = self.listings.get(directory) {
            return Ok(listing.contains_key(own));
        }
        let is_file = |name: &str| match self.look(name) {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        match &self.client.pages {
            Some(_) => Ok(!self.listing(name)?.is_empty() || is_file(name)?),
            None => Ok(is_file(&format!("{name}/{IN_EVERY_PART}"))? || is_file(name)?),
        }
    }
}

fn told<T>(answer: Result<T, StoreError>) -> io::Result<T> {
    answer.map_err(|error| told_io(Arc::new(error)))
}

impl Files for Store {
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        let object = told(self.look(name))?;
        Ok(Arc::new(ObjectFile::new(object, Arc::clone(&self.cache))))
    }
    fn list(&self, name: &str) -> io::Result<Vec<Entry>> {
        let listing = told(self.listing(name))?;
        if listing.is_empty() && !name.is_empty() {
            return Err(ErrorKind::NotFound.into());
        }
        Ok(listing::entries(&listing))
    }
    fn exists(&self, name: &str) -> io::Result<bool> {
        if name.is_empty() { Ok(true) } else { told(self.is_there(name)) }
    }
}
