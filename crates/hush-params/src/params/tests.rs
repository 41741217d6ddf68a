// SPDX-License-Identifier: Apache-2.0
//! What files name is found, and definitions that files bring are checked.

use hush_testkit::damaged;

use super::*;
use crate::ChainError;
use crate::chain::{ChainSpec, DefinitionFault, MAX_DEFINITION_BYTES};
use crate::presets::{chain_preset, presets};
use crate::primes::primes_of;

/// A chain that is no preset: three levels with a special prime.
fn own() -> ChainParams {
    ChainParams::uniform(8192, 40, 1, 3, 1, 1).unwrap()
}

fn defined(chain: &ChainParams) -> (Definitions, Fingerprint) {
    let mut definitions = Definitions::default();
    let fingerprint = definitions.define(&chain.canonical_bytes()).unwrap();
    (definitions, fingerprint)
}

#[test]
fn every_preset_is_found_by_name_code_and_fingerprint() {
    let rings = presets().iter().map(|set| (set.name(), set.code(), Params::Ring(set)));
    let chains = chain_presets()
        .iter()
        .map(|chain| (chain.name(), chain.code(), Params::Chain(Arc::new(chain.params().unwrap()))));
    let none = Definitions::default();
    let mut fingerprints = std::collections::BTreeSet::new();
    for (name, code, params) in rings.chain(chains) {
        assert_eq!(Params::named(name).unwrap(), params);
        assert_eq!(none.resolve(Named::Code(code)).unwrap(), params);
        assert_eq!((params.name(), params.code()), (name.to_owned(), Some(code)));
        assert!(params.is_secure() && params.security_bits() >= 128, "{name}");
        assert!(fingerprints.insert(params.fingerprint()), "{name}");
        let found = none.resolve(Named::Fingerprint(params.fingerprint()));
        match &params {
            Params::Chain(chain) => {
                assert_eq!(found.unwrap(), params);
                assert_eq!(params.degree(), chain.degree());
                assert_eq!(params.modulus_bits(), chain.log_qp_ceil());
                assert_eq!(params.chain().unwrap(), chain);
                assert_eq!(params.ring(), Err(ParamsError::NotARing { found: name.to_owned() }));
            }
            // A ring has a code, and every header of a ring names it so.
            Params::Ring(set) => {
                assert!(matches!(found, Err(ParamsError::UnknownFingerprint { .. })));
                assert_eq!(params.degree(), set.degree());
                assert_eq!(params.modulus_bits(), set.log_q_ceil());
                assert_eq!(params.ring().unwrap(), *set);
                assert_eq!(params.chain(), Err(ParamsError::NotAChain { found: set.name() }));
            }
        }
    }
    assert!(matches!(Params::named("n10"), Err(ParamsError::UnknownName { .. })));
    assert_eq!(none.resolve(Named::Code(102)), Err(ParamsError::UnknownCode { found: 102 }));
}

#[test]
fn a_chain_of_a_file_is_found_by_its_fingerprint() {
    let chain = own();
    let (definitions, fingerprint) = defined(&chain);
    let params = definitions.resolve(Named::Fingerprint(fingerprint)).unwrap();
    assert_eq!(params, Params::Chain(Arc::new(chain.clone())));
    assert_eq!((params.name(), params.code()), (format!("chain:{fingerprint}"), None));
    assert_eq!(definitions.resolve(Named::Name(&params.name())).unwrap(), params);
    assert!(params.is_secure());
    // Presets are still found; another file does not know the chain.
    assert!(definitions.resolve(Named::Name("n11_q1x46_sec128_v1")).is_ok());
    let unknown = ParamsError::UnknownFingerprint { found: fingerprint };
    assert_eq!(Params::named(&params.name()), Err(unknown));
    for malformed in ["chain:", "chain:12", &params.name().to_uppercase(), &format!("{}0", params.name())] {
        assert!(matches!(definitions.resolve(Named::Name(malformed)), Err(ParamsError::UnknownName { .. })));
    }
}

#[test]
fn one_chain_has_one_name() {
    let (mut definitions, fingerprint) = defined(&own());
    let again = definitions.define(&own().canonical_bytes());
    assert_eq!(again, Err(ParamsError::Repeated { found: fingerprint }));
    let preset = chain_preset("n13_q3p1x46_d1_sec128_v1").unwrap().params().unwrap();
    let named = definitions.define(&preset.canonical_bytes());
    assert_eq!(named, Err(ParamsError::Repeated { found: preset.fingerprint() }));
}

fn refused(definition: &[u8]) -> DefinitionFault {
    match Definitions::default().define(definition) {
        Err(ParamsError::Definition { fault }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn definitions_that_are_insecure_or_malformed_are_refused() {
    let good = own().canonical_bytes();
    let with = |at: usize, field: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + field.len()].copy_from_slice(field);
        bytes
    };
    // The ring degree at 16, a toy at 20, counts from 22, primes from 28.
    let insecure = refused(&with(16, &2048_u32.to_le_bytes()));
    assert!(matches!(insecure, DefinitionFault::Chain(ChainError::Insecure { max: 53, .. })), "{insecure:?}");
    let fault = refused(&with(20, &[1]));
    assert_eq!(fault, DefinitionFault::InsecureToy);
    assert!(matches!(refused(&with(28, &[2])), DefinitionFault::Chain(ChainError::Prime { .. })));
    assert!(matches!(refused(&with(21, &[0])), DefinitionFault::Chain(ChainError::DigitLimbs { .. })));
    let form = |found| DefinitionFault::Form { found };
    let places = good.len() - 1;
    for bytes in [with(0, b"H"), with(20, &[2]), with(22, &[0xff; 2]), with(26, &[0xff; 2]), vec![]] {
        assert_eq!(refused(&bytes), form(bytes.len()));
    }
    assert_eq!(refused(&good[..places]), form(places));
    assert_eq!(refused(&[&good[..], &[0]].concat()), form(good.len() + 1));
    assert_eq!(refused(&vec![0; MAX_DEFINITION_BYTES + 1]), form(MAX_DEFINITION_BYTES + 1));
    assert!(matches!(refused(&with(places, &[9])), DefinitionFault::Chain(ChainError::Level { level: 2 })));
    let toy = ChainSpec {
        degree: 16,
        universe: vec![primes_of(46)[0]],
        special: vec![],
        levels: vec![vec![0]],
        digit_limbs: 1,
    };
    let toy = ChainParams::insecure_toy(toy).unwrap();
    assert_eq!(refused(&toy.canonical_bytes()), DefinitionFault::InsecureToy);
    assert!(!Params::Chain(Arc::new(toy)).is_secure());
}

/// The largest chain that can be defined at all fits the limit.
#[test]
fn no_chain_is_longer_than_a_definition_may_be() {
    let largest = 28 + 255 * 8 + 256 * 256;
    assert!(largest <= MAX_DEFINITION_BYTES);
}

/// What is accepted has these very bytes and is secure.
#[test]
fn mutations_of_definitions_are_refused_or_are_what_they_say() {
    let samples = [
        own(),
        chain_preset("n15_q12p6x46_d6_sec128_v1").unwrap().params().unwrap(),
        // Levels that share no primes: rational rescaling.
        ChainParams::new(ChainSpec {
            degree: 16384,
            universe: primes_of(30).iter().chain(primes_of(40)).copied().take(6).collect(),
            special: vec![primes_of(46)[0]],
            levels: vec![vec![5], vec![0, 1, 2], vec![1, 2, 3, 5]],
            digit_limbs: 1,
        })
        .unwrap(),
    ];
    let mut accepted = 0;
    for sample in samples {
        let bytes = sample.canonical_bytes();
        assert_eq!(ChainParams::from_canonical_bytes(&bytes), Ok(sample));
        accepted += damaged("definition", 2000, &bytes, |bytes| {
            let Ok(chain) = ChainParams::from_canonical_bytes(bytes) else { return false };
            assert_eq!(chain.canonical_bytes(), bytes);
            assert!(Params::Chain(Arc::new(chain)).is_secure());
            true
        });
    }
    assert!(accepted > 0);
}
