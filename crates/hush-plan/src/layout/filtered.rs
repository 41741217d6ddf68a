// SPDX-License-Identifier: Apache-2.0
//! Encodings of conditions without keys: all in one ring, under one secret, and all alike, so that only their owner knows which is which.

use std::collections::BTreeSet;

use hush_params::size;

use crate::encoding::{Encoding, EncodingId, PrivateEncoding};
use crate::error::PlanError;
use crate::filter::{FilterShape, shares_elements};
use crate::layout::Needs;
use crate::packing::{Packing, Slots};
use crate::quantity::{Flag, FlagOf, Quantity};
use crate::schema::Schema;

/// The encodings of these quantities, with numbers from `first_id` on in an order that `new_id` draws. They join those of a table, where it has some.
///
/// # Errors
/// [`PlanError::NoParameters`].
pub(super) fn plan(
    schema: &Schema,
    quantities: &BTreeSet<Quantity>,
    kept: &[PrivateEncoding],
    first_id: EncodingId,
    new_id: &mut dyn FnMut() -> String,
) -> Result<Vec<PrivateEncoding>, PlanError> {
    if quantities.is_empty() {
        return Ok(Vec::new());
    }
    let none = |quantity: &str| PlanError::NoParameters { quantity: quantity.to_owned(), rows: 1, bits: 17 };
    let shares = shares_elements(quantities);
    let (params, packing, secret_id) = match kept.iter().find(|encoding| is_filtered(encoding)) {
        Some(known) if !shares && is_shared(known) => {
            return Err(none("ranks beside filters whose chunks share ring elements"));
        }
        Some(known) => (known.public.params.clone(), known.public.packing.clone(), known.secret_id.clone()),
        None => {
            let set = FilterShape::of(schema).ok().and_then(|shape| shape.set());
            let set = set.ok_or_else(|| none("filters"))?;
            let slots = Slots::of_filters(shares && size::chunks_of_element(set) > 1);
            (set.name().to_owned(), Packing::Slots(slots), new_id())
        }
    };
    // Their numbers are all that tells one from another.
    let mut drawn: Vec<(String, &Quantity)> =
        quantities.iter().map(|quantity| (new_id(), quantity)).collect();
    drawn.sort();
    let encoding = |(place, (_, quantity)): (usize, (String, &Quantity))| PrivateEncoding {
        public: Encoding {
            id: EncodingId(first_id.0.saturating_add(place as u32)),
            params: params.clone(),
            packing: packing.clone(),
        },
        quantity: quantity.clone(),
        max_abs: quantity.bound(schema).to_string(),
        secret_id: secret_id.clone(),
    };
    Ok(drawn.into_iter().enumerate().map(encoding).collect())
}

/// The column that is compared by ranks under these needs, beside encodings of a table whose chunks share ring elements; `None` if there is none, or nothing
/// is shared. Flags of ranks are chosen chunk by chunk, so that such a table has none, and has to be encrypted anew for them.
pub fn ranks_beside_shared<'n>(needs: &'n Needs, kept: &[PrivateEncoding]) -> Option<&'n str> {
    let ranked = |quantity: &'n Quantity| match quantity {
        Quantity::Flag(Flag { column, of: FlagOf::Ranked(_) }) => Some(column.as_str()),
        _ => None,
    };
    kept.iter().any(is_shared).then(|| needs.filtered.iter().find_map(ranked)).flatten()
}

fn is_shared(encoding: &PrivateEncoding) -> bool {
    matches!(&encoding.public.packing, Packing::Slots(slots) if slots.shared)
}

/// Whether an encoding is of conditions without keys.
pub(crate) fn is_filtered(encoding: &PrivateEncoding) -> bool {
    matches!(&encoding.public.packing, Packing::Slots(slots) if slots.is_of_filters())
}

/// Whether there is an encoding of a quantity among these.
pub(super) fn holds(kept: &[PrivateEncoding], quantity: &Quantity) -> bool {
    kept.iter().any(|encoding| is_filtered(encoding) && encoding.quantity == *quantity)
}
