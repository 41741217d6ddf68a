// SPDX-License-Identifier: Apache-2.0
//! Chunks that share ring elements.

use super::*;
use crate::layout::{plan_further, ranks_beside_shared};
use crate::packing::{Packing, Slots};
use crate::{EncodingId, PrivateEncoding};

fn stored(schema: &Schema) -> Vec<PrivateEncoding> {
    let mut needs = Needs::default();
    needs.add_filters(schema);
    encodings(schema, &needs, schema.max_rows)
}

fn shared(encodings: &[PrivateEncoding]) -> Vec<bool> {
    let is_shared = |encoding: &PrivateEncoding| match &encoding.public.packing {
        Packing::Slots(slots) => slots.shared,
        other => panic!("{other:?}"),
    };
    let mut found: Vec<bool> = encodings.iter().map(is_shared).collect();
    found.dedup();
    found
}

fn with_ranks(schema: &Schema) -> Schema {
    let mut ranked = schema.clone();
    let part = column("part", ColumnType::Int { bits: 64 }, Protection::Encrypt);
    ranked.columns.push(with_purposes(part, &[Purpose::Filter]));
    ranked
}

/// Where a chunk would fill half of a ring element, two share it, and a value takes half of the bytes; not so beside ranks.
#[test]
fn chunks_share_the_ring_elements_that_one_does_not_fill() {
    let plain = lineitem(1_000_000);
    let keyed = Schema { constant_keys: true, ..plain.clone() };
    assert_eq!(shared(&stored(&plain)), [false]);
    let of_keyed = stored(&keyed);
    assert_eq!(shared(&of_keyed), [true]);
    let encoding = &of_keyed[0].public;
    let (set, packing) = (encoding.ring().unwrap(), &encoding.packing);
    assert_eq!((packing.chunks_together(set), packing.elements_of_chunk(set)), (2, 0.5));
    assert!(!packing.evaluates() && !packing.sums());
    let bytes = |schema: &Schema| FilterShape::of(schema).unwrap().bytes_of_value(set);
    assert_eq!(bytes(&keyed), size::poly_bytes(set) as f64 / 16_384.0);
    let ranked = with_ranks(&keyed);
    assert_eq!(shared(&stored(&ranked)), [false]);
    assert_eq!(bytes(&ranked), 2.0 * bytes(&keyed));
}

/// As many ring elements are predicted as there are: those of two chunks, and those of the last ones of parts.
#[test]
fn what_is_predicted_counts_chunks_together() {
    let keyed = Schema { constant_keys: true, ..lineitem(1_000_000) };
    for (rows, elements) in [(1, 1), (8192, 1), (16_384, 1), (16_385, 2), (100_000, 7)] {
        let plan = planned(&keyed, rows, Q6).unwrap();
        let Task::Products(task) = &plan.server.task else { panic!("{:?}", plan.server.task) };
        let public: Vec<_> = stored(&keyed).into_iter().map(|encoding| encoding.public).collect();
        let set = public[0].ring().unwrap();
        let in_ring = (set.degree() as u64, public[0].packing.chunks_together(set));
        let shape = crate::predict::Site::local(rows).shape;
        assert_eq!(shape.product_runs(in_ring, task.elements.into()).0, elements, "{rows} rows");
    }
}

/// What comes later is stored as what is there: rows of both are multiplied with each other.
#[test]
fn further_filters_are_like_those_of_the_table() {
    let keyed = Schema { constant_keys: true, ..lineitem(1_000_000) };
    let further = |schema: &Schema, present: &[PrivateEncoding]| {
        let mut needs = Needs::default();
        needs.add_filters(schema);
        let first = EncodingId(present.len() as u32);
        plan_further(schema, present, &needs, schema.max_rows, first, &mut || "new".to_owned())
    };
    let mut more = keyed.clone();
    more.measures.push("price * quantity".into());
    let present = stored(&keyed);
    let new = further(&more, &present).unwrap().new;
    assert!(!new.is_empty());
    assert_eq!(shared(&new), [true]);
    // Of a table that was encrypted before.
    let mut before = present.clone();
    for encoding in &mut before {
        encoding.public.packing = Packing::Slots(Slots::of_filters(false));
    }
    assert_eq!(shared(&further(&more, &before).unwrap().new), [false]);
    assert_eq!(shared(&further(&with_ranks(&keyed), &before).unwrap().new), [false]);
    let column = |schema: &Schema, present: &[PrivateEncoding]| {
        let mut needs = Needs::default();
        needs.add_filters(schema);
        ranks_beside_shared(&needs, present).map(str::to_owned)
    };
    assert_eq!(column(&with_ranks(&keyed), &present).as_deref(), Some("part"));
    assert_eq!(column(&with_ranks(&keyed), &before), None);
    assert_eq!(column(&more, &present), None);
    let refused = further(&with_ranks(&keyed), &present).unwrap_err().to_string();
    assert!(refused.contains("ranks beside filters whose chunks share ring elements"), "{refused}");
}
