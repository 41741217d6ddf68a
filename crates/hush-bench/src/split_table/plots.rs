// SPDX-License-Identifier: Apache-2.0
//! Wall time and the thesis's Figures 5 to 9 as SVG: one bar chart a quantity, one bar a variant, logarithmic where the
//! variants lie decades apart.

use std::path::{Path, PathBuf};

use plotters::prelude::*;

use super::measured::Measured;
use crate::aligned::figure_text;
use crate::axis::{AXIS_HEIGHT, Axis};

/// A quantity that is drawn.
struct Figure {
    file: &'static str,
    title: &'static str,
    unit: &'static str,
    value: fn(&Measured) -> f64,
}

const FIGURES: [Figure; 6] = [
    Figure { file: "wall_time", title: "Wall time", unit: "seconds", value: |m| m.total_s },
    Figure { file: "cpu_time", title: "CPU time", unit: "seconds", value: |m| m.usage.cpu_s },
    Figure {
        file: "cpu_usage",
        title: "CPU usage",
        unit: "percent of one core",
        value: Measured::cpu_percent,
    },
    Figure { file: "memory", title: "Peak memory", unit: "MB", value: |m| m.usage.peak_mb },
    Figure {
        file: "voluntary_switches",
        title: "Voluntary context switches",
        unit: "count",
        value: |m| m.usage.voluntary_switches as f64,
    },
    Figure {
        file: "involuntary_switches",
        title: "Involuntary context switches",
        unit: "count",
        value: |m| m.usage.involuntary_switches as f64,
    },
];

const BAR: RGBColor = RGBColor(46, 98, 150);
const SAMPLED_BAR: RGBColor = RGBColor(150, 176, 205);
const WIDTH: u32 = 900;
const ROW: u32 = 44;
const TOP: i32 = 66;

/// Writes the figures into `directory` and returns their paths.
///
/// # Errors
/// A message if the directory cannot be written or a figure not drawn.
pub fn write(directory: &Path, variants: &[Measured]) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    FIGURES
        .iter()
        .map(|figure| {
            let path = directory.join(format!("split_table_{}.svg", figure.file));
            draw(&path, figure, variants).map_err(|error| error.to_string())?;
            Ok(path)
        })
        .collect()
}

fn draw(path: &Path, figure: &Figure, variants: &[Measured]) -> Result<(), Box<dyn std::error::Error>> {
    let values: Vec<f64> = variants.iter().map(figure.value).map(|v| v.max(0.0)).collect();
    let (left, right) = (250_i32, WIDTH as i32 - 120);
    let axis = Axis::of(&values, left, right);
    let bottom = TOP + (ROW * variants.len() as u32) as i32;
    let height = bottom as u32 + AXIS_HEIGHT + 30;
    let root = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    root.draw(&Text::new(figure.title, (24, 22), ("sans-serif", 22).into_font().color(&BLACK)))?;
    axis.draw(&root, (TOP - 10, bottom), figure.unit)?;
    for (index, (variant, value)) in variants.iter().zip(&values).enumerate() {
        let top = TOP + (index as u32 * ROW) as i32;
        let end = axis.at(*value);
        let colour = if variant.is_sampled() { SAMPLED_BAR } else { BAR };
        root.draw(&Rectangle::new([(left, top), (end.max(left + 2), top + 26)], colour.filled()))?;
        let small = ("sans-serif", 15).into_font();
        root.draw(&Text::new(variant.name.clone(), (24, top + 6), small.clone().color(&BLACK)))?;
        root.draw(&Text::new(figure_text(*value), (end.max(left + 2) + 8, top + 6), small.color(&BLACK)))?;
    }
    if variants.iter().any(Measured::is_sampled) {
        let note = ("sans-serif", 13).into_font().color(&BLACK);
        root.draw(&Text::new("pale: extrapolated from a sample", (24, height as i32 - 20), note))?;
    }
    root.present()?;
    Ok(())
}
