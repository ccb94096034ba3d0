//! Directories as URLs, byte by byte: a path need not be text. One in an object store is a URL already.

use crate::TableError;
use crate::store::is_url;
use std::path::{Path, PathBuf};

/// The URL of a directory.
pub(super) fn url_of(path: &Path) -> Result<String, TableError> {
    if let Some(url) = path.to_str().filter(|_| is_url(path)) {
        return Ok(url.to_owned());
    }
    let path = std::path::absolute(path).map_err(TableError::file("find", path))?;
    let mut url = "file://".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = std::fmt::Write::write_fmt(&mut url, format_args!("%{byte:02X}"));
        }
    }
    Ok(url)
}

/// The directory that a URL names.
pub(super) fn path_of(url: &str) -> Result<PathBuf, TableError> {
    if is_url(Path::new(url)) {
        return Ok(PathBuf::from(url));
    }
    let bad = |problem: &str| TableError::Scan { problem: format!("{problem}: {url}") };
    let rest = url.strip_prefix("file://").ok_or_else(|| bad("not a file URL"))?;
    let mut bytes = Vec::with_capacity(rest.len());
    let mut source = rest.bytes();
    while let Some(byte) = source.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || source.next().and_then(|it| char::from(it).to_digit(16));
        let value = digit().zip(digit()).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(value.ok_or_else(|| bad("a percent sign without two hexadecimal digits"))?);
    }
    os_path(bytes).ok_or_else(|| bad("not a path of this system"))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems' paths are not bytes")]
fn os_path(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(not(unix))]
fn os_path(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}
