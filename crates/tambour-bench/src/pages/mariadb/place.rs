//! Where a server keeps everything: a directory of its own.

use super::failed;
use crate::BenchError;
use std::hash::{BuildHasher, Hasher};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Bytes that the system takes as the path of a socket.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A directory that is gone with what is in it when this is.
#[derive(Debug)]
pub(super) struct Place(PathBuf);

impl Place {
    /// A name in `parent` that nothing has, short enough for the socket in it.
    pub(super) fn name(parent: &Path) -> Result<PathBuf, BenchError> {
        let parent = parent
            .canonicalize()
            .map_err(|source| BenchError::Io { path: parent.to_owned(), source })?;
        let number = std::hash::RandomState::new().build_hasher().finish();
        let path = parent.join(format!("tambour-mariadb-{number:016x}"));
        let socket_bytes = path.join("socket").as_os_str().len();
        let refuse = |why| Err(failed(format!("{}: {why}; choose another", parent.display())));
        if socket_bytes > SOCKET_PATH_BYTES_MAX {
            return refuse(format!(
                "the path of a socket in it would have {socket_bytes} bytes, more than {SOCKET_PATH_BYTES_MAX}"
            ));
        }
        if parent.as_os_str().as_encoded_bytes().contains(&b':') {
            return refuse("the server takes `:` for the end of a directory".to_owned());
        }
        Ok(path)
    }

    /// Makes it. The server in it asks nobody who they are, so nobody else may look into it.
    pub(super) fn make(path: PathBuf) -> Result<Self, BenchError> {
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(BenchError::Io { path, source }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_place_is_its_owners_and_what_was_there_stays() {
        let parent = tempfile::tempdir().unwrap();
        let path = Place::name(parent.path()).unwrap();
        assert_ne!(path, Place::name(parent.path()).unwrap());
        let place = Place::make(path.clone()).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::write(path.join("file"), "drum").unwrap();
        // A second one that finds the first in its way.
        assert!(matches!(Place::make(path.clone()), Err(BenchError::Io { .. })));
        assert_eq!(std::fs::read(path.join("file")).unwrap(), b"drum");
        drop(place);
        assert!(!path.exists());
    }

    #[test]
    fn paths_that_a_server_cannot_use_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let room = SOCKET_PATH_BYTES_MAX - "/tambour-mariadb-0123456789abcdef/socket".len();
        let base = parent.path().canonicalize().unwrap();
        let long = base.join("x".repeat(room - base.as_os_str().len() - 1));
        let longer = base.join("x".repeat(room - base.as_os_str().len()));
        let colon = base.join("a:b");
        for path in [&long, &longer, &colon] {
            std::fs::create_dir(path).unwrap();
        }
        assert!(Place::name(&long).is_ok());
        let error = Place::name(&longer).unwrap_err().to_string();
        assert!(error.contains("would have 108 bytes, more than 107"), "{error}");
        let error = Place::name(&colon).unwrap_err().to_string();
        assert!(error.contains("takes `:` for"), "{error}");
        assert!(Place::name(&base.join("absent")).is_err());
    }
}
