//! Back ends of chains: the general-purpose codecs that come last.

use super::objective::{Objective, is_text, price};
use crate::CodecError;
use crate::codec::{Codec, Element, Frames, Named};

/// What comes last in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Back {
    None,
    Lz4,
    Zstd(i32),
    /// Level 1, long matches only.
    Sparse,
}

impl Back {
    /// As in `CODEC(…)`; empty for none.
    pub(super) fn text(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Lz4 => "LZ4".to_owned(),
            Self::Zstd(level) => format!("ZSTD({level})"),
            Self::Sparse => "ZSTD(1, 'minmatch=7')".to_owned(),
        }
    }

    fn codec(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Lz4 => "LZ4",
            Self::Zstd(_) | Self::Sparse => "ZSTD",
        }
    }

    /// Nanoseconds of decoding per byte.
    pub(super) fn price(self) -> f64 {
        price(self.codec(), Element::BYTES)
    }

    /// The method byte, if it does anything.
    pub(super) fn method(self) -> Option<u8> {
        match Named::find(self.codec()) {
            Some(Named::Family(family)) if self != Self::None => Some(family.method),
            _ => None,
        }
    }

    /// Those by which samples are compared.
    pub(super) const fn trials(objective: Objective) -> &'static [Self] {
        match objective {
            Objective::Size => &[Self::None, Self::Zstd(3)],
            Objective::Speed | Objective::Balance => &[Self::None, Self::Lz4, Self::Zstd(1)],
        }
    }

    /// Those by which a search ranks chains for all goals at once ...
    pub(super) const RANKED: &[Self] = &[Self::None, Self::Lz4, Self::Zstd(1), Self::Zstd(3)];
    /// ... and those that an exhaustive one tries.
    pub(super) const ALL: &[Self] =
        &[Self::None, Self::Lz4, Self::Zstd(1), Self::Zstd(3), Self::Zstd(9)];

    /// Those that are tried after a front end that won with this one.
    pub(super) fn others(self, objective: Objective, element: Element) -> &'static [Self] {
        match (objective, self) {
            (Objective::Size, _) => &[Self::None, Self::Zstd(1), Self::Sparse],
            (Objective::Balance, Self::Zstd(1)) if is_text(element) => &[Self::Zstd(3)],
            _ => &[],
        }
    }

    /// The plain codec that nothing that was chosen may lose against.
    pub(super) const fn plain(objective: Objective) -> Self {
        match objective {
            Objective::Size => Self::Zstd(3),
            Objective::Speed | Objective::Balance => Self::Lz4,
        }
    }
}

/// The encoders of all back ends, with one context for all levels.
#[derive(Debug)]
pub(super) struct Backs {
    lz4: Box<dyn Codec>,
    frames: Frames,
}

impl Backs {
    pub(super) fn new() -> Result<Self, CodecError> {
        let Some(Named::Family(lz4)) = Named::find("LZ4") else {
            return Err(CodecError::UnsupportedCodec { name: "LZ4".to_owned() });
        };
        Ok(Self { lz4: (lz4.build)(&[], Element::BYTES)?, frames: Frames::default() })
    }

    /// Appends what a back end makes of `source`.
    pub(super) fn encode(
        &mut self,
        back: Back,
        source: &[u8],
        target: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        match back {
            Back::None => {
                target.extend_from_slice(source);
                Ok(())
            }
            Back::Lz4 => self.lz4.encode(source, target),
            Back::Zstd(level) => self.frames.encode(level, false, source, target),
            Back::Sparse => self.frames.encode(1, true, source, target),
        }
    }
}
