// SPDX-License-Identifier: Apache-2.0
//! A schema for devices: changes a proposal so that devices can append rows, and computes the load on one of them.

use std::collections::BTreeMap;

use hush_edge::{Capacity, Load};
use hush_plan::error::Remedy;
use hush_plan::schema::{Column, Purpose, units::type_bounds};
use hush_plan::{Needs, Protection, Schema};
use hush_table::profile::keep_possible_purposes;
use serde::Serialize;

use crate::encrypt::{TEXT_BYTES, plan_encodings};
use crate::error::ClientError;
use crate::policy::Proposal;

/// Most rows that a proposal is made for.
const MOST_ROWS: u64 = 1_000_000_000_000;

/// The load of a table on a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceFit {
    /// Encoded columns over each parameter set.
    pub columns: BTreeMap<String, u64>,
    /// Their load.
    pub load: Load,
}

/// Changes a proposal so that devices of this capacity can append rows.
///
/// Devices can neither seal nor multiply by row: a person has to decide on sealed columns, and the purpose `product` goes. If the
/// encoded columns do not fit the device's memory, variances go, which take a column each. `max_rows` is raised tenfold for as
/// long as the same parameter sets serve, so that devices can go on for long. Sums with clear factors that a later query invents
/// have so much less room.
///
/// # Errors
/// [`ClientError::DeviceTooSmall`]; [`ClientError::Plan`] if no parameters serve; [`ClientError::Usage`] for a capacity that
/// lacks parameters of this version.
pub fn fit_to_device(proposal: &mut Proposal, capacity: &Capacity) -> Result<DeviceFit, ClientError> {
    proposal.schema.edge = true;
    suit_devices(proposal);
    let mut fit = fit_of(&proposal.schema, capacity)?;
    let most = capacity.memory_bytes.unwrap_or(u64::MAX);
    if fit.load.memory_bytes > most && drop_variances(&mut proposal.schema) {
        let warning = "variances are left out: the device's memory does not hold their columns too";
        proposal.warnings.push(warning.to_owned());
        fit = fit_of(&proposal.schema, capacity)?;
    }
    if fit.load.memory_bytes > most {
        let (needed, columns) = (fit.load.memory_bytes, fit.load.columns);
        return Err(ClientError::DeviceTooSmall { columns, needed, found: most });
    }
    while fit.load.columns > 0 && proposal.schema.max_rows < MOST_ROWS {
        let larger = Schema { max_rows: proposal.schema.max_rows * 10, ..proposal.schema.clone() };
        if !matches!(fit_of(&larger, capacity), Ok(of_larger) if of_larger == fit) {
            break;
        }
        proposal.schema = larger;
    }
    Ok(fit)
}

/// Removes purposes that devices cannot serve, and leaves sealed columns to be decided.
fn suit_devices(proposal: &mut Proposal) {
    let others = proposal.schema.clone();
    for column in &mut proposal.schema.columns {
        column.purposes.retain(|purpose| *purpose != Purpose::Product);
        keep_possible_purposes(&others, column);
        if column.protect == Protection::Seal {
            column.protect = Protection::Decide;
            column.reason.push_str("; devices cannot seal: \"clear\" or \"drop\"");
            let name = &column.name;
            proposal.warnings.push(format!(
                "{name} would be sealed, which devices cannot: decide between clear and drop."
            ));
        }
    }
}

/// Takes away the purposes that encrypt squares and higher powers; true if there were any.
fn drop_variances(schema: &mut Schema) -> bool {
    let reads_powers = |purpose: &Purpose| purpose.order() > 1;
    let had = schema.columns.iter().any(|column| column.purposes.iter().any(reads_powers));
    schema.columns.iter_mut().for_each(|column| column.purposes.retain(|purpose| !reads_powers(purpose)));
    had
}

/// The load of the schema once approved: undecided numbers encrypted, undecided texts in no ciphertext.
fn fit_of(schema: &Schema, capacity: &Capacity) -> Result<DeviceFit, ClientError> {
    let mut approved = schema.clone();
    for column in approved.columns.iter_mut().filter(|column| column.protect == Protection::Decide) {
        let is_number = type_bounds(column.kind).is_some();
        column.protect = if is_number { Protection::Encrypt } else { Protection::Drop };
    }
    let needs = Needs::of_purposes(&approved)?;
    let mut columns = BTreeMap::new();
    for encoding in plan_encodings(&approved, &needs, approved.max_rows)? {
        *columns.entry(encoding.public.params).or_default() += 1;
    }
    let clear_row_bytes = approved.readable().map(|column| clear_cell_bytes(&column)).sum();
    let load = capacity.load(&columns, clear_row_bytes).ok_or_else(|| {
        let what = "the device was measured by another version".into();
        ClientError::Misused { what, way: Remedy::MeasureDevice }
    })?;
    Ok(DeviceFit { columns, load })
}

/// Estimated bytes of a clear cell.
fn clear_cell_bytes(column: &Column) -> u64 {
    if type_bounds(column.kind).is_some() { 9 } else { 5 + TEXT_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Policy, propose_schema};
    use hush_table::source::{OpenOptions, Source};

    /// A proposal for a made-up file: a text, a site, two numbers.
    fn proposal() -> Proposal {
        let mut text = "note,site,temp,load\n".to_owned();
        for row in 0..2000 {
            text.push_str(&format!(
                "n{},{},{}.{},{}\n",
                row * 7919 % 1999,
                row % 4,
                row % 60,
                row % 10,
                row * 31
            ));
        }
        let source = Source::from_bytes(text.into(), &OpenOptions::default()).unwrap();
        let names = ["note", "temp", "load"].map(str::to_owned).to_vec();
        propose_schema(&source, &Policy { sensitive: names, clear: Vec::new() }).unwrap()
    }

    fn capacity(memory_bytes: Option<u64>) -> Capacity {
        Capacity { memory_bytes, ..Capacity::measure().unwrap() }
    }

    #[test]
    fn a_proposal_is_changed_to_what_devices_can_do_and_uses_the_room_there_is() {
        let (before, mut proposal) = (proposal().schema, proposal());
        let fit = fit_to_device(&mut proposal, &capacity(None)).unwrap();
        let schema = &proposal.schema;
        assert!(schema.edge && schema.column("note").unwrap().protect == Protection::Decide);
        assert!(proposal.warnings.iter().any(|warning| warning.starts_with("note would be sealed")));
        // Values and squares, and validity for columns that may lack values.
        assert_eq!(fit.load.columns, fit.columns.values().sum::<u64>());
        assert!(fit.load.columns >= 4, "{fit:?}");
        assert!(schema.max_rows > before.max_rows);
        let planned = |max_rows| fit_of(&Schema { max_rows, ..schema.clone() }, &capacity(None)).ok();
        assert_eq!(planned(schema.max_rows).map(|of| of.columns), Some(fit.columns.clone()));
        if schema.max_rows < MOST_ROWS {
            assert_ne!(planned(schema.max_rows * 10).map(|of| of.columns), Some(fit.columns));
        }
    }

    #[test]
    fn what_does_not_fit_goes_and_what_still_does_not_is_refused() {
        let all = fit_to_device(&mut proposal(), &capacity(None)).unwrap().load.memory_bytes;
        let mut tight = proposal();
        let fit = fit_to_device(&mut tight, &capacity(Some(all - 1))).unwrap();
        assert!(fit.load.memory_bytes < all);
        assert!(tight.warnings.iter().any(|warning| warning.contains("variances are left out")));
        let refused = fit_to_device(&mut proposal(), &capacity(Some(fit.load.memory_bytes - 1)));
        let needed = fit.load.memory_bytes;
        assert!(matches!(refused, Err(ClientError::DeviceTooSmall { needed: n, .. }) if n == needed));
    }
}
