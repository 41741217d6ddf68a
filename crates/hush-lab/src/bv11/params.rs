// SPDX-License-Identifier: Apache-2.0
//! Parameters of both variants: named sets, custom ones, and what noise they lead to.

use super::OddModulus;
use super::forecast::{Ladder, fresh_bound, limit, nonzero, scaled_bound};
use super::modulus::MAX_MODULUS_BITS;
use super::rows::is_narrow;
use super::rung::{Rung, Style};
use super::security::least_dimension;
use crate::primes::prime_below_power;
use crate::{Circuit, LabError};

/// Whether parameters that cannot work are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// They are an error.
    Refuse,
    /// They are accepted, to see what happens.
    Show,
}

/// Parameters of [`super::InsecureBv11`]: one modulus for all levels, and a short one for the result.
#[derive(Clone, Debug, PartialEq)]
pub struct InsecureBv11Params {
    pub(crate) depth: u32,
    pub(crate) samples: u32,
    pub(crate) rung: Rung,
    pub(crate) short: Rung,
}

impl InsecureBv11Params {
    /// The sets for which a table exists: depth, security parameter, dimension, bits of the modulus.
    ///
    /// Average-case noise at 8 standard deviations. The security parameter is what uSVP, BDD and the dual hybrid attack cost at least by
    /// the lattice estimator. Sets for 42 bits are broken: no instance that lattice reduction fails to break at once is that weak.
    pub const SETS: [(u32, u32, u32, u32); 10] = [
        (1, 42, 269, 26),
        (1, 52, 354, 26),
        (1, 62, 432, 26),
        (1, 72, 532, 27),
        (1, 128, 995, 28),
        (2, 42, 395, 52),
        (2, 52, 790, 54),
        (2, 62, 976, 55),
        (2, 72, 1148, 55),
        (2, 128, 2114, 57),
    ];

    /// The smallest named set for `security` with enough depth.
    ///
    /// # Errors
    /// [`LabError::Set`].
    pub fn named(security: u32, depth: u32) -> Result<Self, LabError> {
        let set = Self::SETS.iter().find(|set| set.0 >= depth && set.1 == security);
        let &(depth, security, n, bits) =
            set.ok_or(LabError::Set { scheme: "bv11", security, depth: Some(depth) })?;
        let samples = (n + 1) * bits + 2 * security;
        Self::with_security(
            depth,
            n,
            prime_below_power(bits),
            Some(samples),
            security.into(),
            Overflow::Refuse,
            SHORT_FACTORS[0],
        )
    }

    /// The smallest named set for `security`, or one like it with a longer modulus: the shortest that promises a right result of
    /// `circuit`, which must have at most `depth` products one after the other or sets its depth itself. If none does, the named set.
    ///
    /// # Math
    /// Named sets have room for one product at every level. A longer modulus, by one bit and one more, takes more sums between them; the
    /// dimension grows in proportion, and to [`least_dimension`] at least. For each also a longer short modulus is tried.
    ///
    /// # Cost
    /// At most some hundred bounds of the circuit's noise.
    ///
    /// # Errors
    /// [`LabError::Set`].
    pub fn for_circuit(security: u32, depth: u32, circuit: &Circuit) -> Result<Self, LabError> {
        let named = Self::named(security, depth.max(circuit.depth()))?;
        if named.promises(circuit) {
            return Ok(named);
        }
        let (n, first) = (named.rung.n, named.rung.q.bits());
        for bits in first..=MAX_MODULUS_BITS {
            let n = (n * bits).div_ceil(first).max(least_dimension(security.into(), bits.into()));
            let (q, samples) = (prime_below_power(bits), (n + 1) * bits + 2 * security);
            let tried = SHORT_FACTORS.into_iter().find_map(|factor| {
                let refuse = Overflow::Refuse;
                Self::with_security(named.depth, n, q, Some(samples), security.into(), refuse, factor)
                    .ok()
                    .filter(|params| params.promises(circuit))
            });
            if let Some(params) = tried {
                return Ok(params);
            }
        }
        Ok(named)
    }

    /// Whether the bound of every gate and result of a circuit is below its limit, computed without encrypting anything.
    pub fn promises(&self, circuit: &Circuit) -> bool {
        promises(&self.ladder(), circuit)
    }

    /// Custom parameters. `samples` is the `m` of the public key, by default enough for the leftover hash lemma; the short rung
    /// is as hard to break as the first.
    ///
    /// # Errors
    /// [`LabError::Parameter`] for an even modulus, and for what is out of range or insecure beyond what was asked for;
    /// [`LabError::Noise`] if a product at every level would leave no room.
    pub fn custom(
        depth: u32,
        n: u32,
        q: u64,
        samples: Option<u32>,
        overflow: Overflow,
    ) -> Result<Self, LabError> {
        let rung = rung(n, q)?;
        Self::with_security(depth, n, q, samples, rung.security_bits(), overflow, SHORT_FACTORS[0])
    }

    fn with_security(
        depth: u32,
        n: u32,
        q: u64,
        samples: Option<u32>,
        bits: f64,
        overflow: Overflow,
        short_factor: f64,
    ) -> Result<Self, LabError> {
        let rung = rung(n, q)?;
        let samples = checked_samples(samples, rung, overflow)?;
        if depth > MAX_DEPTH {
            return refuse("depth", depth, "at most 16");
        }
        if q < 5 {
            return refuse("q", q, "5 or more, as results are reduced to a smaller modulus");
        }
        let errors = scaled_bound(nonzero(Style::Linear.inputs(n) * u64::from(rung.q.bits())));
        let p = prime_below_power((short_factor * errors).log2().ceil().max(2.0) as u32);
        // Where that is no reduction, the errors have no room: the check below, or the eye, finds it.
        let p = if p < q { p } else { prime_below_power(rung.q.bits() - 1) };
        let q_short = OddModulus::new(p)?;
        let short = Rung { n: least_dimension(bits, q_short.log2()).min(n), q: q_short };
        let params = Self { depth, samples, rung, short };
        check_memory(n, params.evaluation_bytes().0)?;
        if overflow == Overflow::Refuse {
            check_noise(&params.ladder())?;
        }
        Ok(params)
    }

    /// Bounds of the noise at every level, of one product each, and of the reduced result.
    pub fn forecast(&self) -> Vec<f64> {
        self.ladder().of_products()
    }

    pub(super) fn ladder(&self) -> Ladder {
        Ladder { rungs: self.levels(), styles: self.styles(), samples: self.samples }
    }

    pub(crate) fn styles(&self) -> Vec<Style> {
        let mut styles = vec![Style::Quadratic; self.depth as usize];
        styles.push(Style::Linear);
        styles
    }

    /// The products that it allows one after the other.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Bytes of the evaluation keys: as stored, and with their vectors written out.
    pub fn evaluation_bytes(&self) -> (u64, u64) {
        evaluation_bytes(&self.levels(), &self.styles())
    }

    /// The rungs of the levels and of the result: dimension and modulus.
    pub fn levels(&self) -> Vec<Rung> {
        let mut rungs = vec![self.rung; self.depth as usize + 1];
        rungs.push(self.short);
        rungs
    }

    /// Estimated bits of security: of the weaker of the two LWE instances.
    pub fn security_bits(&self) -> f64 {
        self.rung.security_bits().min(self.short.security_bits())
    }

    /// Names and values, for people.
    pub fn description(&self) -> Vec<(&'static str, String)> {
        vec![
            ("dimension n", self.rung.n.to_string()),
            ("modulus q", format!("{} ({} bits)", self.rung.q.value(), self.rung.q.bits())),
            ("samples m", self.samples.to_string()),
            ("errors", "centred binomial, standard deviation 3.24".to_owned()),
            ("depth L", self.depth.to_string()),
            ("short dimension k", self.short.n.to_string()),
            ("short modulus p", format!("{} ({} bits)", self.short.q.value(), self.short.q.bits())),
            ("estimated security", security_text(self.security_bits())),
        ]
    }
}

/// Parameters of [`super::InsecureBv11Leveled`]: a smaller modulus, and a smaller dimension, after every product.
#[derive(Clone, Debug, PartialEq)]
pub struct InsecureBv11LeveledParams {
    pub(crate) samples: u32,
    pub(crate) rungs: Vec<Rung>,
}

impl InsecureBv11LeveledParams {
    /// Finds parameters for `depth` products with operands that are sums of two, and `security` bits of security by
    /// [`super::security_bits`].
    ///
    /// # Math
    /// The last modulus holds the errors of a relinearisation; every modulus before is larger by the factor that takes a product's
    /// noise down to those errors. Dimensions follow from moduli and errors from dimensions, so both are found by repetition.
    ///
    /// # Errors
    /// [`LabError::Set`] if the first modulus would have more than 60 bits.
    pub fn derive(security: u32, depth: u32) -> Result<Self, LabError> {
        Self::derive_with(security, depth, [ROOM; 2])
    }

    /// As [`Self::derive`], with more room where `circuit` needs it: the parameters promise a right result. If moduli of 60 bits do not
    /// suffice for that, those of [`Self::derive`].
    ///
    /// # Math
    /// Operands of products have room for so many sums, and so has the result. Whichever the first level over its limit points at
    /// is doubled until none is: the last level at the result, others at the operands.
    ///
    /// # Errors
    /// As [`Self::derive`].
    pub fn for_circuit(security: u32, depth: u32, circuit: &Circuit) -> Result<Self, LabError> {
        let depth = depth.max(circuit.depth());
        let usual = Self::derive(security, depth)?;
        let (mut params, mut rooms) = (usual.clone(), [ROOM; 2]);
        for _ in 0..ROUNDS {
            match params.ladder().of_circuit(circuit).map(|forecast| forecast.overflow) {
                Some(None) => return Ok(params),
                Some(Some(level)) => rooms[usize::from(level == params.depth())] *= 2.0,
                None => break,
            }
            match Self::derive_with(security, depth, rooms) {
                Ok(wider) => params = wider,
                Err(_) => break,
            }
        }
        Ok(usual)
    }

    /// Whether the bound of every gate and result of a circuit is below its limit, computed without encrypting anything.
    pub fn promises(&self, circuit: &Circuit) -> bool {
        promises(&self.ladder(), circuit)
    }

    /// Of how many ciphertexts an operand of a product, and the result, may be the sum.
    fn derive_with(security: u32, depth: u32, [operand_room, room]: [f64; 2]) -> Result<Self, LabError> {
        let missing = LabError::Set { scheme: "bv11-leveled", security, depth: Some(depth) };
        if depth > MAX_DEPTH || !(30..=256).contains(&security) {
            return Err(missing);
        }
        let depth = depth.max(1) as usize;
        let mut bits = vec![12_u32; depth + 1];
        for _ in 0..ROUNDS {
            let least = |bits: u32| least_dimension(security.into(), bits.into());
            let dimensions: Vec<u32> =
                bits.iter().map(|&bits| least(bits).max(bits * LEAST_RATIO.0 / LEAST_RATIO.1)).collect();
            let samples = (dimensions[0] + 1) * bits[0] + 2 * security;
            let errors: Vec<f64> = (0..depth)
                .map(|level| {
                    let inputs = Style::QuadraticScaled.inputs(dimensions[level]);
                    scaled_bound(nonzero(inputs * u64::from(bits[level])))
                })
                .collect();
            // The noise of level ℓ: fresh, or twice the errors of the step before it.
            let noise =
                |level: usize| if level == 0 { fresh_bound(samples) } else { 2.0 * errors[level - 1] };
            // Bits only grow from round to round, so that it ends.
            let mut wanted = bits.clone();
            wanted[depth] = wanted[depth].max((4.0 * room * noise(depth)).log2().ceil() as u32);
            for level in (0..depth).rev() {
                let operand = operand_room * noise(level);
                let factor_log2 = (2.0 * operand * operand / errors[level]).log2().max(0.0);
                wanted[level] = wanted[level].max(wanted[level + 1] + factor_log2.ceil() as u32);
            }
            if wanted[0] > MAX_MODULUS_BITS {
                return Err(missing);
            }
            if wanted == bits {
                let rungs = dimensions.iter().zip(&bits).map(|(&n, &bits)| rung(n, prime_below_power(bits)));
                return Self::custom(rungs.collect::<Result<_, _>>()?, Some(samples), Overflow::Refuse);
            }
            bits = wanted;
        }
        Err(missing)
    }

    /// Custom parameters: a rung for every level, from fresh to the last.
    ///
    /// # Errors
    /// As [`InsecureBv11Params::custom`]; also [`LabError::Parameter`] if moduli increase.
    pub fn custom(rungs: Vec<Rung>, samples: Option<u32>, overflow: Overflow) -> Result<Self, LabError> {
        if !(2..=MAX_DEPTH as usize + 1).contains(&rungs.len()) {
            return refuse("levels", rungs.len(), "a fresh one and 1 to 16 others");
        }
        if let Some(pair) = rungs.windows(2).find(|pair| pair[0].q.value() < pair[1].q.value()) {
            return refuse("q", pair[1].q.value(), "no larger than the modulus of the level before");
        }
        let samples = checked_samples(samples, rungs[0], overflow)?;
        let params = Self { samples, rungs };
        check_memory(params.rungs[0].n, params.evaluation_bytes().0)?;
        if overflow == Overflow::Refuse {
            check_noise(&params.ladder())?;
        }
        Ok(params)
    }

    /// Bounds of the noise at every level, of one product each.
    pub fn forecast(&self) -> Vec<f64> {
        self.ladder().of_products()
    }

    pub(super) fn ladder(&self) -> Ladder {
        Ladder { rungs: self.rungs.clone(), styles: self.styles(), samples: self.samples }
    }

    pub(crate) fn styles(&self) -> Vec<Style> {
        vec![Style::QuadraticScaled; self.rungs.len().saturating_sub(1)]
    }

    /// Bytes of the evaluation keys: as stored, and with their vectors written out.
    pub fn evaluation_bytes(&self) -> (u64, u64) {
        evaluation_bytes(&self.rungs, &self.styles())
    }

    /// The rungs of the levels: dimension and modulus.
    pub fn levels(&self) -> Vec<Rung> {
        self.rungs.clone()
    }

    /// The products that it allows one after the other.
    pub fn depth(&self) -> u32 {
        self.rungs.len().saturating_sub(1) as u32
    }

    /// Estimated bits of security: of the weakest level.
    pub fn security_bits(&self) -> f64 {
        self.rungs.iter().map(|rung| rung.security_bits()).fold(f64::MAX, f64::min)
    }

    /// Names and values, for people.
    pub fn description(&self) -> Vec<(&'static str, String)> {
        let list =
            |text: &dyn Fn(&Rung) -> String| self.rungs.iter().map(text).collect::<Vec<_>>().join(", ");
        vec![
            ("dimensions n", list(&|rung| rung.n.to_string())),
            ("moduli q", list(&|rung| format!("{} ({} bits)", rung.q.value(), rung.q.bits()))),
            ("samples m", self.samples.to_string()),
            ("errors", "centred binomial, standard deviation 3.24".to_owned()),
            ("depth L", self.depth().to_string()),
            ("estimated security", security_text(self.security_bits())),
        ]
    }
}

/// A rung with a dimension in range.
///
/// # Errors
/// [`LabError::Parameter`].
pub fn rung(n: u32, q: u64) -> Result<Rung, LabError> {
    if !(1..=MAX_DIMENSION).contains(&n) {
        return refuse("n", n, "between 1 and 8192");
    }
    Ok(Rung { n, q: OddModulus::new(q)? })
}

fn checked_samples(samples: Option<u32>, rung: Rung, overflow: Overflow) -> Result<u32, LabError> {
    let least = (rung.n + 1) * rung.q.bits();
    let samples = samples.unwrap_or(least + 2 * rung.security_bits().min(256.0) as u32);
    if !(1..=MAX_SAMPLES).contains(&samples) {
        return refuse("m", samples, "between 1 and 2^24");
    }
    if samples < least && overflow == Overflow::Refuse {
        return refuse(
            "m",
            samples,
            "at least (n+1)*log2 q, or a ciphertext does not hide which samples it sums",
        );
    }
    Ok(samples)
}

fn promises(ladder: &Ladder, circuit: &Circuit) -> bool {
    ladder.of_circuit(circuit).is_some_and(|forecast| forecast.overflow.is_none())
}

fn check_noise(ladder: &Ladder) -> Result<(), LabError> {
    let Some((level, bound)) = ladder.first_overflow() else { return Ok(()) };
    let limit = ladder.rungs.get(level as usize).map_or(0.0, |rung| limit(rung.q));
    Err(LabError::Noise { level, bound_log2: bound.log2(), limit_log2: limit.max(1.0).log2() })
}

/// Refuses what would fill the memory before anything is made.
fn check_memory(n: u32, bytes: u64) -> Result<(), LabError> {
    if bytes > MAX_KEY_BYTES {
        return refuse("n", n, "smaller: the evaluation keys would take more than 8 GB");
    }
    Ok(())
}

fn evaluation_bytes(rungs: &[Rung], styles: &[Style]) -> (u64, u64) {
    let steps = rungs.windows(2).zip(styles).map(|(pair, style)| {
        let samples = style.inputs(pair[0].n) * u64::from(pair[0].q.bits());
        let bits = pair[1].q.bits();
        let word = if is_narrow(pair[1].q) { 4 } else { 8 };
        (32 + samples * word, samples * (u64::from(pair[1].n) + 1) * u64::from(bits) / 8)
    });
    steps.fold((0, 0), |(stored, expanded), step| (stored + step.0, expanded + step.1))
}

fn refuse<T>(name: &'static str, found: impl ToString, expected: &'static str) -> Result<T, LabError> {
    Err(LabError::Parameter { name, found: found.to_string(), expected })
}

pub(crate) fn security_text(bits: f64) -> String {
    if bits < 45.0 {
        format!("about {bits:.0} bits: broken, lattice reduction at once")
    } else {
        format!("about {bits:.0} bits (the smallest of uSVP, BDD and dual hybrid, MATZOV costs)")
    }
}

const MAX_DIMENSION: u32 = 8192;
const MAX_SAMPLES: u32 = 1 << 24;
const MAX_KEY_BYTES: u64 = 8_000_000_000;
const MAX_DEPTH: u32 = 16;
/// Dimension for a bit of the modulus, of the weakest set of the table: where lattice reduction with small blocks suffices, the estimate
/// says nothing, and dimensions would fall as moduli grow.
const LEAST_RATIO: (u32, u32) = (395, 52);
const ROUNDS: usize = 64;
/// How many times its errors a short modulus is. With 16 a quarter is the limit, and noise up to 3/16 of q has room beside them; the
/// longer ones are for sums of results.
const SHORT_FACTORS: [f64; 4] = [16.0, 32.0, 64.0, 128.0];
/// Operands of a product, and results, may be sums of this many ciphertexts.
const ROOM: f64 = 2.0;
