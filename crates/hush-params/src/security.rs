// SPDX-License-Identifier: Apache-2.0
//! The one security table: largest log2(Q·P) per ring degree for a uniform ternary secret.
//!
//! Minimum of the 2018 standard and the 2024 guideline (eprint 2024/463, Table 5.2), classical, error
//! sigma 3.19, cost model RC.MATZOV. The row for 131072 is lowered to 3522, 2410 and 1866, where the
//! Lattice Estimator (commit 27a581bb) still reaches the label.

/// Security level in bits against classical attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityLevel {
    /// 128 bits: the floor below which nothing runs without an insecure switch.
    Bits128,
    /// 192 bits.
    Bits192,
    /// 256 bits.
    Bits256,
}

impl SecurityLevel {
    /// The label.
    pub fn bits(self) -> u32 {
        match self {
            Self::Bits128 => 128,
            Self::Bits192 => 192,
            Self::Bits256 => 256,
        }
    }
}

const TABLE: [(u32, [Option<u32>; 3]); 8] = [
    (1024, [Some(26), None, None]),
    (2048, [Some(53), Some(36), Some(27)]),
    (4096, [Some(106), Some(73), Some(56)]),
    (8192, [Some(214), Some(147), Some(114)]),
    (16384, [Some(430), Some(297), Some(230)]),
    (32768, [Some(868), Some(597), Some(462)]),
    (65536, [Some(1747), Some(1199), Some(929)]),
    (131_072, [Some(3522), Some(2410), Some(1866)]),
];

/// Largest allowed `⌈log2(Q·P)⌉` for ring degree `degree`, or `None` where the table has no entry.
pub fn max_log_q(degree: u32, level: SecurityLevel) -> Option<u32> {
    let column = match level {
        SecurityLevel::Bits128 => 0,
        SecurityLevel::Bits192 => 1,
        SecurityLevel::Bits256 => 2,
    };
    TABLE.iter().find(|(n, _)| *n == degree).and_then(|(_, row)| row[column])
}

/// The highest labelled level (128, 192 or 256) that `log_q` reaches at `degree`; `None` below 128.
pub fn security_bits(degree: u32, log_q: u32) -> Option<u32> {
    [(SecurityLevel::Bits256, 256), (SecurityLevel::Bits192, 192), (SecurityLevel::Bits128, 128)]
        .into_iter()
        .find(|(level, _)| max_log_q(degree, *level).is_some_and(|max| log_q <= max))
        .map(|(_, bits)| bits)
}
