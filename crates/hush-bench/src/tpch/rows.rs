// SPDX-License-Identifier: Apache-2.0
//! The rows of TPC-H, dbgen's own, each with what a question reads of other tables and what compares two of its columns: an owner knows it when he
//! encrypts.

use std::collections::HashSet;
use std::io::{self, Write};

use tpchgen::generators::{LineItem, LineItemGenerator, OrderGenerator, PartGenerator};

/// Columns of the file of lines, in order.
const LINES: &str = "shipdate,receiptdate,quantity,price,discount,tax,flag,status,mode,late,urgent,promo,class,person,part,orderkey";
/// Columns of the file of orders, in order.
const ORDERS: &str = "orderdate,priority,late";

/// The containers and the greatest size of each class of parts that Q19 asks for, and their brand.
const CLASSES: [(&str, [&str; 4], i32); 3] = [
    ("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 5),
    ("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10),
    ("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 15),
];

/// Writes the lines of a scale; gives their number.
pub(super) fn write_lines(out: &mut impl Write, scale: f64) -> io::Result<u64> {
    let parts: Vec<(bool, u8)> = PartGenerator::new(scale, 1, 1)
        .iter()
        .map(|part| (part.p_type.starts_with("PROMO"), class(&part)))
        .collect();
    let orders = OrderGenerator::new(scale, 1, 1);
    let mut orders = orders.iter();
    let mut order = orders.next();
    writeln!(out, "{LINES}")?;
    let mut rows = 0;
    for line in LineItemGenerator::new(scale, 1, 1).iter() {
        // Both come in the order of their keys.
        while order.as_ref().is_some_and(|order| order.o_orderkey < line.l_orderkey) {
            order = orders.next();
        }
        let priority = order.as_ref().map_or("", |order| order.o_orderpriority);
        let (promo, class) = parts.get((line.l_partkey - 1) as usize).copied().unwrap_or_default();
        write_line(out, &line, priority, (promo, class))?;
        rows += 1;
    }
    Ok(rows)
}

fn write_line(
    out: &mut impl Write,
    line: &LineItem<'_>,
    priority: &str,
    (promo, class): (bool, u8),
) -> io::Result<()> {
    let LineItem { l_shipdate, l_commitdate, l_receiptdate, l_shipmode, .. } = line;
    let late = l_commitdate < l_receiptdate && l_shipdate < l_commitdate;
    let urgent = matches!(priority, "1-URGENT" | "2-HIGH");
    let by_air = matches!(*l_shipmode, "AIR" | "AIR REG");
    let person = by_air && line.l_shipinstruct == "DELIVER IN PERSON";
    writeln!(
        out,
        "{l_shipdate},{l_receiptdate},{},{},{},{},{},{},{l_shipmode},{late},{urgent},{promo},{class},{person},{},{}",
        line.l_quantity,
        line.l_extendedprice,
        line.l_discount,
        line.l_tax,
        line.l_returnflag,
        line.l_linestatus,
        line.l_partkey,
        line.l_orderkey,
    )
}

/// The class of Q19 that a part is in, 1 to 3; 0 for none.
fn class(part: &tpchgen::generators::Part<'_>) -> u8 {
    let brand = part.p_brand.to_string();
    let is_in = |(_, (of, containers, size)): &(u8, &(&str, [&str; 4], i32))| {
        brand == *of && containers.contains(&part.p_container) && (1..=*size).contains(&part.p_size)
    };
    (1..).zip(&CLASSES).find(is_in).map_or(0, |(class, _)| class)
}

/// Writes the orders of a scale; gives their number.
pub(super) fn write_orders(out: &mut impl Write, scale: f64) -> io::Result<u64> {
    let late: HashSet<i64> = LineItemGenerator::new(scale, 1, 1)
        .iter()
        .filter(|line| line.l_commitdate < line.l_receiptdate)
        .map(|line| line.l_orderkey)
        .collect();
    writeln!(out, "{ORDERS}")?;
    let mut rows = 0;
    for order in OrderGenerator::new(scale, 1, 1).iter() {
        let is_late = late.contains(&order.o_orderkey);
        writeln!(out, "{},{},{is_late}", order.o_orderdate, order.o_orderpriority)?;
        rows += 1;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first line of dbgen's file, and the numbers of rows that the specification has.
    #[test]
    fn rows_are_those_of_dbgen() {
        let mut lines = Vec::new();
        assert_eq!(write_lines(&mut lines, 0.01).unwrap(), 60_175);
        let text = String::from_utf8(lines).unwrap();
        let first = text.lines().nth(1).unwrap();
        assert!(first.starts_with("1996-03-13,1996-03-22,17,"), "{first}");
        let mut orders = Vec::new();
        assert_eq!(write_orders(&mut orders, 0.01).unwrap(), 15_000);
        // A tenth of the types are promotions of some kind, and Q19's classes are rare.
        let promo = text.lines().filter(|line| line.split(',').nth(11) == Some("true")).count();
        assert!((8_000..12_500).contains(&promo), "{promo}");
    }
}
