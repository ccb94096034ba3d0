//! A regular expression that tells where its groups are.
//!
//! The `regex` crate finds groups by backtracking, some 10 ns a byte, unless what to do next is clear from the next byte: then a
//! one-pass automaton does at a tenth of that. `^(?:www\.)?([^/]+)` is not of that kind, but it is `^www\.([^/]+)` or else
//! `^([^/]+)`, and both are. So an expression that begins at the beginning of the text is tried with and without what is optional.
//! That is right only if nothing else in it prefers less to more: an automaton in one pass cannot give back what it took.
//!
//! A `.*` at the end matches whatever is left, so no automaton walks over that: to know where it ends is to know what is UTF-8.

use regex::bytes::{CaptureLocations, Regex, RegexBuilder};
use regex_automata::dfa::onepass::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Anchored, Input};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Dot, Hir, HirKind, Look};
use std::ops::Range;
use tambour_function::FunctionError;
use tambour_function::kit::wrong;

/// Most bytes of a compiled expression.
const SIZE_MAX: usize = 4 << 20;
/// Most bytes of one that goes in one pass; where it has more, the crate finds its groups.
const ONE_PASS_SIZE_MAX: usize = 1 << 20;
/// Deepest nesting.
const NEST_MAX: u32 = 100;
/// Optional parts above which an expression is left to the crate.
const OPTIONAL_MAX: usize = 3;
/// Searches after which automata are worth their making.
const SEARCHES_MIN: usize = 64;

/// An expression, and where its groups were in the last text.
pub(crate) struct Expression {
    regex: Regex,
    locations: CaptureLocations,
    /// The expression in one pass, if it can be, after some searches; the first that matches counts.
    one_pass: Vec<(DFA, Cache)>,
    /// What comes after all that the automata know.
    tail: Tail,
    searches: usize,
    slots: Vec<Option<NonMaxUsize>>,
    is_in_slots: bool,
    /// All texts are known to be UTF-8.
    are_letters: bool,
}

impl Expression {
    /// Compiles a pattern; `name` is the function whose argument it is.
    pub(crate) fn new(name: &str, pattern: &[u8]) -> Result<Self, FunctionError> {
        let regex = compiled(name, pattern)?;
        Ok(Self {
            locations: regex.capture_locations(),
            one_pass: Vec::new(),
            tail: Tail::None,
            searches: 0,
            slots: vec![None; regex.captures_len() * 2],
            is_in_slots: false,
            are_letters: false,
            regex,
        })
    }

    /// Takes it that all texts from now on are UTF-8, which are not looked at for that again.
    pub(crate) fn of_letters(&mut self, are_letters: bool) {
        self.are_letters = are_letters;
    }

    fn prepare(&mut self) {
        let (automata, tail) = one_pass(self.regex.as_str()).unwrap_or_default();
        self.tail = tail;
        let automata = automata.into_iter().map(|dfa| (dfa.create_cache(), dfa));
        self.one_pass = automata.map(|(cache, dfa)| (dfa, cache)).collect();
    }

    /// The crate's, for all matches one after another.
    pub(crate) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// The groups, the whole match among them.
    pub(crate) fn groups(&self) -> usize {
        self.regex.captures_len()
    }

    /// True if some of the text from a place on matches: then [`Self::group`] tells where.
    pub(crate) fn find(&mut self, text: &[u8], from: usize) -> bool {
        self.searches += 1;
        if self.searches == SEARCHES_MIN {
            self.prepare();
        }
        self.is_in_slots = !self.one_pass.is_empty();
        if !self.is_in_slots {
            return self.regex.captures_read_at(&mut self.locations, text, from).is_some();
        }
        // One that begins with the text has no match after it.
        if from > 0 {
            return false;
        }
        let input = Input::new(text).anchored(Anchored::Yes);
        let slots = &mut self.slots;
        let is_match = self.one_pass.iter_mut().any(|(dfa, cache)| {
            slots.fill(None);
            matches!(dfa.try_search_slots(cache, &input, slots), Ok(Some(_)))
        });
        if !is_match || self.tail == Tail::None {
            return is_match;
        }
        let start = self.slots.get(1).copied().flatten().map_or(0, NonMaxUsize::get);
        let rest = text.get(start..).unwrap_or_default();
        // What matched may have ended within a letter.
        let is_known = self.are_letters && rest.first().is_none_or(|byte| byte & 0xC0 != 0x80);
        let unknown = if is_known { &[] } else { rest };
        let end = match simdutf8::compat::from_utf8(unknown) {
            Ok(_) => text.len(),
            Err(cause) if self.tail == Tail::Letters => start + cause.valid_up_to(),
            // Another way through the expression may get over what is not UTF-8.
            Err(_) => {
                self.is_in_slots = false;
                return self.regex.captures_read_at(&mut self.locations, text, 0).is_some();
            }
        };
        if let Some(slot) = self.slots.get_mut(1) {
            *slot = NonMaxUsize::new(end);
        }
        true
    }

    /// Where a group was in the text that [`Self::find`] was given last; 0 is the whole match.
    pub(crate) fn group(&self, index: usize) -> Option<Range<usize>> {
        if !self.is_in_slots {
            return self.locations.get(index).map(|(start, end)| start..end);
        }
        let at = |slot: usize| self.slots.get(slot).copied().flatten().map(NonMaxUsize::get);
        Some(at(index * 2)?..at(index * 2 + 1)?)
    }

    /// What a group was in the text that [`Self::find`] was given last; empty if it was nowhere.
    pub(crate) fn text<'a>(&self, text: &'a [u8], index: usize) -> &'a [u8] {
        self.group(index).and_then(|range| text.get(range)).unwrap_or_default()
    }
}

/// The end of an expression that matches any letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tail {
    #[default]
    None,
    /// `.*`
    Letters,
    /// `.*$`
    LettersToEnd,
}

/// Compiles a pattern as RE2 reads it.
pub(crate) fn compiled(name: &str, pattern: &[u8]) -> Result<Regex, FunctionError> {
    let refuse = |problem: String| wrong(name, format!("the regular expression: {problem}"));
    let text = std::str::from_utf8(pattern).map_err(|_| refuse("it is not UTF-8".to_owned()))?;
    RegexBuilder::new(&translated(text))
        .dot_matches_new_line(true)
        .size_limit(SIZE_MAX)
        .nest_limit(NEST_MAX)
        .build()
        .map_err(|cause| {
            let shown = cause.to_string();
            let last = shown.lines().last().unwrap_or_default();
            refuse(format!("{text:?}: {}", last.trim_start_matches("error: ")))
        })
}

/// Automata of which the first that matches gives what the expression gives up to its tail. None if they cannot be made.
fn one_pass(translated: &str) -> Option<(Vec<DFA>, Tail)> {
    let mut parser = ParserBuilder::new();
    parser.dot_matches_new_line(true).utf8(false).nest_limit(NEST_MAX);
    let whole = parser.build().parse(translated).ok()?;
    if !whole.properties().look_set_prefix().contains(Look::Start) {
        return None;
    }
    let (before, tail) = without_tail(&whole);
    Some((automata(&before)?, tail))
}

/// An expression without what matches any letters at its end. Whichever way leads there first is the way through the whole,
/// since such a tail matches anywhere.
fn without_tail(whole: &Hir) -> (Hir, Tail) {
    let is_any = |part: &Hir| match part.kind() {
        HirKind::Repetition(repeated) => {
            let is_all = (repeated.min, repeated.max, repeated.greedy) == (0, None, true);
            is_all && *repeated.sub == Hir::dot(Dot::AnyChar)
        }
        _ => false,
    };
    let HirKind::Concat(parts) = whole.kind() else { return (whole.clone(), Tail::None) };
    match &parts[..] {
        [before @ .., last, end] if is_any(last) && *end.kind() == HirKind::Look(Look::End) => {
            (Hir::concat(before.to_vec()), Tail::LettersToEnd)
        }
        [before @ .., last] if is_any(last) => (Hir::concat(before.to_vec()), Tail::Letters),
        _ => (whole.clone(), Tail::None),
    }
}

fn automata(whole: &Hir) -> Option<Vec<DFA>> {
    if let Some(dfa) = automaton(whole) {
        return Some(vec![dfa]);
    }
    let HirKind::Concat(parts) = whole.kind() else { return None };
    let optional: Vec<usize> =
        (0..parts.len()).filter(|at| alternatives(&parts[*at]).is_some()).collect();
    if optional.len() > OPTIONAL_MAX || !parts.iter().all(takes_most) {
        return None;
    }
    let alone = optional.iter().map(|at| vec![*at]);
    let all = (optional.len() > 1).then(|| optional.clone());
    alone.chain(all).find_map(|chosen| {
        let mut expanded = vec![Vec::new()];
        for (at, part) in parts.iter().enumerate() {
            let ways = alternatives(part).filter(|_| chosen.contains(&at));
            let ways = ways.unwrap_or_else(|| vec![part.clone()]);
            let longer = |before: Vec<Hir>| {
                ways.iter().map(move |way| [&before[..], std::slice::from_ref(way)].concat())
            };
            expanded = expanded.into_iter().flat_map(longer).collect();
        }
        expanded.into_iter().map(|parts| automaton(&Hir::concat(parts))).collect()
    })
}

/// An optional part as what it may be, in the order in which that is tried: more first.
fn alternatives(part: &Hir) -> Option<Vec<Hir>> {
    let HirKind::Repetition(repeated) = part.kind() else { return None };
    let is_optional = (repeated.min, repeated.max) == (0, Some(1)) && repeated.greedy;
    is_optional.then(|| vec![(*repeated.sub).clone(), Hir::empty()])
}

/// True if an expression takes as much as it can and looks at nothing else than the ends of the text.
fn takes_most(expression: &Hir) -> bool {
    match expression.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => true,
        HirKind::Look(look) => matches!(look, Look::Start | Look::End),
        HirKind::Repetition(repeated) => repeated.greedy && takes_most(&repeated.sub),
        HirKind::Capture(group) => takes_most(&group.sub),
        HirKind::Concat(parts) => parts.iter().all(takes_most),
        HirKind::Alternation(branches) => branches
            .iter()
            .all(|it| takes_most(it) && it.properties().minimum_len().is_some_and(|it| it > 0)),
    }
}

fn automaton(expression: &Hir) -> Option<DFA> {
    let config = thompson::Config::new().utf8(false).nfa_size_limit(Some(ONE_PASS_SIZE_MAX));
    let nfa = thompson::Compiler::new().configure(config).build_from_hir(expression).ok()?;
    let config = DFA::config().size_limit(Some(ONE_PASS_SIZE_MAX));
    DFA::builder().configure(config).build_from_nfa(nfa).ok()
}

/// The expression with the words of RE2 in the syntax of the crate: `\d`, `\w`, `\s` and `\b` are ASCII there, and a `[`, `&&`,
/// `--` or `~~` in a class are letters.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut letters = pattern.chars().peekable();
    let (mut in_class, mut is_first) = (false, false);
    while let Some(letter) = letters.next() {
        let was_first = std::mem::replace(&mut is_first, false);
        match letter {
            '\\' => match letters.next() {
                Some('Q') if !in_class => quote(&mut letters, &mut out),
                Some('C') if !in_class => out.push_str("(?-u:.)"),
                Some(class) => push_escape(class, in_class, &mut out),
                None => out.push('\\'),
            },
            '[' if in_class && letters.peek() == Some(&':') => out.push('['),
            ':' if in_class && out.ends_with('[') && !out.ends_with("\\[") => {
                // A named class: to its end.
                out.push(':');
                for inner in letters.by_ref() {
                    out.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                is_first = true;
                out.push('[');
                if letters.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            ']' if in_class && was_first => out.push_str("\\]"),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(letter);
            }
            '-' if in_class && letters.peek() == Some(&'-') => out.push_str("\\-"),
            other => out.push(other),
        }
    }
    out
}

fn quote(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let mut quoted = String::new();
    while let Some(letter) = letters.next() {
        if letter == '\\' && letters.next_if_eq(&'E').is_some() {
            break;
        }
        quoted.push(letter);
    }
    out.push_str(&regex::escape(&quoted));
}

fn push_escape(class: char, in_class: bool, out: &mut String) {
    match (class, in_class) {
        ('d', false) => out.push_str("[0-9]"),
        ('d', true) => out.push_str("0-9"),
        ('D', _) => out.push_str("[^0-9]"),
        ('w', false) => out.push_str("[0-9A-Za-z_]"),
        ('w', true) => out.push_str("0-9A-Za-z_"),
        ('W', _) => out.push_str("[^0-9A-Za-z_]"),
        ('s', false) => out.push_str("[\\t\\n\\x0c\\r ]"),
        ('s', true) => out.push_str("\\t\\n\\x0c\\r "),
        ('S', _) => out.push_str("[^\\t\\n\\x0c\\r ]"),
        ('b', false) => out.push_str("(?-u:\\b)"),
        ('B', false) => out.push_str("(?-u:\\B)"),
        // RE2 takes the meaning of any sign away; the crate refuses that of those without one.
        (sign, _) if sign.is_ascii_punctuation() => {
            out.push_str(&format!("\\x{:02x}", u32::from(sign)));
        }
        (other, _) => {
            out.push('\\');
            out.push(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Expression, compiled, translated};

    #[test]
    fn classes_are_ascii() {
        assert_eq!(translated(r"\d+\w"), "[0-9]+[0-9A-Za-z_]");
        assert_eq!(translated(r"[\d[]"), r"[0-9\[]");
        assert_eq!(translated(r"[]a]"), r"[\]a]");
        assert_eq!(translated(r"[[:alpha:]x]"), "[[:alpha:]x]");
        assert_eq!(translated(r"\Qa.b\E."), r"a\.b.");
        assert_eq!(translated(r"[a&&b]"), r"[a\&\&b]");
    }

    /// Expressions, and how many automata each is.
    const EXPRESSIONS: &[(&str, usize)] = &[
        (r"^https?://(?:www\.)?([^/]+)/.*$", 2),
        (r"^(?:(h)ttps?://)?(w.\.)?([^/]*)(/.*)?$", 8),
        (r"^a??(a?b)", 0),
        (r"^(a)?(a)?(a)?b", 8),
        (r"^(\w+)=(\w*)", 1),
        (r"^(a|ab)(c|bcd)?", 0),
        (r"^x*?(.)?$", 0),
        (r"(?m)^(a?)b", 0),
        (r"(a?)b$", 0),
        (r"^(?i)(K)?k", 2),
        (r"^(a*?)(b)?(b*)", 0),
        (r"^(k)??(b)?(b*)", 0),
        (r"^(a*)(\b)?", 0),
        (r"^(|x)?(?:[^x])?(a*)?", 0),
        (r"^(bcd)?(?:[^x])(?:a|bx)*(?:\b)?", 0),
        (r"^(?:a|b)?(ab|x)?[a-x]*", 4),
        (r"^(k=)?.*", 1),
        (r"^(\w+)(/.*)?.*$", 1),
        (r"^(?:x|\C)(a).*$", 1),
        (r"^(.*?)b.*$", 0),
        (r"^(?-s)(a).*$", 1),
    ];

    #[test]
    fn groups_are_where_the_crate_finds_them() {
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let pieces: &[&[u8]] = &[
            b"http",
            b"s",
            b"://",
            b"www.",
            b"w-.",
            b"/",
            b"a",
            b"a",
            b"b",
            b"bcd",
            b"x",
            b"k=",
            b"k",
            b"\n",
            "\u{212a}".as_bytes(),
            "\u{e9}".as_bytes(),
            b"\xff",
        ];
        for (pattern, automata) in EXPRESSIONS {
            let mut expression = Expression::new("match", pattern.as_bytes()).unwrap();
            expression.prepare();
            assert_eq!(expression.one_pass.len(), *automata, "{pattern}");
            let regex = compiled("match", pattern.as_bytes()).unwrap();
            for _ in 0..5_000 {
                let text: Vec<u8> =
                    (0..random(9)).flat_map(|_| pieces[random(pieces.len())]).copied().collect();
                let from = random(text.len() + 1) * random(2);
                let expected = regex.captures_at(&text, from);
                expression.of_letters(random(2) == 0 && std::str::from_utf8(&text).is_ok());
                assert_eq!(expression.find(&text, from), expected.is_some(), "{pattern} {text:?}");
                let Some(expected) = expected else { continue };
                for group in 0..regex.captures_len() {
                    let expected = expected.get(group).map(|it| it.range());
                    assert_eq!(expression.group(group), expected, "{pattern} {text:?} {group}");
                }
            }
        }
    }
}
