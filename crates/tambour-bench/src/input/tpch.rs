//! Columns of TPC-H's `lineitem` and `orders`.

use super::Input;
use tpchgen::generators::{LineItem, LineItemGenerator, Order, OrderGenerator};

/// Enough rows to fill the narrowest column but one to [`super::COLUMN_BYTES`].
const SCALE: f64 = 0.2;

/// Makes the column of a row.
type Write<Row> = fn(&Row, &mut Vec<u8>);

const LINEITEM: [(&str, Write<LineItem<'_>>); 10] = [
    ("l_orderkey_u32", |row, out| narrow(row.l_orderkey, out)),
    ("l_partkey_u32", |row, out| narrow(row.l_partkey, out)),
    ("l_quantity_dec64", |row, out| wide(row.l_quantity * 100, out)),
    ("l_extendedprice_dec64", |row, out| wide(row.l_extendedprice.0, out)),
    ("l_discount_dec64", |row, out| wide(row.l_discount.0, out)),
    ("l_shipdate_date", |row, out| date(row.l_shipdate.to_unix_epoch(), out)),
    ("l_returnflag_str", |row, out| string(row.l_returnflag, out)),
    ("l_shipmode_str", |row, out| string(row.l_shipmode, out)),
    ("l_shipinstruct_str", |row, out| string(row.l_shipinstruct, out)),
    ("l_comment_str", |row, out| string(row.l_comment, out)),
];

const ORDERS: [(&str, Write<Order<'_>>); 5] = [
    ("o_orderkey_u64", |row, out| wide(row.o_orderkey, out)),
    ("o_custkey_u64", |row, out| wide(row.o_custkey, out)),
    ("o_totalprice_dec64", |row, out| wide(row.o_totalprice.0, out)),
    ("o_orderpriority_str", |row, out| string(row.o_orderpriority, out)),
    ("o_clerk_str", |row, out| string(&row.o_clerk.to_string(), out)),
];

/// Columns of at most `bytes` bytes each. Keys are UInt32 or UInt64, prices Decimal64, dates Date, all else String.
pub fn tpch(bytes: usize) -> Vec<Input> {
    let mut inputs = Vec::new();
    collect(LineItemGenerator::new(SCALE, 1, 1).iter(), &LINEITEM, bytes, &mut inputs);
    collect(OrderGenerator::new(SCALE, 1, 1).iter(), &ORDERS, bytes, &mut inputs);
    inputs
}

fn collect<Row>(
    rows: impl Iterator<Item = Row>,
    columns: &[(&str, Write<Row>)],
    bytes: usize,
    inputs: &mut Vec<Input>,
) {
    let mut buffers = vec![Vec::new(); columns.len()];
    for row in rows {
        let mut open = false;
        for (buffer, (_, write)) in buffers.iter_mut().zip(columns) {
            if buffer.len() < bytes {
                write(&row, buffer);
                open = true;
            }
        }
        if !open {
            break;
        }
    }
    for (mut buffer, (name, _)) in buffers.into_iter().zip(columns) {
        buffer.truncate(bytes);
        inputs.push(Input { name: format!("tpch_{name}"), bytes: buffer });
    }
}

#[expect(clippy::cast_possible_truncation, reason = "keys at this scale are far below 2^32")]
fn narrow(value: i64, out: &mut Vec<u8>) {
    out.extend((value as u32).to_le_bytes());
}

fn wide(value: i64, out: &mut Vec<u8>) {
    out.extend(value.to_le_bytes());
}

#[expect(clippy::cast_possible_truncation, reason = "ClickHouse's Date has 16 bits")]
fn date(days: i32, out: &mut Vec<u8>) {
    out.extend((days as u16).to_le_bytes());
}

/// A string behind its length; all here are shorter than 128 bytes, so that the length is one byte.
fn string(text: &str, out: &mut Vec<u8>) {
    out.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(text.as_bytes());
}
