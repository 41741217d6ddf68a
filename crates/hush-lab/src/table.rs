// SPDX-License-Identifier: Apache-2.0
//! `hush-lab params`.

use hush_lab::LabError;
use hush_lab::bv11::{InsecureBv11LeveledParams, InsecureBv11Params, Rung};
use hush_lab::cnt12::InsecureCnt12Parameters;

use crate::terminal::{bytes, print};

/// Prints the sets of every scheme.
pub(crate) fn print_sets() -> Result<(), LabError> {
    print(
        "INSECURE: parameters for teaching. Sets for 42 bits fall to lattice reduction at once; see the last column.",
    )?;
    print("\nbv11: one modulus for all levels, a short one for the result (k, p)")?;
    header()?;
    for (depth, security, _, _) in InsecureBv11Params::SETS {
        if let Ok(params) = InsecureBv11Params::named(security, depth) {
            row(security, depth, &params.levels(), params.evaluation_bytes(), params.security_bits())?;
        }
    }
    print(
        "\nbv11-leveled: a smaller modulus after every product (more depths by --depth, as far as 60 bits reach)",
    )?;
    header()?;
    for (security, depth) in
        [42, 52, 62, 72, 128].into_iter().flat_map(|bits| [1, 2, 3].map(|depth| (bits, depth)))
    {
        if let Ok(params) = InsecureBv11LeveledParams::derive(security, depth) {
            row(security, depth, &params.levels(), params.evaluation_bytes(), params.security_bits())?;
        }
    }
    print("\ncnt12: bootstrapping after every product, so that no depth is too much")?;
    print(
        "  set  name    gamma     eta   rho  tau   Theta  keys stored  written out  guess noise, split squashed key",
    )?;
    for (name, set) in InsecureCnt12Parameters::insecure_named() {
        let (l, sizes) = (set.literal(), set.sizes());
        let [guessing, splitting] = set.attacks_log2();
        print(&format!(
            "  {:<4} {name:<7} {:<9} {:<5} {:<4} {:<5} {:<6} {:<12} {:<12} {guessing:.0}, {splitting:.1} bits",
            l.security,
            l.ciphertext_bits,
            l.prime_bits,
            l.noise_bits,
            l.zero_count,
            l.secret_bits,
            bytes(set.public_key_bytes()),
            bytes(sizes.evaluation_expanded + l.zero_count as u64 * sizes.ciphertext)
        ))?;
    }
    print("\nrsa, paillier: --modulus-bits 16 to 8192")
}

fn header() -> Result<(), LabError> {
    print("  set  depth  n:log2 q of every level                  keys stored  written out  security")
}

fn row(
    security: u32,
    depth: u32,
    levels: &[Rung],
    (stored, expanded): (u64, u64),
    estimate: f64,
) -> Result<(), LabError> {
    let levels: Vec<String> = levels.iter().map(|rung| format!("{}:{}", rung.n, rung.q.bits())).collect();
    let verdict = if estimate < 45.0 { "broken" } else { "estimated" };
    print(&format!(
        "  {security:<4} {depth:<6} {:<40} {:<12} {:<12} {estimate:.0} bits, {verdict}",
        levels.join(" "),
        bytes(stored),
        bytes(expanded)
    ))
}
