// SPDX-License-Identifier: Apache-2.0
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use hush_params::PLAINTEXT_PRIMES_32;
use hush_plan::packing::{Slots, Sum};
use hush_plan::plan::{PLAN_FORMAT, Predicate, ServerPlan, Task};

use super::super::parse;
use super::*;

const SET: &str = "n13_q4x46_sec128_v1";

fn encoding(id: u32, params: &str, packing: Packing) -> Encoding {
    Encoding { id: EncodingId(id), params: params.to_owned(), packing }
}

fn slots(primes: &[usize]) -> Packing {
    Packing::Slots(Slots::of(primes.iter().map(|prime| PLAINTEXT_PRIMES_32[*prime]).collect()))
}

/// Columns 0 to 2 go together.
fn table() -> Vec<Encoding> {
    vec![
        encoding(0, SET, slots(&[0])),
        encoding(1, SET, slots(&[0])),
        encoding(2, SET, slots(&[0])),
        encoding(3, SET, slots(&[1])),
        encoding(4, "n12_q3x34_sec128_v1", slots(&[0])),
        encoding(5, SET, slots(&[0, 1])),
        encoding(6, SET, Packing::Sum(Sum { t_log2: 40 })),
        encoding(7, "n99", slots(&[0])),
    ]
}

fn column(place: usize) -> Box<Factor> {
    Box::new(Factor::Column(place))
}

fn mul(left: Box<Factor>, right: Box<Factor>) -> Box<Factor> {
    Box::new(Factor::Mul(left, right))
}

/// A power of column 0.
fn power(degree: usize) -> Box<Factor> {
    (1..degree).fold(column(0), |inner, _| mul(inner, column(0)))
}

fn sum(factor: usize, measure: Option<usize>, components: usize) -> ProductSum {
    ProductSum { factor, measure, bits: vec![30; components] }
}

fn task() -> ProductsTask {
    ProductsTask {
        columns: vec![EncodingId(0), EncodingId(1), EncodingId(2)],
        factors: vec![
            Factor::Sub(column(0), column(1)),
            Factor::Mul(Box::new(Factor::Earlier(0)), column(1)),
        ],
        sums: vec![sum(0, None, 2), sum(1, Some(2), 4)],
        elements: 10,
        ..ProductsTask::default()
    }
}

fn found(change: impl FnOnce(&mut ProductsTask)) -> Result<ProductsShape, PlanFault> {
    let mut task = task();
    change(&mut task);
    products(&task, &table(), &Strata::none())
}

fn refused(change: impl FnOnce(&mut ProductsTask)) -> PlanFault {
    found(change).unwrap_err()
}

#[test]
fn what_fits_has_components_and_a_cost() {
    let shape = found(|_| ()).unwrap();
    assert_eq!((shape.prime, shape.components), (PLAINTEXT_PRIMES_32[0], vec![2, 4]));
    // Three columns, a difference and a product, and room for a copy of both factors.
    assert_eq!(shape.held, 6 + 2 + 3 + 2 + 3);
    let most = found(|task| {
        task.factors = vec![*power(7), *power(6)];
        task.sums = vec![sum(0, None, 8), sum(1, Some(0), 8)];
    });
    assert_eq!(most.unwrap().components, [8, 8]);
}

/// Masks have no degree, and what groups cost is counted for as many as there may be.
#[test]
fn masks_and_groups_are_counted() {
    let condition = || Predicate::clear("\"year\" > 1");
    let mask = |place| Box::new(Factor::Mask(place));
    let masked = found(|task| {
        task.masks = vec![condition(); 2];
        task.factors[1] = Factor::Mul(mask(1), Box::new(Factor::Earlier(0)));
        task.sums[1] = sum(1, Some(2), 3);
    });
    assert_eq!(masked.unwrap().components, [2, 3]);
    let missing = refused(|task| {
        task.masks = vec![condition()];
        task.factors[0] = Factor::Mask(1);
    });
    assert_eq!(missing, PlanFault::Index { what: "mask", found: 1, count: 1 });
    assert_eq!(
        refused(|task| task.masks = vec![condition(); MAX_MASKS + 1]),
        PlanFault::TooMany { what: "masks of products", found: MAX_MASKS + 1, limit: MAX_MASKS }
    );
    let grouped = |max_groups| {
        found(|task| (task.keys, task.max_groups) = (vec!["\"ward\"".to_owned()], max_groups)).map(drop)
    };
    assert_eq!(grouped(2048), Ok(()));
    let limit = MAX_SUMS;
    assert_eq!(grouped(2049), Err(PlanFault::TooMany { what: "sums of all groups", found: 4098, limit }));
    assert!(grouped(u64::MAX).is_err());
    // One sum of degree 7 is 14 products and 8 of a mask; 4096 of them are fewer than may be, and with the factor's own too many.
    let costly = refused(|task| {
        (task.keys, task.max_groups) = (vec!["\"ward\"".to_owned()], 4096);
        task.factors = vec![*power(6); 300];
        task.sums = vec![sum(0, Some(0), 8)];
    });
    assert!(matches!(costly, PlanFault::ProductCost { .. }), "{costly:?}");
}

#[test]
fn columns_are_slots_of_one_ring_and_one_prime() {
    for (id, other) in [(3, false), (4, false), (5, true)] {
        let columns = if other { vec![EncodingId(id)] } else { vec![EncodingId(0), EncodingId(id)] };
        let id = EncodingId(id);
        assert_eq!(
            refused(|task| task.columns = columns.into_iter().chain([id; 3]).collect()),
            PlanFault::MixedProducts { id }
        );
    }
    assert_eq!(refused(|task| task.columns[1] = EncodingId(6)), PlanFault::WrongLayout { id: EncodingId(6) });
    for id in [EncodingId(7), EncodingId(8)] {
        assert_eq!(refused(|task| task.columns[2] = id), PlanFault::UnknownEncoding { id });
    }
    let nothing = refused(|task| *task = ProductsTask { elements: 1, ..ProductsTask::default() });
    assert_eq!(nothing, PlanFault::Index { what: "column", found: 0, count: 0 });
    let strata = Strata { domains: vec![0], lacking: BTreeMap::from([(EncodingId(1), vec![0])]) };
    let lacking = products(&task(), &table(), &strata).unwrap_err();
    assert_eq!(lacking, PlanFault::LackingProducts { id: EncodingId(1) });
}

#[test]
fn a_run_has_a_chunk_at_least() {
    let found = |id, elements| {
        let columns = vec![EncodingId(id); 3];
        products(&ProductsTask { columns, elements, ..task() }, &table(), &Strata::none()).map(drop)
    };
    for (id, least) in [(0, 1), (4, 2)] {
        assert_eq!(found(id, least), Ok(()));
        let fault = PlanFault::ProductElements { found: least - 1, least };
        assert_eq!(found(id, least - 1), Err(fault));
    }
}

#[test]
fn numbers_are_those_of_something() {
    let index = |what, found, count| PlanFault::Index { what, found, count };
    assert_eq!(refused(|task| task.factors[0] = Factor::Column(3)), index("column", 3, 3));
    // A factor knows those before it, and not itself.
    for number in [1, 2, usize::MAX] {
        let fault = refused(|task| task.factors[1] = Factor::Earlier(number));
        assert_eq!(fault, index("earlier factor", number, 1));
    }
    assert_eq!(refused(|task| task.sums[0].factor = 2), index("factor", 2, 2));
    assert_eq!(refused(|task| task.sums[0].measure = Some(3)), index("column", 3, 3));
}

#[test]
fn degrees_are_small_whatever_they_are_made_of() {
    let degree = |what, index| PlanFault::ProductDegree { what, index, limit: 7 };
    assert_eq!(refused(|task| task.factors[1] = *power(8)), degree("factor", 1));
    let measured = refused(|task| {
        task.factors = vec![*power(7)];
        task.sums = vec![sum(0, Some(1), 9)];
    });
    assert_eq!(measured, degree("sum", 0));
    // Each is the square of the one before: a degree of 2^100, if somebody added it up.
    let square = |number: usize| *mul(Box::new(Factor::Earlier(number)), Box::new(Factor::Earlier(number)));
    let squares =
        refused(|task| task.factors = std::iter::once(*column(0)).chain((0..100).map(square)).collect());
    assert_eq!(squares, degree("factor", 3));
}

#[test]
fn every_component_has_its_bits() {
    for (index, expected, found) in [(0, 2, 1), (0, 2, 3), (1, 4, 0)] {
        let fault = refused(|task| task.sums[index].bits = vec![10; found]);
        assert_eq!(fault, PlanFault::ProductBits { sum: index, found, expected });
    }
    for bits in [0, MAX_ROUNDED_BITS + 1, u32::MAX] {
        let fault = refused(|task| task.sums[1].bits[3] = bits);
        assert_eq!(
            fault,
            PlanFault::RoundedBits { what: "sum", index: 1, found: bits, max: MAX_ROUNDED_BITS }
        );
    }
    for bits in [1, MAX_ROUNDED_BITS] {
        assert!(found(|task| task.sums[1].bits[3] = bits).is_ok());
    }
}

#[test]
fn lists_have_a_length() {
    let many = |what, found, limit| PlanFault::TooMany { what, found, limit };
    let over = MAX_SUMS + 1;
    assert_eq!(
        refused(|task| task.columns = vec![EncodingId(0); over]),
        many("columns of products", over, MAX_SUMS)
    );
    assert_eq!(
        refused(|task| task.factors = vec![Factor::Constant(1); over]),
        many("factors", over, MAX_SUMS)
    );
    assert_eq!(
        refused(|task| task.sums = vec![sum(0, None, 2); over]),
        many("sums of products", over, MAX_SUMS)
    );
    assert!(found(|task| task.sums = vec![sum(0, None, 2); MAX_SUMS]).is_ok());
    // A tree of 2^12 − 1 operations, many times.
    let tree =
        (0..11).fold(Factor::Constant(1), |tree, _| Factor::Add(Box::new(tree.clone()), Box::new(tree)));
    let nodes = refused(|task| task.factors = vec![tree; 25]);
    assert_eq!(nodes, many("operations of factors", 25 * 4095, MAX_NODES));
}

#[test]
fn products_are_counted() {
    // 7 × 2 multiplications for each sum, and those of the factor.
    let of_factor: u64 = (1..6).map(|degree| 2 * (degree + 1)).sum();
    let cost = |factors: usize, sums| {
        found(|task| {
            task.factors = vec![*power(6); factors];
            task.sums = vec![sum(0, Some(1), 8); sums];
        })
        .map(drop)
    };
    assert_eq!(cost(1, MAX_SUMS), Ok(()));
    let found = of_factor * 2000 + 14 * MAX_SUMS as u64;
    assert!(found > MAX_PRODUCTS);
    assert_eq!(cost(2000, MAX_SUMS), Err(PlanFault::ProductCost { found, limit: MAX_PRODUCTS }));
}

/// The reader of JSON ends before a walk could run out of stack; what it lets through is walked.
#[test]
fn factors_are_nested_so_deep_and_no_deeper() {
    let plan = |task: ProductsTask| ServerPlan {
        format: PLAN_FORMAT,
        table: "t".to_owned(),
        manifest: "a".repeat(64),
        predicate: None,
        task: Task::Products(task),
        max_answer_bytes: 1,
    };
    let good = serde_json::to_string(&plan(task())).unwrap();
    assert!(parse(good.as_bytes()).is_ok());
    let nested = |depth: usize| {
        let deep = "{\"add\":[".repeat(depth) + "{\"column\":0}" + &",{\"constant\":1}]}".repeat(depth);
        let factor = serde_json::to_string(&task().factors[0]).unwrap();
        parse(good.replacen(&factor, &deep, 1).as_bytes()).map(drop)
    };
    assert_eq!(nested(50), Ok(()));
    for depth in [70, 1000, 10_000] {
        assert_eq!(nested(depth), Err(PlanFault::Json), "{depth}");
    }
    // Without its table a plan is refused for what it is by itself.
    let wrong = ProductsTask { sums: vec![sum(5, None, 2)], ..task() };
    let fault = parse(&serde_json::to_vec(&plan(wrong)).unwrap()).map(drop);
    assert_eq!(fault, Err(PlanFault::Index { what: "factor", found: 5, count: 2 }));
}
