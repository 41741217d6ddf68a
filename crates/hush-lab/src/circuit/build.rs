// SPDX-License-Identifier: Apache-2.0
//! From expressions to gates.

use hush_expr::{Comparison, Expression, Fold, Function, Logic, Ratio};

use super::{Circuit, Gate, Input};
use crate::LabError;

/// Gates of a circuit.
const MAX_GATES: usize = 1 << 16;

/// An integer modulo `2^width`: the gates of its bits, the lowest first; `None` is a 0 that costs nothing.
type Word = Vec<Option<usize>>;

pub(super) fn circuit(text: &str, width: u32, values: &[(String, u64)]) -> Result<Circuit, LabError> {
    if !(1..=32).contains(&width) {
        let expected = "between 1 and 32 bits";
        return Err(LabError::Parameter { name: "width", found: width.to_string(), expected });
    }
    let expression = Expression::parse(text)?;
    let mut builder = Builder {
        circuit: Circuit::default(),
        width: width as usize,
        names: vec![None; expression.names().len()],
    };
    for (place, name) in expression.names().iter().enumerate() {
        let value = values.iter().rfind(|(known, _)| known == name);
        let &(_, value) = value.ok_or_else(|| LabError::Name { label: name.clone() })?;
        let word = builder.input(name, value)?;
        builder.names[place] = Some(word);
    }
    let outputs = expression.fold(&mut builder)?;
    Ok(Circuit { outputs, ..builder.circuit })
}

struct Builder {
    circuit: Circuit,
    width: usize,
    names: Vec<Option<Word>>,
}

impl Builder {
    fn input(&mut self, label: &str, value: u64) -> Result<Word, LabError> {
        if value >> self.width != 0 {
            return Err(LabError::Value { label: label.to_owned(), width: self.width as u32 });
        }
        (0..self.width)
            .map(|place| {
                let input =
                    Input { label: label.to_owned(), place: place as u32, value: value >> place & 1 == 1 };
                self.circuit.inputs.push(input);
                self.gate(Gate::Input(self.circuit.inputs.len() - 1), 0).map(Some)
            })
            .collect()
    }

    fn gate(&mut self, gate: Gate, depth: u32) -> Result<usize, LabError> {
        if self.circuit.gates.len() == MAX_GATES {
            return Err(LabError::Gates { limit: MAX_GATES });
        }
        self.circuit.gates.push(gate);
        self.circuit.depths.push(depth);
        Ok(self.circuit.gates.len() - 1)
    }

    fn deeper(&self, a: usize, b: usize) -> u32 {
        self.circuit.depth_at(a).max(self.circuit.depth_at(b))
    }

    fn xor(&mut self, a: Option<usize>, b: Option<usize>) -> Result<Option<usize>, LabError> {
        match (a, b) {
            (Some(a), Some(b)) => self.gate(Gate::Xor(a, b), self.deeper(a, b)).map(Some),
            (one, None) | (None, one) => Ok(one),
        }
    }

    fn and(&mut self, a: Option<usize>, b: Option<usize>) -> Result<Option<usize>, LabError> {
        match (a, b) {
            (Some(a), Some(b)) => self.gate(Gate::And(a, b), self.deeper(a, b) + 1).map(Some),
            _ => Ok(None),
        }
    }

    /// Ripple carry: `s = a + b + c`, and the next carry `(a + b)(a + c) + a`, the majority of the three; none behind the last bit.
    fn plus(&mut self, a: &Word, b: &Word) -> Result<Word, LabError> {
        let mut carry = None;
        let mut sum = Word::with_capacity(self.width);
        for (place, (&a, &b)) in a.iter().zip(b).enumerate() {
            let both = self.xor(a, b)?;
            sum.push(self.xor(both, carry)?);
            if place + 1 < self.width {
                carry = match (a, b, carry) {
                    (a, b, None) => self.and(a, b)?,
                    (Some(a), Some(_), carry) => {
                        let other = self.xor(Some(a), carry)?;
                        let product = self.and(both, other)?;
                        self.xor(product, Some(a))?
                    }
                    (one, None, carry) | (None, one, carry) => self.and(one, carry)?,
                };
            }
        }
        Ok(sum)
    }

    /// Shift and add: the rows `a·b_j·2^j`, cut to the width, summed by a balanced tree.
    fn times(&mut self, a: &Word, b: &Word) -> Result<Word, LabError> {
        let mut rows = Vec::with_capacity(self.width);
        for (shift, &bit) in b.iter().enumerate() {
            let mut row = vec![None; shift];
            for &other in a.iter().take(self.width - shift) {
                row.push(self.and(other, bit)?);
            }
            rows.push(row);
        }
        self.balanced(rows, Self::plus)
    }

    fn balanced(
        &mut self,
        mut words: Vec<Word>,
        join: fn(&mut Self, &Word, &Word) -> Result<Word, LabError>,
    ) -> Result<Word, LabError> {
        while words.len() > 1 {
            let mut next = Vec::with_capacity(words.len().div_ceil(2));
            for pair in words.chunks(2) {
                next.push(match pair {
                    [a, b] => join(self, a, b)?,
                    _ => pair.concat(),
                });
            }
            words = next;
        }
        Ok(words.pop().unwrap_or_else(|| vec![None; self.width]))
    }
}

impl Fold for Builder {
    type Value = Word;
    type Error = LabError;

    fn call(&mut self, _: Function, _: Vec<Word>) -> Result<Word, LabError> {
        Err(LabError::Unsupported { what: "a function of vectors" })
    }

    fn choose(&mut self, _: Word, _: Word, _: Word, position: usize) -> Result<Word, LabError> {
        Err(LabError::gates("if", position))
    }

    fn compare(
        &mut self,
        comparison: Comparison,
        _: Word,
        _: Word,
        position: usize,
    ) -> Result<Word, LabError> {
        Err(LabError::gates(comparison.symbol(), position))
    }

    fn extreme(&mut self, is_greatest: bool, _: Vec<Word>, position: usize) -> Result<Word, LabError> {
        Err(LabError::gates(if is_greatest { "max" } else { "min" }, position))
    }

    fn look_up(&mut self, _: Word, _: Vec<Word>, position: usize) -> Result<Word, LabError> {
        Err(LabError::gates("lookup", position))
    }

    fn logic(&mut self, operation: Logic, _: Vec<Word>, position: usize) -> Result<Word, LabError> {
        Err(LabError::gates(operation.name(), position))
    }

    fn name(&mut self, index: usize) -> Result<Word, LabError> {
        let word = self.names.get(index).cloned().flatten();
        word.ok_or(LabError::Unsupported { what: "a name without bits" })
    }

    fn negative(&mut self, value: Word) -> Result<Word, LabError> {
        // Modulo 2 there are no signs.
        if self.width == 1 { Ok(value) } else { Err(LabError::Unsupported { what: "a minus sign" }) }
    }

    fn not(&mut self, _: Word, position: usize) -> Result<Word, LabError> {
        Err(LabError::gates("not", position))
    }

    fn number(&mut self, number: &Ratio) -> Result<Word, LabError> {
        let value = number.to_integer().and_then(|value| u64::try_from(value).ok());
        let value = value.ok_or(LabError::Value { label: number.to_string(), width: self.width as u32 })?;
        self.input(&number.to_string(), value)
    }

    fn power(&mut self, base: Word, exponent: u32) -> Result<Word, LabError> {
        if exponent == 0 {
            return self.input("1", 1);
        }
        self.balanced(vec![base; exponent as usize], Self::times)
    }

    fn product(&mut self, factors: Vec<Word>) -> Result<Word, LabError> {
        self.balanced(factors, Self::times)
    }

    fn reciprocal(&mut self, _: Word, _: usize) -> Result<Word, LabError> {
        Err(LabError::Unsupported { what: "a division" })
    }

    fn sum(&mut self, terms: Vec<Word>) -> Result<Word, LabError> {
        self.balanced(terms, Self::plus)
    }
}

#[cfg(test)]
mod tests {
    use hush_expr::ExprError;

    use super::*;

    #[test]
    fn what_is_no_sum_and_no_product_is_refused_with_its_place() {
        let values = [("x".to_owned(), 1)];
        for (text, at) in [
            ("1+(x<2)", 5),
            ("x xor x", 3),
            ("not x", 1),
            ("1+max(x, 2)", 3),
            ("if(x, 1, 0)", 1),
            ("2*lookup(x, 1, 0)", 3),
        ] {
            let refused = circuit(text, 4, &values).err();
            let expected =
                |error: &ExprError| matches!(error, ExprError::Gates { position, .. } if *position == at);
            assert!(
                matches!(&refused, Some(LabError::Expression(error)) if expected(error)),
                "{text}: {refused:?}"
            );
        }
    }
}
