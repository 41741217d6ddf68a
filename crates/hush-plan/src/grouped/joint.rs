// SPDX-License-Identifier: Apache-2.0
//! One aggregate of several columns: its moments over the rows where all of them have a value.
//!
//! Every variable is a polynomial of its own on the rows of its guards. Where the guards of one combination of pieces
//! hold, and nothing in it is missing, the row counts; the count, the sums and the sums of products of all
//! variables are then first moments of polynomials on the same rows.

use sqlparser::ast::Expr;

use super::Builder;
use crate::aggregates::Jointly;
use crate::error::{Measure, PlanError, Unfit};
use crate::expr::{Kind, MAX_PIECES, Piece, normalise};
use crate::plan::{JointMoments, OwnerAggregate, Predicate};
use crate::sql::{bare, column_name, shown};

/// Plans `function` of the variables `arguments`; `condition` is the FILTER, `text` the call as typed.
///
/// # Errors
/// As for sums of the variables and of their products; [`PlanError::WrongType`] for dates and approximate columns.
pub(super) fn aggregate(
    builder: &mut Builder<'_>,
    function: Jointly,
    arguments: &[Expr],
    condition: Option<&Predicate>,
    text: &str,
) -> Result<OwnerAggregate, PlanError> {
    let variables: Vec<Vec<Piece>> =
        arguments.iter().map(|argument| variable(builder, argument)).collect::<Result<_, _>>()?;
    builder.together = columns(arguments);
    let rows = combinations(&variables, condition)?;
    let support: Vec<Piece> = rows.iter().map(|row| row.support.clone()).collect();
    let count = builder.count(&support, text)?.linear;
    let Jointly::Function(function) = function else { return Ok(OwnerAggregate::Count { count }) };

    let scales: Vec<u32> =
        variables.iter().map(|pieces| pieces.iter().map(Piece::scale).max().unwrap_or(0)).collect();
    let form = |builder: &mut Builder<'_>, factors: &[usize]| {
        let product = |row: &Combination| {
            let factors = factors.iter().filter_map(|index| row.pieces.get(*index));
            let mut product = row.support.clone();
            for factor in factors {
                product = product.times(factor, text)?;
            }
            Ok(product)
        };
        let pieces: Vec<Piece> = rows.iter().map(product).collect::<Result<_, PlanError>>()?;
        let scale = factors.iter().filter_map(|index| scales.get(*index)).sum();
        Ok::<_, PlanError>(builder.form(&pieces, scale, text)?.linear)
    };
    let sums = (0..variables.len()).map(|index| form(builder, &[index])).collect::<Result<_, _>>()?;
    let mut moments = JointMoments { sums, ..JointMoments::default() };
    for (i, j) in function.products(variables.len()) {
        moments.products.insert((i, j), form(builder, &[i, j])?);
    }
    moments.scales = scales.iter().map(|scale| u8::try_from(*scale).unwrap_or(u8::MAX)).collect();
    Ok(OwnerAggregate::Joint { function, count, moments })
}

/// The columns, if all variables are columns.
fn columns(arguments: &[Expr]) -> Vec<String> {
    let columns = arguments.iter().map(|argument| column_name(bare(argument)).map(str::to_owned));
    columns.collect::<Option<_>>().unwrap_or_default()
}

/// A variable as pieces of exact numbers.
fn variable(builder: &Builder<'_>, argument: &Expr) -> Result<Vec<Piece>, PlanError> {
    let pieces = normalise(builder.schema, argument)?;
    let unfit = |reason| Err(PlanError::WrongType { text: shown(argument), reason });
    if pieces.iter().any(|piece| piece.kind != Kind::Number) {
        return unfit(Unfit::DateArithmetic);
    }
    if pieces.iter().flat_map(|piece| piece.terms.keys()).any(|monomial| builder.is_approximate(monomial)) {
        return unfit(Unfit::Approximate);
    }
    Ok(pieces)
}

/// One piece of every variable, and where they all hold.
struct Combination {
    /// 1 where every piece is defined and the FILTER holds.
    support: Piece,
    pieces: Vec<Piece>,
}

fn combinations(
    variables: &[Vec<Piece>],
    condition: Option<&Predicate>,
) -> Result<Vec<Combination>, PlanError> {
    let mut rows: Vec<Vec<Piece>> = vec![Vec::new()];
    for pieces in variables {
        if rows.len().saturating_mul(pieces.len()) > MAX_PIECES {
            return Err(PlanError::TooComplex { what: Measure::Pieces, limit: MAX_PIECES as u64 });
        }
        let extended = rows.iter().flat_map(|row| {
            pieces.iter().map(|piece| row.iter().chain([piece]).cloned().collect::<Vec<Piece>>())
        });
        rows = extended.collect();
    }
    let rows = rows.into_iter().filter_map(|pieces| {
        let supports = pieces.iter().map(Piece::support);
        let support = supports.reduce(|all, one| all.times(&one, "").unwrap_or(all))?;
        Some(Combination { support: support.where_true(condition), pieces })
    });
    Ok(rows.collect())
}
