// SPDX-License-Identifier: Apache-2.0
//! Searches this process for secrets that should be gone, as a thief of a memory image would.
//!
//! Every test first finds the secret while it lives, so that a search that sees nothing fails.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hush_params::{ChainParams, preset};
use hush_ring::{Cpu, Ring, SecretRng};
use hush_rlwe::{BodyId, BodyKind, UncheckedBody};
use hush_schemes::Values;
use hush_schemes::bgv::Bgv;
use hush_testkit::{Draw, Wanted};

use crate::decrypt::{PhaseLimit, chunk_phases, decrypt_sum_chunk};
use crate::keyfile::{MIN_WORK_LOG2, NewPassphrase, Passphrase, WorkFactor, load, store};
use crate::{ChainSecret, Encryptor, Flood, OwnerSeed, SecretKey, SecretKind, SumColumn};

fn ring() -> Ring {
    Ring::new(preset("n12_q2x46_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap()
}

fn letters(draw: u64) -> impl Iterator<Item = u8> {
    let mut draw = Draw::of(draw);
    std::iter::repeat_with(move || b'a' + draw.below(26) as u8).take(24)
}

#[test]
fn passphrase_and_seed_are_gone_with_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let (path, file) = (directory.path().join("owner.hushkey"), directory.path().join("passphrase"));
    let wanted = Wanted::new(letters(1));
    let open = || {
        std::fs::write(&file, zeroize::Zeroizing::new(letters(1).collect::<Vec<u8>>())).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        Passphrase::from_file(&file).unwrap()
    };
    let seed = OwnerSeed::generate().unwrap();
    let seed_wanted = Wanted::new(seed.expose().iter().copied());
    store(&path, &seed, &NewPassphrase::new(open()).unwrap(), WorkFactor::Log2(MIN_WORK_LOG2)).unwrap();
    assert_eq!(seed_wanted.count(), 1, "the seed itself: {:#?}", seed_wanted.places());
    drop(seed);
    assert_eq!(seed_wanted.places(), [""; 0], "after the key was stored");

    let passphrase = open();
    assert_eq!(wanted.count(), 1, "the passphrase itself: {:#?}", wanted.places());
    let opened = load(&path, &passphrase).unwrap();
    drop(passphrase);
    assert_eq!(wanted.places(), [""; 0], "passphrases after the key was opened");
    assert_eq!(seed_wanted.count(), 1, "the seed that was read, once: {:#?}", seed_wanted.places());
    opened.sign(b"message");
    opened.of_table([1; 16], [2; 16]).secret(SecretKind::Sum, &ring(), [3; 16]);
    drop(opened);
    assert_eq!(seed_wanted.places(), [""; 0], "seeds after the key was closed");
}

#[test]
fn secret_polynomials_are_gone_with_their_key() {
    let secret = SecretKey::sample(&ring(), [0; 16], &mut SecretRng::from_os().unwrap());
    let small = Wanted::new(secret.small()[100..164].iter().map(|&s| s as u8));
    let eval = Wanted::new(secret.eval_limb(1)[100..108].iter().flat_map(|word| word.to_le_bytes()));
    assert!(small.count() == 1 && eval.count() == 1);
    drop(secret);
    assert_eq!((small.count(), eval.count()), (0, 0));
}

/// The phase of a ciphertext is a linear equation in the secret: it must not outlive its decoding.
#[test]
fn phases_and_errors_are_gone_with_the_result() {
    let ring = ring();
    let secret = SecretKey::sample(&ring, [0; 16], &mut SecretRng::from_os().unwrap());
    let values = vec![7_i64; 5000];
    let mut encryptor = Encryptor::new();
    let mut chunk = encryptor.begin_chunk(0, values.len()).unwrap();
    let seed = chunk.seed();
    let column = SumColumn { column: 0, secret: &secret, t_log2: 40, values: Values::I64(&values) };
    let bytes = chunk.encrypt_sum(&ring, &[column]).unwrap().remove(0);
    let errors = Wanted::new(chunk.last_errors()[100..116].iter().flat_map(|error| error.to_le_bytes()));
    assert_eq!(errors.count(), 1);
    drop(encryptor);
    assert_eq!(errors.count(), 0, "errors");

    let id = BodyId { column: 0, chunk: 0, element_count: 2, lanes: 1 };
    let body = UncheckedBody::decode(&bytes).unwrap().conform(&ring, BodyKind::Sum, id).unwrap();
    let phases = chunk_phases(&secret, seed, &body, 2 * ring.degree()).unwrap();
    // Errors are small: a shorter pattern would occur by chance.
    let pattern = |from: usize| {
        Wanted::new(phases[from..from + 16].iter().flat_map(|phase| phase.0).flat_map(i128::to_le_bytes))
    };
    // In a row, and behind the last row, where there is nothing but an error.
    let (row, padding) = (pattern(100), pattern(5100));
    assert_eq!(
        (row.places().len(), padding.places().len()),
        (1, 1),
        "{:#?} {:#?}",
        row.places(),
        padding.places()
    );
    drop(phases);
    assert_eq!((row.count(), padding.count()), (0, 0), "phases");
    let values = decrypt_sum_chunk(&secret, seed, &body, values.len(), 40, PhaseLimit::NONE).unwrap();
    assert!(values.iter().all(|value| *value == 7));
    assert_eq!((row.count(), padding.count()), (0, 0), "phases of a decryption");
    // A release takes the phases out of their wiped owner: with noise on them.
    let key = OwnerSeed::generate().unwrap().of_table([1; 16], [2; 16]).release_key();
    let released = Flood::new(&key, 20).chunk(&secret, seed, &body, values.len()).unwrap();
    assert_eq!(released.iter().map(|number| number.phases.len()).sum::<usize>(), 8192);
    assert_eq!((row.count(), padding.count()), (0, 0), "phases of a release");
}

/// At a degree where conversions work on whole rows, and at one where they copy them to cut them in tiles.
#[test]
fn phases_of_chains_are_gone_when_they_are_decoded() {
    for degree in [8192, 1 << 15] {
        let params = ChainParams::uniform(degree, 46, 1, 3, 1, 1).unwrap();
        let scheme = Bgv::new(&params, 65537, Cpu::detect().unwrap()).unwrap();
        let secret = ChainSecret::generate(scheme.chain()).unwrap();
        let fresh = secret.encrypt(scheme.encode(&[1, 2, 3], params.top()).unwrap()).unwrap();
        let ciphertext = scheme.ciphertext(fresh.expand().unwrap()).unwrap();
        let phase = secret.phase(ciphertext.inner()).unwrap();
        let wanted = Wanted::new(phase.poly().limb(0)[100..108].iter().flat_map(|word| word.to_le_bytes()));
        assert_eq!(wanted.count(), 1);
        assert_eq!(scheme.decode(phase.poly(), &ciphertext).unwrap()[..3], [1, 2, 3]);
        drop(phase);
        assert_eq!(wanted.places(), [""; 0], "N = {degree}");
    }
}
