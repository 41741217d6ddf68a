// SPDX-License-Identifier: Apache-2.0
//! Every decoder against thousands of damaged objects: a typed error, or a value that encodes to the same bytes.
//!
//! From a corpus of valid objects of every kind a seeded generator makes others by flipped bits, cuts, extensions, splices of
//! two objects, repeated pieces and edits of whole fields; most get a right checksum again, as a forger would give them.
//! All decoders see all of them. `HUSH_MUTATIONS` multiplies their number, `HUSH_MUTATION_SEED` repeats a run.

use super::*;
use crate::chain_object::tests::bootstrapping_keys::{encapsulation_keys, leveled_keys, levels};
use crate::chain_object::tests::{evaluation_keys, full, public_key, seeded, toy, with_meaning};
use hush_ring::Level;
use hush_testkit::Draw;

/// A piece of `bytes`, as a range.
fn range_of(draw: &mut Draw, bytes: &[u8]) -> std::ops::Range<usize> {
    let (a, b) = (draw.below(bytes.len() + 1), draw.below(bytes.len() + 1));
    a.min(b)..a.max(b)
}

/// One mutation.
fn mutate(draw: &mut Draw, bytes: &mut Vec<u8>, other: &[u8]) {
    match draw.below(8) {
        0 | 1 => {
            for _ in 0..=draw.below(4) {
                let bit = draw.below(8 * bytes.len());
                if let Some(byte) = bytes.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
            }
        }
        2 => bytes.truncate(draw.below(bytes.len() + 1)),
        3 => {
            for _ in 0..draw.below(100) {
                bytes.push(draw.word() as u8);
            }
        }
        4 => {
            let piece = other[range_of(draw, other)].to_vec();
            let at = range_of(draw, bytes);
            bytes.splice(at, piece);
        }
        5 => {
            let piece = bytes[range_of(draw, bytes)].to_vec();
            let at = draw.below(bytes.len() + 1);
            bytes.splice(at..at, piece);
        }
        6 => {
            // Same length, so that the decoder reads on.
            let at = range_of(draw, other);
            let end = at.end.min(bytes.len());
            if at.start < end {
                bytes[at.start..end].copy_from_slice(&other[at.start..end]);
            }
        }
        _ => edit_field(draw, bytes),
    }
}

/// Overwrites a field of a header (or of keys, which have a header of their own) with a telling value.
fn edit_field(draw: &mut Draw, bytes: &mut [u8]) {
    let width = 1 << draw.below(4);
    let at = width * draw.below(CHAIN_HEADER_BYTES / width + 2);
    let values = [0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, u64::MAX, bytes.len() as u64];
    let mut value = values[draw.below(values.len())];
    let Some(field) = bytes.get_mut(at..at + width) else { return };
    if draw.below(3) == 0 {
        let mut old = [0; 8];
        old[..width].copy_from_slice(field);
        value = u64::from_le_bytes(old).wrapping_add(value);
    }
    field.copy_from_slice(&value.to_le_bytes()[..width]);
}

/// A reader that expects one certain object; gives what it accepted in encoded form.
pub(super) type Reader = Box<dyn Fn(&[u8]) -> Result<Vec<u8>, CodecError>>;

/// A valid object, and the reader that expects it.
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) read: Reader,
}

/// One of every kind and form.
pub(super) fn samples() -> Vec<Sample> {
    let chain = &toy(65537);
    let mut corpus = stored_objects();
    let level = Level(1);
    let fresh = [seeded(chain, level), seeded(chain, level)];
    let bytes = encode_seeded(chain, level, &fresh).unwrap();
    let own = chain.clone();
    let read = move |bytes: &[u8]| {
        encode_seeded(&own, level, &UncheckedSeededSet::decode(bytes)?.conform(&own, level, 2)?)
    };
    corpus.push(Sample { name: "chain-seeded", bytes, read: Box::new(read) });
    for (components, name) in [(2, "chain-full"), (3, "chain-product")] {
        let id = LeveledSetId { level, count: 2, components };
        let ciphertext = full(chain, level, components.into());
        let bytes = encode_leveled(chain, id, &[ciphertext.clone(), ciphertext]).unwrap();
        let own = chain.clone();
        let read = move |bytes: &[u8]| {
            encode_leveled(&own, id, &UncheckedLeveledSet::decode(bytes)?.conform(&own, id)?)
        };
        corpus.push(Sample { name, bytes, read: Box::new(read) });
    }
    for (name, chain, meanings) in [
        ("chain-factors", chain.clone(), [PhaseMeaning::Factor(3), PhaseMeaning::Factor(65536)]),
        ("chain-scales", toy(1), [PhaseMeaning::Scale(1e12), PhaseMeaning::Scale(f64::MIN_POSITIVE)]),
    ] {
        let (id, bytes) = with_meaning(&chain, &meanings);
        let read = move |bytes: &[u8]| {
            let set = UncheckedLeveledSet::decode(bytes)?.conform_with_meaning(&chain, id)?;
            let pairs: Vec<_> = set.iter().map(|(ciphertext, meaning)| (ciphertext, *meaning)).collect();
            encode_leveled_with_meaning(&chain, id, &pairs)
        };
        corpus.push(Sample { name, bytes, read: Box::new(read) });
    }
    let bytes = evaluation_keys(chain, &[0, 5]).encode(chain).unwrap();
    let own = chain.clone();
    let read =
        move |bytes: &[u8]| UncheckedEvaluationKeys::decode(bytes)?.conform(&own, &[0, 5])?.encode(&own);
    corpus.push(Sample { name: "chain-evaluation-keys", bytes, read: Box::new(read) });
    let bytes = leveled_keys(chain).encode_up_to(chain).unwrap();
    let own = chain.clone();
    let read =
        move |bytes: &[u8]| UncheckedLeveledKeys::decode(bytes)?.conform(&own, &levels())?.encode_up_to(&own);
    corpus.push(Sample { name: "chain-leveled-keys", bytes, read: Box::new(read) });
    let bytes = encapsulation_keys(chain).encode().unwrap();
    let own = chain.clone();
    let read = move |bytes: &[u8]| UncheckedEncapsulationKeys::decode(bytes)?.conform(&own)?.encode();
    corpus.push(Sample { name: "chain-encapsulation-keys", bytes, read: Box::new(read) });
    let own = chain.clone();
    let read = move |bytes: &[u8]| UncheckedPublicKey::decode(bytes)?.conform(&own)?.encode();
    let bytes = public_key(chain).encode().unwrap();
    corpus.push(Sample { name: "chain-public-key", bytes, read: Box::new(read) });
    corpus
}

/// The objects of tables and answers, over the smallest preset.
fn stored_objects() -> Vec<Sample> {
    let id = BodyId { element_count: 1, ..ID };
    let mut corpus = Vec::new();
    for (kind, name) in [(BodyKind::Sum, "body-sum"), (BodyKind::Slot, "body-slot")] {
        let read = move |bytes: &[u8]| {
            let ring = small();
            // The quick way in may accept more, but must not fail otherwise.
            if let Ok(body) = Body::from_verified(bytes, &ring, kind, id) {
                assert_eq!(body.packed(0, 0, 0).len(), ring.limb_bytes());
            }
            let body = UncheckedBody::decode(bytes)?.conform(&ring, kind, id)?;
            let mut words = vec![0; ring.degree()];
            let mut writer = BodyWriter::new(&ring, kind, id)?;
            ring.limbs()[0].unpack(body.packed(0, 0, 0), &mut words);
            writer.push_limb(&ring.limbs()[0], &words);
            writer.finish()
        };
        corpus.push(Sample { name, bytes: body(&small(), kind, id), read: Box::new(read) as Reader });
    }
    let read = |bytes: &[u8]| {
        let ring = small();
        let body = UncheckedBody::decode(bytes)?.conform(&ring, BodyKind::Sum, ID)?;
        if body.coefficients() == 2 * ring.degree() {
            // As good as a body that is not cut.
            return Ok(bytes.to_vec());
        }
        let mut words = vec![0; ring.degree()];
        let mut writer = BodyWriter::cut(&ring, ID, body.coefficients())?;
        for element in 0..2 {
            ring.limbs()[0].unpack(body.packed(element, 0, 0), &mut words);
            writer.push_limb(&ring.limbs()[0], &words);
        }
        writer.finish()
    };
    let bytes = cut_body(&small(), ID, small().degree() + 5);
    corpus.push(Sample { name: "body-sum-cut", bytes, read: Box::new(read) });
    let answer = SumAnswer::new(words(&small()), vec![1, 2, 3]).unwrap();
    let read = |bytes: &[u8]| UncheckedSumAnswer::decode(bytes)?.conform(&small(), 9, 3)?.encode(9);
    corpus.push(Sample { name: "sum-answer", bytes: answer.encode(9).unwrap(), read: Box::new(read) });
    let ciphertext = RlweCiphertext::new(vec![words(&small()); 2]).unwrap();
    for (lanes, name) in [(1, "ciphertext-set"), (2, "ciphertext-set-of-two-lanes")] {
        let set = CiphertextSet { ciphertexts: vec![ciphertext.clone(); lanes.into()], lanes };
        let read = move |bytes: &[u8]| {
            let id = CiphertextSetId { chunk: 4, element_count: 1, lanes, components: 2 };
            UncheckedCiphertextSet::decode(bytes)?.conform(&small(), id)?.encode(&small(), 4)
        };
        let bytes = set.encode(&small(), 4).unwrap();
        corpus.push(Sample { name, bytes, read: Box::new(read) });
    }
    corpus.extend(rounded_objects());
    corpus.extend(products());
    let bodies = vec![words(&small()), words(&small())];
    let keys = PowerKeys::new(&small(), UniformSeed::from_bytes([7; 32]), 3, bodies).unwrap();
    let read = |bytes: &[u8]| PowerKeys::decode(bytes, &small(), 3)?.encode();
    corpus.push(Sample { name: "power-keys", bytes: keys.encode().unwrap(), read: Box::new(read) });
    corpus
}

/// Sums of products in both forms.
fn products() -> impl Iterator<Item = Sample> {
    let rounded = ProductForm::Rounded { bits: vec![20, 30, 41], t: 65537 };
    let forms = [("product-residues", ProductForm::Residues { components: 2 }), ("product-rounded", rounded)];
    forms.into_iter().map(|(name, form)| {
        let components = vec![words(&small()); form.components().into()];
        let bytes = encode_product(&small(), &components, &form).unwrap();
        let read = move |bytes: &[u8]| {
            let components = decode_product(bytes, &small(), &form)?;
            assert_eq!(components.len(), usize::from(form.components()));
            encode_product(&small(), &components, &form)
        };
        Sample { name, bytes, read: Box::new(read) }
    })
}

/// The same, rounded.
fn rounded_objects() -> Vec<Sample> {
    let rounding = |bits, moduli: &[PlaintextModulus]| ObjectRounding::new(&small(), bits, moduli).unwrap();
    let id = BodyId { element_count: 1, ..ID };
    let mut corpus = Vec::new();
    for (kind, name, modulus) in [
        (BodyKind::Sum, "rounded-body-sum", PlaintextModulus::PowerOfTwo(20)),
        (BodyKind::Slot, "rounded-body-slot", PlaintextModulus::Prime(40961)),
    ] {
        let rounding = rounding(23, &[modulus]);
        let whole = body(&small(), kind, id);
        let read = move |bytes: &[u8]| {
            let whole = rounding.restore_body(bytes, kind, id)?;
            let body = UncheckedBody::decode(&whole)?.conform(&small(), kind, id)?;
            rounding.round_body(&body, kind)
        };
        let body = UncheckedBody::decode(&whole).unwrap().conform(&small(), kind, id).unwrap();
        let bytes = ObjectRounding::new(&small(), 23, &[modulus]).unwrap().round_body(&body, kind).unwrap();
        corpus.push(Sample { name, bytes, read: Box::new(read) as Reader });
    }
    let rounding = rounding(30, &[PlaintextModulus::Prime(40961), PlaintextModulus::Prime(65537)]);
    let ciphertext = RlweCiphertext::new(vec![words(&small()); 2]).unwrap();
    let set = CiphertextSet { ciphertexts: vec![ciphertext; 2], lanes: 2 };
    let bytes = rounding.round_ciphertexts(&set, 4).unwrap();
    let read = move |bytes: &[u8]| {
        let id = CiphertextSetId { chunk: 4, element_count: 1, lanes: 2, components: 2 };
        rounding.round_ciphertexts(&rounding.restore_ciphertexts(bytes, id)?, 4)
    };
    corpus.push(Sample { name: "rounded-ciphertexts", bytes, read: Box::new(read) });
    corpus
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn damaged_objects_are_refused_or_are_what_they_say() {
    let mut draw = Draw::of_environment("HUSH_MUTATION_SEED");
    let count = 2000 * from_environment("HUSH_MUTATIONS").unwrap_or(1);
    let samples = samples();
    for Sample { bytes, read, .. } in &samples {
        assert_eq!(read(bytes).as_ref(), Ok(bytes));
    }
    // What versions before this one wrote, and what was found to be dangerous, is damaged as well.
    let own = samples.iter().map(|sample| sample.bytes.clone());
    let stored = super::corpus::files().into_iter().map(|file| file.bytes);
    let corpus: Vec<Vec<u8>> = own.chain(stored).collect();
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..count {
        let mut bytes = corpus[draw.below(corpus.len())].clone();
        for _ in 0..=draw.below(3) {
            mutate(&mut draw, &mut bytes, &corpus[round as usize % corpus.len()]);
        }
        if draw.below(4) > 0 && bytes.len() >= CHECKSUM_BYTES {
            bytes = reseal(bytes);
        }
        for Sample { name, read, .. } in &samples {
            match read(&bytes) {
                Ok(again) => {
                    assert!(again == bytes, "{draw}, round {round}, {name}: other bytes");
                    accepted += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    // Neither side of the promise is empty: flipped bits of residues mostly stay below the prime.
    if count >= 1000 {
        assert!(accepted > count / 50 && refused > count, "{draw}: {accepted} accepted, {refused} refused");
    }
}
