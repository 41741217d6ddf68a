// SPDX-License-Identifier: Apache-2.0
//! The owner's half of a manifest: schema and encodings, sealed with the owner's key. So a key file and a table are
//! enough to ask questions, and the server learns neither names nor bounds of encrypted columns.

#[cfg(test)]
pub(crate) mod mutations;
#[cfg(test)]
mod tests;

use hush_keys::{Cipher, TableKeys};
use hush_plan::cube::{CubeShape, NumberedCube};
use hush_plan::run::NumberedRun;
use hush_plan::schema::Dimension;
use hush_plan::schema::file::{from_toml, to_toml};
use hush_plan::{EncodingId, PrivateEncoding, Protection, Quantity, Schema, unpacked_encoding};
use hush_table::Manifest;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::ClientError;

/// Version of the sealed format.
const FORMAT: u16 = 2;

/// The structure of a table that only its owner knows.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateHalf {
    /// The schema.
    pub schema: Schema,
    /// The encoded columns with their quantities and bounds.
    pub encodings: Vec<PrivateEncoding>,
    /// Names of the columns under a seal, in the order of their numbers: sealed ones, and encrypted ones with a copy.
    pub sealed: Vec<String>,
    /// How they are sealed. It stays for as long as the table lives: parts of all its versions are opened alike.
    pub cipher: Cipher,
    /// Numbers of the schema's cubes, in its order. A number means one shape: cubes of other cells, sums or bits have others.
    pub cubes: Vec<NumberedCube>,
    /// The first number that no cube has had.
    pub next_cube: u32,
    /// Numbers of the sorted runs, in the order of [`Schema::all_runs`]. A number means one shape, as with cubes.
    pub runs: Vec<NumberedRun>,
    /// The first number that no run has had.
    pub next_run: u32,
    /// The schema that the table gets once all parts have the encodings that it needs.
    pub pending: Option<Schema>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: u16,
    schema: String,
    encodings: Vec<PrivateEncoding>,
    /// Absent where it is the order of the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<Vec<String>>,
    /// Absent where it is XChaCha20-Poly1305, as in tables of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cipher: Option<StoredCipher>,
    /// Absent where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cubes: Vec<NumberedCube>,
    /// Absent where no cube ever was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_cube: Option<u32>,
    /// Absent where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    runs: Vec<NumberedRun>,
    /// Absent where no run ever was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_run: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending: Option<String>,
}

#[derive(Serialize, Deserialize)]
enum StoredCipher {
    #[serde(rename = "XAES-256-GCM")]
    Xaes256Gcm,
}

/// The names of a schema's columns under a seal, in its order.
fn in_order(schema: &Schema) -> Vec<String> {
    schema.under_seal().map(|column| column.name.clone()).collect()
}

impl PrivateHalf {
    /// The half of a table that is encrypted from its source.
    pub fn new(schema: Schema, encodings: Vec<PrivateEncoding>) -> Self {
        let quantities =
            |cube| CubeShape::of(&schema, cube).map_or_else(|_| Vec::new(), |shape| shape.quantities());
        let cubes = (0..).zip(&schema.cubes);
        let cubes = cubes.map(|(number, cube)| NumberedCube { number, lanes: quantities(cube) }).collect();
        let next_cube = schema.cubes.len() as u32;
        let runs = (0..).zip(schema.all_runs());
        let runs: Vec<NumberedRun> =
            runs.map(|(number, run)| NumberedRun::of(&schema, &run, number)).collect();
        let (sealed, next_run) = (in_order(&schema), runs.len() as u32);
        let cipher = Cipher::Xaes256Gcm;
        Self { sealed, cipher, cubes, next_cube, runs, next_run, schema, encodings, pending: None }
    }

    /// The columns under a seal with their numbers in a manifest.
    pub(crate) fn numbered(&self, manifest: &Manifest) -> Vec<(u32, &str)> {
        manifest.sealed_numbers().into_iter().zip(self.sealed.iter().map(String::as_str)).collect()
    }

    /// They with the numbers of a table that is encrypted from its source.
    pub(crate) fn first_numbered(&self) -> Vec<(u32, &str)> {
        (0..).zip(self.sealed.iter().map(String::as_str)).collect()
    }

    /// Seals the half for one encryption of a table.
    ///
    /// # Errors
    /// [`ClientError::Seal`] if there is no entropy.
    pub(crate) fn seal(&self, keys: TableKeys<'_>) -> Result<Vec<u8>, ClientError> {
        let stored = Stored {
            format: FORMAT,
            schema: to_toml(&self.schema),
            encodings: self.encodings.clone(),
            sealed: (self.sealed != in_order(&self.schema)).then(|| self.sealed.clone()),
            cipher: match self.cipher {
                Cipher::XChaCha20Poly1305 => None,
                Cipher::Xaes256Gcm => Some(StoredCipher::Xaes256Gcm),
            },
            cubes: self.cubes.clone(),
            next_cube: Some(self.next_cube).filter(|next| *next > 0),
            runs: self.runs.clone(),
            next_run: Some(self.next_run).filter(|next| *next > 0),
            pending: self.pending.as_ref().map(to_toml),
        };
        let json = serde_json::to_vec(&stored)
            .map_err(|_| ClientError::Internal { what: "the private half does not serialise" })?;
        let plain = Zeroizing::new(json);
        Ok(keys.schema_seal().seal(PLACE, &plain)?)
    }

    /// The encodings that plans may use: those that every part has, or lacks because it has no values of their columns. What a part lacks is 0 in
    /// it, which is right for missing values alone.
    pub(crate) fn usable(&self, manifest: &Manifest) -> Vec<PrivateEncoding> {
        let is_whole = |encoding: &&PrivateEncoding| self.incomplete(manifest, encoding).is_empty();
        self.encodings.iter().filter(is_whole).cloned().collect()
    }

    /// The generations whose parts lack an encoding that is not 0 in them: those that have values of all its columns.
    pub(crate) fn incomplete(&self, manifest: &Manifest, encoding: &PrivateEncoding) -> Vec<u32> {
        // Rows without a value of a dimension are in a cell too, and are not 0 there.
        let columns = match &encoding.quantity {
            Quantity::InCells { quantity, .. } => {
                quantity.as_ref().map_or_else(Vec::new, |quantity| quantity.columns())
            }
            other => other.columns(),
        };
        let lacking = manifest.lacking(encoding.public.id).into_iter();
        lacking
            .filter(|generation| columns.iter().all(|name| self.has(manifest, *generation, name)))
            .collect()
    }

    /// The generations whose parts have values of a column and no copy, though the schema wants one.
    pub(crate) fn without_copies(&self, manifest: &Manifest) -> Vec<u32> {
        let lacks = |generation: &u32| {
            let stored = manifest.columns_of(*generation).sealed;
            self.numbered(manifest).into_iter().any(|(number, name)| {
                let column = self.schema.columns.iter().find(|column| column.name == name);
                let is_copy = column.is_some_and(|column| column.has_copy() && !column.is_copy_alone());
                is_copy && !stored.contains(&number) && self.has(manifest, *generation, name)
            })
        };
        manifest.generations.iter().map(|generation| generation.number).filter(lacks).collect()
    }

    /// Whether the parts of a generation have values of a column.
    pub(crate) fn has(&self, manifest: &Manifest, generation: u32, column: &str) -> bool {
        let is_encrypted = self.schema.protected(Protection::Encrypt).any(|known| known.name == column);
        let value = Quantity::Value(column.to_owned());
        let values: Vec<EncodingId> = (self.encodings.iter())
            .filter(|encoding| encoding.quantity == value)
            .map(|encoding| encoding.public.id)
            .collect();
        let is_stored = values.iter().any(|id| !manifest.lacks(generation, *id));
        let copy = self.numbered(manifest).into_iter().find(|(_, name)| *name == column);
        match copy.map(|(number, _)| manifest.columns_of(generation).sealed.contains(&number)) {
            _ if !is_encrypted || is_stored => true,
            Some(is_copied) => is_copied,
            // Of a column without values nothing can be said but that it may have been there.
            None => values.is_empty(),
        }
    }

    /// The quantity of an encoded column, described with the names of the owner's columns.
    pub fn description_of(&self, id: EncodingId) -> Option<String> {
        let encoding = self.encodings.iter().find(|encoding| encoding.public.id == id)?;
        Some(encoding.quantity.describe())
    }

    /// The cubes in words, with the parts of a version that have them: `#0 by month(admitted), ward: 60 cells, in 3 of 4 parts`.
    pub fn describe_cubes(&self, manifest: &Manifest) -> Vec<String> {
        let words = self.cubes.iter().zip(&self.schema.cubes).map(|(numbered, cube)| {
            let by: Vec<String> = cube.by.iter().map(Dimension::describe).collect();
            let cells = CubeShape::of(&self.schema, cube).map_or(0, |shape| shape.cells());
            let covered = manifest.parts.iter().filter(|part| part.has_cube(numbered.number)).count();
            let (number, all) = (numbered.number, manifest.parts.len());
            format!("#{number} by {}: {cells} cells, in {covered} of {all} parts", by.join(", "))
        });
        words.collect()
    }

    /// The sorted runs in words, as the cubes: `#0 by charges within ward: 3 columns, in 2 of 4 parts`.
    pub fn describe_runs(&self, manifest: &Manifest) -> Vec<String> {
        let words = self.runs.iter().zip(self.schema.all_runs()).map(|(numbered, run)| {
            let (number, columns) = (numbered.number, numbered.columns.len());
            let columns = format!("{columns} column{}", if columns == 1 { "" } else { "s" });
            let covered = manifest.parts.iter().filter(|part| part.has_run(number)).count();
            let all = manifest.parts.len();
            format!("#{number} by {}: {columns}, in {covered} of {all} parts", run.describe())
        });
        words.collect()
    }

    /// Opens a half that [`PrivateHalf::seal`] sealed for the same encryption.
    ///
    /// # Errors
    /// [`ClientError::Seal`] for altered bytes or another key; [`ClientError::Answer`] for a newer format;
    /// [`ClientError::Encoding`] for a plaintext space of another layout.
    pub(crate) fn open(keys: TableKeys<'_>, sealed: &[u8]) -> Result<Self, ClientError> {
        let plain = keys.schema_seal().open(PLACE, sealed)?;
        let unreadable = |what: &str| ClientError::Answer { what: format!("the sealed schema is {what}") };
        let stored: Stored = serde_json::from_slice(&plain).map_err(|_| match unpacked_encoding(&plain) {
            Some(id) => ClientError::Encoding { id, what: "its plaintext space does not suit its layout" },
            None => unreadable("of another format"),
        })?;
        if stored.format != FORMAT {
            return Err(unreadable("of another version"));
        }
        let read = |text: &String| from_toml(text).map_err(|_| unreadable("not a schema"));
        let (schema, pending) = (read(&stored.schema)?, stored.pending.as_ref().map(read).transpose()?);
        let sealed = stored.sealed.unwrap_or_else(|| in_order(&schema));
        if stored.cubes.len() != schema.cubes.len() {
            return Err(unreadable("of other cubes than its numbers"));
        }
        if stored.runs.len() != schema.all_runs().len() {
            return Err(unreadable("of other sorted runs than its numbers"));
        }
        Ok(Self {
            schema,
            encodings: stored.encodings,
            sealed,
            cipher: match stored.cipher {
                None => Cipher::XChaCha20Poly1305,
                Some(StoredCipher::Xaes256Gcm) => Cipher::Xaes256Gcm,
            },
            cubes: stored.cubes,
            next_cube: stored.next_cube.unwrap_or(0),
            runs: stored.runs,
            next_run: stored.next_run.unwrap_or(0),
            pending,
        })
    }
}

/// The place that the sealed bytes are bound to, beside the key of the table.
const PLACE: &[u8] = b"private half of the manifest";
