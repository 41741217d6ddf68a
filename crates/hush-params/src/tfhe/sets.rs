// SPDX-License-Identifier: Apache-2.0
//! The named sets.

use super::{CircuitDigits, Gadget, Messages, SwitchDigits, TfheSet};

/// The prime of 46.95 bits.
pub(super) const PRIME_47: u64 = 0x7c1f_0782_0001;
/// The prime of 38 bits.
pub(super) const PRIME_38: u64 = 0x3f_ffe8_0001;

/// For integers in digits of two bits with room for two more: sums of a few digits and functions of two.
pub const INTEGERS: TfheSet = TfheSet {
    name: "tfhe_m2c2_n942_k1_n11_q47_sec128_v1",
    code: 1,
    dimension: 942,
    noise_bits: 12,
    rank: 1,
    degree: 2048,
    prime: PRIME_47,
    expansion: 1,
    gadget: Gadget { shift: 25, bits: 0, levels: 1 },
    switch: SwitchDigits { bits: 4, levels: 4 },
    messages: Messages::Padded { bits: 4 },
    norm: 5,
    circuit: None,
};

/// For gates: a set of its own, in which a bootstrapping takes half the time.
pub const GATES: TfheSet = TfheSet {
    name: "tfhe_gate_n702_k3_n9_q38_sec128_v1",
    code: 2,
    dimension: 702,
    noise_bits: 18,
    rank: 3,
    degree: 512,
    prime: PRIME_38,
    expansion: 1,
    gadget: Gadget { shift: 20, bits: 0, levels: 1 },
    switch: SwitchDigits { bits: 3, levels: 4 },
    messages: Messages::Signs,
    norm: 4,
    circuit: None,
};

/// The set of a message of so many bits, as [`super::cheapest`] finds it.
const fn of_messages(
    (name, code): (&'static str, u16),
    (dimension, noise_bits, switch): (usize, u32, (u32, u32)),
    (rank, degree, expansion): (usize, usize, usize),
    gadget: (u32, u32, u32),
    (bits, norm): (u32, u32),
) -> TfheSet {
    TfheSet {
        name,
        code,
        dimension,
        noise_bits,
        rank,
        degree,
        prime: PRIME_47,
        expansion,
        gadget: Gadget { shift: gadget.0, bits: gadget.1, levels: gadget.2 },
        switch: SwitchDigits { bits: switch.0, levels: switch.1 },
        messages: Messages::Padded { bits },
        norm,
        circuit: None,
    }
}

const M2: TfheSet =
    of_messages(("tfhe_m2_n782_k4_n9_q47_sec128_v1", 3), (782, 16, (3, 5)), (4, 512, 1), (25, 0, 1), (2, 3));
const M3: TfheSet = of_messages(
    ("tfhe_m3_n822_k2_n10_q47_sec128_v1", 4),
    (822, 15, (3, 5)),
    (2, 1024, 1),
    (25, 0, 1),
    (3, 5),
);
const M5: TfheSet = of_messages(
    ("tfhe_m5_n902_k1_n11x2_q47_sec128_v1", 5),
    (902, 13, (2, 8)),
    (1, 2048, 2),
    (17, 15, 2),
    (5, 9),
);
const M6: TfheSet = of_messages(
    ("tfhe_m6_n980_k1_n11x4_q47_sec128_v1", 6),
    (980, 11, (3, 6)),
    (1, 2048, 4),
    (17, 15, 2),
    (6, 9),
);
const M7: TfheSet = of_messages(
    ("tfhe_m7_n1020_k1_n11x8_q47_sec128_v1", 7),
    (1020, 10, (3, 7)),
    (1, 2048, 8),
    (17, 15, 2),
    (7, 17),
);
const M8: TfheSet = of_messages(
    ("tfhe_m8_n1100_k1_n11x16_q47_sec128_v1", 8),
    (1100, 8, (3, 7)),
    (1, 2048, 16),
    (14, 11, 3),
    (8, 17),
);

/// For messages of 2 to 8 bits, in this order: look-ups of one message, or of two halves of it side by side. That of 4 bits is [`INTEGERS`].
pub const MESSAGES: [&TfheSet; 7] = [&M2, &M3, &INTEGERS, &M5, &M6, &M7, &M8];

/// For circuit bootstrapping: messages of 4 bits, and look-ups of one among many entries by bits that choose.
pub const WIDE: TfheSet = TfheSet {
    name: "tfhe_wide_n864_k1_n11_q47_sec128_v1",
    code: 9,
    dimension: 864,
    noise_bits: 14,
    rank: 1,
    degree: 2048,
    prime: PRIME_47,
    expansion: 1,
    gadget: Gadget { shift: 14, bits: 11, levels: 3 },
    switch: SwitchDigits { bits: 2, levels: 8 },
    messages: Messages::Padded { bits: 4 },
    norm: 5,
    circuit: Some(CircuitDigits {
        selector: Gadget { shift: 27, bits: 5, levels: 4 },
        switch: Gadget { shift: 7, bits: 5, levels: 8 },
    }),
};

/// All sets, by their codes.
pub const SETS: [&TfheSet; 9] = [&INTEGERS, &GATES, &M2, &M3, &M5, &M6, &M7, &M8, &WIDE];
