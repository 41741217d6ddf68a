// SPDX-License-Identifier: Apache-2.0
//! Hushtable's own rows.

mod engine;
mod programs;

use std::collections::BTreeMap;
use std::time::Instant;

use hush_keys::{ChainSecret, encrypt_public};
use hush_params::chain::ChainSpec;
use hush_params::primes::primes_of;
use hush_params::{ChainError, ChainParams};
use hush_ring::{Chain, Coeff, Poly};
use hush_rlwe::{EvaluationKeys, PublicKey, rotation_element};

use super::case::{Case, Encryption, Scheme, Table};
use super::given::Given;
use super::inputs::{ELEMENTS, Inputs};
use super::row::Answer;
use crate::BenchError;
use crate::split_table::median;
use crate::usage::peak_mb;
use engine::{BfvEngine, BgvEngine, CkksEngine, Engine};

/// Measures one case in this process, on a pool of the case's threads.
///
/// # Errors
/// A case without a chain; whatever the schemes refuse.
pub(super) fn measure(case: &Case, given: &Given) -> Result<Answer, BenchError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(case.threads).build();
    pool.map_err(std::io::Error::other)?.install(|| match case.scheme {
        Scheme::Bgv => table::<BgvEngine>(case, given),
        Scheme::Bfv => table::<BfvEngine>(case, given),
        Scheme::Ckks => table::<CkksEngine>(case, given),
    })
}

fn table<E: Engine>(case: &Case, given: &Given) -> Result<Answer, BenchError> {
    match case.table {
        Table::Workload => workload::<E>(case, &given.inputs),
        Table::Primitives => primitives::<E>(case, &given.inputs),
        Table::Programs => programs::run::<E>(case, &given.batch),
    }
}

/// The chain of a case: for every size the largest primes, special ones first; digits as long as the special primes.
fn chain_params(case: &Case) -> Result<ChainParams, ChainError> {
    let mut taken: BTreeMap<u32, usize> = BTreeMap::new();
    let mut pick = |bits: &[u32]| -> Vec<u64> {
        let prime = |&bits: &u32| {
            let place = taken.entry(bits).or_default();
            *place += 1;
            primes_of(bits).get(*place - 1).copied()
        };
        bits.iter().filter_map(prime).collect()
    };
    let special = pick(&case.p_bits);
    let universe = pick(&case.q_bits);
    // A CKKS value at the last level has the scale of a prime: with primes of one size it needs a second one to fit.
    let is_flat = case.q_bits.first() <= case.q_bits.get(1);
    let base = if case.scheme == Scheme::Ckks && is_flat { 2 } else { 1 };
    let levels = (base..=universe.len()).map(|count| (0..count as u8).collect()).collect();
    let digit_limbs = special.len().max(1);
    ChainParams::new(ChainSpec { degree: case.degree, universe, special, levels, digit_limbs })
}

/// A public key or none, and the evaluation keys.
struct Keys {
    secret: ChainSecret,
    public: Option<PublicKey>,
    evaluation: EvaluationKeys,
}

impl Keys {
    fn generate(chain: &Chain, encryption: Encryption, elements: &[usize]) -> Result<Self, BenchError> {
        let secret = ChainSecret::generate(chain)?;
        let public = match encryption {
            Encryption::Public => Some(secret.public_key()?),
            Encryption::Secret => None,
        };
        let evaluation = secret.evaluation_keys(true, elements)?;
        Ok(Self { secret, public, evaluation })
    }

    /// With the public key if there is one.
    fn encrypt<E: Engine>(&self, engine: &E, message: Poly<Coeff>) -> Result<E::Ciphertext, BenchError> {
        engine.ciphertext(match &self.public {
            Some(key) => encrypt_public(key, message)?,
            None => self.secret.encrypt(message)?.expand()?,
        })
    }

    fn decrypt<E: Engine>(&self, engine: &E, ciphertext: &E::Ciphertext) -> Result<Vec<f64>, BenchError> {
        engine.decode(self.secret.phase(E::inner(ciphertext))?.poly(), ciphertext)
    }

    /// Bytes of what is given away, in memory: with the masks, which would travel as seeds.
    fn public_bytes(&self) -> u64 {
        let halves = |key: &PublicKey| 8 * (key.body().words().len() + key.mask().words().len());
        (self.evaluation.memory_bytes() + self.public.as_ref().map_or(0, halves)) as u64
    }
}

/// Medians by name of what was timed.
#[derive(Default)]
struct Laps(BTreeMap<&'static str, Vec<f64>>);

impl Laps {
    fn push(&mut self, name: &'static str, ms: f64) {
        self.0.entry(name).or_default().push(ms);
    }

    /// Times an operation until there are enough repetitions, after one that is not counted; the last result.
    fn time<T>(
        &mut self,
        name: &'static str,
        repetitions: u32,
        mut work: impl FnMut() -> Result<T, BenchError>,
    ) -> Result<T, BenchError> {
        let mut last = work()?;
        loop {
            drop(last);
            let start = Instant::now();
            last = work()?;
            let ms = start.elapsed().as_secs_f64() * 1e3;
            self.push(name, ms);
            if is_enough(self.0[name].len() as u32, ms, repetitions) {
                return Ok(last);
            }
        }
    }

    fn fewest(&self) -> u32 {
        self.0.values().map(|times| times.len() as u32).min().unwrap_or(0)
    }

    fn medians(self) -> BTreeMap<String, f64> {
        self.0.into_iter().map(|(name, times)| (name.to_owned(), median(&times))).collect()
    }
}

/// Whether `done` repetitions are enough: what takes over 100 ms is repeated 5 times.
fn is_enough(done: u32, last_ms: f64, repetitions: u32) -> bool {
    done >= repetitions || (done >= FEW && last_ms > SLOW_MS)
}

const FEW: u32 = 5;
const SLOW_MS: f64 = 100.0;

fn workload<E: Engine>(case: &Case, inputs: &Inputs) -> Result<Answer, BenchError> {
    let mut laps = Laps::default();
    loop {
        let start = Instant::now();
        let mut at = start;
        let mut lap = |laps: &mut Laps, name| {
            let now = Instant::now();
            laps.push(name, (now - at).as_secs_f64() * 1e3);
            at = now;
        };
        let engine = E::new(&chain_params(case)?)?;
        lap(&mut laps, "parameters");
        let keys = Keys::generate(engine.chain(), case.encryption, &[])?;
        lap(&mut laps, "keys");
        let encrypt = |values: &[i64]| keys.encrypt(&engine, engine.encode(values)?);
        let (x, y, z) = (encrypt(&inputs.x)?, encrypt(&inputs.y)?, encrypt(&inputs.z)?);
        lap(&mut laps, "encrypt");
        let result = engine.multiply(&y, &engine.add(&x, &z)?, &keys.evaluation)?;
        lap(&mut laps, "evaluate");
        let mut values = keys.decrypt(&engine, &result)?;
        lap(&mut laps, "decrypt");
        let total = start.elapsed().as_secs_f64() * 1e3;
        laps.push("total", total);
        if is_enough(laps.fewest(), total, case.repetitions) {
            values.truncate(ELEMENTS);
            let note = match case.encryption {
                Encryption::Public => "",
                Encryption::Secret => "half of each ciphertext is a seed, expanded before evaluation",
            };
            let answer = Answer { note: note.to_owned(), ..answer(&engine, &keys) };
            let values = BTreeMap::from([("result".to_owned(), values)]);
            return Ok(Answer {
                repetitions: laps.fewest(),
                times_ms: laps.medians(),
                peak_mb: peak_mb(),
                values,
                ..answer
            });
        }
    }
}

fn primitives<E: Engine>(case: &Case, inputs: &Inputs) -> Result<Answer, BenchError> {
    let engine = E::new(&chain_params(case)?)?;
    let chain = engine.chain();
    let keys = Keys::generate(chain, Encryption::Public, &[rotation_element(chain.degree(), 1)])?;
    let mut laps = Laps::default();
    let count = case.repetitions;

    let limb = &chain.ring(chain.top())?.limbs()[0];
    let mut row: Vec<u64> = (0..chain.degree() as u64).map(|i| i * i % limb.modulus().value()).collect();
    laps.time("ntt", count, || {
        limb.forward(&mut row);
        Ok(())
    })?;
    laps.time("inverse_ntt", count, || {
        limb.inverse(&mut row);
        Ok(())
    })?;
    let x = laps.time("encrypt_public", count, || keys.encrypt(&engine, engine.encode(&inputs.x)?))?;
    laps.time("encrypt_secret", count, || Ok(keys.secret.encrypt(engine.encode(&inputs.x)?)?.expand()?))?;
    let y = keys.encrypt(&engine, engine.encode(&inputs.y)?)?;
    let mut decrypted = laps.time("decrypt", count, || keys.decrypt(&engine, &x))?;
    let product = laps.time("multiply", count, || engine.multiply_down(&x, &y, &keys.evaluation))?;
    let rotated = laps.time("rotate", count, || engine.rotate(&x, 1, &keys.evaluation))?;

    let (mut product, mut rotated) = (keys.decrypt(&engine, &product)?, keys.decrypt(&engine, &rotated)?);
    decrypted.truncate(ELEMENTS);
    product.truncate(ELEMENTS);
    rotated.truncate(ELEMENTS - 1);
    let values = [("decrypted", decrypted), ("product", product), ("rotated", rotated)];
    Ok(Answer {
        repetitions: laps.fewest(),
        times_ms: laps.medians(),
        peak_mb: peak_mb(),
        values: values.map(|(name, values)| (name.to_owned(), values)).into(),
        ..answer(&engine, &keys)
    })
}

/// What does not depend on the times.
fn answer<E: Engine>(engine: &E, keys: &Keys) -> Answer {
    let params = engine.chain().params();
    let words = (params.universe().len() * params.degree()) as u64;
    Answer {
        library: concat!("Hushtable ", env!("CARGO_PKG_VERSION")).to_owned(),
        degree: params.degree() as u32,
        slots: engine.slots() as u32,
        q_primes: params.universe().len() as u32,
        p_primes: params.special().len() as u32,
        log_q: params.log_q(params.top()).unwrap_or(0.0),
        log_p: params.log_p(),
        ciphertext_bytes: Some(if keys.public.is_some() { 16 * words } else { 8 * words + 16 }),
        key_bytes: Some(keys.public_bytes()),
        ..Answer::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::Row;
    use super::*;
    use crate::split_table::Check;

    #[test]
    fn every_row_of_ours_computes_what_it_should() {
        let given = Given::new(4096, 1, 0, 0);
        // The rows on the largest ring take seconds in a debug build and have nothing that the others lack.
        for case in super::super::cases::ours(1).into_iter().filter(|case| case.degree <= 8192) {
            let case = Case { repetitions: 1, ..case };
            let row = Row::new(&case, measure(&case, &given).unwrap(), &given.inputs);
            assert!(matches!(row.check, Check::Exact | Check::Within(_)), "{case:?}: {:?}", row.check);
            assert!(row.is_within_limit(), "{case:?}: log QP = {}", row.log_qp());
        }
    }

    #[test]
    fn every_chain_of_ours_is_accepted() {
        for case in super::super::cases::ours(20) {
            let params = chain_params(&case).unwrap();
            assert_eq!(params.universe().len(), case.q_bits.len(), "{case:?}");
            assert_eq!(params.special().len(), case.p_bits.len(), "{case:?}");
        }
    }

    #[test]
    fn slow_operations_are_repeated_less() {
        assert!(!is_enough(19, 1.0, 20) && is_enough(20, 1.0, 20));
        assert!(!is_enough(4, 150.0, 20) && is_enough(5, 150.0, 20));
        assert!(is_enough(2, 150.0, 2));
    }
}
