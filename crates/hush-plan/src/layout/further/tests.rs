// SPDX-License-Identifier: Apache-2.0

use hush_params::preset;

use super::*;
use crate::schema::alter::{Alteration, altered};
use crate::schema::{ColumnType, Protection, Purpose};
use crate::tables::{column, encodings, nullable, ranged, schema, with_purposes};

fn int(name: &str, high: i128, purposes: &[Purpose]) -> crate::schema::Column {
    let column = column(name, ColumnType::Int { bits: 64 }, Protection::Encrypt);
    with_purposes(ranged(column, 0, high), purposes)
}

fn purposes(schema: &Schema) -> Needs {
    Needs::of_purposes(schema).unwrap()
}

/// A table as it was encrypted, and what an altered schema makes of its encodings.
fn planned(before: &Schema, after: &Schema) -> (Vec<PrivateEncoding>, Further) {
    let present = encodings(before, &purposes(before), before.max_rows);
    let first = EncodingId(present.len() as u32);
    let mut secrets = 0;
    let mut new_id = || {
        secrets += 1;
        format!("new{secrets}")
    };
    let further =
        plan_further(after, &present, &purposes(after), after.max_rows, first, &mut new_id).unwrap();
    (present, further)
}

fn quantities(encodings: &[PrivateEncoding]) -> Vec<Quantity> {
    encodings.iter().map(|encoding| encoding.quantity.clone()).collect()
}

fn value(name: &str) -> Quantity {
    Quantity::Value(name.to_owned())
}

#[test]
fn a_column_gets_its_encodings_and_the_others_stay() {
    let before = schema("t", vec![int("x", 100, &[])]);
    let after = schema("t", vec![int("x", 100, &[]), nullable(int("y", 9, &[Purpose::Variance]))]);
    let (present, further) = planned(&before, &after);
    assert_eq!((further.kept, further.outgrown), (present, vec![]));
    let expected = [Quantity::Square("y".into()), Quantity::Valid("y".into()), value("y")];
    assert_eq!(quantities(&further.new), expected);
    assert_eq!(further.new.iter().map(|encoding| encoding.public.id.0).collect::<Vec<_>>(), [1, 2, 3]);
    let same = planned(&before, &before).1;
    assert!(same.new.is_empty() && same.outgrown.is_empty());
}

/// The room that encodings have is used before there are new ones.
#[test]
fn a_range_outgrows_its_encodings_or_not() {
    let at = |high| schema("t", vec![int("x", high, &[Purpose::Variance])]);
    let (present, within) = planned(&at(100), &at(130));
    assert!(within.outgrown.is_empty() && within.new.is_empty());
    let public =
        |encodings: &[PrivateEncoding]| encodings.iter().map(|e| e.public.clone()).collect::<Vec<_>>();
    assert_eq!(public(&within.kept), public(&present));
    let bounds: Vec<&str> = within.kept.iter().map(|encoding| encoding.max_abs.as_str()).collect();
    assert_eq!(bounds, ["16900", "130"]);
    let (present, beyond) = planned(&at(100), &at(1 << 40));
    assert_eq!(beyond.outgrown, present);
    assert_eq!(quantities(&beyond.new), quantities(&present));
    // Once they are there, they serve.
    let all: Vec<_> = present.iter().chain(&beyond.new).cloned().collect();
    let after = at(1 << 40);
    let found =
        plan_further(&after, &all, &purposes(&after), after.max_rows, EncodingId(9), &mut String::new)
            .unwrap();
    assert_eq!((found.kept, found.outgrown, found.new), (beyond.new, present, vec![]));
}

/// What nothing but a workload had asked for is widened too.
#[test]
fn quantities_of_a_workload_are_widened() {
    let (before, after) = (schema("t", vec![int("x", 100, &[])]), schema("t", vec![int("x", 1 << 40, &[])]));
    let mut needs = purposes(&before);
    needs.add_sum(Quantity::Square("x".into()), BigInt::one());
    let present = encodings(&before, &needs, before.max_rows);
    let needs = purposes(&after);
    let found =
        plan_further(&after, &present, &needs, after.max_rows, EncodingId(2), &mut String::new).unwrap();
    assert_eq!(quantities(&found.new), [Quantity::Square("x".into()), value("x")]);
}

/// A further factor joins the others under their secret, if their packing holds the products with it.
#[test]
fn factors_join_those_that_are_there() {
    let product = &[Purpose::Product];
    let before = schema("t", vec![int("x", 1000, product), int("y", 1000, product)]);
    let with =
        |high| schema("t", vec![int("x", 1000, product), int("y", 1000, product), int("z", high, product)]);
    let (present, further) = planned(&before, &with(500));
    assert_eq!(quantities(&further.new), [value("z")]);
    let (z, x) = (&further.new[0], &present[0]);
    assert_eq!(
        (&z.secret_id, &z.public.packing, &z.public.params),
        (&x.secret_id, &x.public.packing, &x.public.params)
    );
    // Too large a factor takes all of them to another ring.
    let (_, further) = planned(&before, &with(1 << 60));
    assert_eq!(quantities(&further.new), [value("x"), value("y"), value("z")]);
    assert!(further.new.iter().all(|encoding| encoding.secret_id == "new1"));
}

/// The columns that a set takes at most are counted with those that it has.
#[test]
fn sets_are_not_crowded_by_what_comes_later() {
    let many = |count: usize| {
        let columns = (0..count).map(|at| int(&format!("c{at}"), i128::from(i64::MAX), &[])).collect();
        Schema { max_rows: 1_000_000, ..schema("t", columns) }
    };
    let (present, further) = planned(&many(80), &many(90));
    assert_eq!(further.new.len(), 10);
    let all: Vec<_> = present.iter().chain(&further.new).collect();
    for set in hush_params::presets() {
        let size = all.iter().filter(|encoding| encoding.public.params == set.name()).count();
        assert!(size <= set.most_columns(), "{size} over {}", set.name());
    }
}

/// Columns that devices write share a ring and its plaintext modulus, or have another ring.
#[test]
fn columns_of_devices_share_the_modulus_of_their_ring() {
    let edge = |columns| Schema { edge: true, ..schema("t", columns) };
    let before = edge(vec![int("x", 1 << 40, &[])]);
    for high in [100, 1 << 40, 1 << 60] {
        let after = edge(vec![int("x", 1 << 40, &[]), nullable(int("y", high, &[]))]);
        let (present, further) = planned(&before, &after);
        let mut moduli = std::collections::BTreeMap::new();
        for encoding in present.iter().chain(&further.new) {
            let modulus = moduli.entry(&encoding.public.params).or_insert(&encoding.public.packing);
            assert_eq!(*modulus, &encoding.public.packing, "{high}");
            let set = preset(&encoding.public.params).unwrap();
            let bound = encoding.quantity.bound(&after);
            assert!(
                holds(&after, encoding, &bound, after.max_rows, &BigInt::one()).unwrap(),
                "{}",
                set.name()
            );
        }
    }
    // Devices have no key to seal with, columns or copies.
    let sealed = column("s", ColumnType::Text, Protection::Seal);
    for add in [sealed, int("c", 9, &[Purpose::Fetch]), int("d", 9, &[Purpose::Sum, Purpose::Fetch])] {
        let refused = altered(&before, &Alteration { add: vec![add], ..Alteration::default() }).unwrap();
        let present = encodings(&before, &purposes(&before), 1000);
        let found =
            plan_further(&refused, &present, &purposes(&refused), 1000, EncodingId(1), &mut String::new);
        assert_eq!(found.unwrap_err().code(), "HUSH-P027");
    }
}
