// SPDX-License-Identifier: Apache-2.0
//! Schemes that can only multiply, or only add: RSA and Paillier, as they stand in textbooks, for contrast.
//!
//! **Insecure.** RSA without padding encrypts equal messages equally; both can be changed under way, which is why they are here; sizes
//! are chosen for speed.

use hush_expr::{Comparison, Expression, Fold, Function, Logic, Ratio};
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::One;

use crate::primes::random_prime;
use crate::{LabError, Seed, Stream};

/// A scheme with one operation on ciphertexts.
pub trait InsecurePartial {
    /// As on the command line.
    const NAME: &'static str;

    /// Makes keys with a modulus of `bits` bits, 16 to 8192.
    ///
    /// # Errors
    /// [`LabError::Parameter`].
    fn generate(bits: u32, randomness: &mut Stream) -> Result<Self, LabError>
    where
        Self: Sized;
    /// The plaintext modulus.
    fn modulus(&self) -> &BigUint;
    /// Encrypts a number below the modulus.
    fn encrypt(&self, message: &BigUint, randomness: &mut Stream) -> BigUint;
    /// By the secret key.
    fn decrypt(&self, ct: &BigUint) -> BigUint;
    /// The sum of two plaintexts.
    ///
    /// # Errors
    /// [`LabError::Unsupported`] where there is none.
    fn add(&self, a: &BigUint, b: &BigUint) -> Result<BigUint, LabError>;
    /// The product of two plaintexts.
    ///
    /// # Errors
    /// [`LabError::Unsupported`] where there is none.
    fn multiply(&self, a: &BigUint, b: &BigUint) -> Result<BigUint, LabError>;
}

/// **Insecure.** Textbook RSA (Rivest, Shamir and Adleman 1978): `c = m^e mod n`, so that products of ciphertexts encrypt products.
pub struct InsecureRsa {
    n: BigUint,
    e: BigUint,
    d: BigUint,
}

impl InsecurePartial for InsecureRsa {
    const NAME: &'static str = "rsa";

    fn generate(bits: u32, randomness: &mut Stream) -> Result<Self, LabError> {
        let e = BigUint::from(65_537_u32);
        loop {
            let (p, q) = two_primes(bits, randomness)?;
            let order = (&p - 1_u32).lcm(&(&q - 1_u32));
            if let Some(d) = e.modinv(&order) {
                return Ok(Self { n: p * q, e, d });
            }
        }
    }

    fn modulus(&self) -> &BigUint {
        &self.n
    }

    fn encrypt(&self, message: &BigUint, _: &mut Stream) -> BigUint {
        message.modpow(&self.e, &self.n)
    }

    fn decrypt(&self, ct: &BigUint) -> BigUint {
        ct.modpow(&self.d, &self.n)
    }

    fn add(&self, _: &BigUint, _: &BigUint) -> Result<BigUint, LabError> {
        Err(LabError::Unsupported { what: "a sum of RSA ciphertexts (they only multiply)" })
    }

    fn multiply(&self, a: &BigUint, b: &BigUint) -> Result<BigUint, LabError> {
        Ok(a * b % &self.n)
    }
}

/// **Insecure** at these sizes. Paillier (Eurocrypt 1999): `c = (1 + n)^m r^n mod n²`, so that products of ciphertexts encrypt sums.
pub struct InsecurePaillier {
    n: BigUint,
    n_squared: BigUint,
    order: BigUint,
    inverse: BigUint,
}

impl InsecurePartial for InsecurePaillier {
    const NAME: &'static str = "paillier";

    fn generate(bits: u32, randomness: &mut Stream) -> Result<Self, LabError> {
        loop {
            let (p, q) = two_primes(bits, randomness)?;
            let n = &p * &q;
            let order = (p - 1_u32).lcm(&(q - 1_u32));
            // Also says that n is prime to its totient.
            if let Some(inverse) = order.modinv(&n) {
                return Ok(Self { n_squared: &n * &n, n, order, inverse });
            }
        }
    }

    fn modulus(&self) -> &BigUint {
        &self.n
    }

    fn encrypt(&self, message: &BigUint, randomness: &mut Stream) -> BigUint {
        let unit = loop {
            // 64 bits more than the modulus: the bias is below 2^-64.
            let mut bytes = vec![0; self.n.bits().div_ceil(8) as usize + 8];
            randomness.fill(&mut bytes);
            let candidate = BigUint::from_bytes_le(&bytes) % &self.n;
            if candidate.gcd(&self.n).is_one() {
                break candidate;
            }
        };
        // (1 + n)^m = 1 + m·n modulo n².
        (BigUint::one() + message * &self.n) * unit.modpow(&self.n, &self.n_squared) % &self.n_squared
    }

    fn decrypt(&self, ct: &BigUint) -> BigUint {
        let power = ct.modpow(&self.order, &self.n_squared);
        // A foreign ciphertext may give 0; 1 cannot be subtracted from it.
        let quotient = (power + &self.n_squared - 1_u32) % &self.n_squared / &self.n;
        quotient * &self.inverse % &self.n
    }

    fn add(&self, a: &BigUint, b: &BigUint) -> Result<BigUint, LabError> {
        Ok(a * b % &self.n_squared)
    }

    fn multiply(&self, _: &BigUint, _: &BigUint) -> Result<BigUint, LabError> {
        Err(LabError::Unsupported { what: "a product of Paillier ciphertexts (they only add)" })
    }
}

/// Encrypts the numbers of an expression one by one, evaluates it, and returns the decrypted result and the exact one, both modulo n.
///
/// # Errors
/// [`LabError::Unsupported`] for the operation that the scheme has not; [`LabError::Expression`]; [`LabError::Value`] for numbers that
/// are not whole or not below `n`; [`LabError::Name`] for a name without a value.
pub fn evaluate<S: InsecurePartial>(
    scheme: &S,
    text: &str,
    values: &[(String, u64)],
    randomness: &mut Stream,
) -> Result<(BigUint, BigUint), LabError> {
    run(scheme, text, values, randomness, None)
}

/// Refuses what [`evaluate`] with a modulus of `bits` bits would refuse, without the time that keys of that size take: with keys of 16
/// bits, and numbers modulo theirs. A number as long as the modulus passes, and may still be too large for it.
///
/// # Errors
/// As [`evaluate`].
pub fn check<S: InsecurePartial>(text: &str, values: &[(String, u64)], bits: u32) -> Result<(), LabError> {
    let mut randomness = Stream::derive(&Seed::from_text("check"), "partial");
    let scheme = S::generate(CHECK_BITS, &mut randomness)?;
    run(&scheme, text, values, &mut randomness, Some(bits)).map(drop)
}

fn run<S: InsecurePartial>(
    scheme: &S,
    text: &str,
    values: &[(String, u64)],
    randomness: &mut Stream,
    checked_bits: Option<u32>,
) -> Result<(BigUint, BigUint), LabError> {
    let expression = Expression::parse(text)?;
    let names = expression.names();
    let mut meaning = Evaluation { scheme, values, names, randomness, checked_bits };
    let Pair { ct, clear } = expression.fold(&mut meaning)?;
    Ok((scheme.decrypt(&ct), clear))
}

const CHECK_BITS: u32 = 16;

struct Evaluation<'a, S> {
    scheme: &'a S,
    values: &'a [(String, u64)],
    names: &'a [String],
    randomness: &'a mut Stream,
    /// Numbers of so many bits are taken modulo the modulus, which is a short one.
    checked_bits: Option<u32>,
}

#[derive(Clone)]
struct Pair {
    ct: BigUint,
    clear: BigUint,
}

impl<S: InsecurePartial> Evaluation<'_, S> {
    fn input(&mut self, label: &str, value: Option<BigUint>) -> Result<Pair, LabError> {
        let modulus = self.scheme.modulus();
        let width = self.checked_bits.unwrap_or(modulus.bits() as u32);
        let fits = |value: &BigUint| match self.checked_bits {
            Some(bits) => value.bits() <= bits.into(),
            None => value < modulus,
        };
        let refused = || LabError::Value { label: label.to_owned(), width };
        let clear = value.filter(fits).ok_or_else(refused)? % modulus;
        Ok(Pair { ct: self.scheme.encrypt(&clear, self.randomness), clear })
    }

    fn join(
        &self,
        pairs: Vec<Pair>,
        encrypted: impl Fn(&BigUint, &BigUint) -> Result<BigUint, LabError>,
        clear: impl Fn(&BigUint, &BigUint) -> BigUint,
    ) -> Result<Pair, LabError> {
        let mut pairs = pairs.into_iter();
        let first = pairs.next().ok_or(LabError::Unsupported { what: "nothing" })?;
        pairs.try_fold(first, |left, right| {
            let clear = clear(&left.clear, &right.clear) % self.scheme.modulus();
            Ok(Pair { ct: encrypted(&left.ct, &right.ct)?, clear })
        })
    }
}

impl<S: InsecurePartial> Fold for Evaluation<'_, S> {
    type Value = Pair;
    type Error = LabError;

    fn call(&mut self, _: Function, _: Vec<Pair>) -> Result<Pair, LabError> {
        Err(LabError::Unsupported { what: "a function of vectors" })
    }

    fn choose(&mut self, _: Pair, _: Pair, _: Pair, position: usize) -> Result<Pair, LabError> {
        Err(LabError::gates("if", position))
    }

    fn compare(
        &mut self,
        comparison: Comparison,
        _: Pair,
        _: Pair,
        position: usize,
    ) -> Result<Pair, LabError> {
        Err(LabError::gates(comparison.symbol(), position))
    }

    fn extreme(&mut self, is_greatest: bool, _: Vec<Pair>, position: usize) -> Result<Pair, LabError> {
        Err(LabError::gates(if is_greatest { "max" } else { "min" }, position))
    }

    fn look_up(&mut self, _: Pair, _: Vec<Pair>, position: usize) -> Result<Pair, LabError> {
        Err(LabError::gates("lookup", position))
    }

    fn logic(&mut self, operation: Logic, _: Vec<Pair>, position: usize) -> Result<Pair, LabError> {
        Err(LabError::gates(operation.name(), position))
    }

    fn name(&mut self, index: usize) -> Result<Pair, LabError> {
        let name = self.names.get(index).map_or("?", String::as_str);
        let value = self.values.iter().rfind(|(known, _)| known == name);
        let &(_, value) = value.ok_or_else(|| LabError::Name { label: name.to_owned() })?;
        self.input(name, Some(value.into()))
    }

    fn negative(&mut self, _: Pair) -> Result<Pair, LabError> {
        Err(LabError::Unsupported { what: "a minus sign" })
    }

    fn not(&mut self, _: Pair, position: usize) -> Result<Pair, LabError> {
        Err(LabError::gates("not", position))
    }

    fn number(&mut self, number: &Ratio) -> Result<Pair, LabError> {
        self.input(&number.to_string(), number.to_integer().and_then(|value| value.to_biguint()))
    }

    fn power(&mut self, base: Pair, exponent: u32) -> Result<Pair, LabError> {
        if exponent == 0 {
            return self.input("1", Some(BigUint::one()));
        }
        self.product(vec![base; exponent as usize])
    }

    fn product(&mut self, factors: Vec<Pair>) -> Result<Pair, LabError> {
        self.join(factors, |a, b| self.scheme.multiply(a, b), |a, b| a * b)
    }

    fn reciprocal(&mut self, _: Pair, _: usize) -> Result<Pair, LabError> {
        Err(LabError::Unsupported { what: "a division" })
    }

    fn sum(&mut self, terms: Vec<Pair>) -> Result<Pair, LabError> {
        self.join(terms, |a, b| self.scheme.add(a, b), |a, b| a + b)
    }
}

/// Two different primes with a product of `bits` bits.
fn two_primes(bits: u32, randomness: &mut Stream) -> Result<(BigUint, BigUint), LabError> {
    if !(16..=8192).contains(&bits) {
        return Err(LabError::Parameter {
            name: "modulus-bits",
            found: bits.to_string(),
            expected: "between 16 and 8192",
        });
    }
    loop {
        let p = random_prime(u64::from(bits / 2), randomness);
        let q = random_prime(u64::from(bits - bits / 2), randomness);
        if p != q {
            return Ok((p, q));
        }
    }
}

#[cfg(test)]
mod tests {
    use hush_expr::ExprError;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rsa_multiplies_and_paillier_adds(bits in 40_u32..200, x in any::<u32>(), y in any::<u32>(), seed in any::<[u8; 32]>()) {
            let mut random = Stream::derive(&Seed(seed), "partial");
            let (rsa, paillier) =
                (InsecureRsa::generate(bits, &mut random).unwrap(), InsecurePaillier::generate(bits, &mut random).unwrap());
            prop_assert_eq!(rsa.modulus().bits(), u64::from(bits));
            let (found, clear) = evaluate(&rsa, &format!("{x}*{y}*{x}"), &[], &mut random).unwrap();
            prop_assert_eq!(&found, &clear);
            prop_assert_eq!(found, BigUint::from(x) * y * x % rsa.modulus());
            let (found, clear) = evaluate(&paillier, &format!("{x}+{y}+v"), &[("v".to_owned(), 7)], &mut random).unwrap();
            prop_assert_eq!(&found, &clear);
            prop_assert_eq!(found, (BigUint::from(x) + y + 7_u32) % paillier.modulus());
        }
    }

    #[test]
    fn a_check_without_long_keys_refuses_what_evaluation_would() {
        let values = [("x".to_owned(), u64::MAX)];
        assert!(check::<InsecureRsa>("7*6*x^2", &values, 8192).is_ok());
        assert!(check::<InsecurePaillier>("7+6+x+70000", &values, 8192).is_ok());
        // Behind a number that is too large for the keys of the check.
        let refused = |result: Result<(), LabError>| matches!(result, Err(LabError::Unsupported { .. }));
        assert!(refused(check::<InsecureRsa>("x*70000+1", &values, 8192)));
        assert!(refused(check::<InsecurePaillier>("(x+70000)*2", &values, 8192)));
        assert!(matches!(check::<InsecureRsa>("y*2", &values, 8192), Err(LabError::Name { .. })));
        assert!(matches!(check::<InsecureRsa>("x*2", &values, 32), Err(LabError::Value { width: 32, .. })));
        assert!(matches!(check::<InsecureRsa>("2*", &values, 512), Err(LabError::Expression(_))));
    }

    #[test]
    fn what_is_no_sum_and_no_product_is_refused_with_its_place() {
        let values = [("x".to_owned(), 1)];
        for (text, at) in
            [("1+(x<2)", 5), ("x and x", 3), ("not x", 1), ("1+min(x, 2)", 3), ("if(x, 1, 0)", 1)]
        {
            let refused = check::<InsecurePaillier>(text, &values, 512);
            let expected =
                |error: &ExprError| matches!(error, ExprError::Gates { position, .. } if *position == at);
            assert!(
                matches!(&refused, Err(LabError::Expression(error)) if expected(error)),
                "{text}: {refused:?}"
            );
        }
    }

    #[test]
    fn the_other_operation_and_bad_sizes_are_refused() {
        let mut random = Stream::derive(&Seed::from_text("partial"), "partial");
        let rsa = InsecureRsa::generate(64, &mut random).unwrap();
        let paillier = InsecurePaillier::generate(64, &mut random).unwrap();
        assert!(matches!(evaluate(&rsa, "1+2", &[], &mut random), Err(LabError::Unsupported { .. })));
        assert!(matches!(evaluate(&paillier, "2*3", &[], &mut random), Err(LabError::Unsupported { .. })));
        assert!(matches!(evaluate(&paillier, "2+0.5", &[], &mut random), Err(LabError::Value { .. })));
        assert!(matches!(
            evaluate(&paillier, "2^70", &[], &mut random),
            Err(LabError::Unsupported { .. } | LabError::Expression(_))
        ));
        assert!(InsecureRsa::generate(8, &mut random).is_err());
        // A ciphertext from nowhere is decrypted to something.
        assert!(paillier.decrypt(&BigUint::ZERO) < *paillier.modulus());
    }
}
