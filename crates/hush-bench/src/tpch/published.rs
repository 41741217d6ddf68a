// SPDX-License-Identifier: Apache-2.0
//! What others published of the same questions on encrypted columns, with what they compute and leave out. None of it is measured here.

use serde::Serialize;

/// A published figure.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Published {
    /// The system, and where it was published.
    pub name: &'static str,
    /// Microseconds for a row of Q6, times the cores where their number is published; `None` where no time is.
    pub core_us_a_row: Option<f64>,
    /// What was published.
    pub says: &'static str,
}

/// The figures.
pub const PUBLISHED: [Published; 4] = [
    Published {
        name: "HE3DB (CCS 2023)",
        core_us_a_row: Some(24_100.0),
        says: "Q6 on 10,000 rows in 241 s, values of 16 bits, with encrypted constants and evaluation keys",
    },
    Published {
        name: "ArcEDB (CCS 2024)",
        core_us_a_row: Some(452_000.0),
        says: "the conditions of Q6 in 0.45 s a row and core, with encrypted constants and evaluation keys; that is without the sum",
    },
    Published {
        name: "Engorgio (USENIX Security 2025)",
        core_us_a_row: Some(14_400.0),
        says: "Q6 on 10,000 rows in less than 3 s on 48 cores, with encrypted constants and evaluation keys",
    },
    Published {
        name: "NSHEDB (SIGMOD 2026)",
        core_us_a_row: None,
        says: "20 to 1370 times as fast as HE3DB and ArcEDB, by polynomials modulo 65537 and evaluation keys; its code has constants in the clear",
    },
];
