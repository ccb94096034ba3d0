//! A `tar` that is not compressed: each member is a window.

use crate::error::BackupError;
use crate::names::Names;
use crate::window::{Stream, Window};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use tambour_storage::read_only::Files;
use tambour_storage::{Entry, ReadAt};

/// Members by their names.
#[derive(Debug)]
struct Tarball {
    file: Arc<dyn ReadAt>,
    members: Names<Member>,
}

/// Where a member's bytes are.
#[derive(Clone, Copy, Debug)]
struct Member {
    start: u64,
    length: u64,
}

/// Reads the headers.
pub(super) fn open(path: &Path, file: Arc<dyn ReadAt>) -> Result<impl Files + use<>, BackupError> {
    let failed = |cause| match cause {
        // What the library finds wrong, it says as `Other`.
        error if io::Error::kind(&error) == ErrorKind::Other => {
            BackupError::damaged(path, error.to_string())
        }
        error => BackupError::file(path)(error),
    };
    let mut members = Names::default();
    let mut archive = tar::Archive::new(Stream::new(Arc::clone(&file)));
    for entry in archive.entries_with_seek().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let bytes = entry.path_bytes();
        let name = String::from_utf8_lossy(&bytes);
        let (start, length) = (entry.raw_file_position(), entry.size());
        if start.checked_add(length).is_none_or(|end| end > file.len()) {
            return Err(BackupError::damaged(path, format!("the archive ends within {name:?}")));
        }
        if !members.add(&name, Member { start, length }) {
            let what = format!("the member {name:?} is there twice or outside the archive");
            return Err(BackupError::damaged(path, what));
        }
    }
    Ok(Tarball { file, members })
}

impl Files for Tarball {
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        let member = self.members.get(name).ok_or(ErrorKind::NotFound)?;
        Ok(Arc::new(Window::new(Arc::clone(&self.file), member.start, member.length)?))
    }
    fn list(&self, name: &str) -> io::Result<Vec<Entry>> {
        self.members.list(name, |member| member.length)
    }
    fn exists(&self, name: &str) -> io::Result<bool> {
        Ok(self.members.exists(name))
    }
}
