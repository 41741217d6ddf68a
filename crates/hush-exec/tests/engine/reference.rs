// SPDX-License-Identifier: Apache-2.0
//! Decrypts answers, and computes the same results on the plaintext.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, UInt64Type};
use ethnum::I256;
use hush_exec::answer::{Answer, EncryptedHalf, Strata, sum_blocks};
use hush_keys::{PhaseLimit, SecretKind, decrypt_approx_sum, decrypt_sum};
use hush_plan::EncodingId;
use hush_plan::plan::{AggregateTask, EncryptedSum, Mask, Task};
use hush_rlwe::UncheckedSumAnswer;
use hush_schemes::ckks::Scale;
use hush_table::Digest;

use crate::fixture::{
    Fixture, Row, SCALE, SQUARE, SQUARE_T, VALID, VALID_T, VALUE_T, ring, secret_id, set_name,
};

/// A decrypted aggregate answer.
pub(crate) struct Decrypted {
    pub(crate) clear: RecordBatch,
    /// For each group the sums of the plan, in order.
    pub(crate) sums: Vec<Vec<I256>>,
}

/// Runs an aggregate plan and decrypts all sums, which must be of exact columns.
pub(crate) fn ask(
    fixture: &Fixture,
    threads: usize,
    predicate: Option<&str>,
    task: &AggregateTask,
) -> Decrypted {
    let plan = fixture.plan(predicate, Task::Aggregate(task.clone()));
    let bytes = fixture.engine(threads).run(&plan).unwrap();
    decrypt(fixture, &plan, &bytes, task)
}

pub(crate) fn decrypt(fixture: &Fixture, plan: &[u8], bytes: &[u8], task: &AggregateTask) -> Decrypted {
    let answer = Answer::decode(bytes, u64::MAX).unwrap();
    answer.expect(fixture.signed.digest(), Digest::of(plan)).unwrap();
    let clear = answer.clear(1 << 20).unwrap();
    let sums = (0..clear.num_rows() as u32)
        .map(|group| {
            let sum = |index| decrypt_one(fixture, &answer, task, group, index);
            (0..task.sums.len()).map(sum).collect()
        })
        .collect();
    Decrypted { clear, sums }
}

fn decrypt_one(fixture: &Fixture, answer: &Answer<'_>, task: &AggregateTask, group: u32, sum: usize) -> I256 {
    let column = task.sums[sum].column;
    let (answer, body) = conform(fixture, answer, task, group, sum);
    let t_log2 = match column {
        VALID => VALID_T,
        SQUARE => SQUARE_T,
        _ => VALUE_T,
    };
    let ring = ring(set_name(column));
    decrypt_sum(
        &fixture.keys().secret(SecretKind::Sum, &ring, secret_id(column)),
        &answer,
        body,
        t_log2,
        PhaseLimit::NONE,
    )
    .unwrap()
}

/// Decrypts one sum of the approximate column.
pub(crate) fn decrypt_real(
    fixture: &Fixture,
    answer: &Answer<'_>,
    task: &AggregateTask,
    group: u32,
    sum: usize,
) -> f64 {
    let column = task.sums[sum].column;
    let (answer, body) = conform(fixture, answer, task, group, sum);
    let ring = ring(set_name(column));
    let secret = fixture.keys().secret(SecretKind::ApproxSum, &ring, secret_id(column));
    decrypt_approx_sum(&secret, &answer, body, Scale::from_log2(SCALE).unwrap()).unwrap()
}

fn conform(
    fixture: &Fixture,
    answer: &Answer<'_>,
    task: &AggregateTask,
    group: u32,
    sum: usize,
) -> (hush_rlwe::SumAnswer, usize) {
    let EncryptedHalf::Aggregate(sums) = &answer.encrypted else { panic!("rows") };
    let (blocks, places) = sum_blocks(&task.sums, fixture.encodings(), &Strata::none()).unwrap();
    let place = places[sum][0];
    let (spec, block) = (&blocks[place.block], &sums.blocks[place.block]);
    assert_eq!(
        (block.mask as usize, block.param_code, block.body_count as usize),
        (spec.mask, spec.set.code(), spec.columns.len())
    );
    let object = block.object(group).unwrap();
    let ring = ring(spec.set.name());
    let unchecked = UncheckedSumAnswer::decode(object).unwrap();
    (unchecked.conform(&ring, group, spec.columns.len() as u32).unwrap(), place.body)
}

/// A task with sums of some columns under some masks.
pub(crate) fn task(keys: &[&str], masks: Vec<Mask>, sums: &[(usize, EncodingId)]) -> AggregateTask {
    AggregateTask {
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        clear: vec!["COUNT(*)".to_owned()],
        masks,
        sums: sums.iter().map(|(mask, column)| EncryptedSum { mask: *mask, column: *column }).collect(),
        max_groups: 10_000,
    }
}

pub(crate) fn everything() -> Mask {
    Mask { condition: None, weight: None }
}

/// `Σ weight·field` over the rows of each group, by the text of the group's key.
pub(crate) fn grouped<K: Ord>(
    rows: &[Row],
    key: impl Fn(&Row) -> Option<K>,
    term: impl Fn(&Row) -> I256,
) -> BTreeMap<K, (u64, I256)> {
    let mut groups = BTreeMap::new();
    for row in rows {
        if let Some(key) = key(row) {
            let (count, sum) = groups.entry(key).or_insert((0, I256::ZERO));
            *count += 1;
            *sum += term(row);
        }
    }
    groups
}

pub(crate) fn counts(batch: &RecordBatch) -> Vec<u64> {
    let counts = batch.column_by_name("c0").unwrap().as_primitive::<Int64Type>();
    counts.values().iter().map(|count| *count as u64).collect()
}

pub(crate) fn texts(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = batch.column_by_name(name).unwrap().as_string::<i32>();
    (0..column.len()).map(|row| column.is_valid(row).then(|| column.value(row).to_owned())).collect()
}

pub(crate) fn numbers(batch: &RecordBatch) -> Vec<u64> {
    batch.column_by_name("row").unwrap().as_primitive::<UInt64Type>().values().to_vec()
}
