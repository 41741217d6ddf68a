// SPDX-License-Identifier: Apache-2.0
//! Evaluates circuits on encrypted bits, gate by gate, and watches the noise.

use std::time::Instant;

use crate::circuit::Gate;
use crate::scheme::Noise;
use crate::{Circuit, InsecureScheme, LabError, Seed, Stream};

/// One gate, evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Which gate.
    pub gate: usize,
    /// Its noise, by the secret key.
    pub noise: Noise,
    /// The noise of a product before it was refreshed, in a scheme that refreshes.
    pub before_refresh: Option<Noise>,
    /// Its bit, decrypted.
    pub bit: bool,
    /// Whether that is the bit of the evaluation in the clear.
    pub is_right: bool,
    /// Seconds of its operation; inputs, and products of one depth, are computed together and have equal shares.
    pub seconds: f64,
}

/// A circuit, evaluated.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The decrypted result.
    pub result: u64,
    /// The result in the clear.
    pub expected: u64,
    /// Noise of the result's bits after the last reduction, the lowest bit first; bits that are 0 without computation left out.
    pub finished: Vec<Noise>,
    /// Gates with a wrong decryption.
    pub wrong_gates: usize,
    /// Gates and bits of the result with a bound above its limit: nothing promises that they are right.
    pub unpromised: usize,
    /// Seconds of encryption, gates, the last reduction, and decryption; not of watching the noise.
    pub seconds: [f64; 4],
}

impl Evaluation {
    /// Whether the result is right.
    pub fn is_right(&self) -> bool {
        self.result == self.expected
    }
}

/// Encrypts every input, evaluates, reduces, decrypts and compares. `observe` sees every gate.
///
/// Ciphertexts are dropped after their last use.
///
/// # Errors
/// [`LabError::Depth`] before anything is done, if the circuit is too deep; what the scheme gives.
pub fn evaluate<S: InsecureScheme>(
    scheme: &S,
    circuit: &Circuit,
    seed: &Seed,
    observe: &mut dyn FnMut(Step),
) -> Result<Evaluation, LabError> {
    if let Some(limit) = scheme.depth_limit().filter(|&limit| limit < circuit.depth()) {
        return Err(LabError::Depth { found: circuit.depth(), limit });
    }
    let values = circuit.values();
    let mut run = Run {
        scheme,
        circuit,
        values: &values,
        cts: vec![None; circuit.gates().len()],
        uses: uses(circuit),
        randomness: Stream::derive(seed, "encryption"),
        wrong_gates: 0,
        unpromised: 0,
        seconds: [0.0; 4],
    };
    run.inputs(observe)?;
    for depth in 0..=circuit.depth() {
        run.products(depth, observe)?;
        run.sums(depth, observe)?;
    }
    let mut finished = Vec::new();
    let mut decrypted = vec![false; values.len()];
    for &gate in circuit.outputs().iter().flatten() {
        let ct = run.ct(gate)?;
        let started = Instant::now();
        let short = scheme.finish(ct)?;
        let reduced = Instant::now();
        decrypted[gate] = scheme.decrypt(&short)?;
        run.seconds[2] += (reduced - started).as_secs_f64();
        run.seconds[3] += reduced.elapsed().as_secs_f64();
        let noise = scheme.noise(&short)?;
        run.unpromised += usize::from(!noise.is_safe());
        finished.push(noise);
    }
    Ok(Evaluation {
        result: circuit.result(&decrypted),
        expected: circuit.result(&values),
        finished,
        wrong_gates: run.wrong_gates,
        unpromised: run.unpromised,
        seconds: run.seconds,
    })
}

struct Run<'a, S: InsecureScheme> {
    scheme: &'a S,
    circuit: &'a Circuit,
    values: &'a [bool],
    cts: Vec<Option<S::Ciphertext>>,
    /// How often a gate is still needed.
    uses: Vec<usize>,
    randomness: Stream,
    wrong_gates: usize,
    unpromised: usize,
    seconds: [f64; 4],
}

impl<S: InsecureScheme> Run<'_, S> {
    /// The products of one depth, in one call.
    fn products(&mut self, depth: u32, observe: &mut dyn FnMut(Step)) -> Result<(), LabError> {
        let chosen: Vec<(usize, usize, usize)> = self
            .at(depth)
            .filter_map(|gate| match self.circuit.gates()[gate] {
                Gate::And(a, b) => Some((gate, a, b)),
                Gate::Input(_) | Gate::Xor(..) => None,
            })
            .collect();
        for chosen in chosen.chunks(TOGETHER) {
            let pairs: Result<Vec<_>, LabError> =
                chosen.iter().map(|&(_, a, b)| Ok((self.ct(a)?, self.ct(b)?))).collect();
            let started = Instant::now();
            let products = self.scheme.multiply_all(&pairs?)?;
            let seconds = started.elapsed().as_secs_f64();
            self.seconds[1] += seconds;
            for (&(gate, a, b), ct) in chosen.iter().zip(products) {
                self.keep(gate, ct, seconds / chosen.len() as f64, observe)?;
                self.release(&[a, b]);
            }
        }
        Ok(())
    }

    /// The encrypted bits, several in one call.
    fn inputs(&mut self, observe: &mut dyn FnMut(Step)) -> Result<(), LabError> {
        let is_input = |&gate: &usize| matches!(self.circuit.gates()[gate], Gate::Input(_));
        let gates: Vec<usize> = (0..self.circuit.gates().len()).filter(is_input).collect();
        for gates in gates.chunks(ENCRYPTED_TOGETHER) {
            let bits: Vec<bool> = gates.iter().map(|&gate| self.values[gate]).collect();
            let started = Instant::now();
            let cts = self.scheme.encrypt_all(&bits, &mut self.randomness)?;
            let seconds = started.elapsed().as_secs_f64();
            self.seconds[0] += seconds;
            for (&gate, ct) in gates.iter().zip(cts) {
                self.keep(gate, ct, seconds / gates.len() as f64, observe)?;
            }
        }
        Ok(())
    }

    /// The sums of one depth, in their order.
    fn sums(&mut self, depth: u32, observe: &mut dyn FnMut(Step)) -> Result<(), LabError> {
        let gates: Vec<usize> = self.at(depth).collect();
        for gate in gates {
            if let Gate::Xor(a, b) = self.circuit.gates()[gate] {
                let started = Instant::now();
                let ct = self.scheme.add(self.ct(a)?, self.ct(b)?)?;
                let seconds = started.elapsed().as_secs_f64();
                self.seconds[1] += seconds;
                self.keep(gate, ct, seconds, observe)?;
                self.release(&[a, b]);
            }
        }
        Ok(())
    }

    fn keep(
        &mut self,
        gate: usize,
        ct: S::Ciphertext,
        seconds: f64,
        observe: &mut dyn FnMut(Step),
    ) -> Result<(), LabError> {
        let (noise, bit) = (self.scheme.noise(&ct)?, self.scheme.decrypt(&ct)?);
        let is_right = bit == self.values[gate];
        self.wrong_gates += usize::from(!is_right);
        self.unpromised += usize::from(!noise.is_safe());
        let before_refresh = self.scheme.noise_before_refresh(&ct)?;
        observe(Step { gate, noise, before_refresh, bit, is_right, seconds });
        if self.uses[gate] > 0 {
            self.cts[gate] = Some(ct);
        }
        Ok(())
    }

    fn release(&mut self, operands: &[usize]) {
        for &gate in operands {
            self.uses[gate] -= 1;
            if self.uses[gate] == 0 {
                self.cts[gate] = None;
            }
        }
    }

    fn at(&self, depth: u32) -> impl Iterator<Item = usize> {
        (0..self.circuit.gates().len()).filter(move |&gate| self.circuit.depth_at(gate) == depth)
    }

    fn ct(&self, gate: usize) -> Result<&S::Ciphertext, LabError> {
        self.cts[gate].as_ref().ok_or(LabError::Unsupported { what: "a gate before its operands" })
    }
}

fn uses(circuit: &Circuit) -> Vec<usize> {
    let mut uses = vec![0; circuit.gates().len()];
    for gate in circuit.gates() {
        if let Gate::And(a, b) | Gate::Xor(a, b) = *gate {
            uses[a] += 1;
            uses[b] += 1;
        }
    }
    for &gate in circuit.outputs().iter().flatten() {
        uses[gate] += 1;
    }
    uses
}

/// Products in one call: their operands and results are in memory together.
const TOGETHER: usize = 64;
/// Inputs in one call.
const ENCRYPTED_TOGETHER: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bv11::{InsecureBv11, InsecureBv11Params, Overflow};

    #[test]
    fn an_expression_is_evaluated_watched_and_verified() {
        let params =
            InsecureBv11Params::custom(2, 12, crate::primes::prime_below_power(54), None, Overflow::Refuse)
                .unwrap();
        let seed = Seed::from_text("eval");
        let scheme = InsecureBv11::generate(&params, &seed, &mut |_| {}).unwrap();
        for (text, width, expected) in
            [("1+(1*0+1)*1", 1, 0), ("x*y+x", 1, 0), ("x", 1, 1), ("3+6", 3, 1), ("3*3", 2, 1)]
        {
            let circuit = Circuit::parse(text, width, &[("x".into(), 1), ("y".into(), 1)]).unwrap();
            let mut seen = Vec::new();
            let evaluation = evaluate(&scheme, &circuit, &seed, &mut |step| {
                assert!(step.is_right && step.noise.measured_log2 <= step.noise.bound_log2);
                seen.push(step.gate);
            })
            .unwrap();
            assert_eq!(
                (evaluation.result, evaluation.expected, evaluation.wrong_gates),
                (expected, expected, 0),
                "{text}"
            );
            seen.sort_unstable();
            assert_eq!(seen, (0..circuit.gates().len()).collect::<Vec<_>>());
        }
        let deep = Circuit::parse("1*1*1*1*1", 1, &[]).unwrap();
        let refused = evaluate(&scheme, &deep, &seed, &mut |_| {});
        assert!(matches!(refused, Err(LabError::Depth { found: 3, limit: 2 })));
    }
}
