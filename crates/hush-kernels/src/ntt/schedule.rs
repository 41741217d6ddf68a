// SPDX-License-Identifier: Apache-2.0
//! When the rows of an inverse pass must be reduced, worked out by the compiler.
//!
//! A butterfly of the inverse, `(x, y) ← (x + y, w·(x − y))`, doubles the bound of its first row and resets that of its
//! second. Only rows that were first again and again grow, so a few reductions per pass keep all of them in range.

/// The bounds that a path keeps, in units of `q`, or of `q/4` where the name says so.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The growth of the bounds of both rows in a forward butterfly.
    pub(crate) growth_quarters: u32,
    /// The largest factor of a product or operand of a reduction.
    pub(crate) forward_quarters: u32,
    /// After a product or a reduction.
    pub(crate) reset: u32,
    /// Before a layer: sums and differences may reach twice as much.
    pub(crate) layer: u32,
    /// Between passes.
    pub(crate) pass: u32,
}

impl Limits {
    /// Whether canonical words stay in range through so many forward layers without a reduction.
    pub(crate) const fn hold_layers(self, layers: u32) -> bool {
        4 + layers * self.growth_quarters <= self.forward_quarters
    }
}

/// Which rows of a pass must be reduced, and when; one bit per row.
pub(crate) struct Schedule {
    /// Entry `l`: the rows to reduce before layer `l`, where layer `l` has `2^l` parts.
    pub(crate) before: [u32; 4],
    /// The rows to reduce after the last layer.
    pub(crate) end: u32,
}

impl Schedule {
    /// Follows the bounds of `R` rows that all start at `bound`.
    pub(crate) const fn new<const R: usize>(bound: u32, limits: Limits) -> Self {
        let mut bounds = [bound; R];
        let mut before = [0; 4];
        let mut layer = R.ilog2();
        while layer > 0 {
            layer -= 1;
            before[layer as usize] = reduce_above(&mut bounds, limits.layer, limits.reset);
            let half = R >> (layer + 1);
            let mut row = 0;
            while row < R {
                if row & half == 0 {
                    bounds[row] += bounds[row + half];
                    bounds[row + half] = limits.reset;
                }
                row += 1;
            }
        }
        Self { before, end: reduce_above(&mut bounds, limits.pass, limits.reset) }
    }
}

/// Marks the rows that exceed the limit and resets their bounds.
const fn reduce_above<const R: usize>(bounds: &mut [u32; R], limit: u32, reset: u32) -> u32 {
    let mut marks = 0;
    let mut row = 0;
    while row < R {
        if bounds[row] > limit {
            bounds[row] = reset;
            marks |= 1 << row;
        }
        row += 1;
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::{Limits, Schedule};

    #[test]
    fn bounds_of_forward_layers_by_hand() {
        // 1 + 2·16 = 33 for steps of 2q; 1 + 0.75·20 = 16 for steps of 0.75q.
        let integers = Limits { growth_quarters: 8, forward_quarters: 132, reset: 2, layer: 16, pass: 4 };
        assert!(integers.hold_layers(16) && !integers.hold_layers(17));
        let doubles = Limits { growth_quarters: 3, forward_quarters: 64, reset: 1, layer: 8, pass: 2 };
        assert!(doubles.hold_layers(20) && !doubles.hold_layers(21));
    }

    #[test]
    fn a_pass_of_eight_rows_by_hand() {
        let limits = Limits { growth_quarters: 8, forward_quarters: 132, reset: 2, layer: 16, pass: 4 };
        // The layers join rows one, two and four apart. From 4, rows 0 and 1 go through (8, 2), (16, 4) and (32, 8).
        let schedule = Schedule::new::<8>(4, limits);
        assert_eq!(schedule.before, [0, 0, 0, 0]);
        assert_eq!(schedule.end, 0b0000_0011);
        // From 8, rows 0 and 4 stand at 32 after two layers; row 1 at 4, and at 8 in the end.
        let schedule = Schedule::new::<8>(8, limits);
        assert_eq!(schedule.before, [0b0001_0001, 0, 0, 0]);
        assert_eq!(schedule.end, 0b0000_0010);
    }
}
