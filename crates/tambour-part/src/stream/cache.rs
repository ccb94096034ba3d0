//! A cache of decoded blocks, for small reads of the same rows again and again. Large reads pass it by: they would only push out
//! what it is for.

use arrow_buffer::Buffer;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tambour_kernel::hash::sip_hash_128;

/// A block's usual size after decoding: how many the cache may have to keep account of.
const BLOCK_BYTES: u64 = 64 << 10;
/// What an entry takes besides its bytes, about.
const ENTRY_BYTES: u64 = 128;
/// The smallest budget of a shard: it must hold several of the largest blocks of usual size.
const SHARD_BYTES: u64 = 16 << 20;
/// Most shards.
const SHARDS_MAX: u64 = 16;

/// Which block: a file of a part, and the offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    stream: [u8; 16],
    start: u64,
}

/// A block after decoding.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) buffer: Buffer,
    /// Bytes in the file, header included.
    pub(crate) block_bytes: u64,
}

#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<Key, Kept> for Bytes {
    fn weight(&self, _: &Key, kept: &Kept) -> u64 {
        kept.buffer.capacity() as u64 + ENTRY_BYTES
    }
}

/// Decoded blocks, up to a number of bytes: [`Part::cache_blocks`](crate::Part::cache_blocks).
///
/// Parts with the same contents share their blocks, so a table that is opened again finds them. Only blocks whose checksum was
/// right come into it.
pub struct BlockCache {
    blocks: Cache<Key, Kept, Bytes>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl std::fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockCache").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

/// Blocks that were asked for, and what of them was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Blocks that were there.
    pub hits: u64,
    /// Blocks that had to be read and decoded.
    pub misses: u64,
}

impl CacheCounts {
    /// What came after others.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let hits = self.hits.saturating_sub(before.hits);
        Self { hits, misses: self.misses.saturating_sub(before.misses) }
    }
}

impl BlockCache {
    /// A cache of at most `bytes_max` bytes, with what it needs to keep account of them.
    pub fn new(bytes_max: u64) -> Arc<Self> {
        let shards = (bytes_max / SHARD_BYTES).clamp(1, SHARDS_MAX);
        let blocks = usize::try_from(bytes_max / BLOCK_BYTES).unwrap_or(usize::MAX).max(1);
        let mut options = OptionsBuilder::new();
        options.shards(usize::try_from(shards).unwrap_or(1));
        options.estimated_items_capacity(blocks).weight_capacity(bytes_max);
        let options = options.build().expect("shards, blocks and bytes are given");
        let hasher = DefaultHashBuilder::default();
        let blocks = Cache::with_options(options, Bytes, hasher, DefaultLifecycle::default());
        Arc::new(Self { blocks, hits: AtomicU64::new(0), misses: AtomicU64::new(0) })
    }

    /// Bytes that it takes now.
    pub fn bytes(&self) -> u64 {
        self.blocks.weight()
    }

    /// What was asked of it so far.
    pub fn counts(&self) -> CacheCounts {
        let (hits, misses) =
            (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed));
        CacheCounts { hits, misses }
    }

    fn get(&self, key: &Key) -> Option<Kept> {
        let found = self.blocks.get(key);
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }
}

/// The cache, and which part's blocks are looked for.
#[derive(Clone, Debug)]
pub(crate) struct PartCache {
    cache: Arc<BlockCache>,
    part: String,
}

impl PartCache {
    /// `content_hash` is that of all bytes of a part; without one, its blocks are known as long as it is open.
    pub(crate) fn new(cache: &Arc<BlockCache>, content_hash: Option<&str>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let part = content_hash.map_or_else(
            || format!("part {}", NEXT.fetch_add(1, Ordering::Relaxed)),
            |hash| format!("hash {hash}"),
        );
        Self { cache: Arc::clone(cache), part }
    }

    /// The blocks of one file of the part.
    pub(crate) fn stream(&self, file: &str) -> StreamCache {
        let stream = sip_hash_128(format!("{} {file}", self.part).as_bytes());
        StreamCache { cache: Arc::clone(&self.cache), stream }
    }
}

/// The blocks of one file.
#[derive(Clone, Debug)]
pub(crate) struct StreamCache {
    cache: Arc<BlockCache>,
    stream: [u8; 16],
}

impl StreamCache {
    pub(crate) fn get(&self, start: u64) -> Option<Kept> {
        self.cache.get(&Key { stream: self.stream, start })
    }

    pub(crate) fn keep(&self, start: u64, kept: Kept) {
        self.cache.blocks.insert(Key { stream: self.stream, start }, kept);
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockCache, CacheCounts, Kept, PartCache};
    use arrow_buffer::Buffer;

    fn kept(bytes: usize) -> Kept {
        Kept { buffer: Buffer::from(vec![7_u8; bytes]), block_bytes: 100 }
    }

    #[test]
    fn blocks_are_known_by_part_file_and_offset() {
        let cache = BlockCache::new(1 << 20);
        let stream = |part, file| PartCache::new(&cache, part).stream(file);
        stream(Some("a"), "x.bin").keep(0, kept(10));
        assert!(stream(Some("a"), "x.bin").get(0).is_some());
        assert!(stream(Some("a"), "x.bin").get(1).is_none());
        assert!(stream(Some("a"), "y.bin").get(0).is_none());
        assert!(stream(Some("b"), "x.bin").get(0).is_none());
        let unproven = PartCache::new(&cache, None);
        unproven.stream("x.bin").keep(0, kept(10));
        assert!(unproven.stream("x.bin").get(0).is_some());
        assert!(stream(None, "x.bin").get(0).is_none(), "another part");
        assert_eq!(cache.counts(), CacheCounts { hits: 2, misses: 4 });
    }

    #[test]
    fn it_has_a_budget() {
        let cache = BlockCache::new(1 << 20);
        let stream = PartCache::new(&cache, Some("a")).stream("x.bin");
        for start in 0..100 {
            stream.keep(start, kept(50_000));
            assert!(cache.bytes() <= 1 << 20, "{} bytes", cache.bytes());
        }
        assert!(cache.bytes() > 1 << 19);
        stream.keep(1_000, kept(2 << 20));
        assert!(cache.bytes() <= 1 << 20 && stream.get(1_000).is_none(), "larger than all of it");
        assert!(BlockCache::new(0).bytes() == 0);
    }
}
