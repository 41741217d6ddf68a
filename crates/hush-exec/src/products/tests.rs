// SPDX-License-Identifier: Apache-2.0
//! Answers on products, decrypted and compared with plaintext arithmetic, slot by slot.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test fails by panicking, and tells its seed")]

mod choices;
mod partial;
mod table;
mod together;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use ethnum::I256;
use hush_keys::{PhaseLimit, decrypt_product};
use hush_plan::plan::{Factor, ProductSum};
use hush_plan::{EncodingId, ServerPlan};
use hush_rlwe::{ProductForm, decode_product};

use self::choices::{resolved, with_choices};
use self::table::{COLUMNS, Kind, Random, Row, T, TestTable, manifest, part};
use super::*;
use crate::Limits;
use crate::answer::{Answer, EncryptedHalf, ProductsAnswer, ProductsRun, masks_products, product_runs};
use crate::plain::{PlainSum, PlainValues};

const SMALL: &str = "n12_q3x34_sec128_v1";
const LARGE: &str = "n13_q4x46_sec128_v1";
const CHUNK: usize = hush_table::CHUNK_ROWS as usize;

fn random(test: &str) -> Random {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = std::env::var("HUSH_TEST_SEED").map_or(clock, |text| text.parse().unwrap());
    eprintln!("{test}: HUSH_TEST_SEED={seed}");
    Random(seed)
}

/// A predicate, and the rows for which it holds.
type Condition = (&'static str, fn(&Row) -> bool);

/// Clear conditions within factors.
const MASKS: [Condition; 2] =
    [("\"year\" > 2021", |row| row.year > 2021), ("\"year\" <> 2023", |row| row.year != 2023)];

/// A factor, or what it is joined with a clear condition.
fn with_mask(random: &mut Random, factor: Factor) -> Factor {
    let mask = || Box::new(Factor::Mask(0));
    let both = |factor: &Factor| Box::new(Factor::Mul(mask(), Box::new(factor.clone())));
    match random.below(3) {
        0 => factor,
        1 => Factor::Mul(Box::new(factor), Box::new(Factor::Mask(1))),
        _ => Factor::Sub(Box::new(Factor::Add(mask(), Box::new(factor.clone()))), both(&factor)),
    }
}

/// A factor of a degree: differences and products, and OR, which is a sum less a product.
fn factor(random: &mut Random, degree: usize) -> Factor {
    let boxed = |random: &mut Random, degree| Box::new(factor(random, degree));
    if degree == 0 {
        return Factor::Constant(random.below(7) as i64 - 3);
    }
    if degree == 1 {
        let column = Factor::Column(random.below(COLUMNS as u64 - 1) as usize);
        let other = match random.below(3) {
            0 => return column,
            1 => Factor::Constant(1),
            _ => Factor::Column(random.below(COLUMNS as u64 - 1) as usize),
        };
        return Factor::Sub(Box::new(other), Box::new(column));
    }
    let left = 1 + random.below(degree as u64 - 1) as usize;
    let (left, right) = (boxed(random, left), boxed(random, degree - left));
    let both = Box::new(Factor::Mul(left.clone(), right.clone()));
    if random.below(2) == 0 { *both } else { Factor::Sub(Box::new(Factor::Add(left, right)), both) }
}

/// A random task of sums up to a degree, with a factor that another one is made of.
fn random_task(random: &mut Random, degree: usize, elements: u32, bits: u32) -> ProductsTask {
    let mut task = ProductsTask {
        columns: (0..COLUMNS as u32).map(EncodingId).collect(),
        masks: MASKS.iter().map(|(text, _)| hush_plan::plan::Predicate::clear(*text)).collect(),
        factors: vec![factor(random, 1), factor(random, degree), factor(random, degree - 1)],
        elements,
        ..ProductsTask::default()
    };
    for factor in &mut task.factors[1..] {
        *factor = with_mask(random, factor.clone());
    }
    task.factors.push(Factor::Mul(Box::new(Factor::Earlier(2)), Box::new(Factor::Earlier(0))));
    let sums = [(1, None), (2, Some(COLUMNS - 1)), (0, None), (3, None), (2, Some(COLUMNS - 1))];
    for (factor, measure) in sums {
        let mut sum = ProductSum { factor, measure, bits: Vec::new() };
        sum.bits = vec![bits; task.components(&sum)];
        task.sums.push(sum);
    }
    task
}

/// The same with sums of the last factor, and of it times the measure, for some powers of the numbers of ring elements.
fn with_powers(mut task: ProductsTask, powers: &[u8], bits: u32) -> ProductsTask {
    let last = task.factors.len() - 1;
    for power in powers {
        let number = Box::new(Factor::Number(*power));
        task.factors.push(Factor::Mul(number, Box::new(Factor::Earlier(last - 1))));
        for measure in [None, Some(COLUMNS - 1)] {
            let mut sum = ProductSum { factor: task.factors.len() - 1, measure, bits: Vec::new() };
            sum.bits = vec![bits; task.components(&sum)];
            task.sums.push(sum);
        }
    }
    task
}

/// The power of a number that is the same modulo the prime, and nearest to 0.
fn nearest(number: usize, power: u8) -> i64 {
    let t = T as i64;
    let found = (0..power).fold(1, |found, _| found * number as i64 % t);
    if found > t / 2 { found - t } else { found }
}

fn value(factor: &Factor, (row, number): (Option<&Row>, usize), earlier: &[i64]) -> i64 {
    let of = |inner: &Factor| value(inner, (row, number), earlier);
    match factor {
        // Tested where there are keys.
        Factor::Computed => unreachable!("no condition is computed here"),
        Factor::Chosen(..) => unreachable!("resolved for its chunk"),
        Factor::Column(place) => row.map_or(0, |row| row.values[*place]),
        Factor::Mask(place) => i64::from(row.is_some_and(MASKS[*place].1)),
        Factor::Constant(integer) => *integer,
        Factor::Number(power) => nearest(number, *power),
        Factor::Earlier(number) => earlier[*number],
        Factor::Add(left, right) => of(left) + of(right),
        Factor::Mul(left, right) => of(left) * of(right),
        Factor::Sub(left, right) => of(left) - of(right),
    }
}

/// What each sum has of a row, or of a slot behind the rows, in the ring element with this number.
fn of_row(task: &ProductsTask, row: Option<&Row>, number: usize) -> Vec<i64> {
    let mut factors = Vec::new();
    for factor in &task.factors {
        factors.push(value(factor, (row, number), &factors));
    }
    let measure = |place: usize| row.map_or(0, |row| row.values[place]);
    task.sums.iter().map(|sum| factors[sum.factor] * sum.measure.map_or(1, measure)).collect()
}

/// The slots of each run and sum.
fn expected(
    table: &TestTable,
    task: &ProductsTask,
    counts: &dyn Fn(&Row) -> bool,
    is_masked: bool,
) -> Vec<Vec<Vec<i64>>> {
    let in_ring @ (degree, together) = table.in_ring();
    let manifest = table.signed.manifest();
    let runs = product_runs(manifest, in_ring, task.elements);
    let of_run = |run: &ProductRun| {
        let mut sums = vec![vec![0_i64; degree]; task.sums.len()];
        let mut before = 0;
        for chunks in &run.chunks {
            let first = manifest.placed_parts().nth(chunks.part as usize).unwrap().0.first_chunk as usize;
            let rows = &table.parts[chunks.part as usize];
            for chunks in chunks.together(together) {
                let from = (chunks.start as usize - first) * CHUNK;
                let rows = &rows[from..rows.len().min(from + chunks.len() * CHUNK)];
                let task = &resolved(task, chunks.start as usize);
                for slot in 0..rows.len().div_ceil(degree) * degree {
                    let number = before + slot / degree;
                    let found = match rows.get(slot) {
                        Some(row) if counts(row) => of_row(task, Some(row), number),
                        None if !is_masked => of_row(task, None, number),
                        _ => continue,
                    };
                    sums.iter_mut().zip(found).for_each(|(sum, found)| sum[slot % degree] += found);
                }
                before += rows.len().div_ceil(degree);
            }
        }
        sums
    };
    runs.iter().map(of_run).collect()
}

fn runs_of<'a>(answer: &'a Answer<'_>) -> &'a ProductsAnswer<'a> {
    let EncryptedHalf::Products(answer) = &answer.encrypted else { panic!("{answer:?}") };
    answer
}

/// The slots of each run and sum, decrypted from an answer or a partial one.
fn decrypted(
    table: &TestTable,
    task: &ProductsTask,
    answer: &ProductsAnswer<'_>,
    extent: Extent,
) -> Vec<Vec<Vec<u64>>> {
    let sum = |(object, sum): (&&[u8], &ProductSum)| {
        let form = match extent {
            Extent::Whole => ProductForm::Rounded { bits: sum.bits.clone(), t: T },
            Extent::Partial => ProductForm::Residues { components: sum.bits.len() as u8 },
        };
        let components = decode_product(object, &table.ring, &form).unwrap();
        decrypt_product(&table.secret, &table.encoder, &components, PhaseLimit::NONE).unwrap()
    };
    // Of groups all sums of one after those of another.
    let of_run = |run: &ProductsRun<'_>| run.objects.iter().zip(task.sums.iter().cycle()).map(sum).collect();
    answer.runs.iter().map(of_run).collect()
}

fn modulo(sums: Vec<Vec<Vec<i64>>>) -> Vec<Vec<Vec<u64>>> {
    let residue = |sum: i64| sum.rem_euclid(T as i64) as u64;
    let slots = |slots: Vec<i64>| slots.into_iter().map(residue).collect();
    sums.into_iter().map(|run| run.into_iter().map(slots).collect()).collect()
}

/// Asks an encrypted table, and compares every slot of every run.
fn check(table: &TestTable, task: &ProductsTask, predicate: Option<Condition>) {
    let counts = |row: &Row| row.lives && predicate.is_none_or(|(_, holds)| holds(row));
    let plan = table.server_plan(predicate.map(|(text, _)| text), task.clone());
    let is_masked = masks_products(&plan, table.signed.manifest());
    let plan = serde_json::to_vec(&plan).unwrap();
    let bytes = table.engine(2).run(&plan).unwrap();
    assert!(table.engine(1).run(&plan).unwrap() == bytes, "another number of threads");
    let answer = Answer::decode(&bytes, bytes.len() as u64).unwrap();
    assert_eq!(
        (answer.clear_len(), answer.clear_rows(1), answer.clear(1).unwrap().num_rows()),
        (0, Ok(0), 0)
    );
    let found = runs_of(&answer);
    let expected = modulo(expected(table, task, &counts, is_masked));
    assert!(found.runs.iter().map(|run| run.number).eq(0..expected.len() as u32));
    let found = decrypted(table, task, found, Extent::Whole);
    for (run, (found, expected)) in found.iter().zip(&expected).enumerate() {
        for (sum, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!(found == expected, "run {run}, sum {sum} of {task:?}");
        }
    }
}

/// The same task in groups by year, of so many at most.
fn by_year(task: &ProductsTask, max_groups: u64) -> ProductsTask {
    ProductsTask { keys: vec!["\"year\"".to_owned()], max_groups, ..task.clone() }
}

/// Asks an encrypted table by year, and compares every slot of every run and group.
fn check_groups(table: &TestTable, task: &ProductsTask, predicate: Option<Condition>) {
    let counts = |row: &Row| row.lives && predicate.is_none_or(|(_, holds)| holds(row));
    let plan = table.plan(predicate.map(|(text, _)| text), by_year(task, 100));
    let bytes = table.engine(2).run(&plan).unwrap();
    assert!(table.engine(1).run(&plan).unwrap() == bytes, "another number of threads");
    let answer = Answer::decode(&bytes, bytes.len() as u64).unwrap();
    let found = decrypted(table, task, runs_of(&answer), Extent::Whole);
    let clear = answer.clear(1 << 20).unwrap();
    let column = |place: usize| clear.column(place).as_primitive::<Int64Type>().values().to_vec();
    let rows = || table.parts.iter().flatten().filter(|row| counts(row));
    let mut years: Vec<i64> = rows().map(|row| row.year).collect();
    years.sort_unstable();
    years.dedup();
    let sizes = years.iter().map(|year| rows().filter(|row| row.year == *year).count() as i64);
    assert_eq!((column(0), column(1)), (years.clone(), sizes.collect()));
    assert_eq!(runs_of(&answer).group_count, Some(years.len() as u32));
    for (group, year) in years.iter().enumerate() {
        let of_year = |row: &Row| counts(row) && row.year == *year;
        let expected = modulo(expected(table, task, &of_year, true));
        let sums = task.sums.len();
        for (run, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found.len(), years.len() * sums);
            assert!(found[group * sums..][..sums] == *expected, "run {run}, {year}, {task:?}");
        }
    }
}

#[test]
fn sums_of_groups_are_those_of_their_rows() {
    let mut random = random("grouped products");
    let mut parts = [part(CHUNK + 100, 0), part(50, 1), part(300, 0)];
    let table = TestTable::new(&mut random, LARGE, &parts, Kind::Encrypted);
    let late: fn(&Row) -> bool = |row| row.year > 2021;
    for (degree, elements) in [(2, 1), (3, 2)] {
        check_groups(&table, &random_task(&mut random, degree, elements, 63), None);
    }
    check_groups(&table, &random_task(&mut random, 2, 9, 63), Some(("\"year\" > 2021", late)));
    check_groups(&table, &random_task(&mut random, 2, 9, 63), Some(("\"year\" > 2050", |_| false)));
    parts[0].dead = vec![0, 17, CHUNK as u64 - 1];
    parts[2].dead = (0..300).collect();
    let table = TestTable::new(&mut random, LARGE, &parts, Kind::Encrypted);
    check_groups(&table, &random_task(&mut random, 3, 2, 63), None);
    // Too many for the plan, for the server, or for what it may hold.
    let task = random_task(&mut random, 2, 9, 63);
    let code = |limits: Limits, most| {
        let plan = table.plan(None, by_year(&task, most));
        table.limited(1, limits).run(&plan).unwrap_err().code()
    };
    assert_eq!(code(Limits::default(), 1), "HUSH-E040");
    assert_eq!(code(Limits { max_groups: 1, ..Limits::default() }, 100), "HUSH-E040");
    assert_eq!(code(Limits { memory_bytes: 1 << 20, ..Limits::default() }, 100), "HUSH-E040");
    assert_eq!(code(Limits::default(), 100_000), "HUSH-E005");
}

/// A server holds a polynomial for each group and ring element: what is read together is counted with them.
#[test]
fn the_masks_of_groups_are_counted_as_memory() {
    let mut random = random("memory of groups");
    let table = TestTable::new(&mut random, LARGE, &[part(20, 0)], Kind::Encrypted);
    let task = random_task(&mut random, 2, 1, 40);
    let shape = |task: &ProductsTask| {
        let manifest = table.signed.manifest();
        conform::products(task, &manifest.encodings, &Strata::of(manifest)).unwrap()
    };
    let bytes = |groups: usize| {
        Products::new(&task, shape(&task), Vec::new()).unwrap().in_groups(groups).unwrap().chunk_bytes()
    };
    let poly = 8 * table.ring.poly_words() as u64;
    assert_eq!(bytes(10) - bytes(3), 7 * poly);
    assert_eq!(bytes(0), Products::new(&task, shape(&task), Vec::new()).unwrap().chunk_bytes());
    assert!(bytes(0) > 2 * poly, "the masks of factors count too");
}

#[test]
fn sums_of_products_are_those_of_the_rows() {
    let mut random = random("products");
    let parts = [part(CHUNK + 100, 0), part(50, 1), part(300, 0)];
    let large = TestTable::new(&mut random, LARGE, &parts, Kind::Encrypted);
    for (degree, elements) in [(2, 1), (3, 2), (4, 100)] {
        check(&large, &random_task(&mut random, degree, elements, 63), None);
    }
    // Two ring elements for each full chunk.
    let small = TestTable::new(&mut random, SMALL, &parts, Kind::Encrypted);
    check(&small, &random_task(&mut random, 2, 3, 63), None);
}

#[test]
fn powers_of_the_numbers_of_ring_elements_weigh_them() {
    let mut random = random("powers of numbers");
    let mut parts = [part(CHUNK + 100, 0), part(50, 1), part(2 * CHUNK + 1, 0), part(300, 0)];
    let late: fn(&Row) -> bool = |row| row.year > 2022;
    for dead in [vec![], vec![3, 5]] {
        parts[2].dead = dead;
        let small = TestTable::new(&mut random, SMALL, &parts, Kind::Encrypted);
        let task = random_task(&mut random, 2, 5, 63);
        check(&small, &with_powers(task, &[1, 3, 17], 63), None);
        let large = TestTable::new(&mut random, LARGE, &parts, Kind::Encrypted);
        let task = with_powers(random_task(&mut random, 3, 100, 63), &[2, 0, 64], 63);
        check(&large, &task, None);
        check(&large, &task, Some(("\"year\" > 2022", late)));
        check_groups(&large, &task, None);
        let plan = large.plan(None, with_powers(task, &[65], 63));
        assert_eq!(large.engine(1).run(&plan).unwrap_err().code(), "HUSH-E007");
        // Nothing is encrypted, and slots go back all the same.
        let plain = TestTable::new(&mut random, LARGE, &parts, Kind::Plain);
        let task = with_powers(random_task(&mut random, 2, 2, 63), &[1, 2], 63);
        let counts = |row: &Row| row.lives && late(row);
        let bytes = plain.engine(2).run(&plain.plan(Some("\"year\" > 2022"), task.clone())).unwrap();
        let answer = Answer::decode(&bytes, 1 << 30).unwrap();
        let slots = |object: &&[u8]| match PlainValues::decode(object) {
            Some(PlainValues::Exact(slots)) => slots.iter().map(|slot| slot.as_i64()).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        let found = runs_of(&answer).runs.iter().map(|run| run.objects.iter().map(slots).collect::<Vec<_>>());
        assert_eq!(found.collect::<Vec<_>>(), expected(&plain, &task, &counts, true));
    }
}

#[test]
fn rows_that_do_not_match_or_were_deleted_count_as_nothing() {
    let mut random = random("masked products");
    let mut parts = [part(CHUNK, 0), part(70, 0), part(40, 0)];
    let table = TestTable::new(&mut random, LARGE, &parts, Kind::Encrypted);
    let late: fn(&Row) -> bool = |row| row.year > 2022;
    check(&table, &random_task(&mut random, 2, 2, 63), Some(("\"year\" > 2022", late)));
    check(&table, &random_task(&mut random, 3, 5, 63), Some(("\"year\" > 2022", late)));
    // A full element needs no mask, and the padding of others does.
    check(&table, &random_task(&mut random, 3, 5, 63), Some(("\"year\" > 1990", |_| true)));
    check(&table, &random_task(&mut random, 2, 5, 63), Some(("\"year\" > 2030", |_| false)));
    parts[0].dead = vec![0, 17, CHUNK as u64 - 1];
    parts[2].dead = (0..40).collect();
    let table = TestTable::new(&mut random, LARGE, &parts, Kind::Encrypted);
    check(&table, &random_task(&mut random, 3, 2, 63), None);
    check(&table, &random_task(&mut random, 2, 1, 63), Some(("\"year\" > 2022", late)));
}

#[test]
fn dry_runs_have_the_same_sums() {
    let mut random = random("plain products");
    let mut parts = [part(CHUNK + 100, 0), part(50, 1), part(300, 0)];
    for dead in [vec![], vec![3, 5]] {
        parts[1].dead = dead;
        let table = TestTable::new(&mut random, LARGE, &parts, Kind::Plain);
        let late: fn(&Row) -> bool = |row| row.year > 2022;
        for predicate in [None, Some(("\"year\" > 2022", late))] {
            let task = random_task(&mut random, 4, 2, 20);
            let task = with_choices(&mut random, task, 4);
            let counts = |row: &Row| row.lives && predicate.is_none_or(|(_, holds)| holds(row));
            let is_masked = predicate.is_some() || !parts[1].dead.is_empty();
            let plan = table.plan(predicate.map(|(text, _)| text), task.clone());
            let bytes = table.engine(2).run(&plan).unwrap();
            let answer = Answer::decode(&bytes, 1 << 20).unwrap();
            let plain = |object: &&[u8]| PlainSum::decode(object).unwrap();
            let found: Vec<Vec<PlainSum>> =
                runs_of(&answer).runs.iter().map(|run| run.objects.iter().map(plain).collect()).collect();
            let total = |slots: Vec<i64>| PlainSum::Exact(I256::from(slots.iter().sum::<i64>()));
            let expected = expected(&table, &task, &counts, is_masked);
            let expected: Vec<Vec<PlainSum>> =
                expected.into_iter().map(|run| run.into_iter().map(total).collect()).collect();
            assert_eq!(found, expected);
        }
    }
}

/// Domain, elements, rows, and of each part its place and chunks.
type ShownRun = (u32, u32, u64, Vec<(u32, u32, u32)>);

#[test]
fn runs_are_cut_by_domain_and_elements() {
    let entry = |rows: u64, domain| {
        let chunks = rows.div_ceil(CHUNK as u64) as u32;
        let (clear, encrypted, delivery, append, first_chunk) = Default::default();
        let (dead, cubes, runs) = Default::default();
        hush_table::PartEntry {
            rows,
            chunks,
            clear,
            encrypted,
            delivery,
            append,
            first_chunk,
            dead,
            cubes,
            runs,
            domain,
            generation: 0,
        }
    };
    let chunk = CHUNK as u64;
    let table = manifest(LARGE, vec![entry(2 * chunk + 1, 1), entry(5, 0), entry(chunk, 1), entry(7, 0)]);
    let runs = |degree: usize, elements: u32| -> Vec<ShownRun> {
        let chunks =
            |run: &ProductRun| run.chunks.iter().map(|c| (c.part, c.chunks.start, c.chunks.end)).collect();
        product_runs(&table, (degree, 1), elements)
            .iter()
            .map(|run| (run.domain, run.elements, run.rows, chunks(run)))
            .collect()
    };
    let first = |elements| (0, elements, 12, vec![(1, 3, 4), (3, 5, 6)]);
    assert_eq!(runs(CHUNK, 100), [first(2), (1, 4, 3 * chunk + 1, vec![(0, 0, 3), (2, 4, 5)])]);
    assert_eq!(
        runs(CHUNK, 2),
        [first(2), (1, 2, 2 * chunk, vec![(0, 0, 2)]), (1, 2, chunk + 1, vec![(0, 2, 3), (2, 4, 5)])]
    );
    // Chunks of two elements; the third chunk has one row.
    assert_eq!(
        runs(CHUNK / 2, 3),
        [
            first(2),
            (1, 2, chunk, vec![(0, 0, 1)]),
            (1, 3, chunk + 1, vec![(0, 1, 3)]),
            (1, 2, chunk, vec![(2, 4, 5)])
        ]
    );
    // A chunk that is too large stands alone.
    assert_eq!(runs(CHUNK / 2, 0).len(), 6);
    assert_eq!(runs(2 * CHUNK, 1).len(), 6);
    assert!(product_runs(&manifest(LARGE, Vec::new()), (CHUNK, 1), 1).is_empty());
}

#[test]
fn limits_hold_before_anything_is_read() {
    let mut random = random("limits of products");
    let table = TestTable::new(&mut random, LARGE, &[part(20, 0), part(30, 0)], Kind::Encrypted);
    let task = random_task(&mut random, 2, 1, 40);
    let mut plan = table.server_plan(None, task.clone());
    let run = |plan: &ServerPlan| table.engine(1).run(&serde_json::to_vec(plan).unwrap());
    let bytes = run(&plan).unwrap().len() as u64;
    plan.max_answer_bytes = bytes;
    assert_eq!(run(&plan).unwrap().len() as u64, bytes);
    plan.max_answer_bytes = bytes - 1;
    let limit = bytes - 1;
    assert_eq!(
        run(&plan).unwrap_err().to_string(),
        ExecError::AnswerLimit { found: bytes, limit }.to_string()
    );
    let limits = Limits { memory_bytes: 1 << 20, ..Limits::default() };
    let plan = table.plan(None, task.clone());
    assert_eq!(table.limited(1, limits).run(&plan).unwrap_err().code(), "HUSH-E042");
    let refused = |task| table.engine(1).run(&table.plan(None, task)).unwrap_err().code();
    assert_eq!(refused(ProductsTask { elements: 0, ..task.clone() }), "HUSH-E028");
    assert_eq!(refused(ProductsTask { columns: vec![EncodingId(9); COLUMNS], ..task.clone() }), "HUSH-E010");
    assert_eq!(
        table.engine(1).run(&table.plan(Some("\"salary\" = 1"), task.clone())).unwrap_err().code(),
        "HUSH-E020"
    );
    let sizes = table.engine(1).part_sizes(&plan).unwrap();
    assert_eq!(sizes.iter().map(|size| size.rows).collect::<Vec<_>>(), [20, 30]);
    assert!(sizes.iter().all(|size| size.bytes > COLUMNS as u64 * 100_000), "{sizes:?}");
    let clear = clear_half(&table, task);
    assert!(clear.exact && clear.bytes == 0);
}

/// A task that asks for keys has bits for two components, and is refused where the table has none.
#[test]
fn sums_are_brought_back_by_the_keys_of_the_table_alone() {
    let mut random = random("keys for products");
    let table = TestTable::new(&mut random, LARGE, &[part(20, 0)], Kind::Encrypted);
    let mut task = random_task(&mut random, 2, 1, 40);
    task.relinearised = true;
    let refused = |task: &ProductsTask| table.engine(1).run(&table.plan(None, task.clone())).unwrap_err();
    let error = refused(&task);
    assert_eq!(error.code(), "HUSH-E017", "{error}");
    for sum in &mut task.sums {
        sum.bits.truncate(2);
    }
    assert_eq!(refused(&task).code(), "HUSH-E064");
    // Sums of degree 1 need none; the task asks for them all the same.
    let low: Vec<ProductSum> = task.sums.iter().filter(|sum| task.components(sum) <= 2).cloned().collect();
    assert!(!low.is_empty());
    assert_eq!(refused(&ProductsTask { sums: low, ..task }).code(), "HUSH-E064");
}

/// As many parts as fill a window, at least one for each thread, in their order.
#[test]
fn parts_are_opened_as_they_fill_pieces() {
    let parts: Vec<PartOfRuns> = [3_u32, 1, 1, 1, 9, 1, 1]
        .into_iter()
        .zip(0..)
        .map(|(chunks, part)| {
            let chunks = RunChunks { part, chunks: 5..5 + chunks, first_element: 0 };
            (part, vec![RunOfPart { run: 0, chunks }])
        })
        .collect();
    let opened = |threads, window_bytes| {
        let bounds = Bounds { threads, chunk_bytes: 10, together: 1, piece_bytes: 1, window_bytes };
        windows(&parts, &bounds).map(<[PartOfRuns]>::len).collect::<Vec<_>>()
    };
    assert_eq!(opened(1, 1), [1; 7]);
    assert_eq!(opened(2, 1), [2, 2, 2, 1]);
    assert_eq!(opened(1, 40), [2, 3, 2]);
    assert_eq!(opened(3, 40), [3, 3, 1]);
    assert_eq!(opened(1, 1000), [7]);
    assert_eq!(opened(9, 1), [7]);
    let bounds = Bounds { threads: 1, chunk_bytes: 10, together: 1, piece_bytes: 1, window_bytes: 1 };
    assert_eq!(windows(&[], &bounds).count(), 0);
}

fn clear_half(table: &TestTable, task: ProductsTask) -> hush_plan::predict::ClearBytes {
    crate::clear_half_bytes(table.signed.manifest(), &table.server_plan(Some("\"year\" > 1"), task), 10)
        .unwrap()
}
