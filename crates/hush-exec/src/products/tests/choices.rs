// SPDX-License-Identifier: Apache-2.0
//! Columns that are others in each chunk.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hush_plan::plan::Choices;

use super::*;

/// The same task, some of whose columns are others in each of so many chunks.
pub(super) fn with_choices(random: &mut Random, mut task: ProductsTask, chunks: usize) -> ProductsTask {
    fn chosen(random: &mut Random, factor: &mut Factor) {
        match factor {
            Factor::Column(place) if random.below(2) == 0 => {
                *factor = if *place % 3 < 2 { Factor::Chosen(0, *place % 3) } else { Factor::Chosen(1, 0) };
            }
            Factor::Add(left, right) | Factor::Mul(left, right) | Factor::Sub(left, right) => {
                chosen(random, left);
                chosen(random, right);
            }
            _ => {}
        }
    }
    task.factors.iter_mut().for_each(|factor| chosen(random, factor));
    let groups: [(Vec<u32>, usize); 2] = [((0..COLUMNS as u32 - 1).collect(), 2), (vec![0, 2], 1)];
    task.choices = groups
        .map(|(among, operands)| {
            let mut places =
                || (0..chunks).map(|_| random.below(among.len() as u64) as u8).collect::<Vec<u8>>();
            let of_chunks = (0..operands).map(|_| BASE64_STANDARD.encode(places())).collect();
            Choices { among: among.iter().copied().map(EncodingId).collect(), of_chunks }
        })
        .into();
    task
}

/// The task as it is in a chunk: columns stand at the places of their numbers.
pub(super) fn resolved(task: &ProductsTask, chunk: usize) -> ProductsTask {
    fn resolve(factor: &mut Factor, column: &dyn Fn(usize, usize) -> usize) {
        match factor {
            Factor::Chosen(choices, place) => *factor = Factor::Column(column(*choices, *place)),
            Factor::Add(left, right) | Factor::Mul(left, right) | Factor::Sub(left, right) => {
                resolve(left, column);
                resolve(right, column);
            }
            _ => {}
        }
    }
    let column = |choices: usize, place: usize| {
        let Choices { among, of_chunks } = &task.choices[choices];
        among[usize::from(BASE64_STANDARD.decode(&of_chunks[place]).unwrap()[chunk])].0 as usize
    };
    let mut task = task.clone();
    let mut factors = std::mem::take(&mut task.factors);
    factors.iter_mut().for_each(|factor| resolve(factor, &column));
    ProductsTask { factors, ..task }
}

/// Columns that are others in each chunk, with a chunk that is left out, in runs, groups and dry runs.
#[test]
fn what_is_chosen_in_each_chunk_is_read_there() {
    let mut random = random("choices");
    let mut parts = [part(2 * CHUNK + 100, 0), part(50, 1), part(300, 0)];
    let late: Condition = ("\"year\" > 2021", |row| row.year > 2021);
    let large = TestTable::new(&mut random, LARGE, &parts, Kind::Encrypted);
    for (degree, elements) in [(2, 1), (3, 2), (4, 100)] {
        let task = random_task(&mut random, degree, elements, 63);
        check(&large, &with_choices(&mut random, task, 5), (degree == 3).then_some(late));
    }
    let task = random_task(&mut random, 2, 9, 63);
    check_groups(&large, &with_choices(&mut random, task, 5), Some(late));
    // The task names no column by itself.
    let mut alone = random_task(&mut random, 2, 9, 63);
    alone = with_choices(&mut random, alone, 5);
    alone.columns.clear();
    alone.factors = vec![Factor::Mul(Box::new(Factor::Chosen(0, 1)), Box::new(Factor::Chosen(1, 0)))];
    alone.sums = vec![ProductSum { factor: 0, measure: None, bits: vec![63; 3] }];
    check(&large, &alone, None);
    parts[0].dead = (0..CHUNK as u64).collect();
    let small = TestTable::new(&mut random, SMALL, &parts, Kind::Encrypted);
    let task = random_task(&mut random, 2, 3, 63);
    check(&small, &with_choices(&mut random, task, 5), Some(late));
}

#[test]
fn choices_that_do_not_fit_the_table_are_refused() {
    let mut random = random("wrong choices");
    let table = TestTable::new(&mut random, LARGE, &[part(CHUNK + 1, 0)], Kind::Encrypted);
    let task = random_task(&mut random, 2, 9, 63);
    let mut task = with_choices(&mut random, task, 2);
    task.factors[0] = Factor::Chosen(1, 0);
    let refused = |edit: &dyn Fn(&mut ProductsTask)| {
        let mut other = task.clone();
        edit(&mut other);
        let plan = table.plan(None, other);
        match table.engine(1).run(&plan) {
            Err(ExecError::Plan(fault)) => fault.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert!(table.engine(1).run(&table.plan(None, task.clone())).is_ok());
    let encoded = |places: &[u8]| BASE64_STANDARD.encode(places);
    for (found, expected) in [
        (refused(&|task| task.choices[0].of_chunks[0] = encoded(&[0])), "number of chosen columns"),
        (refused(&|task| task.choices[0].of_chunks[0] = encoded(&[0, 1, 0])), "number of chosen columns"),
        (refused(&|task| task.choices[1].of_chunks[0] = encoded(&[0, 2])), "chosen column"),
        (refused(&|task| task.choices[1].among.clear()), "chosen column"),
        (refused(&|task| task.choices[0].of_chunks[1] = "?".to_owned()), "JSON"),
        (refused(&|task| task.choices[1].among[1] = EncodingId(999)), "999"),
        (refused(&|task| task.factors[0] = Factor::Chosen(2, 0)), "choices"),
        (refused(&|task| task.factors[0] = Factor::Chosen(0, 2)), "chosen operand"),
        (refused(&|task| task.choices[0].of_chunks = vec![encoded(&[0, 0]); 5000]), "columns of products"),
        (refused(&|task| task.choices[0].among = vec![EncodingId(0); 5000]), "columns to choose from"),
    ] {
        assert!(found.contains(expected), "{found}");
    }
}
