// SPDX-License-Identifier: Apache-2.0
//! Operations that are done in one pass, or for several ciphertexts at once, give the bits of the steps they stand for.

use hush_schemes::ckks::{Ckks, CkksCiphertext};

use super::*;

#[test]
fn products_in_one_pass_are_products_in_steps() {
    for digit_limbs in [1, 2, 3] {
        let mut draw = Draw::new();
        let party = Party::new(&toy(64, digit_limbs), &[]);
        let (scheme, keys) = (&party.scheme, &party.keys);
        for level in (1..=4).map(Level) {
            let [a, b] = [(); 2].map(|()| party.encrypt(&draw.values(64), level));
            let product = scheme.mul(&a, &b).unwrap();
            let relinearized = scheme.relinearize(&product, keys).unwrap();
            assert_eq!(scheme.mul_relinearize(&a, &b, keys).unwrap(), relinearized, "{draw}");
            let divided = scheme.relinearize_mod_switch(&product, keys).unwrap();
            assert_eq!(scheme.mul_mod_switch(&a, &b, keys).unwrap(), divided, "{draw}");
        }
    }
}

#[test]
fn several_ciphertexts_give_what_each_gives_alone() {
    let degree = 1024;
    let mut draw = Draw::new();
    let rotation = rotation_element(degree, 3);
    let party = Party::new(&toy(degree as u32, 2), &[rotation]);
    let (scheme, keys) = (&party.scheme, &party.keys);
    let ciphertexts: Vec<BgvCiphertext> =
        (0..6).map(|_| party.encrypt(&draw.values(degree), Level(3))).collect();
    let pairs: Vec<_> = ciphertexts.iter().zip(ciphertexts.iter().rev()).collect();
    for count in 0..=6 {
        let alone: Vec<_> =
            pairs[..count].iter().map(|(a, b)| scheme.mul_mod_switch(a, b, keys).unwrap()).collect();
        assert_eq!(scheme.mul_mod_switch_all(&pairs[..count], keys).unwrap(), alone, "{draw}");
        let some: Vec<_> = ciphertexts[..count].iter().collect();
        let alone: Vec<_> = some.iter().map(|a| scheme.rotate_rows(a, 3, keys).unwrap()).collect();
        assert_eq!(scheme.rotate_rows_all(&some, 3, keys).unwrap(), alone);
    }
    let all: Vec<_> = ciphertexts.iter().collect();
    assert_eq!(scheme.rotate_rows_all(&all, 0, keys).unwrap(), ciphertexts);

    let low = scheme.mod_switch_to(&ciphertexts[0], Level(2)).unwrap();
    let mixed = [(&ciphertexts[0], &ciphertexts[1]), (&low, &low)];
    assert!(matches!(scheme.mul_mod_switch_all(&mixed, keys), Err(SchemeError::Rlwe(_))));
    assert!(matches!(scheme.mul_mod_switch_all(&[(&low, &ciphertexts[0])], keys), Err(SchemeError::Rlwe(_))));
    assert!(matches!(scheme.rotate_rows_all(&[&ciphertexts[0], &low], 3, keys), Err(SchemeError::Rlwe(_))));
    let missing = scheme.rotate_rows_all(&all, 5, keys).unwrap_err();
    let element = rotation_element(degree, 5);
    assert_eq!(missing, SchemeError::Rlwe(RlweError::MissingKey { element }));
    let three = scheme.mul(&ciphertexts[0], &ciphertexts[1]).unwrap();
    let error = scheme.mul_mod_switch_all(&[(&three, &three)], keys).unwrap_err();
    assert_eq!(error, SchemeError::Rlwe(RlweError::Components { found: 3, expected: 2 }));
}

#[test]
fn ckks_keeps_the_scale_of_each_pair() {
    let params = toy(1024, 2);
    let scheme = Ckks::new(&params, 45.99, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let keys = secret.evaluation_keys(true, &[rotation_element(1024, -7)]).unwrap();
    let encrypt = |value: f64| -> CkksCiphertext {
        let message = scheme.encode_real(&vec![value; 512], Level(4)).unwrap();
        scheme.ciphertext(secret.encrypt(message).unwrap().expand().unwrap()).unwrap()
    };
    let (a, b) = (encrypt(0.5), encrypt(-1.25));
    let pairs = [(&a, &b), (&b, &b), (&a, &a)];
    let alone = pairs.map(|(a, b)| scheme.mul_rescale(a, b, &keys).unwrap());
    assert_eq!(scheme.mul_rescale_all(&pairs, &keys).unwrap(), alone);
    let steps = scheme.relinearize_rescale(&scheme.mul(&a, &b).unwrap(), &keys).unwrap();
    assert_eq!(alone[0], steps);
    assert_eq!(
        scheme.mul_relinearize(&a, &b, &keys).unwrap(),
        scheme.relinearize(&scheme.mul(&a, &b).unwrap(), &keys).unwrap()
    );
    let rotated = [&a, &b].map(|a| scheme.rotate(a, -7, &keys).unwrap());
    assert_eq!(scheme.rotate_all(&[&a, &b], -7, &keys).unwrap(), rotated);
}
