// SPDX-License-Identifier: Apache-2.0
//! Conditions that a server evaluates on encrypted columns, without keys: flags of values, whose sums and products are conditions, and measures in
//! limbs that are multiplied by them and added up over all rows.
//!
//! ```text
//! schema `filter`, `measure` ─ FilterShape::of ─▶ codes × lanes ─ quantities ─▶ Quantity::{Flag, Valid, Limb} in slots, one secret
//! query ─ compile ─▶ clear condition │ polynomial in flags (server) │ the rest, on sums (owner)
//! ```
//!
//! *Source.* docs/math/products.md: degree, noise and limbs.

mod altered;
mod cells;
mod code;
mod computed;
mod condition;
mod first_rows;
mod grain;
mod lanes;
mod matching;
mod search;
mod term;

use hush_params::{ParamSet, noise, presets_without_keys, size};
use sqlparser::ast::Expr;

pub use altered::{altered, forget_lost};
pub(crate) use cells::SumOfCells;
use cells::{flag_of_cell, sums_of_cells};
pub(crate) use code::Inner;
pub(crate) use code::rank_flags;
pub use code::{Code, CodeValue};
pub(crate) use computed::Computed;
pub use computed::{MAX_CONSTANTS, chain_of_constants};
use condition::CodedColumns;
pub(crate) use condition::{decide, text_of};
pub(crate) use lanes::without_spanned;
pub(crate) use matching::{Matching, matching};
pub(crate) use term::{Operand, Space, Term};

use crate::cube::{Axis, CubeFault, CubeShape, Lane, OnCells, is_constant, lanes_over};
use crate::derived::Derived;
use crate::error::Clause;
use crate::fetch::{and, conjuncts};
use crate::layout::Needs;
use crate::one_hot::compile_by_keys;
use crate::packing::slots::{FILTER_PRIME, has_slots};
use crate::plan::Round;
use crate::quantity::{Digits, Flag, FlagOf, Quantity};
use crate::schema::cube::{Cube, Dimension};
use crate::schema::file::SchemaError;
use crate::schema::{Column, FilterFault, Protection, Purpose, Schema};
use crate::sql::clear::encrypted_in;
use crate::sql::{Query, columns_of};

/// Most encoded columns of all filters and measures of a table.
pub const MAX_FILTER_COLUMNS: usize = 2048;
/// Most cells of a question.
pub(crate) const MAX_FILTER_CELLS: u32 = 256;
/// Factors of the products that parameters are chosen for, where there could be more.
pub(crate) const USUAL_DEGREE: usize = 5;
/// Rows of a ring element, in the rings that are used most.
const ELEMENT_ROWS: u64 = 8192;
/// Seconds that one core takes to encrypt and store a value, about.
pub(crate) const VALUE_SECONDS: f64 = 1.2e-7;
/// Bytes that are told before they are written.
const NOTED_BYTES: f64 = 1e8;
/// Fewest and most ring elements that are added up in one answer.
const ELEMENTS: (u64, u64) = (16, 1024);

/// The filters and measures of a schema worked out.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterShape {
    /// The columns that conditions may be on.
    pub(crate) codes: Vec<Code>,
    /// What is added up beside rows.
    pub(crate) lanes: Vec<Lane>,
    /// Bits of a limb.
    limb_bits: u8,
    /// Factors of products, where the schema says it.
    declared_factors: Option<u8>,
    /// Whether there are keys for conditions with encrypted constants.
    has_constant_keys: bool,
}

impl FilterShape {
    /// Works them out.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of(schema: &Schema) -> Result<Self, FilterFault> {
        let mut codes: Vec<Code> = Vec::new();
        for dimension in schema.all_filters() {
            if codes.iter().any(|code| code.column == dimension.column) {
                return Err(FilterFault::Twice { column: dimension.column });
            }
            codes.push(Code::of(schema, &dimension)?);
        }
        let mut derived: Vec<Derived> = Vec::new();
        for text in &schema.derived {
            let one = Derived::of(schema, text)?;
            if derived.iter().any(|other| other.is_same(&one)) {
                return Err(FilterFault::Twice { column: one.name });
            }
            derived.push(one);
        }
        codes.extend(derived.into_iter().map(Code::of_derived));
        let lanes = lanes::measured(schema, &schema.all_measures()).map_err(FilterFault::Measure)?;
        let elements = schema.max_rows.div_ceil(ELEMENT_ROWS).next_power_of_two();
        let shape = Self {
            codes,
            lanes,
            limb_bits: bits_of_limbs(elements.clamp(ELEMENTS.0, ELEMENTS.1)),
            declared_factors: schema.filter_factors,
            has_constant_keys: schema.constant_keys,
        };
        let found = shape.quantities().len();
        if found > MAX_FILTER_COLUMNS {
            let bytes = found as f64 * shape.set().map_or(0.0, |set| shape.bytes_of_value(set));
            return Err(FilterFault::TooManyColumns {
                found,
                bytes: bytes as u64,
                limit: MAX_FILTER_COLUMNS,
            });
        }
        Ok(shape)
    }

    /// The same with the measures that a table has.
    pub(crate) fn of_table(self, schema: &Schema, stored: &[Quantity]) -> Self {
        Self { lanes: lanes::of_quantities(schema, stored), ..self }
    }

    /// The same for the condition of a query, which says between which values ranks are told apart.
    pub(crate) fn cut_by(self, query: &Query) -> Self {
        let codes = self.codes.into_iter().map(|code| code.cut_by(query.filter.as_ref()));
        Self { codes: codes.collect(), ..self }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty() && self.lanes.is_empty()
    }

    /// What is encrypted for them.
    pub fn quantities(&self) -> Vec<Quantity> {
        let flags = self.codes.iter().flat_map(Code::quantities);
        let limbs = self.lanes.iter().flat_map(|lane| {
            let digits = Digits::of(&lane.row, self.limb_bits);
            lane.quantity.iter().flat_map(move |quantity| {
                let places = 0..digits.places(&lane.row);
                places.map(|place| limb_of(quantity, digits, place)).collect::<Vec<_>>()
            })
        });
        flags.chain(limbs).collect()
    }

    /// Factors of the products that parameters hold.
    fn factors(&self) -> usize {
        self.declared_factors.map_or(USUAL_DEGREE, usize::from)
    }

    /// The parameter set: with the fewest bytes for a value of those that hold a condition on every column times a measure, or products of
    /// as many factors as are declared, or of [`USUAL_DEGREE`], where that is less; with room for a mask of clear columns where a set of the same ring
    /// has it and no number of factors is declared.
    /// With keys for encrypted constants it is the one that there are keys for.
    pub(crate) fn set(&self) -> Option<&'static ParamSet> {
        if self.has_constant_keys {
            return computed::ring();
        }
        let fits = |set: &&ParamSet, is_masked: bool| {
            let space = space_of(set);
            let bound = self.phase_log2(space);
            let mask = if is_masked { mask_log2(space) } else { 0.0 };
            bound + mask + (ELEMENTS.1 as f64).log2() <= set.log_q() - 1.0
        };
        let possible = || presets_without_keys().filter(|set| set.security_bits() >= 128 && has_slots(set));
        let smallest = |is_masked| {
            let fitting = possible().filter(|set| fits(set, is_masked));
            fitting.min_by(|one, other| self.bytes_of_value(one).total_cmp(&self.bytes_of_value(other)))
        };
        let plain = smallest(false)?;
        let masked = smallest(true).filter(|masked| masked.degree() == plain.degree());
        Some(masked.filter(|_| self.declared_factors.is_none()).unwrap_or(plain))
    }

    /// Bytes of a stored value. A chunk that shares no ring elements does not fill the largest ones.
    fn bytes_of_value(&self, set: &ParamSet) -> f64 {
        let shares = shares_elements(&self.quantities());
        let rows = size::CHUNK_ROWS * if shares { size::chunks_of_element(set) } else { 1 };
        size::poly_bytes(set) as f64 / set.degree().min(rows as usize) as f64
    }

    /// The bound on a product of so many differences of flags, and of a measure.
    fn phase_log2(&self, space: Space) -> f64 {
        let fresh = noise::bgv_fresh_phase_log2(space.t_log2);
        let digits: usize = self.codes.iter().map(Code::degree).sum();
        let digits = digits.min(self.factors() - usize::from(!self.lanes.is_empty()));
        let factors = std::iter::repeat_n(fresh + 1.0, digits);
        let factors = factors.chain((!self.lanes.is_empty()).then_some(fresh));
        let product = |left, right| noise::product_phase_log2(space.degree, left, right);
        factors.reduce(product).unwrap_or(fresh)
    }
}

/// The ring and the plaintext modulus of filters.
pub(crate) fn space_of(set: &ParamSet) -> Space {
    Space { degree: set.degree(), t_log2: (FILTER_PRIME as f64).log2(), computed_log2: 0.0 }
}

/// The largest degree in the secret of a product of stored values that a set holds, and so the highest power that keys are made for: at least 2.
pub fn highest_power(set: &ParamSet) -> u32 {
    let space = space_of(set);
    let fresh = noise::bgv_fresh_phase_log2(space.t_log2);
    let mut phase = fresh;
    let fits = |_: &u32| {
        phase = noise::product_phase_log2(space.degree, phase, fresh);
        phase <= set.log_q() - 1.0
    };
    (2..=hush_params::size::MAX_POWER).take_while(fits).last().unwrap_or(2)
}

/// What a mask of clear columns multiplies a phase by: its message is centred, and it has no error.
pub(crate) fn mask_log2(space: Space) -> f64 {
    noise::product_phase_log2(space.degree, space.t_log2 - 1.0, 0.0)
}

/// Whether chunks of these quantities can share ring elements. Flags of ranks are chosen chunk by chunk, so that they cannot.
pub(crate) fn shares_elements<'q>(quantities: impl IntoIterator<Item = &'q Quantity>) -> bool {
    let is_ranked =
        |quantity: &Quantity| matches!(quantity, Quantity::Flag(Flag { of: FlagOf::Ranked(_), .. }));
    !quantities.into_iter().any(is_ranked)
}

/// Bits of limbs of which so many may share a slot.
fn bits_of_limbs(elements: u64) -> u8 {
    1 + ((FILTER_PRIME - 1) / 2 / elements.max(1)).max(1).ilog2() as u8
}

/// Ring elements whose limbs of so many bits add up to less than half of the prime, or to less than the prime where no limb is negative.
pub(crate) fn elements_of_limbs(bits: u8) -> u64 {
    (((FILTER_PRIME - 1) / 2) >> bits.saturating_sub(1)).max(1)
}

/// One limb.
pub(crate) fn limb_of(quantity: &Quantity, digits: Digits, place: u8) -> Quantity {
    Quantity::Limb { quantity: Box::new(quantity.clone()), digits, place }
}

/// Checks that there can be the filters and measures of a schema.
///
/// # Errors
/// [`SchemaError::Filter`] for the first that cannot be.
pub fn check(schema: &Schema) -> Result<(), SchemaError> {
    // A purpose asks for an encrypted column; texts have to be listed, and clear columns need nothing.
    let asks = |column: &&Column| {
        column.purposes.iter().any(|purpose| matches!(purpose, Purpose::Filter | Purpose::Measure))
    };
    let fault = schema.columns.iter().filter(asks).find_map(|column| match column.protect {
        Protection::Clear => Some(FilterFault::NotHidden { column: column.name.clone() }),
        Protection::Seal => Some(FilterFault::Sealed { column: column.name.clone() }),
        Protection::Decide | Protection::Drop | Protection::Encrypt | Protection::JoinKey => None,
    });
    let checked = fault.map_or_else(|| FilterShape::of(schema), Err).and_then(|shape| {
        if !shape.is_empty() {
            return Ok(());
        }
        match (schema.answer_keys, schema.constant_keys) {
            (true, _) => Err(FilterFault::KeysOfNothing { option: "answer_keys" }),
            (_, true) => Err(FilterFault::KeysOfNothing { option: "constant_keys" }),
            _ => Ok(()),
        }
    });
    checked.map_err(|fault| SchemaError::Filter { fault })
}

/// What the filters and measures of a schema take, in words, for so many rows; `None` without any, and where it is little.
pub fn note(schema: &Schema, rows: u64) -> Option<String> {
    let shape = FilterShape::of(schema).ok().filter(|shape| !shape.is_empty())?;
    let (set, columns) = (shape.set()?, shape.quantities().len());
    let row_bytes = columns as f64 * shape.bytes_of_value(set);
    if row_bytes * (rows as f64) < NOTED_BYTES {
        return None;
    }
    Some(format!(
        "conditions without keys: {columns} encoded columns over {}, {:.1} KB a row, {:.1} GB and {:.0} s of one core for {rows} rows",
        set.name(),
        row_bytes / 1e3,
        row_bytes * rows as f64 / 1e9,
        columns as f64 * rows as f64 * VALUE_SECONDS,
    ))
}

/// The texts of filters as dimensions: a row with any other has no flag.
///
/// # Errors
/// [`CubeFault`], none for a schema that was checked.
pub fn unbounded(schema: &Schema) -> Result<CubeShape, CubeFault> {
    let listed = schema.filters.iter().filter(|filter| filter.lists_texts());
    let axes = listed.map(|filter| Axis::of(schema, filter)).collect::<Result<_, _>>()?;
    Ok(CubeShape { axes, lanes: Vec::new() })
}

impl Needs {
    /// Adds what the filters and measures of a schema need. Where they cannot be, nothing; [`check`] refuses them.
    pub fn add_filters(&mut self, schema: &Schema) {
        if let Ok(shape) = FilterShape::of(schema) {
            self.filtered.extend(shape.quantities());
        }
    }
}

const OTHER_CONDITION: &str = "its condition is not made of clear conditions and comparisons of columns for \"filter\" with constants (of columns for equality alone, such as hold for 64 values at most, or for all but 64), or multiplies more than seven digits of them";
const CLEAR_CONSTANTS: &str = "its condition is not of columns for \"filter\" alone, and what clear columns decide would show its constants";
const CODEWORD_CONSTANTS: &str = "it is on a column for equality alone, whose constants are sets of flags";
const RANKED_CONSTANTS: &str = "it is on a column by ranks, whose constants are other flags in each chunk";
const NO_CONSTANTS: &str = "it has no condition whose constants could be hidden";
const NO_ROW: &str = "no row can match its condition";
pub(crate) const OTHER_SUMS: &str =
    "it is not made of sums of what the schema measures, in groups of columns for \"filter\"";

/// A question whose conditions flags decide.
pub(crate) struct Asked {
    /// The condition that clear columns decide.
    pub(crate) filter: Option<Expr>,
    /// The polynomial of the rest.
    pub(crate) condition: Term,
    /// That condition, where its constants are encrypted.
    pub(crate) computed: Option<Computed>,
    /// The clear conditions that it names by their places here.
    pub(crate) masks: Vec<Expr>,
    /// Names of the clear columns that the rest reads: rows are grouped by them.
    pub(crate) keys: Vec<String>,
    /// The columns that the rest of the question reads.
    pub(crate) by: Vec<Dimension>,
    /// Their cells.
    pub(crate) shape: CubeShape,
    /// What is added up to the cells in which rows can match.
    pub(crate) cells: Vec<SumOfCells>,
    pub(crate) on_cells: OnCells,
}

/// A query of a table of so many rows as conditions in flags, and the rest of it on the cells of columns that have flags.
///
/// # Errors
/// Why that does not answer it, in words.
pub(crate) fn compile(
    schema: &Schema,
    shape: &FilterShape,
    (query, round, hides): (&Query, Option<&Round>, bool),
    rows: u64,
) -> Result<Asked, &'static str> {
    let (clear, hidden) = parted(schema, query, hides)?;
    let mut masks = Vec::new();
    let rest = Query { filter: None, ..query.clone() };
    let used = rest.columns();
    let keys: Vec<String> = rest.keys.iter().flat_map(columns_of).collect();
    let summed: Vec<&str> =
        shape.lanes.iter().flat_map(|lane| lane.quantity.iter().flat_map(Quantity::columns)).collect();
    // A column of both kinds is added up, unless the question cannot be answered so.
    let is_used = |name: &String| used.contains(name);
    let is_key = |name: &String| keys.contains(name);
    let is_free = |name: &String| is_used(name) && !summed.contains(&name.as_str());
    let choices: [&dyn Fn(&String) -> bool; 3] = [&is_key, &|name| is_key(name) || is_free(name), &is_used];
    let (declared, cube, keys, on_cells) = choices
        .into_iter()
        .take(if hides { 1 } else { 3 })
        .find_map(|is_axis| on_cells((schema, shape), (&rest, &hidden, round, hides), rows, is_axis))
        .ok_or(OTHER_SUMS)?;
    // What the columns of cells decide leaves cells out, and takes no factor.
    let is_of_cells = |member: &Expr| {
        let is_axis = |name: &String| cube.axes.iter().any(|axis| axis.column == *name);
        columns_of(member).iter().all(is_axis)
            && cube.axes.iter().all(|axis| axis.is_exact() || is_constant(axis, member))
    };
    let (of_cells, of_rows): (Vec<&Expr>, Vec<&Expr>) =
        hidden.into_iter().partition(|member| !hides && is_of_cells(member));
    let columns = CodedColumns { schema, codes: &shape.codes, hides };
    let (computed, condition) = hidden_term(columns, &of_rows, &mut masks)?;
    let of_cells = flags_of(columns, &of_cells, &mut masks)?;
    match condition {
        // A formula that reads nothing would tell the server so.
        Term::Constant(0) => return Err(NO_ROW),
        ref decided if decided.degree() == 0 && cube.axes.is_empty() => {
            return Err("it has no condition on a column for \"filter\", and no group by one");
        }
        _ => {}
    }
    let is_left =
        |cell: &usize| of_cells.evaluate(&|quantity| flag_of_cell((shape, &cube), *cell, quantity)) > 0;
    let left: Vec<usize> = (0..cube.cells() as usize).filter(is_left).collect();
    if left.is_empty() {
        return Err(NO_ROW);
    }
    // Without a condition, rows of all cells are rows of the table, and a sum over them reads nothing hidden.
    let cells = sums_of_cells((shape, &cube), &left, condition.degree() > 0).ok_or(OTHER_SUMS)?;
    let filter = clear.into_iter().cloned().reduce(and);
    let by = declared.by;
    Ok(Asked { filter, condition, computed, masks, keys, by, shape: cube, cells, on_cells })
}

/// The members of a query's condition that clear columns decide, and the others.
fn parted<'q>(
    schema: &Schema,
    query: &'q Query,
    hides: bool,
) -> Result<(Vec<&'q Expr>, Vec<&'q Expr>), &'static str> {
    let is_clear = |member: &&Expr| matches!(encrypted_in(schema, member, Clause::Where), Ok(None));
    let (clear, hidden): (Vec<&Expr>, Vec<&Expr>) =
        query.filter.iter().flat_map(conjuncts).partition(is_clear);
    if hides && !clear.is_empty() { Err(CLEAR_CONSTANTS) } else { Ok((clear, hidden)) }
}

/// What all of these are true for: a polynomial in flags, or where constants are hidden what is computed on them, which is one.
fn hidden_term(
    columns: CodedColumns<'_>,
    members: &[&Expr],
    masks: &mut Vec<Expr>,
) -> Result<(Option<Computed>, Term), &'static str> {
    if !columns.hides {
        return Ok((None, flags_of(columns, members, masks)?));
    }
    let whole = members.iter().copied().cloned().reduce(and).ok_or(NO_CONSTANTS)?;
    let read = columns_of(&whole);
    let is_read = |code: &&Code| read.contains(&code.column) && !code.has_cells();
    if let Some(code) = columns.codes.iter().find(is_read) {
        return Err(if code.is_ranked() { RANKED_CONSTANTS } else { CODEWORD_CONSTANTS });
    }
    let computed = condition::computed(columns, &whole).ok_or(CLEAR_CONSTANTS)?;
    let padding = computed.padding();
    Ok((Some(computed), Term::Computed(padding)))
}

fn flags_of(
    columns: CodedColumns<'_>,
    members: &[&Expr],
    masks: &mut Vec<Expr>,
) -> Result<Term, &'static str> {
    match members.iter().copied().cloned().reduce(and) {
        Some(condition) => {
            let columns = CodedColumns { hides: false, ..columns };
            condition::polynomial(columns, &condition, masks).ok_or(OTHER_CONDITION)
        }
        None => Ok(Term::Constant(1)),
    }
}

/// The code of a column that conditions may be on.
pub fn code_of(schema: &Schema, column: &str) -> Option<Code> {
    let by = schema.all_filters().into_iter().find(|by| by.column == column)?;
    Code::of(schema, &by).ok()
}

/// A query without its condition, on the cells of some of the columns that have flags, in each group of the clear columns that it reads.
fn on_cells(
    (schema, shape): (&Schema, &FilterShape),
    (query, conditions, round, hides): (&Query, &[&Expr], Option<&Round>, bool),
    rows: u64,
    is_axis: &dyn Fn(&String) -> bool,
) -> Option<(Cube, CubeShape, Vec<String>, OnCells)> {
    let by = schema.all_filters().into_iter().filter(|by| is_axis(&by.column));
    let in_round = |by: &Dimension| round.and_then(|round| round.dimension(&by.column));
    let by = by.map(|by| match hides {
        // How coarse cells may be hangs on constants.
        true => by,
        false => in_round(&by).unwrap_or_else(|| grain::coarsest(schema, query, conditions, by)),
    });
    let by: Vec<Dimension> = by.collect();
    let has_none =
        |by: &Dimension| shape.codes.iter().any(|code| code.column == by.column && !code.has_cells());
    if by.iter().any(has_none) {
        return None;
    }
    let mut cube = cells_of(schema, shape, &by)?;
    round.into_iter().for_each(|round| round.mark(&mut cube));
    let declared = Cube { by, sum: schema.all_measures(), max_cell_rows: None };
    let (keys, on_cells) = compile_by_keys(schema, (&declared, &cube), query, rows)?;
    Some((declared, cube, keys, on_cells))
}

/// The cells of some of a schema's columns for conditions, with what is measured in them; `None` if there are none such, or too many.
pub fn cells_by(schema: &Schema, by: &[Dimension], measured: &[Quantity]) -> Option<CubeShape> {
    let shape = FilterShape::of(schema).ok()?.of_table(schema, measured);
    cells_of(&schema.with_derived(), &shape, by)
}

fn cells_of(schema: &Schema, shape: &FilterShape, by: &[Dimension]) -> Option<CubeShape> {
    let axes = by.iter().map(|dimension| Axis::of(schema, dimension));
    let axes = axes.collect::<Result<Vec<_>, CubeFault>>().ok()?;
    let cells = axes.iter().fold(1_u64, |cells, axis| cells.saturating_mul(axis.len() as u64));
    if cells > u64::from(MAX_FILTER_CELLS) {
        return None;
    }
    let counted = lanes_over(schema, &[], schema.max_rows.max(1)).ok()?;
    Some(CubeShape { axes, lanes: counted.into_iter().chain(shape.lanes.iter().cloned()).collect() })
}

#[cfg(test)]
mod tests;
