//! Messages for C: one dictionary for all connections. As in `lib`, pointers become slices here, and nothing else happens to them.

use crate::border::{Region, is_apart, source};
use crate::{guarded, pair};
use std::cell::RefCell;
use std::ptr;
use tambour_message::{Dictionary, MESSAGE_BYTES_MAX, MessageCodec, Pin, Scratch};

/// What a C program holds for the dictionaries that it knows.
#[derive(Debug)]
pub(crate) struct Messages(MessageCodec);

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// What stands for no length.
const NO_LENGTH: usize = usize::MAX;

/// Runs something with this thread's memory; `None` if the thread is at its end.
fn with_scratch<T>(run: impl FnOnce(&mut Scratch) -> Option<T>) -> Option<T> {
    let call = |cell: &RefCell<Scratch>| {
        // A panic leaves the thread without it, not with one that is half done.
        let mut scratch = cell.take();
        let result = run(&mut scratch);
        cell.replace(scratch);
        result
    };
    SCRATCH.try_with(call).ok().flatten()
}

/// A codec that encodes with this dictionary; NULL if it is none.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tambour_messages_new(
    generation: u8,
    dictionary: *const u8,
    n: usize,
) -> *mut Messages {
    // SAFETY: the header asks for readable `dictionary[..n]`.
    let bytes = unsafe { source(dictionary, n) };
    guarded(ptr::null_mut(), || {
        let dictionary = Dictionary::from_bytes(bytes?).ok()?;
        let codec = MessageCodec::new(generation, dictionary);
        let codec = codec.with_message_bytes_max(MESSAGE_BYTES_MAX);
        Some(Box::into_raw(Box::new(Messages(codec))))
    })
}

/// Ends what `tambour_messages_new` began.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tambour_messages_free(messages: *mut Messages) {
    if messages.is_null() {
        return;
    }
    // SAFETY: the header asks for what `tambour_messages_new` returned, once, with nobody else using it.
    let messages = unsafe { Box::from_raw(messages) };
    guarded((), || {
        drop(messages);
        Some(())
    });
}

/// Makes a further dictionary known for decoding.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tambour_messages_add(
    messages: *const Messages,
    generation: u8,
    dictionary: *const u8,
    n: usize,
) -> bool {
    // SAFETY: the header asks for NULL or what `tambour_messages_new` returned and nobody has freed.
    let messages = unsafe { messages.as_ref() };
    // SAFETY: the header asks for readable `dictionary[..n]`.
    let bytes = unsafe { source(dictionary, n) };
    guarded(false, || {
        let dictionary = Dictionary::from_bytes(bytes?).ok()?;
        Some(messages?.0.add(generation, dictionary).is_ok())
    })
}

/// Encodes with this generation from now on.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tambour_messages_switch(
    messages: *const Messages,
    generation: u8,
) -> bool {
    // SAFETY: the header asks for NULL or what `tambour_messages_new` returned and nobody has freed.
    let messages = unsafe { messages.as_ref() };
    guarded(false, || Some(messages?.0.switch_to(generation).is_ok()))
}

/// How long a message says that it is when it is decoded.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tambour_message_length(src: *const u8, n: usize) -> usize {
    // SAFETY: the header asks for readable `src[..n]`.
    let bytes = unsafe { source(src, n) };
    guarded(NO_LENGTH, || MessageCodec::decoded_bytes(bytes?).ok())
}

/// Most bytes that a message of `n` bytes becomes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tambour_message_bound(n: usize) -> usize {
    // One that would become longer is stored.
    if n > MESSAGE_BYTES_MAX { 0 } else { n + MessageCodec::OVERHEAD_BYTES_MAX }
}

/// Decodes a message; its length, or `SIZE_MAX`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tambour_message_decode(
    messages: *const Messages,
    pin: *const u8,
    pin_n: usize,
    src: *const u8,
    n: usize,
    dst: *mut u8,
    capacity: usize,
) -> usize {
    // SAFETY: the header asks for NULL or what `tambour_messages_new` returned and nobody has freed.
    let messages = unsafe { messages.as_ref() };
    // SAFETY: the header asks for readable `pin[..pin_n]` and `src[..n]` and writable `dst[..capacity]`.
    let buffers = unsafe { buffers((pin, pin_n), (src, n), (dst, capacity)) };
    guarded(NO_LENGTH, || {
        let (pin, source, target) = buffers?;
        let codec = &messages?.0;
        // What would not fit is not decoded.
        let target = target.get_mut(..MessageCodec::decoded_bytes(source).ok()?)?;
        with_scratch(|scratch| {
            let message = codec.decode_in(source, Pin::new(pin).as_ref(), scratch).ok()?;
            target.copy_from_slice(message);
            Some(message.len())
        })
    })
}

/// Encodes a message; its length, or 0.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tambour_message_encode(
    messages: *const Messages,
    pin: *const u8,
    pin_n: usize,
    src: *const u8,
    n: usize,
    dst: *mut u8,
    capacity: usize,
) -> usize {
    // SAFETY: the header asks for NULL or what `tambour_messages_new` returned and nobody has freed.
    let messages = unsafe { messages.as_ref() };
    // SAFETY: the header asks for readable `pin[..pin_n]` and `src[..n]` and writable `dst[..capacity]`.
    let buffers = unsafe { buffers((pin, pin_n), (src, n), (dst, capacity)) };
    guarded(0, || {
        let (pin, source, target) = buffers?;
        let codec = &messages?.0;
        with_scratch(|scratch| {
            let mut encoded = Vec::new();
            codec.encode(source, Pin::new(pin).as_ref(), scratch, &mut encoded).ok()?;
            target.get_mut(..encoded.len())?.copy_from_slice(&encoded);
            Some(encoded.len())
        })
    })
}

/// The three buffers of a call as slices, if they are there and the target is apart from the others.
///
/// # Safety
/// Each is NULL, or readable or writable for its length, and nobody else uses `dst` during the call.
unsafe fn buffers<'a>(
    pin: (*const u8, usize),
    src: (*const u8, usize),
    dst: (*mut u8, usize),
) -> Option<(&'a [u8], &'a [u8], &'a mut [u8])> {
    if !is_apart(Region::read(pin.0, pin.1), Region::written(dst.0, dst.1)) {
        return None;
    }
    // SAFETY: as the caller promises.
    let pin = unsafe { source(pin.0, pin.1) }?;
    // SAFETY: as the caller promises; the pin lies elsewhere.
    let (source, target) = unsafe { pair(src, dst) }?;
    Some((pin, source, target))
}
