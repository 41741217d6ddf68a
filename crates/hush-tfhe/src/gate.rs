// SPDX-License-Identifier: Apache-2.0
//! Gates on encrypted bits: a sum, and a bootstrapping by its sign.
//!
//! # Math
//! True is `1/8`, false `−1/8`. A gate adds its operands and a constant so that results that are true have positive phases, at least `1/8` from 0 (XOR doubles both, and has
//! `1/4`). NOT changes the sign and costs nothing. MUX adds two gates of which at most one is true: its norm is 2, and gates on two of them still are within that of the set.

use crate::{Context, Lwe, ServerKey, Table, TfheError};

/// An encrypted bit of a set of signs.
#[derive(Clone, Debug)]
pub struct Bit {
    lwe: Lwe,
    norm: u32,
}

/// A gate of two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Both.
    And,
    /// Not both.
    Nand,
    /// Neither.
    Nor,
    /// At least one.
    Or,
    /// Both or neither.
    Xnor,
    /// One of them.
    Xor,
}

impl Gate {
    /// All gates.
    pub const ALL: [Self; 6] = [Self::And, Self::Nand, Self::Nor, Self::Or, Self::Xnor, Self::Xor];

    /// What it gives.
    pub fn of(self, a: bool, b: bool) -> bool {
        match self {
            Self::And => a & b,
            Self::Nand => !(a & b),
            Self::Nor => !(a | b),
            Self::Or => a | b,
            Self::Xnor => a == b,
            Self::Xor => a != b,
        }
    }

    /// The factor of both operands, and the constant in eighths.
    fn sum(self) -> (i64, i64) {
        match self {
            Self::And => (1, -1),
            Self::Nand => (-1, 1),
            Self::Nor => (-1, -1),
            Self::Or => (1, 1),
            Self::Xnor => (-2, -2),
            Self::Xor => (2, 2),
        }
    }
}

impl Bit {
    /// The bit in a ciphertext that an owner sent or a bootstrapping gave: no sum of others, whose norm it would not have.
    pub fn fresh(lwe: Lwe) -> Self {
        Self { lwe, norm: 1 }
    }

    /// The ciphertext.
    pub fn lwe(&self) -> &Lwe {
        &self.lwe
    }

    /// The other bit, for free.
    ///
    /// # Errors
    /// None for bits of the context's set.
    pub fn not(&self, context: &Context) -> Result<Self, TfheError> {
        let mut lwe = Lwe::constant(context, 0);
        lwe.add_scaled(&self.lwe, -1)?;
        Ok(Self { lwe, norm: self.norm })
    }
}

/// Evaluates gates, in groups that share the keys.
///
/// # Errors
/// [`TfheError::Norm`] for operands that come from sums of too many; [`TfheError::Count`] for bits of another set.
pub fn evaluate(key: &ServerKey, gates: &[(Gate, &Bit, &Bit)]) -> Result<Vec<Bit>, TfheError> {
    let (context, table) = (key.context(), Table::sign(key.context()));
    let sum = |(gate, a, b): &(Gate, &Bit, &Bit)| {
        let (found, limit) = (a.norm + b.norm, context.set().norm());
        if found > limit {
            return Err(TfheError::Norm { found, limit });
        }
        let (factor, eighths) = gate.sum();
        let mut sum = Lwe::constant(context, eighth(context, eighths));
        sum.add_scaled(&a.lwe, factor)?;
        sum.add_scaled(&b.lwe, factor)?;
        Ok(sum)
    };
    let sums = gates.iter().map(sum).collect::<Result<Vec<_>, _>>()?;
    let jobs: Vec<(&Lwe, &Table)> = sums.iter().map(|sum| (sum, &table)).collect();
    Ok(key.bootstrap(&jobs)?.into_iter().map(Bit::fresh).collect())
}

/// `then` where the condition is true, `otherwise` where it is false: two gates and a sum.
///
/// # Errors
/// As [`evaluate`].
pub fn choose(key: &ServerKey, choices: &[(&Bit, &Bit, &Bit)]) -> Result<Vec<Bit>, TfheError> {
    let context = key.context();
    let negated: Vec<Bit> =
        choices.iter().map(|(condition, ..)| condition.not(context)).collect::<Result<_, _>>()?;
    let both = choices.iter().zip(&negated).flat_map(|((condition, then, otherwise), negated)| {
        [(Gate::And, *condition, *then), (Gate::And, negated, *otherwise)]
    });
    let parts = evaluate(key, &both.collect::<Vec<_>>())?;
    let joined = |pair: &[Bit]| {
        let mut lwe = Lwe::constant(context, eighth(context, 1));
        pair.iter().try_for_each(|bit| lwe.add_scaled(&bit.lwe, 1))?;
        Ok(Bit { lwe, norm: 2 })
    };
    parts.chunks(2).map(joined).collect()
}

/// So many eighths of the modulus.
fn eighth(context: &Context, eighths: i64) -> u64 {
    let positive = context.fraction(eighths.unsigned_abs(), 8);
    if eighths < 0 { context.modulus().neg(positive) } else { positive }
}
