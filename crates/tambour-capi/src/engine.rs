//! What a thread keeps between calls. Safe code; the only place that says which kernels the C interface uses.

use std::cell::RefCell;
use std::ffi::c_int;
use tambour_codec::kernels;
use tambour_kernel::lz4::{self, Block, DECODE_VARIANTS, Decode, Policy, Selector, ticks};
use tambour_kernel::variant::Runnable;

/// Decoder and encoder of one thread.
#[derive(Debug)]
pub(crate) struct Engine {
    selector: Selector,
    encoder: Option<Encoder>,
}

#[derive(Debug, Default)]
struct Encoder {
    table: Box<lz4::Table>,
    /// Where a block goes whose target is shorter than its bound.
    scratch: Vec<u8>,
}

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

/// Runs something with this thread's engine. `None` if there can be none: TAMBOUR_ISA is wrong, or the thread is at its
/// end. After a panic the next call starts with a new engine.
pub(crate) fn with_engine<T>(run: impl FnOnce(&mut Engine) -> T) -> Option<T> {
    ENGINE
        .try_with(|cell| {
            let mut slot = cell.try_borrow_mut().ok()?;
            let mut engine = match slot.take() {
                Some(engine) => engine,
                None => Engine::new()?,
            };
            let result = run(&mut engine);
            *slot = Some(engine);
            Some(result)
        })
        .ok()
        .flatten()
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
        let bound = bound(source.len())?;
        let Encoder { table, scratch } = self.encoder.get_or_insert_default();
        if target.len() >= bound {
            return lz4::encode(source, target, table, acceleration(level));
        }
        scratch.resize(bound, 0);
        let length = lz4::encode(source, scratch, table, acceleration(level))?;
        target.get_mut(..length)?.copy_from_slice(&scratch[..length]);
        Some(length)
    }
}

/// Steps of the fast encoder: one for levels from 0, more for those below.
fn acceleration(level: c_int) -> u32 {
    level.min(-1).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::{acceleration, bound, with_engine};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn levels_below_zero_are_accelerations() {
        let found = [12, 1, 0, -1, -2, i32::MIN].map(acceleration);
        assert_eq!(found, [1, 1, 1, 1, 2, 1 << 31]);
    }

    #[test]
    fn a_panic_costs_the_engine_only() {
        let panicked = catch_unwind(AssertUnwindSafe(|| with_engine(|_| panic!("on purpose"))));
        assert!(panicked.is_err());
        assert_eq!(with_engine(|engine| engine.decode(&[0], &mut [])), Some(true));
    }

    #[test]
    fn lengths_that_no_block_has() {
        assert_eq!(bound(usize::MAX), None);
        assert!(bound(0).is_some_and(|bytes| bytes > 0));
    }
}
