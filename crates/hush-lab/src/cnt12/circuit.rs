// SPDX-License-Identifier: Apache-2.0
//! The circuit of Recrypt: a sum of binary numbers, rounded to one bit.

/// Gates on whatever stands for a bit.
pub(crate) trait Gates {
    /// A bit, encrypted or not.
    type Bit: Clone;
    /// `a + b` modulo 2.
    fn xor(&self, a: &Self::Bit, b: &Self::Bit) -> Self::Bit;

    /// `Σ a·b` modulo 2 over the pairs.
    fn sum_of_products(&self, pairs: Vec<(Self::Bit, Self::Bit)>) -> Option<Self::Bit>;
}

/// `⌊S/2^n⌉ mod 2`, for the sum `S` of numbers of `n + 1` bits. Column `k` holds the bits of weight `2^k`.
///
/// # Math
/// A column is summed by full adders in a chain: from the running bit `s` and two more, `s + x + y` runs on and
/// `(s+x)(s+y) + s` carries into the next column. Of the last fractional column only the parity of the carries counts. The
/// result is that parity, the parity of column `n`, and the bit `n − 1` of `S`, which rounds.
///
/// # Noise
/// A carry of column `k` is a polynomial of degree `2^(k+1)` in the inputs; the result has degree `2^n`.
///
/// # Cost
/// Half as many products as bits in columns `0 … n−1`, carries included: 45 for fifteen numbers of 5 bits, of which 31 are
/// reduced one by one.
///
/// # References
/// Differs from the ripple-carry addition that the authors' program uses, which takes 98 products: the same sum.
///
/// Without columns, or with one that is empty, there is no result.
pub(crate) fn rounded_sum<G: Gates>(gates: &G, columns: Vec<Vec<G::Bit>>) -> Option<G::Bit> {
    let mut carries: Vec<G::Bit> = Vec::new();
    let count = columns.len();
    let mut rounding = None;
    for (index, mut column) in columns.into_iter().enumerate() {
        column.append(&mut carries);
        let mut rest = column.into_iter();
        let mut sum = rest.next()?;
        if index + 1 == count {
            sum = rest.fold(sum, |sum, bit| gates.xor(&sum, &bit));
            return rounding.map(|rounding| gates.xor(&sum, &rounding));
        }
        let is_last = index + 2 == count;
        let mut pairs = Vec::new();
        let mut linear: Option<G::Bit> = None;
        while let Some(x) = rest.next() {
            let (pair, addend) = match rest.next() {
                Some(y) => {
                    let with_x = gates.xor(&sum, &x);
                    let pair = (with_x.clone(), gates.xor(&sum, &y));
                    (pair, Some(std::mem::replace(&mut sum, gates.xor(&with_x, &y))))
                }
                None => {
                    let with_x = gates.xor(&sum, &x);
                    ((std::mem::replace(&mut sum, with_x), x), None)
                }
            };
            if is_last {
                pairs.push(pair);
                linear = xor_options(gates, linear, addend);
            } else {
                let product = gates.sum_of_products(vec![pair]);
                carries.extend(xor_options(gates, product, addend));
            }
        }
        if is_last {
            let products = gates.sum_of_products(pairs);
            carries.extend(xor_options(gates, products, linear));
            rounding = Some(sum);
        }
    }
    None
}

fn xor_options<G: Gates>(gates: &G, a: Option<G::Bit>, b: Option<G::Bit>) -> Option<G::Bit> {
    match (a, b) {
        (Some(a), Some(b)) => Some(gates.xor(&a, &b)),
        (a, b) => a.or(b),
    }
}

/// `log2(2^a + 2^b)`.
pub(crate) fn log2_sum(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    high + (low - high).exp2().ln_1p() / std::f64::consts::LN_2
}

/// The usual size of the noise, as a base-2 logarithm, in place of bits.
///
/// Noises are taken as independent and of random sign, so that squares add up: the worst case is larger by a factor that grows
/// with the degree, and no run comes near it.
pub(crate) struct NoiseGates;

impl Gates for NoiseGates {
    type Bit = f64;

    fn xor(&self, a: &f64, b: &f64) -> f64 {
        log2_sum(2.0 * a, 2.0 * b) / 2.0
    }

    fn sum_of_products(&self, pairs: Vec<(f64, f64)>) -> Option<f64> {
        pairs.into_iter().map(|(a, b)| a + b).reduce(|a, b| self.xor(&a, &b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    /// Plain bits, with a count of products.
    struct Plain(Cell<usize>);

    impl Gates for Plain {
        type Bit = bool;

        fn xor(&self, a: &bool, b: &bool) -> bool {
            a ^ b
        }

        fn sum_of_products(&self, pairs: Vec<(bool, bool)>) -> Option<bool> {
            self.0.set(self.0.get() + pairs.len());
            pairs.into_iter().map(|(a, b)| a & b).reduce(|a, b| a ^ b)
        }
    }

    proptest! {
        #[test]
        fn it_is_the_rounded_sum(numbers in prop::collection::vec(0u32..32, 1..16), n in 1usize..5) {
            let numbers: Vec<u32> = numbers.iter().map(|z| z % (2 << n)).collect();
            let columns = (0..=n).map(|bit| numbers.iter().map(|z| z >> bit & 1 == 1).collect()).collect();
            let sum: u32 = numbers.iter().sum();
            let rounded = (sum + (1 << (n - 1))) >> n & 1 == 1;
            prop_assert_eq!(rounded_sum(&Plain(Cell::new(0)), columns), Some(rounded));
        }
    }

    #[test]
    fn fifteen_numbers_take_45_products() {
        let gates = Plain(Cell::new(0));
        rounded_sum(&gates, vec![vec![true; 15]; 5]);
        assert_eq!(gates.0.get(), 45);
    }

    #[test]
    fn empty_columns_have_no_sum() {
        let gates = Plain(Cell::new(0));
        assert_eq!(rounded_sum(&gates, vec![]), None);
        assert_eq!(rounded_sum(&gates, vec![vec![], vec![true]]), None);
        assert_eq!(rounded_sum(&gates, vec![vec![true]]), None);
    }
}
