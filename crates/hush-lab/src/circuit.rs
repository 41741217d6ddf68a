// SPDX-License-Identifier: Apache-2.0
//! Circuits of XOR and AND gates, from expressions on integers modulo `2^width`. With a width of 1 these are bits: `+` is XOR and `*`
//! is AND.

mod build;

use std::fmt;

use crate::LabError;

/// A circuit: gates in an order in which operands come first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circuit {
    gates: Vec<Gate>,
    depths: Vec<u32>,
    inputs: Vec<Input>,
    /// The gates of the result's bits, the lowest first; `None` for a bit that is 0 without any computation.
    outputs: Vec<Option<usize>>,
}

/// A gate. Operands are places of gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// A product of two bits.
    And(usize, usize),
    /// An encrypted bit: a place of [`Circuit::inputs`].
    Input(usize),
    /// A sum of two bits.
    Xor(usize, usize),
}

/// A bit to encrypt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The name or number of the text that it is a bit of.
    pub label: String,
    /// Which bit, 0 the lowest.
    pub place: u32,
    /// Its value.
    pub value: bool,
}

impl Circuit {
    /// Builds the circuit of a text, with values for its names: the last one of a name counts.
    ///
    /// Adders ripple their carry, with one AND for a bit; multipliers shift and add; chains of sums and products become balanced
    /// trees. Every number of the text is encrypted as often as it occurs.
    ///
    /// # Errors
    /// [`LabError::Expression`] for a text that is none; [`LabError::Unsupported`] for what gates here do not do;
    /// [`LabError::Value`] for a number that is not whole or not below `2^width`; [`LabError::Name`] for a name without a value;
    /// [`LabError::Parameter`] for a width outside `[1, 32]`; [`LabError::Gates`] beyond 65536 gates.
    pub fn parse(text: &str, width: u32, values: &[(String, u64)]) -> Result<Self, LabError> {
        build::circuit(text, width, values)
    }

    /// The gates.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// The bits to encrypt.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The result's bits.
    pub fn outputs(&self) -> &[Option<usize>] {
        &self.outputs
    }

    /// ANDs one after the other.
    pub fn depth(&self) -> u32 {
        self.depths.iter().copied().max().unwrap_or(0)
    }

    /// ANDs one after the other up to a gate.
    pub fn depth_at(&self, gate: usize) -> u32 {
        self.depths.get(gate).copied().unwrap_or(0)
    }

    /// How many gates are ANDs, and how many XORs.
    pub fn operations(&self) -> (usize, usize) {
        let count = |wanted: fn(&Gate) -> bool| self.gates.iter().filter(|gate| wanted(gate)).count();
        (count(|gate| matches!(gate, Gate::And(..))), count(|gate| matches!(gate, Gate::Xor(..))))
    }

    /// The value of every gate, in the clear.
    pub fn values(&self) -> Vec<bool> {
        let mut values = Vec::with_capacity(self.gates.len());
        for gate in &self.gates {
            values.push(match *gate {
                Gate::And(a, b) => values[a] & values[b],
                Gate::Input(input) => self.inputs[input].value,
                Gate::Xor(a, b) => values[a] ^ values[b],
            });
        }
        values
    }

    /// The result as an integer, from the values of the gates.
    pub fn result(&self, values: &[bool]) -> u64 {
        let bit = |gate: &Option<usize>| gate.and_then(|gate| values.get(gate)).copied().unwrap_or(false);
        self.outputs.iter().rev().fold(0, |result, gate| result << 1 | u64::from(bit(gate)))
    }

    /// A gate, for people: `g7 = g3 * g5`.
    pub fn describe(&self, gate: usize) -> String {
        match self.gates.get(gate) {
            Some(Gate::And(a, b)) => format!("g{gate} = g{a} * g{b}"),
            Some(Gate::Input(input)) => format!("g{gate} = {}", self.inputs[*input]),
            Some(Gate::Xor(a, b)) => format!("g{gate} = g{a} + g{b}"),
            None => String::new(),
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.label)?;
        if self.place > 0 {
            write!(f, " bit {}", self.place)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
