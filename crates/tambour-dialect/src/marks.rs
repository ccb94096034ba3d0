//! Names that nobody types, by which a rewritten statement tells those who plan and run it what SQL has no words for. Each
//! has a control character in it.

/// The database of tables that are read as if all parts were merged.
pub const MERGED: &str = "\u{1f}final";

/// The database of tables with the columns that say where a row lies.
pub const PLACES: &str = "\u{1f}places";

/// The name of the subquery whose rows are a set of tuples.
pub const SET: &str = "\u{1f}set";

/// The name of the values of a set of single values.
pub const MEMBER: &str = "\u{1f}member";

/// Stands between a name and its number.
const BEFORE_NUMBER: char = '\u{1f}';

/// Which of the matching rows a join takes, if not all: a mark in its condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// Any one.
    Any,
    /// The nearest in an order.
    Asof,
    /// The row with the same number.
    Paste,
}

impl Strictness {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Any, Self::Asof, Self::Paste];

    /// The name of the mark.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Any => "\u{1f}any join",
            Self::Asof => "\u{1f}asof join",
            Self::Paste => "\u{1f}paste join",
        }
    }
    /// What has a name.
    pub fn of_mark(mark: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strictness| strictness.mark() == mark)
    }
    /// The word in front of JOIN.
    pub fn words(self) -> &'static str {
        match self {
            Self::Any => "ANY",
            Self::Asof => "ASOF",
            Self::Paste => "PASTE",
        }
    }
}

/// What an aggregate gives for no rows, by -OrNull and -OrDefault: a call around its first argument. Further arguments of the
/// call say only whether they may be NULL: for ClickHouse the aggregate may be NULL if any of its arguments may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Otherwise {
    /// NULL.
    Null,
    /// The default of the result's type.
    Default,
    /// What it is without a word about NULL, whatever the settings say: an item of an array that is never NULL.
    Own,
    /// As the settings have it: the mark is there for its further arguments.
    Usual,
}

impl Otherwise {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Null, Self::Default, Self::Own, Self::Usual];

    /// The name of the mark.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Null => "\u{1f}or null",
            Self::Default => "\u{1f}or default",
            Self::Own => "\u{1f}or its own",
            Self::Usual => "\u{1f}or as usual",
        }
    }
    /// What has a name.
    pub fn of_mark(mark: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.mark() == mark)
    }
}

/// The name of the function around a column of a FULL JOIN that is NULL in rows that its side does not have, whatever
/// `join_use_nulls` says.
pub const JOINED: &str = "\u{1f}joined";

/// The name of the function around a key of LIMIT BY, which has two zeros where PARTITION BY has one.
pub const APART: &str = "\u{1f}apart";

/// The name of the function that gives the first of its arrays, if all of them have the same length.
pub const ALIGNED: &str = "\u{1f}aligned";

/// The name of a result that has the name of another, for the time of planning.
pub fn numbered(name: &str, number: usize) -> String {
    format!("{name}{BEFORE_NUMBER}{number}")
}

/// The name as it was written, if it has a number.
pub fn written(name: &str) -> Option<&str> {
    let (written, number) = name.rsplit_once(BEFORE_NUMBER)?;
    number.parse::<usize>().is_ok().then_some(written)
}

/// The name of the function that knows whether logic is a Bool or a number: `(a AND b, a, b)`, and of the operands those that are not
/// known to be numbers.
pub const LOGIC: &str = "\u{1f}logic";
