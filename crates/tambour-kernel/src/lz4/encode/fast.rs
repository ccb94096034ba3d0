//! The fast encoder: one probe of a hash table per position, with steps that grow while nothing is found.
//!
//! The parse is the well-known one of `LZ4_compress_fast`, with its table sizes and multipliers, so that size and speed
//! are those that users of LZ4 expect.

use super::writer::Writer;
use super::{SOURCE_BYTES_MAX, bound};
use crate::copy::load;
use crate::lz4::{LAST_LITERALS, LAST_MATCH_DISTANCE, MATCH_MIN, OFFSET_MAX};

/// This many fruitless probes (a power of two, its logarithm) make the step one byte longer.
const STEP_LOG: u32 = 6;
/// Largest useful acceleration: the first step is already as long as the window.
const ACCELERATION_MAX: u32 = 65_537;
/// Of a prefix, every this many positions are remembered.
const PREFIX_STEP: usize = 3;

/// Memory of the encoder: where each hash was last seen. The caller owns and reuses it; its contents do not matter.
pub struct Table {
    near: Near,
    far: Far,
}

impl Table {
    /// A table of 32 KiB.
    pub const fn new() -> Self {
        Self { near: Near([0; 1 << Near::BITS]), far: Far([0; 1 << Far::BITS]) }
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").finish_non_exhaustive()
    }
}

/// Encodes `source` as one block into the start of `target`; returns the bytes written.
///
/// `acceleration` trades size for speed: 1 is the default, every further step skips more. `None` when the block does not
/// fit into `target`, or the source is longer than [`SOURCE_BYTES_MAX`]. A target of [`bound`] is always long enough, and
/// fastest.
///
/// ```
/// use tambour_kernel::lz4;
/// let source = [7; 1000];
/// let mut target = vec![0; lz4::bound(source.len())];
/// let bytes = lz4::encode(&source, &mut target, &mut lz4::Table::new(), 1).ok_or("no room")?;
/// assert!(bytes < 20);
/// let mut decoded = [0; 1000];
/// lz4::decode(&target[..bytes], &mut decoded)?;
/// assert_eq!(decoded, source);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode(
    source: &[u8],
    target: &mut [u8],
    table: &mut Table,
    acceleration: u32,
) -> Option<usize> {
    if source.len() > SOURCE_BYTES_MAX {
        return None;
    }
    encode_behind(source, 0, target, table, acceleration)
}

/// Encodes `buffer[start..]`, which is within the limit, as a block that may refer to what is in front of it.
pub(super) fn encode_behind(
    buffer: &[u8],
    start: usize,
    target: &mut [u8],
    table: &mut Table,
    acceleration: u32,
) -> Option<usize> {
    let acceleration = acceleration.clamp(1, ACCELERATION_MAX);
    let roomy = target.len() >= bound(buffer.len() - start);
    let near = buffer.len() <= Near::BUFFER_BYTES_MAX;
    let (source, writer) = (Source { buffer, start }, Writer::new(target));
    match (near, roomy) {
        (true, true) => parse::<_, true>(source, writer, &mut table.near, acceleration),
        (true, false) => parse::<_, false>(source, writer, &mut table.near, acceleration),
        (false, true) => parse::<_, true>(source, writer, &mut table.far, acceleration),
        (false, false) => parse::<_, false>(source, writer, &mut table.far, acceleration),
    }
}

/// The bytes to encode, `buffer[start..]`, after their prefix. Positions count from the start of the buffer.
#[derive(Clone, Copy)]
struct Source<'a> {
    buffer: &'a [u8],
    start: usize,
}

/// A hash table of positions.
trait Cells {
    /// Whether two positions may be farther apart than an offset reaches.
    const FAR: bool;
    /// Forgets all positions.
    fn clear(&mut self);
    /// The last position with this hash, or 0.
    fn get(&self, hash: usize) -> usize;
    /// Remembers a position.
    fn put(&mut self, hash: usize, at: usize);
    /// Hash of the bytes at a position.
    ///
    /// # Safety
    /// `at + 8 <= source.len()`.
    unsafe fn hash(source: &[u8], at: usize) -> usize;
}

/// For buffers within one window: positions of 16 bits, twice as many cells.
struct Near([u16; 1 << Near::BITS]);

impl Near {
    const BITS: u32 = 13;
    /// The last position that is ever remembered must fit into 16 bits.
    const BUFFER_BYTES_MAX: usize = OFFSET_MAX + LAST_MATCH_DISTANCE;
}

impl Cells for Near {
    const FAR: bool = false;

    fn clear(&mut self) {
        self.0.fill(0);
    }

    #[inline(always)]
    fn get(&self, hash: usize) -> usize {
        usize::from(self.0[hash % (1 << Self::BITS)])
    }

    #[inline(always)]
    fn put(&mut self, hash: usize, at: usize) {
        debug_assert!(at <= OFFSET_MAX);
        #[expect(clippy::cast_possible_truncation, reason = "such sources have short positions")]
        let cell = at as u16;
        self.0[hash % (1 << Self::BITS)] = cell;
    }

    #[inline(always)]
    unsafe fn hash(source: &[u8], at: usize) -> usize {
        // SAFETY: the caller keeps 8 bytes.
        let value = u32::from_le(unsafe { load(source, at) });
        (value.wrapping_mul(2_654_435_761) >> (32 - Self::BITS)) as usize
    }
}

/// For longer sources: positions of 32 bits; the hash takes five bytes, which is worth more there.
struct Far([u32; 1 << Far::BITS]);

impl Far {
    const BITS: u32 = 12;
}

impl Cells for Far {
    const FAR: bool = true;

    fn clear(&mut self) {
        self.0.fill(0);
    }

    #[inline(always)]
    fn get(&self, hash: usize) -> usize {
        self.0[hash % (1 << Self::BITS)] as usize
    }

    #[inline(always)]
    fn put(&mut self, hash: usize, at: usize) {
        #[expect(clippy::cast_possible_truncation, reason = "sources are shorter than 2 GiB")]
        let cell = at as u32;
        self.0[hash % (1 << Self::BITS)] = cell;
    }

    #[inline(always)]
    unsafe fn hash(source: &[u8], at: usize) -> usize {
        // SAFETY: the caller keeps 8 bytes.
        let value = u64::from_le(unsafe { load(source, at) });
        ((value << 24).wrapping_mul(889_523_592_379) >> (64 - Self::BITS)) as usize
    }
}

/// Bytes at `at` that occurred at `from` before; at least [`MATCH_MIN`] are equal.
#[derive(Clone, Copy)]
struct Match {
    at: usize,
    from: usize,
}

impl Match {
    fn offset(self) -> usize {
        self.at - self.from
    }
}

/// Encodes; returns the bytes written, or `None` when there is no room. `ROOMY` says that the target has the bound of the
/// source.
fn parse<C: Cells, const ROOMY: bool>(
    source: Source<'_>,
    mut writer: Writer<'_>,
    cells: &mut C,
    acceleration: u32,
) -> Option<usize> {
    let Source { buffer, start } = source;
    let mut anchor = start;
    if buffer.len() - start > LAST_MATCH_DISTANCE {
        cells.clear();
        // Matches start no later than here; hashes are taken up to one byte after it.
        let last = buffer.len() - LAST_MATCH_DISTANCE;
        for at in (0..start).step_by(PREFIX_STEP) {
            // SAFETY: `at < start < last`.
            cells.put(unsafe { C::hash(buffer, at) }, at);
        }
        // Nothing comes before the first byte of the buffer.
        let mut at = start.max(1);
        // SAFETY: `at` starts at 1 <= last, and a further round is only begun with `at <= last + 1`.
        while let Some(found) = unsafe { find(buffer, cells, at, last, acceleration) } {
            let mut next = Some(back(buffer, anchor, found));
            while let Some(found) = next {
                // SAFETY: a match starts at most at `last`, so that 8 bytes follow.
                let length = unsafe { common(buffer, found) };
                if ROOMY {
                    let literals = (anchor, found.at);
                    // SAFETY: literals and match lie in front of the last literals; the target has the bound.
                    unsafe {
                        writer.sequence_with_room(buffer, literals, found.offset(), length);
                    }
                } else {
                    writer.sequence(buffer, (anchor, found.at), found.offset(), length)?;
                }
                anchor = found.at + length;
                next = None;
                if anchor <= last {
                    // SAFETY: `anchor <= last`, and at least a match of 4 bytes lies before it.
                    next = unsafe { follow(buffer, cells, anchor) };
                }
            }
            if anchor > last {
                break;
            }
            at = anchor + 1;
        }
    }
    writer.last_literals(&buffer[anchor..])
}

/// The first match at `start` or after that starts at most at `last`. Steps grow while nothing is found.
///
/// # Safety
/// `1 <= start <= last + 1` and `last + 12 <= source.len()`.
#[inline(always)]
unsafe fn find<C: Cells>(
    source: &[u8],
    cells: &mut C,
    start: usize,
    last: usize,
    acceleration: u32,
) -> Option<Match> {
    let mut probes = acceleration << STEP_LOG;
    let mut step = 1;
    let mut next = start;
    // SAFETY: `start + 8 <= last + 9`.
    let mut next_hash = unsafe { C::hash(source, next) };
    loop {
        let (at, hash) = (next, next_hash);
        next += step;
        step = (probes >> STEP_LOG) as usize;
        probes += 1;
        if next > last + 1 {
            return None;
        }
        let from = cells.get(hash);
        // SAFETY: `next + 8 <= last + 9`.
        next_hash = unsafe { C::hash(source, next) };
        cells.put(hash, at);
        // SAFETY: `from < at <= last`: only positions before `at` were remembered, and empty cells say 0.
        if unsafe { matches::<C>(source, from, at) } {
            return Some(Match { at, from });
        }
    }
}

/// The match right after a match, if there is one.
///
/// # Safety
/// `2 < at` and `at + 12 <= source.len()`.
#[inline(always)]
unsafe fn follow<C: Cells>(source: &[u8], cells: &mut C, at: usize) -> Option<Match> {
    // SAFETY: in front of `at`.
    let hash = unsafe { C::hash(source, at - 2) };
    cells.put(hash, at - 2);
    // SAFETY: 12 bytes follow `at`.
    let hash = unsafe { C::hash(source, at) };
    let from = cells.get(hash);
    cells.put(hash, at);
    // SAFETY: 12 bytes follow `at`, and `from` is before it.
    unsafe { matches::<C>(source, from, at) }.then_some(Match { at, from })
}

/// Whether a match may start at `at` with bytes from `from`.
///
/// # Safety
/// `from < at` and `at + 4 <= source.len()`.
#[inline(always)]
unsafe fn matches<C: Cells>(source: &[u8], from: usize, at: usize) -> bool {
    debug_assert!(from < at);
    if C::FAR && at - from > OFFSET_MAX {
        return false;
    }
    // SAFETY: `from` is before `at`.
    let before = unsafe { load::<u32>(source, from) };
    // SAFETY: the caller keeps 4 bytes.
    before == unsafe { load::<u32>(source, at) }
}

/// Extends a match backwards over literals that are equal, too.
#[inline(always)]
fn back(source: &[u8], anchor: usize, found: Match) -> Match {
    let Match { mut at, mut from } = found;
    while at > anchor && from > 0 && source[at - 1] == source[from - 1] {
        at -= 1;
        from -= 1;
    }
    Match { at, from }
}

/// Length of a match; it ends before the last literals.
///
/// # Safety
/// `found.from < found.at` and `found.at + MATCH_MIN + LAST_LITERALS <= source.len()`.
#[inline(always)]
unsafe fn common(source: &[u8], found: Match) -> usize {
    let end = source.len() - LAST_LITERALS;
    let (mut at, mut from) = (found.at + MATCH_MIN, found.from + MATCH_MIN);
    while at + 8 <= end {
        // SAFETY: `from` is before `at`.
        let before = u64::from_le(unsafe { load(source, from) });
        // SAFETY: just compared with the end.
        let different = before ^ u64::from_le(unsafe { load(source, at) });
        if different != 0 {
            return at - found.at + (different.trailing_zeros() / 8) as usize;
        }
        at += 8;
        from += 8;
    }
    while at < end && source[at] == source[from] {
        at += 1;
        from += 1;
    }
    at - found.at
}
