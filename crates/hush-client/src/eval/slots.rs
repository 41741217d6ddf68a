// SPDX-License-Identifier: Apache-2.0
//! Pieces on a server: in slots until a program reads them, or in digits.

use std::ops::Range;

use hush_circuits::bridge::{Bridge, Output};
use hush_circuits::program::ProgramError;
use hush_keys::TfheSecret;
use hush_tfhe::{BridgeKey, BridgeParts, Context, Lwe, ServerKey};

use super::{Encrypted, EvalError, Run};
use crate::error::ClientError;

/// The results of a piece, which the server alone has.
pub(super) enum Crossing<'a> {
    /// Digits of the one result that all elements have.
    One(Vec<Lwe>),
    /// Results in slots, and the keys to digits.
    Slots(InSlots<'a>),
}

/// Results in slots.
pub(super) struct InSlots<'a> {
    bridge: &'a Bridge,
    outputs: Vec<Vec<Output>>,
    keys: Vec<BridgeKey>,
}

impl<'a> InSlots<'a> {
    /// Encrypts the vectors of a piece, and evaluates it.
    pub(super) fn new(
        bridge: &'a Bridge,
        run: &mut Run<'a>,
        secret: &TfheSecret,
    ) -> Result<Self, ClientError> {
        let plan = bridge.plan();
        let (context, circuit) = (secret.context(), plan.circuit());
        let (mut outputs, mut keys) = (Vec::new(), Vec::new());
        for lane in plan.lanes() {
            let shape = (lane.chain().degree(), bridge.powers(lane));
            let Encrypted { secret: own, keys: objects, uploads } = run.encrypted(lane)?;
            let key = run
                .phases
                .time("keys", || secret.bridge_key(&own, shape.1)?.encode(context).map_err(failed))?;
            run.key_bytes += key.len() as u64;
            run.moved.up += key.len() as u64;
            let (of_lane, key) = run.phases.time("server", || {
                let server_keys = lane.decode_keys(circuit, &objects).map_err(EvalError::from)?;
                let outputs = lane.outputs(circuit, &server_keys, &uploads).map_err(EvalError::from)?;
                Ok::<_, ClientError>((outputs, BridgeParts::decode(context, shape, &key).map_err(failed)?))
            })?;
            outputs.push(of_lane);
            keys.push(key);
        }
        Ok(Self { bridge, outputs, keys })
    }

    /// The digits of some elements; of one value for all, those of it.
    pub(super) fn digits(&self, server: &ServerKey, elements: Range<usize>) -> Result<Vec<Lwe>, ClientError> {
        let phases = self.bridge.phases(elements, &self.outputs, &self.keys).map_err(EvalError::from)?;
        let digits = server.digits_of(&phases).map_err(failed)?;
        Ok(digits.into_iter().flatten().collect())
    }
}

impl Crossing<'_> {
    /// The digits of some elements, one element after the other.
    pub(super) fn digits(&self, server: &ServerKey, elements: Range<usize>) -> Result<Vec<Lwe>, ClientError> {
        match self {
            Self::One(digits) => Ok(std::iter::repeat_n(digits, elements.len()).flatten().cloned().collect()),
            Self::Slots(slots) => slots.digits(server, elements),
        }
    }
}

pub(super) fn failed(error: hush_tfhe::TfheError) -> ClientError {
    EvalError::from(ProgramError::from(error)).into()
}

/// The set of integers with its ring, for this machine.
pub(super) fn context() -> Result<Context, ClientError> {
    let cpu = hush_ring::Cpu::detect().map_err(|source| ClientError::Cpu { source })?;
    Context::new(&hush_params::tfhe::INTEGERS, cpu).map_err(failed)
}
