// SPDX-License-Identifier: Apache-2.0
//! The security of the sets today: the cost of the best simple attacks, and sizes for people.

use super::{InsecureCnt12Literal, InsecureCnt12Parameters};
use crate::scheme::Sizes;

impl InsecureCnt12Parameters {
    /// log2 of the word operations of the cheaper of two attacks; an estimate, polylogarithmic factors left out.
    ///
    /// # Math
    /// *Guessing the noise.* `x_0` has no noise, so `p` divides the greatest common divisor of `x_0` and `Π (x_1 − 2r)` over all `r`; as a
    /// polynomial evaluated at many points the product takes about `2^((ρ+1)/2)` products of `γ` bits, and as many such numbers of
    /// memory.
    /// *Meeting in the middle* of the squashed key: its first box is public (the one is at place 0), so `(Θ/θ)^((θ−1)/2)` sums of half
    /// of the others, and about as many of them in memory.
    ///
    /// Lattice reduction is not counted: vectors of LLL's quality would break every named set, and what keeps LLL from being
    /// run in dimension `γ/η` on numbers of `γ` bits is its own cost, for which there is no good estimate.
    ///
    /// # References
    /// \[CN12\]; \[CNT12, section 4\] for the boxes of the squashed key.
    pub fn security_bits(&self) -> f64 {
        let [guessing, subset_sum] = self.attacks_log2();
        guessing.min(subset_sum)
    }

    /// log2 of the word operations of both attacks of [`Self::security_bits`]: guessing the noise, meeting in the middle.
    pub fn attacks_log2(&self) -> [f64; 2] {
        let l = self.literal();
        let guessing = (l.noise_bits as f64 + 1.0) / 2.0 + (l.ciphertext_bits as f64 / 64.0).log2();
        let subset_sum = ((l.secret_bits / l.boxes) as f64).log2() * l.boxes.saturating_sub(1) as f64 / 2.0;
        [guessing, subset_sum]
    }

    /// Names and values, for people.
    pub fn description(&self) -> Vec<(&'static str, String)> {
        let l: &InsecureCnt12Literal = self.literal();
        vec![
            ("prime p, eta", format!("{} bits", l.prime_bits)),
            ("noise rho", format!("{} bits", l.noise_bits)),
            ("ciphertext gamma", format!("{} bits", l.ciphertext_bits)),
            ("zeros tau", format!("{}, factors of alpha = {} bits", l.zero_count, l.factor_bits)),
            ("squashed key Theta", format!("{} bits in theta = {} boxes", l.secret_bits, l.boxes)),
            ("fresh noise", format!("up to {} bits", self.fresh_noise_bits())),
            ("refreshed noise", format!("up to {} bits", self.refreshed_noise_bits())),
            ("Recrypt takes", format!("up to {} bits", self.refreshable_bits())),
            ("depth", "no limit: Recrypt after every product".to_owned()),
            ("estimated security", format!("about {:.0} bits: {}", self.security_bits(), VERDICT)),
        ]
    }

    /// Bytes of keys and ciphertexts: compressed as stored, and with the long integers of the seeds written out.
    pub fn sizes(&self) -> Sizes {
        let l = self.literal();
        let correction = l.prime_bits + u64::from(l.security);
        let public = (l.zero_count as u64 * correction + l.ciphertext_bits) / 8;
        Sizes {
            secret: (l.prime_bits + 32 * l.boxes as u64) / 8,
            public,
            evaluation: self.public_key_bytes() - public,
            evaluation_expanded: 2 * l.secret_bits as u64 * self.ciphertext_bytes(),
            ciphertext: self.ciphertext_bytes(),
        }
    }
}

const VERDICT: &str = "guessing the noise, meeting in the middle";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_named_set_keeps_what_it_claims() {
        for (name, set) in InsecureCnt12Parameters::insecure_named().into_iter().skip(1) {
            assert!(set.security_bits() < f64::from(set.literal().security), "{name}");
            let sizes = set.sizes();
            assert_eq!(sizes.public + sizes.evaluation, set.public_key_bytes(), "{name}");
        }
    }

    #[test]
    fn attacks_cost_what_the_documentation_says() {
        let expected = [(24.7, 23.3), (34.7, 36.5), (44.5, 49.8), (54.2, 63.4)];
        let sets = InsecureCnt12Parameters::insecure_named().into_iter().skip(1);
        for ((name, set), (guessing, splitting)) in sets.zip(expected) {
            let [found_guessing, found_splitting] = set.attacks_log2();
            assert!((found_guessing - guessing).abs() < 0.06, "{name}: {found_guessing}");
            assert!((found_splitting - splitting).abs() < 0.06, "{name}: {found_splitting}");
            let least = f64::min(found_guessing, found_splitting);
            assert!((set.security_bits() - least).abs() < 1e-9, "{name}");
        }
    }
}
