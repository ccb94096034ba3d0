//! The compression around a text file, by its first bytes.

/// The compression around a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Zstd,
    Gzip,
}

impl Compression {
    /// Whether compressed bytes may begin so, and more of them would tell.
    pub(crate) fn may_begin(head: &[u8]) -> bool {
        let more = |magic: &[u8]| magic.len() > head.len() && magic.starts_with(head);
        more(&[0x28, 0xb5, 0x2f, 0xfd]) || more(&[0x1f, 0x8b])
    }

    pub(crate) fn sniff(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            return Some(Self::Zstd);
        }
        head.starts_with(&[0x1f, 0x8b]).then_some(Self::Gzip)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }
}
