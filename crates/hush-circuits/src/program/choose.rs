// SPDX-License-Identifier: Apache-2.0
//! From an expression and ranges to a scheme, parameters and a circuit that is known to decrypt.

use hush_expr::{ExprError, Expression};

use super::bootstrapped;
use super::candidates::{Candidate, Demand, Drawn, Vector, approximate, drawn, exact};
use super::error::ProgramError;
use super::kind::SchemeKind;
use super::plan::Plan;

impl Plan {
    /// The plan of least predicted work among those that serve (see the cost model in docs/math/circuits.md).
    ///
    /// Vectors are in the order of [`Expression::names`]. Without a scheme: CKKS if a vector is approximate by its type; else BGV or
    /// BFV, or CKKS as well where a precision was given. What no chain of CKKS is deep enough for is bootstrapped.
    ///
    /// # Cost
    /// Several searches for chains, up to a second each; with bootstrapping the encoding of its matrices.
    ///
    /// # Errors
    /// A [`ProgramError`] if nothing serves; that of the first scheme that was tried.
    pub fn choose(
        expression: &Expression,
        vectors: &[Vector],
        demand: &Demand,
    ) -> Result<Self, ProgramError> {
        let is_float = vectors.iter().any(|vector| vector.is_float);
        let schemes = match (demand.scheme, is_float, demand.precision) {
            (Some(scheme), ..) => vec![scheme],
            (None, true, _) => vec![SchemeKind::Ckks],
            (None, false, None) => vec![SchemeKind::Bgv, SchemeKind::Bfv],
            (None, false, Some(_)) => vec![SchemeKind::Bgv, SchemeKind::Bfv, SchemeKind::Ckks],
        };
        let mut candidates = Vec::new();
        let (mut refusal, mut is_too_deep) = (None, false);
        let mut refused = |error: ProgramError| {
            is_too_deep |= matches!(error, ProgramError::Chain { scheme: SchemeKind::Ckks, .. });
            refusal.get_or_insert(error);
        };
        let mut deep = None;
        for scheme in schemes {
            let found = match scheme {
                SchemeKind::Ckks => drawn(expression, vectors, demand.length).and_then(|mut drawn| {
                    let found = first(&drawn, demand).map(|candidate| vec![candidate]);
                    deep = drawn.pop();
                    found
                }),
                _ => exact(scheme, expression, vectors, demand),
            };
            match found {
                Ok(found) => candidates.extend(found),
                Err(error) => refused(error),
            }
        }
        candidates.sort_by(|a, b| a.work.total_cmp(&b.work));
        for candidate in candidates {
            match candidate.finish(demand) {
                Ok(plan) => return Ok(plan),
                Err(error) => refused(error),
            }
        }
        match deep {
            Some(drawn) if is_too_deep => bootstrapped::plan(&drawn, demand),
            _ => Err(refusal.unwrap_or(ProgramError::Expression(ExprError::Constant))),
        }
    }
}

/// Of the circuits of an approximate scheme the first that a chain may hold.
fn first(drawn: &[Drawn], demand: &Demand) -> Result<Candidate, ProgramError> {
    let mut refusal = ProgramError::Expression(ExprError::Constant);
    for drawn in drawn {
        match approximate(drawn, demand) {
            Ok(candidate) => return Ok(candidate),
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}
