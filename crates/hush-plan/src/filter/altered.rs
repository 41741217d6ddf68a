// SPDX-License-Identifier: Apache-2.0
//! Filters, derived conditions and measures of altered schemas: they follow the names of their columns, and go with them.

use super::Code;
use super::FilterShape;
use crate::cube::{lanes_over, sums_after};
use crate::derived::Derived;
use crate::schema::alter::Alteration;
use crate::schema::cube::{Dimension, Grain};
use crate::schema::{FilterFault, Schema};
use crate::sql::renamed_condition;

/// Gives an altered schema the filters and measures that the one before had, as far as there can be such, and the further measures, be they such or
/// not.
pub fn altered(before: &Schema, alteration: &Alteration, next: &mut Schema) {
    let after = |filter: &Dimension| {
        let column = alteration.name_after(&filter.column)?;
        Some(Dimension { column, grain: filter.grain.clone() })
    };
    next.filters = before.filters.iter().filter_map(after).collect();
    let measure = |text: &String| sums_after(before, std::slice::from_ref(text), alteration)?.pop();
    next.measures = before.measures.iter().filter_map(measure).collect();
    let derived = |text: &String| {
        let condition = Derived::of(before, text).ok()?.condition;
        let is_kept = Derived::of(next, text).is_ok_and(|now| now.condition == condition);
        if is_kept {
            Some(text.clone())
        } else {
            renamed_condition(&condition, &|name| alteration.name_after(name))
        }
    };
    next.derived = before.derived.iter().filter_map(derived).collect();
    forget_lost(next);
    let new = alteration.measures.iter().filter(|text| !next.measures.contains(text)).cloned();
    let new: Vec<String> = new.collect();
    next.measures.extend(new);
    // Keys for the answers of nothing are no fault here: nobody could leave them out.
    let has_flags = FilterShape::of(next).is_ok_and(|shape| !shape.is_empty());
    next.answer_keys &= has_flags;
    next.constant_keys &= has_flags;
}

/// Forgets those whose columns are no longer such that there can be one.
pub fn forget_lost(schema: &mut Schema) {
    let mut filters = std::mem::take(&mut schema.filters);
    let mut measures = std::mem::take(&mut schema.measures);
    let mut derived = std::mem::take(&mut schema.derived);
    // A key with too many values for its code would be compared by ranks, which show more: that is refused, and not done.
    let is_kept = |filter: &Dimension| match Code::of(schema, filter) {
        Ok(_) => true,
        Err(fault) => filter.grain == Grain::Equality && matches!(fault, FilterFault::TooManyValues { .. }),
    };
    filters.retain(is_kept);
    measures.retain(|text| lanes_over(schema, std::slice::from_ref(text), schema.max_rows.max(1)).is_ok());
    derived.retain(|text| Derived::of(schema, text).is_ok());
    (schema.filters, schema.measures, schema.derived) = (filters, measures, derived);
}
