// SPDX-License-Identifier: Apache-2.0
//! Plans with bootstrapping, for circuits that are deeper than any chain.

use hush_params::bootstrap::{BootstrapSet, SETS};
use hush_ring::{Cpu, Level};

use super::candidates::{Demand, Drawn, ENCODING_BITS, allowed_log2, result_error};
use super::cost::{bootstrap, bootstrapped_work, switch};
use super::error::ProgramError;
use super::kind::SchemeKind;
use super::lane::{Bounds, Lane};
use super::place::{Boot, Rules, Schedule};
use super::placed::{Body, PlacedCircuit};
use super::plan::Plan;
use crate::CircuitError;
use crate::bootstrap::Bootstrapping;

/// The plan of the set with the least memory that is precise enough, bootstrapping once or else twice. Sets for few slots are for vectors that fit into one ciphertext.
///
/// # Errors
/// [`ProgramError::Precision`] with the best bound there is; [`ProgramError::Circuit`].
pub(super) fn plan(drawn: &Drawn, demand: &Demand) -> Result<Plan, ProgramError> {
    let mut sets = SETS.to_vec();
    sets.retain(|set| set.shape().repeats_log2 == 0 || demand.length <= set.shape().slots());
    sets.sort_by_key(|set| set.memory_bytes());
    let mut refusal: Option<ProgramError> = None;
    for set in sets {
        match with(set, drawn, demand) {
            Ok(plan) => return Ok(plan),
            Err(error) => refusal = Some(closer(refusal, error)),
        }
    }
    Err(refusal.unwrap_or(ProgramError::Circuit(CircuitError::Shape)))
}

/// Of two refusals the one that asks for less.
fn closer(known: Option<ProgramError>, error: ProgramError) -> ProgramError {
    match (known, error) {
        (Some(ProgramError::Precision { least: known, asked }), ProgramError::Precision { least, .. }) => {
            ProgramError::Precision { asked, least: known.min(least) }
        }
        (Some(known @ ProgramError::Precision { .. }), _) => known,
        (_, error) => error,
    }
}

fn with(set: &'static BootstrapSet, drawn: &Drawn, demand: &Demand) -> Result<Plan, ProgramError> {
    let scheme = SchemeKind::Ckks;
    let allowed_log2 = allowed_log2(drawn, demand)?;
    let failed = |error: hush_ring::RingError| ProgramError::Circuit(error.into());
    let cpu = Cpu::detect().map_err(|error| failed(error.into()))?;
    let chain = set.chain().map_err(|source| ProgramError::Chain { scheme, source })?;
    let mut lane = Lane::bootstrapped(set.shape(), &chain, cpu)?;
    if drawn.body.summed() > lane.slot_count() {
        return Err(ProgramError::Long { found: demand.length, max: lane.slot_count() });
    }
    let (circuit, bounds) = match bounded(&lane, drawn, demand) {
        Ok(found) if found.1.error_log2 <= allowed_log2 => found,
        found => match &mut lane {
            Lane::Bootstrapped(own) if set.shape().repeats_log2 == 0 => {
                own.refine();
                bounded(&lane, drawn, demand)?
            }
            _ => found?,
        },
    };
    let room = bounds.margin_bits - ENCODING_BITS;
    if room < 0.0 {
        return Err(ProgramError::Noise { scheme, missing_bits: -room });
    }
    let error = result_error(drawn, &bounds, demand.length);
    if bounds.error_log2 > allowed_log2 {
        let asked = demand.precision.unwrap_or(super::candidates::DEFAULT_PRECISION);
        return Err(ProgramError::Precision { asked, least: error });
    }
    let Lane::Bootstrapped(own) = &lane else { return Err(CircuitError::Shape.into()) };
    let length = demand.length;
    let work = bootstrapped_work(&drawn.body, &circuit.schedule, (&chain, own), length);
    let (inputs, lanes) = (drawn.inputs.clone(), vec![lane]);
    Ok(Plan { scheme, circuit, inputs, lanes, bounds, length, error: Some(error), work, set: Some(set) })
}

/// A circuit with its bootstrappings in a lane, and the bounds of its results.
fn bounded(lane: &Lane, drawn: &Drawn, demand: &Demand) -> Result<(PlacedCircuit, Bounds), ProgramError> {
    let circuit = placed(lane, drawn)?;
    let blocks = demand.length.div_ceil(lane.slot_count()).max(1) as f64;
    let sums_log2 = if drawn.reading.aggregate.is_some() { blocks.log2() } else { 0.0 };
    let bounds = lane.bounds(&circuit, sums_log2);
    let mut bounds = bounds.map_err(|error| match error {
        // Values are divided by a bound of theirs: what is larger is error.
        CircuitError::Magnitude { .. } => ProgramError::Diverges,
        error => error.into(),
    })?;
    bounds.error_log2 -= sums_log2;
    Ok((circuit, bounds))
}

/// A circuit with its bootstrappings in a lane.
///
/// # Errors
/// [`CircuitError::Levels`] if there is no placement; [`CircuitError::Shape`] for another lane.
pub(super) fn placed(lane: &Lane, drawn: &Drawn) -> Result<PlacedCircuit, CircuitError> {
    let (Lane::Bootstrapped(own), Body::Real(steps)) = (lane, &drawn.body) else {
        return Err(CircuitError::Shape);
    };
    let (params, shape) = (lane.chain().params(), own.bootstrapping().shape());
    let cost = |level: Level| switch(params, level);
    let boot = Boot {
        input: shape.input(),
        output: shape.output(),
        cost: bootstrap(params, own),
        headroom_log2: own.bootstrapping().headroom_log2(),
        largest_up: Bootstrapping::LARGEST_UP,
    };
    // An output may use the levels of the way to coefficients, as far as its values fit there.
    let least = (0..=shape.input().0).map(Level).find(|&level| {
        let scale_log2 = own.scale_log2(level);
        let log_q = params.log_q(level).unwrap_or(0.0);
        // Products on the way down have twice the scale above the level where they end.
        drawn.body.largest_log2().max(0.0) + scale_log2 + ROOM_BITS <= log_q
    });
    let rules = Rules {
        least: least.unwrap_or(shape.input()),
        boot,
        cost: &cost,
        rotations: drawn.body.summed().next_power_of_two().ilog2(),
    };
    let schedule = Schedule::cheapest(steps, &rules)?;
    Ok(PlacedCircuit::new(drawn.body.clone(), schedule, drawn.reading.clone()))
}

/// Beyond a value at its scale: its sign, the room of encodings, and what products lose.
const ROOM_BITS: f64 = 4.0;

#[cfg(test)]
mod tests;
