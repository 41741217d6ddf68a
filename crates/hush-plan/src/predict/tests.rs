// SPDX-License-Identifier: Apache-2.0
//! Counts against hand-made ones, and profiles. That bytes equal those of real answers, `hush-client` tests.

use hush_params::size;

use super::*;
use crate::limits::Limits;
use crate::physical::plan_query;
use crate::plan::{QueryPlan, RunRead, RunTask};
use crate::sql::parse;
use crate::tables::{encodings_for, patients};

fn plan(text: &str) -> (QueryPlan, Vec<Encoding>) {
    let schema = patients();
    let encodings = encodings_for(&schema, &[text]);
    let query = parse(&schema, text).unwrap();
    let plan =
        plan_query(&schema, &encodings, &Site::local(20_000), "00ff", &query, &Limits::default()).unwrap();
    (plan, encodings.into_iter().map(|encoding| encoding.public).collect())
}

fn shape() -> TableShape {
    let column = |name: &str, is_text| ClearColumn { name: name.to_owned(), is_text, mean: None };
    let parts =
        vec![PartShape { rows: 20_000, clear_bytes: 1000, encrypted_bytes: 5000, ..PartShape::default() }];
    TableShape { parts, clear: vec![column("ward", true), column("year", false)], ..TableShape::default() }
}

fn predicted(text: &str, groups: u64) -> Prediction {
    let (plan, encodings) = plan(text);
    let (rows, chunks) = shape().all_matching(None);
    let expected = Expected { groups, rows, chunks, clear: ClearBytes { bytes: 100, exact: true } };
    predict(&plan.server, &encodings, &shape(), &expected, 2).unwrap()
}

#[test]
fn a_sum_without_filter_transforms_only_what_is_left_over() {
    let found = predicted("SELECT SUM(age) AS s FROM patients", 1);
    let block = &found.blocks[0];
    let set = hush_params::preset(block.params).unwrap();
    let (n, limbs) = (set.degree() as u64, set.limb_count() as u64);
    // 20,000 rows are chunks of 8192, 8192 and 3616: one element is not full. One fold, one way back.
    let elements = 2 * 8192 / n + 3616_u64.div_ceil(n);
    let rest = u64::from(3616 % n > 0);
    assert_eq!((block.chunks, block.elements), (3, elements));
    assert_eq!(found.work.transforms, (rest + 1 + 1) * limbs);
    assert_eq!(found.work.products, (rest + 1) * limbs * n);
    assert_eq!(found.work.expanded, elements * limbs * n);
    assert_eq!(found.work.butterflies, found.work.transforms * n / 2 * u64::from(n.ilog2()));
    assert_eq!((found.work.clear_cells, found.work.bytes_read), (0, 5000));
}

#[test]
fn a_filter_costs_a_transform_for_each_group_and_element() {
    for groups in [1, 7] {
        let found =
            predicted("SELECT ward, SUM(age) AS s FROM patients WHERE year = 2023 GROUP BY ward", groups);
        let block = &found.blocks[0];
        let limbs = hush_params::preset(block.params).unwrap().limb_count() as u64;
        assert_eq!(found.work.transforms, (block.elements + 1) * groups * limbs);
        assert_eq!(found.work.bytes_read, 6000);
        // Engine: one column, filter, key and count; masks: one column, filter, key and the mask.
        assert_eq!(found.work.clear_cells, (4 + 4) * 20_000);
        assert_eq!((found.work.text_cells, found.work.grouped_rows), (2 * 20_000, 2 * 20_000));
    }
}

#[test]
fn columns_of_one_mask_and_set_share_their_transforms() {
    let one = predicted("SELECT SUM(age) AS s FROM patients WHERE year = 2023", 1);
    let two = predicted("SELECT SUM(age) AS s, SUM(age * 3) AS u FROM patients WHERE year = 2023", 1);
    assert_eq!(one.work.transforms, two.work.transforms);
    assert_eq!((one.key_bytes, one.chunks_read, one.busy_threads), (0, 3, 2));
}

/// Of an appended part the coefficients behind the last row do not come back, unless all are rounded.
#[test]
fn cut_bodies_are_shorter_by_what_they_leave_out() {
    let (sums, encodings) = plan("SELECT SUM(age) AS s FROM patients");
    let Task::Aggregate(task) = &sums.server.task else { panic!() };
    let column = task.sums[0].column;
    let encoding = encodings.iter().find(|encoding| encoding.id == column).unwrap();
    let set = hush_params::preset(&encoding.params).unwrap();
    let bytes = |is_cut, bits: Option<u32>| {
        let mut shape = shape();
        shape.parts[0].is_cut = is_cut;
        let task = RowsTask { fetch: vec![column], fetch_bits: vec![bits], ..RowsTask::default() };
        let server = ServerPlan { task: Task::Rows(task), ..sums.server.clone() };
        let (rows, chunks) = shape.all_matching(None);
        let clear = ClearBytes { bytes: 100, exact: true };
        let found =
            predict(&server, &encodings, &shape, &Expected { groups: 0, rows, chunks, clear }, 2).unwrap();
        assert!(found.bytes_down_exact);
        found.bytes_down
    };
    // Of 20,000 rows the last chunk has 3616.
    let left_out = size::poly_bytes(set) - size::cut_poly_bytes(set, 3616 % set.degree());
    assert!(left_out > 0);
    assert_eq!(bytes(false, None) - bytes(true, None), left_out as u64);
    assert_eq!(bytes(false, Some(40)), bytes(true, Some(40)));
}

#[test]
fn a_limit_reads_no_more_chunks_than_it_needs() {
    let shape = TableShape {
        parts: [9000, 100, 8192].map(|rows| PartShape { rows, ..PartShape::default() }).to_vec(),
        ..TableShape::default()
    };
    assert_eq!(shape.chunks(), [8192, 808, 100, 8192]);
    let whole = |rows| ChunkShape { rows, is_cut: false };
    assert_eq!(shape.all_matching(Some(8193)), (8193, vec![whole(8192), whole(808)]));
    assert_eq!(shape.all_matching(Some(0)), (0, vec![]));
    assert_eq!(shape.all_matching(None).0, 17_292);
}

#[test]
fn a_limit_reads_parts_together_until_there_are_enough_rows() {
    let parts =
        [9000, 100, 8192, 5].map(|rows| PartShape { rows, clear_bytes: rows, ..PartShape::default() });
    let shape = TableShape { parts: parts.to_vec(), ..TableShape::default() };
    let read = |limit, threads| shape.looked_at(limit, threads).len();
    assert_eq!([read(Some(9000), 1), read(Some(9001), 1), read(Some(9101), 1), read(None, 1)], [1, 2, 3, 4]);
    assert_eq!([read(Some(1), 2), read(Some(9101), 2), read(Some(0), 2), read(Some(1), 9)], [2, 4, 0, 4]);
}

/// Three parts, of which the first and the last answer by run 4.
fn with_run() -> TableShape {
    let part = shape().parts[0];
    let size = |blocks| RunSize { index_bytes: 70, blocks, block_bytes: 1000 };
    let spread = RunSpread { parts: vec![Some(size(40)), None, Some(size(2))], ..RunSpread::default() };
    TableShape { parts: vec![part; 3], runs: [(4, spread)].into(), ..shape() }
}

#[test]
fn pieces_of_runs_are_counted_in_the_place_of_rows() {
    let shape = with_run();
    let plan = |read: Option<RunRead>| {
        let run = read.map(|read| RunTask { number: 4, read });
        let task = Task::Rows(RowsTask { clear: vec!["\"year\"".to_owned()], run, ..RowsTask::default() });
        ServerPlan { task, ..plan("SELECT year FROM patients").0.server }
    };
    let blocks = |of_parts: &[&[u32]]| RunRead::Blocks {
        of_parts: of_parts.iter().map(|places| places.to_vec()).collect(),
        by_values: false,
    };
    for (read, bytes, is_exact) in [
        (RunRead::Index, 2 * 70, true),
        (blocks(&[&[3, 17, 39], &[1]]), 4 * 1000, false),
        (blocks(&[&[], &[]]), 0, false),
        (blocks(&[]), 0, false),
    ] {
        let plan = plan(Some(read.clone()));
        let left = shape.read_by(&plan.task);
        assert_eq!(left.parts, shape.parts[..1]);
        assert_eq!(left, Cow::Borrowed(&shape.beside_run(&shape.runs[&4])));
        let (rows, chunks) = left.all_matching(None);
        let expected = Expected { groups: 0, rows, chunks, clear: ClearBytes { bytes: 100, exact: true } };
        let found = predict(&plan, &[], &shape, &expected, 2).unwrap();
        assert_eq!(found.bytes_down, ANSWER_FRAME_BYTES + 100 + 4 + 2 * 12 + bytes, "{read:?}");
        assert_eq!((found.bytes_down_exact, found.work.bytes_read), (is_exact, 1000 + bytes));
    }
    let without = plan(None);
    assert_eq!(*shape.read_by(&without.task), shape);
    // A run that no part answers by sends nothing.
    let none = RunSpread { parts: vec![None; 3], ..RunSpread::default() };
    assert_eq!(none.answer_bytes(&RunRead::Index), 0);
}

/// Bytes of the objects of a question for sealed columns by these numbers, of the table of 20,000 rows with so many bytes in its file.
fn sealed_bytes(numbers: &[u32], columns: &[SealedShape], encrypted_bytes: u64) -> u64 {
    let part = PartShape { encrypted_bytes, ..shape().parts[0] };
    let sealed = columns.iter().map(|column| (format!("c{}", column.number), *column)).collect();
    let shape = TableShape { parts: vec![part], sealed: Some(sealed), ..shape() };
    let task = Task::Rows(RowsTask { sealed: numbers.to_vec(), ..RowsTask::default() });
    let plan = ServerPlan { task, ..plan("SELECT year FROM patients").0.server };
    let (rows, chunks) = shape.all_matching(None);
    let objects = chunks.len() as u64 * (CHUNK_ENTRY_BYTES + OBJECT_LENGTH_BYTES * numbers.len() as u64);
    let expected = Expected { groups: 0, rows, chunks, clear: ClearBytes::default() };
    let found = predict(&plan, &[], &shape, &expected, 2).unwrap();
    assert!(!found.bytes_down_exact);
    found.bytes_down - ANSWER_FRAME_BYTES - objects
}

#[test]
fn sealed_columns_weigh_what_was_counted() {
    let mean = |rows, bytes| Some(MeanBytes { rows, bytes });
    let column = |number, mean| SealedShape { number, copy: None, mean };
    let known = [column(0, mean(20_000, 150_000)), column(1, mean(20_000, 6_000_000))];
    for file in [0, 6_150_000, 9_000_000] {
        // Whatever else the file has.
        let bytes = |numbers: &[u32]| sealed_bytes(numbers, &known, file);
        assert_eq!([bytes(&[0]), bytes(&[1]), bytes(&[0, 1])], [150_000, 6_000_000, 6_150_000]);
    }
    // More rows were counted than the table has now: they had as many bytes each.
    assert_eq!(sealed_bytes(&[0], &[column(0, mean(80_000, 600_000))], 0), 150_000);
    // What nobody counted has the rest of the file.
    let one = [known[0], known[1], column(7, None)];
    assert_eq!(sealed_bytes(&[7], &one, 6_950_000), 800_000);
    assert_eq!(sealed_bytes(&[7, 0], &one, 6_950_000), 950_000);
    // Of a table of before all columns are taken for equally large; after an append their other rows are like the appended ones.
    let none = [0, 1].map(|number| column(number, None));
    assert_eq!(sealed_bytes(&[1], &none, 6_000_000), 3_000_000);
    assert_eq!(sealed_bytes(&[0, 1], &none, 6_000_000), 6_000_000);
    let some = [column(0, mean(5000, 15_000)), column(1, mean(5000, 1_500_000))];
    let bytes = |numbers: &[u32]| sealed_bytes(numbers, &some, 15_150_000);
    let old = 15_150_000.0 - 1_515_000.0;
    assert_eq!(bytes(&[0]), 15_000 + (old * 3.0 / 303.0) as u64);
    assert_eq!(bytes(&[1]), 1_500_000 + (old * 300.0 / 303.0) as u64);
    assert_eq!(bytes(&[0, 1]), 15_150_000);
    // A tenth of the rows has the column: those of parts that lack it are counted without bytes.
    assert_eq!(sealed_bytes(&[0], &[column(0, mean(20_000, 15_000))], 99_000), 15_000);
    // Whatever a manifest says, nothing wraps.
    let wild = [column(0, mean(1, u64::MAX)), column(1, mean(0, u64::MAX)), column(2, None)];
    assert_eq!(sealed_bytes(&[1], &wild, 10), 0);
    assert!(sealed_bytes(&[0, 0, 2], &wild, u64::MAX) <= 3 * MeanBytes::MOST);
}

#[test]
fn clear_texts_weigh_what_was_counted() {
    let mut columns = shape().clear;
    assert_eq!(bytes_of(1000, "ward", &columns), 8000);
    columns[0].mean = Some(MeanBytes { rows: 10, bytes: 405 });
    assert_eq!(bytes_of(1000, "ward", &columns), 40_500 + 4000);
    assert_eq!([bytes_of(1000, "year", &columns), bytes_of(1000, "none", &columns)], [8000; 2]);
}

#[test]
fn all_counts_of_work_are_added() {
    let mut work = Work::default();
    work.counts().into_iter().for_each(|count| *count = 1);
    let mut sum = work;
    sum.add(work);
    let figures = serde_json::to_value(sum).unwrap();
    assert!(figures.as_object().unwrap().values().all(|figure| *figure == 2), "{figures}");
}

#[test]
fn more_work_takes_longer() {
    let profile = MachineProfile::built_in();
    let time = |text: &str, groups| profile.times(&predicted(text, groups));
    let (few, many) =
        ("SELECT SUM(age) AS s FROM patients", "SELECT ward, SUM(age) AS s FROM patients GROUP BY ward");
    assert!(time(few, 1).server_s < time(many, 10).server_s);
    assert!(time(many, 10).server_s < time(many, 100).server_s);
    assert!(time(many, 10).owner_s < time(many, 100).owner_s);
}

#[test]
fn threads_share_work_and_get_in_each_others_way() {
    let prediction = predicted("SELECT ward, SUM(age) AS s FROM patients GROUP BY ward", 10);
    let time = |threads, crowding| {
        let profile = MachineProfile { threads, crowding, ..MachineProfile::built_in() };
        profile.times(&prediction).server_s - profile.units.query
    };
    assert_eq!(prediction.busy_threads, 2);
    let freely = time(2, 1.0);
    assert!((time(2, 1.5) / freely - 1.5).abs() < 1e-9);
    // Two of four threads: a third of the way from one alone to all of them.
    assert!((time(4, 1.5) / freely - (1.0 + 0.5 / 3.0)).abs() < 1e-9);
}

#[test]
fn a_profile_survives_its_file_and_damage_is_found() {
    let profile = MachineProfile { measured_at: Some(1_790_000_000), ..MachineProfile::built_in() };
    let text = profile.to_json();
    assert_eq!(MachineProfile::from_json(text.as_bytes()), Ok(profile));
    let damaged =
        |text: &str| matches!(MachineProfile::from_json(text.as_bytes()), Err(ProfileError::Damaged { .. }));
    for end in 0..text.trim_end().len() {
        assert!(MachineProfile::from_json(&text.as_bytes()[..end]).is_err(), "{end}");
    }
    assert!(damaged(&text.replace("\"query\": 0.01", "\"query\": -0.01")));
    assert!(damaged(&text.replace("\"query\": 0.01", "\"query\": 1e9")));
    assert!(damaged(&text.replace("\"query\"", "\"querys\"")));
    assert!(damaged(&text.replace("\"crowding\": 1.0", "\"crowding\": 0.5")));
    assert!(damaged(&text.replace("\"threads\": 1", "\"threads\": 0")));
    assert!(damaged(&" ".repeat(100_000)));
    let other = text.replace("\"format\": 2", "\"format\": 3");
    assert_eq!(
        MachineProfile::from_json(other.as_bytes()),
        Err(ProfileError::Format { found: 3, expected: 2 })
    );
}
