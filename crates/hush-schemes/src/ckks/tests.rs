// SPDX-License-Identifier: Apache-2.0
//! Encodings of reals: rounding, ranges, and that errors never carry a value.

use hush_ring::Ring;

use super::*;

fn scale(log2: u32) -> Scale {
    Scale::from_log2(log2).unwrap()
}

#[test]
fn coefficients_round_to_the_nearest_multiple() {
    let values = [0.0, 1.0, -1.0, 0.3, -1e-3, 12345.678, f64::MIN_POSITIVE];
    let encoded = encode_coefficients(&values, scale(40), 90).unwrap();
    for (&value, &encoded) in values.iter().zip(&encoded) {
        let back = decode_coefficient(I256::from(encoded), scale(40));
        assert!((back - value).abs() <= (-41_f64).exp2(), "{value}");
    }
    assert_eq!(encoded[1], 1 << 40);
}

#[test]
fn values_that_do_not_fit_are_named_by_position_only() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX * 2.0] {
        let error = encode_coefficients(&[1.0, bad], scale(30), 60).unwrap_err();
        assert_eq!(error, SchemeError::NotFinite { index: 1 });
    }
    // 2^30 at scale 2^30 reaches the limit of 2^60; anything below does not.
    let limit = 30_f64.exp2();
    let error = encode_coefficients(&[0.0, 0.0, -limit], scale(30), 60).unwrap_err();
    assert_eq!(error, SchemeError::ValueRange { index: 2, limit_log2: 30 });
    assert!(!error.to_string().contains("1073741824"));
    assert!(encode_coefficients(&[limit - 1.0, 1.0 - limit], scale(30), 60).is_ok());
    let error = encode_coefficients(&[1e300], scale(120), 200).unwrap_err();
    assert_eq!(error, SchemeError::ValueRange { index: 0, limit_log2: 6 });
}

#[test]
fn scales_have_a_range_and_multiply() {
    assert!(Scale::from_log2(0).is_err());
    assert!(Scale::from_log2(121).is_err());
    assert_eq!(scale(40).product(scale(30)).unwrap(), scale(70));
    assert!(scale(100).product(scale(30)).is_err());
}

#[test]
fn slots_come_back_within_the_rounding_of_coefficients() {
    let ring = Ring::insecure_toy(1024, &[0x3fff_ffcc_0001]).unwrap();
    let encoder = ApproxEncoder::new(&ring);
    let values: Vec<f64> = (0..512).map(|i| f64::from(i * i % 1013) / 7.0 - 70.0).collect();
    let coefficients = encoder.coefficients(&values, scale(36)).unwrap();
    let phase: Vec<I256> = coefficients.iter().map(|&c| I256::from(c)).collect();
    let decoded = encoder.decode(&phase, scale(36)).unwrap();
    // Each of 1024 coefficients is off by at most 1/2: their sum bounds any slot.
    for (a, b) in values.iter().zip(&decoded) {
        assert!((a - b).abs() <= 512.0 * (-36_f64).exp2(), "{a} {b}");
    }
    assert!(encoder.coefficients(&[0.0; 513], scale(36)).is_err());
    assert_eq!(encoder.coefficients(&[0.0, f64::NAN], scale(36)), Err(SchemeError::NotFinite { index: 1 }));
    // Q/4 is just below 2^44.
    let error = encoder.coefficients(&[1e9], scale(40)).unwrap_err();
    assert_eq!(error, SchemeError::ValueRange { index: 0, limit_log2: 3 });
    assert!(encoder.decode(&phase[1..], scale(36)).is_err());
}
