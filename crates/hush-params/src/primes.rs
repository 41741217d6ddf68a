// SPDX-License-Identifier: Apache-2.0
//! Primes for every chain: the largest below each power of two that are `1 mod 2^17`, so that one table serves every
//! ring up to `N = 65536`.

/// The largest primes below `2^bits` that are `1 mod 2^17`, in falling order; none outside 30 to 47 bits. Those of
/// 47 bits are below `2^46.95`, the limit of the lazy 52-bit arithmetic.
pub fn primes_of(bits: u32) -> &'static [u64] {
    (bits.checked_sub(SMALLEST_BITS)).and_then(|index| TABLE.get(index as usize)).copied().unwrap_or(&[])
}

/// A prime of 26 bits, all that the security table allows at `N = 1024`, and one of 27: together the 53 of `N = 2048`.
///
/// Chains may be made of them; nothing chooses them, since a chain of larger primes has fewer.
pub const SMALL_PRIMES: [u64; 2] = [0x3ee_0001, 0x7e0_0001];

/// Bits of the smallest primes that a chain may have.
pub(crate) const SMALLEST_CHAIN_BITS: u32 = 26;

/// Bits of the smallest primes that are chosen.
pub const SMALLEST_BITS: u32 = 30;
/// Bits of the largest primes in use.
pub const LARGEST_BITS: u32 = 47;

/// Those of 32 bits: plaintext primes for slots as well, at N = 4096.
pub(crate) const BITS_32: [u64; 12] = [
    0xfff0_0001,
    0xffd2_0001,
    0xffac_0001,
    0xffa2_0001,
    0xff82_0001,
    0xff78_0001,
    0xff66_0001,
    0xff5a_0001,
    0xff4e_0001,
    0xff2e_0001,
    0xff1e_0001,
    0xff1c_0001,
];

/// Those of 45 bits: plaintext primes for slots as well, at N = 8192.
pub(crate) const BITS_45: [u64; 20] = [
    0x1fff_ffc2_0001,
    0x1fff_ff98_0001,
    0x1fff_ff7e_0001,
    0x1fff_ff36_0001,
    0x1fff_ff06_0001,
    0x1fff_fede_0001,
    0x1fff_feca_0001,
    0x1fff_feb4_0001,
    0x1fff_fe76_0001,
    0x1fff_fe64_0001,
    0x1fff_fe52_0001,
    0x1fff_fe0c_0001,
    0x1fff_fdee_0001,
    0x1fff_fdb6_0001,
    0x1fff_fd80_0001,
    0x1fff_fd76_0001,
    0x1fff_fd70_0001,
    0x1fff_fd16_0001,
    0x1fff_fcf0_0001,
    0x1fff_fcc8_0001,
];

/// The default size: a uniform residue is 46 random bits that are almost never rejected.
pub(crate) const BITS_46: [u64; 40] = [
    0x3fff_ffcc_0001,
    0x3fff_ffb2_0001,
    0x3fff_ffa8_0001,
    0x3fff_ff96_0001,
    0x3fff_ff8e_0001,
    0x3fff_ff52_0001,
    0x3fff_fec2_0001,
    0x3fff_feaa_0001,
    0x3fff_fe94_0001,
    0x3fff_fe74_0001,
    0x3fff_fe4c_0001,
    0x3fff_fe46_0001,
    0x3fff_fe40_0001,
    0x3fff_fe3a_0001,
    0x3fff_fe1a_0001,
    0x3fff_fdfe_0001,
    0x3fff_fdd8_0001,
    0x3fff_fd74_0001,
    0x3fff_fd60_0001,
    0x3fff_fd42_0001,
    0x3fff_fd3e_0001,
    0x3fff_fd2c_0001,
    0x3fff_fd18_0001,
    0x3fff_fd14_0001,
    0x3fff_fcdc_0001,
    0x3fff_fc70_0001,
    0x3fff_fc5a_0001,
    0x3fff_fc2a_0001,
    0x3fff_fc24_0001,
    0x3fff_fc16_0001,
    0x3fff_fbee_0001,
    0x3fff_fbec_0001,
    0x3fff_fbca_0001,
    0x3fff_fbbc_0001,
    0x3fff_fbb8_0001,
    0x3fff_fb52_0001,
    0x3fff_fb4a_0001,
    0x3fff_fb2e_0001,
    0x3fff_fb26_0001,
    0x3fff_fb0e_0001,
];

/// The plaintext modulus of filters, which [`UNIT_PRIMES`] are 1 modulo.
pub const UNIT_OF: u64 = 65_537;

/// The largest primes below `2^46` that are `1 mod 2^17` and `1 mod 65537`, in falling order. Dividing a BGV ciphertext by one of them leaves its
/// message modulo `t = 65537` as it is: the factor `q⁻¹ mod t` is 1.
pub const UNIT_PRIMES: [u64; 8] = [
    0x3ff8_3ff8_0001,
    0x3fec_3fec_0001,
    0x3fe6_3fe6_0001,
    0x3fc0_3fc0_0001,
    0x3f96_3f96_0001,
    0x3f8c_3f8c_0001,
    0x3f80_3f80_0001,
    0x3f60_3f60_0001,
];

const TABLE: [&[u64]; 18] = [
    &[
        0x3ffc_0001,
        0x3fde_0001,
        0x3fd2_0001,
        0x3fac_0001,
        0x3f82_0001,
        0x3f76_0001,
        0x3f5a_0001,
        0x3f54_0001,
        0x3f3a_0001,
        0x3ef8_0001,
        0x3ef4_0001,
        0x3ee6_0001,
    ],
    &[
        0x7ffe_0001,
        0x7ff8_0001,
        0x7fea_0001,
        0x7fd2_0001,
        0x7fb4_0001,
        0x7f4e_0001,
        0x7f44_0001,
        0x7f42_0001,
        0x7f3c_0001,
        0x7f18_0001,
        0x7f00_0001,
        0x7efc_0001,
    ],
    &BITS_32,
    &[
        0x1_fff6_0001,
        0x1_fff0_0001,
        0x1_ffe6_0001,
        0x1_ffb6_0001,
        0x1_ffa2_0001,
        0x1_ff78_0001,
        0x1_ff74_0001,
        0x1_ff4a_0001,
        0x1_ff2c_0001,
        0x1_ff2a_0001,
        0x1_ff1e_0001,
        0x1_ff1a_0001,
    ],
    &[
        0x3_ffd2_0001,
        0x3_ffc0_0001,
        0x3_ff94_0001,
        0x3_ff7c_0001,
        0x3_ff3c_0001,
        0x3_ff3a_0001,
        0x3_ff18_0001,
        0x3_ff0a_0001,
        0x3_fefe_0001,
        0x3_fee2_0001,
        0x3_fed0_0001,
        0x3_fec2_0001,
    ],
    &[
        0x7_fff8_0001,
        0x7_ffd8_0001,
        0x7_ffc8_0001,
        0x7_ff9c_0001,
        0x7_ff90_0001,
        0x7_ff86_0001,
        0x7_ff6c_0001,
        0x7_ff30_0001,
        0x7_ff12_0001,
        0x7_fef4_0001,
        0x7_feea_0001,
        0x7_fed8_0001,
    ],
    &[
        0xf_fff0_0001,
        0xf_ff9c_0001,
        0xf_ff8e_0001,
        0xf_ff84_0001,
        0xf_ff70_0001,
        0xf_ff64_0001,
        0xf_ff4c_0001,
        0xf_ff3c_0001,
        0xf_ff28_0001,
        0xf_ff10_0001,
        0xf_fefe_0001,
        0xf_fee8_0001,
    ],
    &[
        0x1f_fffe_0001,
        0x1f_fffc_0001,
        0x1f_ffea_0001,
        0x1f_ffb6_0001,
        0x1f_ffaa_0001,
        0x1f_ff8c_0001,
        0x1f_ff0c_0001,
        0x1f_fef0_0001,
        0x1f_fee2_0001,
        0x1f_feb4_0001,
        0x1f_fe66_0001,
        0x1f_fe3a_0001,
    ],
    &[
        0x3f_ffe8_0001,
        0x3f_ffb8_0001,
        0x3f_ffb2_0001,
        0x3f_ff90_0001,
        0x3f_ff8e_0001,
        0x3f_ff6c_0001,
        0x3f_ff30_0001,
        0x3f_ff1c_0001,
        0x3f_feda_0001,
        0x3f_feb2_0001,
        0x3f_fea6_0001,
        0x3f_fe88_0001,
    ],
    &[
        0x7f_ffe6_0001,
        0x7f_ffe4_0001,
        0x7f_ffe0_0001,
        0x7f_ffd8_0001,
        0x7f_ffb4_0001,
        0x7f_ff9e_0001,
        0x7f_ff92_0001,
        0x7f_ff80_0001,
        0x7f_ff72_0001,
        0x7f_ff68_0001,
        0x7f_ff1a_0001,
        0x7f_ff14_0001,
    ],
    &[
        0xff_ffe8_0001,
        0xff_ffc4_0001,
        0xff_ffb2_0001,
        0xff_ff94_0001,
        0xff_ff8a_0001,
        0xff_ff82_0001,
        0xff_ff78_0001,
        0xff_ff58_0001,
        0xff_ff48_0001,
        0xff_ff42_0001,
        0xff_ff34_0001,
        0xff_feb6_0001,
        0xff_feb0_0001,
        0xff_fe9e_0001,
        0xff_fe86_0001,
        0xff_fe68_0001,
        0xff_fe62_0001,
        0xff_fe4a_0001,
        0xff_fe2c_0001,
        0xff_fe10_0001,
    ],
    &[
        0x1ff_ffea_0001,
        0x1ff_ffd8_0001,
        0x1ff_ffb6_0001,
        0x1ff_ff96_0001,
        0x1ff_ff68_0001,
        0x1ff_ff38_0001,
        0x1ff_ff14_0001,
        0x1ff_fefc_0001,
        0x1ff_fefa_0001,
        0x1ff_fef6_0001,
        0x1ff_fea0_0001,
        0x1ff_fe78_0001,
        0x1ff_fe6a_0001,
        0x1ff_fe52_0001,
        0x1ff_fe4e_0001,
        0x1ff_fe42_0001,
        0x1ff_fe30_0001,
        0x1ff_fe28_0001,
        0x1ff_fe24_0001,
        0x1ff_fe06_0001,
    ],
    &[
        0x3ff_ffe8_0001,
        0x3ff_ffd2_0001,
        0x3ff_ffca_0001,
        0x3ff_ffbe_0001,
        0x3ff_ff4e_0001,
        0x3ff_fefa_0001,
        0x3ff_fee6_0001,
        0x3ff_fe88_0001,
        0x3ff_fe82_0001,
        0x3ff_fe80_0001,
        0x3ff_fe58_0001,
        0x3ff_fe56_0001,
        0x3ff_fe22_0001,
        0x3ff_fe1a_0001,
        0x3ff_fde0_0001,
        0x3ff_fdc2_0001,
        0x3ff_fdb0_0001,
        0x3ff_fd98_0001,
        0x3ff_fd54_0001,
        0x3ff_fcfc_0001,
    ],
    &[
        0x7ff_ffd2_0001,
        0x7ff_ffaa_0001,
        0x7ff_ffa8_0001,
        0x7ff_ff8c_0001,
        0x7ff_ff62_0001,
        0x7ff_ff38_0001,
        0x7ff_ff36_0001,
        0x7ff_ff26_0001,
        0x7ff_fe7c_0001,
        0x7ff_fe66_0001,
        0x7ff_fe60_0001,
        0x7ff_fe46_0001,
        0x7ff_fe1e_0001,
        0x7ff_fde6_0001,
        0x7ff_fdd0_0001,
        0x7ff_fd74_0001,
        0x7ff_fd6e_0001,
        0x7ff_fd5c_0001,
        0x7ff_fd52_0001,
        0x7ff_fd2e_0001,
    ],
    &[
        0xfff_ffc6_0001,
        0xfff_ffac_0001,
        0xfff_ff96_0001,
        0xfff_ff88_0001,
        0xfff_ff4c_0001,
        0xfff_ff3a_0001,
        0xfff_ff30_0001,
        0xfff_fee0_0001,
        0xfff_fea6_0001,
        0xfff_fe94_0001,
        0xfff_fe92_0001,
        0xfff_fe7c_0001,
        0xfff_fe52_0001,
        0xfff_fe34_0001,
        0xfff_fe26_0001,
        0xfff_fdfc_0001,
        0xfff_fdda_0001,
        0xfff_fdd4_0001,
        0xfff_fdc6_0001,
        0xfff_fd96_0001,
    ],
    &BITS_45,
    &BITS_46,
    &[
        0x7c1f_0782_0001,
        0x7c1f_0740_0001,
        0x7c1f_0710_0001,
        0x7c1f_06fe_0001,
        0x7c1f_06c4_0001,
        0x7c1f_0698_0001,
        0x7c1f_060e_0001,
        0x7c1f_0604_0001,
        0x7c1f_05f8_0001,
        0x7c1f_05da_0001,
        0x7c1f_0596_0001,
        0x7c1f_0592_0001,
        0x7c1f_057a_0001,
        0x7c1f_0578_0001,
        0x7c1f_0574_0001,
        0x7c1f_054e_0001,
        0x7c1f_0548_0001,
        0x7c1f_0520_0001,
        0x7c1f_04f4_0001,
        0x7c1f_04ea_0001,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_holds_distinct_numbers_of_its_size_and_residue() {
        for bits in SMALLEST_BITS..=LARGEST_BITS {
            let primes = primes_of(bits);
            assert!(primes.len() >= 12 && primes.is_sorted_by(|a, b| a > b), "{bits} bits");
            for &prime in primes {
                assert_eq!(prime >> (bits - 1), 1, "{prime} has {bits} bits");
                assert_eq!(prime % (1 << 17), 1);
                assert!(prime <= (1 << 52) / 33);
            }
        }
        assert_eq!(
            SMALL_PRIMES.map(|prime| (u64::BITS - prime.leading_zeros(), prime % (1 << 17))),
            [(26, 1), (27, 1)]
        );
        assert!(primes_of(SMALLEST_BITS - 1).is_empty() && primes_of(LARGEST_BITS + 1).is_empty());
    }

    /// All of the numbers of this form from `2^46` down to the last of the list that are prime, and no other.
    #[test]
    fn primes_that_keep_messages_are_the_largest_of_their_form() {
        let step = (1 << 17) * UNIT_OF;
        let below = 1_u64 << 46;
        let last = UNIT_PRIMES[UNIT_PRIMES.len() - 1];
        let numbers = (0..).map(|index| (below - 1) / step * step + 1 - index * step);
        let found: Vec<u64> =
            numbers.take_while(|number| *number >= last).filter(|number| is_prime(*number)).collect();
        assert_eq!(found, UNIT_PRIMES);
        for prime in UNIT_PRIMES {
            assert_eq!((prime >> 45, prime % (1 << 17), prime % UNIT_OF), (1, 1, 1));
            assert!(!BITS_46.contains(&prime));
        }
        assert!(is_prime(UNIT_OF) && !is_prime(UNIT_OF * 257) && !is_prime(step + 2));
    }

    /// Miller and Rabin with the bases that decide every number below 2^64.
    fn is_prime(number: u64) -> bool {
        let product = |x: u64, y: u64| (u128::from(x) * u128::from(y) % u128::from(number)) as u64;
        let power = |base: u64, exponent: u64| {
            (0..64).rev().fold(1, |power, bit| {
                let square = product(power, power);
                if exponent >> bit & 1 == 1 { product(square, base) } else { square }
            })
        };
        let twos = (number - 1).trailing_zeros();
        [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37].iter().all(|&base| {
            let mut x = power(base, (number - 1) >> twos);
            let mut is_witness = x != 1;
            for _ in 0..twos {
                is_witness &= x != number - 1;
                x = product(x, x);
            }
            !is_witness
        })
    }
}
