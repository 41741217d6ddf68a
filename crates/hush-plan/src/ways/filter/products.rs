// SPDX-License-Identifier: Apache-2.0
//! Tasks on products as they are put together: columns, factors and sums, with the bounds of their phases.

use hush_params::{ParamSet, noise, size};

use crate::conditions::predicate;
use crate::filter::{
    Computed, Inner, MAX_CONSTANTS, Operand, Space, Term, USUAL_DEGREE, chain_of_constants, mask_log2,
    rank_flags, space_of,
};
use crate::plan::{
    Choices, ChosenFlag, ChosenOf, ComputedCondition, Factor, Predicate, ProductSum, ProductsTask, RanksQuery,
};
use crate::quantity::Quantity;
use crate::report::Cost;
use crate::ways::{Case, cost};
use crate::{EncodingId, PrivateEncoding};
use sqlparser::ast::Expr;

/// Most ring elements that are added up in one answer, where only rows are counted.
pub(super) const MAX_ELEMENTS: u64 = 1024;

/// Most bytes of a plan that say what is chosen in chunks; a server reads a plan of 1 MiB.
const MAX_CHOSEN_BYTES: usize = 700_000;

/// Characters of so many bytes in base64.
const fn encoded_bytes(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// The flags of a column's rank.
struct Ranked<'c> {
    column: String,
    place: usize,
    number: u32,
    among: Vec<&'c PrivateEncoding>,
    flags: Vec<ChosenOf>,
}

/// A sum as it is read.
struct Read {
    /// log2 of the bound on the phase of a row's product.
    phase_log2: f64,
    /// What it is, in words.
    what: String,
}

/// Builds a task.
pub(super) struct Products<'a, 'c> {
    case: &'a Case<'c>,
    is_masked: bool,
    masks: Vec<Predicate>,
    /// Encodings in the order in which factors name them.
    columns: Vec<&'c PrivateEncoding>,
    ranked: Vec<Ranked<'c>>,
    set: Option<&'static ParamSet>,
    /// The secret of all of them.
    secret: Option<&'c str>,
    computed: Option<ComputedCondition>,
    /// log2 of the bound on its phase.
    computed_log2: f64,
    factors: Vec<Factor>,
    sums: Vec<ProductSum>,
    read: Vec<Read>,
    /// Most ring elements that are added up in one answer.
    pub(super) elements: u64,
}

impl Ranked<'_> {
    /// What a plan has of it, of the length that it will have: nothing is chosen yet.
    fn choices(&self, chunks: usize) -> Choices {
        let mut among: Vec<EncodingId> = self.among.iter().map(|encoding| encoding.public.id).collect();
        among.sort_unstable();
        Choices { among, of_chunks: vec!["A".repeat(encoded_bytes(chunks)); self.flags.len()] }
    }
}

impl<'a, 'c> Products<'a, 'c> {
    /// A task with these clear conditions within factors. It is masked if rows are left out besides.
    pub(super) fn new(case: &'a Case<'c>, is_masked: bool, masks: &[Expr]) -> Self {
        Self {
            case,
            is_masked,
            masks: masks.iter().map(predicate).collect(),
            columns: Vec::new(),
            ranked: Vec::new(),
            set: None,
            secret: None,
            computed: None,
            computed_log2: 0.0,
            factors: Vec::new(),
            sums: Vec::new(),
            read: Vec::new(),
            elements: MAX_ELEMENTS,
        }
    }

    /// The degree of its ring, and how many chunks are together there.
    pub(super) fn in_ring(&self) -> Result<(u64, u32), String> {
        let set = self.set.ok_or("it reads no encrypted column")?;
        let together = |encoding: &&PrivateEncoding| encoding.public.packing.chunks_together(set);
        // Those of ranks are never together.
        Ok((set.degree() as u64, self.columns.first().map_or(1, together)))
    }

    /// The place of a quantity among the columns; an error if the table does not have it everywhere, in the ring of the others.
    pub(super) fn place(&mut self, quantity: &Quantity) -> Result<usize, String> {
        if let Some(place) = self.columns.iter().position(|known| known.quantity == *quantity) {
            return Ok(place);
        }
        let encoding = self.encoding(quantity)?;
        self.columns.push(encoding);
        Ok(self.columns.len() - 1)
    }

    /// The encoding of a quantity, as [`Products::place`] has it.
    fn encoding(&mut self, quantity: &Quantity) -> Result<&'c PrivateEncoding, String> {
        let found = self.case.catalog.filtered(quantity);
        let is_whole = |id: EncodingId| self.case.shape.lacking.get(&id).is_none_or(Vec::is_empty);
        let (encoding, set) = found
            .filter(|(encoding, _)| is_whole(encoding.public.id))
            .ok_or_else(|| format!("some part of the table does not have {}", quantity.describe()))?;
        let is_alike = *self.secret.get_or_insert(&encoding.secret_id) == encoding.secret_id;
        if !is_alike || self.set.is_some_and(|known| known != set) {
            return Err("its columns are not in one ring, under one secret".to_owned());
        }
        self.set = Some(set);
        Ok(encoding)
    }

    /// What is chosen in each chunk for a flag of a rank.
    fn chosen(&mut self, flag: &ChosenFlag) -> Result<Factor, String> {
        let ChosenFlag { column, of } = flag;
        let known = self.ranked.iter().position(|ranked| ranked.column == *column);
        let choices = match known {
            Some(known) => known,
            None => {
                let ranked = self.ranked(column)?;
                self.ranked.push(ranked);
                self.ranked.len() - 1
            }
        };
        let flags = &mut self.ranked[choices].flags;
        let place = flags.iter().position(|known| known == of).unwrap_or_else(|| {
            flags.push(of.clone());
            flags.len() - 1
        });
        Ok(Factor::Chosen(choices, place))
    }

    /// The flags of a column's rank, if the table has them everywhere, with the order of each chunk.
    fn ranked(&mut self, column: &str) -> Result<Ranked<'c>, String> {
        let among = rank_flags(column).map(|flag| self.encoding(&flag)).collect::<Result<_, _>>()?;
        let runs = self.case.schema.all_runs();
        let place = runs.iter().position(|run| run.by_chunk && run.by == column);
        let spread = self.case.shape.runs.iter().find(|(_, spread)| Some(spread.place) == place);
        let spread = spread.filter(|(_, spread)| spread.parts.iter().all(Option::is_some));
        let (number, spread) = spread.ok_or_else(|| {
            format!("some part of the table does not have the order of {column} in its chunks, or has deleted rows")
        })?;
        Ok(Ranked {
            column: column.to_owned(),
            place: spread.place,
            number: *number,
            among,
            flags: Vec::new(),
        })
    }

    /// What is to be found before the plan is sent.
    pub(super) fn ranks(&self) -> Vec<RanksQuery> {
        let query = |ranked: &Ranked<'_>| {
            let Ranked { place, number, flags, .. } = ranked;
            RanksQuery { place: *place, number: *number, flags: flags.clone() }
        };
        self.ranked.iter().map(query).collect()
    }

    /// Bytes that come before it can be sent: of the order of each chunk the index, and a block for each bound.
    pub(super) fn bytes_of_ranks(&self) -> u64 {
        let of_query = |query: RanksQuery| {
            let cuts = query.cuts().len() as u64;
            let parts = self.case.shape.runs.get(&query.number).map(|spread| &spread.parts);
            let sizes = parts.into_iter().flatten().flatten();
            let chunks = self.case.shape.chunks().len() as u64;
            let largest = sizes.clone().map(|size| u64::from(size.block_bytes)).max().unwrap_or(0);
            sizes.map(|size| u64::from(size.index_bytes)).sum::<u64>() + cuts * chunks * largest
        };
        self.ranks().into_iter().map(of_query).sum()
    }

    /// A polynomial as a factor of what the table has.
    pub(super) fn bind(&mut self, term: &Term) -> Result<Factor, String> {
        let mut failed = None;
        let mut operand = |operand: Operand<'_>| {
            let found = match operand {
                Operand::Chosen(flag) => self.chosen(flag),
                Operand::Stored(quantity) => self.place(quantity).map(Factor::Column),
            };
            found.map_err(|error| failed.get_or_insert(error).clone()).ok()
        };
        let bound = term.bind(&mut operand);
        bound.ok_or_else(|| failed.unwrap_or_default())
    }

    /// The ring that it is in, once a column is known.
    pub(super) fn space(&self) -> Result<Space, String> {
        let space = self.set.map(space_of).ok_or_else(|| "it reads no encrypted column".to_owned())?;
        Ok(Space { computed_log2: self.computed_log2, ..space })
    }

    /// The places of a sum's columns, with its constants, by the numbers of the columns. These are random: in the order of their values, flags would show
    /// which of them a later question without encrypted constants combines.
    fn numbered(&mut self, sum: &Inner) -> Result<Vec<(Option<usize>, i64)>, String> {
        let number = |(quantity, _): &&(Option<Quantity>, i64)| {
            let found = quantity.as_ref().and_then(|quantity| self.case.catalog.filtered(quantity));
            found.map(|(encoding, _)| encoding.public.id)
        };
        let mut terms: Vec<&(Option<Quantity>, i64)> = sum.iter().collect();
        terms.sort_by_key(number);
        let place = |(quantity, constant): &(Option<Quantity>, i64)| {
            Ok((quantity.as_ref().map(|quantity| self.place(quantity)).transpose()?, *constant))
        };
        terms.into_iter().map(place).collect()
    }

    /// The condition with encrypted constants, if there is one: its constants, in the order in which they are encrypted.
    pub(super) fn compute(&mut self, computed: Option<Computed>) -> Result<Vec<i64>, String> {
        let Some(computed) = computed else { return Ok(Vec::new()) };
        let found = computed.sums.iter().map(Vec::len).sum::<usize>();
        if found > MAX_CONSTANTS {
            return Err(format!(
                "its condition takes {found} encrypted constants, and there are keys for {MAX_CONSTANTS}"
            ));
        }
        let (mut inner, mut constants) = (Vec::new(), Vec::new());
        for sum in &computed.sums {
            let (places, of_sum): (Vec<_>, Vec<_>) = self.numbered(sum)?.into_iter().unzip();
            inner.push(places);
            constants.extend(of_sum);
        }
        let has_keys = self.secret.is_some_and(|secret| self.case.shape.constant_keys.contains(secret));
        let is_of_first = self.case.shape.domains.iter().all(|domain| *domain == 0);
        let chain = self.set.and_then(chain_of_constants).filter(|_| has_keys && is_of_first);
        let (name, chain) = chain.ok_or("the table has no keys for encrypted constants")?;
        let phase = computed.phase(&chain);
        let phase = phase
            .ok_or("with encrypted constants its condition multiplies more than there are levels for")?;
        self.computed_log2 = phase.log2;
        self.computed = Some(ComputedCondition {
            keys: name.to_owned(),
            // Of the length that it will have: what is to be sent is counted.
            constants: "A".repeat(encoded_bytes(size::fresh_ciphertext_bytes(&chain))),
            inner,
            formula: computed.formula,
        });
        Ok(constants)
    }

    /// Adds a factor; its number.
    pub(super) fn factor(&mut self, factor: Factor) -> usize {
        self.factors.push(factor);
        self.factors.len() - 1
    }

    /// Adds a sum of a factor, or of it times the column at a place. `factor_log2` is log2 of the bound on the factor's phase for a row, and `what` tells people
    /// what it is.
    pub(super) fn sum(
        &mut self,
        (factor, measure): (usize, Option<usize>),
        factor_log2: f64,
        what: String,
    ) -> Result<(), String> {
        let space = self.space()?;
        let phase_log2 = measure.map_or(factor_log2, |_| {
            let fresh = noise::bgv_fresh_phase_log2(space.t_log2);
            noise::product_phase_log2(space.degree, factor_log2, fresh)
        });
        self.sums.push(ProductSum { factor, measure, bits: Vec::new() });
        self.read.push(Read { phase_log2, what });
        Ok(())
    }

    /// The task, with as few bits in its answer as decrypt, whatever the noise, and log2 of the largest phase of each sum.
    pub(super) fn finish(mut self) -> Result<(ProductsTask, Vec<f64>, Cost), String> {
        let flags: usize = self.ranked.iter().map(|ranked| ranked.flags.len()).sum();
        if flags.saturating_mul(encoded_bytes(self.case.shape.chunks().len())) > MAX_CHOSEN_BYTES {
            return Err(format!(
                "its plan would name {flags} flags of ranks in each chunk, more than a server reads"
            ));
        }
        let space = self.space()?;
        let set = self.set.ok_or("it reads no encrypted column")?;
        let mask = if self.is_masked { mask_log2(space) } else { 0.0 };
        let most = (self.elements as f64).log2();
        let mut task = ProductsTask {
            columns: self.columns.iter().map(|encoding| encoding.public.id).collect(),
            choices: self
                .ranked
                .iter()
                .map(|ranked| ranked.choices(self.case.shape.chunks().len()))
                .collect(),
            masks: self.masks,
            computed: self.computed,
            factors: self.factors,
            elements: self.elements as u32,
            ..ProductsTask::default()
        };
        let degree = self.sums.iter().map(|sum| task.components(sum)).max().unwrap_or(1) - 1;
        // Keys are of the first domain's secret.
        let highest = self.secret.and_then(|secret| self.case.shape.powers.get(secret));
        let highest = highest.map_or(0, |highest| *highest as usize);
        let is_of_first = self.case.shape.domains.iter().all(|domain| *domain == 0);
        task.relinearised = degree > 1 && degree <= highest && is_of_first;
        for (sum, read) in self.sums.iter_mut().zip(&mut self.read) {
            let (components, answered) = (task.components(sum), task.answered(sum));
            let mut phase_log2 = read.phase_log2 + mask + most;
            if answered < components {
                phase_log2 = noise::relinearised_phase_log2(set, components - 1, space.t_log2, phase_log2);
            }
            let bits =
                noise::product_bits(space.degree, answered as u8, space.t_log2, set.log_q(), phase_log2);
            sum.bits = bits.ok_or_else(|| {
                let missing = (phase_log2 - set.log_q() + 1.0).ceil().max(1.0);
                let columns = if components == 2 { "column" } else { "columns" };
                let declared = self.case.schema.filter_factors.map(usize::from);
                let has_fewer = declared.is_some_and(|factors| factors < USUAL_DEGREE);
                let mend =
                    if has_fewer { "; filter_factors with more makes room in a new table" } else { "" };
                format!(
                    "it multiplies {} encrypted {columns}, and {} holds fewer ({missing} bits missing{mend})",
                    components - 1,
                    set.name()
                )
            })?;
            read.phase_log2 = noise::rounded_product_phase_log2(
                space.degree,
                &sum.bits,
                space.t_log2,
                set.log_q(),
                phase_log2,
            );
        }
        let (phases, words): (Vec<f64>, Vec<String>) =
            self.read.into_iter().map(|read| (read.phase_log2, read.what)).unzip();
        let cost = cost::of_products(set, &self.sums, phases.iter().copied().zip(words));
        Ok((ProductsTask { sums: self.sums, ..task }, phases, cost))
    }
}
