//! What a directory holds, asked page by page and kept.

use crate::error::StoreError;
use crate::fetch::count_request;
use object_store::ObjectMeta;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use tambour_storage::Entry;

/// Most names of a directory.
const NAMES_MAX: usize = 100_000;
/// Names of all directories that are kept; beyond, all are let go.
const KEPT_MAX: usize = 1_000_000;

/// What a directory holds: an object, or `None` for a directory.
pub(crate) type Listing = BTreeMap<String, Option<ObjectMeta>>;

/// Listings by directory.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    known: Mutex<(HashMap<String, Arc<Listing>>, usize)>,
}

impl Listings {
    pub(crate) fn get(&self, directory: &str) -> Option<Arc<Listing>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.0.get(directory).cloned()
    }

    pub(crate) fn put(&self, directory: &str, listing: &Arc<Listing>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (listings, names) = &mut *known;
        *names += listing.len() + 1;
        if *names > KEPT_MAX {
            listings.clear();
            *names = listing.len() + 1;
        }
        listings.insert(directory.to_owned(), Arc::clone(listing));
    }
}

/// The entries of a listing.
pub(crate) fn entries(listing: &Listing) -> Vec<Entry> {
    let entry = |(name, object): (&String, &Option<ObjectMeta>)| Entry {
        name: name.clone(),
        is_directory: object.is_none(),
        is_file: object.is_some(),
        length: object.as_ref().map_or(0, |it| it.size),
    };
    listing.iter().map(entry).collect()
}

/// Lists a directory of a store.
pub(crate) async fn list(
    store: Arc<dyn PaginatedListStore>,
    url: String,
    directory: String,
) -> Result<Listing, StoreError> {
    let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
    let given = (!prefix.is_empty()).then_some(prefix.as_str());
    let refuse = |problem: String| Err(StoreError::Listing { url: url.clone(), problem });
    let mut found = Listing::new();
    let mut seen = HashSet::new();
    let mut page_token = None;
    loop {
        let delimiter = Some("/".into());
        let options = PaginatedListOptions { delimiter, page_token, ..Default::default() };
        count_request();
        let page = store.list_paginated(given, options).await;
        let page = page.map_err(|error| StoreError::request(&url, error))?;
        for path in page.result.common_prefixes {
            if let Some(name) = path.as_ref().strip_prefix(&prefix).filter(|it| is_name(it)) {
                found.insert(name.to_owned(), None);
            }
        }
        for object in page.result.objects {
            // An object that ends with the delimiter stands for the directory itself.
            let name = object.location.as_ref().strip_prefix(&prefix).filter(|it| is_name(it));
            let Some(name) = name.map(str::to_owned) else { continue };
            if found.insert(name.clone(), Some(object)).is_some_and(|it| it.is_none()) {
                return refuse(format!("{name:?} is an object and a directory there"));
            }
        }
        if found.len() > NAMES_MAX {
            return refuse(format!("more than {NAMES_MAX} names are in it"));
        }
        match page.page_token {
            None => return Ok(found),
            Some(token) if !seen.insert(token.clone()) || seen.len() > NAMES_MAX => {
                return refuse("its listing never ends".to_owned());
            }
            token => page_token = token,
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/')
}
