// SPDX-License-Identifier: Apache-2.0
//! The way of conditions without keys: the server multiplies flags of encrypted columns, as the condition says, and adds up the products with measures
//! over all rows. The owner decrypts the sums, and answers the rest of the query on them ([`crate::filter`]).
//!
//! *What it shows.* Which encoded columns are combined, by their numbers, and how; beside that the condition that clear columns decide. Neither which
//! rows match an encrypted condition nor how many.

use hush_params::{ParamSet, noise, size};

use super::prepared::on_sums;
use super::{Case, Proposal, cost, sums};
use crate::bounds::Bounds;
use crate::conditions::predicate;
use crate::cube::CubeShape;
use crate::derived::named;
use crate::error::PlanError;
use crate::filter::{
    Asked, Computed, FilterShape, Inner, MAX_CONSTANTS, OTHER_SUMS, Space, SumOfCells, Term,
    chain_of_constants, compile, elements_of_limbs, limb_of, mask_log2, space_of,
};
use crate::leakage::{list, numbered};
use crate::limits::{Facet, WayName};
use crate::plan::{
    CellsQuery, ComputedCondition, Factor, FilteredSum, FilteredSums, OwnQuery, OwnerPlan, Predicate,
    ProductSum, ProductsTask, Search, ShareOfCell, Task,
};
use crate::quantity::{Digits, Quantity};
use crate::report::Cost;
use crate::schema::Schema;
use crate::sql::{Query, has_literal, quoted};
use crate::{EncodingId, PrivateEncoding};

/// Most sums of a question.
const MAX_SUMS: usize = 4096;
/// Most ring elements that are added up in one answer, where only rows are counted.
const MAX_ELEMENTS: u64 = 1024;

/// One plan, where the filters of the schema answer the query.
///
/// # Errors
/// None: where they do not, or some part does not have them, there is no proposal.
pub(super) fn plan(case: &Case<'_>, _: &[Proposal]) -> Result<Vec<Proposal>, PlanError> {
    // Where constants are to be hidden, and the table has keys for it, more is hidden than their values.
    let hidden = (hides(case) && case.round.is_none()).then(|| propose(case, true));
    let why_not = match hidden {
        Some(Ok(hidden)) => return Ok(vec![hidden]),
        Some(Err(why)) if !case.shape.constant_keys.is_empty() => Some(why),
        _ => None,
    };
    let mut shown = propose(case, false).ok();
    if let Some((shown, why)) = shown.as_mut().zip(why_not) {
        shown.tells.push(format!("when its constants come again, which are not encrypted because {why}"));
    }
    Ok(shown.into_iter().collect())
}

/// Why there is no such plan.
pub(super) fn why_not(case: &Case<'_>) -> Option<String> {
    let shows_pattern = case.hide.has(Facet::Pattern);
    propose(case, shows_pattern).err()
}

/// Whether constants are to be encrypted, where they can be.
fn hides(case: &Case<'_>) -> bool {
    case.hide.has(Facet::Constants) || case.hide.has(Facet::Pattern)
}

/// A plan, whose constants are encrypted if `hides`.
fn propose(case: &Case<'_>, hides: bool) -> Result<Proposal, String> {
    // A constant for which a condition is derived would be known by that.
    let without_constants = |text: &&String| !has_literal(text);
    let nameless = hides.then(|| Schema {
        derived: case.schema.derived.iter().filter(without_constants).cloned().collect(),
        ..case.schema.clone()
    });
    let declared = nameless.as_ref().unwrap_or(case.schema);
    let shape = FilterShape::of(declared).ok().filter(|shape| !shape.is_empty());
    let shape = shape.ok_or("the schema declares no filter")?.of_table(declared, &measured(case));
    let (schema, named) = (&*declared.with_derived(), named(declared, case.query));
    let (asked, search) = asked(case, (schema, &shape, &named), hides)?;
    let Asked { filter, condition, computed, masks, keys, by, shape, cells, on_cells } = asked;
    let measured = shape.quantities();
    let lanes = &shape.lanes;
    let row_of = |lane: usize| lanes.get(lane).map(|lane| &lane.row);
    let axes: Vec<String> = shape.axes.iter().map(|axis| axis.column.clone()).collect();
    let mut bounds = Bounds::default();
    let grouped = on_cells.grouped;
    let at = (0, axes, on_cells.count);
    let rest = Query { filter: None, ..named.into_owned() };
    let on_rest = &Case { schema, query: &rest, ..*case };
    let cells_query = on_sums(on_rest, (&grouped, &on_cells.lanes), row_of, at, &mut bounds)
        .ok_or("its sums could pass the bits that they have")?;
    // The mask of a group leaves out what a condition would.
    let is_masked = filter.is_some() || case.shape.has_deleted || !keys.is_empty();
    let mut builder = Builder::new(case, is_masked, masks.iter().map(predicate).collect());
    let constants = builder.compute(computed)?;
    builder.factors(condition, &cells)?;
    builder.sums(&shape, &cells_query)?;
    let Space { degree, .. } = builder.space()?;
    let (task, sums, mut cost) = builder.finish()?;
    let task = with_keys(case, (task, degree as u64), &keys, &mut cost);
    let tells = tells(&task, &keys, search.as_ref());
    let degree = task.sums.iter().map(|sum| task.components(sum)).max().unwrap_or(1) - 1;
    let keyed = match (&task.computed, task.relinearised) {
        (Some(condition), _) => format!("on {} encrypted constants", condition.constant_count()),
        (None, true) => "with keys for its answer".to_owned(),
        (None, false) => "without keys".to_owned(),
    };
    let rounds = search.as_ref().map_or_else(String::new, |search| format!(", in {} rounds", search.rounds));
    let own = OwnQuery { clear: vec![], encrypted: vec![], sealed: vec![], query: case.query.clone() };
    let owner = OwnerPlan {
        aggregates: grouped.outputs,
        own: Some(own),
        cells: Some(cells_query),
        search,
        filtered: Some(FilteredSums { by, measured, keys, sums, is_masked }),
        constants,
        bounds,
        final_sql: grouped.final_sql,
        ..OwnerPlan::default()
    };
    Ok(Proposal {
        name: WayName::Filter,
        what: format!("the server evaluates the condition, degree {degree}, {keyed}{rounds}"),
        task: Task::Products(task),
        filter,
        owner,
        cost,
        clear_bytes: 0,
        tells,
    })
}

/// What the server learns from a task, which of a search is one of many that the last round may be.
fn tells(task: &ProductsTask, keys: &[String], search: Option<&Search>) -> Vec<String> {
    let mut ids: Vec<u32> = task.columns.iter().map(|id| id.0).collect();
    ids.sort_unstable();
    let ids = numbered(&ids);
    let combined = match search {
        None if task.computed.is_some() => format!(
            "that encoded columns {ids} are combined with constants that it cannot read, and how; nothing of the constants, or whether they are those of \
             another question"
        ),
        None => format!("that encoded columns {ids} are combined, and how; when the same are combined again"),
        Some(Search { rounds, .. }) => format!(
            "that encoded columns are combined in {rounds} rounds, and how, in the last one for example {ids}; which a later round combines hangs \
             on what the rounds before have found; when the same are combined again"
        ),
    };
    let masks = task.masks.iter().map(|condition| format!("which rows match {condition}, within that"));
    let groups = (!keys.is_empty())
        .then(|| format!("that rows are grouped by {}, and the size of each group", list(keys)));
    std::iter::once(combined).chain(masks).chain(groups).collect()
}

/// The question as conditions and cells, and how places of the order are searched for, where they are.
fn asked(
    case: &Case<'_>,
    (schema, shape, query): (&Schema, &FilterShape, &Query),
    hides: bool,
) -> Result<(Asked, Option<Search>), String> {
    let rows = case.catalog.rows();
    let found = compile(schema, shape, (query, case.round, hides), rows);
    if hides {
        return Ok((found?, None));
    }
    if found.as_ref().is_err_and(|why| *why == OTHER_SUMS) && case.round.is_none() && !case.limits.at_once {
        let search = Search::of(shape, query);
        let sample = search.as_ref().and_then(|search| search.sample(schema));
        if let (Some(search), Some(sample)) = (search, sample) {
            let asked = compile(schema, shape, (query, Some(&sample), false), rows)?;
            return if search.is_all_of(query, &asked) {
                Ok((asked, Some(search)))
            } else {
                Err(OTHER_SUMS.to_owned())
            };
        }
    }
    let search = case.round.and_then(|round| {
        let search = Search::of(shape, query)?;
        Some(Search { round: Some(round.clone()), ..search })
    });
    Ok((found?, search))
}

/// What every part of a table has in limbs.
fn measured(case: &Case<'_>) -> Vec<Quantity> {
    let mut found: Vec<Quantity> = Vec::new();
    for (quantity, _) in in_limbs(case) {
        if !found.contains(quantity) {
            found.push(quantity.clone());
        }
    }
    found
}

fn in_limbs<'a>(case: &Case<'a>) -> impl Iterator<Item = (&'a Quantity, Digits)> {
    let lacking = &case.shape.lacking;
    let is_whole = |known: &&PrivateEncoding| lacking.get(&known.public.id).is_none_or(Vec::is_empty);
    case.catalog.encodings().filter(is_whole).filter_map(|known| match &known.quantity {
        Quantity::Limb { quantity, digits, place: 0 } => Some((&**quantity, *digits)),
        _ => None,
    })
}

/// A task in a ring of this degree whose sums are grouped by clear columns, for as many groups as its answer may have.
fn with_keys(
    case: &Case<'_>,
    (task, degree): (ProductsTask, u64),
    keys: &[String],
    cost: &mut Cost,
) -> ProductsTask {
    if keys.is_empty() {
        return task;
    }
    let (_, runs) = case.shape.product_runs(degree, u64::from(task.elements));
    cost.answer_bytes_each = cost.answer_bytes_each.saturating_mul(runs.max(1));
    let affordable = sums::most_groups(case.limits, cost, false);
    cost.max_groups = affordable.min((MAX_SUMS / task.sums.len().max(1)) as u64).max(1);
    let keys = keys.iter().map(|name| quoted(name)).collect();
    ProductsTask { keys, max_groups: cost.max_groups, ..task }
}

/// Characters of so many bytes in base64.
const fn encoded_bytes(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Cells with the condition.
#[derive(Clone)]
struct Filtered {
    cells: Vec<ShareOfCell>,
    /// The number of its factor.
    factor: usize,
    /// The bound of that for a row.
    phase_log2: f64,
    /// Its value where all quantities are 0.
    padding: i64,
}

/// A limb that is added up.
struct Measure {
    /// As in [`FilteredSum`].
    lane: usize,
    shift: u32,
    natural: bool,
    /// The place of its encoding among the columns.
    column: usize,
}

/// Builds a task, and how its sums are read.
struct Builder<'a, 'c> {
    case: &'a Case<'c>,
    is_masked: bool,
    masks: Vec<Predicate>,
    /// Encodings in the order in which factors name them.
    columns: Vec<&'c PrivateEncoding>,
    set: Option<&'static ParamSet>,
    computed: Option<ComputedCondition>,
    /// log2 of the bound on its phase.
    computed_log2: f64,
    factors: Vec<Factor>,
    cells: Vec<Filtered>,
    sums: Vec<ProductSum>,
    read: Vec<FilteredSum>,
    elements: u64,
}

impl<'a, 'c> Builder<'a, 'c> {
    fn new(case: &'a Case<'c>, is_masked: bool, masks: Vec<Predicate>) -> Self {
        let (columns, factors, cells) = (Vec::new(), Vec::new(), Vec::new());
        let (sums, read, elements) = (Vec::new(), Vec::new(), MAX_ELEMENTS);
        let (computed, computed_log2) = (None, 0.0);
        Self {
            case,
            is_masked,
            masks,
            columns,
            set: None,
            computed,
            computed_log2,
            factors,
            cells,
            sums,
            read,
            elements,
        }
    }

    /// The place of a quantity among the columns; an error if the table does not have it everywhere, in the ring of the others.
    fn place(&mut self, quantity: &Quantity) -> Result<usize, String> {
        if let Some(place) = self.columns.iter().position(|known| known.quantity == *quantity) {
            return Ok(place);
        }
        let found = self.case.catalog.filtered(quantity);
        let is_whole = |id: EncodingId| self.case.shape.lacking.get(&id).is_none_or(Vec::is_empty);
        let (encoding, set) = found
            .filter(|(encoding, _)| is_whole(encoding.public.id))
            .ok_or_else(|| format!("some part of the table does not have {}", quantity.describe()))?;
        let is_alike = self.columns.first().is_none_or(|first| first.secret_id == encoding.secret_id);
        if !is_alike || self.set.is_some_and(|known| known != set) {
            return Err("its columns are not in one ring, under one secret".to_owned());
        }
        self.set = Some(set);
        self.columns.push(encoding);
        Ok(self.columns.len() - 1)
    }

    fn bind(&mut self, term: &Term) -> Result<Factor, String> {
        let mut failed = None;
        let mut place = |quantity: &Quantity| match self.place(quantity) {
            Ok(place) => Some(place),
            Err(error) => {
                failed.get_or_insert(error);
                None
            }
        };
        let bound = term.bind(&mut place);
        bound.ok_or_else(|| failed.unwrap_or_default())
    }

    fn space(&self) -> Result<Space, String> {
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
    fn compute(&mut self, computed: Option<Computed>) -> Result<Vec<i64>, String> {
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
        let secret = self.columns.first().map(|encoding| &encoding.secret_id);
        let has_keys = secret.is_some_and(|secret| self.case.shape.constant_keys.contains(secret));
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

    /// One factor for each cell: the condition, and that a row is in the cell.
    fn factors(&mut self, condition: Term, cells: &[SumOfCells]) -> Result<(), String> {
        let is_shared = condition != Term::Constant(1);
        if is_shared {
            let factor = self.bind(&condition)?;
            self.factors.push(factor);
        }
        for SumOfCells { term: cell, cells } in cells {
            let number = match (cell, is_shared) {
                (Term::Constant(1), true) => 0,
                (cell, _) => {
                    let here = self.bind(cell)?;
                    self.factors.push(match is_shared {
                        true => Factor::Mul(Box::new(Factor::Earlier(0)), Box::new(here)),
                        false => here,
                    });
                    self.factors.len() - 1
                }
            };
            let whole = condition.clone().times(cell.clone());
            self.cells.push(Filtered {
                cells: cells.clone(),
                factor: number,
                phase_log2: whole.phase_log2(self.space()?),
                padding: whole.evaluate(&|_| 0),
            });
        }
        Ok(())
    }

    /// The sums that a query on cells reads: rows, and the limbs of each lane.
    fn sums(&mut self, shape: &CubeShape, query: &CellsQuery) -> Result<(), String> {
        let mut measures: Vec<Measure> = Vec::new();
        for (read, lane) in query.lanes.iter().enumerate() {
            let lane = shape.lanes.get(*lane);
            let (lane, quantity) =
                lane.and_then(|lane| Some((lane, lane.quantity.as_ref()?))).ok_or("a sum of nothing")?;
            let digits = in_limbs(self.case).find(|(known, _)| *known == quantity);
            let (_, digits) = digits.ok_or_else(|| {
                format!("some part of the table does not have {} as a measure", quantity.describe())
            })?;
            self.elements = self.elements.min(elements_of_limbs(digits.bits));
            for place in 0..digits.places(&lane.row) {
                let column = self.place(&limb_of(quantity, digits, place))?;
                let shift = u32::from(digits.bits) * u32::from(place);
                measures.push(Measure { lane: read + 1, shift, natural: digits.natural, column });
            }
        }
        if self.cells.len() * (1 + measures.len()) > MAX_SUMS {
            return Err(format!("it would be more than {MAX_SUMS} sums"));
        }
        let space = self.space()?;
        for Filtered { cells, factor, phase_log2, padding } in self.cells.clone() {
            let mut add = |measure: Option<&Measure>| {
                let column = measure.map(|measure| measure.column);
                self.sums.push(ProductSum { factor, measure: column, bits: Vec::new() });
                let fresh = noise::bgv_fresh_phase_log2(space.t_log2);
                let of_row = match measure {
                    Some(_) => noise::product_phase_log2(space.degree, phase_log2, fresh),
                    None => phase_log2,
                };
                self.read.push(FilteredSum {
                    cells: cells.clone(),
                    lane: measure.map_or(0, |measure| measure.lane),
                    shift: measure.map_or(0, |measure| measure.shift),
                    natural: measure.is_some_and(|measure| measure.natural),
                    padding: if measure.is_some() { 0 } else { padding },
                    phase_log2: of_row,
                });
            };
            add(None);
            measures.iter().for_each(|measure| add(Some(measure)));
        }
        Ok(())
    }

    /// The task, with as few bits in its answer as decrypt, whatever the noise.
    fn finish(mut self) -> Result<(ProductsTask, Vec<FilteredSum>, Cost), String> {
        let space = self.space()?;
        let set = self.set.ok_or("it reads no encrypted column")?;
        let mask = if self.is_masked { mask_log2(space) } else { 0.0 };
        let most = (self.elements as f64).log2();
        let mut task = ProductsTask {
            columns: self.columns.iter().map(|encoding| encoding.public.id).collect(),
            masks: self.masks,
            computed: self.computed,
            factors: self.factors,
            elements: self.elements as u32,
            ..ProductsTask::default()
        };
        let degree = self.sums.iter().map(|sum| task.components(sum)).max().unwrap_or(1) - 1;
        // Keys are of the first domain's secret.
        let secret = self.columns.first().map(|encoding| &encoding.secret_id);
        let highest = secret.and_then(|secret| self.case.shape.powers.get(secret));
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
                format!(
                    "it multiplies {} encrypted columns, and {} holds fewer ({missing} bits missing)",
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
        let cost = cost::of_products(set, &self.sums, &self.read);
        Ok((ProductsTask { sums: self.sums, ..task }, self.read, cost))
    }
}
