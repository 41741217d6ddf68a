// SPDX-License-Identifier: Apache-2.0
//! From a file to a schema: the proposal, and what the user's choice changes in it.

use hush_plan::schema::units::type_bounds;
use hush_plan::schema::{Column, NO_VALUES};
use hush_plan::{Protection, Schema};
use hush_table::profile::{ProfileOptions, TableProfile, profile, propose, single_out_note, singled_out};
use hush_table::source::Source;

use crate::error::ClientError;

/// The user's choice of protections, over the proposal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Exactly these columns are sensitive; replaces the proposal.
    pub sensitive: Option<Vec<String>>,
    /// These columns become clear.
    pub clear: Vec<String>,
}

/// A schema with what a person should know before approving it.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The schema, not approved.
    pub schema: Schema,
    /// Rows of the file.
    pub rows: u64,
    /// What deserves attention, one sentence each.
    pub warnings: Vec<String>,
}

impl Proposal {
    /// The schema as `by` approves it: whatever nobody has decided is protected, numbers by encryption and text by a seal.
    pub fn approve(self, by: &str) -> Schema {
        let mut schema = self.schema;
        for column in schema.columns.iter_mut().filter(|column| column.protect == Protection::Decide) {
            let is_number = type_bounds(column.kind).is_some();
            column.protect = if is_number { Protection::Encrypt } else { Protection::Seal };
        }
        schema.approved = true;
        schema.approved_by = by.to_owned();
        schema
    }
}

/// Why a column has the protection that the user gave it.
pub(crate) const YOUR_CHOICE: &str = "your choice";

/// Reads the whole file once and proposes a schema, then applies the policy.
///
/// # Cost
/// One pass over the file, a second one only if the clear columns must be counted together exactly.
///
/// # Errors
/// The file cannot be read as a table; the policy names columns that it lacks.
pub fn propose_schema(source: &Source, policy: &Policy) -> Result<Proposal, ClientError> {
    let names: Vec<String> = source.columns().iter().map(|column| column.name.clone()).collect();
    let exact =
        |list: &[String]| list.iter().map(|name| exact_name(&names, name)).collect::<Result<Vec<_>, _>>();
    let clear = exact(&policy.clear)?;
    let sensitive = policy.sensitive.as_deref().map(exact).transpose()?;
    let profile = profile(source, &ProfileOptions { clear: clear.clone() })?;
    let mut schema = propose(&profile, &source.table_name());
    let mut warnings = Vec::new();
    if let Some(sensitive) = &sensitive {
        for column in &mut schema.columns {
            replace(column, sensitive.contains(&column.name), &mut warnings);
        }
    }
    for column in schema.columns.iter_mut().filter(|column| clear.contains(&column.name)) {
        set(column, Protection::Clear);
    }
    warnings.extend(together(source, &profile, &schema)?);
    schema.notes.retain(|note| !note.starts_with("clear together:"));
    schema
        .notes
        .extend(warnings.iter().filter(|w| w.contains("single")).map(|w| format!("clear together: {w}")));
    Ok(Proposal { schema, rows: profile.rows(), warnings })
}

/// What clear columns single out together.
fn together(source: &Source, profile: &TableProfile, schema: &Schema) -> Result<Option<String>, ClientError> {
    let names: Vec<&str> = schema.protected(Protection::Clear).map(|column| column.name.as_str()).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let found = match profile.singled_out(&names) {
        Some(found) => found,
        None => singled_out(source, &names)?,
    };
    Ok((found.alone > 0).then(|| single_out_note(&names, found)))
}

fn replace(column: &mut Column, is_sensitive: bool, warnings: &mut Vec<String>) {
    if is_sensitive {
        let is_number = type_bounds(column.kind).is_some();
        if column.reason == NO_VALUES {
            warnings.push(format!("{} has no value in the file, so that its type is unknown.", column.name));
            column.protect = Protection::Seal;
            return;
        }
        set(column, if is_number { Protection::Encrypt } else { Protection::Seal });
    } else {
        if column.protect != Protection::Clear {
            warnings.push(format!(
                "{} is left clear by your choice, though it looks sensitive: {}.",
                column.name, column.reason
            ));
        }
        set(column, Protection::Clear);
    }
}

fn set(column: &mut Column, protect: Protection) {
    column.protect = protect;
    column.reason = YOUR_CHOICE.to_owned();
}

/// The column that the user means, ignoring case where that is unambiguous.
fn exact_name(names: &[String], wanted: &str) -> Result<String, ClientError> {
    let same: Vec<&String> = names.iter().filter(|name| name.eq_ignore_ascii_case(wanted)).collect();
    let exact = names.iter().find(|name| *name == wanted);
    match (exact, same.as_slice()) {
        (Some(name), _) => Ok(name.clone()),
        (None, [name]) => Ok((*name).clone()),
        _ => Err(ClientError::Usage {
            what: format!("no column {wanted:?}; the file has {}", names.join(", ")),
        }),
    }
}
