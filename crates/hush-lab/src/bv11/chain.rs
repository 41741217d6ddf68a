// SPDX-License-Identifier: Apache-2.0
//! A chain of keys, and the operations along it. Both variants of the scheme are such chains.

use super::forecast::{after_step, fresh_bound, limit, product, sum};
use super::rung::{Rung, Style};
use super::switch::{MAX_RECEIVERS, SampleKey, SampleSpec, SampleSum};
use super::{InsecureBv11Ciphertext as Ciphertext, OddModulus};
use crate::random::Errors;
use crate::scheme::{Noise, Sizes};
use crate::{LabError, Seed, Stream};

/// Keys: a secret for every rung, a public key for the first, a key from every rung to the next.
pub(crate) struct Chain {
    rungs: Vec<Rung>,
    /// Products allowed: rungs behind that are for the result alone.
    depth: u32,
    secrets: Vec<Vec<u64>>,
    public: SampleKey,
    steps: Vec<Step>,
}

struct Step {
    key: SampleKey,
    style: Style,
}

impl Chain {
    /// Makes all keys. [BV11, section 4.1, SH.Keygen, and section 4.2]; `s_ℓ[0]` is 1 and not stored.
    ///
    /// # Cost
    /// For every step `inputs · ⌈log2 q⌉ · n` products modulo the next modulus.
    pub(crate) fn generate(
        rungs: Vec<Rung>,
        styles: &[Style],
        samples: u32,
        depth: u32,
        seed: &Seed,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Self, LabError> {
        let Some(first) = rungs.first() else { return Err(LabError::Level { left: 0, right: 0 }) };
        let mut secret_stream = Stream::derive(seed, "bv11 secret");
        let mut errors = Errors::new(Stream::derive(seed, "bv11 errors"));
        // Public values are expanded from a seed of their own, which tells nothing about the secrets.
        let public_seed = Seed(blake3::derive_key("hushtable lab 2026 bv11 public", &seed.0));
        let secrets: Vec<Vec<u64>> = rungs
            .iter()
            .map(|rung| (0..rung.n).map(|_| secret_stream.below(rung.q.value())).collect())
            .collect();
        let spec = SampleSpec {
            label: "bv11 public key",
            secret: &secrets[0],
            modulus: first.q,
            digits: 1,
            inputs: samples.into(),
            error_factor: 2,
        };
        let public = SampleKey::generate(&spec, &public_seed, &mut errors, || 0, &mut |_| {})?;
        let mut steps = Vec::with_capacity(styles.len());
        for (level, &style) in styles.iter().enumerate() {
            let share = |part: f64| (level as f64 + part) / styles.len() as f64;
            let (from, to) = (rungs[level], rungs[level + 1]);
            let spec = SampleSpec {
                label: &format!("bv11 step {level}"),
                secret: &secrets[level + 1],
                modulus: to.q,
                digits: from.q.bits(),
                inputs: style.inputs(from.n),
                error_factor: if style.is_scaled() { 1 } else { 2 },
            };
            let messages = messages(&secrets[level], from.q, to.q, style);
            let key = SampleKey::generate(&spec, &public_seed, &mut errors, messages, &mut |part| {
                progress(share(part));
            })?;
            steps.push(Step { key, style });
        }
        progress(1.0);
        Ok(Self { rungs, depth, secrets, public, steps })
    }

    /// `(Σ r_i A_i, Σ r_i b_i + m)` for random bits `r` [BV11, section 4.1, SH.Enc]. Cost: `m·n/2` additions.
    pub(crate) fn encrypt(&self, bit: bool, samples: u32, randomness: &mut Stream) -> Ciphertext {
        let mut left = samples;
        let mut word = 0;
        let sums = self.public.sum(1, self.rungs[0].q, |inputs| {
            if left == 0 {
                return false;
            }
            if left.is_multiple_of(64) || left == samples {
                word = randomness.next_u64();
            }
            inputs[0] = word & 1;
            word >>= 1;
            left -= 1;
            true
        });
        let q = self.rungs[0].q;
        let mut ct =
            Ciphertext { level: 0, v: vec![0; self.rungs[0].n as usize], w: 0, bound: fresh_bound(samples) };
        for sum in sums {
            (ct.v, ct.w) = (sum.v, q.add(sum.w, u64::from(bit)));
        }
        ct
    }

    /// Component by component, at the higher of the two levels.
    pub(crate) fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, LabError> {
        let level = a.level.max(b.level);
        let (a, b) = (self.raise(a, level)?, self.raise(b, level)?);
        let q = self.rung(&a)?.q;
        self.rung(&b)?;
        let v = a.v.iter().zip(&b.v).map(|(&x, &y)| q.add(x, y)).collect();
        Ok(Ciphertext { level, v, w: q.add(a.w, b.w), bound: sum(a.bound, b.bound) })
    }

    /// Products, all from one pass over the key of every level that occurs [BV11, section 4.1, SH.Mult].
    pub(crate) fn multiply_all(
        &self,
        pairs: &[(&Ciphertext, &Ciphertext)],
    ) -> Result<Vec<Ciphertext>, LabError> {
        let mut products: Vec<Option<Ciphertext>> = vec![None; pairs.len()];
        for level in 0..=self.depth {
            let mut chosen = Vec::new();
            for (place, (a, b)) in pairs.iter().enumerate() {
                if a.level.max(b.level) == level {
                    self.rung(a)?;
                    self.rung(b)?;
                    chosen.push((place, self.raise(a, level)?, self.raise(b, level)?));
                }
            }
            for chosen in chosen.chunks(MAX_RECEIVERS) {
                let operands: Vec<(&Ciphertext, &Ciphertext)> =
                    chosen.iter().map(|(_, a, b)| (a, b)).collect();
                for ((place, _, _), product) in chosen.iter().zip(self.multiply_at(level, &operands)?) {
                    products[*place] = Some(product);
                }
            }
        }
        let count = products.len();
        let products: Vec<Ciphertext> = products.into_iter().flatten().collect();
        if products.len() < count {
            return Err(LabError::Depth { found: self.depth + 1, limit: self.depth });
        }
        Ok(products)
    }

    /// Products of operands that are all at `level`.
    ///
    /// # Math
    /// `(w − ⟨v,x⟩)(w' − ⟨v',x⟩) = Σ_{i≤j} h_ij x_i x_j` with `x_0 = 1`, of which every `h_ij`, the linear and constant ones too, is
    /// replaced by its (signed) binary digits.
    fn multiply_at(
        &self,
        level: u32,
        pairs: &[(&Ciphertext, &Ciphertext)],
    ) -> Result<Vec<Ciphertext>, LabError> {
        if level >= self.depth {
            return Err(LabError::Depth { found: level + 1, limit: self.depth });
        }
        let Rung { n, q } = self.rungs[level as usize];
        let n = n as usize;
        // φ(x) = Σ u_i x_i with u = (w, −v).
        let extended = |ct: &Ciphertext| -> Vec<u64> {
            std::iter::once(ct.w).chain(ct.v.iter().map(|&x| q.neg(x))).collect()
        };
        let operands: Vec<_> = pairs.iter().map(|(a, b)| (extended(a), extended(b))).collect();
        let bounds = pairs.iter().map(|(a, b)| product(a.bound, b.bound));
        let (mut i, mut j) = (0, 0);
        let inputs = |inputs: &mut [u64]| {
            if i > n {
                return false;
            }
            for (input, (a, b)) in inputs.iter_mut().zip(&operands) {
                let one = q.mul(a[i], b[j]);
                *input = if i == j { one } else { q.add(one, q.mul(a[j], b[i])) };
            }
            (i, j) = if j == n { (i + 1, i + 1) } else { (i, j + 1) };
            true
        };
        self.step(level, bounds.collect(), inputs)
    }

    /// The same bit at a higher level: its phase is linear in the secret, and the first inputs of every key are linear.
    pub(crate) fn raise(&self, ct: &Ciphertext, level: u32) -> Result<Ciphertext, LabError> {
        let mut ct = ct.clone();
        while ct.level < level {
            let q = self.rung(&ct)?.q;
            let mut linear = std::iter::once(ct.w).chain(ct.v.iter().map(|&x| q.neg(x)));
            let inputs = |inputs: &mut [u64]| match linear.next() {
                Some(input) => {
                    inputs.fill(input);
                    true
                }
                None => false,
            };
            let mut raised = self.step(ct.level, vec![ct.bound], inputs)?;
            ct = raised.pop().ok_or(LabError::Level { left: ct.level, right: level })?;
        }
        if ct.level > level {
            return Err(LabError::Level { left: ct.level, right: level });
        }
        Ok(ct)
    }

    /// Sums samples for inputs with noise within `bounds`; scaled steps work on halves.
    fn step(
        &self,
        level: u32,
        bounds: Vec<f64>,
        mut inputs: impl FnMut(&mut [u64]) -> bool,
    ) -> Result<Vec<Ciphertext>, LabError> {
        let places = (
            self.steps.get(level as usize),
            self.rungs.get(level as usize),
            self.rungs.get(level as usize + 1),
        );
        let (Some(Step { key, style }), Some(from), Some(to)) = places else {
            return Err(LabError::Level { left: level, right: level + 1 });
        };
        let sums = key.sum(bounds.len(), from.q, |out| {
            let more = inputs(out);
            if style.is_scaled() {
                out.iter_mut().for_each(|input| *input = from.q.halve(*input));
            }
            more
        });
        let outputs = sums.into_iter().zip(bounds).map(|(SampleSum { v, w, used }, bound)| {
            let double = |x| to.q.add(x, x);
            let level = level + 1;
            let bound = after_step(*style, from.q, to.q, bound, used as f64);
            if style.is_scaled() {
                Ciphertext { level, v: v.into_iter().map(double).collect(), w: double(w), bound }
            } else {
                Ciphertext { level, v, w, bound }
            }
        });
        Ok(outputs.collect())
    }

    /// `w − ⟨v, s⟩`, in `(−q/2, q/2)`.
    fn phase(&self, ct: &Ciphertext) -> Result<i64, LabError> {
        let q = self.rung(ct)?.q;
        let secret = &self.secrets[ct.level as usize];
        let product = ct.v.iter().zip(secret).fold(0, |sum, (&x, &y)| q.add(sum, q.mul(x, y)));
        Ok(q.centred(q.sub(ct.w, product)))
    }

    #[cfg(test)]
    pub(crate) fn secret(&self, level: usize) -> &[u64] {
        &self.secrets[level]
    }

    pub(crate) fn decrypt(&self, ct: &Ciphertext) -> Result<bool, LabError> {
        Ok(self.phase(ct)?.rem_euclid(2) == 1)
    }

    pub(crate) fn noise(&self, ct: &Ciphertext) -> Result<Noise, LabError> {
        let noise = self.phase(ct)?.div_euclid(2).unsigned_abs();
        let log2 = |value: f64| value.max(1.0).log2();
        Ok(Noise {
            measured_log2: log2(noise as f64),
            bound_log2: log2(ct.bound),
            limit_log2: log2(limit(self.rung(ct)?.q)),
        })
    }

    /// The last level, where results are.
    pub(crate) fn last_level(&self) -> u32 {
        self.steps.len() as u32
    }

    pub(crate) fn sizes(&self) -> Sizes {
        let bits = |rung: &Rung| u64::from(rung.n) * u64::from(rung.q.bits());
        let first = self.rungs.first().map_or(0, |rung| bits(rung) + u64::from(rung.q.bits()));
        Sizes {
            secret: self.rungs.iter().map(bits).sum::<u64>().div_ceil(8),
            public: self.public.stored_bytes(),
            evaluation: self.steps.iter().map(|step| step.key.stored_bytes()).sum(),
            evaluation_expanded: self.steps.iter().map(|step| step.key.expanded_bytes()).sum(),
            ciphertext: first.div_ceil(8),
        }
    }

    /// The rung of a ciphertext, if it is one of this chain.
    fn rung(&self, ct: &Ciphertext) -> Result<Rung, LabError> {
        let of_rung = |rung: &&Rung| {
            let is_residue = |&x: &u64| x < rung.q.value();
            rung.n as usize == ct.v.len() && is_residue(&ct.w) && ct.v.iter().all(is_residue)
        };
        let rung = self.rungs.get(ct.level as usize).filter(of_rung);
        rung.copied().ok_or(LabError::Level { left: ct.level, right: self.last_level() })
    }
}

/// The messages of a step's samples: `2^τ·s_i·s_j`, or that scaled to the next modulus.
fn messages(secret: &[u64], from: OddModulus, to: OddModulus, style: Style) -> impl FnMut() -> u64 {
    let extended: Vec<u64> = std::iter::once(1).chain(secret.iter().copied()).collect();
    let (mut i, mut j, mut digit, mut current) = (0, 0, 0, 1);
    move || {
        let message = if style.is_scaled() { from.scale(current, to) } else { current };
        digit += 1;
        if digit < from.bits() {
            current = from.add(current, current);
        } else {
            digit = 0;
            (i, j) = if j + 1 == extended.len() { (i + 1, i + 1) } else { (i, j + 1) };
            current = match (extended.get(i), extended.get(j)) {
                (Some(&x), Some(&y)) => from.mul(x, y),
                _ => 0,
            };
        }
        message
    }
}
