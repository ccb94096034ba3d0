//! Streams: runs of blocks in files, read from any mark and written front to back.

pub(crate) mod blocks;
pub(crate) mod cache;
pub(crate) mod headers;
pub(crate) mod read;
pub(crate) mod whole;
pub(crate) mod write;
