// SPDX-License-Identifier: Apache-2.0
//! The server's work: bytes to bytes, without a secret.

use hush_rlwe::{
    CodecError, EvaluationKeys, LeveledSetId, PhaseMeaning, RlweCiphertext, UncheckedEncapsulationKeys,
    UncheckedEvaluationKeys, UncheckedLeveledKeys, UncheckedSeededSet, encode_leveled_with_meaning,
};

use super::{Lane, LaneKeys, PlacedCircuit};
use crate::CircuitError;
use crate::bootstrap::BootstrapKeys;

/// Why a server refuses.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Bytes that are not what was expected.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The circuit.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
}

impl Lane {
    /// Evaluates a circuit on uploads, each the fresh ciphertexts of one block of all vectors, and gives an answer for each; where
    /// results are summed, one for the sum of all blocks but the last, which may be padded, and one for the last.
    ///
    /// `keys` are those of [`Lane::decode_keys`].
    ///
    /// # Errors
    /// [`ServeError::Codec`] for bytes that are damaged or of another chain; [`ServeError::Circuit`] as [`Lane::evaluate`].
    pub fn serve(
        &self,
        circuit: &PlacedCircuit,
        keys: &LaneKeys,
        uploads: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, ServeError> {
        let outputs = self.outputs(circuit, keys, uploads)?;
        outputs.into_iter().map(|output| self.answer(circuit, output)).collect()
    }

    /// What [`Lane::serve`] answers, as it is: for who goes on with it.
    ///
    /// # Errors
    /// As there.
    pub fn outputs(
        &self,
        circuit: &PlacedCircuit,
        keys: &LaneKeys,
        uploads: &[Vec<u8>],
    ) -> Result<Vec<(RlweCiphertext, PhaseMeaning)>, ServeError> {
        let chain = self.chain();
        let level = self.input_level(circuit);
        let count = circuit.used_inputs().len() as u32;
        let mut outputs = Vec::with_capacity(uploads.len());
        let mut sum = None;
        for (index, upload) in uploads.iter().enumerate() {
            let fresh = UncheckedSeededSet::decode(upload)?.conform(chain, level, count)?;
            let inputs = fresh.into_iter().map(|ciphertext| ciphertext.expand());
            let inputs = inputs.collect::<Result<Vec<_>, _>>().map_err(CircuitError::from)?;
            let (output, meaning) = self.evaluate(circuit, inputs, keys)?;
            if circuit.aggregate().is_none() || index + 1 == uploads.len() {
                outputs.extend(sum.take());
                outputs.push((output, meaning));
                continue;
            }
            sum = Some(match sum.take() {
                None => (output, meaning),
                Some((mut total, meaning)) => {
                    // One circuit: one meaning.
                    total.add_assign(&output).map_err(CircuitError::from)?;
                    (total, meaning)
                }
            });
        }
        Ok(outputs)
    }

    /// The keys in the bytes of their objects: none, an object of evaluation keys, or one of those of bootstrapping and one of the keys with which the modulus is raised.
    ///
    /// # Cost
    /// Masks are expanded: twice the bytes in memory.
    ///
    /// # Errors
    /// [`ServeError::Codec`] for bytes that are damaged, of another chain, or of other keys; [`ServeError::Circuit`] for another number of objects.
    pub fn decode_keys(&self, circuit: &PlacedCircuit, objects: &[Vec<u8>]) -> Result<LaneKeys, ServeError> {
        let (chain, levels) = (self.chain(), self.key_levels(circuit));
        Ok(match (self, objects) {
            (Self::Bootstrapped(_), [evaluation, encapsulation]) => {
                let evaluation = UncheckedLeveledKeys::decode(evaluation)?.conform(chain, &levels)?;
                let encapsulation = UncheckedEncapsulationKeys::decode(encapsulation)?.conform(chain)?;
                LaneKeys::Bootstrapping(Box::new(BootstrapKeys { evaluation, encapsulation }))
            }
            (Self::Bootstrapped(_), _) => return Err(CircuitError::Shape.into()),
            (_, []) if self.is_without_keys() => LaneKeys::Leveled(EvaluationKeys::new()),
            (_, [keys]) => {
                let elements: Vec<u32> = levels.keys().map(|&element| element as u32).collect();
                LaneKeys::Leveled(UncheckedEvaluationKeys::decode(keys)?.conform(chain, &elements)?)
            }
            _ => return Err(CircuitError::Shape.into()),
        })
    }

    /// An answer holds one ciphertext at the level of the output, with three components if nothing is relinearised.
    pub fn answer_id(&self, circuit: &PlacedCircuit) -> LeveledSetId {
        let components = if self.is_without_keys() && circuit.depth() > 0 { 3 } else { 2 };
        let level = match self {
            // Counted alone.
            Self::Bfv(_) => self.chain().top(),
            _ => circuit.schedule.output,
        };
        LeveledSetId { level, count: 1, components }
    }

    fn answer(
        &self,
        circuit: &PlacedCircuit,
        (output, meaning): (RlweCiphertext, PhaseMeaning),
    ) -> Result<Vec<u8>, ServeError> {
        Ok(encode_leveled_with_meaning(self.chain(), self.answer_id(circuit), &[(&output, meaning)])?)
    }
}
