// SPDX-License-Identifier: Apache-2.0
//! The owner's work on the columns of each packing: encrypting, decrypting and releasing them.
//!
//! Each packing has a file of its name here.

mod approx_slots;
mod approx_sum;
mod column;
mod slots;
mod sum;

use std::mem::discriminant;

use hush_encode::View;
use hush_exec::plain::{PlainSum, PlainValues};
use hush_keys::{ChunkEncryption, EncryptError, PhaseLimit, SecretKind};
use hush_plan::bounds::Bound;
use hush_plan::packing::Sum;
use hush_plan::{Packing, PrivateEncoding};
use hush_ring::{Ring, UniformSeed};
use hush_rlwe::{RlweCiphertext, SumAnswer};
use hush_schemes::SchemeError;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use self::approx_slots::ApproxSlotCodec;
use self::approx_sum::ApproxSumCodec;
use self::slots::SlotCodec;
use crate::cells::Cells;
use crate::error::ClientError;
use crate::number::Number;
use crate::release::Release;

pub(crate) use column::ColumnKey;

/// A packing with the tables for encoding and decoding in it.
pub(crate) enum Codec {
    ApproxSlots(ApproxSlotCodec),
    ApproxSum(ApproxSumCodec),
    Slots(SlotCodec),
    Sum(Sum),
}

/// Everything that differs by packing. Operations that a packing lacks are refused as a bug: no plan asks for them.
pub(crate) trait Owned {
    /// The kind of its secrets.
    fn secret_kind(&self) -> SecretKind;

    /// The values that a dry run has in place of a ciphertext.
    ///
    /// # Errors
    /// [`ClientError::OutOfBounds`].
    fn plain(&self, key: &ColumnKey, values: View<'_>) -> Result<PlainValues, ClientError>;

    /// Encrypts columns of this packing over one ring.
    ///
    /// # Errors
    /// [`ClientError::OutOfBounds`]; no entropy.
    fn encrypt(
        &self,
        chunk: &mut ChunkEncryption<'_>,
        columns: &[Column<'_>],
    ) -> Result<Vec<Vec<u8>>, ClientError>;

    /// The first `count` values of a stored column, or those of its whole ring elements. No phase of an exact column may pass
    /// `limit`.
    ///
    /// # Errors
    /// Those of decryption.
    fn decrypt(&self, stored: &Stored<'_>, count: usize, limit: PhaseLimit) -> Result<Cells, ClientError>;

    /// The values that may leave the owner in place of the decrypted ones; `None` if those may leave as they are.
    ///
    /// # Errors
    /// Those of [`Release`].
    fn release(
        &self,
        _stored: &Stored<'_>,
        _count: usize,
        _release: &Release<'_>,
    ) -> Result<Option<Cells>, ClientError> {
        Ok(None)
    }

    /// A masked sum, which `bound` allows.
    ///
    /// # Errors
    /// Those of decryption.
    fn sum(
        &self,
        _key: &ColumnKey,
        _sum: (&SumAnswer, usize),
        _bound: &Bound,
    ) -> Result<Number, ClientError> {
        Err(ClientError::Internal { what: "the plan sums a column of slots" })
    }

    /// What the slots of sums of products add up to.
    ///
    /// # Errors
    /// Bytes that are no such sums; those of decryption.
    fn products(&self, _key: &ColumnKey, _sums: &[SumOfProducts<'_>]) -> Result<Vec<i128>, ClientError> {
        Err(ClientError::Internal { what: "the plan multiplies a column without slots" })
    }

    /// The slots of sums of products, one by one.
    ///
    /// # Errors
    /// As [`Owned::products`].
    fn slots_of_products(
        &self,
        _key: &ColumnKey,
        _sums: &[SumOfProducts<'_>],
    ) -> Result<Vec<Vec<i128>>, ClientError> {
        Err(ClientError::Internal { what: "the plan multiplies a column without slots" })
    }

    /// As [`Owned::release`], for a sum.
    ///
    /// # Errors
    /// Those of [`Release`].
    fn release_sum(
        &self,
        _key: &ColumnKey,
        _sum: (&SumAnswer, usize),
        _bound: &Bound,
        _release: &Release<'_>,
    ) -> Result<Option<Number>, ClientError> {
        Ok(None)
    }

    /// A sum of a dry run; `None` if it is not one of this packing.
    ///
    /// # Errors
    /// [`ClientError::Internal`] if it exceeds the plaintext space, which the planner's range analysis rules out.
    fn plain_sum(&self, _sum: PlainSum) -> Result<Option<Number>, ClientError> {
        Ok(None)
    }

    /// The result of a program; with `release`, the values that may leave the owner in its place.
    ///
    /// # Errors
    /// Those of decryption and of [`Release`].
    fn program(
        &self,
        _key: &ColumnKey,
        _result: &ProgramResult<'_>,
        _release: Option<&Release<'_>>,
    ) -> Result<Cells, ClientError> {
        Err(ClientError::Internal { what: "a program over a column without slots" })
    }

    /// log2 of the plaintext modulus, to which a ring's public key scales errors: 0 if errors are not scaled, `None` if devices
    /// cannot encrypt the packing.
    fn device_t_log2(&self) -> Option<u32> {
        None
    }
}

/// A column with the values of a chunk.
#[derive(Clone, Copy)]
pub(crate) struct Column<'a> {
    pub(crate) key: &'a ColumnKey,
    pub(crate) values: View<'a>,
}

/// A sum of products in an answer.
pub(crate) struct SumOfProducts<'a> {
    pub(crate) object: &'a [u8],
    /// Bits to which the coefficients of each component are rounded.
    pub(crate) bits: &'a [u32],
    /// The largest phase that it can be decrypted from.
    pub(crate) limit: PhaseLimit,
    /// Whether its slots are never negative.
    pub(crate) natural: bool,
}

/// A column as it is stored in a chunk, with its key.
pub(crate) struct Stored<'a> {
    pub(crate) key: &'a ColumnKey,
    /// The chunk's seed.
    pub(crate) seed: UniformSeed,
    /// Number of the chunk in its file.
    pub(crate) chunk: u32,
    /// Rows of the chunk.
    pub(crate) rows: u32,
    pub(crate) blob: &'a [u8],
}

/// The result of a program on one chunk.
pub(crate) struct ProgramResult<'a> {
    /// Lane after lane of ring element after ring element.
    pub(crate) ciphertexts: &'a [RlweCiphertext],
    pub(crate) lanes: usize,
    /// Scale of the result over the scale of a column, as a power.
    pub(crate) scale_power: u32,
    pub(crate) bound: &'a Bound,
}

impl Codec {
    /// Builds the codec of a column.
    ///
    /// # Errors
    /// [`ClientError::Encoding`] if the encoding's bound is no number; those of the scheme.
    pub(crate) fn new(ring: &Ring, encoding: &PrivateEncoding) -> Result<Self, ClientError> {
        Ok(match &encoding.public.packing {
            Packing::ApproxSlots(packing) => {
                Self::ApproxSlots(ApproxSlotCodec::new(*packing, ring, encoding)?)
            }
            Packing::ApproxSum(packing) => Self::ApproxSum(ApproxSumCodec::new(*packing, encoding)?),
            Packing::Slots(packing) => Self::Slots(SlotCodec::new(packing, ring, encoding)?),
            Packing::Sum(packing) => Self::Sum(*packing),
        })
    }

    /// The packing's operations.
    pub(crate) fn owned(&self) -> &dyn Owned {
        match self {
            Self::ApproxSlots(codec) => codec,
            Self::ApproxSum(codec) => codec,
            Self::Slots(codec) => codec,
            Self::Sum(codec) => codec,
        }
    }

    /// Whether both are of one packing, with any plaintext spaces.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        discriminant(self) == discriminant(other)
    }
}

/// Largest absolute value of a row of an approximate column, a power of two, and its bits.
fn largest_value(encoding: &PrivateEncoding) -> Result<(f64, u32), ClientError> {
    let parsed = encoding.max_abs.parse::<BigUint>().ok();
    let parsed = parsed.and_then(|largest| Some((largest.to_f64()?, u32::try_from(largest.bits()).ok()?)));
    parsed.ok_or_else(|| not_a_number(encoding))
}

fn not_a_number(encoding: &PrivateEncoding) -> ClientError {
    ClientError::Encoding { id: encoding.public.id, what: "its bound is not a number" }
}

/// Refuses values beyond `max_abs`, for which the planner's bounds do not hold, and NaN.
fn check_magnitude(key: &ColumnKey, values: &[f64], max_abs: f64) -> Result<(), ClientError> {
    let fits = |value: &f64| value.abs() <= max_abs;
    let Some(index) = values.iter().position(|value| !fits(value)) else { return Ok(()) };
    Err(out_of_bounds(key, SchemeError::ValueRange { index, limit_log2: max_abs.log2() as u32 }))
}

fn out_of_bounds(key: &ColumnKey, source: SchemeError) -> ClientError {
    let source = EncryptError::Scheme { column: key.id().0, source };
    ClientError::OutOfBounds { column: key.content_name(), source }
}

/// Names the owner's column in an error of encryption.
fn name_column(columns: &[Column<'_>], source: EncryptError) -> ClientError {
    let EncryptError::Scheme { column, .. } = &source else { return source.into() };
    match columns.iter().find(|known| known.key.id().0 == *column) {
        Some(known) => ClientError::OutOfBounds { column: known.key.content_name(), source },
        None => source.into(),
    }
}

fn mismatch(key: &ColumnKey) -> ClientError {
    ClientError::Encoding { id: key.id(), what: "its layout does not suit the column's type" }
}
