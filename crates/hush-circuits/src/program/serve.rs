// SPDX-License-Identifier: Apache-2.0
//! The server's work: bytes to bytes, without a secret.

use hush_expr::Circuit;
use hush_ring::Level;
use hush_rlwe::{
    CodecError, EvaluationKeys, LeveledSetId, PhaseMeaning, RlweCiphertext, UncheckedEvaluationKeys,
    UncheckedSeededSet, encode_leveled_with_meaning,
};

use super::Lane;
use crate::CircuitError;

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
    /// `keys` are the bytes of evaluation keys, empty without keys.
    ///
    /// # Errors
    /// [`ServeError::Codec`] for bytes that are damaged or of another chain; [`ServeError::Circuit`] as [`Lane::evaluate`].
    pub fn serve(
        &self,
        circuit: &Circuit,
        keys: &[u8],
        uploads: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, ServeError> {
        let chain = self.chain();
        let keys = if self.is_without_keys() {
            EvaluationKeys::new()
        } else {
            UncheckedEvaluationKeys::decode(keys)?.conform(chain, &[RELINEARISATION])?
        };
        let count = circuit.used_inputs().len() as u32;
        let mut answers = Vec::with_capacity(uploads.len());
        let mut sum = None;
        for (index, upload) in uploads.iter().enumerate() {
            let fresh = UncheckedSeededSet::decode(upload)?.conform(chain, chain.top(), count)?;
            let inputs = fresh.into_iter().map(|ciphertext| ciphertext.expand());
            let inputs = inputs.collect::<Result<Vec<_>, _>>().map_err(CircuitError::from)?;
            let (output, meaning) = self.evaluate(circuit, inputs, &keys)?;
            if circuit.aggregate().is_none() || index + 1 == uploads.len() {
                if let Some(sum) = sum.take() {
                    answers.push(self.answer(circuit, sum)?);
                }
                answers.push(self.answer(circuit, (output, meaning))?);
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
        Ok(answers)
    }

    /// An answer holds one ciphertext at the last level, with three components if nothing is relinearised.
    pub fn answer_id(&self, circuit: &Circuit) -> LeveledSetId {
        let components = if self.is_without_keys() && circuit.depth() > 0 { 3 } else { 2 };
        LeveledSetId { level: Level(0), count: 1, components }
    }

    fn answer(
        &self,
        circuit: &Circuit,
        (output, meaning): (RlweCiphertext, PhaseMeaning),
    ) -> Result<Vec<u8>, ServeError> {
        Ok(encode_leveled_with_meaning(self.chain(), self.answer_id(circuit), &[(&output, meaning)])?)
    }
}

/// The element that stands for the relinearisation key.
const RELINEARISATION: u32 = 0;
