// SPDX-License-Identifier: Apache-2.0
//! Charts of bars, one a line with its label before it and its value behind it, as SVG.

use std::path::Path;

use plotters::prelude::*;

use crate::aligned::figure_text;
use crate::axis::{AXIS_HEIGHT, Axis};

const WIDTH: u32 = 960;
const ROW: i32 = 30;
const LEFT: i32 = 330;
/// Pixels above the bars, without a legend and with one.
const TOP: (i32, i32) = (60, 84);

/// A bar: its label, and its coloured parts.
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) parts: Vec<(f64, RGBColor)>,
}

impl Bar {
    /// The whole.
    pub(crate) fn total(&self) -> f64 {
        self.parts.iter().map(|(value, _)| value).sum()
    }
}

/// What stands around the bars.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    /// What the axis measures.
    pub(crate) unit: &'a str,
    /// What colours mean, where bars have parts.
    pub(crate) legend: &'a [(&'a str, RGBColor)],
}

impl Chart<'_> {
    /// Draws bars. The axis is logarithmic where they lie decades apart, but not with a legend: parts of a bar are lengths, which they would not be there.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(crate) fn draw(&self, path: &Path, bars: &[Bar]) -> Result<(), Box<dyn std::error::Error>> {
        let totals: Vec<f64> = bars.iter().map(Bar::total).collect();
        let axis = Axis::of(&totals, LEFT, WIDTH as i32 - 90);
        let (axis, first) = match self.legend.is_empty() {
            true => (axis, TOP.0),
            false => (Axis { floor: 0.0, ..axis }, TOP.1),
        };
        let bottom = first + ROW * bars.len() as i32;
        let root = SVGBackend::new(path, (WIDTH, bottom as u32 + AXIS_HEIGHT)).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw(&Text::new(self.title.to_owned(), (24, 18), ("sans-serif", 20).into_font().color(&BLACK)))?;
        let small = ("sans-serif", 14).into_font().color(&BLACK);
        for (place, (name, colour)) in (0..).zip(self.legend) {
            let left = LEFT + 115 * place;
            root.draw(&Rectangle::new([(left, 52), (left + 14, 66)], colour.filled()))?;
            root.draw(&Text::new((*name).to_owned(), (left + 20, 53), small.clone()))?;
        }
        axis.draw(&root, (first - 8, bottom), self.unit)?;
        for (row, bar) in (0..).zip(bars) {
            let top = first + ROW * row;
            root.draw(&Text::new(bar.label.clone(), (24, top + 3), small.clone()))?;
            let (mut before, mut left) = (0.0, axis.left);
            for (value, colour) in &bar.parts {
                before += value;
                let right = axis.at(before);
                root.draw(&Rectangle::new([(left, top), (right, top + 20)], colour.filled()))?;
                left = right;
            }
            root.draw(&Text::new(figure_text(bar.total()), (left + 8, top + 3), small.clone()))?;
        }
        root.present()?;
        Ok(())
    }
}
