// SPDX-License-Identifier: Apache-2.0
//! The packing `slots` at its owner: integers modulo several primes, a ciphertext for each.

use ethnum::I256;
use hush_encode::View;
use hush_exec::plain::PlainValues;
use hush_keys::{
    ChunkEncryption, PhaseLimit, SecretKind, SlotColumn, check_powers, decrypt_product, decrypt_slots,
};
use hush_plan::PrivateEncoding;
use hush_plan::packing::Slots;
use hush_ring::Ring;
use hush_rlwe::{ProductForm, decode_product};
use hush_schemes::bgv::slots::{SlotCiphertext, SlotEncoder};
use rayon::prelude::*;

use super::{
    Codec, Column, ColumnKey, Owned, ProgramResult, Stored, SumOfProducts, mismatch, name_column,
    not_a_number, out_of_bounds,
};
use crate::bounds::{named, phase_limit};
use crate::cells::Cells;
use crate::error::ClientError;
use crate::release::Release;

/// Integers in slots.
pub(crate) struct SlotCodec {
    encoder: SlotEncoder,
    primes: Vec<u64>,
    shared: bool,
    /// Largest absolute value.
    max_abs: I256,
}

impl SlotCodec {
    pub(super) fn new(
        Slots { primes, shared }: &Slots,
        ring: &Ring,
        encoding: &PrivateEncoding,
    ) -> Result<Self, ClientError> {
        let max_abs = I256::from_str_radix(&encoding.max_abs, 10).map_err(|_| not_a_number(encoding))?;
        Ok(Self {
            encoder: SlotEncoder::new(ring, primes)?,
            primes: primes.clone(),
            shared: *shared,
            max_abs,
        })
    }
}

impl SlotCodec {
    /// What is read of the slots of each sum. Slots of either sign are those nearest to 0, others those from 0 on.
    fn opened<T: Send>(
        &self,
        key: &ColumnKey,
        sums: &[SumOfProducts<'_>],
        read: impl Fn(&mut dyn Iterator<Item = i128>) -> T + Sync,
    ) -> Result<Vec<T>, ClientError> {
        let one_prime = ClientError::Internal { what: "the plan multiplies columns of several primes" };
        let [t] = self.primes.as_slice() else { return Err(one_prime) };
        let named = |error| named(key, error);
        let most = sums.iter().map(|sum| sum.bits.len()).max().unwrap_or_default();
        check_powers(&key.secret, most).map_err(named)?;
        let open = |sum: &SumOfProducts<'_>| {
            let form = ProductForm::Rounded { bits: sum.bits.to_vec(), t: *t };
            let components = decode_product(sum.object, key.ring(), &form)?;
            let slots = decrypt_product(&key.secret, &self.encoder, &components, sum.limit).map_err(named)?;
            let is_negative = |slot: u64| !sum.natural && slot > t / 2;
            let number = |slot: u64| i128::from(slot) - if is_negative(slot) { i128::from(*t) } else { 0 };
            Ok(read(&mut slots.into_iter().map(number)))
        };
        sums.par_iter().map(open).collect()
    }
}

impl Owned for SlotCodec {
    fn secret_kind(&self) -> SecretKind {
        SecretKind::Slots
    }

    fn plain(&self, key: &ColumnKey, values: View<'_>) -> Result<PlainValues, ClientError> {
        let View::Exact(values) = values else { return Err(mismatch(key)) };
        values.check_max_abs(self.max_abs).map_err(|source| out_of_bounds(key, source))?;
        Ok(PlainValues::from(values))
    }

    fn encrypt(
        &self,
        chunk: &mut ChunkEncryption<'_>,
        columns: &[Column<'_>],
    ) -> Result<Vec<Vec<u8>>, ClientError> {
        let encrypt = |Column { key, values }: &Column<'_>| match (&key.codec, values) {
            (Codec::Slots(Self { encoder, shared, max_abs, .. }), View::Exact(values)) => {
                let (column, secret) = (key.id().0, &key.secret);
                let (shared, max_abs, values) = (*shared, *max_abs, *values);
                let column = SlotColumn { column, secret, encoder, max_abs, shared, values };
                chunk.encrypt_slots(&column).map_err(|source| name_column(columns, source))
            }
            _ => Err(mismatch(key)),
        };
        columns.iter().map(encrypt).collect()
    }

    fn decrypt(&self, stored: &Stored<'_>, count: usize, limit: PhaseLimit) -> Result<Cells, ClientError> {
        let (Stored { key, seed, .. }, body) = (stored, stored.body()?);
        let elements = (0..body.id().element_count).map(|element| {
            let ciphertext = SlotCiphertext::load(key.ring(), *seed, &body, element)?;
            decrypt_slots(&key.secret, &self.encoder, ciphertext.lanes(), limit)
                .map_err(|error| named(key, error))
        });
        let mut values = elements.collect::<Result<Vec<_>, _>>()?.concat();
        // The last element has slots behind the last row.
        values.truncate(count);
        Ok(Cells::Exact(values))
    }

    fn products(&self, key: &ColumnKey, sums: &[SumOfProducts<'_>]) -> Result<Vec<i128>, ClientError> {
        self.opened(key, sums, |slots| slots.sum())
    }

    fn slots_of_products(
        &self,
        key: &ColumnKey,
        sums: &[SumOfProducts<'_>],
    ) -> Result<Vec<Vec<i128>>, ClientError> {
        self.opened(key, sums, |slots| slots.collect())
    }

    fn program(
        &self,
        key: &ColumnKey,
        result: &ProgramResult<'_>,
        _release: Option<&Release<'_>>,
    ) -> Result<Cells, ClientError> {
        let limit = phase_limit(result.bound);
        let elements = result.ciphertexts.chunks(result.lanes.max(1));
        let values = elements.map(|lanes| decrypt_slots(&key.secret, &self.encoder, lanes, limit));
        let values = values.collect::<Result<Vec<_>, _>>().map_err(|error| named(key, error))?;
        Ok(Cells::Exact(values.concat()))
    }
}
