//! Vector registers from and to arrays of bytes.

use core::arch::x86_64::{__m256i, __m512i};

/// The bytes as a register.
#[inline(always)]
pub(super) fn load256(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: any 32 bytes make a register.
    unsafe { core::mem::transmute::<[u8; 32], __m256i>(*bytes) }
}

/// The register as bytes.
#[inline(always)]
pub(super) fn store256(place: &mut [u8; 32], register: __m256i) {
    // SAFETY: a register is 32 bytes.
    *place = unsafe { core::mem::transmute::<__m256i, [u8; 32]>(register) };
}

/// The bytes as a register.
#[inline(always)]
pub(super) fn load512(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: any 64 bytes make a register.
    unsafe { core::mem::transmute::<[u8; 64], __m512i>(*bytes) }
}

/// The register as bytes.
#[inline(always)]
pub(super) fn store512(place: &mut [u8; 64], register: __m512i) {
    // SAFETY: a register is 64 bytes.
    *place = unsafe { core::mem::transmute::<__m512i, [u8; 64]>(register) };
}
