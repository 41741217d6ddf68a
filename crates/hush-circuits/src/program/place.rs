// SPDX-License-Identifier: Apache-2.0
//! At which level each step of a circuit is, and which steps are bootstrapped.
//!
//! # Method
//! A step may be bootstrapped as soon as it is there: later is never better. So a choice is a set of steps, and the levels follow: each step is at the lowest level from which
//! what follows can be computed. Steps are passed from the output to the inputs, with all sets that may still be the best at once: of two sets one is dropped if the other
//! costs no more and asks of every value for a level no higher. What is left at the inputs with the least cost is the best of all sets (where the limit of sets is reached, of
//! those that were kept). Then values are bootstrapped in pairs where the first can wait for the second.
//!
//! # References
//! DaCapo (USENIX Security 2024) and Orion (arXiv 2311.03470) place bootstrappings by dynamic programming over levels; shared values and exactness differ.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use hush_ring::Level;

use super::steps::{Op, Steps};
use crate::CircuitError;

/// A step that is bootstrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Its place.
    pub step: usize,
    /// Its level before.
    pub from: Level,
    /// log2 of what its values are divided by before, and multiplied with after; below 0 they are multiplied first.
    pub shift: i32,
}

/// A bootstrapping, of one step or of two at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    /// The step after which it is done.
    pub after: usize,
    /// One or two.
    pub steps: Vec<Raised>,
}

/// Levels of all steps, and bootstrappings in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The level of inputs.
    pub(super) start: Level,
    /// The highest level there is.
    pub(super) top: Level,
    /// The level of each step as it is computed.
    pub(super) levels: Vec<Level>,
    pub(super) raises: Vec<Raise>,
    /// The level of the output.
    pub(super) output: Level,
}

/// The levels that bootstrapping starts from and leads to, and its cost for one value in units of [`Rules::cost`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Boot {
    pub(super) input: Level,
    pub(super) output: Level,
    pub(super) cost: f64,
    /// log2 of the largest value that is bootstrapped.
    pub(super) headroom_log2: u32,
    /// log2 of the most that values are multiplied with.
    pub(super) largest_up: u32,
}

/// What placement is about.
pub(super) struct Rules<'a> {
    /// The lowest level of a step.
    pub(super) least: Level,
    pub(super) boot: Boot,
    /// The cost of a product of operands at a level.
    pub(super) cost: &'a dyn Fn(Level) -> f64,
    /// Rotations of a sum of elements, each as dear as a product.
    pub(super) rotations: u32,
}

impl Rules<'_> {
    fn total_cost(&self, level: Level) -> f64 {
        f64::from(self.rotations) * (self.cost)(level)
    }
}

impl Schedule {
    /// Every step as far below the top as it must be, and none bootstrapped.
    pub(super) fn straight<S>(steps: &Steps<S>, top: Level) -> Self {
        let level = |depth: u32| Level(top.0.saturating_sub(depth as u8));
        let levels: Vec<Level> = steps.level_depths().into_iter().map(level).collect();
        let output = levels.last().copied().unwrap_or(top);
        Self { start: top, top, levels, raises: Vec::new(), output }
    }

    /// The level of a step before its division. A chain with a single level has none above it: its products stay undivided.
    pub(super) fn above(&self, level: Level) -> Level {
        Level(level.0 + 1).min(self.top)
    }

    /// The cheapest placement from inputs at the output level of bootstrappings.
    ///
    /// # Errors
    /// [`CircuitError::Levels`] if no set of steps leaves every step a level.
    pub(super) fn cheapest<S>(steps: &Steps<S>, rules: &Rules<'_>) -> Result<Self, CircuitError> {
        let (levels, raised) = Search { steps, rules }.run()?;
        let output = levels.last().copied().unwrap_or(rules.least);
        let start = start(steps, &levels).unwrap_or(output);
        let raises = paired(steps, (&raised, rules.boot.input), |step| Raised {
            step,
            from: levels[step],
            shift: shift(steps, step, &rules.boot),
        });
        Ok(Self { start, top: rules.boot.output, levels, raises, output })
    }
}

/// The highest level that a step asks of an input.
fn start<S>(steps: &Steps<S>, levels: &[Level]) -> Option<Level> {
    let is_input = |step: usize| matches!(steps.ops[step], Op::Input(_));
    let of_step = |(op, &own): (&Op<S>, &Level)| {
        let above = Level(own.0 + 1);
        match op {
            Op::Input(_) => None,
            Op::Product(a, b) => (is_input(*a) || is_input(*b)).then_some(above),
            Op::Linear { terms, .. } => {
                let of_inputs = terms.iter().filter(|term| is_input(term.step));
                of_inputs.map(|term| if term.is_whole { own } else { above }).max()
            }
            Op::Total(of) => is_input(*of).then_some(if steps.is_masked() { above } else { own }),
        }
    };
    steps.ops.iter().zip(levels).filter_map(of_step).max()
}

/// log2 of what a step's values are divided by before they are bootstrapped: then they are as large as they may be, and errors least.
fn shift<S>(steps: &Steps<S>, step: usize, boot: &Boot) -> i32 {
    let magnitude_log2 = steps.magnitudes_log2[step].ceil().clamp(-1024.0, 1024.0) as i32;
    (magnitude_log2 - boot.headroom_log2 as i32).max(-(boot.largest_up as i32))
}

/// The least level that a step is bootstrapped from: a division takes one.
fn least_before<S>(steps: &Steps<S>, step: usize, boot: &Boot) -> Level {
    Level(boot.input.0 + u8::from(shift(steps, step, boot) > 0))
}

/// Bootstrappings in order: two at once where the first is not used before the second is there.
fn paired<S>(
    steps: &Steps<S>,
    (raised, input): (&[bool], Level),
    entry: impl Fn(usize) -> Raised,
) -> Vec<Raise> {
    let mut first_uses = vec![usize::MAX; steps.ops.len()];
    for (place, op) in steps.ops.iter().enumerate().rev() {
        op.operands().into_iter().for_each(|operand| first_uses[operand] = place);
    }
    let mut raises: Vec<Raise> = Vec::new();
    for own in (0..raised.len()).filter(|&step| raised[step]).map(entry) {
        let waiting = raises.last_mut().filter(|last| last.steps.len() == 1);
        let waiting = waiting.filter(|last| last.steps.iter().all(|one| first_uses[one.step] > own.step));
        if let Some(last) = waiting
            && let [Some(first), Some(second)] = [last.steps[0], own].map(|one| with_room(one, input))
        {
            *last = Raise { after: own.step, steps: vec![first, second] };
        } else {
            raises.push(Raise { after: own.step, steps: vec![own] });
        }
    }
    raises
}

/// A value that is bootstrapped in a pair, which doubles it: what has no room for that is divided by twice as much, if there is a level for it.
fn with_room(one: Raised, input: Level) -> Option<Raised> {
    match one.shift {
        ..0 => Some(one),
        0 if one.from <= input => None,
        shift => Some(Raised { shift: shift + 1, ..one }),
    }
}

struct Search<'a, S> {
    steps: &'a Steps<S>,
    rules: &'a Rules<'a>,
}

/// A set of bootstrapped steps among those passed so far.
#[derive(Clone)]
struct Label {
    cost: f64,
    /// Steps that what was passed asks for, with their levels there.
    asked: BTreeMap<usize, Level>,
    passed: Option<Rc<Passed>>,
}

/// A step with its level before it is bootstrapped, if it is, and the steps behind it.
struct Passed {
    level: Level,
    is_raised: bool,
    behind: Option<Rc<Passed>>,
}

impl<S> Search<'_, S> {
    /// The level of each step, and whether it is bootstrapped.
    fn run(&self) -> Result<(Vec<Level>, Vec<bool>), CircuitError> {
        let count = self.steps.ops.len();
        let asked = BTreeMap::from([(count.saturating_sub(1), self.rules.least)]);
        let mut labels = vec![Label { cost: 0.0, asked, passed: None }];
        for place in (0..count).rev() {
            let mut next: HashMap<Vec<Level>, Label> = HashMap::new();
            for label in labels.iter().flat_map(|label| self.extended(label, place)) {
                let levels: Vec<Level> = label.asked.values().copied().collect();
                let known = next.entry(levels).or_insert_with(|| label.clone());
                if label.cost < known.cost {
                    *known = label;
                }
            }
            labels = best(next.into_values().collect());
        }
        let cheapest = labels.into_iter().min_by(|a, b| a.cost.total_cmp(&b.cost));
        let found = self.rules.boot.output;
        let cheapest = cheapest.ok_or(CircuitError::Levels { found, expected: u32::from(found.0) + 1 })?;
        let (mut levels, mut raised) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut passed = cheapest.passed;
        while let Some(one) = passed {
            levels.push(one.level);
            raised.push(one.is_raised);
            passed = one.behind.clone();
        }
        Ok((levels, raised))
    }

    /// A set with a step more passed: bootstrapped, or not.
    fn extended(&self, label: &Label, place: usize) -> Vec<Label> {
        let (op, boot) = (&self.steps.ops[place], &self.rules.boot);
        let mut rest = label.asked.clone();
        // Every step is used. Of inputs only the highest level counts, that of all.
        let asked = rest.remove(&place).unwrap_or(self.rules.least);
        let before = least_before(self.steps, place, boot);
        let is_output = place + 1 == self.steps.ops.len();
        let is_raisable = !is_output && !matches!(op, Op::Input(_)) && before < asked;
        let mut all = vec![(asked, false)];
        all.extend(is_raisable.then_some((before, true)));
        let with = |(level, is_raised): (Level, bool)| {
            let (mut asked, above) = (rest.clone(), Level(level.0 + 1));
            let mut cost = label.cost + if is_raised { boot.cost } else { 0.0 };
            let mut ask = |step: usize, level: Level| {
                if !matches!(self.steps.ops[step], Op::Input(_)) {
                    let known = asked.entry(step).or_insert(level);
                    *known = level.max(*known);
                }
                level <= boot.output
            };
            let is_possible = match op {
                Op::Input(_) => level <= boot.output,
                Op::Product(a, b) => {
                    cost += (self.rules.cost)(above);
                    ask(*a, above) & ask(*b, above)
                }
                Op::Linear { terms, .. } => {
                    terms.iter().all(|term| ask(term.step, if term.is_whole { level } else { above }))
                }
                Op::Total(of) => {
                    cost += self.rules.total_cost(above);
                    ask(*of, if self.steps.is_masked() { above } else { level })
                }
            };
            let passed = Some(Rc::new(Passed { level, is_raised, behind: label.passed.clone() }));
            is_possible.then_some(Label { cost, asked, passed })
        };
        all.into_iter().filter_map(with).collect()
    }
}

/// Those that no other one is better than in every respect, and of these as many as are followed.
fn best(mut labels: Vec<Label>) -> Vec<Label> {
    labels.sort_by(|a, b| a.cost.total_cmp(&b.cost).then_with(|| a.asked.cmp(&b.asked)));
    let mut kept: Vec<Label> = Vec::new();
    for label in labels {
        let is_beaten = kept
            .iter()
            .any(|other| other.asked.values().zip(label.asked.values()).all(|(other, own)| other <= own));
        if !is_beaten {
            kept.push(label);
        }
    }
    let width = kept.first().map_or(1, |label| label.asked.len().max(1));
    let most = (MAX_VALUES / width).clamp(FEWEST_LABELS, MAX_LABELS);
    if kept.len() <= most {
        return kept;
    }
    // The cheap ones, and those that ask for least.
    let mut rest = kept.split_off(most / 2);
    rest.sort_by_key(|label| label.asked.values().map(|level| u32::from(level.0)).sum::<u32>());
    rest.truncate(most / 2);
    kept.extend(rest);
    kept
}

/// Sets that are followed at once, and values that are open in all of them.
const MAX_LABELS: usize = 512;
const FEWEST_LABELS: usize = 8;
const MAX_VALUES: usize = 2048;

#[cfg(test)]
mod tests;
