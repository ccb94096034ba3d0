//! The columns of a log of JSON lines: the fields of a sample of its records, and of all of them where a query asks for more.

use super::external;
use super::json::{self, Bad};
use super::shape::{self, Shape};
use arrow::datatypes::{Field, FieldRef};
use datafusion::common::Result;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use tambour_record::{Scanned, View};

/// Records whose fields decide over the columns: this many at the start,
const SAMPLE_FIRST: u64 = 1000;
/// and in this many places of the rest
const SAMPLE_PLACES: u64 = 64;
/// this many each.
const SAMPLE_EACH: u64 = 32;

/// The fields of JSON objects in a sample, by name; none if no record of it is an object.
pub(super) fn sampled_fields(view: &Arc<View>) -> Result<Vec<FieldRef>> {
    let ids = view.ids();
    let count = ids.end - ids.start;
    let first = ids.start..ids.start + count.min(SAMPLE_FIRST);
    let mut stretches = Vec::from([first]);
    if count > SAMPLE_FIRST {
        let places = (0..SAMPLE_PLACES).map(|k| ids.start + count / SAMPLE_PLACES * k);
        stretches.extend(places.map(|start| start..(start + SAMPLE_EACH).min(ids.end)));
    }
    fields(view, stretches, |_| true)
}

/// The field of this name, from all records; none if no record has it.
pub(super) fn further_fields(view: &Arc<View>, wanted: &str) -> Result<Vec<FieldRef>> {
    fields(view, Vec::from([view.ids()]), |name| name == wanted)
}

/// The wanted fields of these records. The type of each holds all values that were seen; a record that is not an object has none,
/// and one that cannot be taken apart decides nothing.
fn fields(
    view: &Arc<View>,
    stretches: Vec<Range<u64>>,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<FieldRef>> {
    let mut reader = view.reader();
    let mut shapes = BTreeMap::new();
    let visit = |Scanned { record, .. }: Scanned<'_>| {
        if json::is_object(record) {
            // What is wrong in it is told to who asks for its fields.
            let _ = json::members(record, |name, value| {
                if is_wanted(&name) {
                    shape::add(&mut shapes, &name, Shape::of(value, 0)?);
                }
                Ok::<(), Bad>(())
            });
        }
        ControlFlow::Continue(())
    };
    let mut visit = visit;
    for stretch in stretches {
        reader.scan(stretch, &mut visit).map_err(external)?;
    }
    let field =
        |(name, shape): (String, Shape)| Arc::new(Field::new(name, shape.data_type(), true));
    Ok(shapes.into_iter().map(field).collect())
}
