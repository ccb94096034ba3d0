//! Chooses for one block after another of a stream.

use super::back::{Back, Backs};
use super::front::{Front, fronts};
use super::objective::{easing, is_text};
use super::sample::{sample, stats};
use super::{Choice, Objective, header};
use crate::CodecError;
use crate::codec::{Chain, Class, Element, Named};

/// Winners are ranked anew after this many blocks ...
const RANKING_PERIOD: u32 = 8;
/// ... or when a block costs this many times as much per byte as those before it.
const WORSE: f64 = 1.05;
/// Share of the bytes that has to go for compression to be worth it, when time counts.
const GAIN_MIN: f64 = 0.03;
/// A block that keeps more than this share of its bytes is compared with the plain codec every time.
const LARGE: f64 = 0.5;
/// The level of texts, and of numbers that zstd makes smaller by a tenth after the front end, when size is all that counts.
const HIGH_LEVEL: i32 = 9;
const HIGH_LEVEL_GAIN: f64 = 0.9;
/// Winners that are kept.
const FAVOURITES: usize = 2;
/// Levels that search longer, and the share of the other one's bytes that they may keep: of values of one or two bytes,
/// where matches by chance are many and the best parse leaves most out ...
const NARROW_LEVEL: (i32, f64) = (13, 0.97);
/// ... and of texts.
const TEXT_LEVEL: (i32, f64) = (12, 0.95);
/// Weight of a block in the running mean.
const MEAN_WEIGHT: f64 = 0.125;

/// The front end of values that are all equal; every element of a machine word has it.
const CONSTANT: &str = "T64('bit')";

/// A candidate: a front end by its number, and a back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) front: usize,
    pub(super) back: Back,
}

/// A payload that was made in full.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    pub(super) plan: Plan,
    /// Bytes of the payload ...
    pub(super) bytes: usize,
    /// ... and of what the back end saw.
    between: usize,
    /// What decoding takes, by the table of prices.
    pub(super) decode_ns: f64,
    pub(super) cost: f64,
}

/// All that encodes candidates, with the memory for it.
#[derive(Debug)]
pub(super) struct Workshop {
    pub(super) objective: Objective,
    pub(super) element: Element,
    pub(super) fronts: Vec<Front>,
    backs: Backs,
    /// What the front end `made_by` made of the block, with its header.
    inner: Vec<u8>,
    made_by: Option<usize>,
    spare: Vec<u8>,
    pub(super) trial: Vec<u8>,
    sample: Vec<u8>,
}

/// Chooses a chain for each block of a stream; see the module.
#[derive(Debug)]
pub struct Chooser {
    shop: Workshop,
    /// The winner and the one after it.
    favourites: Vec<Plan>,
    /// Blocks since the last ranking.
    age: u32,
    /// Running mean of the cost per byte.
    mean: Option<f64>,
    /// The best payload so far.
    best: Vec<u8>,
}

impl Workshop {
    pub(super) fn new(choice: Choice, element: Element) -> Result<Self, CodecError> {
        let bytes = Element::BYTES;
        Ok(Self {
            objective: choice.objective,
            element,
            fronts: fronts(if choice.plain { bytes } else { element }, &choice)?,
            backs: Backs::new()?,
            inner: Vec::new(),
            made_by: None,
            spare: Vec::new(),
            trial: Vec::new(),
            sample: Vec::new(),
        })
    }

    /// The level that searches longest, for elements for which that may pay.
    fn longest(&self) -> Option<(i32, f64)> {
        match self.element {
            element if is_text(element) => Some(TEXT_LEVEL),
            Element { class: Class::Unknown, .. } | Element { width: 1 | 2, .. } => {
                Some(NARROW_LEVEL)
            }
            _ => None,
        }
    }

    /// To be called before another block is encoded.
    pub(super) fn forget(&mut self) {
        self.made_by = None;
    }

    /// Encodes `source` into `trial`: the payload of a block of the method that is returned.
    pub(super) fn make(&mut self, plan: Plan, source: &[u8]) -> Result<(u8, Tried), CodecError> {
        let Self { fronts, backs, inner, made_by, spare, trial, .. } = self;
        let front = &mut fronts[plan.front];
        if !front.is_none() && *made_by != Some(plan.front) {
            *made_by = None;
            front.encode(source, inner, spare)?;
            *made_by = Some(plan.front);
        }
        let between: &[u8] = if front.is_none() { source } else { inner };
        let none = none_method();
        let back = plan.back.method();
        let methods: Vec<u8> = front.methods().chain(back).collect();
        trial.clear();
        let method = match (methods.as_slice(), back) {
            ([], _) => {
                trial.extend_from_slice(source);
                none
            }
            (&[method], None) => {
                trial.extend_from_slice(&between[super::HEADER_BYTES..]);
                method
            }
            (&[method], Some(_)) => {
                backs.encode(plan.back, between, trial)?;
                method
            }
            (methods, _) => {
                trial.push(u8::try_from(methods.len()).unwrap_or(u8::MAX));
                trial.extend_from_slice(methods);
                let start = trial.len();
                match back {
                    None => trial.extend_from_slice(between),
                    Some(method) => {
                        trial.extend([0; super::HEADER_BYTES]);
                        backs.encode(plan.back, between, trial)?;
                        let header = header(method, trial.len() - start, between.len())?;
                        trial[start..start + header.len()].copy_from_slice(&header);
                    }
                }
                Chain::METHOD
            }
        };
        let (bytes, between) = (trial.len(), between.len());
        let decode_ns = self.decode_ns(plan, source.len());
        let cost = self.objective.cost(is_text(self.element), bytes, decode_ns);
        Ok((method, Tried { plan, bytes, between, decode_ns, cost }))
    }

    /// The plan for a block whose values are all equal: minimum and maximum say it all.
    fn constant(&self, source: &[u8]) -> Option<Plan> {
        let width = usize::from(self.element.width);
        // Wider values are words to front ends, and need not be equal as such.
        let is_whole = !source.is_empty() && source.len().is_multiple_of(width) && width <= 8;
        let front = self.fronts.iter().position(|front| front.text == CONSTANT)?;
        let is_constant = is_whole && source[width..] == source[..source.len() - width];
        is_constant.then_some(Plan { front, back: Back::None })
    }

    /// What decoding a block takes, by the table. Must follow its encoding.
    fn decode_ns(&self, plan: Plan, bytes: usize) -> f64 {
        let front = &self.fronts[plan.front];
        if front.is_none() {
            let kept = self.trial.len() as f64 / (bytes as f64).max(1.0);
            let share = if is_text(self.element) { easing(kept) } else { 1.0 };
            return plan.back.price() * bytes as f64 * share;
        }
        let back = if plan.back == Back::None { 0.0 } else { plan.back.price() };
        front.price * bytes as f64 + back * self.inner.len() as f64
    }

    /// What all front ends that may pay make of a sample with each of the back ends, best first; sizes are those of the
    /// sample.
    pub(super) fn rank(&mut self, source: &[u8], backs: &[Back]) -> Result<Vec<Tried>, CodecError> {
        self.forget();
        let stats = stats(source, self.element);
        let mut piece = std::mem::take(&mut self.sample);
        sample(source, self.element, stats.as_ref(), &mut piece);
        let mut found = Vec::new();
        for front in 0..self.fronts.len() {
            let candidate = &self.fronts[front];
            if !candidate.pays(stats.as_ref()) || !candidate.takes(source.len()) {
                continue;
            }
            for &back in backs {
                found.push(self.make(Plan { front, back }, &piece)?.1);
            }
        }
        self.forget();
        self.sample = piece;
        found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        Ok(found)
    }
}

/// The method byte of bytes as they are.
fn none_method() -> u8 {
    match Named::find("NONE") {
        Some(Named::Family(family)) => family.method,
        _ => 0,
    }
}

impl Chooser {
    /// A chooser for a stream of such elements. [`crate::codec::Class::Unknown`] is for indexes of 1, 2 or 4 bytes.
    pub fn new(choice: Choice, element: Element) -> Result<Self, CodecError> {
        let shop = Workshop::new(choice, element)?;
        Ok(Self { shop, favourites: Vec::new(), age: 0, mean: None, best: Vec::new() })
    }

    /// Appends the payload for `source`; its method byte.
    pub(crate) fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<u8, CodecError> {
        self.shop.forget();
        let mut best = None;
        if let Some(plan) = self.shop.constant(source) {
            let (method, _) = self.shop.make(plan, source)?;
            target.extend_from_slice(&self.shop.trial);
            return Ok(method);
        }
        let is_ranked = self.favourites.is_empty() || self.age + 1 >= RANKING_PERIOD;
        if !is_ranked {
            self.age += 1;
            for plan in self.favourites.clone() {
                if self.shop.fronts[plan.front].takes(source.len()) {
                    self.attempt(plan, source, &mut best)?;
                }
            }
        }
        let is_worse = |best: &Option<(u8, Tried)>, mean: Option<f64>| match (best, mean) {
            (Some((_, tried)), Some(mean)) => tried.cost > mean * WORSE * source.len() as f64,
            _ => true,
        };
        if is_ranked || is_worse(&best, self.mean) {
            self.age = 0;
            self.choose(source, &mut best)?;
        }
        self.compare_with_plain(source, self.age == 0, &mut best)?;
        let Some((method, tried)) = best else {
            target.extend_from_slice(source);
            return Ok(none_method());
        };
        let cost = tried.cost / (source.len() as f64).max(1.0);
        self.mean = Some(self.mean.map_or(cost, |mean| mean + MEAN_WEIGHT * (cost - mean)));
        target.extend_from_slice(&self.best);
        Ok(method)
    }

    /// Encodes with a plan, and keeps it if it is the best.
    fn attempt(
        &mut self,
        plan: Plan,
        source: &[u8],
        best: &mut Option<(u8, Tried)>,
    ) -> Result<Tried, CodecError> {
        let (method, tried) = self.shop.make(plan, source)?;
        if best.is_none_or(|(_, known)| tried.cost < known.cost) {
            *best = Some((method, tried));
            std::mem::swap(&mut self.best, &mut self.shop.trial);
        }
        Ok(tried)
    }

    /// Ranks all candidates on a sample and encodes the best in full.
    fn choose(&mut self, source: &[u8], best: &mut Option<(u8, Tried)>) -> Result<(), CodecError> {
        let objective = self.shop.objective;
        let ranked = self.shop.rank(source, Back::trials(objective))?;
        let mut plans: Vec<Plan> = Vec::new();
        for plan in ranked.iter().map(|tried| tried.plan) {
            if plans.len() < objective.trials() && plans.iter().all(|it| it.front != plan.front) {
                plans.push(plan);
            }
        }
        // Without another front end, another back end.
        if let (&[_], Some(second)) = (&plans[..], ranked.get(1)) {
            plans.push(second.plan);
        }
        // What repeats far apart is not in a sample.
        if objective == Objective::Size && plans.iter().any(|plan| plan.front != 0) {
            plans.push(Plan { front: 0, back: Back::Zstd(HIGH_LEVEL) });
        }
        let mut tried: Vec<Tried> = Vec::new();
        for plan in plans {
            tried.push(self.attempt(plan, source, best)?);
        }
        tried.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let Some(winner) = tried.first().copied() else { return Ok(()) };
        self.favourites = tried.iter().take(FAVOURITES).map(|tried| tried.plan).collect();
        let mut backs = winner.plan.back.others(objective, self.shop.element).to_vec();
        let longest = self.shop.longest();
        if self.takes_time(winner) {
            backs.push(Back::Zstd(HIGH_LEVEL));
            backs.extend(longest.map(|(level, _)| Back::Zstd(level)));
        }
        let front = winner.plan.front;
        for back in backs.into_iter().filter(|back| *back != winner.plan.back) {
            let next = self.attempt(Plan { front, back }, source, best)?;
            // This block has it already; those that follow take as long only if it is worth it.
            let share = longest.filter(|(level, _)| back == Back::Zstd(*level));
            if next.cost < tried[0].cost * share.map_or(1.0, |(_, share)| share) {
                tried[0] = next;
                self.favourites[0] = next.plan;
            }
        }
        // The other one has to be better by its front end.
        if let [first, second] = &mut self.favourites[..]
            && second.back != Back::None
            && first.back != Back::None
        {
            second.back = first.back;
        }
        if self.favourites.get(1) == self.favourites.first() {
            self.favourites.truncate(1);
        }
        Ok(())
    }

    /// Whether a high level is worth a trial.
    fn takes_time(&self, winner: Tried) -> bool {
        let has_gained = (winner.bytes as f64) < HIGH_LEVEL_GAIN * winner.between as f64;
        self.shop.objective == Objective::Size && winner.plan.back != Back::None && has_gained
    }

    /// What was chosen by a sample is never larger than by the plain codec; and what hardly becomes smaller stays as it is
    /// when time counts.
    fn compare_with_plain(
        &mut self,
        source: &[u8],
        is_new: bool,
        best: &mut Option<(u8, Tried)>,
    ) -> Result<(), CodecError> {
        let objective = self.shop.objective;
        let share = |best: &Option<(u8, Tried)>| {
            best.map_or(1.0, |(_, tried)| tried.bytes as f64 / source.len().max(1) as f64)
        };
        let plan = Plan { front: 0, back: Back::plain(objective) };
        let has_front = best.is_some_and(|(_, tried)| tried.plan.front != 0);
        if has_front && (is_new || share(best) > LARGE) {
            self.attempt(plan, source, best)?;
        }
        let as_it_is = Plan { front: 0, back: Back::None };
        let gain = if objective.declines() { GAIN_MIN } else { 0.0 };
        if share(best) > 1.0 - gain {
            *best = None;
            self.attempt(as_it_is, source, best)?;
        }
        Ok(())
    }
}
