//! Where records and fields end.

use super::block::{Escape, Span};

/// How records are told apart.
#[derive(Clone, Debug)]
pub(crate) enum Splitter {
    /// CSV and TSV.
    Delimited(Delimited),
    /// JSON lines: a record of one field per line.
    Lines,
}

/// What was found at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A record, its fields pushed; the next one starts there.
    Record(usize),
    /// An empty line; the next record starts there.
    Blank(usize),
    /// More bytes are needed to see the end of the record.
    Incomplete,
    /// A quoted field is not closed where the text ends.
    Unclosed,
    /// Something other than a delimiter follows a closing quote.
    AfterQuote,
}

/// The bytes that structure CSV or TSV.
#[derive(Clone, Debug)]
pub(crate) struct Delimited {
    delimiter: u8,
    escape: Escape,
    /// Bytes that end a field without quotes, or need a look.
    stops: Box<[bool; 256]>,
}

impl Splitter {
    pub(crate) fn delimited(delimiter: u8, escape: Escape) -> Self {
        let mut stops = Box::new([false; 256]);
        stops[usize::from(delimiter)] = true;
        stops[usize::from(b'\n')] = true;
        match escape {
            Escape::Quotes => stops[usize::from(b'\r')] = true,
            Escape::Backslash => stops[usize::from(b'\\')] = true,
        }
        Self::Delimited(Delimited { delimiter, escape, stops })
    }

    pub(crate) fn escape(&self) -> Escape {
        match self {
            Self::Delimited(delimited) => delimited.escape,
            Self::Lines => Escape::Quotes,
        }
    }

    /// Splits the record that starts at `at`, which is inside the text; `last` says that no more text follows. What was
    /// pushed for an incomplete record is to be taken back by the caller.
    pub(crate) fn record(&self, text: &[u8], at: usize, last: bool, spans: &mut Vec<Span>) -> Step {
        match self {
            Self::Lines => line(text, at, last, spans),
            Self::Delimited(delimited) => match delimited.escape {
                Escape::Quotes => delimited.csv(text, at, last, spans),
                Escape::Backslash => delimited.tsv(text, at, last, spans),
            },
        }
    }
}

fn line(text: &[u8], at: usize, last: bool, spans: &mut Vec<Span>) -> Step {
    let (end, next) = match memchr::memchr(b'\n', &text[at..]) {
        Some(length) => (at + length, at + length + 1),
        None if last => (text.len(), text.len()),
        None => return Step::Incomplete,
    };
    let trimmed = text[at..end].trim_ascii_end().len();
    if text[at..at + trimmed].trim_ascii_start().is_empty() {
        return Step::Blank(next);
    }
    spans.push(Span::new(at, at + trimmed, false, false));
    Step::Record(next)
}

impl Delimited {
    /// The position of the first stop from `at` on.
    #[inline]
    fn stop(&self, text: &[u8], at: usize) -> Option<usize> {
        let found = text[at..].iter().position(|&byte| self.stops[usize::from(byte)]);
        found.map(|length| at + length)
    }

    fn csv(&self, text: &[u8], mut at: usize, last: bool, spans: &mut Vec<Span>) -> Step {
        if let Some(next) = blank_line(text, at) {
            return Step::Blank(next);
        }
        loop {
            let quoted = text.get(at) == Some(&b'"');
            let start = at + usize::from(quoted);
            let mut doubled = false;
            let end = if quoted {
                match closing_quote(text, start, last, &mut doubled) {
                    Ok(close) => close,
                    Err(step) => return step,
                }
            } else {
                self.stop(text, at).unwrap_or(text.len())
            };
            at = end + usize::from(quoted);
            // Spaces between a closing quote and the delimiter belong to nobody.
            while quoted && text.get(at) == Some(&b' ') {
                at += 1;
            }
            match text.get(at) {
                Some(&byte) if byte == self.delimiter => {
                    spans.push(Span::new(start, end, quoted, doubled));
                    at += 1;
                }
                Some(b'\n') => {
                    spans.push(Span::new(start, end, quoted, doubled));
                    return Step::Record(at + 1);
                }
                Some(b'\r') => {
                    spans.push(Span::new(start, end, quoted, doubled));
                    return match text.get(at + 1) {
                        Some(b'\n') => Step::Record(at + 2),
                        None if !last => Step::Incomplete,
                        _ => Step::Record(at + 1),
                    };
                }
                Some(_) => return Step::AfterQuote,
                None if last => {
                    spans.push(Span::new(start, end, quoted, doubled));
                    return Step::Record(at);
                }
                None => return Step::Incomplete,
            }
        }
    }

    fn tsv(&self, text: &[u8], mut at: usize, last: bool, spans: &mut Vec<Span>) -> Step {
        if let Some(next) = blank_line(text, at) {
            return Step::Blank(next);
        }
        let mut start = at;
        let mut escaped = false;
        loop {
            match self.stop(text, at) {
                Some(stop) if text[stop] == self.delimiter => {
                    spans.push(Span::new(start, stop, false, escaped));
                    (start, escaped) = (stop + 1, false);
                    at = start;
                }
                Some(stop) if text[stop] == b'\n' => {
                    let end = stop - usize::from(stop > start && text[stop - 1] == b'\r');
                    spans.push(Span::new(start, end, false, escaped));
                    return Step::Record(stop + 1);
                }
                // A backslash: the byte after it is part of the field, whatever it is.
                Some(stop) if stop + 1 < text.len() => {
                    escaped = true;
                    at = stop + 2;
                }
                Some(_) if last => {
                    spans.push(Span::new(start, text.len(), false, true));
                    return Step::Record(text.len());
                }
                None if last => {
                    spans.push(Span::new(start, text.len(), false, escaped));
                    return Step::Record(text.len());
                }
                _ => return Step::Incomplete,
            }
        }
    }
}

/// The next record's start, if the line at `at` is empty.
#[inline]
fn blank_line(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at) {
        Some(b'\n') => Some(at + 1),
        Some(b'\r') => match text.get(at + 1)? {
            b'\n' => Some(at + 2),
            _ => Some(at + 1),
        },
        _ => None,
    }
}

/// The position of the quote that closes a field which starts at `at`.
#[inline]
fn closing_quote(
    text: &[u8],
    mut at: usize,
    last: bool,
    doubled: &mut bool,
) -> Result<usize, Step> {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let Some(length) = memchr::memchr(b'"', rest) else {
            return Err(if last { Step::Unclosed } else { Step::Incomplete });
        };
        let close = at + length;
        match text.get(close + 1) {
            Some(b'"') => {
                *doubled = true;
                at = close + 2;
            }
            None if !last => return Err(Step::Incomplete),
            _ => return Ok(close),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(splitter: &Splitter, text: &str) -> Result<Vec<Vec<String>>, Step> {
        let bytes = text.as_bytes();
        let (mut at, mut rows) = (0, Vec::new());
        while at < bytes.len() {
            let mut spans = Vec::new();
            match splitter.record(bytes, at, true, &mut spans) {
                Step::Record(next) => {
                    rows.push(spans.iter().map(|span| text[span.range()].to_owned()).collect());
                    at = next;
                }
                Step::Blank(next) => at = next,
                other => return Err(other),
            }
        }
        Ok(rows)
    }

    fn csv(text: &str) -> Result<Vec<Vec<String>>, Step> {
        split(&Splitter::delimited(b',', Escape::Quotes), text)
    }

    #[test]
    fn rfc_4180() {
        assert_eq!(csv("a,b\r\nc,d").unwrap(), [["a", "b"], ["c", "d"]]);
        assert_eq!(csv("a,\n,b\n").unwrap(), [["a", ""], ["", "b"]]);
        assert_eq!(csv("\"a,\nb\",c\n").unwrap(), [["a,\nb", "c"]]);
        assert_eq!(csv("\"a\"\"b\",\"\"\n").unwrap(), [["a\"\"b", ""]]);
        assert_eq!(csv("a\"b,c\n").unwrap(), [["a\"b", "c"]]);
        assert_eq!(csv("a,b\rc,d\r").unwrap(), [["a", "b"], ["c", "d"]]);
        assert_eq!(csv("a\n\n\r\nb\n").unwrap(), [["a"], ["b"]]);
        assert_eq!(csv("\"a\" ,b\n").unwrap(), [["a", "b"]]);
        assert_eq!(csv("a,").unwrap(), [["a", ""]]);
        assert_eq!(csv("\"a\"b,c\n"), Err(Step::AfterQuote));
        assert_eq!(csv("x\n\"a,b\n"), Err(Step::Unclosed));
    }

    #[test]
    fn tabs() {
        let tsv = Splitter::delimited(b'\t', Escape::Backslash);
        assert_eq!(split(&tsv, "a\\\tb\tc\r\n\\N\t\n").unwrap(), [["a\\\tb", "c"], ["\\N", ""]]);
        assert_eq!(split(&tsv, "a\tb\\").unwrap(), [["a", "b\\"]]);
        assert_eq!(split(&Splitter::Lines, "{}\n \r\n[]").unwrap(), [["{}"], ["[]"]]);
    }

    /// However a text is cut in two, its first record is the same once all of it is there.
    #[test]
    fn incomplete_records_are_noticed() {
        let whole = "\"a\"\"\r\n\",b\r\nc";
        let splitter = Splitter::delimited(b',', Escape::Quotes);
        for cut in 0..whole.len() {
            let step = splitter.record(&whole.as_bytes()[..cut], 0, false, &mut Vec::new());
            let expected = if cut < 11 { Step::Incomplete } else { Step::Record(11) };
            assert_eq!(step, expected, "cut at {cut}");
        }
    }
}
