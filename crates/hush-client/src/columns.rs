// SPDX-License-Identifier: Apache-2.0
//! Encoded columns with their keys, derived for the private half of a manifest.

use std::collections::HashMap;
use std::sync::Arc;

use hush_keys::{OwnerSeed, TableKeys};
use hush_params::preset;
use hush_plan::{EncodingId, PrivateEncoding};
use hush_ring::{Cpu, Ring};
use hush_table::Manifest;

use crate::error::ClientError;
use crate::packing::{Codec, ColumnKey};

/// All encoded columns of a table. A copy shares them.
#[derive(Clone)]
pub(crate) struct ColumnKeys {
    columns: Arc<[ColumnKey]>,
}

impl ColumnKeys {
    /// Derives the keys of every encoding.
    ///
    /// # Errors
    /// [`ClientError::Encoding`] if an encoding's bound or secret id is malformed.
    pub(crate) fn derive(keys: TableKeys<'_>, encodings: &[PrivateEncoding]) -> Result<Self, ClientError> {
        let mut rings = Rings::detect()?;
        let columns = encodings
            .iter()
            .map(|encoding| {
                let ring = rings.of(&encoding.public.params)?;
                let codec = Codec::new(&ring, encoding)?;
                let secret = keys.secret(codec.owned().secret_kind(), &ring, secret_id(encoding)?);
                Ok(ColumnKey { encoding: encoding.clone(), secret, codec })
            })
            .collect::<Result<_, ClientError>>()?;
        Ok(Self { columns })
    }

    /// The columns in manifest order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ColumnKey> {
        self.columns.iter()
    }

    /// One column by its number.
    ///
    /// # Errors
    /// [`ClientError::Internal`] if the table has no such column.
    pub(crate) fn get(&self, id: EncodingId) -> Result<&ColumnKey, ClientError> {
        let found = self.columns.iter().find(|column| column.id() == id);
        found.ok_or(ClientError::Internal { what: "the plan names an encoded column that the table lacks" })
    }
}

/// Rings by the name of their parameter set, each built once.
pub(crate) struct Rings {
    cpu: Cpu,
    built: HashMap<String, Ring>,
}

impl Rings {
    /// No rings yet; the kernels are chosen here.
    ///
    /// # Errors
    /// [`ClientError::Cpu`] if `HUSH_CPU` asks for kernels that the machine lacks.
    pub(crate) fn detect() -> Result<Self, ClientError> {
        let cpu = Cpu::detect().map_err(|source| ClientError::Cpu { source })?;
        Ok(Self { cpu, built: HashMap::new() })
    }

    /// The ring of the parameter set called `name`.
    ///
    /// # Errors
    /// [`ClientError::Params`] for a name that this version does not know.
    pub(crate) fn of(&mut self, name: &str) -> Result<Ring, ClientError> {
        if let Some(ring) = self.built.get(name) {
            return Ok(ring.clone());
        }
        let ring = Ring::new(preset(name)?, self.cpu)?;
        self.built.insert(name.to_owned(), ring.clone());
        Ok(ring)
    }
}

fn secret_id(encoding: &PrivateEncoding) -> Result<[u8; 16], ClientError> {
    let fault = ClientError::Encoding { id: encoding.public.id, what: "its secret id is not 32 hex digits" };
    match u128::from_str_radix(&encoding.secret_id, 16) {
        Ok(id) if encoding.secret_id.len() == 32 => Ok(id.to_be_bytes()),
        _ => Err(fault),
    }
}

/// The keys of the encryption that a manifest describes.
pub(crate) fn keys_of<'a>(owner: &'a OwnerSeed, manifest: &Manifest) -> TableKeys<'a> {
    owner.of_table(*manifest.table_id.as_bytes(), *manifest.encryption.as_bytes())
}

/// A new random secret id, 32 hex digits.
///
/// # Errors
/// [`ClientError::Randomness`] if the operating system gives no entropy.
pub(crate) fn new_secret_id() -> Result<String, ClientError> {
    let mut id = [0_u8; 16];
    hush_ring::os_random(&mut id)?;
    Ok(format!("{:032x}", u128::from_be_bytes(id)))
}

/// The kernels chosen on this machine, and those that it could run.
///
/// # Errors
/// [`ClientError::Cpu`] if `HUSH_CPU` asks for kernels that the machine lacks.
pub fn kernels() -> Result<(String, Vec<String>), ClientError> {
    let chosen = Cpu::detect().map_err(|source| ClientError::Cpu { source })?;
    Ok((chosen.to_string(), Cpu::available().iter().map(ToString::to_string).collect()))
}
