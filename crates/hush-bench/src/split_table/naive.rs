// SPDX-License-Identifier: Apache-2.0
//! The thesis's baselines: every cell of the whole table its own ciphertext at N = 8192, encrypted and added to a
//! running sum one by one, on one thread, in CKKS, BGV and BFV.

use std::time::{Duration, Instant};

use hush_keys::{
    ApproxSlotColumn, ChainSecret, Encryptor, OwnerSeed, PhaseLimit, SecretKey, SecretKind, SlotColumn,
    decrypt_approx_slots, decrypt_slots,
};
use hush_params::chain::ChainSpec;
use hush_params::{ChainParams, Level, PLAINTEXT_PRIMES_45, preset};
use hush_ring::{Cpu, Ring};
use hush_rlwe::{BodyId, BodyKind, RlweCiphertext, UncheckedBody};
use hush_schemes::Values;
use hush_schemes::bgv;
use hush_schemes::bgv::slots::{SlotCiphertext, SlotEncoder};
use hush_schemes::ckks::{ApproxCiphertext, ApproxEncoder, Scale};

use super::measured::{Check, Measured};
use crate::BenchError;
use crate::synthetic::{COLUMNS, Synthetic};
use crate::usage::ProcessUsage;

/// Ring of the baselines: the thesis's degree, moduli of its size (138 bits against its 140 without the special
/// prime).
const PARAMS: &str = "n13_q3x46_sec128_v1";
/// The thesis's scale.
const SCALE_LOG2: u32 = 40;

/// A scheme of the baselines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Exact, message in the low bits.
    Bgv,
    /// Exact, message in the high bits.
    Bfv,
    /// Approximate.
    Ckks,
}

/// The operations of a scheme on one cell.
trait Cell {
    /// A fresh ciphertext.
    fn encrypt(&mut self, value: i64) -> Result<RlweCiphertext, BenchError>;
    /// The value of a ciphertext.
    fn decrypt(&self, ciphertext: &RlweCiphertext) -> Result<f64, BenchError>;
}

/// Runs one baseline over the whole table, or until `budget` is spent, and extrapolates then.
///
/// # Errors
/// Encryption or decryption refused.
pub(super) fn run(table: &Synthetic, scheme: Scheme, budget: Duration) -> Result<Measured, BenchError> {
    let before = ProcessUsage::now();
    let start = Instant::now();
    let ring = Ring::new(preset(PARAMS)?, Cpu::detect()?)?;
    let owner = OwnerSeed::generate()?;
    let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Slots, &ring, [0; 16]);
    let mut cell: Box<dyn Cell> = match scheme {
        Scheme::Bgv => Box::new(Bgv::new(&ring, secret)?),
        Scheme::Bfv => Box::new(Bfv::new(&ring)?),
        Scheme::Ckks => Box::new(Ckks::new(&ring, secret)?),
    };
    let keys_s = start.elapsed().as_secs_f64();
    let (mut encrypt_s, mut add_s, mut decrypt_s) = (0.0, 0.0, 0.0);
    let (mut done, mut worst) = (0_u64, 0.0_f64);
    'table: for column in 0..COLUMNS.len() {
        let mut sum: Option<RlweCiphertext> = None;
        let mut expected = 0_i64;
        for row in 0..table.rows() {
            if start.elapsed() > budget {
                worst = worst.max(check(cell.as_ref(), sum.as_ref(), expected)?);
                break 'table;
            }
            let value = table.cell(row, column);
            let (ciphertext, seconds) = timed(|| cell.encrypt(value));
            encrypt_s += seconds;
            let ciphertext = ciphertext?;
            let (added, seconds) = timed(|| match &mut sum {
                Some(sum) => sum.add_assign(&ciphertext).map_err(BenchError::from),
                None => {
                    sum = Some(ciphertext);
                    Ok(())
                }
            });
            added?;
            add_s += seconds;
            expected += value;
            done += 1;
        }
        let (error, seconds) = timed(|| check(cell.as_ref(), sum.as_ref(), expected));
        decrypt_s += seconds;
        worst = worst.max(error?);
    }
    let fraction = done as f64 / (table.rows() * COLUMNS.len() as u64) as f64;
    let scale = 1.0 / fraction.max(1e-12);
    let phases = [
        ("keys", keys_s, 1.0),
        ("encrypt", encrypt_s, scale),
        ("add", add_s, scale),
        ("decrypt", decrypt_s, scale),
    ];
    let phases: Vec<(String, f64)> = phases.map(|(name, s, by)| (name.to_owned(), s * by)).into();
    let mut usage = ProcessUsage::now().since(before);
    usage.scale(scale);
    let bytes = (hush_rlwe::body_bytes(&ring, 1, 1) as u64 + 32) * table.rows() * COLUMNS.len() as u64;
    Ok(Measured {
        name: format!("naive {scheme:?}").replace("Ckks", "CKKS").replace("Bgv", "BGV").replace("Bfv", "BFV"),
        what: format!("one ciphertext per cell, N=8192 log q=138, seeded; {done} cells processed"),
        encrypted_columns: COLUMNS.len(),
        total_s: phases.iter().map(|(_, s)| s).sum(),
        phases,
        repetitions: 1,
        usage,
        bytes_up: bytes,
        bytes_down: 2 * bytes / table.rows().max(1),
        sampled_fraction: fraction,
        check: outcome(scheme, worst, fraction),
        cloud: None,
    })
}

fn outcome(scheme: Scheme, worst: f64, fraction: f64) -> Check {
    match scheme {
        Scheme::Ckks if worst < 1e-2 => Check::Within(worst),
        Scheme::Bgv | Scheme::Bfv if worst == 0.0 && fraction < 1.0 => Check::SampleExact,
        Scheme::Bgv | Scheme::Bfv if worst == 0.0 => Check::Exact,
        _ => Check::Wrong,
    }
}

fn check(cell: &dyn Cell, sum: Option<&RlweCiphertext>, expected: i64) -> Result<f64, BenchError> {
    sum.map_or(Ok(0.0), |sum| Ok((cell.decrypt(sum)? - expected as f64).abs()))
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

struct Bgv {
    encryptor: Encryptor,
    encoder: SlotEncoder,
    secret: SecretKey,
}

impl Bgv {
    fn new(ring: &Ring, secret: SecretKey) -> Result<Self, BenchError> {
        Ok(Self {
            encryptor: Encryptor::new(),
            encoder: SlotEncoder::new(ring, &PLAINTEXT_PRIMES_45[..1])?,
            secret,
        })
    }
}

impl Cell for Bgv {
    fn encrypt(&mut self, value: i64) -> Result<RlweCiphertext, BenchError> {
        let mut chunk = self.encryptor.begin_chunk(0, 1)?;
        let values = [value];
        let column = SlotColumn {
            column: 0,
            secret: &self.secret,
            encoder: &self.encoder,
            max_abs: self.encoder.max_abs(),
            shared: false,
            values: Values::I64(&values),
        };
        let blob = chunk.encrypt_slots(&column)?;
        let ring = self.encoder.ring();
        let body = UncheckedBody::decode(&blob)?.conform(ring, BodyKind::Slot, CELL)?;
        let loaded = SlotCiphertext::load(ring, chunk.seed(), &body, 0)?;
        loaded.into_lanes().pop().ok_or(BenchError::Empty)
    }

    fn decrypt(&self, ciphertext: &RlweCiphertext) -> Result<f64, BenchError> {
        let slots =
            decrypt_slots(&self.secret, &self.encoder, std::slice::from_ref(ciphertext), PhaseLimit::NONE)?;
        slots.first().map(|value| value.as_f64()).ok_or(BenchError::Empty)
    }
}

struct Ckks {
    encryptor: Encryptor,
    encoder: ApproxEncoder,
    scale: Scale,
    secret: SecretKey,
}

impl Ckks {
    fn new(ring: &Ring, secret: SecretKey) -> Result<Self, BenchError> {
        let scale = Scale::from_log2(SCALE_LOG2)?;
        Ok(Self { encryptor: Encryptor::new(), encoder: ApproxEncoder::new(ring), scale, secret })
    }
}

impl Cell for Ckks {
    fn encrypt(&mut self, value: i64) -> Result<RlweCiphertext, BenchError> {
        let mut chunk = self.encryptor.begin_chunk(0, 1)?;
        let values = [value as f64];
        let column = ApproxSlotColumn {
            column: 0,
            secret: &self.secret,
            encoder: &self.encoder,
            scale: self.scale,
            values: &values,
        };
        let blob = chunk.encrypt_approx_slots(&column)?;
        let ring = self.encoder.ring();
        let body = UncheckedBody::decode(&blob)?.conform(ring, BodyKind::Slot, CELL)?;
        Ok(ApproxCiphertext::load(ring, chunk.seed(), &body, 0, self.scale)?.into_ciphertext())
    }

    fn decrypt(&self, ciphertext: &RlweCiphertext) -> Result<f64, BenchError> {
        let slots = decrypt_approx_slots(&self.secret, &self.encoder, ciphertext, self.scale)?;
        slots.first().copied().ok_or(BenchError::Empty)
    }
}

/// BFV over a chain of one level with the primes of the other baselines. It needs no key but the secret.
struct Bfv {
    scheme: bgv::Bfv,
    secret: ChainSecret,
}

impl Bfv {
    fn new(ring: &Ring) -> Result<Self, BenchError> {
        let universe: Vec<u64> = ring.limbs().iter().map(|limb| limb.modulus().value()).collect();
        let levels = vec![(0..universe.len() as u8).collect()];
        let degree = ring.degree() as u32;
        let spec = ChainSpec { degree, universe, special: Vec::new(), levels, digit_limbs: 1 };
        let scheme = bgv::Bfv::new(&ChainParams::new(spec)?, PLAINTEXT_PRIMES_45[0], ring.cpu())?;
        let secret = ChainSecret::generate(scheme.chain())?;
        Ok(Self { scheme, secret })
    }
}

impl Cell for Bfv {
    fn encrypt(&mut self, value: i64) -> Result<RlweCiphertext, BenchError> {
        Ok(self.secret.encrypt(self.scheme.encode(&[value], Level(0))?)?.expand()?)
    }

    fn decrypt(&self, ciphertext: &RlweCiphertext) -> Result<f64, BenchError> {
        let slots = self.scheme.decode(self.secret.phase(ciphertext)?.poly())?;
        slots.first().map(|value| *value as f64).ok_or(BenchError::Empty)
    }
}

/// The one body of a cell's chunk.
const CELL: BodyId = BodyId { column: 0, chunk: 0, element_count: 1, lanes: 1 };
