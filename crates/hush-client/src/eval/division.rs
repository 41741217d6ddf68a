// SPDX-License-Identifier: Apache-2.0
//! Expressions in parts: pieces with results of their own, which come into digits or stay there, and a program on digits for the rest.

use hush_circuits::bridge::Bridge;
use hush_circuits::gates::{Bridged, GatePlan};
use hush_circuits::program::{Demand, Plan, ProgramError, Vector};
use hush_expr::{Cut, Expression, Parts};
use hush_tfhe::digits_cost;

use super::blocks::{Blocks, Sum};
use super::{PieceAccount, SumAccount};

/// An expression in parts.
pub(super) struct Division {
    /// Those whose results programs read, each behind those that it is of.
    pub(super) pieces: Vec<Piece>,
    pub(super) digits: GatePlan,
    /// Elements whose results are wanted.
    pub(super) elements: usize,
    /// Values in each vector.
    pub(super) length: usize,
}

/// A piece.
pub(super) struct Piece {
    expression: Expression,
    /// The vector of programs on digits that its results are.
    pub(super) vector: usize,
    pub(super) place: Place,
}

/// Where a piece is computed.
pub(super) enum Place {
    /// In slots, with the way of its results into digits.
    Slots(Box<Bridge>),
    /// In digits: a sum over all elements.
    Digits(Box<GatePlan>),
}

/// What an evaluation takes.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    /// Bootstrappings.
    pub(super) bootstraps: u64,
    /// Batches of bootstrappings, one after another.
    pub(super) rounds: u64,
}

impl Cost {
    fn and(self, (bootstraps, rounds): (u64, u64)) -> Self {
        let bootstraps = self.bootstraps.saturating_add(bootstraps);
        Self { bootstraps, rounds: self.rounds.saturating_add(rounds) }
    }
}

impl Division {
    /// The division with the fewest bootstrappings: with what cannot stand in a program on digits in slots, or with all products there; as the expression stands, or with what all elements share in front of functions.
    ///
    /// # Errors
    /// Those of the first.
    pub(super) fn of(
        expression: &Expression,
        vectors: &[Vector],
        length: usize,
    ) -> Result<Self, ProgramError> {
        // Without comparisons all products in slots would be another scheme.
        let cuts: &[Cut] =
            if expression.needs_gates() { &[Cut::Functions, Cut::Products] } else { &[Cut::Functions] };
        let wholes = [expression.clone(), expression.with_shared_in_front(length)];
        let mut tried: Vec<Parts> = Vec::new();
        let mut best: Option<Result<(u64, Self), ProgramError>> = None;
        for (whole, cut) in wholes.iter().flat_map(|whole| cuts.iter().map(move |cut| (whole, cut))) {
            let parts = whole.cut(*cut)?;
            if tried.contains(&parts) {
                continue;
            }
            let found = Self::of_parts(whole, &parts, vectors, length)
                .and_then(|division| Ok((division.cost()?.bootstraps, division)));
            tried.push(parts);
            let is_better = match (&best, &found) {
                (None, _) | (Some(Err(_)), Ok(_)) => true,
                (Some(Ok((least, _))), Ok((bootstraps, _))) => bootstraps < least,
                (Some(_), Err(_)) => false,
            };
            if is_better {
                best = Some(found);
            }
        }
        let (_, division) = best.unwrap_or_else(|| Err(hush_expr::ExprError::Constant.into()))?;
        Ok(division)
    }

    fn of_parts(
        whole: &Expression,
        parts: &Parts,
        vectors: &[Vector],
        length: usize,
    ) -> Result<Self, ProgramError> {
        let demand = Demand { length, scheme: None, precision: None, is_bridged: true };
        if !parts.pieces.is_empty() && vectors.iter().any(|vector| vector.is_float) {
            return Err(ProgramError::Approximate);
        }
        let (mut pieces, mut bridged) = (Vec::with_capacity(parts.pieces.len()), Vec::new());
        for (vector, piece) in (vectors.len()..).zip(&parts.pieces) {
            let (place, value) = match piece {
                hush_expr::Piece::Slots(expression) => {
                    let bridge = Bridge::new(Plan::choose(expression, vectors, &demand)?)?;
                    let value = Bridged::of(&bridge);
                    (Place::Slots(Box::new(bridge)), value)
                }
                hush_expr::Piece::Digits(expression) => {
                    let plan = GatePlan::of(expression, (vectors, &bridged), length)?;
                    let value = Bridged::of_sum(&plan, length);
                    (Place::Digits(Box::new(plan)), value)
                }
            };
            pieces.push(Piece { expression: piece.expression().clone(), vector, place });
            bridged.push(value);
        }
        let digits = GatePlan::of(&parts.outer, (vectors, &bridged), length)?;
        // What bounds decide reads no piece.
        let mut used: Vec<usize> = digits.program().inputs().map(|(vector, _)| vector).collect();
        let mut kept = Vec::with_capacity(pieces.len());
        while let Some(piece) = pieces.pop() {
            if used.contains(&piece.vector) {
                used.extend(piece.inputs());
                kept.push(piece);
            }
        }
        kept.reverse();
        // Where all elements have one result, it is found once.
        let is_one = whole.function().is_none() && whole.is_one_value();
        Ok(Self { pieces: kept, digits, elements: if is_one { length.min(1) } else { length }, length })
    }

    /// Elements of all programs on digits.
    pub(super) fn all_elements(&self) -> u64 {
        (self.in_digits().count() * self.length + self.elements) as u64
    }

    /// What all of it takes.
    pub(super) fn cost(&self) -> Result<Cost, ProgramError> {
        let program = self.digits.program();
        let blocks = Blocks::of(program, self.elements)?;
        let own = Cost { bootstraps: blocks.bootstraps(program)?, rounds: blocks.rounds(program)? };
        self.pieces.iter().try_fold(own, |all, piece| Ok(all.and(piece.cost(self)?)))
    }

    /// Pieces in slots.
    pub(super) fn in_slots(&self) -> impl Iterator<Item = (&Piece, &Bridge)> {
        self.pieces.iter().filter_map(|piece| match &piece.place {
            Place::Slots(bridge) => Some((piece, bridge.as_ref())),
            Place::Digits(_) => None,
        })
    }

    /// Pieces in digits.
    pub(super) fn in_digits(&self) -> impl Iterator<Item = (&Piece, &GatePlan)> {
        self.pieces.iter().filter_map(|piece| match &piece.place {
            Place::Slots(_) => None,
            Place::Digits(plan) => Some((piece, plan.as_ref())),
        })
    }

    pub(super) fn slot_accounts(&self) -> Vec<PieceAccount> {
        let account = |(piece, bridge): (&Piece, &Bridge)| {
            let plan = bridge.plan();
            let params = plan.lanes().first()?.chain().params();
            Some(PieceAccount {
                expression: piece.expression.to_string(),
                scheme: plan.scheme().name(),
                degree: params.degree(),
                log_q: params.log_q(params.top()).unwrap_or(0.0),
                security_bits: params.security_bits(),
                plaintext_primes: plan.lanes().iter().filter_map(|lane| lane.modulus()).collect(),
                depth: plan.circuit().depth(),
                results: self.results((piece, bridge)),
                bits: bridge.bits(),
            })
        };
        self.in_slots().filter_map(account).collect()
    }

    pub(super) fn sum_accounts(&self) -> Result<Vec<SumAccount>, ProgramError> {
        let account = |(piece, plan): (&Piece, &GatePlan)| {
            let (bootstraps, _) = piece.cost(self)?;
            let bits = Bridged::of_sum(plan, self.length).bits();
            Ok(SumAccount { expression: piece.expression.to_string(), bits, bootstraps })
        };
        self.in_digits().map(account).collect()
    }

    /// log2 of the chance that a piece in slots is wrong, or a bit of it on the way.
    pub(super) fn failures_log2(&self) -> Vec<f64> {
        let of_piece = |(piece, bridge): (&Piece, &Bridge)| {
            let bits = bridge.failure_log2() + (self.results((piece, bridge)) as f64).log2();
            [bridge.plan().failure_log2(), bits]
        };
        self.in_slots().flat_map(of_piece).collect()
    }

    /// How many results of a piece in slots come into digits: the one that all elements have is kept, others are brought for each program that reads them.
    fn results(&self, (piece, bridge): (&Piece, &Bridge)) -> usize {
        if bridge.is_one_value() {
            return 1;
        }
        let of = |plan: &GatePlan, elements: usize| {
            if plan.program().inputs().any(|(vector, _)| vector == piece.vector) { elements } else { 0 }
        };
        let of_sums: usize = self.in_digits().map(|(_, plan)| of(plan, self.length)).sum();
        of_sums + of(&self.digits, self.elements)
    }
}

impl Piece {
    /// Vectors that it is of.
    pub(super) fn inputs(&self) -> Vec<usize> {
        match &self.place {
            Place::Slots(bridge) => bridge.plan().circuit().used_inputs(),
            Place::Digits(plan) => plan.program().inputs().map(|(vector, _)| vector).collect(),
        }
    }

    /// Bootstrappings until its results are in digits, and batches of them one after another.
    fn cost(&self, division: &Division) -> Result<(u64, u64), ProgramError> {
        match &self.place {
            Place::Slots(bridge) => {
                let bits = bridge.bits();
                let results = division.results((self, bridge)) as u64;
                // Bits, and then their digits.
                Ok((digits_cost(bits).saturating_mul(results), u64::from(bits) + u64::from(bits > 1)))
            }
            Place::Digits(plan) => {
                let (program, length) = (plan.program(), division.length);
                let blocks = Blocks::of(program, length)?;
                let (bootstraps, rounds) = Sum::new(plan, length).cost(&blocks)?;
                let of_blocks = blocks.bootstraps(program)?;
                Ok((of_blocks.saturating_add(bootstraps), rounds + blocks.rounds(program)?))
            }
        }
    }
}
