// SPDX-License-Identifier: Apache-2.0
//! The questions for every scheme, and the figures published in 2013.

use serde::{Deserialize, Serialize};

use super::Contender;
use crate::{Circuit, LabError};

/// A circuit on encrypted bits, from encryption to decryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Figure 1: two bits, one XOR.
    Add,
    /// Figure 1: two bits, one AND, with all that belongs to it.
    Multiply,
    /// The same with operands that the owner encrypted, which approximate GCD need not refresh before.
    OwnerMultiply,
    /// Figure 2: 11 operations, depth 1.
    Eleven,
    /// Figure 2: 7 operations, depth 2.
    Seven,
}

impl Question {
    /// In the order of the report.
    pub const ALL: [Self; 5] = [Self::Add, Self::Multiply, Self::OwnerMultiply, Self::Eleven, Self::Seven];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Multiply => "multiply",
            Self::OwnerMultiply => "owner-multiply",
            Self::Eleven => "eleven",
            Self::Seven => "seven",
        }
    }

    /// By its name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|question| question.name() == name)
    }

    /// The expression; every letter is a bit.
    ///
    /// Only the counts of operations and the depths of figure 2 are known. These circuits have as many products as such counts allow
    /// in a natural expression: an inner product of six, and a product of two sums with products.
    pub fn expression(self) -> &'static str {
        match self {
            Self::Add => "a+b",
            Self::Multiply | Self::OwnerMultiply => "a*b",
            Self::Eleven => "a*b+c*d+e*f+g*h+i*j+k*l",
            Self::Seven => "(a*b+c)*(d*e+f)+g+h",
        }
    }

    /// The circuit, `value` giving the bit of every letter.
    ///
    /// # Errors
    /// None for the expressions here.
    pub fn circuit(self, value: &mut dyn FnMut(char) -> u64) -> Result<Circuit, LabError> {
        let values: Vec<(String, u64)> = ('a'..='l').map(|name| (name.to_string(), value(name))).collect();
        Circuit::parse(self.expression(), 1, &values)
    }

    /// Products one after the other.
    pub fn depth(self) -> u32 {
        match self {
            Self::Add => 0,
            Self::Multiply | Self::OwnerMultiply | Self::Eleven => 1,
            Self::Seven => 2,
        }
    }

    /// Which figure of the paper.
    pub fn figure(self) -> u32 {
        if matches!(self, Self::Eleven | Self::Seven) { 2 } else { 1 }
    }

    /// The published seconds on an i7 at 2.67 GHz: encryption, operations and decryption.
    ///
    /// The published multiplication of approximate GCD takes one Recrypt longer than its addition, which is what operands of the owner take:
    /// both ways are compared with it.
    pub fn published_s(self, contender: Contender, security: u32) -> Option<f64> {
        let at = [42, 52, 62, 72].iter().position(|&known| known == security)?;
        let figures: &[f64] = match (contender, self) {
            (Contender::Agcd, Self::Add) => &[0.048, 3.38, 71.0, 1460.0],
            (Contender::Agcd, Self::Multiply | Self::OwnerMultiply) => &[0.560, 7.37, 106.0, 1860.0],
            (Contender::Lwe | Contender::LweLeveled, Self::Add) => &[18.0, 48.9, 110.3, 249.0],
            (Contender::Lwe | Contender::LweLeveled, Self::Multiply) => &[35.9, 98.6, 225.1, 524.3],
            (Contender::Lwe | Contender::LweLeveled, Self::Eleven) => &[42.5, 109.3, 251.0],
            (Contender::Lwe | Contender::LweLeveled, Self::Seven) => &[39.4, 109.5, 251.1],
            _ => &[],
        };
        figures.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circuits_have_the_operations_and_depths_of_the_figures() {
        for (question, operations) in
            [(Question::Add, 1), (Question::Multiply, 1), (Question::Eleven, 11), (Question::Seven, 7)]
        {
            let circuit = question.circuit(&mut |_| 1).unwrap();
            let (ands, xors) = circuit.operations();
            assert_eq!((ands + xors, circuit.depth()), (operations, question.depth()), "{question:?}");
            assert_eq!(Question::by_name(question.name()), Some(question));
        }
    }
}
