// SPDX-License-Identifier: Apache-2.0
//! The owner's half of a manifest: schema and encodings, sealed with the owner's key. So a key file and a table are
//! enough to ask questions, and the server learns neither names nor bounds of encrypted columns.

#[cfg(test)]
pub(crate) mod mutations;

use hush_keys::TableKeys;
use hush_plan::schema::file::{from_toml, to_toml};
use hush_plan::{EncodingId, PrivateEncoding, Schema, unpacked_encoding};
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
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: u16,
    schema: String,
    encodings: Vec<PrivateEncoding>,
}

impl PrivateHalf {
    /// Seals the half for one encryption of a table.
    ///
    /// # Errors
    /// [`ClientError::Seal`] if there is no entropy.
    pub(crate) fn seal(&self, keys: TableKeys<'_>) -> Result<Vec<u8>, ClientError> {
        let stored =
            Stored { format: FORMAT, schema: to_toml(&self.schema), encodings: self.encodings.clone() };
        let json = serde_json::to_vec(&stored)
            .map_err(|_| ClientError::Internal { what: "the private half does not serialise" })?;
        let plain = Zeroizing::new(json);
        Ok(keys.schema_seal().seal(PLACE, &plain)?)
    }

    /// The quantity of an encoded column, described with the names of the owner's columns.
    pub fn description_of(&self, id: EncodingId) -> Option<String> {
        let encoding = self.encodings.iter().find(|encoding| encoding.public.id == id)?;
        Some(encoding.quantity.describe())
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
        let schema = from_toml(&stored.schema).map_err(|_| unreadable("not a schema"))?;
        Ok(Self { schema, encodings: stored.encodings })
    }
}

/// The place that the sealed bytes are bound to, beside the key of the table.
const PLACE: &[u8] = b"private half of the manifest";
