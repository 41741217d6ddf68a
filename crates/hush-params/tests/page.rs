// SPDX-License-Identifier: Apache-2.0
//! The tables of docs/security/parameters.md are those of the code: names, numbers, estimates, and no set missing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use hush_params::chain::presets::chain_presets;
use hush_params::presets;
use hush_params::security::{SecurityLevel, max_log_q};

const PAGE: &str = include_str!("../../../docs/security/parameters.md");

/// The rows of the table below a heading, by the name in their first cell.
fn rows(heading: &str) -> BTreeMap<&'static str, Vec<&'static str>> {
    let (_, section) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    let named = section.lines().filter(|line| line.starts_with("| `")).map(cells);
    named.map(|row| (row[0].trim_matches('`'), row[1..].to_vec())).collect()
}

/// Two digits, rounded down, as `tools/estimate.py` writes them.
fn down(bits: f64) -> String {
    format!("{:.2}", (bits * 100.0).floor() / 100.0)
}

/// A number of columns as the page has it.
fn columns(count: usize) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{} thousand", count / 1000),
        _ => "millions".to_owned(),
    }
}

#[test]
fn the_sets_are_those_of_the_code() {
    let page = rows("The sets");
    assert_eq!(page.len(), presets().len());
    for set in presets() {
        let (count, bits) = (set.limb_count(), set.residue_bits());
        let max = max_log_q(set.degree() as u32, SecurityLevel::Bits128).unwrap();
        let expected = [
            set.code().to_string(),
            set.degree().to_string(),
            format!("{count} × {bits} bits"),
            set.log_q_ceil().to_string(),
            max.to_string(),
            set.security_bits().to_string(),
            columns(set.most_columns()),
        ];
        assert_eq!(page[set.name()], expected, "{}", set.name());
    }
}

#[test]
fn the_estimates_are_those_that_programs_use() {
    let page = rows("The estimates");
    assert_eq!(page.len(), presets().len() + chain_presets().len());
    let smallest = |row: &[&str]| {
        let figures: Vec<f64> = row[3..].iter().map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(figures.len(), 4);
        assert_eq!(figures[3], figures[..3].iter().copied().fold(f64::MAX, f64::min), "{row:?}");
        figures[3]
    };
    for set in presets() {
        let row = &page[set.name()];
        assert_eq!(row[..3], [set.code().to_string(), set.degree().to_string(), down(set.log_qp())]);
        assert_eq!(smallest(row), set.attack_log2(), "{}", set.name());
    }
    for preset in chain_presets() {
        let (row, chain) = (&page[preset.name()], preset.params().unwrap());
        let all = chain.universe().iter().chain(chain.special());
        let log2: f64 = all.map(|prime| (*prime as f64).log2()).sum();
        assert_eq!(row[..3], [preset.code().to_string(), chain.degree().to_string(), down(log2)]);
        assert!(smallest(row) >= f64::from(preset.security().bits()), "{}", preset.name());
    }
}

#[test]
fn the_chains_are_those_of_the_code() {
    let page = rows("The modulus chains");
    assert_eq!(page.len(), chain_presets().len());
    for preset in chain_presets() {
        let chain = preset.params().unwrap();
        let max = max_log_q(chain.degree() as u32, preset.security()).unwrap();
        let expected = [preset.code().to_string(), chain.log_qp_ceil().to_string(), max.to_string()];
        assert_eq!(page[preset.name()], expected, "{}", preset.name());
    }
}
