// SPDX-License-Identifier: Apache-2.0
//! The shape of element-wise programs ([`SlotExpr`]). The server needs it before it evaluates, the owner before he
//! decrypts.
//!
//! # Rules
//! - The **degree** counts encrypted factors: a column has 1, clear operands and constants 0, products add, sums
//!   take the larger. At most 2. An answer has `degree + 1` polynomials.
//! - Subexpressions without a column are computed in the clear first, slot by slot.
//! - The **scale power** `p` of an approximate program says that its phase is at scale `2^(p·k)`, where `2^k` is the
//!   scale of its columns. A column has 1; a product adds the powers of its factors, where a clear factor counts 1
//!   and an integer constant 0; a sum of two encrypted terms has the larger one (the other is raised, exactly); a
//!   clear term beside an encrypted one takes its scale. Exact programs have no scale.

use hush_params::ParamSet;
use hush_params::size::MAX_SCALE_LOG2;
use hush_plan::plan::{SlotExpr, is_integer};
use hush_plan::{Encoding, EncodingId, Packing};

use crate::{PlanFault, packing};

/// Most nodes of one program.
pub const MAX_NODES: usize = 512;
/// Deepest nesting of one program.
pub const MAX_DEPTH: usize = 64;
/// Longest constant in bytes.
pub const MAX_CONSTANT_BYTES: usize = 100;

/// The form of a program's result.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramShape {
    /// Packing of all its columns.
    pub packing: Packing,
    /// Parameter set of all its columns.
    pub set: &'static ParamSet,
    /// Encrypted factors of the highest product, 1 or 2.
    pub degree: u8,
    /// Scale of the result over the scale of a column, as a power; 0 for exact programs.
    pub scale_power: u32,
    /// The columns, each once, ascending.
    pub columns: Vec<EncodingId>,
}

impl ProgramShape {
    /// Polynomials of each answered ciphertext.
    pub fn components(&self) -> u8 {
        self.degree + 1
    }

    /// Ciphertexts per ring element.
    pub fn lanes(&self) -> u8 {
        packing::lanes(&self.packing)
    }
}

/// Analyses program number `program` over a table with these encodings.
///
/// # Errors
/// The first [`PlanFault`]: size, unknown or unfit columns, degree, constants, scale.
pub fn shape(
    program: usize,
    expr: &SlotExpr,
    operand_count: usize,
    encodings: &[Encoding],
) -> Result<ProgramShape, PlanFault> {
    let mut columns = Vec::new();
    check_size(expr, operand_count, &mut columns)?;
    columns.sort_unstable();
    columns.dedup();
    let first = columns.first().ok_or(PlanFault::ClearProgram { program })?;
    let model = slot_encoding(*first, encodings)?;
    for id in &columns {
        let other = slot_encoding(*id, encodings)?;
        if (&other.packing, &other.params) != (&model.packing, &model.params) {
            return Err(PlanFault::MixedProgram { program });
        }
    }
    let set = model.ring().map_err(|_| PlanFault::UnknownEncoding { id: model.id })?;
    let approximate = model.packing.is_approximate();
    let (degree, power) = measure(program, expr, approximate)?;
    let scale_power = if approximate { power } else { 0 };
    if let Some(log2) = model.packing.scale_log2()
        && log2.saturating_mul(power) > MAX_SCALE_LOG2
    {
        return Err(PlanFault::Scale { program });
    }
    Ok(ProgramShape { packing: model.packing.clone(), set, degree, scale_power, columns })
}

/// The clear operands that a program of checked size uses, with repetitions.
pub(crate) fn operands(expr: &SlotExpr) -> Vec<usize> {
    let mut pending = vec![expr];
    let mut operands = Vec::new();
    while let Some(expr) = pending.pop() {
        match expr {
            SlotExpr::Add(left, right) | SlotExpr::Sub(left, right) | SlotExpr::Mul(left, right) => {
                pending.extend([left.as_ref(), right.as_ref()]);
            }
            SlotExpr::Neg(inner) => pending.push(inner),
            SlotExpr::Clear(operand) => operands.push(*operand),
            SlotExpr::Column(_) | SlotExpr::Constant(_) => {}
        }
    }
    operands
}

fn slot_encoding(id: EncodingId, encodings: &[Encoding]) -> Result<&Encoding, PlanFault> {
    let encoding =
        encodings.iter().find(|encoding| encoding.id == id).ok_or(PlanFault::UnknownEncoding { id })?;
    if encoding.packing.evaluates() { Ok(encoding) } else { Err(PlanFault::WrongLayout { id }) }
}

/// Walks the tree with a stack of its own, so that no plan can exhaust the thread's.
fn check_size(expr: &SlotExpr, operand_count: usize, columns: &mut Vec<EncodingId>) -> Result<(), PlanFault> {
    let mut pending = vec![(expr, 1_usize)];
    let mut nodes = 0;
    while let Some((expr, depth)) = pending.pop() {
        nodes += 1;
        if nodes > MAX_NODES {
            return Err(PlanFault::TooMany { what: "nodes of a program", found: nodes, limit: MAX_NODES });
        }
        if depth > MAX_DEPTH {
            return Err(PlanFault::TooMany { what: "levels of a program", found: depth, limit: MAX_DEPTH });
        }
        match expr {
            SlotExpr::Add(left, right) | SlotExpr::Sub(left, right) | SlotExpr::Mul(left, right) => {
                pending.push((left, depth + 1));
                pending.push((right, depth + 1));
            }
            SlotExpr::Neg(inner) => pending.push((inner, depth + 1)),
            SlotExpr::Column(id) => columns.push(*id),
            SlotExpr::Clear(found) if *found >= operand_count => {
                return Err(PlanFault::Index { what: "operand", found: *found, count: operand_count });
            }
            SlotExpr::Clear(_) | SlotExpr::Constant(_) => {}
        }
    }
    Ok(())
}

/// Degree and scale power. [`check_size`] ran before, so recursion is at most [`MAX_DEPTH`] deep.
fn measure(program: usize, expr: &SlotExpr, approximate: bool) -> Result<(u8, u32), PlanFault> {
    let both =
        |left, right| Ok((measure(program, left, approximate)?, measure(program, right, approximate)?));
    match expr {
        SlotExpr::Column(_) => Ok((1, 1)),
        SlotExpr::Clear(_) => Ok((0, 1)),
        SlotExpr::Constant(text) => {
            let valid = if approximate { is_decimal(text) } else { is_exact_integer(text) };
            let power = u32::from(!is_integer(text));
            if valid { Ok((0, power)) } else { Err(PlanFault::Constant { program }) }
        }
        SlotExpr::Neg(inner) => measure(program, inner, approximate),
        SlotExpr::Add(left, right) | SlotExpr::Sub(left, right) => {
            let ((left, left_power), (right, right_power)) = both(left, right)?;
            let power = match (left, right) {
                (0, 1..) => right_power,
                (1.., 0) => left_power,
                _ => left_power.max(right_power),
            };
            Ok((left.max(right), power))
        }
        SlotExpr::Mul(left, right) => {
            let ((left, left_power), (right, right_power)) = both(left, right)?;
            let degree = left + right;
            if degree > 2 {
                return Err(PlanFault::Degree { program });
            }
            // A clear product is computed before it is encoded, so it counts once.
            let power = if degree == 0 { left_power.max(right_power) } else { left_power + right_power };
            Ok((degree, power))
        }
    }
}

fn is_exact_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && text.len() <= MAX_EXACT_DIGITS && digits.bytes().all(|c| c.is_ascii_digit())
}

fn is_decimal(text: &str) -> bool {
    text.len() <= MAX_CONSTANT_BYTES && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// A 256-bit integer has at most 77 digits; 76 always fit, with a sign.
const MAX_EXACT_DIGITS: usize = 76;

#[cfg(test)]
mod tests {
    use hush_plan::packing::{ApproxSlots, Slots, Sum};

    use super::*;

    fn encoding(id: u32, packing: Packing) -> Encoding {
        Encoding { id: EncodingId(id), params: "n13_q4x46_sec128_v1".to_owned(), packing }
    }

    fn table() -> Vec<Encoding> {
        let slots = Packing::Slots(Slots::of(hush_params::PLAINTEXT_PRIMES_45[..2].to_vec()));
        vec![
            encoding(0, slots.clone()),
            encoding(1, slots),
            encoding(2, Packing::ApproxSlots(ApproxSlots { scale_log2: 40 })),
            encoding(3, Packing::Sum(Sum { t_log2: 64 })),
        ]
    }

    fn column(id: u32) -> Box<SlotExpr> {
        Box::new(SlotExpr::Column(EncodingId(id)))
    }

    fn constant(text: &str) -> Box<SlotExpr> {
        Box::new(SlotExpr::Constant(text.to_owned()))
    }

    #[test]
    fn degrees_add_in_products_and_never_exceed_two() {
        let product = SlotExpr::Mul(column(0), Box::new(SlotExpr::Add(column(1), constant("-7"))));
        let found = shape(0, &product, 0, &table()).unwrap();
        assert_eq!((found.degree, found.lanes(), found.scale_power), (2, 2, 0));
        assert_eq!(found.columns, [EncodingId(0), EncodingId(1)]);
        let triple = SlotExpr::Mul(Box::new(product), column(0));
        assert_eq!(shape(3, &triple, 0, &table()), Err(PlanFault::Degree { program: 3 }));
    }

    #[test]
    fn scale_powers_follow_the_rules() {
        let power = |expr: &SlotExpr| shape(0, expr, 1, &table()).map(|shape| shape.scale_power);
        let times = |factor| SlotExpr::Mul(column(2), factor);
        assert_eq!(power(&times(constant("-3"))), Ok(1));
        assert_eq!(power(&times(constant("0.5"))), Ok(2));
        assert_eq!(power(&times(Box::new(SlotExpr::Clear(0)))), Ok(2));
        assert_eq!(power(&SlotExpr::Add(column(2), constant("0.5"))), Ok(1));
        assert_eq!(power(&SlotExpr::Sub(Box::new(times(column(2))), column(2))), Ok(2));
        let cube = SlotExpr::Mul(Box::new(times(column(2))), Box::new(SlotExpr::Neg(constant("1.5"))));
        assert_eq!(power(&cube), Ok(3));
        assert_eq!(
            power(&SlotExpr::Mul(Box::new(cube), constant("2.5"))),
            Err(PlanFault::Scale { program: 0 })
        );
    }

    #[test]
    fn unfit_programs_are_refused() {
        let shape = |expr: &SlotExpr| shape(0, expr, 1, &table()).unwrap_err();
        assert_eq!(shape(&constant("1")), PlanFault::ClearProgram { program: 0 });
        assert_eq!(shape(&column(9)), PlanFault::UnknownEncoding { id: EncodingId(9) });
        assert_eq!(shape(&column(3)), PlanFault::WrongLayout { id: EncodingId(3) });
        assert_eq!(shape(&SlotExpr::Add(column(0), column(2))), PlanFault::MixedProgram { program: 0 });
        assert_eq!(shape(&SlotExpr::Add(column(0), constant("0.5"))), PlanFault::Constant { program: 0 });
        assert_eq!(shape(&SlotExpr::Add(column(2), constant("inf"))), PlanFault::Constant { program: 0 });
        let beyond = SlotExpr::Add(column(0), Box::new(SlotExpr::Clear(1)));
        assert_eq!(shape(&beyond), PlanFault::Index { what: "operand", found: 1, count: 1 });
        let deep = (0..MAX_DEPTH).fold(column(0), |inner, _| Box::new(SlotExpr::Neg(inner)));
        assert!(matches!(shape(&deep), PlanFault::TooMany { .. }));
        let wide = (0..10).fold(column(0), |inner, _| Box::new(SlotExpr::Add(inner.clone(), inner)));
        assert!(matches!(shape(&wide), PlanFault::TooMany { .. }));
    }
}
