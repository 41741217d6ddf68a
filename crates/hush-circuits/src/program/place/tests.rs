// SPDX-License-Identifier: Apache-2.0
//! Placements against all that there are, and against what levels allow.

use hush_testkit::Draw;

use super::super::steps::{Period, Term};
use super::*;

const BOOT: Boot = Boot { input: Level(2), output: Level(5), cost: 100.0, headroom_log2: 0, largest_up: 4 };

/// A circuit in which every step but the last is used, over one or two inputs.
fn drawn(draw: &mut Draw, count: usize) -> Steps<f64> {
    let mut ops = vec![Op::Input(0)];
    if draw.below(2) == 1 {
        ops.push(Op::Input(1));
    }
    let mut unused: Vec<usize> = (0..ops.len()).collect();
    while ops.len() < count || unused.len() > 1 {
        let place = ops.len();
        let mut pick = |unused: &mut Vec<usize>| {
            let index = draw.below(unused.len().max(1));
            // From `count` on every step takes two that are unused, so that there are fewer than twice as many steps.
            let is_fresh = !unused.is_empty() && (place >= count || draw.below(3) > 0);
            if is_fresh { unused.swap_remove(index) } else { draw.below(place) }
        };
        let (a, b) = (pick(&mut unused), pick(&mut unused));
        unused.retain(|&step| step != a && step != b);
        let kinds = if place < count { 5 } else { 4 };
        ops.push(match draw.below(kinds) {
            0 | 1 => Op::Product(a.min(b), a.max(b)),
            4 => {
                // Only one of the two is used.
                unused.extend((b != a).then_some(b));
                Op::Total(a)
            }
            kind => {
                let term = |step, is_whole| Term { step, coefficient: 1.0, is_whole };
                let mut terms = vec![term(a, kind == 2), term(b, draw.below(2) == 0)];
                terms.dedup_by_key(|term| term.step);
                Op::Linear { constant: 0.0, terms }
            }
        });
        unused.push(place);
    }
    let magnitudes_log2 = (0..ops.len()).map(|_| if draw.below(3) == 0 { 1.5 } else { 0.0 }).collect();
    let length = 6 + 2 * draw.below(2);
    let period = Some(Period { length, slots: 8 });
    Steps { ops, magnitudes_log2, turns: Vec::new(), turn_starts: Vec::new(), is_rounded: true, period }
}

/// The cost of a set of bootstrapped steps; `None` where something has no level.
fn cost_of(steps: &Steps<f64>, raised: impl Fn(usize) -> bool, rules: &Rules<'_>) -> Option<f64> {
    let least_before = |place: usize| i32::from(BOOT.input.0) + i32::from(steps.magnitudes_log2[place] > 0.0);
    let least = i32::from(rules.least.0);
    // The highest levels that there are.
    let mut after: Vec<i32> = Vec::new();
    for (place, op) in steps.ops.iter().enumerate() {
        let level = match op {
            Op::Input(_) => i32::from(BOOT.output.0),
            Op::Product(a, b) => after[*a].min(after[*b]) - 1,
            Op::Linear { terms, .. } => {
                terms.iter().map(|term| after[term.step] - i32::from(!term.is_whole)).min()?
            }
            Op::Total(of) => after[*of] - i32::from(steps.is_masked()),
        };
        if level < least || (raised(place) && level < least_before(place)) {
            return None;
        }
        after.push(if raised(place) { i32::from(BOOT.output.0) } else { level });
    }
    // The lowest that do.
    let (mut needs, mut cost) = (vec![least; steps.ops.len()], 0.0);
    for (place, op) in steps.ops.iter().enumerate().rev() {
        if raised(place) {
            cost += BOOT.cost;
            needs[place] = least_before(place).max(least);
        }
        let own = needs[place];
        match op {
            Op::Input(_) => {}
            Op::Product(a, b) => {
                cost += (rules.cost)(Level(own as u8 + 1));
                [*a, *b].into_iter().for_each(|step| needs[step] = needs[step].max(own + 1));
            }
            Op::Linear { terms, .. } => terms.iter().for_each(|term| {
                needs[term.step] = needs[term.step].max(own + i32::from(!term.is_whole));
            }),
            Op::Total(of) => {
                cost += f64::from(rules.rotations) * (rules.cost)(Level(own as u8 + 1));
                needs[*of] = needs[*of].max(own + i32::from(steps.is_masked()));
            }
        }
    }
    Some(cost)
}

fn in_all(schedule: &Schedule) -> Vec<usize> {
    schedule.raises.iter().flat_map(|raise| raise.steps.iter().map(|raised| raised.step)).collect()
}

/// That every step has its level from what it is made of, and that pairs are there when they are bootstrapped.
fn check_levels(steps: &Steps<f64>, schedule: &Schedule) {
    let mut now: Vec<Option<Level>> = vec![None; steps.ops.len()];
    let mut raises = schedule.raises.iter().peekable();
    for (place, op) in steps.ops.iter().enumerate() {
        let own = schedule.levels[place];
        let above =
            |step: usize, by: u8| assert!(now[step].unwrap().0 >= own.0 + by, "step {place} from {step}");
        match op {
            Op::Input(_) => {}
            Op::Product(a, b) => [*a, *b].into_iter().for_each(|step| above(step, 1)),
            Op::Total(of) => above(*of, u8::from(steps.is_masked())),
            Op::Linear { terms, .. } => {
                terms.iter().for_each(|term| above(term.step, u8::from(!term.is_whole)))
            }
        }
        now[place] = Some(if matches!(op, Op::Input(_)) { schedule.start } else { own });
        if let Some(raise) = raises.next_if(|raise| raise.after == place) {
            assert!((1..=2).contains(&raise.steps.len()));
            for raised in &raise.steps {
                assert_eq!(now[raised.step], Some(raised.from));
                let divides = u8::from(steps.magnitudes_log2[raised.step] > 0.0);
                assert!(raised.from.0 >= BOOT.input.0 + divides && (raised.shift > 0) == (divides == 1));
                now[raised.step] = Some(BOOT.output);
            }
        }
    }
    assert!(raises.next().is_none());
    assert_eq!(now.last().copied().flatten(), Some(schedule.output));
}

#[test]
fn no_placement_of_a_small_circuit_is_cheaper() {
    let mut draw = Draw::new();
    let (mut bootstrapped, mut refused) = (0, 0);
    for case in 0..400 {
        let steps = drawn(&mut draw, 5 + case % 6);
        let count = steps.ops.len();
        let rules = Rules {
            least: Level((case % 3) as u8),
            boot: BOOT,
            cost: &|level| 1.0 + f64::from(level.0),
            rotations: 3,
        };
        let inner = 1_u32 << (count - 1);
        let all = (0..inner).filter_map(|set| cost_of(&steps, |step| set >> step & 1 == 1, &rules));
        let best = all.fold(f64::INFINITY, f64::min);
        match Schedule::cheapest(&steps, &rules) {
            Ok(schedule) => {
                let raised = in_all(&schedule);
                assert_eq!(cost_of(&steps, |step| raised.contains(&step), &rules), Some(best), "{steps:?}");
                check_levels(&steps, &schedule);
                bootstrapped += usize::from(!raised.is_empty());
            }
            Err(_) => {
                assert!(best.is_infinite(), "{steps:?}");
                refused += 1;
            }
        }
    }
    assert!(bootstrapped > 30, "{bootstrapped} circuits with bootstrappings, {refused} without a placement");
}

/// A chain of products is bootstrapped where its levels end, and each time they are all used.
#[test]
fn a_chain_is_bootstrapped_every_time_that_its_levels_are_used_up() {
    let count = 30;
    let mut ops = vec![Op::Input(0)];
    ops.extend((0..count).map(|place| Op::Product(0, place)));
    let steps = Steps {
        ops,
        magnitudes_log2: vec![0.0; count + 1],
        turns: Vec::new(),
        turn_starts: Vec::new(),
        is_rounded: true,
        period: None,
    };
    let rules = Rules { least: Level(0), boot: BOOT, cost: &|_| 1.0, rotations: 0 };
    let schedule = Schedule::cheapest(&steps, &rules).unwrap();
    // Of 30 levels the last 5 need no more, and 3 are between two bootstrappings.
    assert_eq!(in_all(&schedule).len(), (count - 5_usize).div_ceil(3));
    check_levels(&steps, &schedule);
    // Deep enough, nothing is bootstrapped.
    let steps = Steps { ops: steps.ops[..6].to_vec(), magnitudes_log2: vec![0.0; 6], ..steps };
    assert_eq!(in_all(&Schedule::cheapest(&steps, &rules).unwrap()), []);
}

/// Two states that a turn makes of both are bootstrapped as one.
#[test]
fn what_can_wait_for_another_is_bootstrapped_with_it() {
    let mut ops = vec![Op::Input(0), Op::Input(1)];
    for turn in 0..12 {
        let (a, b) = (2 * turn, 2 * turn + 1);
        ops.push(Op::Product(a, b));
        let term = |step| Term { step, coefficient: 1.0, is_whole: true };
        ops.push(if turn % 2 == 0 {
            Op::Product(b, b)
        } else {
            Op::Linear { constant: 1.0, terms: vec![term(b), term(a)] }
        });
    }
    ops.push(Op::Product(24, 25));
    let count = ops.len();
    let rules = Rules { least: Level(0), boot: BOOT, cost: &|_| 1.0, rotations: 0 };
    let pairs_of = |magnitude_log2: f64| {
        let steps = Steps {
            ops: ops.clone(),
            magnitudes_log2: vec![magnitude_log2; count],
            turns: Vec::new(),
            turn_starts: Vec::new(),
            is_rounded: true,
            period: None,
        };
        let schedule = Schedule::cheapest(&steps, &rules).unwrap();
        check_levels(&steps, &schedule);
        let pairs = schedule.raises.into_iter().filter(|raise| raise.steps.len() == 2);
        pairs.flat_map(|pair| pair.steps).collect::<Vec<_>>()
    };
    assert_eq!(BOOT.headroom_log2, 0);
    // As large as they may be there is no room to double them, unless they have a level to be divided on.
    assert!(pairs_of(0.0).iter().all(|one| one.shift == 1 && one.from > BOOT.input));
    for (magnitude_log2, shift) in [(-1.0, -1), (3.0, 4)] {
        let pairs = pairs_of(magnitude_log2);
        assert!(!pairs.is_empty() && pairs.iter().all(|one| one.shift == shift), "{pairs:?}");
    }
}
