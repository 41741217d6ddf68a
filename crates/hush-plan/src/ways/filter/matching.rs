// SPDX-License-Identifier: Apache-2.0
//! Rows that match, found by sums of powers of the numbers of ring elements ([`crate::filter::matching`]). The owner answers the rest of the query on them.

use hush_params::{noise, size};

use super::products::{MAX_ELEMENTS, Products};
use super::{Declared, MAX_SUMS, in_limbs, keyed, shows_ranks};
use crate::error::PlanError;
use crate::fetch;
use crate::filter::{Matching, Term, matching};
use crate::leakage::numbered;
use crate::limits::WayName;
use crate::plan::{
    Factor, MatchingRows, MatchingValue, OwnColumn, OwnQuery, OwnerPlan, ProductsTask, Search, Task,
};
use crate::quantity::{Digits, Quantity};
use crate::ways::{Case, Proposal};

/// A plan, whose constants are encrypted if `hides`.
///
/// # Errors
/// Why there is none.
pub(super) fn propose(case: &Case<'_>, declared: &Declared<'_>, hides: bool) -> Result<Proposal, String> {
    if case.round.is_some() || case.limits.at_once || case.limits.rows_of_slot == 0 {
        return Err("it asks for rows that match, of which there may be too many".to_owned());
    }
    let in_limbs: Vec<(&Quantity, Digits)> = in_limbs(case).collect();
    let Declared { schema, shape, named } = declared;
    // Which rounds there are hangs on what they find, and so on constants.
    let search = Search::of_first_rows(shape, case.query).filter(|_| !hides);
    let further = search.as_ref().and_then(|search| search.sample_of_rows(schema));
    let found = matching(schema, shape, &in_limbs, (case.query, named, hides), further)?;
    // What the owner cannot answer on rows is refused before anything is sent.
    let refused = |error: PlanError| error.to_string();
    fetch::compile(case.schema, case.query, case.catalog.rows(), &|_| true).map_err(refused)?;
    // The larger the numbers, the larger the noise: with fewer elements more answers come. Those of a chunk are never parted.
    let in_ring @ (degree, together) = in_ring(case, &found)?;
    let (all, _) = case.shape.product_runs(in_ring, MAX_ELEMENTS);
    let least = (u64::from(together) * u64::from(size::CHUNK_ROWS)).div_ceil(degree);
    let mut elements = all.next_power_of_two().clamp(least, MAX_ELEMENTS);
    loop {
        match with_elements(case, &found, elements) {
            Err(_) if elements > least => elements = (elements / 2).max(least),
            proposed => return proposed.map(|proposed| searched(proposed, search)),
        }
    }
}

/// A plan for the first rows of an order, whose last row has to be found before.
fn searched(proposed: Proposal, search: Option<Search>) -> Proposal {
    let Some(search) = search else { return proposed };
    let what = format!("{}, after {} rounds", proposed.what, search.rounds);
    let told = format!(
        "that rows are counted in {} rounds before; which encoded columns a later one combines hangs on what those before have found, and so do those of the \
         question for the rows",
        search.rounds
    );
    let tells = proposed.tells.into_iter().chain([told]).collect();
    let owner = OwnerPlan { search: Some(search), ..proposed.owner };
    Proposal { what, tells, owner, ..proposed }
}

/// The degree of the ring that it is in, and how many chunks are together there.
fn in_ring(case: &Case<'_>, found: &Matching) -> Result<(u64, u32), String> {
    let mut products = Products::new(case, false, &found.masks);
    products.compute(found.computed.clone())?;
    products.bind(&found.condition)?;
    products.in_ring()
}

fn with_elements(case: &Case<'_>, found: &Matching, elements: u64) -> Result<Proposal, String> {
    let is_masked = found.filter.is_some() || case.shape.has_deleted;
    let mut products = Products::new(case, is_masked, &found.masks);
    products.elements = elements;
    let constants = products.compute(found.computed.clone())?;
    // No more rows share a slot than there are elements.
    let most = case.limits.rows_of_slot.min(u8::try_from(elements).unwrap_or(u8::MAX));
    if MatchingRows::sum_count(most, found.digits.len()) > MAX_SUMS {
        return Err(format!("it would be more than {MAX_SUMS} sums"));
    }
    let weighed = factors(&mut products, found, most)?;
    sums(&mut products, found, &weighed)?;
    let (ranks, clear_bytes) = (products.ranks(), products.bytes_of_ranks());
    let (task, phases, cost) = products.finish()?;
    let rows = MatchingRows {
        most,
        digits: found.digits.len(),
        columns: found.columns.clone(),
        phases,
        padding: found.condition.evaluate(&|_| 0),
        is_masked,
    };
    let degree = task.sums.iter().map(|sum| task.components(sum)).max().unwrap_or(1) - 1;
    let what = format!(
        "the server evaluates the condition, degree {degree}, {}, and up to {most} rows of a slot come back",
        keyed(&task)
    );
    Ok(Proposal {
        name: WayName::Filter,
        what,
        tells: tells(&task, most).into_iter().chain(shows_ranks(&task, &ranks)).collect(),
        task: Task::Products(task),
        filter: found.filter.clone(),
        owner: OwnerPlan {
            own: Some(own_query(case, &rows)),
            matching: Some(rows),
            constants,
            ranks,
            ..OwnerPlan::default()
        },
        cost,
        clear_bytes,
    })
}

/// The condition times each power of the numbers, as the factors with these numbers and log2 of bounds on their phases.
fn factors(products: &mut Products<'_, '_>, found: &Matching, most: u8) -> Result<Vec<(usize, f64)>, String> {
    let factor = products.bind(&found.condition)?;
    let condition = products.factor(factor);
    let space = products.space()?;
    let phase_log2 = found.condition.phase_log2(space);
    let mut weighed = vec![(condition, phase_log2)];
    for power in 1..=most {
        let weight_log2 = weight_log2(power, products.elements, space.t_log2);
        let both = Factor::Mul(Box::new(Factor::Earlier(condition)), Box::new(Factor::Number(power)));
        weighed.push((products.factor(both), phase_log2 + weight_log2));
    }
    Ok(weighed)
}

/// log2 of a bound on a power of the number of one of so many elements, as the residue nearest to 0.
fn weight_log2(power: u8, elements: u64, t_log2: f64) -> f64 {
    let number_log2 = (elements.saturating_sub(1).max(1) as f64).log2();
    (f64::from(power) * number_log2).min(t_log2 - 1.0)
}

/// The sums: of rows all powers, and of each digit all but the last.
fn sums(products: &mut Products<'_, '_>, found: &Matching, weighed: &[(usize, f64)]) -> Result<(), String> {
    for (power, (factor, phase_log2)) in weighed.iter().enumerate() {
        products.sum((*factor, None), *phase_log2, format!("power {power} of rows that match"))?;
    }
    let below = weighed.split_last().map_or(&[][..], |(_, below)| below);
    for (digit, term) in found.digits.iter().enumerate() {
        let what = |power: usize| format!("power {power} of digit {digit} of rows that match");
        if let Term::Stored(quantity) = term {
            let column = products.place(quantity)?;
            for (power, (factor, phase_log2)) in below.iter().enumerate() {
                products.sum((*factor, Some(column)), *phase_log2, what(power))?;
            }
            continue;
        }
        // A sum of flags, worked out once.
        let bound = products.bind(term)?;
        let digit = products.factor(bound);
        let space = products.space()?;
        for (power, (factor, phase_log2)) in below.iter().enumerate() {
            let both = (Box::new(Factor::Earlier(*factor)), Box::new(Factor::Earlier(digit)));
            let phase_log2 = noise::product_phase_log2(space.degree, *phase_log2, term.phase_log2(space));
            let both = products.factor(Factor::Mul(both.0, both.1));
            products.sum((both, None), phase_log2, what(power))?;
        }
    }
    Ok(())
}

/// The columns as the owner has them.
fn own_query(case: &Case<'_>, rows: &MatchingRows) -> OwnQuery {
    let (mut encrypted, mut sealed, mut next) = (Vec::new(), Vec::new(), 0..);
    let mut place = || next.next().unwrap_or_default();
    for column in &rows.columns {
        match column.value {
            MatchingValue::Text(_) => sealed.push(column.name.clone()),
            _ => encrypted.push(OwnColumn {
                name: column.name.clone(),
                value: place(),
                valid: column.valid.map(|_| place()),
            }),
        }
    }
    OwnQuery { clear: Vec::new(), encrypted, sealed, query: case.query.clone() }
}

/// What the server learns.
fn tells(task: &ProductsTask, most: u8) -> Vec<String> {
    let mut ids: Vec<u32> = task.columns.iter().map(|id| id.0).collect();
    ids.sort_unstable();
    let ids = numbered(&ids);
    let combined = match task.computed {
        Some(_) => {
            format!("that encoded columns {ids} are combined with constants that it cannot read, and how")
        }
        None => format!("that encoded columns {ids} are combined, and how; when the same are combined again"),
    };
    let masks = task.masks.iter().map(|condition| format!("which rows match {condition}, within that"));
    let again = format!(
        "that rows which match come back; if more than {most} of them share a slot, a second question says about how many"
    );
    let combined = (!task.columns.is_empty()).then_some(combined);
    combined.into_iter().chain(masks).chain([again]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packing::FILTER_PRIME;

    /// What an element is multiplied by never passes its bound, and is that bound as long as the prime does not matter.
    #[test]
    fn powers_of_numbers_keep_to_their_bound() {
        let t = FILTER_PRIME;
        for elements in [1_u64, 2, 16, 100, MAX_ELEMENTS] {
            for power in 1..=16_u8 {
                let residue = |number: u64| (0..power).fold(1, |found, _| found * number % t);
                let nearest = (0..elements).map(|number| residue(number).min(t - residue(number)));
                let largest = nearest.max().unwrap_or(0).max(1);
                let bound = weight_log2(power, elements, (t as f64).log2());
                assert!((largest as f64).log2() <= bound + 1e-9, "{elements} {power}");
                let exact = (elements - 1).max(1).checked_pow(power.into()).filter(|exact| *exact < t / 2);
                assert!(exact.is_none_or(|exact| exact == largest), "{elements} {power}");
            }
        }
    }
}
