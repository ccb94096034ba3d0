//! LZ4 blocks and messages for C: `include/tambour.h` is their documentation, `docs/c-interface.md` their guide.
//!
//! Only this file, `messages` and `border` touch raw pointers, and they do nothing else: `border` turns them into slices or
//! refuses, `engine` and `tambour-message` work on slices in safe code. A panic, which would be a fault of ours, ends at the border as a failed call.
#![expect(
    unsafe_code,
    reason = "C hands over pointers; each block states what its header asks of the caller"
)]
// The conditions of a call are those of the header; they are the same for all functions.
#![expect(clippy::missing_safety_doc, reason = "callers are C programs, which read the header")]

mod border;
#[cfg(test)]
mod cost;
mod engine;
mod messages;

use border::{Region, are_apart, array, is_apart, source, target};
use engine::with_engine;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tambour_kernel::lz4::Block;

/// Decodes a block with the selector of this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tambour_lz4_decode(
    src: *const u8,
    n: usize,
    dst: *mut u8,
    m: usize,
) -> bool {
    // SAFETY: the header asks for readable `src[..n]` and writable `dst[..m]`.
    let buffers = unsafe { pair((src, n), (dst, m)) };
    guarded(false, || {
        let (source, target) = buffers?;
        engine::decode(source, target)
    })
}

/// Forgets what the selector of this thread has learned.
#[unsafe(no_mangle)]
pub extern "C" fn tambour_lz4_selector_reset() {
    guarded((), || with_engine(engine::Engine::reset));
}

/// Decodes a block with a variant by its name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tambour_lz4_decode_with(
    variant: *const c_char,
    src: *const u8,
    n: usize,
    dst: *mut u8,
    m: usize,
) -> bool {
    if variant.is_null() {
        return false;
    }
    // SAFETY: not NULL; the header asks for a string that ends with a zero byte.
    let name = unsafe { CStr::from_ptr(variant) };
    // SAFETY: the header asks for readable `src[..n]` and writable `dst[..m]`.
    let buffers = unsafe { pair((src, n), (dst, m)) };
    guarded(false, || {
        let (source, target) = buffers?;
        Some(engine::variant(name.to_str().ok()?)?.decode(source, target).is_ok())
    })
}

/// Decodes independent blocks; returns how many were right, in order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tambour_lz4_decode_batch(
    count: usize,
    src: *const *const u8,
    n: *const usize,
    dst: *const *mut u8,
    m: *const usize,
) -> usize {
    // SAFETY: the header asks for `count` readable elements of each array.
    let sources = unsafe { array(src, count) };
    // SAFETY: the same.
    let source_lengths = unsafe { array(n, count) };
    // SAFETY: the same.
    let targets = unsafe { array(dst, count) };
    // SAFETY: the same.
    let target_lengths = unsafe { array(m, count) };
    guarded(0, || {
        let sources: Vec<(*const u8, usize)> =
            sources?.iter().copied().zip(source_lengths?.iter().copied()).collect();
        let targets: Vec<(*mut u8, usize)> =
            targets?.iter().copied().zip(target_lengths?.iter().copied()).collect();
        let regions = sources.iter().map(|&(start, length)| Region::read(start, length));
        let regions =
            regions.chain(targets.iter().map(|&(start, length)| Region::written(start, length)));
        if !are_apart(regions.collect()) {
            return None;
        }
        // What comes before the first block without buffers is decoded.
        let blocks = sources.iter().zip(&targets).map_while(|(&(src, n), &(dst, m))| {
            // SAFETY: the header asks for readable buffers of the given lengths.
            let source = unsafe { source(src, n) }?;
            // SAFETY: writable ones of the given lengths; that no other buffer of the call overlaps was just checked.
            let target = unsafe { target(dst, m) }?;
            Some(Block::new(source, target))
        });
        let mut blocks: Vec<Block<'_>> = blocks.collect();
        with_engine(|engine| engine.decode_batch(&mut blocks))?;
        Some(blocks.iter().take_while(|block| block.result.is_ok()).count())
    })
}

/// Encodes a block; returns its length, or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tambour_lz4_encode(
    level: c_int,
    src: *const u8,
    n: usize,
    dst: *mut u8,
    capacity: usize,
) -> usize {
    // SAFETY: the header asks for readable `src[..n]` and writable `dst[..capacity]`.
    let buffers = unsafe { pair((src, n), (dst, capacity)) };
    guarded(0, || {
        let (source, target) = buffers?;
        with_engine(|engine| engine.encode(level, source, target))?
    })
}

/// Most bytes that `n` bytes can become, or 0.
#[unsafe(no_mangle)]
pub extern "C" fn tambour_lz4_bound(n: usize) -> usize {
    engine::bound(n).unwrap_or(0)
}

/// Both buffers of a call as slices, if they are there and apart.
///
/// # Safety
/// `src` and `dst` are NULL, or readable and writable for their lengths, and nobody else uses `dst` during the call.
unsafe fn pair<'a>(
    src: (*const u8, usize),
    dst: (*mut u8, usize),
) -> Option<(&'a [u8], &'a mut [u8])> {
    if !is_apart(Region::read(src.0, src.1), Region::written(dst.0, dst.1)) {
        return None;
    }
    // SAFETY: as the caller promises.
    let source = unsafe { source(src.0, src.1) }?;
    // SAFETY: as the caller promises; `source` lies elsewhere.
    let target = unsafe { target(dst.0, dst.1) }?;
    Some((source, target))
}

/// The result of a call; what failed without one, or panicked, is `failed`.
fn guarded<T>(failed: T, run: impl FnOnce() -> Option<T>) -> T {
    // What a panic leaves half done is the target, whose content is unspecified then, and the thread's engine, which
    // `with_engine` throws away.
    catch_unwind(AssertUnwindSafe(run)).ok().flatten().unwrap_or(failed)
}
