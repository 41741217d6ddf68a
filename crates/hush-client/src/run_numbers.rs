// SPDX-License-Identifier: Apache-2.0
//! Numbers of sorted runs. A number means one shape, so that parts need say no more of their runs.

use hush_plan::run::{NumberedRun, RunShape};
use hush_plan::schema::alter::Alteration;
use hush_plan::schema::{Run, Schema};

use crate::private::PrivateHalf;

/// The numbers of the runs of an altered schema, and the first that none has had. A run of other columns, forms or sums than before gets a number
/// that no part ever had; one that stays keeps its number and the order of its columns and lanes, whatever its columns are called now.
pub(crate) fn renumbered(
    before: &PrivateHalf,
    alteration: &Alteration,
    schema: &Schema,
) -> (Vec<NumberedRun>, u32) {
    let rename = |name: &str| alteration.name_after(name).unwrap_or_else(|| name.to_owned());
    let known = before.runs.iter().zip(before.schema.all_runs()).filter_map(|(numbered, run)| {
        let after = hush_plan::run::after(&before.schema, &run, alteration)?;
        let shape = RunShape::of(&before.schema, &run).ok()?.in_order(numbered)?;
        let lanes = numbered.lanes.iter().map(|quantity| quantity.renamed(&rename)).collect();
        let columns = numbered.columns.iter().map(|name| rename(name)).collect();
        Some((NumberedRun { number: numbered.number, lanes, columns }, after, shape))
    });
    let mut known: Vec<(NumberedRun, Run, RunShape)> = known.collect();
    let mut next = before.next_run;
    let numbered = schema.all_runs().into_iter().map(|run| {
        let place = known.iter().position(|(_, after, _)| *after == run);
        let same = place.map(|place| known.remove(place)).filter(|(numbered, _, known)| {
            let shape = RunShape::of(schema, &run).ok().and_then(|shape| shape.in_order(numbered));
            shape.is_some_and(|shape| shape.has_form_of(known))
        });
        same.map_or_else(
            || {
                next = next.saturating_add(1);
                NumberedRun::of(schema, &run, next - 1)
            },
            |(numbered, ..)| numbered,
        )
    });
    let numbered = numbered.collect();
    (numbered, next)
}

#[cfg(test)]
mod tests;
