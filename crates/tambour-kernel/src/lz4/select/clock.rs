//! The clock of a selector: handed in by the caller, so that tests can bring their own.

/// Returns ticks of any unit. Only differences of close calls on one thread are looked at, and a clock that jumps or
/// stands still costs speed, never correctness.
pub type Clock = fn() -> u64;

/// The CPU's own counter (TSC, CNTVCT), the cheapest clock there is; where there is none, it stands still.
pub fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: every x86-64 CPU has the instruction, and it touches no memory.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let ticks: u64;
        // SAFETY: reads a counter that the system lets every process read; touches no memory.
        unsafe {
            core::arch::asm!("mrs {0}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
        }
        ticks
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    0
}
