//! Chooses a decoder for a stream of blocks while decoding it.
//!
//! No decoder is best for all data: the best one for text takes twice as long as another one on a column of flags. What a
//! stream holds is found out by trying, and blocks of one stream are alike. A [`Selector`] belongs to one stream; it is
//! cheap to make and does not allocate. Why it works as it does: `docs/adr/0016-lz4-selector.md`.

mod clock;
mod duel;
mod learner;
mod thompson;

pub use clock::{Clock, ticks};

use super::decode::{
    Choice, Lane, adapting, batch, decode_behind, decode_sequences, fault_behind, only_literals,
};
use super::{Block, DECODE_VARIANTS, Decode, Malformed};
use crate::variant::{Isa, Runnable};
use learner::{Both, Learner, One};
use std::fmt;
use thompson::Thompson;

/// Blocks that decode into fewer bytes are not worth a thought: they take the variant in use.
const SMALL_BYTES: usize = 2 << 10;

/// Blocks that save less than this share of their bytes are mostly long literals,
const PLAIN_SHARE: usize = 32;
/// those that decode into this many times their size mostly long matches,
const RUN_RATIO: usize = 16;
/// and two targets of this many bytes each do not stay in the near caches: see [`gains_from_company`].
const COMPANY_BYTES_MAX: usize = 256 << 10;

/// How a [`Selector`] chooses.
///
/// ```
/// use tambour_kernel::lz4::{DECODE_VARIANTS, Policy, Selector, ticks};
/// use tambour_kernel::variant::Isa;
/// let fixed = Policy::Fixed(DECODE_VARIANTS.best_at_most(Isa::Scalar));
/// let mut target = [0; 3];
/// Selector::new(fixed, Isa::best(), ticks).decode(b"\x30abc", &mut target)?;
/// assert_eq!(&target, b"abc");
/// # Ok::<(), tambour_kernel::lz4::Malformed>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Policy {
    /// Tries the variants on short stretches inside the first blocks, and again ever more rarely: the default.
    #[default]
    Adaptive,
    /// Thompson sampling as in the article that made it known for LZ4: each block draws a speed for every variant from a
    /// normal distribution with the mean of its past calls and a deviation of mean/√n; the first calls do not count.
    Thompson,
    /// Always this variant; two blocks in turns in a batch.
    Fixed(Runnable<Decode>),
    /// One variant, known beforehand: the same input takes the same path always, and no clock is read.
    Deterministic,
}

/// What a selector knows about one choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Learned {
    /// Name of the variant.
    pub name: &'static str,
    /// How many blocks it takes at once: 1 or 2.
    pub lanes: usize,
    /// Whether it is the choice in use for this many blocks.
    pub in_use: bool,
    /// How often it was timed.
    pub calls: u64,
    /// Bytes that it wrote then.
    pub bytes: u64,
    /// Ticks of the clock that it took then.
    pub ticks: u64,
}

/// Decodes the blocks of one stream, each with the variant that suits them best.
///
/// ```
/// use tambour_kernel::lz4::{Policy, Selector, ticks};
/// use tambour_kernel::variant::Isa;
/// let mut selector = Selector::new(Policy::Adaptive, Isa::best(), ticks);
/// let mut target = [0; 15];
/// selector.decode(b"\x60hello \x06\0\x50hello", &mut target)?;
/// assert_eq!(&target, b"hello hellhello");
/// # Ok::<(), tambour_kernel::lz4::Malformed>(())
/// ```
pub struct Selector {
    policy: Policy,
    cap: Isa,
    clock: Clock,
    /// What [`Policy::Deterministic`] takes, and single blocks before anything is known.
    default: Runnable<Decode>,
    singles: Learner,
    pairs: Learner,
    thompson: Thompson,
}

impl Selector {
    /// A selector that knows nothing yet and takes no variant above `cap`. A variant that [`Policy::Fixed`] names is taken
    /// whatever the cap says.
    pub fn new(policy: Policy, cap: Isa, clock: Clock) -> Self {
        let singles = adapting(cap).map(|variant| Choice { variant, paired: false });
        let pairs = adapting(cap).map(|variant| Choice { variant, paired: true });
        let default = DECODE_VARIANTS.best_at_most(cap);
        Self {
            policy,
            cap,
            clock,
            default,
            singles: Learner::new(Choice { variant: default, paired: false }, singles.clone()),
            pairs: Learner::new(
                Choice { variant: pair_default(cap), paired: true },
                pairs.chain(singles),
            ),
            thompson: Thompson::new(default, adapting(cap)),
        }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        *self = Self::new(self.policy, self.cap, self.clock);
    }

    /// Decodes one block into exactly `target.len()` bytes. On an error the target holds unspecified bytes.
    pub fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
        self.decode_behind(source, target, 0)
    }

    /// Decodes one block into exactly what follows `start` in the `buffer`; its matches may reach into what lies before, as
    /// in [`decode_behind`](super::decode_behind).
    ///
    /// # Panics
    /// If `start` lies past the end of the buffer.
    pub fn decode_behind(
        &mut self,
        source: &[u8],
        buffer: &mut [u8],
        start: usize,
    ) -> Result<(), Malformed> {
        match self.policy {
            Policy::Fixed(variant) => decode_behind(variant, source, buffer, start),
            Policy::Deterministic => decode_behind(self.default, source, buffer, start),
            Policy::Thompson => self.thompson.decode(source, buffer, start, self.clock),
            Policy::Adaptive => decode_single(&mut self.singles, self.clock, source, buffer, start),
        }
    }

    /// Decodes blocks of the stream that do not depend on each other, two at a time: faster than one after the other. Each
    /// block says what became of it.
    pub fn decode_batch(&mut self, blocks: &mut [Block<'_>]) {
        match (self.policy, &mut *blocks) {
            (Policy::Fixed(variant), _) => variant.decode_batch(blocks),
            (Policy::Deterministic, _) => {
                pair_default(self.cap).decode_batch(blocks);
            }
            (Policy::Thompson, _) | (Policy::Adaptive, [_]) => {
                for block in blocks {
                    block.result = self.decode(block.source, block.target);
                }
            }
            (Policy::Adaptive, _) => {
                let Self { singles, pairs, clock, .. } = self;
                let start = pairs.best().variant;
                let queue = blocks.iter_mut().filter_map(|block| {
                    if gains_from_company(block) {
                        return Some(block);
                    }
                    block.result = decode_single(singles, *clock, block.source, block.target, 0);
                    None
                });
                batch(queue, start, |first, second| pairs.run(&mut Both(first, second), *clock));
            }
        }
    }

    /// What was learned so far, variant by variant.
    ///
    /// ```
    /// use tambour_kernel::lz4::{Policy, Selector, ticks};
    /// use tambour_kernel::variant::Isa;
    /// let selector = Selector::new(Policy::Adaptive, Isa::best(), ticks);
    /// assert!(selector.learned().iter().all(|learned| learned.calls == 0), "nothing was decoded yet");
    /// ```
    pub fn learned(&self) -> Vec<Learned> {
        match self.policy {
            Policy::Adaptive => self.singles.learned().chain(self.pairs.learned()).collect(),
            Policy::Thompson => self.thompson.learned().collect(),
            Policy::Fixed(_) | Policy::Deterministic => Vec::new(),
        }
    }
}

/// One block after `start`, with what suits the stream by all that is known.
fn decode_single(
    singles: &mut Learner,
    clock: Clock,
    source: &[u8],
    buffer: &mut [u8],
    start: usize,
) -> Result<(), Malformed> {
    let expected = buffer.len();
    if let Some(literals) = only_literals(source, expected - start) {
        buffer[start..].copy_from_slice(literals);
        return Ok(());
    }
    if expected - start < SMALL_BYTES {
        return decode_sequences(singles.best().variant, source, buffer, start);
    }
    let mut lane = Lane::behind(source, buffer, start);
    let variant = singles.run(&mut One(&mut lane), clock).variant;
    if variant.finish(&mut lane) { Ok(()) } else { Err(fault_behind(source, start, expected)) }
}

/// Whether a block is worth decoding in turns with another one. What was hardly compressed, or to very little, is a few
/// long copies: there is no latency to hide, and each long copy of one lane makes the other one wait.
fn gains_from_company(block: &Block<'_>) -> bool {
    let (encoded, decoded) = (block.source.len(), block.target.len());
    let is_plain = encoded >= decoded - decoded / PLAIN_SHARE;
    let is_run = encoded.saturating_mul(RUN_RATIO) <= decoded;
    !is_plain && !is_run && decoded <= COMPANY_BYTES_MAX
}

/// What pairs take before anything is known: pieces of 8 bytes where there is such a loop.
fn pair_default(cap: Isa) -> Runnable<Decode> {
    let mut variants = adapting(cap);
    let lean8 = variants.find(|variant| variant.name().starts_with("lean8"));
    lean8.unwrap_or_else(|| DECODE_VARIANTS.best_at_most(cap))
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let learned = self.learned();
        let mut debug = f.debug_struct("Selector");
        debug.field("policy", &self.policy).field("learned", &learned).finish_non_exhaustive()
    }
}
