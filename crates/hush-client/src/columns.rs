// SPDX-License-Identifier: Apache-2.0
//! Encoded columns with their keys: from the private half of a manifest to what encrypts and decrypts.

use std::collections::HashMap;

use ethnum::I256;
use hush_keys::{OwnerSeed, SecretKey, SecretKind, TableKeys};
use hush_params::preset;
use hush_plan::{EncodingId, Layout, Plaintext, PrivateEncoding};
use hush_ring::{Cpu, Ring};
use hush_schemes::bgv::slots::SlotEncoder;
use hush_schemes::ckks::{ApproxEncoder, Scale};
use hush_table::Manifest;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::error::ClientError;

/// One encoded column, ready to encrypt and decrypt.
pub(crate) struct ColumnKey {
    /// Its description.
    pub(crate) encoding: PrivateEncoding,
    /// Its secret.
    pub(crate) secret: SecretKey,
    /// Its plaintext space.
    pub(crate) space: Space,
}

/// Plaintext spaces, built.
pub(crate) enum Space {
    /// CKKS slots; values of at most `max_abs`.
    ApproxSlots { encoder: ApproxEncoder, scale: Scale, max_abs: f64 },
    /// CKKS coefficients; values of at most `max_abs`, which encoded stay below `2^limit_log2`.
    ApproxSum { scale: Scale, limit_log2: u32, max_abs: f64 },
    /// BGV slots; values of at most `max_abs`.
    Slots { encoder: SlotEncoder, max_abs: I256 },
    /// BGV coefficients modulo `2^t_log2`.
    Sum { t_log2: u32 },
}

impl ColumnKey {
    /// The column's number in its table.
    pub(crate) fn id(&self) -> EncodingId {
        self.encoding.public.id
    }

    /// Its ring.
    pub(crate) fn ring(&self) -> &Ring {
        self.secret.ring()
    }
}

/// All encoded columns of a table.
pub(crate) struct ColumnKeys {
    columns: Vec<ColumnKey>,
}

impl ColumnKeys {
    /// Derives the keys of every encoding.
    ///
    /// # Errors
    /// [`ClientError::Encoding`] if an encoding does not describe a layout that this version knows.
    pub(crate) fn derive(keys: TableKeys<'_>, encodings: &[PrivateEncoding]) -> Result<Self, ClientError> {
        let mut rings = Rings::detect()?;
        let columns = encodings
            .iter()
            .map(|encoding| {
                let ring = rings.of(&encoding.public.params)?;
                let space = space(&ring, encoding)?;
                let kind = match encoding.public.layout {
                    Layout::ApproxSlots => SecretKind::ApproxSlots,
                    Layout::ApproxSum => SecretKind::ApproxSum,
                    Layout::Slots => SecretKind::Slots,
                    Layout::Sum => SecretKind::Sum,
                };
                let secret = keys.secret(kind, &ring, secret_id(encoding)?);
                Ok(ColumnKey { encoding: encoding.clone(), secret, space })
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
    /// If `HUSH_CPU` asks for what the machine lacks.
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

fn space(ring: &Ring, encoding: &PrivateEncoding) -> Result<Space, ClientError> {
    let bits = magnitude_bits(encoding)?;
    match (encoding.public.layout, &encoding.public.plaintext) {
        (Layout::Sum, Plaintext::PowerOfTwo { log2 }) => Ok(Space::Sum { t_log2: *log2 }),
        (Layout::ApproxSum, Plaintext::Scale { log2 }) => {
            let scale = Scale::from_log2(*log2)?;
            Ok(Space::ApproxSum { scale, limit_log2: bits + log2, max_abs: largest_value(encoding)? })
        }
        (Layout::Slots, Plaintext::Primes { primes }) => {
            let encoder = SlotEncoder::new(ring, primes)?;
            let max_abs = I256::from_str_radix(&encoding.max_abs, 10);
            let max_abs = max_abs.map_err(|_| not_a_number(encoding))?;
            Ok(Space::Slots { encoder, max_abs })
        }
        (Layout::ApproxSlots, Plaintext::Scale { log2 }) => {
            let (encoder, scale) = (ApproxEncoder::new(ring), Scale::from_log2(*log2)?);
            Ok(Space::ApproxSlots { encoder, scale, max_abs: largest_value(encoding)? })
        }
        _ => Err(ClientError::Encoding {
            id: encoding.public.id,
            what: "its plaintext space does not suit its layout",
        }),
    }
}

/// Largest absolute value of a row of an approximate column: a power of two.
fn largest_value(encoding: &PrivateEncoding) -> Result<f64, ClientError> {
    let parsed = encoding.max_abs.parse::<BigUint>().ok().and_then(|magnitude| magnitude.to_f64());
    parsed.ok_or_else(|| not_a_number(encoding))
}

fn not_a_number(encoding: &PrivateEncoding) -> ClientError {
    ClientError::Encoding { id: encoding.public.id, what: "its bound is not a number" }
}

/// Bits of the largest absolute value of a row.
fn magnitude_bits(encoding: &PrivateEncoding) -> Result<u32, ClientError> {
    let parsed = encoding.max_abs.parse::<BigUint>().ok();
    let bits = parsed.and_then(|magnitude| u32::try_from(magnitude.bits()).ok());
    bits.ok_or_else(|| not_a_number(encoding))
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
/// [`ClientError::Cpu`] if `HUSH_CPU` asks for what the machine lacks.
pub fn kernels() -> Result<(String, Vec<String>), ClientError> {
    let chosen = Cpu::detect().map_err(|source| ClientError::Cpu { source })?;
    Ok((chosen.to_string(), Cpu::available().iter().map(ToString::to_string).collect()))
}
