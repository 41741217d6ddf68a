// SPDX-License-Identifier: Apache-2.0
//! Sums by hidden values of altered schemas: they follow the names of their columns, and go with them.

use super::shape;
use crate::cube::after;
use crate::schema::Schema;
use crate::schema::alter::Alteration;

/// Gives an altered schema the groups that the one before had, as far as there can be such.
pub fn altered(before: &Schema, alteration: &Alteration, next: &mut Schema) {
    next.groups = before.groups.iter().filter_map(|group| after(before, group, alteration)).collect();
    forget_lost(next);
}

/// Forgets the groups whose columns are no longer such that there can be one.
pub fn forget_lost(schema: &mut Schema) {
    let mut groups = std::mem::take(&mut schema.groups);
    groups.retain(|group| shape(schema, group).is_ok());
    schema.groups = groups;
}
