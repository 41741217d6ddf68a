// SPDX-License-Identifier: Apache-2.0
//! The packing `approx_sum` at its owner: scaled reals, one mask for all columns of a chunk over a ring.

use ethnum::I256;
use hush_encode::View;
use hush_exec::plain::{PlainSum, PlainValues};
use hush_keys::{
    ApproxSumColumn, ChunkEncryption, PhaseLimit, SecretKind, decrypt_approx_sum, decrypt_approx_sum_chunk,
};
use hush_plan::PrivateEncoding;
use hush_plan::bounds::Bound;
use hush_plan::packing::ApproxSum;
use hush_rlwe::SumAnswer;
use hush_schemes::ckks::Scale;

use super::{Codec, Column, ColumnKey, Owned, Stored, check_magnitude, largest_value, mismatch, name_column};
use crate::cells::Cells;
use crate::error::ClientError;
use crate::number::Number;
use crate::release::Release;

/// Scaled reals in coefficients.
pub(crate) struct ApproxSumCodec {
    scale: Scale,
    /// Encoded values stay below `2^limit_log2`.
    limit_log2: u32,
    /// Largest absolute value.
    max_abs: f64,
}

impl ApproxSumCodec {
    pub(super) fn new(
        ApproxSum { scale_log2 }: ApproxSum,
        encoding: &PrivateEncoding,
    ) -> Result<Self, ClientError> {
        let (max_abs, bits) = largest_value(encoding)?;
        Ok(Self { scale: Scale::from_log2(scale_log2)?, limit_log2: bits + scale_log2, max_abs })
    }
}

impl Owned for ApproxSumCodec {
    fn secret_kind(&self) -> SecretKind {
        SecretKind::ApproxSum
    }

    fn plain(&self, key: &ColumnKey, values: View<'_>) -> Result<PlainValues, ClientError> {
        let View::Approx(values) = values else { return Err(mismatch(key)) };
        check_magnitude(key, values, self.max_abs)?;
        Ok(PlainValues::Approx(values.to_vec()))
    }

    fn encrypt(
        &self,
        chunk: &mut ChunkEncryption<'_>,
        columns: &[Column<'_>],
    ) -> Result<Vec<Vec<u8>>, ClientError> {
        let Some(first) = columns.first() else { return Ok(Vec::new()) };
        let encryptable = columns.iter().map(|Column { key, values }| match (&key.codec, values) {
            (Codec::ApproxSum(Self { scale, limit_log2, max_abs }), View::Approx(values)) => {
                check_magnitude(key, values, *max_abs)?;
                Ok(ApproxSumColumn {
                    column: key.id().0,
                    secret: &key.secret,
                    scale: *scale,
                    limit_log2: *limit_log2,
                    values,
                })
            }
            _ => Err(mismatch(key)),
        });
        let encryptable = encryptable.collect::<Result<Vec<_>, _>>()?;
        let encrypted = chunk.encrypt_approx_sum(first.key.ring(), &encryptable);
        encrypted.map_err(|source| name_column(columns, source))
    }

    fn decrypt(&self, stored: &Stored<'_>, count: usize, _limit: PhaseLimit) -> Result<Cells, ClientError> {
        let Stored { key, seed, .. } = stored;
        Ok(Cells::Approx(decrypt_approx_sum_chunk(&key.secret, *seed, &stored.body()?, count, self.scale)?))
    }

    fn release(
        &self,
        stored: &Stored<'_>,
        count: usize,
        release: &Release<'_>,
    ) -> Result<Option<Cells>, ClientError> {
        let Stored { key, seed, .. } = stored;
        Ok(Some(Cells::Approx(release.chunk(key, self.scale, *seed, &stored.body()?, count)?)))
    }

    fn sum(
        &self,
        key: &ColumnKey,
        (answer, body): (&SumAnswer, usize),
        _bound: &Bound,
    ) -> Result<Number, ClientError> {
        Ok(Number::Approx(decrypt_approx_sum(&key.secret, answer, body, self.scale)?))
    }

    fn release_sum(
        &self,
        key: &ColumnKey,
        sum: (&SumAnswer, usize),
        bound: &Bound,
        release: &Release<'_>,
    ) -> Result<Option<Number>, ClientError> {
        Ok(Some(Number::Approx(release.sum(key, self.scale, sum, bound)?)))
    }

    fn plain_sum(&self, sum: PlainSum) -> Result<Option<Number>, ClientError> {
        Ok(match sum {
            PlainSum::Approx(sum) => Some(Number::Approx(sum)),
            // No row counted.
            PlainSum::Exact(I256::ZERO) => Some(Number::Approx(0.0)),
            PlainSum::Exact(_) => None,
        })
    }

    fn device_t_log2(&self) -> Option<u32> {
        Some(0)
    }
}
