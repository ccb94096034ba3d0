//! Compressed blocks and the codecs inside them: block ⇄ bytes.
//!
//! This layer checks, allocates and explains; the loops are in `tambour-kernel`. It knows no column and no Arrow.
#![forbid(unsafe_code)]

pub mod block;
pub mod codec;
mod error;
pub mod spec;

pub use error::{CodecError, Kind};
