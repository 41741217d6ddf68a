// SPDX-License-Identifier: Apache-2.0
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hush_plan::packing::{ApproxSlots, ApproxSum, Slots, Sum};
use hush_plan::plan::{Mask, SlotExpr};

use super::*;
use crate::packing::lanes;

fn encoding(id: u32, params: &str, packing: Packing) -> Encoding {
    Encoding { id: EncodingId(id), params: params.to_owned(), packing }
}

fn slots() -> Packing {
    Packing::Slots(Slots::of(hush_params::PLAINTEXT_PRIMES_45[..3].to_vec()))
}

fn table() -> Vec<Encoding> {
    let (small, large) = ("n12_q2x46_sec128_v1", "n13_q4x46_sec128_v1");
    vec![
        encoding(0, small, Packing::Sum(Sum { t_log2: 40 })),
        encoding(1, large, Packing::Sum(Sum { t_log2: 40 })),
        encoding(2, large, Packing::ApproxSum(ApproxSum { scale_log2: 40 })),
        encoding(3, large, slots()),
        encoding(4, large, Packing::ApproxSlots(ApproxSlots { scale_log2: 40 })),
    ]
}

fn aggregate_task() -> AggregateTask {
    let mask = Mask { condition: None, weight: None };
    AggregateTask {
        keys: Vec::new(),
        clear: vec!["COUNT(*)".to_owned()],
        masks: vec![mask; 2],
        sums: Vec::new(),
        max_groups: 10,
    }
}

fn rows_task() -> RowsTask {
    RowsTask {
        clear: Vec::new(),
        operands: Vec::new(),
        programs: Vec::new(),
        fetch: Vec::new(),
        program_bits: Vec::new(),
        fetch_bits: Vec::new(),
        sealed: vec![],
        operand_limit_log2: 10,
        cube: None,
        run: None,
        limit: None,
    }
}

fn column(id: u32) -> SlotExpr {
    SlotExpr::Column(EncodingId(id))
}

fn sum(mask: usize, column: u32) -> EncryptedSum {
    EncryptedSum { mask, column: EncodingId(column) }
}

/// Every domain has all blocks, and a sum a place in those of each.
#[test]
fn a_domain_has_blocks_of_its_own() {
    let sums = [sum(0, 0), sum(1, 1), sum(0, 2)];
    let (one, _) = sum_blocks(&sums, &table(), &Strata::none()).unwrap();
    let (blocks, places) =
        sum_blocks(&sums, &table(), &Strata { domains: vec![2, 5], ..Strata::none() }).unwrap();
    let of = |domain| one.iter().map(move |block| SumBlock { domain, ..block.clone() });
    assert_eq!(blocks, of(2).chain(of(5)).collect::<Vec<_>>());
    let expected = [(0, 0), (1, 0), (2, 0)]
        .map(|(block, body)| vec![SumPlace { block, body }, SumPlace { block: block + one.len(), body }]);
    assert_eq!(places, expected);
}

/// Columns share a block only if the same parts have them: masks of the others would be in their sum.
#[test]
fn columns_that_other_parts_lack_have_blocks_of_their_own() {
    let sums = [sum(0, 1), sum(0, 2), sum(1, 2), sum(0, 1)];
    let lacking = BTreeMap::from([(EncodingId(2), vec![0, 3])]);
    let (blocks, places) =
        sum_blocks(&sums, &table(), &Strata { lacking: lacking.clone(), ..Strata::none() }).unwrap();
    let found: Vec<_> =
        blocks.iter().map(|b| (b.mask, b.without.clone(), b.columns[0].0, b.columns.len())).collect();
    assert_eq!(found, [(0, vec![], 1, 1), (0, vec![0, 3], 2, 1), (1, vec![0, 3], 2, 1)]);
    let found: Vec<_> = places.iter().flatten().map(|place| (place.block, place.body)).collect();
    assert_eq!(found, [(0, 0), (1, 0), (2, 0), (0, 0)]);
    // Lacking in the same parts, they share one.
    let both = lacking.into_iter().chain([(EncodingId(1), vec![0, 3])]).collect();
    let (blocks, _) = sum_blocks(&sums, &table(), &Strata { lacking: both, ..Strata::none() }).unwrap();
    assert_eq!(blocks.len(), 2);
}

/// One answer for each mask and parameter set, and in it one body for each column, however often a plan names it.
#[test]
fn sums_share_what_they_have_in_common() {
    let sums = [sum(0, 0), sum(0, 1), sum(1, 1), sum(0, 2), sum(0, 0), sum(1, 0)];
    let (blocks, places) = sum_blocks(&sums, &table(), &Strata::none()).unwrap();
    let found: Vec<_> = blocks
        .iter()
        .map(|b| (b.mask, b.set.degree(), b.columns.iter().map(|id| id.0).collect::<Vec<_>>()))
        .collect();
    let expected = [(0, 4096, vec![0]), (0, 8192, vec![1, 2]), (1, 8192, vec![1]), (1, 4096, vec![0])];
    assert_eq!(found, expected);
    let found: Vec<_> = places.iter().flatten().map(|place| (place.block, place.body)).collect();
    assert_eq!(found, [(0, 0), (1, 0), (2, 0), (1, 1), (0, 0), (3, 0)]);
    let refused = |column| sum_blocks(&[sum(0, column)], &table(), &Strata::none()).unwrap_err();
    assert_eq!(refused(3), PlanFault::WrongLayout { id: EncodingId(3) });
    assert_eq!(refused(9), PlanFault::UnknownEncoding { id: EncodingId(9) });
    let beyond = AggregateTask { sums: vec![sum(2, 0)], ..aggregate_task() };
    assert_eq!(
        aggregate(&beyond, &table(), &Strata::none()).unwrap_err(),
        PlanFault::Index { what: "mask", found: 2, count: 2 }
    );
}

#[test]
fn plans_have_a_size() {
    let text = |length: usize| vec![b' '; length];
    assert_eq!(parse(&text(MAX_PLAN_BYTES)).unwrap_err(), PlanFault::Json);
    for length in [MAX_PLAN_BYTES + 1, MAX_PLAN_BYTES + 2] {
        assert_eq!(
            parse(&text(length)).unwrap_err(),
            PlanFault::Size { found: length, limit: MAX_PLAN_BYTES }
        );
    }
}

/// Each list at its limit, and one longer.
#[test]
fn lists_of_a_plan_have_a_length() {
    type Aggregate = fn(&mut AggregateTask, usize);
    let lists: [(Aggregate, usize); 4] = [
        (|task, count| task.keys = vec!["k".to_owned(); count], MAX_KEYS),
        (|task, count| task.clear = vec!["COUNT(*)".to_owned(); count], MAX_CLEAR),
        (|task, count| task.masks = vec![Mask { condition: None, weight: None }; count], MAX_MASKS),
        (|task, count| task.sums = vec![EncryptedSum { mask: 0, column: EncodingId(0) }; count], MAX_SUMS),
    ];
    for (set, limit) in lists {
        let found = |count| {
            let mut task = aggregate_task();
            set(&mut task, count);
            check_aggregate_lengths(&task)
        };
        assert_eq!(found(limit), Ok(()));
        let refused = found(limit + 1);
        assert!(matches!(refused, Err(PlanFault::TooMany { limit: is, .. }) if is == limit), "{refused:?}");
    }
    assert_eq!(
        check_aggregate_lengths(&AggregateTask { clear: Vec::new(), ..aggregate_task() }),
        Err(PlanFault::NoCount)
    );
    let other = AggregateTask { clear: vec!["SUM(x)".to_owned()], ..aggregate_task() };
    assert_eq!(check_aggregate_lengths(&other), Err(PlanFault::NoCount));

    type Rows = fn(&mut RowsTask, usize);
    let lists: [(Rows, usize); 6] = [
        (|task, count| task.clear = vec!["x".to_owned(); count], MAX_CLEAR),
        (|task, count| task.operands = vec!["x".to_owned(); count], MAX_CLEAR),
        (|task, count| task.programs = vec![column(3); count], MAX_PROGRAMS),
        (|task, count| task.fetch = vec![EncodingId(3); count], MAX_SUMS),
        (|task, count| task.program_bits = vec![None; count], 0),
        (|task, count| task.fetch_bits = vec![None; count], 0),
    ];
    for (set, limit) in lists {
        let found = |count| {
            let mut task = rows_task();
            set(&mut task, count);
            check_rows_lengths(&task)
        };
        assert_eq!(found(limit), Ok(()));
        let refused = found(limit + 1);
        assert!(matches!(refused, Err(PlanFault::TooMany { limit: is, .. }) if is == limit), "{refused:?}");
    }
}

/// Exact results are rounded to 63 bits at most, approximate ones never.
#[test]
fn widths_are_those_of_exact_results() {
    let found = |packing: &Packing, bits| check_bits("program", 1, packing, bits).is_ok();
    let scale = Packing::ApproxSum(ApproxSum { scale_log2: 40 });
    assert!(found(&slots(), None) && found(&scale, None));
    let widths = [0, 1, MAX_ROUNDED_BITS, MAX_ROUNDED_BITS + 1].map(|bits| found(&slots(), Some(bits)));
    assert_eq!(widths, [false, true, true, false]);
    assert!(!found(&scale, Some(40)));
    // The same holds for whole tasks, of programs and of fetched columns.
    let task = |programs: &[u32], fetch: &[u32], bits| {
        let task = RowsTask {
            programs: programs.iter().map(|id| column(*id)).collect(),
            program_bits: vec![bits; programs.len()],
            fetch: fetch.iter().map(|id| EncodingId(*id)).collect(),
            fetch_bits: vec![bits; fetch.len()],
            ..rows_task()
        };
        rows(&task, &table())
    };
    for bits in [None, Some(50)] {
        assert!(task(&[3], &[0, 3], bits).is_ok(), "{bits:?}");
    }
    assert!(task(&[4], &[], Some(50)).is_err() && task(&[], &[2], Some(50)).is_err());
    assert!(task(&[3], &[], Some(64)).is_err() && task(&[], &[0], Some(64)).is_err());
    let shape = task(&[], &[3, 0], Some(50)).unwrap();
    let lanes: Vec<u8> = shape.fetch.iter().map(|fetch| lanes(&fetch.packing)).collect();
    assert_eq!(lanes, [3, 1]);
}

/// An operand is an integer for exact programs and a real for approximate ones, never both.
#[test]
fn operands_are_of_one_kind() {
    let times = |id: u32, operand| SlotExpr::Mul(Box::new(column(id)), Box::new(SlotExpr::Clear(operand)));
    let found = |programs: Vec<SlotExpr>| {
        let operands = vec!["1".to_owned(); 3];
        rows(&RowsTask { programs, operands, ..rows_task() }, &table())
            .map(|shape| shape.approximate_operands)
    };
    assert_eq!(found(vec![times(3, 0), times(4, 2), times(3, 0)]).unwrap(), [false, false, true]);
    assert_eq!(found(vec![times(4, 0), times(3, 0)]).unwrap_err(), PlanFault::MixedProgram { program: 1 });
}

#[test]
fn sealed_columns_are_those_of_the_table_and_each_once() {
    let of =
        |numbers: &[u32], known: &[u32]| sealed(&RowsTask { sealed: numbers.to_vec(), ..rows_task() }, known);
    assert_eq!(of(&[], &[]), Ok(()));
    assert_eq!(of(&[2, 0], &[0, 2]), Ok(()));
    for (numbers, found) in [(&[0, 3][..], 3), (&[1], 1), (&[2, 0, 2], 2), (&[u32::MAX], u32::MAX)] {
        let fault = PlanFault::Index { what: "sealed column", found: found as usize, count: 2 };
        assert_eq!(of(numbers, &[0, 2]), Err(fault), "{numbers:?}");
    }
}
