// SPDX-License-Identifier: Apache-2.0
//! How keys, gates and results are shown.

use std::fmt::Write as _;

use hush_lab::eval::{Step, evaluate};
use hush_lab::{Circuit, InsecureScheme, LabError, Seed};

use crate::outcome::Outcome;
use crate::terminal::{Progress, bytes, print, seconds};

/// Makes keys and tells their sizes.
pub(crate) fn generate<S: InsecureScheme>(params: &S::Params, seed: &Seed) -> Result<S, LabError> {
    let mut progress = Progress::new("keys");
    let scheme = S::generate(params, seed, &mut |share| progress.at(share))?;
    let elapsed = progress.finish();
    print(&format!("Scheme      {} (insecure)", S::NAME))?;
    for (name, value) in scheme.description() {
        print(&format!("  {name:<20} {value}"))?;
    }
    let sizes = scheme.sizes();
    print(&format!(
        "Keys        {}; public {}, secret {}, evaluation {} ({} if nothing came from seeds)",
        seconds(elapsed),
        bytes(sizes.public),
        bytes(sizes.secret),
        bytes(sizes.evaluation),
        bytes(sizes.evaluation_expanded)
    ))?;
    print(&format!("Ciphertext  {} for a bit", bytes(sizes.ciphertext)))?;
    Ok(scheme)
}

/// Evaluates, and prints a line for every gate: those of one depth together, products first.
pub(crate) fn observe<S: InsecureScheme>(
    scheme: &S,
    circuit: &Circuit,
    seed: &Seed,
) -> Result<Outcome, LabError> {
    print("Gate                      depth  bit  noise     bound     limit     time")?;
    let mut printed = Ok(());
    let evaluation = evaluate(scheme, circuit, seed, &mut |step: Step| {
        let noise = step.noise;
        let remark = match (step.is_right, noise.is_safe()) {
            (false, _) => "  WRONG",
            (true, false) => "  not promised: the bound is over the limit",
            (true, true) => "",
        };
        let mut lines = format!(
            "  {:<23} {:<6} {:<4} 2^{:<7.1} 2^{:<7.1} 2^{:<7.1} {}{remark}",
            circuit.describe(step.gate),
            circuit.depth_at(step.gate),
            u8::from(step.bit),
            noise.measured_log2,
            noise.bound_log2,
            noise.limit_log2,
            seconds(step.seconds)
        );
        if let Some(before) = step.before_refresh {
            let _ = write!(
                lines,
                "\n    before Recrypt {:<13} 2^{:<7.1} 2^{:<7.1} 2^{:<7.1}",
                "", before.measured_log2, before.bound_log2, before.limit_log2
            );
        }
        if printed.is_ok() {
            printed = print(&lines);
        }
    })?;
    printed?;
    for noise in &evaluation.finished {
        print(&format!("Sent back   noise {noise}"))?;
    }
    let [encryption, gates, reduction, decryption] = evaluation.seconds;
    print(&format!(
        "Time        encryption {}, gates {}, last reduction {}, decryption {}",
        seconds(encryption),
        seconds(gates),
        seconds(reduction),
        seconds(decryption)
    ))?;
    if evaluation.unpromised > 0 {
        print(&format!(
            "Noise       {} gates and results are over what is promised, {} gates are wrong",
            evaluation.unpromised, evaluation.wrong_gates
        ))?;
    }
    print(&format!("Result      {}", evaluation.result))?;
    verdict(evaluation.is_right(), &evaluation.expected.to_string())
}

/// Tells whether a result is right.
pub(crate) fn verdict(is_right: bool, expected: &str) -> Result<Outcome, LabError> {
    if is_right {
        print("Verified    equals the evaluation in the clear")?;
        Ok(Outcome::Right)
    } else {
        print(&format!(
            "WRONG       the evaluation in the clear gives {expected}: the noise is over its limit"
        ))?;
        Ok(Outcome::Wrong)
    }
}
