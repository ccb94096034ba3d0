//! Constant tables: byte-shuffle indices that repeat a pattern. A row of a table is one register.

/// Starts at a cache line, so that no row of 64 bytes crosses one.
#[repr(C, align(64))]
pub(super) struct Aligned<T>(pub(super) T);

/// `PERIODS_16[n][k] = k % n`: repeats the first `n` bytes of a register; `n` from 1 to 15.
pub(super) static PERIODS_16: Aligned<[[u8; 16]; 16]> = Aligned(periods());

/// `STRIDES_16[n]`: the largest multiple of `n` that is at most 16.
pub(super) static STRIDES_16: [u8; 16] = strides(16);

/// `PERIODS[n][k] = k % n` for registers of 64 bytes and the halves of them; `n` from 1 to 64.
#[cfg(target_arch = "x86_64")]
pub(super) static PERIODS: Aligned<[[u8; 64]; 65]> = Aligned(periods());

/// `STRIDES_32[n]`: the largest multiple of `n` that is at most 32.
#[cfg(target_arch = "x86_64")]
pub(super) static STRIDES_32: [u8; 32] = strides(32);

/// `STRIDES_64[n]`: the largest multiple of `n` that is at most 64.
#[cfg(target_arch = "x86_64")]
pub(super) static STRIDES_64: [u8; 65] = strides(64);

/// `IOTA[k] = k`: 64 bytes from `n` on are the indices that shift a register by `n` bytes.
#[cfg(target_arch = "x86_64")]
pub(super) static IOTA: Aligned<[u8; 256]> = Aligned({
    let mut table = [0; 256];
    let mut k = 0;
    while k < 256 {
        table[k] = low_byte(k);
        k += 1;
    }
    table
});

/// Where the bytes of a near match come from, in a register that holds the newest 64 bytes, the newest last: column
/// `64 + k` of row `n` is the byte `k` of a match of offset `n`, and negative `k` continue the period to the left. The 64
/// columns from `m` on are the indices whose last `m` make a match of length `m`. Row 65 stands for all offsets above 64.
#[cfg(target_arch = "x86_64")]
pub(super) static HISTORY: Aligned<[[u8; 128]; 66]> = Aligned({
    let mut table = [[0; 128]; 66];
    let mut row = 1;
    while row < 66 {
        let period = if row > 64 { 64 } else { row };
        let mut column = 0;
        while column < 128 {
            // `column - 64` modulo the period, kept positive by a multiple of it.
            table[row][column] = low_byte(64 - period + (column + 64 * period - 64) % period);
            column += 1;
        }
        row += 1;
    }
    table
});

const fn periods<const WIDTH: usize, const ROWS: usize>() -> [[u8; WIDTH]; ROWS] {
    let mut table = [[0; WIDTH]; ROWS];
    let mut n = 1;
    while n < ROWS {
        let mut k = 0;
        while k < WIDTH {
            table[n][k] = low_byte(k % n);
            k += 1;
        }
        n += 1;
    }
    table
}

const fn strides<const ROWS: usize>(width: usize) -> [u8; ROWS] {
    let mut table = [0; ROWS];
    let mut n = 1;
    while n < ROWS {
        table[n] = low_byte(width - width % n);
        n += 1;
    }
    table
}

#[expect(clippy::cast_possible_truncation, reason = "table entries are below 256")]
const fn low_byte(value: usize) -> u8 {
    value as u8
}
