//! `LZ4HC(level)`, method 0x82: an LZ4 block that took longer to make. The level is 1 to 12, 9 without an argument.
//!
//! Levels are those of `LZ4_compress_HC`; 1 and 2 count as 3. The method byte is that of `LZ4`, which decodes such blocks.

use super::lz4::{self, Lz4};
use super::{Family, argument_error};
use tambour_kernel::lz4::Level;

pub(super) const FAMILY: Family = Family {
    name: "LZ4HC",
    build: |arguments, _| {
        let level = match arguments {
            [] => LEVEL_DEFAULT,
            [level] => level
                .parse()
                .ok()
                .filter(|level| (1..=Level::HIGH_MAX).contains(level))
                .ok_or_else(|| argument_error("LZ4HC", arguments, "the level is 1 to 12"))?,
            _ => return Err(argument_error("LZ4HC", arguments, "takes one argument, the level")),
        };
        Ok(Box::new(Lz4::new(Level::High(level))?))
    },
    ..lz4::FAMILY
};

/// Level of `LZ4HC` without an argument, as in ClickHouse.
const LEVEL_DEFAULT: u8 = 9;
