// SPDX-License-Identifier: Apache-2.0
//! Grouped sums against 256-bit arithmetic on the plaintext.

use std::sync::Arc;

use arrow::array::Array;
use ethnum::I256;
use hush_exec::answer::Answer;
use hush_exec::{Engine, ExecError, Limits, PartSet, Stop};
use hush_plan::plan::{AggregateTask, Mask, Predicate, Task, engine_aggregates};
use hush_table::part::FileKind;
use object_store::ObjectStoreExt;

use crate::fixture::{Fixture, REAL_SUM, Random, Row, SQUARE, VALID, VALUE};
use crate::reference::{Decrypted, ask, counts, decrypt_real, everything, grouped, task, texts};

fn value(row: &Row) -> I256 {
    I256::from(row.value.unwrap_or(0))
}

/// Two parts; the first ends in a short chunk.
fn two_parts(random: &mut Random) -> Fixture {
    Fixture::random(random, &[8192 + 700, 5000])
}

#[test]
fn unfiltered_sums_of_three_parameter_sets() {
    let mut random = Random::announced("unfiltered");
    let fixture = two_parts(&mut random);
    let task = task(&[], vec![everything()], &[(0, VALUE), (0, VALID), (0, SQUARE), (0, VALUE)]);
    let Decrypted { clear, sums } = ask(&fixture, 2, None, &task);
    let expected: I256 = fixture.rows.iter().map(value).sum();
    let valid = I256::from(fixture.rows.iter().filter(|row| row.value.is_some()).count() as u64);
    let squares: I256 = fixture.rows.iter().map(|row| value(row) * value(row)).sum();
    assert_eq!(counts(&clear), [fixture.rows.len() as u64]);
    assert_eq!(sums, [vec![expected, valid, squares, expected]]);
}

#[test]
fn groups_with_null_keys_filters_and_conditions() {
    let mut random = Random::announced("groups");
    let fixture = two_parts(&mut random);
    let condition =
        Mask { condition: Some(Predicate::clear("\"weight\" IS NOT NULL AND \"ratio\" > 0")), weight: None };
    let task = task(
        &["\"ward\"", "\"year\" % 2"],
        vec![everything(), condition],
        &[(0, VALUE), (1, VALUE), (1, VALID), (0, SQUARE)],
    );
    let Decrypted { clear, sums } = ask(&fixture, 2, Some("\"year\" >= 2021 AND \"year\" < 2024"), &task);
    let key = |row: &Row| (2021..2024).contains(&row.year).then(|| (row.ward.clone(), row.year % 2));
    let conditioned = |row: &Row| row.weight.is_some() && row.ratio.is_some_and(|ratio| ratio > 0.0);
    let only = |row: &Row, term: I256| if conditioned(row) { term } else { I256::ZERO };
    let plain = grouped(&fixture.rows, key, value);
    let filtered = grouped(&fixture.rows, key, |row| only(row, value(row)));
    let valid = grouped(&fixture.rows, key, |row| only(row, I256::from(u8::from(row.value.is_some()))));
    let squares = grouped(&fixture.rows, key, |row| value(row) * value(row));
    // BTreeMap orders by (None first, then text), as the answer must.
    assert_eq!(texts(&clear, "k0"), plain.keys().map(|key| key.0.clone()).collect::<Vec<_>>());
    assert_eq!(counts(&clear), plain.values().map(|group| group.0).collect::<Vec<_>>());
    for (group, found) in sums.iter().enumerate() {
        let expected =
            [&plain, &filtered, &valid, &squares].map(|groups| groups.values().nth(group).unwrap().1);
        assert_eq!(*found, expected, "group {group}");
    }
}

/// Keys of all kinds: near and far integers, texts, floats, with NULLs, several keys. Types and nullability are the same too.
#[test]
fn groups_that_are_only_counted_are_those_of_the_query_engine() {
    let mut random = Random::announced("counted");
    let fixture = two_parts(&mut random);
    let keys: [&[&str]; 7] = [
        &["\"year\""],
        &["\"year\" * 1000003"],
        &["CAST(\"year\" AS SMALLINT)"],
        &["\"weight\""],
        &["\"ratio\""],
        &["\"ward\""],
        &["\"ward\"", "\"year\" % 2"],
    ];
    for keys in keys {
        for predicate in [None, Some("\"year\" >= 2022"), Some("\"weight\" IS NULL"), Some("\"year\" > 3000")]
        {
            let clear = |aggregates: &[&str]| {
                let clear = aggregates.iter().map(|aggregate| (*aggregate).to_owned()).collect();
                let task = AggregateTask { clear, max_groups: 20_000, ..task(keys, Vec::new(), &[]) };
                let plan = fixture.plan(predicate, Task::Aggregate(task));
                let bytes = fixture.engine(2).run(&plan).unwrap();
                Answer::decode(&bytes, u64::MAX).unwrap().clear(1 << 20).unwrap()
            };
            let counted = clear(&["COUNT(*)"]);
            let asked = clear(&["COUNT(*)", "MIN(\"year\")"]);
            let columns: Vec<usize> = (0..counted.num_columns()).collect();
            assert_eq!(counted, asked.project(&columns).unwrap(), "{keys:?} {predicate:?}");
        }
    }
}

/// Counts and exact sums without keys, filtered and not, beside a `MIN` that only the query engine answers.
#[test]
fn totals_are_those_of_the_query_engine() {
    let mut random = Random::announced("totals");
    let fixture = two_parts(&mut random);
    let exact = |factors: &[&str], filter: &str| {
        let factors = factors.iter().map(|factor| format!("CAST({factor} AS DECIMAL(38,0))"));
        format!("SUM({}){filter}", factors.collect::<Vec<_>>().join(" * "))
    };
    let conditions =
        ["\"year\" >= 2022", "\"weight\" IS NULL", "\"year\" > 3000", "\"weight\" > \"year\" - 2000"];
    let mut drawn = |choices: &[&str]| choices[random.below(choices.len() as u64) as usize].to_owned();
    for round in 0..24 {
        let filter = |condition: String| format!(" FILTER (WHERE {condition})");
        let filters = [String::new(), filter(drawn(&conditions)), filter(drawn(&conditions))];
        let calls: Vec<String> = vec![
            "COUNT(*)".to_owned(),
            format!("COUNT(\"weight\"){}", filters[1]),
            exact(&["\"weight\""], &filters[0]),
            exact(&["\"weight\"", "\"year\""], &filters[1]),
            // Fails on rows that no condition lets pass: weights are below 1001.
            exact(&["(9223372036854775807 - 1001 + \"weight\")"], &filters[2]),
            format!("{} + 1", exact(&["\"year\""], &filters[2])),
            format!("COUNT(*){}", filters[2]),
        ];
        let predicate = (round % 3 > 0).then(|| drawn(&conditions));
        // One at a time: a call that only the query engine answers would take all others with it.
        for call in &calls {
            let clear = |more: &[&str]| {
                let clear = ["COUNT(*)", call].iter().chain(more).map(|call| (*call).to_owned()).collect();
                let task = AggregateTask { clear, ..task(&[], Vec::new(), &[]) };
                let plan = fixture.plan(predicate.as_deref(), Task::Aggregate(task));
                let bytes = fixture.engine(2).run(&plan).unwrap();
                Answer::decode(&bytes, u64::MAX).unwrap().clear(1 << 20).unwrap()
            };
            let (found, asked) = (clear(&[]), clear(&["MIN(\"year\")"]));
            assert_eq!(found, asked.project(&[0, 1]).unwrap(), "{call} {predicate:?}");
        }
    }
}

/// An argument that overflows fails where a condition lets its row pass, and nowhere else.
#[test]
fn arguments_of_totals_see_matching_rows_alone() {
    let fixture = Fixture::random(&mut Random::announced("overflow"), &[3000]);
    let sum = "SUM(CAST(9223372036854775807 - 2020 + \"year\" AS DECIMAL(38,0)))";
    let run = |predicate: Option<&str>, filter: &str| {
        let task = AggregateTask {
            clear: vec!["COUNT(*)".to_owned(), format!("{sum}{filter}")],
            ..task(&[], Vec::new(), &[])
        };
        fixture.engine(1).run(&fixture.plan(predicate, Task::Aggregate(task)))
    };
    for (predicate, filter) in [(Some("\"year\" = 2020"), ""), (None, " FILTER (WHERE \"year\" < 2021)")] {
        run(predicate, filter).unwrap();
    }
    assert!(matches!(run(None, ""), Err(ExecError::Evaluation { .. })));
}

/// Every aggregate that the planner can ask of clear columns is on the server's list, and known to the query engine.
#[test]
fn every_aggregate_that_the_planner_asks_for_is_answered() {
    let fixture = Fixture::random(&mut Random::announced("aggregates"), &[300]);
    let call = |name: &str| match name {
        "bool_and" | "bool_or" => format!("{name}(\"year\" > 0)"),
        _ => format!("{name}(CAST(\"year\" AS DOUBLE))"),
    };
    for name in engine_aggregates() {
        let clear = vec!["COUNT(*)".to_owned(), call(name)];
        let task = AggregateTask { clear, ..task(&[], Vec::new(), &[]) };
        let bytes = fixture.engine(1).run(&fixture.plan(None, Task::Aggregate(task)));
        let bytes = bytes.unwrap_or_else(|error| panic!("{name}: {error}"));
        let clear = Answer::decode(&bytes, u64::MAX).unwrap().clear(1 << 20).unwrap();
        assert!(clear.column(1).is_valid(0), "{name}");
    }
}

#[test]
fn signed_weights_with_nulls() {
    let mut random = Random::announced("weights");
    let fixture = two_parts(&mut random);
    let weighted = Mask { condition: None, weight: Some("CAST(\"weight\" AS DECIMAL(38,0))".to_owned()) };
    let integer = Mask {
        condition: Some(Predicate::clear("\"year\" <> 2022")),
        weight: Some("-3 * \"weight\"".to_owned()),
    };
    let task = task(&["\"ward\""], vec![weighted, integer], &[(0, VALUE), (1, VALUE), (0, SQUARE)]);
    let Decrypted { sums, .. } = ask(&fixture, 2, None, &task);
    let key = |row: &Row| Some(row.ward.clone());
    let weight = |row: &Row| I256::from(row.weight.unwrap_or(0));
    let first = grouped(&fixture.rows, key, |row| weight(row) * value(row));
    let second = grouped(&fixture.rows, key, |row| {
        if row.year == 2022 { I256::ZERO } else { I256::from(-3) * weight(row) * value(row) }
    });
    let third = grouped(&fixture.rows, key, |row| weight(row) * value(row) * value(row));
    for (group, found) in sums.iter().enumerate() {
        let expected = [&first, &second, &third].map(|groups| groups.values().nth(group).unwrap().1);
        assert_eq!(*found, expected, "group {group}");
    }
}

#[test]
fn no_matching_row_gives_one_zero_group_without_keys_and_none_with() {
    let mut random = Random::announced("nothing");
    let fixture = Fixture::random(&mut random, &[3000]);
    let sums = [(0, VALUE), (0, VALID)];
    let found = ask(&fixture, 2, Some("\"year\" > 3000"), &task(&[], vec![everything()], &sums));
    assert_eq!(counts(&found.clear), [0]);
    assert_eq!(found.sums, [vec![I256::ZERO, I256::ZERO]]);
    let found = ask(&fixture, 2, Some("\"year\" > 3000"), &task(&["\"ward\""], vec![everything()], &sums));
    assert_eq!(found.clear.num_rows(), 0);
}

#[test]
fn one_row_and_exact_chunks() {
    let mut random = Random::announced("one row");
    for parts in [&[1_usize][..], &[8192], &[8192, 1]] {
        let fixture = Fixture::random(&mut random, parts);
        let task = task(&[], vec![everything()], &[(0, VALUE), (0, SQUARE)]);
        let expected: I256 = fixture.rows.iter().map(value).sum();
        let squares: I256 = fixture.rows.iter().map(|row| value(row) * value(row)).sum();
        assert_eq!(ask(&fixture, 1, None, &task).sums, [vec![expected, squares]]);
        let all = ask(&fixture, 2, Some("\"year\" >= 2020"), &task);
        assert_eq!(all.sums, [vec![expected, squares]]);
    }
}

#[test]
fn a_table_without_clear_columns() {
    let mut random = Random::announced("no clear columns");
    let fixture = Fixture::without_clear(&mut random, &[8192 + 5, 77]);
    let task = task(&[], vec![everything()], &[(0, VALUE)]);
    let found = ask(&fixture, 2, None, &task);
    assert_eq!(counts(&found.clear), [fixture.rows.len() as u64]);
    assert_eq!(found.sums, [vec![fixture.rows.iter().map(value).sum::<I256>()]]);
    let nothing = ask(&fixture, 2, Some("1 = 0"), &task);
    assert_eq!((counts(&nothing.clear), nothing.sums), (vec![0], vec![vec![I256::ZERO]]));
}

#[test]
fn approximate_sums() {
    let mut random = Random::announced("approximate");
    let fixture = Fixture::random(&mut random, &[9000]);
    let task = task(&["\"year\""], vec![everything()], &[(0, REAL_SUM)]);
    let plan = fixture.plan(None, Task::Aggregate(task.clone()));
    let bytes = fixture.engine(2).run(&plan).unwrap();
    let answer = Answer::decode(&bytes, u64::MAX).unwrap();
    for (group, year) in (2020..2025).enumerate() {
        let rows = fixture.rows.iter().filter(|row| row.year == year);
        let expected: f64 = rows.clone().map(|row| row.real).sum();
        let found = decrypt_real(&fixture, &answer, &task, group as u32, 0);
        let bound = hush_params::noise::ckks_sum_error_log2(36.0, rows.count() as f64, 1.0, 1.0).exp2();
        assert!((found - expected).abs() <= bound + 1e-7, "year {year}: off by {}", found - expected);
    }
}

#[test]
fn answers_are_the_same_bytes_whatever_the_threads_the_passes_and_the_caches() {
    let mut random = Random::announced("determinism");
    let fixture = two_parts(&mut random);
    let mut task = task(
        &["\"ward\"", "\"year\""],
        vec![everything(), Mask { condition: None, weight: Some("\"weight\"".to_owned()) }],
        &[(0, VALUE), (1, VALUE), (0, VALID)],
    );
    task.clear.extend([
        "SUM(\"ratio\")".to_owned(),
        "MIN(\"day\")".to_owned(),
        "STDDEV(\"ratio\")".to_owned(),
    ]);
    let plan = fixture.plan(Some("\"ratio\" < 500"), Task::Aggregate(task));
    let one = fixture.engine(1);
    let first = one.run(&plan).unwrap();
    assert_eq!(one.run(&plan).unwrap(), first);
    assert_eq!(fixture.engine(2).run(&plan).unwrap(), first);
    // So little memory that groups are worked off a few at a time.
    let tight = Limits { memory_bytes: 8 << 20, ..Limits::default() };
    let tight = Engine::for_table(fixture.store.clone(), 2, tight).unwrap();
    assert_eq!(tight.run(&plan).unwrap(), first);
}

#[test]
fn clear_aggregates_of_every_kind() {
    let mut random = Random::announced("clear aggregates");
    let fixture = Fixture::random(&mut random, &[2500]);
    let mut task = task(&["\"ward\""], vec![], &[]);
    task.clear.extend(
        [
            "SUM(CAST(\"weight\" AS DECIMAL(38,0)))",
            "COUNT(\"weight\")",
            "CAST(MAX(\"day\") AS VARCHAR)",
            "SUM(\"weight\") FILTER (WHERE \"year\" = 2021) + 1",
            "COUNT(DISTINCT \"year\")",
        ]
        .map(str::to_owned),
    );
    let found = ask(&fixture, 2, None, &task);
    let names: Vec<_> = found.clear.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["k0", "c0", "c1", "c2", "c3", "c4", "c5"]);
    let weights =
        grouped(&fixture.rows, |row| Some(row.ward.clone()), |row| I256::from(row.weight.unwrap_or(0)));
    let sums =
        arrow::compute::cast(found.clear.column_by_name("c1").unwrap(), &arrow::datatypes::DataType::Int64)
            .unwrap();
    let sums = arrow::array::AsArray::as_primitive::<arrow::datatypes::Int64Type>(&sums);
    let expected: Vec<i64> = weights.values().map(|group| group.1.as_i64()).collect();
    assert_eq!(sums.values().as_ref(), expected.as_slice());
}

#[test]
fn too_many_groups_and_too_large_answers_are_refused_before_the_work() {
    let mut random = Random::announced("limits");
    let fixture = Fixture::random(&mut random, &[600]);
    let mut by_weight = task(&["\"weight\""], vec![everything()], &[(0, VALUE)]);
    by_weight.max_groups = 10;
    let plan = fixture.plan(None, Task::Aggregate(by_weight.clone()));
    let error = fixture.engine(2).run(&plan).unwrap_err();
    assert!(matches!(error, ExecError::GroupLimit { limit: 10 }), "{error}");
    by_weight.max_groups = 10_000;
    let mut plan = fixture.server_plan(None, Task::Aggregate(by_weight));
    plan.max_answer_bytes = 100_000;
    let error = fixture.engine(2).run(&serde_json::to_vec(&plan).unwrap()).unwrap_err();
    assert_eq!(error.code(), "HUSH-E041");
    let tiny = Limits { memory_bytes: 1 << 17, ..Limits::default() };
    let plan = fixture.plan(None, Task::Aggregate(task(&[], vec![everything()], &[(0, SQUARE)])));
    let error = Engine::for_table(fixture.store.clone(), 1, tiny).unwrap().run(&plan).unwrap_err();
    assert_eq!(error.code(), "HUSH-E042");
}

/// The memory limit holds for counted groups too, whether their keys are integers or texts.
#[test]
fn counted_groups_that_exceed_the_memory_are_refused() {
    let fixture = Fixture::random(&mut Random::announced("counted groups"), &[600]);
    for (key, enough) in [("\"weight\"", 1 << 18), ("CONCAT(\"ward\", CAST(\"weight\" AS VARCHAR))", 1 << 19)]
    {
        let plan = fixture.plan(None, Task::Aggregate(task(&[key], vec![], &[])));
        let limited = |memory_bytes| {
            let limits = Limits { memory_bytes, ..Limits::default() };
            Engine::for_table(fixture.store.clone(), 2, limits).unwrap().run(&plan)
        };
        assert_eq!(limited(1 << 14).unwrap_err().code(), "HUSH-E042", "{key}");
        let expected = fixture.engine(1).run(&plan).unwrap();
        assert_eq!(limited(enough).unwrap(), expected, "{key}");
    }
}

/// Conditions that the query engine's simplifier gets wrong, functions that it alone expands, floats beside decimals:
/// counts by the clear half, by the masks and by plain logic agree.
#[test]
fn both_halves_agree_with_three_valued_logic() {
    let fixture = Fixture::random(&mut Random::announced("logic"), &[700]);
    let not_in = |weight: Option<i64>, list: &[i64]| weight.map(|weight| !list.contains(&weight));
    type Logic<'a> = (&'a str, Box<dyn Fn(&crate::fixture::Row) -> bool + 'a>);
    let cases: [Logic<'_>; 7] = [
        (
            "\"weight\" NOT IN (1, 2) OR \"weight\" NOT IN (3, 4)",
            Box::new(|row| row.weight.is_some() && not_in(row.weight, &[]).is_some()),
        ),
        ("COALESCE(\"weight\", 2) = 2", Box::new(|row| row.weight.unwrap_or(2) == 2)),
        ("NVL(\"weight\", 0) >= 0", Box::new(|row| row.weight.unwrap_or(0) >= 0)),
        ("(\"weight\" > 0) IS TRUE", Box::new(|row| row.weight.is_some_and(|weight| weight > 0))),
        // The least integer of 64 bits has no negative of 64 bits.
        ("-(\"weight\" - \"weight\" - 9223372036854775807 - 1) > 0", Box::new(|row| row.weight.is_some())),
        ("0 * \"weight\" = 0", Box::new(|row| row.weight.is_some())),
        ("(\"weight\" > 0) IS NOT FALSE", Box::new(|row| row.weight.is_none_or(|weight| weight > 0))),
    ];
    for (predicate, holds) in &cases {
        let task = task(&[], vec![everything()], &[(0, VALID)]);
        let found = ask(&fixture, 2, Some(predicate), &task);
        let rows: Vec<_> = fixture.rows.iter().filter(|row| holds(row)).collect();
        assert_eq!(counts(&found.clear), [rows.len() as u64], "{predicate}");
        let valid = rows.iter().filter(|row| row.value.is_some()).count();
        assert_eq!(found.sums, [[I256::from(valid as i64)]], "{predicate}");
    }
    let mut filtered = task(&[], vec![], &[]);
    filtered.clear.push("SUM(\"year\") FILTER (WHERE (\"weight\" > 0) IS NOT TRUE)".to_owned());
    fixture.engine(1).run(&fixture.plan(None, Task::Aggregate(filtered))).unwrap();
    // A compared product may have any size; a divided one must fit 64 bits.
    let all = task(&[], vec![], &[]);
    let wide = fixture.plan(Some("\"year\" * 9223372036854775807 > \"year\""), Task::Aggregate(all.clone()));
    fixture.engine(1).run(&wide).unwrap();
    let wrapping = fixture.plan(Some("\"year\" * 9223372036854775807 % 5 = 0"), Task::Aggregate(all));
    assert_eq!(fixture.engine(1).run(&wrapping).unwrap_err().code(), "HUSH-E050");
}

/// `year` ascends over the table, so most parts have no matching row. Sums and rows are those of the other parts.
#[test]
fn parts_without_a_matching_row_are_passed_over() {
    let mut random = Random::announced("zones");
    let fixture = Fixture::random(&mut random, &[700, 700, 700, 700, 700]);
    for (predicate, holds) in [
        ("\"year\" = 2022", (|row| row.year == 2022) as fn(&Row) -> bool),
        ("\"year\" > 2023 OR \"year\" < 2021", |row| !(2021..2024).contains(&row.year)),
        ("\"day\" < DATE '1960-01-01'", |_| false),
        ("\"year\" = 2021 AND ABS(\"weight\") > 10", |row| {
            row.year == 2021 && row.weight.is_some_and(|weight| weight.abs() > 10)
        }),
    ] {
        let task = task(&["\"ward\""], vec![everything()], &[(0, VALUE), (0, SQUARE)]);
        let Decrypted { clear, sums } = ask(&fixture, 2, Some(predicate), &task);
        let key = |row: &Row| holds(row).then(|| row.ward.clone());
        let values = grouped(&fixture.rows, key, value);
        let squares = grouped(&fixture.rows, key, |row| value(row) * value(row));
        assert_eq!(counts(&clear), values.values().map(|group| group.0).collect::<Vec<_>>(), "{predicate}");
        let expected: Vec<_> = values.values().zip(squares.values()).map(|(v, s)| vec![v.1, s.1]).collect();
        assert_eq!(sums, expected, "{predicate}");
    }
}

/// Parts that the zone file rules out are not opened, and cost nothing in a cut of the table; partial answers cover them all the same.
#[test]
fn parts_that_zones_rule_out_may_be_missing() {
    let mut random = Random::announced("zone file");
    for (predicate, is_selective) in [
        ("\"year\" = 2022", true),
        ("\"year\" > 2023 OR \"year\" < 2021", true),
        ("\"day\" < DATE '1960-01-01'", true),
        ("\"year\" + 0 = 2022", false),
    ] {
        for keys in [&[][..], &["\"ward\""], &["\"year\" * 2"]] {
            let fixture = Fixture::random(&mut random, &[300; 10]);
            assert!(fixture.signed.manifest().zones.is_some());
            let task = task(keys, vec![everything()], &[(0, VALUE), (0, SQUARE)]);
            let plan = fixture.plan(Some(predicate), Task::Aggregate(task));
            let (engine, never) = (fixture.engine(2), Arc::new(Stop::never()));
            let expected = engine.run(&plan).unwrap();
            let sizes = engine.part_sizes(&plan).unwrap();
            assert_eq!(sizes.len(), 10);
            assert_eq!(sizes.iter().any(|size| size.bytes == 0), is_selective, "{predicate}");
            // Files of these parts are gone: nobody looks.
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let parts = &fixture.signed.manifest().parts;
            for part in parts.iter().zip(&sizes).filter(|(_, size)| size.bytes == 0).map(|(part, _)| part) {
                let files = [(FileKind::Clear, part.clear), (FileKind::Encrypted, part.encrypted)];
                for (kind, file) in files {
                    let path = fixture.store.part_path(kind, &file.unwrap().digest);
                    runtime.block_on(fixture.store.objects().delete(&path)).unwrap();
                }
            }
            let fresh = fixture.engine(2);
            assert_eq!(fresh.run(&plan).unwrap(), expected, "{predicate}");
            let mut combiner = fresh.combiner(&plan, &never).unwrap();
            for part in 0..10 {
                combiner
                    .push(&fresh.run_parts(&plan, &PartSet::from(part..part + 1), &never).unwrap())
                    .unwrap();
            }
            assert_eq!(combiner.finish().unwrap(), expected, "{predicate}");
        }
    }
}
