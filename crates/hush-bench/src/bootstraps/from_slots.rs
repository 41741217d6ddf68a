// SPDX-License-Identifier: Apache-2.0
//! From slots to digits: products of two vectors, computed in slots, become integers in digits.

use std::time::Instant;

use hush_circuits::bridge::{Bridge, Output};
use hush_circuits::gates::Bridged;
use hush_circuits::program::{Demand, Lane, Plan, ProgramError, Vector};
use hush_expr::{Expression, Interval, Ratio};
use hush_keys::{ChainSecret, TfheSecret};
use hush_params::tfhe::INTEGERS;
use hush_rlwe::encode_seeded;
use hush_tfhe::{Answers, BridgeKey, BridgeParts, Lwe, digits_cost};

use super::{Case, Options, Sides, TOGETHER, case};
use crate::BenchError;
use crate::synthetic::mix;

/// The way of products of so many bits into digits; the products are not in the time.
pub(super) fn from_slots_case(options: &Options, sides: &Sides, bits: u32) -> Result<Case, BenchError> {
    let most = TOGETHER * options.threads;
    let top = (1 << (bits / 2)) - 1;
    let value = |vector: u64| move |element: u64| mix(options.seed ^ mix(vector << 32 | element)) & top;
    let columns: [Vec<u64>; 2] = [0, 1].map(|vector| (0..most as u64).map(value(vector)).collect());
    let range = Interval::new(Ratio::from(0), Ratio::from(top));
    let vector = || Vector { unit: Ratio::from(1), range: range.clone(), is_float: false };
    let demand = Demand { length: most, scheme: None, precision: None, is_bridged: true };
    let product = Expression::parse("x*y").map_err(ProgramError::from)?;
    let plan = Plan::choose(&product, &[vector(), vector()], &demand)?;
    let bridge = Bridge::new(plan)?;
    let sent = |lane| products(&bridge, lane, (&sides.secret, &columns));
    let sent = bridge.plan().lanes().iter().map(sent).collect::<Result<Vec<_>, _>>()?;
    let (outputs, keys): (Vec<Vec<Output>>, Vec<BridgeKey>) = sent.into_iter().unzip();
    let Bridged { factor, offset, .. } = Bridged::of(&bridge);
    let work = |count: usize| {
        let start = Instant::now();
        let digits = sides.key.digits_of(&bridge.phases(0..count, &outputs, &keys)?)?;
        let seconds = start.elapsed().as_secs_f64();
        let all: Vec<&Lwe> = digits.iter().flatten().collect();
        let small = Answers(sides.key.switch(&all)?).encode(sides.context());
        let read = sides.secret.decrypt(all.len(), &small)?;
        let found = read.chunks(all.len() / count).map(|digits| {
            let integer = digits.iter().rev().fold(0, |integer, digit| integer << 2 | digit);
            &(&Ratio::from(integer) * &factor) + &offset
        });
        let expected = columns[0].iter().zip(&columns[1]).take(count).map(|(x, y)| Ratio::from(x * y));
        Ok((seconds, found.eq(expected)))
    };
    let name = format!("from slots to digits, {bits} bits");
    // Bits are found by bootstrappings of phases, digits by others.
    let chance = bridge.failure_log2().max(INTEGERS.failure_log2());
    case(options, (name, &INTEGERS, digits_cost(bridge.bits())), chance, work)
}

/// What a server has of a lane: products in slots, and the key to digits.
fn products(
    bridge: &Bridge,
    lane: &Lane,
    (secret, columns): (&TfheSecret, &[Vec<u64>; 2]),
) -> Result<(Vec<Output>, BridgeKey), BenchError> {
    let (circuit, own) = (bridge.plan().circuit(), ChainSecret::generate(lane.chain())?);
    let levels = lane.key_levels(circuit);
    let objects = match levels.is_empty() {
        true => Vec::new(),
        false => vec![own.evaluation_keys_up_to(&levels)?.encode(lane.chain())?],
    };
    let fresh = columns.iter().map(|column| {
        let values: Vec<Ratio> = column.iter().map(|value| Ratio::from(*value)).collect();
        Ok(own.encrypt(lane.encode(circuit, &values)?)?)
    });
    let fresh = fresh.collect::<Result<Vec<_>, BenchError>>()?;
    let upload = encode_seeded(lane.chain(), lane.input_level(circuit), &fresh)?;
    let outputs = lane.outputs(circuit, &lane.decode_keys(circuit, &objects)?, &[upload])?;
    let shape = (lane.chain().degree(), bridge.powers(lane));
    let key = secret.bridge_key(&own, shape.1)?.encode(secret.context())?;
    Ok((outputs, BridgeParts::decode(secret.context(), shape, &key)?))
}
