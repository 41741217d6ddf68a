// SPDX-License-Identifier: Apache-2.0
//! Damaged copies of plans, ciphertext bodies and answers, which travel between owner and server. Each is refused with a
//! typed error or is a value that keeps its rules; none ends in a panic. Checksums find damage but are no defence, so the
//! copies get good ones, and the checks behind them are reached.

use std::ops::Range;
use std::sync::Arc;

use hush_exec::Stop;
use hush_exec::answer::{Answer, EncryptedHalf, PartialAnswer};
use hush_plan::EncodingId;
use hush_plan::plan::{Mask, Predicate, RowsTask, SlotExpr, Task};
use hush_rlwe::{
    BodyId, BodyKind, CHECKSUM_BYTES, CiphertextSetId, UncheckedBody, UncheckedCiphertextSet,
    UncheckedSumAnswer,
};
use hush_table::{Digest, Projection};

use crate::fixture::{Fixture, Random, VALUE, X, Y, ring, set_name};
use crate::reference::{everything, task};
use hush_testkit::damaged;

/// Gives bytes the checksum that belongs to them: a digest, cut to `length`, at their end.
pub(crate) fn resealed(bytes: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if let Some(end) = bytes.len().checked_sub(length) {
        let checksum = Digest::of(&bytes[..end]);
        bytes[end..].copy_from_slice(&checksum.as_bytes()[..length]);
    }
    bytes
}

fn small() -> Fixture {
    Fixture::random(&mut Random::announced("mutations"), &[40])
}

fn aggregate() -> Task {
    let masks =
        vec![everything(), Mask { condition: Some(Predicate::clear("\"year\" > 2020")), weight: None }];
    Task::Aggregate(task(&["\"ward\""], masks, &[(0, VALUE), (1, VALUE)]))
}

fn rows() -> Task {
    let product = SlotExpr::Mul(Box::new(SlotExpr::Column(X)), Box::new(SlotExpr::Column(Y)));
    Task::Rows(RowsTask {
        clear: vec!["\"ward\"".to_owned()],
        operands: vec![],
        programs: vec![product, SlotExpr::Column(X)],
        fetch: vec![X],
        program_bits: Vec::new(),
        fetch_bits: Vec::new(),
        sealed: vec![],
        operand_limit_log2: 20,
        cube: None,
        run: None,
        limit: Some(10),
    })
}

#[test]
fn plans() {
    let fixture = small();
    let engine = fixture.engine(1);
    for (name, task) in [("aggregate plan", aggregate()), ("rows plan", rows())] {
        let good = fixture.plan(Some("\"year\" > 2019"), task);
        engine.run(&good).unwrap();
        let accepted = damaged(name, 400, &good, |plan| match engine.run(plan) {
            // A changed plan may ask for anything; the answer is one to this plan.
            Ok(answer) => {
                let answer = Answer::decode(&answer, u64::MAX).unwrap();
                answer.expect(fixture.signed.digest(), Digest::of(plan)).unwrap();
                answer.clear(1 << 20).unwrap();
                true
            }
            Err(error) => {
                assert!(error.code().starts_with("HUSH-E0") && error.code() != "HUSH-E099", "{error}");
                false
            }
        });
        assert!(accepted > 0, "{name}");
    }
}

#[test]
fn answers() {
    let fixture = small();
    let engine = fixture.engine(1);
    for (name, task) in [("aggregate answer", aggregate()), ("rows answer", rows())] {
        let good = engine.run(&fixture.plan(None, task)).unwrap();
        damaged(name, 1000, &good, |bytes| {
            let bytes = resealed(bytes, 32);
            let Ok(answer) = Answer::decode(&bytes, good.len() as u64 * 2) else { return false };
            // Objects are pieces of the answer, so together they are no longer than it.
            let objects: usize = match &answer.encrypted {
                EncryptedHalf::Aggregate(sums) => {
                    let groups = 0..sums.group_count.min(100);
                    let all = sums.blocks.iter().flat_map(|block| groups.clone().map(|g| block.object(g)));
                    all.flatten().map(<[u8]>::len).sum()
                }
                EncryptedHalf::Products(products) => {
                    products.runs.iter().flat_map(|run| &run.objects).map(|object| object.len()).sum()
                }
                EncryptedHalf::Rows(chunks) => chunks
                    .iter()
                    .flat_map(|chunk| chunk.programs.iter().chain(&chunk.fetched))
                    .map(|o| o.len())
                    .sum(),
            };
            assert!(objects <= bytes.len());
            answer.clear(1 << 20).is_ok()
        });
    }
}

/// Damaged partial answers, combined with sound ones: refused, or an answer that can be read.
#[test]
fn partial_answers() {
    let fixture = Fixture::random(&mut Random::announced("mutations"), &[30, 20]);
    let engine = fixture.engine(1);
    let stop = Arc::new(Stop::never());
    for (name, task) in [("partial aggregate", aggregate()), ("partial rows", rows())] {
        let plan = fixture.plan(None, task);
        let run = |parts: Range<u32>| engine.run_parts(&plan, &parts.into(), &stop).unwrap();
        let (sound, good) = (run(0..1), run(1..2));
        damaged(name, 600, &good, |bytes| {
            let bytes = resealed(bytes, 32);
            let mut combiner = engine.combiner(&plan, &stop).unwrap();
            combiner.push(&sound).unwrap();
            if let Err(error) = combiner.push(&bytes) {
                assert!(error.code().starts_with("HUSH-E0") && error.code() != "HUSH-E099", "{error}");
                return false;
            }
            let partial = combiner.partial().unwrap();
            let partial = PartialAnswer::decode(&partial, u64::MAX).unwrap();
            assert!(partial.parts.contains(0));
            partial.answer.clear(1 << 20).unwrap();
            true
        });
    }
}

fn blob(fixture: &Fixture, id: EncodingId) -> Vec<u8> {
    let manifest = fixture.signed.manifest();
    let (place, entry) = manifest.placed_parts().next().unwrap();
    let part = fixture.store.open_encrypted(manifest, place, entry).unwrap();
    part.read(&Projection::encodings([id])).unwrap()[0].encoded[0].to_vec()
}

#[test]
fn ciphertext_bodies() {
    let fixture = small();
    for (column, kind) in [(VALUE, BodyKind::Sum), (X, BodyKind::Slot)] {
        let good = blob(&fixture, column);
        let ring = ring(set_name(column));
        let lanes = if kind == BodyKind::Sum { 1 } else { crate::fixture::primes().len() as u8 };
        let element_count = (fixture.rows.len() as u32).div_ceil(ring.degree() as u32);
        let id = BodyId { column: column.0, chunk: 0, element_count, lanes };
        UncheckedBody::decode(&good).unwrap().conform(&ring, kind, id).unwrap();
        damaged("ciphertext body", 1500, &good, |bytes| {
            let bytes = resealed(bytes, CHECKSUM_BYTES);
            let body = UncheckedBody::decode(&bytes).and_then(|body| body.conform(&ring, kind, id));
            let Ok(body) = body else { return false };
            assert_eq!((body.id(), bytes.len()), (id, good.len()));
            let mut words = vec![0; ring.degree()];
            for element in 0..element_count {
                for lane in 0..lanes {
                    for (index, limb) in ring.limbs().iter().enumerate() {
                        limb.unpack(body.packed(element, lane, index), &mut words);
                        assert!(limb.all_below(&words));
                    }
                }
            }
            true
        });
    }
}

#[test]
fn ciphertexts_of_answers() {
    let fixture = small();
    let engine = fixture.engine(1);
    let bytes = engine.run(&fixture.plan(None, aggregate())).unwrap();
    let EncryptedHalf::Aggregate(sums) = Answer::decode(&bytes, u64::MAX).unwrap().encrypted else {
        panic!()
    };
    let value_ring = ring(set_name(VALUE));
    damaged("sum answer", 1000, sums.blocks[0].object(0).unwrap(), |bytes| {
        let bytes = resealed(bytes, CHECKSUM_BYTES);
        let answer = UncheckedSumAnswer::decode(&bytes).and_then(|answer| answer.conform(&value_ring, 0, 1));
        let Ok(answer) = answer else { return false };
        assert_eq!(answer.encode(0).unwrap(), bytes);
        true
    });
    let bytes = engine.run(&fixture.plan(None, rows())).unwrap();
    let EncryptedHalf::Rows(chunks) = Answer::decode(&bytes, u64::MAX).unwrap().encrypted else { panic!() };
    let slots_ring = ring(set_name(X));
    let lanes = crate::fixture::primes().len() as u8;
    let id = CiphertextSetId { chunk: 0, element_count: 1, lanes, components: 3 };
    let good = chunks[0].programs[0];
    UncheckedCiphertextSet::decode(good).unwrap().conform(&slots_ring, id).unwrap();
    damaged("ciphertext set", 300, good, |bytes| {
        let bytes = resealed(bytes, CHECKSUM_BYTES);
        let set = UncheckedCiphertextSet::decode(&bytes).and_then(|set| set.conform(&slots_ring, id));
        let Ok(set) = set else { return false };
        assert_eq!(set.encode(&slots_ring, 0).unwrap(), bytes);
        true
    });
}
