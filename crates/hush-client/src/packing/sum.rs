// SPDX-License-Identifier: Apache-2.0
//! The packing `sum` at its owner: integers modulo a power of two, one mask for all columns of a chunk over a ring.

use hush_encode::View;
use hush_exec::plain::{PlainSum, PlainValues};
use hush_keys::{ChunkEncryption, PhaseLimit, SecretKind, SumColumn, decrypt_sum, decrypt_sum_chunk};
use hush_plan::bounds::Bound;
use hush_plan::packing::Sum;
use hush_rlwe::SumAnswer;

use super::{Codec, Column, ColumnKey, Owned, Stored, mismatch, name_column, out_of_bounds};
use crate::bounds::{named, phase_limit};
use crate::cells::Cells;
use crate::error::ClientError;
use crate::exact::big;
use crate::number::Number;

impl Owned for Sum {
    fn secret_kind(&self) -> SecretKind {
        SecretKind::Sum
    }

    fn plain(&self, key: &ColumnKey, values: View<'_>) -> Result<PlainValues, ClientError> {
        let View::Exact(values) = values else { return Err(mismatch(key)) };
        values.check_bits(self.t_log2).map_err(|source| out_of_bounds(key, source))?;
        Ok(PlainValues::from(values))
    }

    fn encrypt(
        &self,
        chunk: &mut ChunkEncryption<'_>,
        columns: &[Column<'_>],
    ) -> Result<Vec<Vec<u8>>, ClientError> {
        let Some(first) = columns.first() else { return Ok(Vec::new()) };
        let encryptable = columns.iter().map(|Column { key, values }| match (&key.codec, values) {
            (Codec::Sum(Self { t_log2 }), View::Exact(values)) => {
                Ok(SumColumn { column: key.id().0, secret: &key.secret, t_log2: *t_log2, values: *values })
            }
            _ => Err(mismatch(key)),
        });
        let encryptable = encryptable.collect::<Result<Vec<_>, _>>()?;
        let encrypted = chunk.encrypt_sum(first.key.ring(), &encryptable);
        encrypted.map_err(|source| name_column(columns, source))
    }

    fn decrypt(&self, stored: &Stored<'_>, count: usize, limit: PhaseLimit) -> Result<Cells, ClientError> {
        let Stored { key, seed, .. } = stored;
        let values = decrypt_sum_chunk(&key.secret, *seed, &stored.body()?, count, self.t_log2, limit);
        Ok(Cells::Exact(values.map_err(|error| named(key, error))?))
    }

    fn sum(
        &self,
        key: &ColumnKey,
        (answer, body): (&SumAnswer, usize),
        bound: &Bound,
    ) -> Result<Number, ClientError> {
        let sum = decrypt_sum(&key.secret, answer, body, self.t_log2, phase_limit(bound));
        Ok(Number::Exact(big(sum.map_err(|error| named(key, error))?)))
    }

    fn plain_sum(&self, sum: PlainSum) -> Result<Option<Number>, ClientError> {
        let PlainSum::Exact(sum) = sum else { return Ok(None) };
        let sum = big(sum);
        // One bit of t is the sign.
        if sum.bits() >= u64::from(self.t_log2) {
            return Err(ClientError::Internal { what: "a sum exceeds the range that was planned for it" });
        }
        Ok(Some(Number::Exact(sum)))
    }

    fn device_t_log2(&self) -> Option<u32> {
        Some(self.t_log2)
    }
}
