//! What a thread keeps between calls. Safe code; the only place that says which kernels the C interface uses.

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::LazyLock;
use tambour_codec::kernels;
use tambour_kernel::lz4::{
    self, Block, DECODE_VARIANTS, Decode, Encoder, Level, Policy, Selector, ticks,
};
use tambour_kernel::variant::Runnable;

/// Decoder and encoder of one thread.
#[derive(Debug)]
pub(crate) struct Engine {
    selector: Selector,
    /// Of the level that was asked for last.
    encoder: Option<Encoder>,
}

/// The level that stands for [`Level::DecodeSpeed`], as in the header.
const DECODE_SPEED: c_int = 100;

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

/// What decodes blocks that no selector would think about: there is nothing to look up for a thread.
static SMALL: LazyLock<Option<Runnable<Decode>>> = LazyLock::new(|| kernels::lz4_decode().ok());

/// Targets below this many bytes are small.
const SMALL_BYTES: usize = 512;

/// Decodes one block; whether it was right. `None` if TAMBOUR_ISA is wrong.
pub(crate) fn decode(source: &[u8], target: &mut [u8]) -> Option<bool> {
    if target.len() < SMALL_BYTES {
        return Some((*SMALL)?.decode(source, target).is_ok());
    }
    with_engine(|engine| engine.decode(source, target))
}

/// The engine while a call uses it. Only a panic drops this: it leaves the engine in an unknown state, so that it goes, too.
struct Use<'a>(&'a mut Option<Engine>);

impl Drop for Use<'_> {
    #[cold]
    fn drop(&mut self) {
        *self.0 = None;
    }
}

/// Runs something with this thread's engine. `None` if there can be none: TAMBOUR_ISA is wrong, or the thread is at its
/// end. After a panic the next call starts with a new engine.
pub(crate) fn with_engine<T>(run: impl FnOnce(&mut Engine) -> T) -> Option<T> {
    let call = |cell: &RefCell<Option<Engine>>| {
        let mut slot = cell.try_borrow_mut().ok()?;
        if slot.is_none() {
            *slot = Some(Engine::new()?);
        }
        let guarded = Use(&mut slot);
        let result = guarded.0.as_mut().map(run);
        let _kept = std::mem::ManuallyDrop::new(guarded);
        result
    };
    ENGINE.try_with(call).ok().flatten()
}

/// The variant with this name, if this processor has what it needs and TAMBOUR_ISA allows it.
pub(crate) fn variant(name: &str) -> Option<Runnable<Decode>> {
    let cap = kernels::isa().ok()?;
    DECODE_VARIANTS.named(name).filter(|variant| variant.isa() <= cap)
}

/// Most bytes that so many bytes can become; `None` if that is more than a block can hold.
pub(crate) fn bound(length: usize) -> Option<usize> {
    (length <= lz4::SOURCE_BYTES_MAX).then(|| lz4::bound(length))
}

impl Engine {
    fn new() -> Option<Self> {
        let selector = Selector::new(Policy::Adaptive, kernels::isa().ok()?, ticks);
        Some(Self { selector, encoder: None })
    }

    /// Forgets what was learned about blocks.
    pub(crate) fn reset(&mut self) {
        self.selector.reset();
    }

    /// Decodes one block; whether it was right.
    pub(crate) fn decode(&mut self, source: &[u8], target: &mut [u8]) -> bool {
        self.selector.decode(source, target).is_ok()
    }

    /// Decodes independent blocks.
    pub(crate) fn decode_batch(&mut self, blocks: &mut [Block<'_>]) {
        self.selector.decode_batch(blocks);
    }

    /// Encodes one block; its length, if it fits.
    pub(crate) fn encode(
        &mut self,
        level: c_int,
        source: &[u8],
        target: &mut [u8],
    ) -> Option<usize> {
        let level = to_level(level);
        if self.encoder.as_ref().is_none_or(|encoder| encoder.level() != level) {
            self.encoder = Some(Encoder::new(level));
        }
        self.encoder.as_mut()?.encode(source, target)
    }
}

/// What a number in C means: see the header.
fn to_level(level: c_int) -> Level {
    match u8::try_from(level) {
        Ok(0..Level::HIGH_MIN) => Level::Fast { acceleration: 1 },
        Err(_) if level < 0 => Level::Fast { acceleration: level.unsigned_abs() },
        _ if level == DECODE_SPEED => Level::DecodeSpeed,
        Ok(level) => Level::High(level.min(Level::HIGH_MAX)),
        Err(_) => Level::High(Level::HIGH_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::{ENGINE, bound, to_level, with_engine};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use tambour_kernel::lz4::Level;

    #[test]
    fn levels_as_the_header_says() {
        let fast = [2, 1, 0, -1, -2, i32::MIN].map(to_level);
        let accelerations = [1, 1, 1, 1, 2, 1 << 31];
        assert_eq!(fast, accelerations.map(|acceleration| Level::Fast { acceleration }));
        let high = [3, 9, 12, 13, 99, 101, 300, i32::MAX].map(to_level);
        assert_eq!(high, [3, 9, 12, 12, 12, 12, 12, 12].map(Level::High));
        assert_eq!(to_level(100), Level::DecodeSpeed);
    }

    #[test]
    fn a_panic_costs_the_engine_only() {
        let panicked = catch_unwind(AssertUnwindSafe(|| with_engine(|_| panic!("on purpose"))));
        assert!(panicked.is_err());
        ENGINE.with(|cell| assert!(cell.borrow().is_none()));
        assert_eq!(with_engine(|engine| engine.decode(&[0], &mut [])), Some(true));
        ENGINE.with(|cell| assert!(cell.borrow().is_some()));
    }

    #[test]
    fn lengths_that_no_block_has() {
        assert_eq!(bound(usize::MAX), None);
        assert!(bound(0).is_some_and(|bytes| bytes > 0));
    }
}
