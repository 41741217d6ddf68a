// SPDX-License-Identifier: Apache-2.0
//! Symmetric encryption of table chunks.
//!
//! # Security
//! All `sum` columns of a chunk share the uniform polynomials `a` and have independent secrets: amortised
//! multi-secret ring-LWE, `b_c = −a·s_c + t_c·e_c + m_c` \[PVW08\]. What must never happen is two messages under one
//! `(a, s)`. The types see to it: a [`ChunkEncryption`] draws its own public seed, refuses a column or secret that
//! it has had, and is gone after the chunk. Encrypting a chunk again, after a failure for instance, means a new
//! seed. Errors come from a generator of their own, seeded from the operating system for this chunk alone.
//!
//! # Timing
//! Independent of values, errors and secrets, up to the range check, which tells whether all values fit.
//!
//! # References
//! \[PVW08\] Peikert, Vaikuntanathan, Waters: A framework for efficient and composable oblivious transfer.

use ethnum::I256;
use hush_ring::{ERROR_BYTES, ExpandLabel, Ring, RingLimb, SecretRng, UniformSeed, sample_errors};
use hush_rlwe::{BodyId, BodyKind, BodyWriter};
use hush_schemes::Values;
use hush_schemes::bgv::slots::SlotEncoder;
use hush_schemes::ckks::{ApproxEncoder, Scale, encode_coefficients};
use zeroize::{Zeroize, Zeroizing};

use crate::{EncryptError, SecretKey};

/// Most rows of a chunk.
pub const MAX_CHUNK_ROWS: usize = 1 << 20;

/// Encrypts chunks one after the other; keeps its buffers between them. One per thread.
///
/// *Secrecy.* The buffers hold plaintext, errors and masks in turn; they are wiped on drop.
#[derive(Default)]
pub struct Encryptor {
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    /// `a`, all limbs.
    mask: Vec<u64>,
    /// One limb of `a·s`.
    product: Vec<u64>,
    /// One limb of the body.
    body: Vec<u64>,
    random: Vec<u8>,
    errors: Vec<i32>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.product.zeroize();
        self.body.zeroize();
        self.random.zeroize();
        self.errors.zeroize();
    }
}

impl Scratch {
    /// Makes every buffer as long as the ring needs.
    fn fit(&mut self, ring: &Ring) {
        let degree = ring.degree();
        fit(&mut self.mask, ring.poly_words());
        fit(&mut self.product, degree);
        fit(&mut self.body, degree);
        fit(&mut self.random, ERROR_BYTES * degree);
        fit(&mut self.errors, degree);
    }

    /// Fresh errors for one ciphertext.
    fn draw_errors(&mut self, ring: &Ring, rng: &mut SecretRng) {
        rng.fill(&mut self.random);
        sample_errors(ring.cpu(), &self.random, &mut self.errors);
    }
}

/// A column of the `sum` layout.
pub struct SumColumn<'a> {
    /// Encoded column id, as the manifest numbers them.
    pub column: u32,
    /// The column's own secret.
    pub secret: &'a SecretKey,
    /// log2 of the plaintext modulus `t`: values lie in `[−t/2, t/2)`.
    pub t_log2: u32,
    /// One value per row.
    pub values: Values<'a>,
}

/// A column of the `approx_sum` layout.
pub struct ApproxSumColumn<'a> {
    /// Encoded column id.
    pub column: u32,
    /// The column's own secret.
    pub secret: &'a SecretKey,
    /// Scale of the encoding.
    pub scale: Scale,
    /// log2 of the bound on a single encoded value, from the planner's headroom for sums.
    pub limit_log2: u32,
    /// One finite value per row.
    pub values: &'a [f64],
}

/// A column of the `slots` layout.
pub struct SlotColumn<'a> {
    /// Encoded column id.
    pub column: u32,
    /// The secret that the table's slot columns share.
    pub secret: &'a SecretKey,
    /// Plaintext primes; its ring is the ciphertexts' ring.
    pub encoder: &'a SlotEncoder,
    /// Largest magnitude of a value, range-checked: at most the encoder's `max_abs`.
    pub max_abs: I256,
    /// Whether it has the rows of the chunks behind too ([`ChunkEncryption::followed_by`]).
    pub shared: bool,
    /// One value per row.
    pub values: Values<'a>,
}

/// A column of the `approx_slots` layout.
pub struct ApproxSlotColumn<'a> {
    /// Encoded column id.
    pub column: u32,
    /// The secret that the table's slot columns share.
    pub secret: &'a SecretKey,
    /// Embedding; its ring is the ciphertexts' ring.
    pub encoder: &'a ApproxEncoder,
    /// Scale of the encoding.
    pub scale: Scale,
    /// One finite value per row.
    pub values: &'a [f64],
}

impl Encryptor {
    /// An encryptor with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts chunk `chunk` of `row_count` rows under a fresh public seed.
    ///
    /// # Errors
    /// [`EncryptError::Randomness`]; [`EncryptError::ChunkRows`] for no rows or over [`MAX_CHUNK_ROWS`].
    pub fn begin_chunk(&mut self, chunk: u32, row_count: usize) -> Result<ChunkEncryption<'_>, EncryptError> {
        if !(1..=MAX_CHUNK_ROWS).contains(&row_count) {
            return Err(EncryptError::ChunkRows { found: row_count, max: MAX_CHUNK_ROWS });
        }
        let (seed, rng) = (UniformSeed::generate()?, SecretRng::from_os()?);
        let used = Vec::new();
        Ok(ChunkEncryption {
            scratch: &mut self.scratch,
            seed,
            rng,
            chunk,
            row_count,
            behind: 0,
            cut: false,
            used,
        })
    }
}

impl std::fmt::Debug for Encryptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Encryptor(..)")
    }
}

/// One chunk being encrypted.
pub struct ChunkEncryption<'a> {
    scratch: &'a mut Scratch,
    seed: UniformSeed,
    rng: SecretRng,
    chunk: u32,
    row_count: usize,
    /// Rows of the chunks behind it that share its ring elements.
    behind: usize,
    /// Whether coefficients behind the last row are left out.
    cut: bool,
    used: Vec<Used>,
}

/// A use of a seed that must not occur twice.
#[derive(PartialEq)]
enum Used {
    /// A secret under the shared mask of a parameter set.
    SumSecret(u16, [u8; 16]),
    /// A column with masks of its own.
    SlotColumn(u16, u32),
}

/// A plaintext in coefficients, on its way into a body: `scale·e` is added to it.
#[derive(Clone, Copy)]
struct Message<'a> {
    values: Values<'a>,
    /// `t mod q` for each limb; 1 in the approximate layouts.
    error_scale: &'a [u64],
}

impl ChunkEncryption<'_> {
    /// The chunk's public seed; it must be stored beside the bodies.
    pub fn seed(&self) -> UniformSeed {
        self.seed
    }

    /// Leaves the coefficients behind the last row out of the bodies of sums. They are pseudo-random, and nothing else: what is published is a part of what
    /// would be otherwise.
    #[must_use]
    pub fn cut(self) -> Self {
        Self { cut: true, ..self }
    }

    /// Gives columns that are [shared](SlotColumn::shared) the rows of chunks behind this one, so many, too.
    #[must_use]
    pub fn followed_by(self, rows: usize) -> Self {
        Self { behind: rows, ..self }
    }

    /// The errors that were drawn last, for tests to look for when they should be gone.
    #[cfg(test)]
    pub(crate) fn last_errors(&self) -> &[i32] {
        &self.scratch.errors
    }

    /// Encrypts columns of the `sum` layout over one ring, in one expansion of the shared mask. Gives one binary
    /// body per column.
    ///
    /// # Cost
    /// Per ring element one expansion; per column and limb one inverse NTT and six passes over `N` words.
    ///
    /// # Errors
    /// An [`EncryptError`]; nothing is returned then, and no column of the call may be retried in this chunk.
    pub fn encrypt_sum(
        &mut self,
        ring: &Ring,
        columns: &[SumColumn<'_>],
    ) -> Result<Vec<Vec<u8>>, EncryptError> {
        let mut scales = Vec::new();
        for column in columns {
            self.admit_sum(ring, column.column, column.secret, column.values.len())?;
            scales.push(power_of_two(ring, column.t_log2)?);
            let fits = column.values.check_bits(column.t_log2);
            fits.map_err(|source| EncryptError::Scheme { column: column.column, source })?;
        }
        let messages = columns.iter().zip(&scales);
        let messages: Vec<_> = messages
            .map(|(column, scale)| {
                let message = Message { values: column.values, error_scale: scale };
                (column.column, column.secret, message)
            })
            .collect();
        self.encrypt_shared(ring, &messages)
    }

    /// Encrypts columns of the `approx_sum` layout; as [`ChunkEncryption::encrypt_sum`].
    ///
    /// # Errors
    /// An [`EncryptError`]; nothing is returned then, and no column of the call may be retried in this chunk.
    pub fn encrypt_approx_sum(
        &mut self,
        ring: &Ring,
        columns: &[ApproxSumColumn<'_>],
    ) -> Result<Vec<Vec<u8>>, EncryptError> {
        let mut encoded = Vec::new();
        for column in columns {
            self.admit_sum(ring, column.column, column.secret, column.values.len())?;
            let limit = column.limit_log2.min((ring.crt().log2_product() as u32).saturating_sub(2));
            let values = encode_coefficients(column.values, column.scale, limit);
            let values = values.map_err(|source| EncryptError::Scheme { column: column.column, source })?;
            encoded.push(Zeroizing::new(values));
        }
        let one = vec![1; ring.limb_count()];
        let messages = columns.iter().zip(&encoded);
        let messages: Vec<_> = messages
            .map(|(column, values)| {
                let message = Message { values: Values::I128(values), error_scale: &one };
                (column.column, column.secret, message)
            })
            .collect();
        self.encrypt_shared(ring, &messages)
    }

    /// Encrypts a column of the `slots` layout: one body with a ciphertext per ring element and prime.
    ///
    /// # Errors
    /// An [`EncryptError`].
    pub fn encrypt_slots(&mut self, column: &SlotColumn<'_>) -> Result<Vec<u8>, EncryptError> {
        let (encoder, id) = (column.encoder, column.column);
        let ring = encoder.ring();
        let rows = self.row_count + if column.shared { self.behind } else { 0 };
        let used = Used::SlotColumn(ring.param_code(), id);
        self.admit(ring, (id, column.secret), (column.values.len(), rows), used)?;
        let scheme = |source| EncryptError::Scheme { column: id, source };
        column.values.check_max_abs(column.max_abs.min(encoder.max_abs())).map_err(scheme)?;
        let element_count = rows.div_ceil(ring.degree()) as u32;
        let body = BodyId { column: id, chunk: self.chunk, element_count, lanes: encoder.lane_count() as u8 };
        let mut writer = BodyWriter::new(ring, BodyKind::Slot, body)?;
        for element in 0..element_count {
            let values = column.values.slice(element as usize * ring.degree(), ring.degree());
            for (lane, t) in encoder.primes().enumerate() {
                let coefficients = encoder.coefficients(lane, values).map(Zeroizing::new).map_err(scheme)?;
                let error_scale: Vec<u64> =
                    ring.limbs().iter().map(|limb| limb.modulus().reduce_u64(t)).collect();
                let message = Message { values: Values::I64(&coefficients), error_scale: &error_scale };
                let label = ExpandLabel::slot(id, element, lane as u8);
                self.encrypt_eval(ring, column.secret, label, message, &mut writer);
            }
        }
        Ok(writer.finish()?)
    }

    /// Encrypts a column of the `approx_slots` layout: `N/2` values per ring element.
    ///
    /// # Errors
    /// An [`EncryptError`].
    pub fn encrypt_approx_slots(&mut self, column: &ApproxSlotColumn<'_>) -> Result<Vec<u8>, EncryptError> {
        let (encoder, id) = (column.encoder, column.column);
        let ring = encoder.ring();
        let used = Used::SlotColumn(ring.param_code(), id);
        self.admit(ring, (id, column.secret), (column.values.len(), self.row_count), used)?;
        let element_count = self.row_count.div_ceil(encoder.slot_count()) as u32;
        let body = BodyId { column: id, chunk: self.chunk, element_count, lanes: 1 };
        let mut writer = BodyWriter::new(ring, BodyKind::Slot, body)?;
        let one = vec![1; ring.limb_count()];
        for (element, values) in (0..element_count).zip(column.values.chunks(encoder.slot_count())) {
            let coefficients = encoder.coefficients(values, column.scale).map(Zeroizing::new);
            let coefficients = coefficients.map_err(|source| EncryptError::Scheme { column: id, source })?;
            let message = Message { values: Values::I128(&coefficients), error_scale: &one };
            self.encrypt_eval(ring, column.secret, ExpandLabel::slot(id, element, 0), message, &mut writer);
        }
        Ok(writer.finish()?)
    }

    /// Coefficient-domain bodies under the shared mask; the columns have been admitted.
    fn encrypt_shared(
        &mut self,
        ring: &Ring,
        columns: &[(u32, &SecretKey, Message<'_>)],
    ) -> Result<Vec<Vec<u8>>, EncryptError> {
        let element_count = self.row_count.div_ceil(ring.degree()) as u32;
        let writer = |column: u32| {
            let id = BodyId { column, chunk: self.chunk, element_count, lanes: 1 };
            if self.cut && !self.row_count.is_multiple_of(ring.degree()) {
                return BodyWriter::cut(ring, id, self.row_count);
            }
            BodyWriter::new(ring, BodyKind::Sum, id)
        };
        let mut writers = columns.iter().map(|(id, ..)| writer(*id)).collect::<Result<Vec<_>, _>>()?;
        self.scratch.fit(ring);
        for element in 0..element_count {
            self.seed.expand_into(ring, ExpandLabel::sum(element), &mut self.scratch.mask);
            let start = element as usize * ring.degree();
            for ((_, secret, message), writer) in columns.iter().zip(&mut writers) {
                self.scratch.draw_errors(ring, &mut self.rng);
                let values = message.values.slice(start, ring.degree());
                let message = Message { values, ..*message };
                for (index, limb) in ring.limbs().iter().enumerate() {
                    self.scratch.write_message(limb, index, message);
                    self.scratch.masked_product(limb, index, secret);
                    limb.inverse(&mut self.scratch.product);
                    limb.sub_assign(&mut self.scratch.body, &self.scratch.product);
                    writer.push_limb(limb, &self.scratch.body);
                }
            }
        }
        writers.into_iter().map(|writer| Ok(writer.finish()?)).collect()
    }

    /// One evaluation-domain ciphertext with a mask of its own.
    fn encrypt_eval(
        &mut self,
        ring: &Ring,
        secret: &SecretKey,
        label: ExpandLabel,
        message: Message<'_>,
        writer: &mut BodyWriter,
    ) {
        self.scratch.fit(ring);
        self.seed.expand_into(ring, label, &mut self.scratch.mask);
        self.scratch.draw_errors(ring, &mut self.rng);
        for (index, limb) in ring.limbs().iter().enumerate() {
            self.scratch.write_message(limb, index, message);
            limb.forward(&mut self.scratch.body);
            self.scratch.masked_product(limb, index, secret);
            limb.sub_assign(&mut self.scratch.body, &self.scratch.product);
            writer.push_limb(limb, &self.scratch.body);
        }
    }

    fn admit_sum(
        &mut self,
        ring: &Ring,
        column: u32,
        secret: &SecretKey,
        values: usize,
    ) -> Result<(), EncryptError> {
        let used = Used::SumSecret(ring.param_code(), secret.label());
        self.admit(ring, (column, secret), (values, self.row_count), used)
    }

    fn admit(
        &mut self,
        ring: &Ring,
        (column, secret): (u32, &SecretKey),
        (found, expected): (usize, usize),
        used: Used,
    ) -> Result<(), EncryptError> {
        ring.check_same(secret.ring())?;
        if found != expected {
            return Err(EncryptError::RowCount { column, found, expected });
        }
        if self.used.contains(&used) {
            return Err(EncryptError::Repeated { column });
        }
        self.used.push(used);
        Ok(())
    }
}

impl Scratch {
    /// `product ← a·s`, one limb, evaluation domain.
    fn masked_product(&mut self, limb: &RingLimb, index: usize, secret: &SecretKey) {
        let degree = self.product.len();
        let mask = &self.mask[index * degree..(index + 1) * degree];
        limb.mul_into(&mut self.product, mask, secret.eval_limb(index));
    }

    /// `body ← m + scale·e`, one limb, in coefficients.
    fn write_message(&mut self, limb: &RingLimb, index: usize, message: Message<'_>) {
        message.values.residues_into(limb, &mut self.body);
        limb.add_scaled_error(&mut self.body, &self.errors, message.error_scale[index]);
    }
}

impl std::fmt::Debug for ChunkEncryption<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChunkEncryption(chunk {}, {} rows)", self.chunk, self.row_count)
    }
}

/// A buffer of another length is wiped and replaced: growing it in place could leave a copy behind.
fn fit<T: Copy + Default + Zeroize>(buffer: &mut Vec<T>, length: usize) {
    if buffer.len() != length {
        buffer.zeroize();
        *buffer = vec![T::default(); length];
    }
}

/// `2^t_log2` modulo each prime.
fn power_of_two(ring: &Ring, t_log2: u32) -> Result<Vec<u64>, EncryptError> {
    let log_q = ring.crt().log2_product() as u32;
    // Even one error of ±21 beside the message needs 6 bits.
    if t_log2 == 0 || t_log2 > 255 || t_log2 + 6 > log_q {
        return Err(EncryptError::TooNarrow { found: t_log2, log_q });
    }
    let power = |limb: &RingLimb| limb.modulus().pow(2, u64::from(t_log2));
    Ok(ring.limbs().iter().map(power).collect())
}

#[cfg(test)]
mod tests;
