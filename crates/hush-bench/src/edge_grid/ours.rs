// SPDX-License-Identifier: Apache-2.0
//! Hushtable's own cells: made, digested and dropped, one ciphertext at a time.

use std::time::{Duration, Instant};

use hush_keys::{ChainSecret, encrypt_public};
use hush_ring::{Chain, Cpu, Poly};
use hush_rlwe::{PublicKey, RlweCiphertext};

use super::cell::{Cell, Key, integer, is_checked};
use super::coefficients::Coefficients;
use super::parameters::chain_params;
use super::row::{Answer, Repetition};
use crate::BenchError;
use crate::usage::{ProcessUsage, peak_mb};

/// Measures a cell in this process, on one thread.
///
/// # Memory
/// The tables, the keys and two ciphertexts, whatever the number of integers.
///
/// # Errors
/// Whatever the schemes refuse. Wrong results are counted, and no error.
pub(super) fn measure(cell: &Cell) -> Result<Answer, BenchError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(std::io::Error::other)?;
    pool.install(|| repeat(cell))
}

fn repeat(cell: &Cell) -> Result<Answer, BenchError> {
    let values: Vec<u16> = (0..cell.count).map(integer).collect();
    let (mut repetitions, mut checks) = (Vec::new(), Checks::default());
    for _ in 0..cell.repetitions {
        repetitions.push(once(cell, &values, &mut checks)?);
    }
    let params = chain_params(cell.degree)?;
    let words = (params.universe().len() * params.degree()) as u64;
    Ok(Answer {
        library: concat!("Hushtable ", env!("CARGO_PKG_VERSION")).to_owned(),
        moduli: params.universe().iter().chain(params.special()).copied().collect(),
        special_count: params.special().len() as u32,
        ciphertext_bytes: match cell.key {
            Key::Public => 16 * words,
            Key::Secret => 8 * words + 32,
        },
        repetitions,
        checked: checks.checked,
        wrong: checks.wrong,
        digest: checks.digest,
        peak_mb: peak_mb(),
        cpu_s: ProcessUsage::now().cpu_s,
    })
}

/// From parameters to the last ciphertext, nothing kept from the time before.
fn once(cell: &Cell, values: &[u16], checks: &mut Checks) -> Result<Repetition, BenchError> {
    let mut clock = Clock::start();
    let chain = Chain::new(&chain_params(cell.degree)?, 1, Cpu::detect()?)?;
    let coefficients = Coefficients::new(chain.ring(chain.top())?)?;
    let parameters = clock.spent();
    let keys = Keys::generate(&chain, cell.key)?;
    let made = clock.spent();
    let count = cell.ciphertext_count();
    for (index, values) in (0..).zip(values.chunks(cell.per_ciphertext())) {
        let message = coefficients.encode(values)?;
        let is_checked = is_checked(index, count);
        let ciphertext = match &keys.public {
            Some(key) => {
                let ciphertext = encrypt_public(key, message)?;
                checks.digest(ciphertext.components());
                is_checked.then_some(ciphertext)
            }
            None => {
                let ciphertext = keys.secret.encrypt(message)?;
                checks.digest(std::slice::from_ref(ciphertext.body()));
                // The party that computes expands the mask.
                is_checked.then(|| clock.outside(|| ciphertext.expand())).transpose()?
            }
        };
        if let Some(ciphertext) = ciphertext {
            clock.outside(|| checks.decrypt(&keys.secret, &ciphertext, &coefficients, values))?;
        }
    }
    let total = clock.spent();
    Ok(Repetition {
        parameters_s: parameters.as_secs_f64(),
        keys_s: (made - parameters).as_secs_f64(),
        encrypt_s: (total - made).as_secs_f64(),
        total_s: total.as_secs_f64(),
        encrypted: count,
    })
}

struct Keys {
    secret: ChainSecret,
    public: Option<PublicKey>,
}

impl Keys {
    fn generate(chain: &Chain, key: Key) -> Result<Self, BenchError> {
        let secret = ChainSecret::generate(chain)?;
        let public = match key {
            Key::Public => Some(secret.public_key()?),
            Key::Secret => None,
        };
        Ok(Self { secret, public })
    }
}

/// The decrypted content of ciphertexts.
#[derive(Default)]
struct Checks {
    checked: u64,
    wrong: u64,
    digest: u64,
}

impl Checks {
    /// Reads every word of a ciphertext, as writing it out would.
    fn digest(&mut self, components: &[Poly<hush_ring::Eval>]) {
        for component in components {
            self.digest ^= component.words().iter().fold(0, |digest, word| digest ^ word);
        }
    }

    fn decrypt(
        &mut self,
        secret: &ChainSecret,
        ciphertext: &RlweCiphertext,
        coefficients: &Coefficients,
        values: &[u16],
    ) -> Result<(), BenchError> {
        self.checked += 1;
        self.wrong += u64::from(!coefficients.holds(secret.phase(ciphertext)?.poly(), values));
        Ok(())
    }
}

/// A clock that can be stopped.
struct Clock {
    before: Duration,
    since: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { before: Duration::ZERO, since: Instant::now() }
    }

    fn spent(&self) -> Duration {
        self.before + self.since.elapsed()
    }

    /// Stops for as long as something takes.
    fn outside<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.before = self.spent();
        let done = work();
        self.since = Instant::now();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Packing;
    use super::*;

    #[test]
    fn every_way_and_key_gives_ciphertexts_that_hold_their_integers() {
        for (way, ciphertexts) in [(Packing::OneByOne, 40), (Packing::Packed, 1)] {
            for key in Key::ALL {
                for degree in [1024, 2048, 4096] {
                    let cell = Cell { way, key, degree, count: 40, repetitions: 2 };
                    let answer = measure(&cell).unwrap();
                    assert_eq!((answer.repetitions.len(), answer.wrong), (2, 0), "{cell:?}");
                    assert!(answer.checked >= 2 * ciphertexts.min(14) && answer.digest != 0, "{cell:?}");
                    for repetition in &answer.repetitions {
                        let sum = repetition.parameters_s + repetition.keys_s + repetition.encrypt_s;
                        assert!(
                            (sum - repetition.total_s).abs() < 1e-9 && repetition.encrypted == ciphertexts
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_stopped_clock_does_not_count() {
        let start = Instant::now();
        let mut clock = Clock::start();
        clock.outside(|| std::thread::sleep(Duration::from_millis(200)));
        assert!(clock.spent() + Duration::from_millis(200) <= start.elapsed());
    }
}
