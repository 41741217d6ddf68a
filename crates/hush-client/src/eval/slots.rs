// SPDX-License-Identifier: Apache-2.0
//! Pieces of expressions with comparisons that are sums and products: computed in slots, and brought into digits where that takes fewer bootstrappings, or where nothing else does.

use std::ops::Range;

use hush_circuits::bridge::{Bridge, Output};
use hush_circuits::gates::{Bridged, GatePlan};
use hush_circuits::program::{Demand, Plan, ProgramError, Vector};
use hush_expr::{Cut, Expression, Parts};
use hush_keys::TfheSecret;
use hush_tfhe::{BridgeKey, BridgeParts, Context, Lwe, ServerKey, digits_cost};

use super::{Encrypted, EvalError, PieceAccount, Run};
use crate::error::ClientError;

/// An expression in two: pieces in slots, and a program on digits.
pub(super) struct Division {
    /// Those whose results the program reads.
    pub(super) pieces: Vec<Piece>,
    pub(super) digits: GatePlan,
}

/// A piece, and the way of its results into digits.
pub(super) struct Piece {
    expression: Expression,
    pub(super) bridge: Bridge,
    /// The vector of the program on digits that its results are.
    vector: usize,
}

impl Piece {
    /// How many results there are for so many elements.
    fn results(&self, length: usize) -> usize {
        if self.bridge.is_one_value() { 1 } else { length }
    }
}

impl Division {
    /// The division with the fewest bootstrappings: with what cannot stand in a program on digits in slots, or with all products there.
    ///
    /// # Errors
    /// Those of the first.
    pub(super) fn of(
        expression: &Expression,
        vectors: &[Vector],
        length: usize,
    ) -> Result<Self, ProgramError> {
        let least = expression.cut(Cut::Functions)?;
        // Without comparisons everything would be in slots, which is another scheme.
        let most = expression.cut(if expression.needs_gates() { Cut::Products } else { Cut::Functions })?;
        let is_same = least == most;
        let first = Self::of_parts(least, vectors, length);
        if is_same {
            return first;
        }
        let cost = |division: &Self| division.bootstraps(length);
        match (first, Self::of_parts(most, vectors, length)) {
            (Ok(least), Ok(most)) if cost(&least) <= cost(&most) => Ok(least),
            (_, Ok(most)) => Ok(most),
            (first, Err(_)) => first,
        }
    }

    fn of_parts(parts: Parts, vectors: &[Vector], length: usize) -> Result<Self, ProgramError> {
        let demand = Demand { length, scheme: None, precision: None, is_bridged: true };
        if !parts.pieces.is_empty() && vectors.iter().any(|vector| vector.is_float) {
            return Err(ProgramError::Approximate);
        }
        let piece = |(vector, expression): (usize, Expression)| {
            let bridge = Bridge::new(Plan::choose(&expression, vectors, &demand)?)?;
            Ok(Piece { expression, bridge, vector })
        };
        let pieces = (vectors.len()..).zip(parts.pieces).map(piece);
        let mut pieces = pieces.collect::<Result<Vec<_>, ProgramError>>()?;
        let bridged: Vec<Bridged> = pieces.iter().map(|piece| Bridged::of(&piece.bridge)).collect();
        let digits = GatePlan::of(&parts.outer, (vectors, &bridged), length)?;
        pieces.retain(|piece| digits.program().inputs().any(|(vector, _)| vector == piece.vector));
        Ok(Self { pieces, digits })
    }

    /// Bootstrappings of so many elements, about: a sum over elements is counted as if it were none.
    fn bootstraps(&self, length: usize) -> u64 {
        let of_program = self.digits.program().cost(1).map_or(u64::MAX, |cost| cost.bootstraps);
        of_program.saturating_mul(length as u64).saturating_add(self.bridge_bootstraps(length))
    }

    /// Bootstrappings of the way into digits.
    pub(super) fn bridge_bootstraps(&self, length: usize) -> u64 {
        let of_piece = |piece: &Piece| digits_cost(piece.bridge.bits()) * piece.results(length) as u64;
        self.pieces.iter().map(of_piece).sum()
    }

    /// Batches of bootstrappings of the way into digits, one after another: bits, and then their digits.
    pub(super) fn bridge_rounds(&self) -> u64 {
        let of_bits = |bits: u32| u64::from(bits) + u64::from(bits > 1);
        self.pieces.iter().map(|piece| of_bits(piece.bridge.bits())).sum()
    }

    pub(super) fn accounts(&self, length: usize) -> Vec<PieceAccount> {
        let account = |piece: &Piece| {
            let plan = piece.bridge.plan();
            let params = plan.lanes().first()?.chain().params();
            Some(PieceAccount {
                expression: piece.expression.to_string(),
                scheme: plan.scheme().name(),
                degree: params.degree(),
                log_q: params.log_q(params.top()).unwrap_or(0.0),
                security_bits: params.security_bits(),
                plaintext_primes: plan.lanes().iter().filter_map(|lane| lane.modulus()).collect(),
                depth: plan.circuit().depth(),
                results: piece.results(length),
                bits: piece.bridge.bits(),
            })
        };
        self.pieces.iter().filter_map(account).collect()
    }

    /// log2 of the chance that a piece is wrong, or a bit of it on the way.
    pub(super) fn failures_log2(&self, length: usize) -> Vec<f64> {
        let of_piece = |piece: &Piece| {
            let bits = piece.bridge.failure_log2() + (piece.results(length) as f64).log2();
            [piece.bridge.plan().failure_log2(), bits]
        };
        self.pieces.iter().flat_map(of_piece).collect()
    }
}

/// A piece on a server: its results in slots, and the keys to digits.
pub(super) struct Crossing<'a> {
    piece: &'a Piece,
    outputs: Vec<Vec<Output>>,
    keys: Vec<BridgeKey>,
    /// The digits of the one result that all elements have.
    shared: Option<Vec<Lwe>>,
}

impl<'a> Crossing<'a> {
    /// Encrypts the vectors of a piece, and evaluates it.
    pub(super) fn new(piece: &'a Piece, run: &mut Run<'a>, secret: &TfheSecret) -> Result<Self, ClientError> {
        let (bridge, plan) = (&piece.bridge, piece.bridge.plan());
        let (context, circuit) = (secret.context(), plan.circuit());
        let (mut outputs, mut keys) = (Vec::new(), Vec::new());
        for lane in plan.lanes() {
            let shape = (lane.chain().degree(), bridge.powers(lane));
            let Encrypted { secret: own, keys: objects, uploads } = run.encrypted(lane)?;
            let key = run
                .phases
                .time("keys", || secret.bridge_key(&own, shape.1)?.encode(context).map_err(failed))?;
            run.key_bytes += key.len() as u64;
            run.moved.up += key.len() as u64;
            let (of_lane, key) = run.phases.time("server", || {
                let server_keys = lane.decode_keys(circuit, &objects).map_err(EvalError::from)?;
                let outputs = lane.outputs(circuit, &server_keys, &uploads).map_err(EvalError::from)?;
                Ok::<_, ClientError>((outputs, BridgeParts::decode(context, shape, &key).map_err(failed)?))
            })?;
            outputs.push(of_lane);
            keys.push(key);
        }
        Ok(Self { piece, outputs, keys, shared: None })
    }

    /// The vector of the program on digits that its results are.
    pub(super) fn vector(&self) -> usize {
        self.piece.vector
    }

    /// The digits of some elements, one element after the other.
    pub(super) fn digits(
        &mut self,
        server: &ServerKey,
        elements: Range<usize>,
    ) -> Result<Vec<Lwe>, ClientError> {
        let count = elements.len();
        if let Some(shared) = &self.shared {
            return Ok(repeated(shared, count));
        }
        let phases =
            self.piece.bridge.phases(elements, &self.outputs, &self.keys).map_err(EvalError::from)?;
        let digits = server.digits_of(&phases).map_err(failed)?;
        let digits: Vec<Lwe> = digits.into_iter().flatten().collect();
        if !self.piece.bridge.is_one_value() {
            return Ok(digits);
        }
        let all = repeated(&digits, count);
        self.shared = Some(digits);
        Ok(all)
    }
}

fn repeated(digits: &[Lwe], count: usize) -> Vec<Lwe> {
    std::iter::repeat_n(digits, count).flatten().cloned().collect()
}

pub(super) fn failed(error: hush_tfhe::TfheError) -> ClientError {
    EvalError::from(ProgramError::from(error)).into()
}

/// The set of integers with its ring, for this machine.
pub(super) fn context() -> Result<Context, ClientError> {
    let cpu = hush_ring::Cpu::detect().map_err(|source| ClientError::Cpu { source })?;
    Context::new(&hush_params::tfhe::INTEGERS, cpu).map_err(failed)
}
