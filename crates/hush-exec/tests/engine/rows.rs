// SPDX-License-Identifier: Apache-2.0
//! Element-wise programs against plain arithmetic.

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use ethnum::I256;
use hush_exec::answer::{Answer, EncryptedHalf, RowsChunk};
use hush_exec::packing::rounding;
use hush_exec::program::shape;
use hush_keys::{PhaseLimit, SecretKind, decrypt_approx_slots, decrypt_slots, decrypt_sum_chunk};
use hush_params::size::MAX_ROUNDED_BITS;
use hush_plan::EncodingId;
use hush_plan::packing::{Packing, Sum};
use hush_plan::plan::{RowsTask, SlotExpr, Task};
use hush_ring::UniformSeed;
use hush_rlwe::{BodyId, BodyKind, CiphertextSetId, UncheckedBody, UncheckedCiphertextSet, body_bytes};
use hush_schemes::bgv::slots::SlotEncoder;
use hush_schemes::ckks::{ApproxEncoder, Scale};
use hush_table::CHUNK_ROWS;

use crate::fixture::{
    Fixture, REAL, Random, Row, SCALE, SLOTS_ID, VALID, VALID_T, VALUE, VALUE_T, X, Y, primes, ring,
    secret_id, set_name,
};
use crate::reference::numbers;

fn column(id: EncodingId) -> Box<SlotExpr> {
    Box::new(SlotExpr::Column(id))
}

fn constant(text: &str) -> Box<SlotExpr> {
    Box::new(SlotExpr::Constant(text.to_owned()))
}

fn rows_task(clear: &[&str], operands: &[&str], programs: Vec<SlotExpr>, fetch: &[EncodingId]) -> RowsTask {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    RowsTask {
        clear: texts(clear),
        operands: texts(operands),
        programs,
        fetch: fetch.to_vec(),
        program_bits: Vec::new(),
        fetch_bits: Vec::new(),
        sealed: vec![],
        operand_limit_log2: 20,
        cube: None,
        run: None,
        limit: None,
    }
}

/// A rows answer with the programs' slots for every row of every chunk in it.
struct FoundRows {
    clear: RecordBatch,
    /// Row number, then the value of each exact program.
    exact: Vec<(u64, Vec<I256>)>,
    approximate: Vec<(u64, Vec<f64>)>,
    fetched: Vec<(u64, Vec<I256>)>,
    chunks: Vec<u32>,
}

fn ask(fixture: &Fixture, threads: usize, predicate: Option<&str>, task: &RowsTask) -> FoundRows {
    let plan = fixture.plan(predicate, Task::Rows(task.clone()));
    let bytes = fixture.engine(threads).run(&plan).unwrap();
    let answer = Answer::decode(&bytes, u64::MAX).unwrap();
    let EncryptedHalf::Rows(chunks) = &answer.encrypted else { panic!("aggregate") };
    let clear = answer.clear(1 << 20).unwrap();
    let mut found = FoundRows {
        chunks: chunks.iter().map(|chunk| chunk.chunk).collect(),
        clear,
        exact: Vec::new(),
        approximate: Vec::new(),
        fetched: Vec::new(),
    };
    let first_rows = first_rows(fixture);
    let matching = numbers(&found.clear);
    for chunk in chunks {
        let first = first_rows[chunk.chunk as usize];
        let decrypted: Vec<Slots> =
            (0..task.programs.len()).map(|program| decrypt_program(fixture, task, chunk, program)).collect();
        let fetched: Vec<Vec<I256>> =
            (0..task.fetch.len()).map(|index| decrypt_fetched(fixture, task, chunk, index)).collect();
        for row in matching.iter().filter(|row| (first..first + u64::from(chunk.rows)).contains(row)) {
            let slot = (row - first) as usize;
            let mut exact = Vec::new();
            let mut approximate = Vec::new();
            for values in &decrypted {
                match values {
                    Slots::Exact(values) => exact.push(values[slot]),
                    Slots::Approximate(values) => approximate.push(values[slot]),
                }
            }
            found.exact.push((*row, exact));
            found.approximate.push((*row, approximate));
            found.fetched.push((*row, fetched.iter().map(|values| values[slot]).collect()));
        }
    }
    found
}

enum Slots {
    Approximate(Vec<f64>),
    Exact(Vec<I256>),
}

fn decrypt_program(fixture: &Fixture, task: &RowsTask, chunk: &RowsChunk<'_>, program: usize) -> Slots {
    let shape = shape(program, &task.programs[program], task.operands.len(), fixture.encodings()).unwrap();
    let ring = ring(shape.set.name());
    let kind = if shape.scale_power == 0 { SecretKind::Slots } else { SecretKind::ApproxSlots };
    let secret = fixture.keys().secret(kind, &ring, SLOTS_ID);
    let id = CiphertextSetId {
        chunk: chunk.chunk,
        element_count: shape.packing.element_count(shape.set, chunk.rows),
        lanes: shape.lanes(),
        components: shape.components(),
    };
    let object = chunk.programs[program];
    let set = match task.bits_of_program(program) {
        Some(bits) => rounding(&ring, &shape.packing, bits).unwrap().unwrap().restore_ciphertexts(object, id),
        None => UncheckedCiphertextSet::decode(object).unwrap().conform(&ring, id),
    };
    let set = set.unwrap();
    if shape.scale_power == 0 {
        let encoder = SlotEncoder::new(&ring, primes()).unwrap();
        let lanes = usize::from(shape.lanes());
        let elements = set.ciphertexts.chunks(lanes);
        return Slots::Exact(
            elements
                .flat_map(|lanes| decrypt_slots(&secret, &encoder, lanes, PhaseLimit::NONE).unwrap())
                .collect(),
        );
    }
    let encoder = ApproxEncoder::new(&ring);
    let scale = Scale::from_log2(SCALE * shape.scale_power).unwrap();
    let elements = set.ciphertexts.iter();
    Slots::Approximate(
        elements.flat_map(|ct| decrypt_approx_slots(&secret, &encoder, ct, scale).unwrap()).collect(),
    )
}

fn decrypt_fetched(fixture: &Fixture, task: &RowsTask, chunk: &RowsChunk<'_>, index: usize) -> Vec<I256> {
    let column = task.fetch[index];
    let t_log2 = if column == VALID { VALID_T } else { VALUE_T };
    let ring = ring(set_name(column));
    let id = BodyId {
        column: column.0,
        chunk: chunk.chunk,
        element_count: chunk.rows.div_ceil(ring.degree() as u32),
        lanes: 1,
    };
    let blob = chunk.fetched[index];
    let whole = match task.bits_of_fetch(index) {
        Some(bits) => {
            assert!(blob.len() < body_bytes(&ring, id.element_count, 1));
            let rounding = rounding(&ring, &Packing::Sum(Sum { t_log2 }), bits).unwrap();
            rounding.unwrap().restore_body(blob, BodyKind::Sum, id).unwrap()
        }
        None => blob.to_vec(),
    };
    let body = UncheckedBody::decode(&whole).unwrap().conform(&ring, BodyKind::Sum, id).unwrap();
    let secret = fixture.keys().secret(SecretKind::Sum, &ring, secret_id(column));
    let seed = UniformSeed::from_bytes(chunk.seed);
    decrypt_sum_chunk(&secret, seed, &body, chunk.rows as usize, t_log2, PhaseLimit::NONE).unwrap()
}

/// First row of every chunk; a part's last chunk may be short.
fn first_rows(fixture: &Fixture) -> Vec<u64> {
    let mut first = 0;
    let mut rows = Vec::new();
    for part in &fixture.signed.manifest().parts {
        rows.extend((0..u64::from(part.chunks)).map(|chunk| first + chunk * u64::from(CHUNK_ROWS)));
        first += part.rows;
    }
    rows
}

fn matching(fixture: &Fixture, keep: impl Fn(&Row) -> bool) -> Vec<(u64, &Row)> {
    (0_u64..).zip(&fixture.rows).filter(|(_, row)| keep(row)).collect()
}

#[test]
fn exact_programs_with_constants_and_clear_operands() {
    let mut random = Random::announced("exact programs");
    let fixture = Fixture::random(&mut random, &[8192 + 300, 1000]);
    let product = SlotExpr::Mul(
        Box::new(SlotExpr::Sub(column(X), Box::new(SlotExpr::Clear(0)))),
        Box::new(SlotExpr::Add(column(Y), constant("-12345"))),
    );
    let linear = SlotExpr::Add(
        Box::new(SlotExpr::Mul(constant("-7"), column(X))),
        Box::new(SlotExpr::Neg(Box::new(SlotExpr::Mul(
            Box::new(SlotExpr::Add(Box::new(SlotExpr::Clear(1)), constant("3"))),
            column(Y),
        )))),
    );
    let alone = SlotExpr::Sub(constant("10"), column(Y));
    let task = rows_task(
        &["\"ward\"", "\"year\" + 1"],
        &["\"weight\"", "CAST(\"year\" AS DECIMAL(38,0))"],
        vec![product, linear, alone],
        &[VALUE, VALID],
    );
    let rounded = RowsTask {
        program_bits: vec![Some(MAX_ROUNDED_BITS), Some(60), None],
        fetch_bits: vec![None, Some(VALID_T + 1)],
        ..task.clone()
    };
    check_exact(&fixture, &task);
    check_exact(&fixture, &rounded);
}

/// Checks the answer to the task of [`exact_programs_with_constants_and_clear_operands`], rounded or not.
fn check_exact(fixture: &Fixture, task: &RowsTask) {
    let found = ask(fixture, 2, Some("\"weight\" > 900 OR \"weight\" IS NULL"), task);
    let expected = matching(fixture, |row| row.weight.is_none_or(|weight| weight > 900));
    assert_eq!(numbers(&found.clear), expected.iter().map(|(number, _)| *number).collect::<Vec<_>>());
    let years = found.clear.column_by_name("c1").unwrap().as_primitive::<Int64Type>();
    for (index, (number, row)) in expected.iter().enumerate() {
        let (x, y) = (I256::from(row.x), I256::from(row.y));
        let weight = I256::from(row.weight.unwrap_or(0));
        let values = vec![
            (x - weight) * (y - I256::from(12345)),
            I256::from(-7) * x - I256::from(row.year + 3) * y,
            I256::from(10) - y,
        ];
        assert_eq!(found.exact[index], (*number, values), "row {number}");
        let (value, valid) = (row.value.unwrap_or(0).into(), u8::from(row.value.is_some()).into());
        assert_eq!(found.fetched[index], (*number, vec![value, valid]));
        assert_eq!(years.value(index), row.year + 1);
    }
}

#[test]
fn approximate_programs_at_several_scales() {
    let mut random = Random::announced("approximate programs");
    let fixture = Fixture::random(&mut random, &[5000]);
    let square = SlotExpr::Mul(column(REAL), column(REAL));
    let mixed = SlotExpr::Add(
        Box::new(square),
        Box::new(SlotExpr::Sub(
            Box::new(SlotExpr::Mul(column(REAL), constant("0.25"))),
            Box::new(SlotExpr::Clear(0)),
        )),
    );
    let doubled = SlotExpr::Sub(Box::new(SlotExpr::Mul(constant("2"), column(REAL))), constant("1.5"));
    let task = rows_task(&[], &["\"ratio\""], vec![mixed, doubled], &[]);
    let found = ask(&fixture, 2, Some("\"year\" = 2023"), &task);
    let expected = matching(&fixture, |row| row.year == 2023);
    assert_eq!(found.approximate.len(), expected.len());
    for ((number, values), (expected_number, row)) in found.approximate.iter().zip(&expected) {
        assert_eq!(number, expected_number);
        let mixed = row.real * row.real + row.real * 0.25 - row.ratio.unwrap_or(0.0);
        assert!((values[0] - mixed).abs() < 1e-3, "row {number}: off by {}", values[0] - mixed);
        let doubled = 2.0 * row.real - 1.5;
        assert!((values[1] - doubled).abs() < 1e-5, "row {number}: off by {}", values[1] - doubled);
    }
}

#[test]
fn chunks_without_matches_are_left_out_and_limits_stop_early() {
    let mut random = Random::announced("limit");
    let fixture = Fixture::random(&mut random, &[8192 * 2 + 10, 8192]);
    let mut task = rows_task(&["\"day\""], &[], vec![*column(X)], &[]);
    let last = ask(&fixture, 2, Some("\"year\" = 2024"), &task);
    let expected = matching(&fixture, |row| row.year == 2024);
    assert_eq!(numbers(&last.clear).len(), expected.len());
    assert!(!last.chunks.contains(&0), "{:?}", last.chunks);
    for limit in [0, 1, 8192, 8193] {
        task.limit = Some(limit);
        let found = ask(&fixture, 2, None, &task);
        assert_eq!(numbers(&found.clear), (0..limit).collect::<Vec<_>>());
        assert_eq!(found.chunks, (0..limit.div_ceil(8192) as u32).collect::<Vec<_>>());
        for (number, values) in &found.exact {
            assert_eq!(values[0], I256::from(fixture.rows[*number as usize].x));
        }
    }
    let nothing = ask(&fixture, 1, Some("\"year\" < 0"), &task);
    assert_eq!((nothing.clear.num_rows(), nothing.chunks.len()), (0, 0));
}

#[test]
fn expressions_see_matching_rows_alone_and_failures_name_their_place() {
    let mut random = Random::announced("evaluation");
    let fixture = Fixture::random(&mut random, &[4000]);
    // Only a missing ward converts to a number, NULL.
    let task = rows_task(&["CAST(\"ward\" AS BIGINT)"], &[], vec![], &[]);
    let found = ask(&fixture, 1, Some("\"ward\" IS NULL"), &task);
    assert!(found.clear.num_rows() > 100 && found.chunks.is_empty());
    let plan = fixture.plan(None, Task::Rows(task));
    let Err(error) = fixture.engine(1).run(&plan) else { panic!("the first ward is no number") };
    assert_eq!(error.code(), "HUSH-E050");
    assert!(error.to_string().contains("c0"), "{error}");
}

#[test]
fn answers_do_not_depend_on_threads() {
    let mut random = Random::announced("rows determinism");
    let fixture = Fixture::random(&mut random, &[8192 + 1, 2000]);
    let product = SlotExpr::Mul(column(X), column(Y));
    let plan = fixture.plan(
        Some("\"ward\" = 'süd'"),
        Task::Rows(rows_task(&["\"ward\""], &[], vec![product, *column(REAL)], &[VALUE])),
    );
    let first = fixture.engine(1).run(&plan).unwrap();
    assert_eq!(fixture.engine(2).run(&plan).unwrap(), first);
}
