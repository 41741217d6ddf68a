// SPDX-License-Identifier: Apache-2.0
//! Which rows each library is asked for.
//!
//! Every list of primes stays within the security table at 128 bits (106, 214, 430 and 868 bits for `N` = 4096 to 32768).
//! The workload runs on the smallest ring that holds it, and for the exact schemes on the next one too. Primitives run
//! with as many levels as the table allows; one special prime means as many digits as primes, several mean fewer.

use super::case::{Case, Encryption, Scheme, Table};

/// A prime list: bits of the ciphertext primes and of the special primes.
type Primes = (&'static [u32], &'static [u32]);

const SMALL: Primes = (&[35, 35], &[35]);
const WIDE: Primes = (&[46, 46], &[46]);
const REAL: Primes = (&[46, 40], &[46]);
/// The list of the tutorials of SEAL and TenSEAL.
const REAL_60: Primes = (&[60, 40], &[60]);
/// The library chooses.
const DEFAULT: Primes = (&[], &[]);
/// OpenFHE chooses everything except special primes in BFV, which it does not use by default.
const HYBRID: Primes = (&[], &[60]);

const N13: Primes = (&[42, 43, 43, 43], &[43]);
const N14_TWO: Primes = (&[47; 7], &[47; 2]);
const N14_THREE: Primes = (&[47; 6], &[47; 3]);
/// The same Q as with two special primes, for libraries that have one.
const N14_SAME: Primes = (&[47; 7], &[47]);
const N14_ONE: Primes = (&[47; 8], &[47]);
const N15_FOUR: Primes = (&[47; 14], &[47; 4]);
const N15_FIVE: Primes = (&[47; 13], &[47; 5]);
const N15_THREE: Primes = (&[47; 11], &[47; 3]);
/// The same Q as with four special primes, for libraries that have one. Primes of 54 bits, as in SEAL's default, would leave
/// the fast path of HEXL.
const N15_SAME: Primes = (&[47; 14], &[47]);

/// Ring degree of the programs.
pub(super) const PROGRAM_DEGREE: u32 = 16384;
/// Their depth: what OpenFHE's own moduli hold in that ring, and less than the lists here do.
pub(super) const PROGRAM_DEPTH: u32 = 4;

/// Hushtable's rows, on one thread and on two.
pub(super) fn ours(repetitions: u32) -> Vec<Case> {
    let workload = [(4096, SMALL), (8192, WIDE)];
    let primitives = [(8192, N13), (16384, N14_TWO), (16384, N14_ONE), (32768, N15_FOUR)];
    let timed = cases(&workload, &[(8192, REAL)], &primitives, &Scheme::ALL, &[1, 2], repetitions);
    [timed, programs(&[N14_TWO, N14_ONE], &Scheme::ALL)].concat()
}

/// SEAL's rows. An operation of SEAL uses one thread.
pub(super) fn seal(repetitions: u32) -> Vec<Case> {
    let workload = [(4096, SMALL), (4096, DEFAULT), (8192, WIDE)];
    let primitives = [(8192, N13), (16384, N14_ONE), (16384, N14_SAME), (32768, N15_SAME)];
    let real = [(8192, REAL), (8192, REAL_60)];
    let timed = cases(&workload, &real, &primitives, &Scheme::ALL, &[1], repetitions);
    [timed, programs(&[N14_ONE], &Scheme::ALL)].concat()
}

/// TenSEAL's rows; it has no BGV.
pub(super) fn tenseal(repetitions: u32) -> Vec<Case> {
    let schemes = [Scheme::Bfv, Scheme::Ckks];
    let workload = [(4096, SMALL), (8192, WIDE)];
    let primitives = [(8192, N13), (16384, N14_ONE), (16384, N14_SAME), (32768, N15_SAME)];
    let all = cases(&workload, &[(8192, REAL), (8192, REAL_60)], &primitives, &schemes, &[1, 2], repetitions);
    let timed = all.into_iter().filter(|case| case.encryption == Encryption::Public).collect();
    [timed, programs(&[N14_ONE], &schemes)].concat()
}

/// OpenFHE's rows: its own moduli, for depth one in the workload and for the largest depth in the primitives.
pub(super) fn openfhe(repetitions: u32) -> Vec<Case> {
    let primitives = [8192, 16384, 32768].map(|degree| [(degree, DEFAULT), (degree, HYBRID)]).concat();
    let all = cases(&[(0, DEFAULT)], &[(0, DEFAULT)], &primitives, &Scheme::ALL, &[1, 2], repetitions);
    let timed = all.into_iter().filter(|case| case.p_bits.is_empty() || case.scheme == Scheme::Bfv).collect();
    [timed, programs(&[DEFAULT], &Scheme::ALL)].concat()
}

/// Lattigo's rows. An operation of Lattigo uses one thread; the second one serves the collector of garbage.
pub(super) fn lattigo(repetitions: u32) -> Vec<Case> {
    let workload = [(4096, SMALL), (8192, WIDE)];
    let small = [(8192, N13), (16384, N14_THREE), (16384, N14_TWO), (16384, N14_ONE)];
    let large = [(32768, N15_FIVE), (32768, N15_FOUR), (32768, N15_THREE)];
    let primitives = [&small[..], &large].concat();
    let timed = cases(&workload, &[(8192, REAL)], &primitives, &Scheme::ALL, &[1, 2], repetitions);
    [timed, programs(&[N14_TWO], &Scheme::ALL)].concat()
}

/// HElib's rows: its own moduli; it has no BFV. An operation uses one thread.
pub(super) fn helib(repetitions: u32) -> Vec<Case> {
    let schemes = [Scheme::Bgv, Scheme::Ckks];
    let all = cases(&[(8192, DEFAULT)], &[(8192, DEFAULT)], &[], &schemes, &[1], repetitions);
    let timed = all.into_iter().filter(|case| case.encryption == Encryption::Public).collect();
    [timed, programs(&[DEFAULT], &schemes)].concat()
}

/// Pyfhel's rows: programs alone, the rest of it is SEAL.
pub(super) fn pyfhel(_repetitions: u32) -> Vec<Case> {
    programs(&[N14_ONE], &Scheme::ALL)
}

fn programs(lists: &[Primes], schemes: &[Scheme]) -> Vec<Case> {
    let case = |scheme, (q_bits, p_bits): Primes| Case {
        table: Table::Programs,
        scheme,
        degree: PROGRAM_DEGREE,
        q_bits: q_bits.to_vec(),
        p_bits: p_bits.to_vec(),
        encryption: Encryption::Public,
        threads: 1,
        repetitions: 1,
    };
    schemes.iter().flat_map(|&scheme| lists.iter().map(move |&list| case(scheme, list))).collect()
}

fn cases(
    exact: &[(u32, Primes)],
    approximate: &[(u32, Primes)],
    primitives: &[(u32, Primes)],
    schemes: &[Scheme],
    threads: &[usize],
    repetitions: u32,
) -> Vec<Case> {
    let mut out = Vec::new();
    for &scheme in schemes {
        let workload = if scheme == Scheme::Ckks { approximate } else { exact };
        let with_encryptions = workload
            .iter()
            .flat_map(|&row| Encryption::ALL.map(|encryption| (Table::Workload, row, encryption)));
        let rows = primitives.iter().map(|&row| (Table::Primitives, row, Encryption::Public));
        for (table, (degree, (q_bits, p_bits)), encryption) in with_encryptions.chain(rows) {
            for &threads in threads {
                let (q_bits, p_bits) = (q_bits.to_vec(), p_bits.to_vec());
                out.push(Case { table, scheme, degree, q_bits, p_bits, encryption, threads, repetitions });
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use hush_params::security::{SecurityLevel, max_log_q};

    use super::*;

    #[test]
    fn every_list_is_within_the_security_table() {
        for case in
            [ours(20), seal(20), tenseal(20), openfhe(20), lattigo(20), helib(20), pyfhel(20)].concat()
        {
            let bits: u32 = case.q_bits.iter().chain(&case.p_bits).sum();
            let limit = max_log_q(case.degree, SecurityLevel::Bits128).unwrap_or(0);
            assert!(bits <= limit, "{case:?}");
        }
    }
}
