// SPDX-License-Identifier: Apache-2.0
//! Columns of text.

/// Lines of equally many cells as text, the first column to the left and the others to the right.
pub(crate) fn align(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for line in lines {
        let mut text = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            let padded = if column == 0 { format!("{cell}{gap}") } else { format!("  {gap}{cell}") };
            text.push_str(&padded);
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

/// Three significant digits.
pub(crate) fn figure_text(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.4}"),
    }
}
