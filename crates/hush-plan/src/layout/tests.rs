// SPDX-License-Identifier: Apache-2.0

use hush_params::{PLAINTEXT_PRIMES_32, PLAINTEXT_PRIMES_45, preset};
use num_traits::{One, ToPrimitive};

use super::*;
use crate::needs::needs_of;
use crate::packing::{Packing, Slots, Sum};
use crate::range::{largest_sum, message_log2};
use crate::schema::{Column, ColumnType, Protection, Purpose, UnitRange};
use crate::sql;
use crate::tables::{column, encodings, patients, ranged, schema, with_purposes};
use crate::writers::{Writers, noise_margin};

fn int(bits: u8) -> Column {
    column("x", ColumnType::Int { bits }, Protection::Encrypt)
}

/// Parameter set and packing of the encoding of `quantity` by purposes.
fn chosen(columns: Vec<Column>, rows: u64, quantity: &Quantity) -> (String, Packing) {
    let schema = schema("t", columns);
    let found = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), rows);
    let found = found.iter().find(|encoding| encoding.quantity == *quantity).unwrap();
    (found.public.params.clone(), found.public.packing.clone())
}

fn value() -> Quantity {
    Quantity::Value("x".into())
}

#[test]
fn the_smallest_ring_that_holds_the_sum_is_chosen() {
    let cases = [
        ("n11_q1x46_sec128_v1", ranged(int(8), 0, 150), 6000),
        ("n12_q2x46_sec128_v1", ranged(int(64), -(1 << 43), 1 << 43), 1_000_000),
        ("n12_q3x34_sec128_v1", int(64), 1_000_000),
        ("n12_q2x46_sec128_v1", int(32), 1_000_000_000),
        (
            "n12_q3x34_sec128_v1",
            column("x", ColumnType::Decimal { precision: 18, scale: 2 }, Protection::Encrypt),
            1 << 20,
        ),
        (
            "n13_q4x46_sec128_v1",
            column("x", ColumnType::Decimal { precision: 38, scale: 9 }, Protection::Encrypt),
            6000,
        ),
    ];
    for (expected, column, rows) in cases {
        assert_eq!(chosen(vec![column.clone()], rows, &value()).0, expected, "{column:?} x {rows}");
    }
}

#[test]
fn squares_of_64_bit_values_over_a_million_rows_take_four_limbs() {
    let column = with_purposes(int(64), &[Purpose::Variance]);
    let (params, _) = chosen(vec![column], 1_000_000, &Quantity::Square("x".into()));
    assert_eq!(params, "n13_q4x46_sec128_v1");
}

/// Sums that no parameters hold are refused before anything is encrypted, with the ways out.
#[test]
fn third_and_fourth_powers_are_held_or_refused() {
    let power = |exponent| Quantity::Monomial(vec!["x".into(); exponent]);
    let cubes = with_purposes(int(64), &[Purpose::Skewness]);
    assert_eq!(chosen(vec![cubes], 1 << 30, &power(3)).0, "n14_q6x46_sec128_v1");
    let schema_of = |bits| schema("t", vec![with_purposes(int(bits), &[Purpose::Kurtosis])]);
    let plan = |schema: &Schema| {
        let needs = Needs::of_purposes(schema).unwrap();
        plan_encodings(schema, &needs, 1000, &mut String::new)
    };
    plan(&schema_of(32)).unwrap();
    let mut narrower = schema_of(64);
    narrower.columns[0].range = Some(UnitRange { low: -(1 << 54), high: 1 << 54 });
    let needs = Needs::of_purposes(&narrower).unwrap();
    plan_encodings(&narrower, &needs, 1 << 30, &mut String::new).unwrap();
    let report = plan(&schema_of(64)).unwrap_err().report();
    assert!(report.starts_with("HUSH-P023") && report.contains("a narrower range"), "{report}");
}

/// An attacker who is content with any of C columns has C chances: a set takes no more columns than leave 128 bits.
#[test]
fn some_column_of_many_keeps_128_bits() {
    // Rows for which these columns just do not fit two primes.
    for (rows, edge) in [(1_000_000, false), (1000, true)] {
        for count in [80, 81] {
            let columns = (0..count).map(|index| Column { name: format!("c{index}"), ..int(64) }).collect();
            let schema = Schema { edge, ..schema("t", columns) };
            let found = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), rows);
            assert_eq!(found.len(), count);
            let mut sizes = BTreeMap::<&str, u32>::new();
            found.iter().for_each(|encoding| *sizes.entry(&encoding.public.params).or_default() += 1);
            for (name, size) in &sizes {
                let attack = preset(name).unwrap().attack_log2() - f64::from(*size).log2();
                assert!(attack >= 128.0, "{size} columns over {name}: 2^{attack}");
            }
            assert_eq!(sizes.contains_key("n12_q3x34_sec128_v1"), count == 80, "{sizes:?}");
        }
    }
}

#[test]
fn spare_room_is_split_between_message_and_noise() {
    let (params, packing) = chosen(vec![ranged(int(8), 0, 150)], 6000, &value());
    let Packing::Sum(Sum { t_log2: log2 }) = packing else { panic!("{packing:?}") };
    let one = BigInt::one();
    let least = message_log2(&largest_sum(6000, &one, &150.into()));
    let set = preset(&params).unwrap();
    let noise_spare = noise_margin(set, log2, 6000, &one, Writers::Owner);
    let message_spare = f64::from(log2) - least.to_f64().unwrap();
    assert_eq!(least, 21);
    assert!(
        message_spare >= 0.0 && (noise_spare - message_spare).abs() < 2.0,
        "{message_spare} {noise_spare}"
    );
}

#[test]
fn every_choice_keeps_both_bounds_from_one_row_to_a_thousand_million() {
    for bits in [8u32, 16, 32, 64] {
        for rows in [1, 2, 8191, 1_000_000, 1_000_000_000] {
            for weight in [1i64, 7, 1 << 16] {
                let bound = BigInt::one() << (bits - 1);
                let weight = BigInt::from(weight);
                let choice = sum::choose(&value(), &bound, rows, &weight, &[]).unwrap();
                let Packing::Sum(Sum { t_log2: log2 }) = choice.packing else { panic!("{choice:?}") };
                let largest = largest_sum(rows, &weight, &bound);
                assert!(largest < BigInt::one() << (log2 - 1));
                assert!(
                    noise_margin(preset(choice.params).unwrap(), log2, rows, &weight, Writers::Owner) >= 0.0
                );
            }
        }
    }
}

#[test]
fn what_no_ring_holds_is_refused() {
    let bound = BigInt::one() << 230;
    let error = sum::choose(&Quantity::Square("x".into()), &bound, 1 << 40, &BigInt::one(), &[]).unwrap_err();
    assert_eq!(error.code(), "HUSH-P023");
    assert!(error.to_string().contains("the square of x"), "{error}");
}

fn slots(columns: Vec<Column>, text: &str) -> Vec<PrivateEncoding> {
    let schema = schema("t", columns);
    let needs = needs_of(&schema, &[sql::parse(&schema, text).unwrap()]).unwrap();
    let all = encodings(&schema, &needs, 100);
    all.into_iter().filter(|encoding| matches!(encoding.public.packing, Packing::Slots(_))).collect()
}

fn primes(primes: &[u64]) -> Packing {
    Packing::Slots(Slots::of(primes.to_vec()))
}

#[test]
fn small_products_take_one_32_bit_prime_and_64_bit_ones_several_wide_primes() {
    let small = slots(vec![ranged(int(16), -1000, 1000)], "SELECT x * x FROM t");
    assert_eq!(small[0].public.params, "n12_q2x46_sec128_v1");
    assert_eq!(small[0].public.packing, primes(&PLAINTEXT_PRIMES_32[..1]));
    let four = slots(vec![int(64)], "SELECT x * x FROM t");
    assert_eq!(four[0].public.packing, primes(&PLAINTEXT_PRIMES_32[..4]));
    // Five lanes of 11.5 bytes would be more than three of 17.25.
    let wide = slots(vec![int(64)], "SELECT 8 * x * x FROM t");
    assert_eq!(wide[0].public.params, "n13_q3x46_sec128_v1");
    assert_eq!(wide[0].public.packing, primes(&PLAINTEXT_PRIMES_45[..3]));
}

/// The product of two fresh phases of at most `21.5·t` at its worst, `N·(21.5·t)²`, against `Q/2`.
#[test]
fn the_margin_of_a_product_is_its_distance_from_half_the_modulus() {
    let schema = schema("t", vec![ranged(int(16), -1000, 1000)]);
    let needs = needs_of(&schema, &[sql::parse(&schema, "SELECT x * x FROM t").unwrap()]).unwrap();
    let program = &needs.programs[0];
    let set = preset("n13_q3x46_sec128_v1").unwrap();
    for primes in [&PLAINTEXT_PRIMES_32[..1], &PLAINTEXT_PRIMES_45[..2]] {
        let t_log2 = (primes[0] as f64).log2();
        let phase = 13.0 + 2.0 * (21.5_f64.log2() + t_log2);
        let found = slots::margin(program, set, primes);
        assert!((found - (set.log_q() - 1.0 - phase)).abs() < 1e-9, "{found}");
        assert_eq!(slots::fits(program, set, primes), found >= 0.0);
    }
    assert!(slots::fits(program, preset("n12_q2x46_sec128_v1").unwrap(), &PLAINTEXT_PRIMES_32[..1]));
    assert!(!slots::fits(program, preset("n11_q1x46_sec128_v1").unwrap(), &PLAINTEXT_PRIMES_32[..1]));
}

#[test]
fn a_product_times_a_clear_column_needs_the_larger_ring() {
    let clear = ranged(Column { name: "w".into(), protect: Protection::Clear, ..int(8) }, 0, 5);
    let found = slots(vec![ranged(int(8), 0, 10), clear], "SELECT x * x * w FROM t");
    assert_eq!(found[0].public.params, "n13_q4x46_sec128_v1");
}

#[test]
fn columns_that_meet_share_primes_and_others_do_not() {
    let named = |name: &str, bits| Column { name: name.into(), ..int(bits) };
    let columns = vec![named("a", 8), named("b", 64), named("c", 8), named("d", 8)];
    let found = slots(columns, "SELECT a * b, c + d, d * 2 FROM t");
    let primes = |name: &str| {
        let quantity = Quantity::Value(name.into());
        found.iter().find(|encoding| encoding.quantity == quantity).unwrap().public.packing.clone()
    };
    assert_eq!(primes("a"), primes("b"));
    assert_eq!(primes("c"), primes("d"));
    assert_ne!(primes("a"), primes("c"));
}

#[test]
fn floats_without_a_range_keep_their_digits_and_get_a_magnitude() {
    let float = |digits| column("x", ColumnType::Float { digits }, Protection::Encrypt);
    for (digits, rows) in [(3u8, 6_000u64), (6, 1_000_000), (9, 1_000)] {
        let schema = schema("t", vec![float(digits)]);
        let found = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), rows);
        let log2 = found[0].public.packing.scale_log2().unwrap();
        let error = hush_params::noise::ckks_sum_error_log2(f64::from(log2), rows as f64, 1.0, 1.0).exp2();
        assert!(error <= 0.5 * 10f64.powi(-i32::from(digits)), "{digits} {rows} {error}");
        let largest: BigInt = found[0].max_abs.parse().unwrap();
        assert!(largest >= BigInt::one() << 20, "{largest}");
        let set = preset(&found[0].public.params).unwrap();
        let phase = crate::range::log2(&(largest * rows)) + f64::from(log2);
        assert!(phase <= set.log_q() - 1.5);
    }
    let schema = schema("t", vec![float(12)]);
    let needs = Needs::of_purposes(&schema).unwrap();
    let refused = plan_encodings(&schema, &needs, u64::MAX, &mut String::new);
    assert_eq!(refused.unwrap_err().code(), "HUSH-P023");
}

#[test]
fn a_zero_range_and_an_empty_table_still_have_parameters() {
    let column = Column { range: Some(UnitRange { low: 0, high: 0 }), ..int(8) };
    assert_eq!(chosen(vec![column], 0, &value()).0, "n11_q1x46_sec128_v1");
}

/// Devices: a ring's exact columns have one plaintext modulus, which suits each; approximate ones are over other rings.
#[test]
fn tables_for_devices_share_what_their_masks_share() {
    let one = || BigInt::one();
    let mut schema = patients();
    schema.columns.retain(|column| column.protect != Protection::Seal);
    schema.edge = true;
    let float = column("level", ColumnType::Float { digits: 4 }, Protection::Encrypt);
    schema.columns.push(with_purposes(float, &[Purpose::Variance]));
    let mut needs = Needs::of_purposes(&schema).unwrap();
    // Large weights leave little room for large messages.
    needs.add_sum(Quantity::Value("charges".into()), one() << 20);
    let rows = 1_000_000;
    let encodings = plan_encodings(&schema, &needs, rows, &mut String::new).unwrap();
    assert_eq!(encodings.len(), needs.sums.len());
    let mut shared = BTreeMap::new();
    for encoding in &encodings {
        let set = preset(&encoding.public.params).unwrap();
        let weight = needs.sums.get(&encoding.quantity).unwrap();
        let scale = match encoding.public.packing {
            Packing::Sum(Sum { t_log2: log2 }) => {
                assert!(noise_margin(set, log2, rows, weight, Writers::Devices) >= 0.0, "{encoding:?}");
                let max_abs: BigInt = encoding.max_abs.parse().unwrap();
                assert!(
                    message_log2(&largest_sum(rows, weight, &max_abs)) <= u64::from(log2),
                    "{encoding:?}"
                );
                log2
            }
            _ => 0,
        };
        assert_eq!(*shared.entry(encoding.public.params.clone()).or_insert(scale), scale, "{encoding:?}");
    }
    assert!(shared.len() > 1 && shared.values().any(|scale| *scale == 0), "{shared:?}");

    let refused = |schema: &Schema| {
        let needs = Needs::of_purposes(schema).unwrap();
        plan_encodings(schema, &needs, rows, &mut String::new).unwrap_err().code()
    };
    let mut sealing = schema.clone();
    sealing.columns.push(column("note", ColumnType::Text, Protection::Seal));
    assert_eq!(refused(&sealing), "HUSH-P027");
    let factor = ranged(column("factor", ColumnType::Int { bits: 8 }, Protection::Encrypt), 0, 9);
    schema.columns.push(with_purposes(factor, &[Purpose::Product]));
    assert_eq!(refused(&schema), "HUSH-P027");
}

/// A budget of releases takes a scale that leaves its digits beside the noise, and the set that holds it: two digits of 10^7 rows at
/// 1024 numbers take 73 or 74 bits, as docs/security/release.md says.
#[test]
fn a_budget_of_releases_makes_room_for_its_digits() {
    use crate::schema::ReleaseBudget;
    let scale = |rows, release| {
        let float = column("x", ColumnType::Float { digits: 1 }, Protection::Encrypt);
        let schema = Schema { release, ..schema("t", vec![float]) };
        let found = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), rows);
        let log2 = found[0].public.packing.scale_log2().unwrap();
        (log2, found[0].public.params.clone())
    };
    let budget = |digits, answers| Some(ReleaseBudget { digits, answers });
    let (without, _) = scale(10_000_000, None);
    assert!(without < 40, "{without}");
    let (with, set) = scale(10_000_000, budget(2, 1024));
    assert!((73..=74).contains(&with), "{with}");
    assert_eq!(set, "n13_q3x46_sec128_v1");
    // A digit more is 3.3 bits, four times the numbers one bit.
    assert!((3..=4).contains(&(scale(10_000_000, budget(3, 1024)).0 - with)));
    assert!((0..=2).contains(&(scale(10_000_000, budget(2, 4096)).0 - with)));
}

/// Factors of a product have a secret in common; nothing else has, least of all an exact and an approximate column.
#[test]
fn columns_share_a_secret_only_where_they_meet() {
    let float = |name| {
        with_purposes(
            column(name, ColumnType::Float { digits: 1 }, Protection::Encrypt),
            &[Purpose::Product, Purpose::Sum],
        )
    };
    let int = |name| {
        let int = ranged(column(name, ColumnType::Int { bits: 32 }, Protection::Encrypt), -100, 100);
        with_purposes(int, &[Purpose::Count])
    };
    let schema = schema("t", vec![float("a"), float("b"), int("i"), int("j"), int("k"), int("l")]);
    let mut needs = Needs::of_purposes(&schema).unwrap();
    let queries =
        ["SELECT i * j FROM t", "SELECT k * l FROM t"].map(|text| sql::parse(&schema, text).unwrap());
    needs.merge(needs_of(&schema, &queries).unwrap());
    let mut next = 0_u128;
    let mut id = || {
        next += 1;
        format!("{next:032x}")
    };
    let found = plan_encodings(&schema, &needs, 1000, &mut id).unwrap();
    let mut groups: BTreeMap<&str, Vec<(&str, &Quantity)>> = BTreeMap::new();
    for encoding in &found {
        groups
            .entry(&encoding.secret_id)
            .or_default()
            .push((encoding.public.packing.name(), &encoding.quantity));
    }
    let mut shared: Vec<Vec<(&str, String)>> = groups
        .values()
        .filter(|members| members.len() > 1)
        .map(|members| members.iter().map(|(layout, quantity)| (*layout, quantity.describe())).collect())
        .collect();
    shared.sort_by_key(|members| members[0].1.clone());
    let group =
        |layout, names: [&str; 2]| names.map(|name| (layout, format!("the values of {name}"))).to_vec();
    let expected =
        [group("approx_slots", ["a", "b"]), group("slots", ["i", "j"]), group("slots", ["k", "l"])];
    assert_eq!(shared, expected);
    // A query across two groups is not planned on ciphertexts under two secrets.
    let digest = "0".repeat(64);
    let plan = |text: &str| {
        let query = sql::parse(&schema, text).unwrap();
        let site = crate::predict::Site::local(1000);
        crate::plan_query(&schema, &found, &site, &digest, &query, &crate::Limits::default()).unwrap()
    };
    let crate::plan::Task::Rows(task) = plan("SELECT i * k FROM t").server.task else { panic!("groups") };
    assert!(task.programs.is_empty(), "the owner evaluates it");
}
