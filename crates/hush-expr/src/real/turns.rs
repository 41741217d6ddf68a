// SPDX-License-Identifier: Apache-2.0
//! Repetitions, turn by turn: ranges of states, and how errors pass a turn.

use std::collections::BTreeMap;

use super::build::{Builder, Key, Sum, beyond};
use super::{Enclosure, RealStep, Turn, slopes};
use crate::tree::{Node, Repeat};
use crate::{ExprError, Ratio};

/// The range of a state after a turn, and its largest derivatives by what the turn starts from.
type Bounds = (Enclosure, Vec<f64>);

impl Builder<'_> {
    pub(super) fn repeated(&mut self, repeat: &Repeat) -> Result<Sum, ExprError> {
        let outer = self.locals.len();
        let starts = repeat.states.iter().map(|state| self.sum(&state.start));
        let mut states = starts.collect::<Result<Vec<_>, _>>()?;
        let mut known: Option<(Vec<Enclosure>, Vec<Bounds>)> = None;
        let around = self.around;
        self.around = around.saturating_mul(u64::from(repeat.count));
        for _ in 0..repeat.count {
            let first = self.steps.len();
            self.locals.append(&mut states);
            if outer == 0 {
                (self.turn, self.is_mixed) = (Some(first), false);
                self.turn_starts.push(first);
                let places = self.locals.iter().flat_map(|state| state.terms.keys().copied());
                let steps = &self.steps;
                self.started.extend(places.filter(|&place| !matches!(steps[place], RealStep::Input(_))));
            }
            let whole = self.whole()?;
            // A turn from the same ranges has the same bounds.
            let bounds = match known.take() {
                Some((box_before, bounds)) if box_before == whole => bounds,
                _ => self.bounds(repeat, &whole),
            };
            let next = repeat.states.iter().zip(&bounds).map(|(state, (range, _))| {
                let next = self.sum(&state.next)?;
                self.settled(Sum { range: next.range.meet(*range), ..next })
            });
            states = next.collect::<Result<_, _>>()?;
            // The errors of a turn inside another are not told apart.
            if outer == 0 {
                if !self.is_mixed {
                    self.turn(first, &whole, &bounds, &states);
                }
                self.turn = None;
            }
            self.locals.truncate(outer);
            known = Some((whole, bounds));
        }
        self.around = around;
        Ok(states.swap_remove(0))
    }

    /// Ranges of the names and of the states around.
    fn whole(&self) -> Result<Vec<Enclosure>, ExprError> {
        let names = self.inputs.iter().map(|input| {
            let unit = Enclosure::rounded(input.unit.to_f64());
            let end = |end: &Ratio| Enclosure::rounded(end.to_f64()).times(unit);
            end(input.range.low()).join(end(input.range.high()))
        });
        let whole: Vec<Enclosure> = names.chain(self.locals.iter().map(|local| local.range)).collect();
        if whole.iter().all(Enclosure::is_finite) { Ok(whole) } else { Err(beyond()) }
    }

    /// For each state its range after a turn, and its derivatives around the values before.
    fn bounds(&self, repeat: &Repeat, whole: &[Enclosure]) -> Vec<Bounds> {
        // Every piece of the repetition is evaluated as often, with as many derivatives.
        let pieces: u64 = repeat.states.iter().map(|state| state.next.unrolled()).sum();
        let once = pieces.saturating_mul(self.around).saturating_mul(1 + whole.len() as u64);
        let work = (MAX_PIECES / once.max(1)).min(MAX_WORK) as usize / repeat.states.len();
        let wider: Vec<Enclosure> = whole.iter().map(|range| range.widened(margin(range))).collect();
        let of_state = |node: &Node| {
            let names = self.inputs.len();
            let range = slopes::range(node, names, whole, work);
            (range, slopes::slopes(node, names, &wider, work))
        };
        repeat.states.iter().map(|state| of_state(&state.next)).collect()
    }

    /// A state as one step, if it has a product in it.
    fn settled(&mut self, state: Sum) -> Result<Sum, ExprError> {
        let is_made =
            |place: &usize| matches!(self.steps[*place], RealStep::Product(..) | RealStep::Total(_));
        let has_product = state.terms.keys().any(is_made);
        if !has_product {
            return Ok(state);
        }
        let (place, unit) = self.step_of(&state)?;
        let own = self.single(place, unit);
        Ok(Sum { range: own.range.meet(state.range), ..own })
    }

    /// Notes how errors pass a turn; states and names are those before it, `after` the states behind it.
    fn turn(&mut self, first: usize, whole: &[Enclosure], bounds: &[Bounds], after: &[Sum]) {
        let name = |index: usize| self.places.get(&Key::Input(index)).map(|&place| (place, index));
        let names = (0..self.inputs.len())
            .filter_map(name)
            .map(|(place, index)| (index, BTreeMap::from([(place, self.inputs[index].unit.clone())])));
        let states = self.locals.iter().enumerate();
        let states = states.map(|(index, state)| (self.inputs.len() + index, state.terms.clone()));
        let before: Vec<(usize, BTreeMap<usize, Ratio>)> = names.chain(states).collect();
        // A step that several start from has the tightest limit of all.
        let mut starts: BTreeMap<usize, f64> = BTreeMap::new();
        for (variable, terms) in &before {
            let limit = margin(&whole[*variable]) / terms.len().max(1) as f64;
            for (&place, coefficient) in terms {
                let own = limit.log2() - coefficient.log2();
                starts.entry(place).and_modify(|known| *known = known.min(own)).or_insert(own);
            }
        }
        let of_state = |(state, (_, slopes)): (&Sum, &Bounds)| {
            let (place, unit) = state.only().filter(|(place, _)| *place >= first)?;
            let mut own: BTreeMap<usize, f64> = BTreeMap::new();
            for (variable, terms) in &before {
                for (&start, coefficient) in terms.iter().filter(|_| slopes[*variable] > 0.0) {
                    let share = (coefficient.log2() - unit.log2()).exp2();
                    *own.entry(start).or_default() += slopes[*variable] * share;
                }
            }
            own.values().all(|slope| slope.is_finite()).then(|| (place, own.into_iter().collect()))
        };
        let states: Vec<_> = after.iter().zip(bounds).filter_map(of_state).collect();
        if !states.is_empty() {
            self.turns.push(Turn { first, starts: starts.into_iter().collect(), states });
        }
    }
}

/// How much further than its range a value may err without leaving the box of a turn's derivatives.
fn margin(range: &Enclosure) -> f64 {
    range.magnitude() * MARGIN
}

/// Evaluations of a turn for its bounds.
const MAX_WORK: u64 = 1 << 11;
/// Evaluations of pieces in a repetition, over all its turns.
const MAX_PIECES: u64 = 1 << 24;
/// How far off a state may be for the derivatives of a turn to hold, in relation to its magnitude.
const MARGIN: f64 = 1.0 / 256.0;
