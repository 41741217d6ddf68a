// SPDX-License-Identifier: Apache-2.0
//! The packing `approx_slots` at its owner: scaled reals in slots.

use hush_encode::View;
use hush_exec::plain::PlainValues;
use hush_keys::{ApproxSlotColumn, ChunkEncryption, PhaseLimit, SecretKind, decrypt_approx_slots};
use hush_plan::PrivateEncoding;
use hush_plan::packing::ApproxSlots;
use hush_ring::Ring;
use hush_schemes::ckks::{ApproxCiphertext, ApproxEncoder, Scale};

use super::{
    Codec, Column, ColumnKey, Owned, ProgramResult, Stored, check_magnitude, largest_value, mismatch,
    name_column,
};
use crate::cells::Cells;
use crate::error::ClientError;
use crate::release::{Release, Slots};

/// Scaled reals in slots.
pub(crate) struct ApproxSlotCodec {
    encoder: ApproxEncoder,
    scale: Scale,
    /// Largest absolute value.
    max_abs: f64,
}

impl ApproxSlotCodec {
    pub(super) fn new(
        ApproxSlots { scale_log2 }: ApproxSlots,
        ring: &Ring,
        encoding: &PrivateEncoding,
    ) -> Result<Self, ClientError> {
        let (max_abs, _) = largest_value(encoding)?;
        Ok(Self { encoder: ApproxEncoder::new(ring), scale: Scale::from_log2(scale_log2)?, max_abs })
    }

    /// The first `count` values of a body, each ciphertext opened by `open`.
    fn each(
        &self,
        stored: &Stored<'_>,
        count: usize,
        open: impl Fn(&ApproxCiphertext) -> Result<Vec<f64>, ClientError>,
    ) -> Result<Cells, ClientError> {
        let (Stored { key, seed, .. }, body) = (stored, stored.body()?);
        let elements = (0..body.id().element_count)
            .map(|element| open(&ApproxCiphertext::load(key.ring(), *seed, &body, element, self.scale)?));
        let mut values = elements.collect::<Result<Vec<_>, _>>()?.concat();
        // The last element has slots behind the last row.
        values.truncate(count);
        Ok(Cells::Approx(values))
    }
}

impl Owned for ApproxSlotCodec {
    fn secret_kind(&self) -> SecretKind {
        SecretKind::ApproxSlots
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
        let encrypt = |Column { key, values }: &Column<'_>| match (&key.codec, values) {
            (Codec::ApproxSlots(Self { encoder, scale, max_abs }), View::Approx(values)) => {
                check_magnitude(key, values, *max_abs)?;
                let (column, secret) = (key.id().0, &key.secret);
                let column = ApproxSlotColumn { column, secret, encoder, scale: *scale, values };
                chunk.encrypt_approx_slots(&column).map_err(|source| name_column(columns, source))
            }
            _ => Err(mismatch(key)),
        };
        columns.iter().map(encrypt).collect()
    }

    fn decrypt(&self, stored: &Stored<'_>, count: usize, _limit: PhaseLimit) -> Result<Cells, ClientError> {
        let secret = &stored.key.secret;
        self.each(stored, count, |element| {
            Ok(decrypt_approx_slots(secret, &self.encoder, element.ciphertext(), self.scale)?)
        })
    }

    fn release(
        &self,
        stored: &Stored<'_>,
        count: usize,
        release: &Release<'_>,
    ) -> Result<Option<Cells>, ClientError> {
        let codec = (&self.encoder, self.scale);
        let values = self.each(stored, count, |element| {
            release.element(stored.key, codec, element.ciphertext(), Slots::Stored)
        });
        values.map(Some)
    }

    fn program(
        &self,
        key: &ColumnKey,
        result: &ProgramResult<'_>,
        release: Option<&Release<'_>>,
    ) -> Result<Cells, ClientError> {
        let scale = Scale::from_log2(self.scale.log2() * result.scale_power)?;
        let values = result.ciphertexts.iter().map(|ciphertext| match release {
            None => Ok(decrypt_approx_slots(&key.secret, &self.encoder, ciphertext, scale)?),
            Some(release) => {
                release.element(key, (&self.encoder, scale), ciphertext, Slots::Computed(result.bound))
            }
        });
        Ok(Cells::Approx(values.collect::<Result<Vec<_>, ClientError>>()?.concat()))
    }
}
