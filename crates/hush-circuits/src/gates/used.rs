// SPDX-License-Identifier: Apache-2.0
//! The steps that a result needs.

use hush_tfhe::integer::Step;

/// The steps that the one at `last` needs, in their order, and its new place.
pub(super) fn used(steps: &[Step], last: usize) -> (Vec<Step>, usize) {
    let mut needed = vec![false; steps.len()];
    needed[last] = true;
    for place in (0..=last).rev() {
        if needed[place] {
            steps[place].operands().into_iter().for_each(|operand| needed[operand] = true);
        }
    }
    let mut places = vec![0; steps.len()];
    let mut kept = Vec::new();
    for (place, step) in steps.iter().enumerate().filter(|(place, _)| needed[*place]) {
        places[place] = kept.len();
        kept.push(step.moved(|operand| places[operand]));
    }
    (kept, places[last])
}
