//! `CollapsingMergeTree` and `VersionedCollapsingMergeTree`: rows with the signs 1 and -1 cancel each other.

use super::places::{Place, Staying};
use crate::TableError;
use crate::key::{Keys, OwnedKey};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use std::collections::VecDeque;

/// Rows of one key that wait for their opposites, at most; the oldest stays when there is one more. ClickHouse's number.
const WAITING_MAX: usize = 8191;

/// The signs of rows, checked.
fn signs(batch: &RecordBatch, column: usize) -> Result<&[i8], TableError> {
    let signs = batch.column(column).as_primitive::<Int8Type>().values();
    match signs.iter().find(|it| !matches!(it, 1 | -1)) {
        None => Ok(signs),
        Some(other) => Err(TableError::Rows {
            field: "the column of the sign",
            expected: "1 or -1".to_owned(),
            got: other.to_string(),
        }),
    }
}

/// The state of `CollapsingMergeTree` between batches.
#[derive(Debug)]
pub(super) struct Collapsing {
    /// The place of the sign.
    sign: usize,
    /// True if rows that take back what is not there are left out, as FINAL does it.
    only_positive: bool,
    open: Option<(OwnedKey, Balance)>,
}

/// What is known of the rows of one key.
#[derive(Debug, Default)]
struct Balance {
    /// That of the first row.
    origin: u32,
    positive: u64,
    negative: u64,
    first_negative: Option<Place>,
    last_positive: Option<Place>,
    ends_positive: bool,
}

impl Collapsing {
    pub(super) fn new(sign: usize, only_positive: bool) -> Self {
        Self { sign, only_positive, open: None }
    }

    /// Rows with the same key and the same origin, other than 0, do not meet.
    pub(super) fn push(
        &mut self,
        batch: &RecordBatch,
        keys: &Keys,
        origins: &[u32],
    ) -> Result<Vec<RecordBatch>, TableError> {
        let signs = signs(batch, self.sign)?;
        let mut staying = Staying::of(batch);
        let mut open = self.open.take();
        let mut balance = Balance::default();
        for (row, sign) in signs.iter().enumerate() {
            let origin = origins.get(row).copied().unwrap_or(0);
            let is_equal = match open.take() {
                Some((key, earlier)) => {
                    balance = earlier;
                    keys.compare_owned(0, &key).is_eq()
                }
                None => row > 0 && keys.are_equal(row - 1, row),
            };
            if !is_equal || (origin != 0 && origin == balance.origin) {
                let settled =
                    std::mem::replace(&mut balance, Balance { origin, ..Balance::default() });
                settled.settle(self.only_positive, &mut staying);
            }
            balance.add(*sign, row);
        }
        for place in [&mut balance.first_negative, &mut balance.last_positive] {
            *place = place.take().map(|it| it.kept(batch));
        }
        self.open = Some((keys.owned(signs.len() - 1), balance));
        staying.rows(batch)
    }

    pub(super) fn finish(&mut self) -> Vec<RecordBatch> {
        let Some((_, balance)) = self.open.take() else { return Vec::new() };
        balance.last(self.only_positive)
    }
}

impl Balance {
    fn add(&mut self, sign: i8, row: usize) {
        self.ends_positive = sign > 0;
        if sign > 0 {
            self.positive += 1;
            self.last_positive = Some(Place::Here(row));
        } else {
            if self.negative == 0 {
                self.first_negative = Some(Place::Here(row));
            }
            self.negative += 1;
        }
    }

    /// The rows that stay: what the last state takes back and what it is, as far as they are more than the others.
    fn rows(self, only_positive: bool) -> impl Iterator<Item = Place> {
        let is_left = self.ends_positive || self.positive != self.negative;
        let negative = is_left && self.positive <= self.negative && !only_positive;
        let positive = is_left && self.positive >= self.negative;
        let negative = self.first_negative.filter(|_| negative);
        negative.into_iter().chain(self.last_positive.filter(|_| positive))
    }

    fn settle(self, only_positive: bool, staying: &mut Staying) {
        self.rows(only_positive).for_each(|place| staying.keep(place));
    }

    /// The same when all batches have gone by.
    fn last(self, only_positive: bool) -> Vec<RecordBatch> {
        self.rows(only_positive).filter_map(earlier).collect()
    }
}

fn earlier(place: Place) -> Option<RecordBatch> {
    match place {
        Place::Earlier(row) => Some(row),
        Place::Here(_) => None,
    }
}

/// The state of `VersionedCollapsingMergeTree` between batches. The version is part of the key.
#[derive(Debug)]
pub(super) struct Versioned {
    /// The place of the sign.
    sign: usize,
    key: Option<OwnedKey>,
    /// Rows of one sign, which wait for the other.
    waiting: VecDeque<Place>,
    waiting_sign: i8,
}

impl Versioned {
    pub(super) fn new(sign: usize) -> Self {
        Self { sign, key: None, waiting: VecDeque::new(), waiting_sign: 0 }
    }

    pub(super) fn push(
        &mut self,
        batch: &RecordBatch,
        keys: &Keys,
    ) -> Result<Vec<RecordBatch>, TableError> {
        let signs = signs(batch, self.sign)?;
        let mut staying = Staying::of(batch);
        for (row, sign) in signs.iter().enumerate() {
            let is_same = match (row, &self.key) {
                (0, None) => true,
                (0, Some(key)) => keys.compare_owned(0, key).is_eq(),
                _ => keys.are_equal(row - 1, row),
            };
            if !is_same {
                self.waiting.drain(..).for_each(|place| staying.keep(place));
            } else if self.waiting.len() >= WAITING_MAX {
                self.waiting.pop_front().into_iter().for_each(|place| staying.keep(place));
            }
            if self.waiting.is_empty() || self.waiting_sign == *sign {
                self.waiting_sign = *sign;
                self.waiting.push_back(Place::Here(row));
            } else {
                self.waiting.pop_back();
            }
        }
        self.waiting = self.waiting.drain(..).map(|place| place.kept(batch)).collect();
        self.key = Some(keys.owned(signs.len() - 1));
        staying.rows(batch)
    }

    pub(super) fn finish(&mut self) -> Vec<RecordBatch> {
        self.waiting.drain(..).filter_map(earlier).collect()
    }
}
