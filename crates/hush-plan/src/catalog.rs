// SPDX-License-Identifier: Apache-2.0
//! The encodings of a table: of each quantity the smallest one that keeps the bounds of a query.

mod usable;

use std::collections::BTreeMap;

use hush_params::size::{self, MAX_ROUNDED_BITS};
use hush_params::{ParamSet, Params, noise};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};

use crate::bounds::Values;
use crate::encoding::{EncodingId, PrivateEncoding};
use crate::error::{EncodingFault, PlanError};
use crate::grouped::QuantitySum;
use crate::packing::{Fit, Packing, ProgramFit, SumAsked, SumFit};
use crate::program::Program;
use crate::quantity::Quantity;
use crate::range::Interval;
use crate::schema::Schema;
use crate::writers::Writers;
pub(crate) use usable::{
    AnswerForm, BoundProgram, Rounded, UsableEncoding, fetched_bytes, poly_bytes, rings,
};

/// The encodings of a table, read once.
pub(crate) struct Catalog<'a> {
    schema: &'a Schema,
    rows: u64,
    writers: Writers,
    entries: Vec<Entry<'a>>,
}

/// One encoding with its parameters.
#[derive(Clone, Copy)]
struct KnownEncoding<'a> {
    encoding: &'a PrivateEncoding,
    set: &'static ParamSet,
}

struct Entry<'a> {
    known: KnownEncoding<'a>,
    max_abs: BigInt,
}

impl<'a> Catalog<'a> {
    /// Reads the encodings of a table of `rows` rows, some of which devices may have encrypted.
    ///
    /// # Errors
    /// [`PlanError::BadEncoding`].
    pub(crate) fn new(
        schema: &'a Schema,
        encodings: &'a [PrivateEncoding],
        rows: u64,
    ) -> Result<Self, PlanError> {
        let mut entries = encodings.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(|entry| entry.known.set.limb_count() * entry.known.set.residue_bits() as usize);
        Ok(Self { schema, rows, writers: schema.writers(), entries })
    }

    /// Rows of the table.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// What the encodings hold.
    pub(crate) fn quantities(&self) -> impl Iterator<Item = &'a Quantity> {
        self.encodings().map(|encoding| &encoding.quantity)
    }

    /// The encodings.
    pub(crate) fn encodings(&self) -> impl Iterator<Item = &'a PrivateEncoding> {
        self.entries.iter().map(|entry| entry.known.encoding)
    }

    /// An encoding that holds the sums that are asked for, with such weights.
    ///
    /// # Errors
    /// [`PlanError::MissingLayout`], else [`PlanError::Overflow`] or [`PlanError::Noise`] of the roomiest candidate.
    pub(crate) fn sum(
        &self,
        asked: &QuantitySum,
        weights: &Interval,
    ) -> Result<UsableEncoding<'a>, PlanError> {
        let (quantity, text) = (&asked.quantity, asked.text.as_str());
        let mut refusal = None;
        for entry in self.holding(quantity) {
            match self.check_sum(entry, weights, text) {
                Some(Ok(found)) => return Ok(found),
                Some(Err(error)) => refusal = Some(error),
                None => {}
            }
        }
        Err(refusal.unwrap_or_else(|| match asked.together.as_slice() {
            [] => missing(text, &quantity.describe_layout(), &quantity.columns()),
            columns => {
                let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
                missing(text, &format!("the moments (`moments = [{columns:?}]` in the schema)"), &columns)
            }
        }))
    }

    /// `None` where the layout cannot sum.
    fn check_sum(
        &self,
        entry: &Entry<'a>,
        weights: &Interval,
        text: &str,
    ) -> Option<Result<UsableEncoding<'a>, PlanError>> {
        let KnownEncoding { encoding, set } = entry.known;
        let weight_max = &weights.max_abs();
        let asked = SumAsked { rows: self.rows, max_abs: &entry.max_abs, weight_max, writers: self.writers };
        let SumFit { fit: Fit { margin, error }, needed_bits, held_bits, noise } =
            encoding.public.packing.rules().sum(set, &asked)?;
        let (text, columns) = (text.to_owned(), encoding.quantity.describe());
        Some(if needed_bits > held_bits {
            Err(PlanError::Overflow { text, columns, needed_bits, held_bits })
        } else if margin.is_nan() || margin < 0.0 {
            let missing_bits = (-margin).ceil().clamp(1.0, 1e6) as u32;
            Err(PlanError::Noise { text, columns, missing_bits })
        } else {
            let mut values = weighted(stored_values(self.schema, encoding, error), weights);
            if let (Values::Approx { noise, .. }, Some(encrypted)) = (&mut values, noise) {
                *noise = encrypted;
            }
            Ok(UsableEncoding { encoding, set, writers: self.writers, margin, error, values, rounded: None })
        })
    }

    /// The encoding of `quantity` that goes back in the fewest bytes.
    ///
    /// # Errors
    /// [`PlanError::MissingLayout`].
    pub(crate) fn fetched(
        &self,
        quantity: &Quantity,
        form: AnswerForm,
    ) -> Result<UsableEncoding<'a>, PlanError> {
        let found = self.holding(quantity).map(|entry| self.fetch(entry, form));
        let text = quantity.columns().join(", ");
        let smallest =
            found.min_by_key(|found| fetched_bytes(found.set, &found.encoding.public.packing, found.rounded));
        smallest.ok_or_else(|| missing(&text, &quantity.describe_layout(), &quantity.columns()))
    }

    /// An encoding by its number, to go back; `None` if there is none.
    pub(crate) fn stored(&self, id: EncodingId, form: AnswerForm) -> Option<UsableEncoding<'a>> {
        let entry = self.entries.iter().find(|entry| entry.known.encoding.public.id == id)?;
        Some(self.fetch(entry, form))
    }

    fn fetch(&self, entry: &Entry<'a>, form: AnswerForm) -> UsableEncoding<'a> {
        let KnownEncoding { encoding, set } = entry.known;
        let packing = &encoding.public.packing;
        let Fit { margin, error } = packing.rules().fresh(set, self.writers);
        let rounded = rounded(set, packing, margin, 1).filter(|_| form == AnswerForm::Rounded);
        let values = stored_values(self.schema, encoding, error);
        UsableEncoding { encoding, set, writers: self.writers, margin, error, values, rounded }
    }

    /// An encoding that conditions without keys multiply, if the table has it.
    pub(crate) fn filtered(&self, quantity: &Quantity) -> Option<(&'a PrivateEncoding, &'static ParamSet)> {
        let is_of_filters = |entry: &&Entry<'a>| match &entry.known.encoding.public.packing {
            Packing::Slots(slots) => slots.is_of_filters(),
            _ => false,
        };
        let found = self.holding(quantity).find(is_of_filters)?;
        Some((found.known.encoding, found.known.set))
    }

    fn holding(&self, quantity: &Quantity) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().filter(move |entry| entry.known.encoding.quantity.is_same(quantity))
    }

    /// Whether the server is to evaluate a program: wherever it can, and an approximate one in any case, whose precision
    /// is then stated. Also where the owner could not evaluate it either, so that the refusal is about the program.
    pub(crate) fn serves(&self, program: &Program) -> bool {
        let mut columns = program
            .columns
            .iter()
            .map(|name| self.fetched(&Quantity::Value(name.clone()), AnswerForm::Residues));
        let mut can =
            || self.program(program, AnswerForm::Residues).is_ok() || columns.any(|found| found.is_err());
        program.approximate || program.suits_slots() && can()
    }

    /// Whether the encodings serve a program.
    pub(crate) fn evaluates(&self, program: &Program) -> bool {
        self.program(program, AnswerForm::Residues).is_ok()
    }

    /// Encodings of the program's columns that share ring, plaintext space and secret and hold its result.
    ///
    /// # Errors
    /// [`PlanError::MissingLayout`] where no such encodings exist, [`PlanError::Overflow`] where they are too narrow.
    pub(crate) fn program(&self, program: &Program, form: AnswerForm) -> Result<BoundProgram, PlanError> {
        let mut common = false;
        for (set, packing, columns) in self.classes(program.approximate) {
            let Some(expression) =
                program.node.bind(&|name| columns.get(name).map(|entry| entry.known.encoding.public.id))
            else {
                continue;
            };
            common = true;
            let magnitude = magnitude(program, &columns);
            let Some(ProgramFit { fit: Fit { margin, error }, largest }) =
                packing.rules().program(set, program, magnitude)
            else {
                continue;
            };
            let values = match (largest, error) {
                (Some(row), Some(error)) => Values::Approx { row, error, noise: error },
                _ => Values::Exact(Interval::symmetric(program.bound.clone())),
            };
            let rounded = rounded(set, packing, margin, program.degree + 1);
            return Ok(BoundProgram {
                expression,
                set,
                packing: packing.clone(),
                margin,
                error,
                values,
                magnitude: program.approximate.then_some(magnitude),
                rounded: rounded.filter(|_| form == AnswerForm::Rounded),
            });
        }
        let columns: Vec<&str> = program.columns.iter().map(String::as_str).collect();
        if common {
            return Err(PlanError::Overflow {
                text: program.text.clone(),
                columns: columns.join(", "),
                needed_bits: program.bound.bits() + 1,
                held_bits: self.widest(program.approximate),
            });
        }
        let words =
            if program.approximate { "an `approx_slots` layout" } else { "a `product` layout (slots)" };
        Err(missing(&program.text, words, &columns))
    }

    /// Columns that programs may combine: of one ring, packing and secret.
    fn classes(&self, approximate: bool) -> Vec<SlotClass<'_, 'a>> {
        let mut classes: Vec<SlotClass<'_, 'a>> = Vec::new();
        for entry in self.evaluating(approximate) {
            let Quantity::Value(name) = &entry.known.encoding.quantity else { continue };
            let packing = &entry.known.encoding.public.packing;
            let same = classes.iter_mut().find(|(set, other, columns)| {
                let secret = columns.values().next().map(|member| &member.known.encoding.secret_id);
                *set == entry.known.set
                    && *other == packing
                    && secret == Some(&entry.known.encoding.secret_id)
            });
            match same {
                Some((_, _, columns)) => {
                    columns.insert(name, entry);
                }
                None => classes.push((entry.known.set, packing, BTreeMap::from([(name.as_str(), entry)]))),
            }
        }
        classes
    }

    /// The columns on which exact or approximate programs run.
    fn evaluating(&self, approximate: bool) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().filter(move |entry| {
            let packing = &entry.known.encoding.public.packing;
            packing.evaluates() && packing.is_approximate() == approximate
        })
    }

    fn widest(&self, approximate: bool) -> u64 {
        let bits = self.evaluating(approximate);
        bits.map(|entry| entry.known.encoding.public.packing.rules().held_bits()).max().unwrap_or(0)
    }
}

/// The contributions that a row can make with its weight; 0 where the weight is missing.
fn weighted(values: Values, weights: &Interval) -> Values {
    match values {
        Values::Approx { row, error, noise } => {
            let row = row * weights.max_abs().to_f64().unwrap_or(f64::INFINITY);
            Values::Approx { row, error, noise }
        }
        Values::Exact(row) => Values::Exact(row.mul(weights).hull(&Interval::point(BigInt::default()))),
    }
}

/// The fewest bits for a ciphertext of so many components whose noise is `margin` bits below its limit. `None` for approximate
/// ones, where nothing is saved, and where more bits are needed than are packed.
fn rounded(set: &ParamSet, packing: &Packing, margin: f64, components: u8) -> Option<Rounded> {
    let t_log2 = packing.rules().modulus_log2()?;
    let (limit, rounding) = (set.log_q() - 1.0, noise::rounding_log2(set.degree(), components));
    let bits = noise::rounded_bits(limit - margin, t_log2, set.log_q(), rounding)?;
    let saves = size::answer_poly_bytes(set, Some(bits)) < size::poly_bytes(set);
    let restored = noise::rounded_phase_log2(limit - margin, t_log2, set.log_q(), bits, rounding);
    (saves && bits <= MAX_ROUNDED_BITS).then_some(Rounded { bits, margin: limit - restored })
}

/// Largest absolute value of the columns of an approximate program.
fn magnitude(program: &Program, columns: &BTreeMap<&str, &Entry<'_>>) -> f64 {
    let used = program.columns.iter().filter_map(|name| columns.get(name.as_str()));
    used.filter_map(|entry| entry.max_abs.to_f64()).fold(1.0, f64::max)
}

type SlotClass<'c, 'a> = (&'static ParamSet, &'c Packing, BTreeMap<&'c str, &'c Entry<'a>>);

/// The numbers that a stored row of an encoding can hold: 0 alone where the encoding's bound is not a number.
fn stored_values(schema: &Schema, encoding: &PrivateEncoding, error: Option<f64>) -> Values {
    match error {
        Some(error) => Values::Approx { row: encoding.max_abs.parse().unwrap_or(0.0), error, noise: error },
        None => Values::Exact(encoding.quantity.row_values(schema)),
    }
}

fn read(encoding: &PrivateEncoding) -> Result<Entry<'_>, PlanError> {
    let bad = |fault| PlanError::BadEncoding { id: id_of(encoding.public.id), fault };
    let set = encoding.public.ring().map_err(|_| bad(EncodingFault::UnknownParams))?;
    let max_abs: BigInt = encoding.max_abs.parse().map_err(|_| bad(EncodingFault::Bound))?;
    if max_abs.is_negative() {
        return Err(bad(EncodingFault::Bound));
    }
    if !encoding.public.packing.fits(&Params::Ring(set)) {
        return Err(bad(EncodingFault::Plaintext));
    }
    Ok(Entry { known: KnownEncoding { encoding, set }, max_abs })
}

fn id_of(id: EncodingId) -> u32 {
    id.0
}

fn missing(text: &str, layout: &str, columns: &[&str]) -> PlanError {
    PlanError::MissingLayout { text: text.to_owned(), layout: layout.to_owned(), columns: columns.join(", ") }
}
