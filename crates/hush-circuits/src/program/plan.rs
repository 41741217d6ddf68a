// SPDX-License-Identifier: Apache-2.0
//! A scheme with parameters and a circuit that is known to decrypt.

use hush_expr::{Input, Ratio};
use hush_params::bootstrap::{self, BootstrapSet};
use hush_params::noise::{FAILURE_LOG2, add_phase_log2, norm_failure_log2};
use num_bigint::BigInt;
use num_integer::Integer as _;

use super::kind::SchemeKind;
use super::lane::{Bounds, Lane, joined};
use super::placed::{Body, PlacedCircuit};

/// A scheme with parameters, and a circuit with bounds that all hold in them.
#[derive(Debug)]
pub struct Plan {
    pub(super) scheme: SchemeKind,
    pub(super) circuit: PlacedCircuit,
    pub(super) inputs: Vec<Input>,
    pub(super) lanes: Vec<Lane>,
    pub(super) bounds: Bounds,
    pub(super) length: usize,
    pub(super) error: Option<f64>,
    pub(super) work: f64,
    /// The set of a plan that bootstraps.
    pub(super) set: Option<&'static BootstrapSet>,
}

impl Plan {
    /// The scheme.
    pub fn scheme(&self) -> SchemeKind {
        self.scheme
    }
    /// The circuit.
    pub fn circuit(&self) -> &PlacedCircuit {
        &self.circuit
    }
    /// The encrypted form of each vector.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }
    /// One for each plaintext prime; one in CKKS.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }
    /// The parameter set of bootstrapping, if the plan bootstraps.
    pub fn bootstrap_set(&self) -> Option<&'static BootstrapSet> {
        self.set
    }
    /// Bootstrappings of a value, one after the other: 0 if the plan does not bootstrap.
    pub fn passes(&self) -> u32 {
        match self.lanes.first() {
            Some(Lane::Bootstrapped(lane)) => lane.passes(),
            _ => 0,
        }
    }
    /// Values in one ciphertext.
    pub fn slot_count(&self) -> usize {
        self.lanes.first().map_or(1, Lane::slot_count)
    }
    /// Ciphertexts that a vector takes in each lane.
    pub fn block_count(&self) -> usize {
        self.length.div_ceil(self.slot_count()).max(1)
    }
    /// Bits between the tightest bound of a step and what it must not exceed; at least 0.
    pub fn margin_bits(&self) -> f64 {
        self.bounds.margin_bits
    }
    /// What no result errs by, if results are approximate.
    pub fn error(&self) -> Option<f64> {
        self.error
    }
    /// Values of each vector.
    pub fn length(&self) -> usize {
        self.length
    }
    /// Predicted butterflies of the whole run.
    pub fn work(&self) -> f64 {
        self.work
    }

    /// Bounds of the outputs, of one element or, where elements become one result, of the sum over all: integers of exact schemes. `None` in CKKS.
    pub fn output_bounds(&self) -> Option<(BigInt, BigInt)> {
        let Body::Exact(circuit) = &self.circuit.body else { return None };
        let range = circuit.ranges().last()?;
        let floor = |ratio: &Ratio| ratio.numerator().div_floor(ratio.denominator());
        // No more than the bounds say, whatever fractions they have.
        let (low, high) = (floor(range.low()), -floor(&-range.high().clone()));
        let elements = if circuit.aggregate().is_some() { self.length.max(1) } else { 1 };
        Some((low * elements, high * elements))
    }

    /// log2 of the chance that any result is wrong, or further off than [`Plan::error`]: a bound for every step, block and lane.
    pub fn failure_log2(&self) -> f64 {
        let degree = self.lanes.first().map_or(1024, |lane| lane.chain().degree()) as f64;
        // The bound itself, and the three norms that it rests on.
        let one = add_phase_log2(FAILURE_LOG2 + 2.0, norm_failure_log2(degree));
        // A step may be watched undivided, divided and lowered.
        let steps = self.circuit.body.len() * self.lanes.len();
        let raised: usize = self.circuit.raises().iter().map(|raise| raise.steps.len()).sum();
        let raised = raised * self.passes() as usize;
        let bounds = 3 * (steps + raised * BOUNDS) * self.block_count();
        let of_bounds = one + (bounds as f64).log2();
        // That the modulus is raised beyond its range.
        let raised = (raised * self.block_count()) as f64;
        add_phase_log2(of_bounds, bootstrap::FAILURE_LOG2 + raised.log2())
    }

    /// The integer with these residues, one for each lane, nearest to zero.
    pub fn join(&self, residues: &[i64]) -> BigInt {
        joined(residues, &self.lanes.iter().filter_map(Lane::modulus).collect::<Vec<_>>())
    }
}

/// Bounds on the way of one bootstrapping: factors, key switches, products.
const BOUNDS: usize = 64;
