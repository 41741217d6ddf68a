// SPDX-License-Identifier: Apache-2.0
//! Results of circuits, through slots and digits, against what their texts mean.

use hush_expr::{Expression, Interval, Ratio};
use hush_keys::{ChainSecret, TfheSecret};
use hush_ring::Cpu;
use hush_rlwe::encode_seeded;
use hush_testkit::Draw;
use hush_tfhe::{Answers, BridgeParts, Context, KeyParts};

use super::*;
use crate::program::{Demand, SchemeKind, Vector};

/// Integers up to a bound, either sign or none.
fn column(draw: &mut Draw, length: usize, (low, high): (i64, i64)) -> Vec<i64> {
    (0..length).map(|_| low + draw.below((high - low + 1) as usize) as i64).collect()
}

fn plan(text: &str, scheme: SchemeKind, columns: &[(&[i64], (i64, i64))]) -> Plan {
    let vector = |(_, (low, high)): &(&[i64], (i64, i64))| Vector {
        unit: Ratio::one(),
        range: Interval::new(Ratio::from(BigInt::from(*low)), Ratio::from(BigInt::from(*high))),
        is_float: false,
    };
    let vectors: Vec<Vector> = columns.iter().map(vector).collect();
    let demand =
        Demand { length: columns[0].0.len(), scheme: Some(scheme), precision: None, is_bridged: true };
    Plan::choose(&Expression::parse(text).unwrap(), &vectors, &demand).unwrap()
}

/// What a server makes of the vectors: the outputs of every lane, and the keys from its secret.
fn outputs(bridge: &Bridge, columns: &[&[i64]], secret: &TfheSecret) -> (Vec<Vec<Output>>, Vec<BridgeKey>) {
    let (plan, circuit, slots) = (bridge.plan(), bridge.plan().circuit(), bridge.plan().slot_count());
    let of_lane = |lane: &Lane| {
        let own = ChainSecret::generate(lane.chain()).unwrap();
        let levels = lane.key_levels(circuit);
        let objects: Vec<Vec<u8>> = match levels.is_empty() {
            true => Vec::new(),
            false => vec![own.evaluation_keys_up_to(&levels).unwrap().encode(lane.chain()).unwrap()],
        };
        let uploads: Vec<Vec<u8>> = (0..plan.block_count())
            .map(|block| {
                let fresh: Vec<_> = circuit
                    .used_inputs()
                    .iter()
                    .map(|&input| {
                        let range = block * slots..columns[input].len().min((block + 1) * slots);
                        let values: Vec<Ratio> = columns[input][range]
                            .iter()
                            .map(|value| Ratio::from(BigInt::from(*value)))
                            .collect();
                        own.encrypt(lane.encode(circuit, &values).unwrap()).unwrap()
                    })
                    .collect();
                encode_seeded(lane.chain(), lane.input_level(circuit), &fresh).unwrap()
            })
            .collect();
        let keys = lane.decode_keys(circuit, &objects).unwrap();
        let shape = (lane.chain().degree(), bridge.powers(lane));
        let bytes = secret.bridge_key(&own, shape.1).unwrap().encode(secret.context()).unwrap();
        let key = BridgeParts::decode(secret.context(), shape, &bytes).unwrap();
        (lane.outputs(circuit, &keys, &uploads).unwrap(), key)
    };
    plan.lanes().iter().map(of_lane).unzip()
}

/// Without keys and with them, in both schemes, a sum over more than one block, several plaintext primes, and elements one by one.
#[test]
fn results_come_into_digits_as_they_are() {
    let context = Context::new(&INTEGERS, Cpu::detect().unwrap()).unwrap();
    let secret = TfheSecret::generate(&context).unwrap();
    let bytes = secret.server_keys().unwrap().encode(&context).unwrap();
    let server = KeyParts::decode(&context, &bytes).unwrap();
    let mut draw = Draw::new();
    for (text, scheme, (bound, length), elements) in [
        ("sum(x)", SchemeKind::Bgv, ((0, 1), 10_000), 0..1),
        ("dot(x, y)", SchemeKind::Bfv, ((-5, 3), 7), 0..1),
        ("x*y - 3*x", SchemeKind::Bgv, ((-4, 4), 5), 3..5),
        ("x*x*y", SchemeKind::Bfv, ((0, 3), 3), 0..1),
        // In slots beyond the last element it is not 0.
        ("sum((x + 2)*(y + 1))", SchemeKind::Bgv, ((0, 3), 5), 0..1),
        ("mean(x*x*y)", SchemeKind::Bgv, ((0, 2), 4), 0..1),
        ("sum(x*y)", SchemeKind::Bgv, ((0, 1 << 26), 3), 0..1),
    ] {
        let (x, y) = (column(&mut draw, length, bound), column(&mut draw, length, bound));
        let bridge = Bridge::new(plan(text, scheme, &[(&x, bound), (&y, bound)])).unwrap();
        assert!(bridge.failure_log2() < -120.0, "{text}: {}", bridge.failure_log2());
        let (outputs, keys) = outputs(&bridge, &[&x, &y], &secret);
        let phases = bridge.phases(elements.clone(), &outputs, &keys).unwrap();
        let digits = server.digits_of(&phases).unwrap();
        let expected: Vec<BigInt> = {
            let reading = bridge.plan().circuit().reading();
            let value = |element: usize| {
                let of = |column: &[i64]| Ratio::from(BigInt::from(column[element]));
                let value = Expression::parse(text).unwrap().value_at(&[of(&x), of(&y)]).unwrap();
                (&(&value + &-reading.constant.clone()) * &reading.factor.recip().unwrap())
                    .to_integer()
                    .unwrap()
                    .clone()
            };
            match bridge.is_one_value() {
                true => vec![(0..length).map(value).sum()],
                false => elements.map(value).collect(),
            }
        };
        assert_eq!(digits.len(), expected.len(), "{text}");
        for (digits, expected) in digits.iter().zip(expected) {
            let small = server.switch(&digits.iter().collect::<Vec<_>>()).unwrap();
            let read = secret.decrypt(digits.len(), &Answers(small).encode(&context)).unwrap();
            let found = read.iter().rev().fold(BigInt::from(0), |number, digit| number * 4 + digit);
            assert!(&found <= bridge.most(), "{text}");
            assert!(found + bridge.low() == expected, "{text} in {scheme:?}");
        }
        // Of other lanes, and with fewer keys than there are.
        assert!(bridge.phases(0..1, &outputs, &[]).is_err() && bridge.phases(0..1, &[], &keys).is_err());
    }
}

#[test]
fn what_has_no_digits_is_refused() {
    let wide = (-(1_i64 << 40), 1_i64 << 40);
    let x = [wide.0, wide.1];
    let plan = plan("x*x*x", SchemeKind::Bgv, &[(&x, wide)]);
    assert_eq!(Bridge::new(plan).unwrap_err(), ProgramError::WideInteger { bits: 122 });
}
