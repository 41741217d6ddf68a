// SPDX-License-Identifier: Apache-2.0
//! From a file to a schema: the proposal, and the changes of the user's choice.

use std::collections::BTreeMap;

use hush_plan::schema::units::type_bounds;
use hush_plan::schema::{Column, NO_VALUES, UNHELD_TYPE};
use hush_plan::{Needs, Protection, Schema, factors_left_out};
use hush_table::CHUNK_ROWS;
use hush_table::profile::{
    ProfileOptions, Proposed, TableProfile, keep_possible_purposes, profile, propose, single_out_note,
    singled_out,
};
use hush_table::source::Source;

use crate::copy;
use crate::encrypt::plan_encodings;
use crate::error::ClientError;
use crate::schema_file::require_approval;

/// The user's choice of protections, over the proposal. Columns that it does not name keep their proposed protection.
///
/// Names are taken without the blanks around them, and ignoring case where that is unambiguous.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// These columns are protected: encrypted where they are numbers, else sealed.
    pub sensitive: Vec<String>,
    /// These columns become clear.
    pub clear: Vec<String>,
}

/// A schema with the facts that a person should know before approving it.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The schema, not approved.
    pub schema: Schema,
    /// Rows of the file.
    pub rows: u64,
    /// Distinct values of each column of texts, missing ones aside; an estimate beyond some thousands.
    pub distinct: BTreeMap<String, u64>,
    /// Notes that deserve attention, one sentence each.
    pub warnings: Vec<String>,
}

impl Proposal {
    /// The schema as `by` approves it.
    ///
    /// # Errors
    /// [`ClientError::SchemaText`] (HUSH-S003) with the columns that nobody has decided on: an approval decides nothing by
    /// itself.
    pub fn approve(self, by: &str) -> Result<Schema, ClientError> {
        let schema = Schema { approved: true, approved_by: by.to_owned(), ..self.schema };
        require_approval(&schema)?;
        Ok(schema)
    }
}

/// Protects undecided columns, numbers by encryption and texts by a seal, as a rehearsal does. The reasons say so.
pub(crate) fn protect_undecided(schema: &mut Schema) {
    for column in schema.columns.iter_mut().filter(|column| column.protect == Protection::Decide) {
        column.protect = protection_of(column);
        column.reason.push_str("; undecided, so protected");
    }
}

/// Bytes of a row that the encrypted columns of a schema take, in full chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredBytes {
    /// Ciphertexts by column; those of products by their factors.
    pub columns: Vec<(String, f64)>,
    /// Copies for the owner to read, of the columns that have them.
    pub copies: f64,
    /// Copies of all the others, if they had them.
    pub further_copies: f64,
}

impl StoredBytes {
    /// Those of a schema, with the ciphertexts that its purposes ask for.
    ///
    /// # Errors
    /// [`ClientError::Plan`] if no parameters serve them.
    pub fn of(schema: &Schema) -> Result<Self, ClientError> {
        let needs = Needs::of_purposes(schema)?;
        let mut columns: Vec<(String, f64)> = Vec::new();
        for encoding in plan_encodings(schema, &needs, schema.max_rows)? {
            let (packing, ring) = (&encoding.public.packing, encoding.public.ring()?);
            let chunk = packing.element_bytes(ring, None) as f64 * packing.elements_of_chunk(ring);
            let (name, bytes) = (encoding.quantity.columns().join(" * "), chunk / f64::from(CHUNK_ROWS));
            match columns.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += bytes,
                None => columns.push((name, bytes)),
            }
        }
        let chunk_rows = f64::from(CHUNK_ROWS);
        let bytes = |has_copy: bool| {
            let some = schema.protected(Protection::Encrypt).filter(|column| column.has_copy() == has_copy);
            some.map(|column| copy::shape(column).bytes(CHUNK_ROWS.into()) as f64 / chunk_rows).sum()
        };
        Ok(Self { columns, copies: bytes(true), further_copies: bytes(false) })
    }

    /// All together.
    pub fn total(&self) -> f64 {
        self.columns.iter().map(|(_, bytes)| bytes).sum::<f64>() + self.copies
    }
}

/// The reason for a protection that the user chose.
pub(crate) const YOUR_CHOICE: &str = "your choice";

/// Reads the whole file once and proposes a schema, then applies the policy.
///
/// # Cost
/// One pass over the file, a second one only if the clear columns must be counted together exactly.
///
/// # Errors
/// The file cannot be read as a table; [`ClientError::Usage`] for a policy that names columns that the file lacks, one of them
/// twice, or one as both clear and sensitive.
pub fn propose_schema(source: &Source, policy: &Policy) -> Result<Proposal, ClientError> {
    let names: Vec<String> = source.columns().iter().map(|column| column.name.clone()).collect();
    let (clear, sensitive) = (resolve(&names, &policy.clear)?, resolve(&names, &policy.sensitive)?);
    if let Some(both) = sensitive.iter().find(|name| clear.contains(name)) {
        let what = format!("column {both} is named both clear and sensitive\n  Way out: name it once.");
        return Err(ClientError::Usage { what });
    }
    let profile = profile(source, &ProfileOptions { clear: clear.clone() })?;
    let Proposed { mut schema, mut warnings } = propose(&profile, &source.table_name());
    if let Some(given) = source.renamed() {
        warnings.insert(0, format!("The table's name in SQL is {}, not {given:?}.", schema.table));
    }
    let sized = schema.clone();
    for column in &mut schema.columns {
        if sensitive.contains(&column.name) {
            protect(&sized, column, &mut warnings);
        } else if clear.contains(&column.name) {
            leave_clear(column, &mut warnings);
        }
    }
    warnings.extend(together(source, &profile, &schema)?);
    warnings.extend(factors_left_out(&schema).into_iter().map(|(name, factors)| {
        format!(
            "SUM({name} * w) is left out for w = {}: no parameters have room for it; a workload of queries may.",
            factors.join(", ")
        )
    }));
    schema.notes.retain(|note| !note.starts_with("clear together:"));
    schema.notes.extend(warnings.iter().filter(|warning| warning.starts_with("clear together:")).cloned());
    let texts = profile.columns().iter().filter(|found| found.is_text());
    let distinct = texts.map(|found| (found.name().to_owned(), found.distinct())).collect();
    Ok(Proposal { schema, rows: profile.rows(), distinct, warnings })
}

/// Rows that the clear columns single out together.
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

/// Protects a column that the user calls sensitive. A column of a type that no table holds stays dropped, with its reason.
fn protect(schema: &Schema, column: &mut Column, warnings: &mut Vec<String>) {
    if column.reason == NO_VALUES {
        warnings.push(format!("{} has no value in the file, so that its type is unknown.", column.name));
        column.protect = Protection::Seal;
        return;
    }
    if column.reason.starts_with(UNHELD_TYPE) {
        warnings.push(format!("{} is dropped: {}.", column.name, column.reason));
        return;
    }
    column.protect = protection_of(column);
    column.reason = YOUR_CHOICE.to_owned();
    keep_possible_purposes(schema, column);
}

/// Makes a column clear that the user calls clear, and warns if it looks sensitive.
fn leave_clear(column: &mut Column, warnings: &mut Vec<String>) {
    if column.reason.starts_with(UNHELD_TYPE) {
        warnings.push(format!("{} is dropped: {}.", column.name, column.reason));
        return;
    }
    if column.protect != Protection::Clear {
        let (name, reason) = (&column.name, &column.reason);
        warnings.push(format!("{name} is left clear by your choice, though it looks sensitive: {reason}."));
    }
    column.protect = Protection::Clear;
    column.reason = YOUR_CHOICE.to_owned();
}

/// The protection of a column: numbers are encrypted, texts sealed.
fn protection_of(column: &Column) -> Protection {
    if type_bounds(column.kind).is_some() { Protection::Encrypt } else { Protection::Seal }
}

/// The columns that the user means.
fn resolve(names: &[String], wanted: &[String]) -> Result<Vec<String>, ClientError> {
    let mut found: Vec<String> = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        let name = exact_name(names, wanted).ok_or_else(|| ClientError::Usage {
            what: format!("no column {wanted:?}; the file has {}", names.join(", ")),
        })?;
        if found.contains(&name) {
            let what = format!("column {name} is named twice\n  Way out: name it once.");
            return Err(ClientError::Usage { what });
        }
        found.push(name);
    }
    Ok(found)
}

/// The column that a person means by a name, in any list: the exact one, or else the one without blanks around the name and
/// ignoring case, if that is unambiguous.
pub(crate) fn exact_name(names: &[String], wanted: &str) -> Option<String> {
    let trimmed = wanted.trim();
    let mut exact =
        [wanted, trimmed].into_iter().filter_map(|wanted| names.iter().find(|name| *name == wanted));
    let same: Vec<&String> = names.iter().filter(|name| name.eq_ignore_ascii_case(trimmed)).collect();
    match (exact.next(), same.as_slice()) {
        (Some(name), _) => Some(name.clone()),
        (None, [name]) => Some((*name).clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hush_table::source::OpenOptions;

    use super::*;

    fn source() -> Source {
        let mut text = "Name,ward,bp,code,dose\n".to_owned();
        for row in 0..60 {
            text.push_str(&format!(
                "Person {row},w{},{},{},{}e-9\n",
                row % 3,
                90 + row,
                row * 7919 % 1000,
                row + 1
            ));
        }
        Source::from_bytes(text.into(), &OpenOptions::default()).unwrap()
    }

    fn proposal(sensitive: &[&str], clear: &[&str]) -> Result<Proposal, ClientError> {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        propose_schema(&source(), &Policy { sensitive: names(sensitive), clear: names(clear) })
    }

    fn protections(schema: &Schema) -> Vec<Protection> {
        schema.columns.iter().map(|column| column.protect).collect()
    }

    #[test]
    fn what_is_not_named_keeps_its_proposal() {
        use Protection::{Clear, Decide, Encrypt, Seal};
        let proposed = proposal(&[], &[]).unwrap();
        assert_eq!(protections(&proposed.schema), [Seal, Clear, Decide, Encrypt, Decide]);
        let named = proposal(&[" BP", "ward"], &["code "]).unwrap();
        assert_eq!(protections(&named.schema), [Seal, Seal, Encrypt, Clear, Decide]);
        let said = "code is left clear by your choice, though it looks sensitive: unknown means encrypt.";
        assert!(named.warnings.iter().any(|warning| warning == said), "{:?}", named.warnings);
    }

    #[test]
    fn contradictions_and_unknown_names_are_refused() {
        for (sensitive, clear) in [
            (&["bp"][..], &["bp"][..]),
            (&["ward", "Bp "], &["code", "BP"]),
            (&["bp", "BP"], &[]),
            (&[], &["ward", " ward"]),
            (&["bpp"], &[]),
            (&[], &[""]),
        ] {
            let refused = proposal(sensitive, clear).unwrap_err();
            assert_eq!(refused.code(), "HUSH-U001", "{sensitive:?} {clear:?}");
        }
    }

    #[test]
    fn an_approval_decides_nothing() {
        let refused = proposal(&[], &[]).unwrap().approve("a test").unwrap_err();
        assert!(refused.code() == "HUSH-S003" && refused.to_string().contains("(bp, dose)"), "{refused}");
        let schema = proposal(&["bp", "dose"], &[]).unwrap().approve("a test").unwrap();
        assert!(schema.approved && schema.approved_by == "a test");
        let mut rehearsed = proposal(&[], &[]).unwrap().schema;
        protect_undecided(&mut rehearsed);
        assert_eq!(rehearsed.columns[2].protect, Protection::Encrypt);
        assert!(rehearsed.columns[2].reason.ends_with("undecided, so protected"));
    }
}
