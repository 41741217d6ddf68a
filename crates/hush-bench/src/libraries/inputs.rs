// SPDX-License-Identifier: Apache-2.0
//! The workload's vectors and what must come out.

/// Elements of each vector, as published.
pub(crate) const ELEMENTS: usize = 2760;
/// Plaintext modulus of the exact schemes: `1 mod 2N` up to `N = 32768`.
pub(crate) const PLAINTEXT_MODULUS: u64 = 65537;
/// CKKS computes on `value / 128`, so that every operand lies in `[-1, 1)`.
pub(crate) const REAL_UNIT: f64 = 128.0;

/// The three vectors. `|y·(x + z)| ≤ 128·256 = 2^15` does not wrap modulo 65537.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// First summand.
    pub x: Vec<i64>,
    /// Factor.
    pub y: Vec<i64>,
    /// Second summand.
    pub z: Vec<i64>,
}

impl Inputs {
    /// The vectors of every run: fixed, and without structure that a library could use.
    pub fn fixed() -> Self {
        let mut state = 0x5745_4b33_u64;
        let mut vector = || (0..ELEMENTS).map(|_| i64::from((next(&mut state) >> 56) as u8) - 128).collect();
        Self { x: vector(), y: vector(), z: vector() }
    }

    /// What an adapter reads on standard input: the length, then `x`, `y` and `z`, one number a line.
    pub fn to_text(&self) -> String {
        let numbers = self.x.iter().chain(&self.y).chain(&self.z);
        let lines: Vec<String> =
            std::iter::once(ELEMENTS.to_string()).chain(numbers.map(i64::to_string)).collect();
        lines.join("\n") + "\n"
    }

    /// The expected values of a name in the exact schemes; `None` for a name that no table has.
    pub fn expected(&self, name: &str) -> Option<Vec<i64>> {
        let pairs = |op: fn(i64, i64) -> i64| self.x.iter().zip(&self.y).map(|(&x, &y)| op(x, y)).collect();
        match name {
            "result" => {
                Some((self.x.iter().zip(&self.y).zip(&self.z)).map(|((&x, &y), &z)| y * (x + z)).collect())
            }
            "decrypted" => Some(self.x.clone()),
            "product" => Some(pairs(|x, y| x * y)),
            // What moves in from beyond the vector differs between libraries.
            "rotated" => Some(self.x[1..].to_vec()),
            _ => None,
        }
    }

    /// By what the named values are divided where the vectors were divided by 128.
    pub fn real_unit(name: &str) -> f64 {
        if matches!(name, "result" | "product") { REAL_UNIT * REAL_UNIT } else { REAL_UNIT }
    }
}

/// splitmix64.
pub(super) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_result_wraps_and_the_vectors_are_not_constant() {
        let inputs = Inputs::fixed();
        let largest = |name: &str| inputs.expected(name).unwrap().iter().map(|v| v.abs()).max().unwrap();
        assert!(largest("result") <= PLAINTEXT_MODULUS as i64 / 2, "{}", largest("result"));
        assert!(largest("decrypted") > 100);
        assert_eq!(inputs, Inputs::fixed());
        assert_eq!(inputs.to_text().lines().count(), 1 + 3 * ELEMENTS);
        assert_eq!(inputs.expected("rotated").unwrap().len(), ELEMENTS - 1);
    }
}
