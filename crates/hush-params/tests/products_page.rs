// SPDX-License-Identifier: Apache-2.0
//! The tables of docs/math/products.md are what the code computes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hush_params::noise::{
    add_phase_log2, bgv_fresh_phase_log2, product_bits, product_phase_log2, rounded_product_phase_log2,
};
use hush_params::size::product_answer_bytes;
use hush_params::{ParamSet, presets};

const PAGE: &str = include_str!("../../../docs/math/products.md");
const T: f64 = 65537.0;
const ROWS: usize = 6_000_000;

/// The rows of the table below a heading: name of a set, degree, and the other cells.
fn rows(heading: &str) -> Vec<(&'static ParamSet, u8, Vec<&'static str>)> {
    let (_, section) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    let named = section.lines().filter(|line| line.starts_with("| `n")).map(cells);
    let set = |short: &str| {
        let name = format!("{}_", short.trim_matches('`'));
        presets().iter().find(|set| set.name().starts_with(&name)).unwrap()
    };
    named.map(|row| (set(row[0]), row[1].parse().unwrap(), row[2..].to_vec())).collect()
}

/// log2 of the bound on sums over [`ROWS`] rows of products of so many ciphertexts, all but one of them differences.
fn bound(set: &ParamSet, factors: u8) -> f64 {
    let fresh = bgv_fresh_phase_log2(T.log2());
    let difference = add_phase_log2(fresh, fresh);
    let product = (1..factors).fold(fresh, |phase, _| product_phase_log2(set.degree(), phase, difference));
    product + (ROWS.div_ceil(set.degree()) as f64).log2()
}

#[test]
fn the_bounds_are_those_of_the_code() {
    let rows = rows("Noise");
    assert_eq!(rows.len(), 5);
    for (set, degree, cells) in rows {
        let bound = bound(set, degree);
        assert_eq!(cells[0], format!("{bound:.1}"), "{}", set.name());
        assert_eq!(cells[1], format!("{:.0}", set.log_q() - 1.0), "{}", set.name());
    }
}

#[test]
fn the_bits_of_rounded_answers_are_those_of_the_code() {
    let rows = rows("Rounded answers");
    assert_eq!(rows.len(), 6);
    for (set, degree, cells) in rows {
        let (phase, log_q) = (bound(set, degree), set.log_q());
        let bits = product_bits(set.degree(), degree + 1, T.log2(), log_q, phase);
        let residues = vec![None; usize::from(degree) + 1];
        let whole = product_answer_bytes(set, &residues);
        let expected = match bits {
            Some(bits) => {
                assert!(
                    rounded_product_phase_log2(set.degree(), &bits, T.log2(), log_q, phase) < log_q - 1.0
                );
                let each: Vec<String> = bits.iter().map(u32::to_string).collect();
                let bits: Vec<Option<u32>> = bits.into_iter().map(Some).collect();
                [each.join(", "), kilobytes(product_answer_bytes(set, &bits))]
            }
            None => ["–".to_owned(), "–".to_owned()],
        };
        assert_eq!(cells, [&kilobytes(whole), &expected[0], &expected[1]], "{}, degree {degree}", set.name());
    }
}

fn kilobytes(bytes: usize) -> String {
    format!("{} kB", bytes.div_ceil(1000))
}
