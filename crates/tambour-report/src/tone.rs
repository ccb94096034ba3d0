//! What a mark on a chart stands for, and the class of the style sheet that shows it.

/// What colour and shape stand for. The same tone means the same thing on all charts of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// What others are compared with.
    Reference,
    /// What the page is about.
    First,
    /// The second series.
    Second,
    /// The third series.
    Third,
    /// All that is only there for context.
    Quiet,
}

impl Tone {
    /// Class of the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Reference => "t0",
            Self::First => "t1",
            Self::Second => "t2",
            Self::Third => "t3",
            Self::Quiet => "t4",
        }
    }
}
