// SPDX-License-Identifier: Apache-2.0
//! The horizontal axis of a chart of bars: a line with ticks, their values, and what they measure.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::aligned::figure_text;

/// Colour of faint lines.
const GRID: RGBColor = RGBColor(222, 222, 222);
/// Pixels below the line that ticks and label take.
pub(crate) const AXIS_HEIGHT: u32 = 48;

/// The place of a value between two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    /// Pixel of the axis's beginning.
    pub(crate) left: i32,
    /// Pixel of `largest`.
    pub(crate) right: i32,
    /// The largest value.
    pub(crate) largest: f64,
    /// The value at the beginning of a logarithmic axis; 0 for a linear one.
    pub(crate) floor: f64,
}

impl Axis {
    /// The axis for values of at least 0: logarithmic from a third of the smallest bar where they lie decades apart, so that it
    /// is still a bar.
    pub(crate) fn of(values: &[f64], left: i32, right: i32) -> Self {
        let largest = values.iter().copied().fold(1e-9, f64::max);
        let smallest = values.iter().copied().filter(|value| *value > 0.0).fold(largest, f64::min);
        let floor = if largest / smallest > 50.0 { smallest / 3.0 } else { 0.0 };
        Self { left, right, largest, floor }
    }

    /// The pixel of a value.
    pub(crate) fn at(&self, value: f64) -> i32 {
        let part = match self.floor {
            0.0 => value / self.largest,
            floor if value <= floor => 0.0,
            floor => (value / floor).ln() / (self.largest / floor).ln(),
        };
        self.left + (f64::from(self.right - self.left) * part).round() as i32
    }

    /// Round values along the axis, some four to eight.
    fn ticks(&self) -> Vec<f64> {
        let decade = |value: f64| 10f64.powf(value.log10().floor());
        if self.floor == 0.0 {
            let rough = self.largest / 5.0;
            let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade(rough));
            let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(rough);
            return (0..=10).map(|k| step * f64::from(k)).take_while(|tick| *tick <= self.largest).collect();
        }
        let steps: &[f64] = if self.largest / self.floor > 1e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let first = decade(self.floor);
        let decades = (0..40).map(|k| first * 10f64.powi(k)).take_while(|tick| *tick <= self.largest);
        let all = decades.flat_map(|decade| steps.iter().map(move |step| step * decade));
        all.filter(|tick| *tick >= self.floor && *tick <= self.largest).collect()
    }

    /// Draws grid lines from `top` to the line at `bottom`, the values of the ticks below it, and what they measure.
    pub(crate) fn draw<B: DrawingBackend>(
        &self,
        root: &DrawingArea<B, Shift>,
        (top, bottom): (i32, i32),
        label: &str,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let small = ("sans-serif", 13).into_font().color(&BLACK);
        for tick in self.ticks() {
            let x = self.at(tick);
            root.draw(&PathElement::new([(x, top), (x, bottom)], GRID))?;
            root.draw(&PathElement::new([(x, bottom), (x, bottom + 5)], BLACK))?;
            root.draw(&Text::new(figure_text(tick), (x - 8, bottom + 8), small.clone()))?;
        }
        root.draw(&PathElement::new([(self.left, bottom), (self.right, bottom)], BLACK))?;
        let scale = if self.floor > 0.0 { ", logarithmic" } else { "" };
        root.draw(&Text::new(format!("{label}{scale}"), (self.left, bottom + 26), small))
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn ticks_are_round_and_lie_on_the_axis() {
        for values in [vec![0.8, 0.3], vec![0.02, 55.0], vec![1.0, 70.0], vec![3e-6, 4e5], vec![0.0]] {
            let axis = Axis::of(&values, 100, 800);
            let ticks = axis.ticks();
            assert!((2..=14).contains(&ticks.len()), "{values:?}: {ticks:?}");
            let places: Vec<i32> = ticks.iter().map(|tick| axis.at(*tick)).collect();
            assert!(places.is_sorted() && places.iter().all(|x| (100..=800).contains(x)), "{places:?}");
            assert_eq!(axis.at(axis.largest), 800);
        }
    }
}
