// SPDX-License-Identifier: Apache-2.0
//! The constants of a condition, encrypted for a server that computes it with the table's keys.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hush_plan::QueryPlan;
use hush_plan::filter::chain_of_constants;
use hush_plan::plan::Task;
use hush_rlwe::encode_seeded;
use hush_schemes::bgv::Bgv;

use crate::error::ClientError;
use crate::table::OwnedTable;
use crate::table_keys::{chain_secret, unit_of};

/// The domain whose secret the keys are of.
const DOMAIN: u32 = 0;

/// Puts the ciphertext of the owner's constants into a plan. Every call makes another one: the same question twice has nothing in common but its form.
///
/// # Errors
/// [`ClientError::Randomness`]; [`ClientError::Internal`] for a plan without a condition that they are for.
pub(super) fn encrypt(table: &OwnedTable, plan: &mut QueryPlan) -> Result<(), ClientError> {
    let other = || ClientError::Internal { what: "encrypted constants of no condition" };
    let Task::Products(task) = &mut plan.server.task else { return Err(other()) };
    let (condition, first) = task.computed.as_mut().zip(task.columns.first()).ok_or_else(other)?;
    if condition.constant_count() != plan.owner.constants.len() {
        return Err(other());
    }
    let key = table.keys.of(table.manifest.manifest(), DOMAIN)?.columns.get(*first)?;
    let (unit, ring) = unit_of(&key.encoding).zip(key.ring().set()).ok_or_else(other)?;
    let (_, chain) = chain_of_constants(ring).ok_or_else(other)?;
    let secret = chain_secret(key, unit, &chain)?;
    let bgv = Bgv::new(&chain, unit, key.ring().cpu())?;
    let level = bgv.chain().top();
    let message = bgv.encode_expandable(&plan.owner.constants, level)?;
    let object = encode_seeded(secret.chain(), level, &[secret.encrypt(message)?])?;
    condition.constants = BASE64_STANDARD.encode(object);
    Ok(())
}
