//! The fast encoder: one probe of a hash table per position, with steps that grow while nothing is found.
//!
//! The parse is the well-known one of `LZ4_compress_fast`, with its table sizes and multipliers, so that size and speed
//! are those that users of LZ4 expect.

use super::{SOURCE_BYTES_MAX, bound};
use crate::copy::{copy, load, store};
use crate::lz4::{LAST_LITERALS, LAST_MATCH_DISTANCE, MATCH_MIN, NIBBLE_MAX, OFFSET_MAX};

/// So many fruitless probes (a power of two, its logarithm) make the step one byte longer.
const STEP_LOG: u32 = 6;
/// Largest useful acceleration: the first step is already as long as the window.
const ACCELERATION_MAX: u32 = 65_537;

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
/// `acceleration` trades size for speed: 1 is the default, every further step skips more. `None` when `target` is shorter
/// than [`bound`] of the source's length, or the source longer than [`SOURCE_BYTES_MAX`].
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
    if source.len() > SOURCE_BYTES_MAX || target.len() < bound(source.len()) {
        return None;
    }
    let acceleration = acceleration.clamp(1, ACCELERATION_MAX);
    Some(if source.len() <= Near::SOURCE_BYTES_MAX {
        parse(source, target, &mut table.near, acceleration)
    } else {
        parse(source, target, &mut table.far, acceleration)
    })
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

/// For sources within one window: positions of 16 bits, twice as many cells.
struct Near([u16; 1 << Near::BITS]);

impl Near {
    const BITS: u32 = 13;
    /// The last position that is ever remembered must fit into 16 bits.
    const SOURCE_BYTES_MAX: usize = OFFSET_MAX + LAST_MATCH_DISTANCE;
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

/// Encodes `source` into `target`, which has room for its bound; returns the bytes written.
fn parse<C: Cells>(source: &[u8], target: &mut [u8], cells: &mut C, acceleration: u32) -> usize {
    let mut writer = Writer { target, position: 0 };
    let mut anchor = 0;
    if source.len() > LAST_MATCH_DISTANCE {
        cells.clear();
        // Matches start no later than here; hashes are taken up to one byte behind.
        let last = source.len() - LAST_MATCH_DISTANCE;
        let mut at = 1;
        // SAFETY: `at` starts at 1 <= last, and a further round is only begun with `at <= last + 1`.
        while let Some(found) = unsafe { find(source, cells, at, last, acceleration) } {
            let mut next = Some(back(source, anchor, found));
            while let Some(found) = next {
                // SAFETY: a match starts at most at `last`, so that 8 bytes follow.
                let length = unsafe { common(source, found) };
                // SAFETY: literals and match lie in front of the last literals; see there for the room.
                unsafe { writer.sequence(source, anchor, found, length) };
                anchor = found.at + length;
                next = None;
                if anchor <= last {
                    // SAFETY: `anchor <= last`, and at least a match of 4 bytes lies before it.
                    next = unsafe { follow(source, cells, anchor) };
                }
            }
            if anchor > last {
                break;
            }
            at = anchor + 1;
        }
    }
    writer.last_literals(&source[anchor..])
}

/// The first match at `start` or behind that starts at most at `last`. Steps grow while nothing is found.
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

/// The match right behind a match, if there is one.
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

/// Writes sequences.
///
/// Room: a sequence of L literals and a match takes at most L/255 bytes more than it stands for, so after every sequence
/// there is [`bound`] of the rest of the source left, less the rounding of L/255.
struct Writer<'a> {
    target: &'a mut [u8],
    position: usize,
}

impl Writer<'_> {
    /// Writes the literals from `anchor` on and the match.
    ///
    /// # Safety
    /// `anchor <= found.at`, `found.at + LAST_MATCH_DISTANCE <= source.len()`, and the target has [`bound`] of the source.
    #[inline(always)]
    unsafe fn sequence(&mut self, source: &[u8], anchor: usize, found: Match, length: usize) {
        let literals = found.at - anchor;
        let token = self.position;
        self.position += 1;
        let literal_nibble = self.nibble(literals);
        if literals <= 16 {
            // SAFETY: at least 12 bytes follow the literals in the source, and more than that in the target.
            unsafe { copy::<u64>(source, anchor, self.target, self.position) };
            if literals > 8 {
                // SAFETY: as above; the copy ends at most 7 bytes behind the literals.
                unsafe { copy::<u64>(source, anchor + 8, self.target, self.position + 8) };
            }
        } else {
            self.target[self.position..self.position + literals]
                .copy_from_slice(&source[anchor..found.at]);
        }
        self.position += literals;
        #[expect(clippy::cast_possible_truncation, reason = "the parse keeps to the window")]
        let offset = (found.at - found.from) as u16;
        // SAFETY: the literals are followed by 12 more bytes of source, for which the target has room.
        unsafe { store(self.target, self.position, offset.to_le()) };
        self.position += 2;
        let match_nibble = self.nibble(length - MATCH_MIN);
        // SAFETY: the token lies in front of what was written.
        unsafe { store(self.target, token, literal_nibble << 4 | match_nibble) };
    }

    /// Writes the last sequence; returns the size of the block.
    fn last_literals(mut self, literals: &[u8]) -> usize {
        let token = self.position;
        self.position += 1;
        self.target[token] = self.nibble(literals.len()) << 4;
        let end = self.position + literals.len();
        self.target[self.position..end].copy_from_slice(literals);
        end
    }

    /// The half of a token for a length; writes the bytes that extend it.
    #[inline(always)]
    fn nibble(&mut self, length: usize) -> u8 {
        if length < NIBBLE_MAX {
            #[expect(clippy::cast_possible_truncation, reason = "just compared")]
            let nibble = length as u8;
            return nibble;
        }
        let rest = length - NIBBLE_MAX;
        let full = rest / 255;
        self.target[self.position..self.position + full].fill(255);
        #[expect(clippy::cast_possible_truncation, reason = "a remainder of 255")]
        let last = (rest % 255) as u8;
        self.target[self.position + full] = last;
        self.position += full + 1;
        15
    }
}
