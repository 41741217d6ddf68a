// SPDX-License-Identifier: Apache-2.0
use hush_params::tfhe::{GATES, INTEGERS};
use hush_ring::Cpu;
use hush_tfhe::gate::{Bit, Gate, choose, evaluate};
use hush_tfhe::{Lwe, ServerKey, Table};

use super::*;

mod bridge;
mod circuit;
mod messages;
mod noise;
mod programs;

fn secret(set: &'static hush_params::tfhe::TfheSet) -> TfheSecret {
    let context = Context::new(set, Cpu::detect().unwrap()).unwrap();
    TfheSecret::generate(&context).unwrap()
}

fn server(secret: &TfheSecret) -> ServerKey {
    let bytes = secret.server_keys().unwrap().encode(secret.context()).unwrap();
    KeyParts::decode(secret.context(), &bytes).unwrap()
}

fn sent(secret: &TfheSecret, messages: &[u64]) -> Vec<Lwe> {
    let bytes = secret.encrypt(messages).unwrap().encode(secret.context());
    Fresh::decode(secret.context(), messages.len(), &bytes).unwrap()
}

fn answered(secret: &TfheSecret, key: &ServerKey, results: &[Lwe]) -> Vec<u64> {
    let small = key.switch(&results.iter().collect::<Vec<_>>()).unwrap();
    let bytes = Answers(small).encode(secret.context());
    secret.decrypt(results.len(), &bytes).unwrap().to_vec()
}

#[test]
fn tables_are_looked_up_at_every_message() {
    let secret = secret(&INTEGERS);
    let (key, context) = (server(&secret), secret.context());
    let messages: Vec<u64> = (0..16).collect();
    let inputs = sent(&secret, &messages);
    for function in [|m: u64| m, |m: u64| 15 - m, |m: u64| m * m % 16, |m: u64| u64::from(m > 7)] {
        let table = Table::of(context, function).unwrap();
        let jobs: Vec<_> = inputs.iter().map(|input| (input, &table)).collect();
        let results = key.bootstrap(&jobs).unwrap();
        let expected: Vec<u64> = messages.iter().map(|m| function(*m)).collect();
        assert_eq!(answered(&secret, &key, &results), expected);
    }
    assert!(Table::of(context, |m| m + 1).is_err(), "a value of 16 is no message");
}

#[test]
fn gates_give_what_they_say() {
    let secret = secret(&GATES);
    let (key, context) = (server(&secret), secret.context());
    let bits = [false, true, false, true];
    let others = [false, false, true, true];
    let fresh = |bits: &[bool]| -> Vec<Bit> {
        let bytes = secret.encrypt_bits(bits).unwrap().encode(context);
        Fresh::decode(context, bits.len(), &bytes).unwrap().into_iter().map(Bit::fresh).collect()
    };
    let (a, b) = (fresh(&bits), fresh(&others));
    let opened = |bits: &[Bit]| {
        let small = key.switch(&bits.iter().map(Bit::lwe).collect::<Vec<_>>()).unwrap();
        secret.decrypt_bits(bits.len(), &Answers(small).encode(context)).unwrap().to_vec()
    };
    for gate in Gate::ALL {
        let jobs: Vec<_> = a.iter().zip(&b).map(|(a, b)| (gate, a, b)).collect();
        let expected: Vec<bool> = bits.iter().zip(others).map(|(a, b)| gate.of(*a, b)).collect();
        assert_eq!(opened(&evaluate(&key, &jobs).unwrap()), expected, "{gate:?}");
    }
    let negated: Vec<Bit> = a.iter().map(|bit| bit.not(context).unwrap()).collect();
    assert_eq!(opened(&negated), bits.map(|bit| !bit));
    // Choices between choices are within the norm, and gates on what they give.
    let choices: Vec<_> = a.iter().zip(&b).map(|(a, b)| (a, b, &negated[0])).collect();
    let chosen = choose(&key, &choices).unwrap();
    let expected: Vec<bool> = bits.iter().zip(others).map(|(a, b)| if *a { b } else { true }).collect();
    assert_eq!(opened(&chosen), expected);
    let both = evaluate(&key, &[(Gate::And, &chosen[0], &chosen[1])]).unwrap();
    assert_eq!(opened(&both), [expected[0] & expected[1]]);
}

#[test]
fn ciphertexts_keys_and_tables_of_another_set_are_refused() {
    let (integers, gates) = (secret(&INTEGERS), secret(&GATES));
    let (of_integers, of_gates) = (server(&integers), server(&gates));
    let number = sent(&integers, &[1]).remove(0);
    let bit = gates.encrypt_bits(&[true]).unwrap().encode(gates.context());
    let bit = Fresh::decode(gates.context(), 1, &bit).unwrap().remove(0);
    let (table, sign) = (Table::of(integers.context(), |m| m).unwrap(), Table::sign(gates.context()));
    for (key, input, table) in [
        (&of_integers, &bit, &table),
        (&of_integers, &number, &sign),
        (&of_gates, &number, &sign),
        (&of_gates, &bit, &table),
    ] {
        assert_eq!(key.bootstrap(&[(input, table)]).unwrap_err().code(), "HUSH-B003");
    }
    assert_eq!(of_integers.switch(&[&bit]).unwrap_err().code(), "HUSH-B003");
    assert_eq!(of_gates.switch(&[&number]).unwrap_err().code(), "HUSH-B003");
    // Keys with a count, as ciphertexts have.
    let mut keys = gates.server_keys().unwrap().encode(gates.context()).unwrap();
    let end = keys.len() - 16;
    keys[12] = 1;
    let checksum = *blake3::hash(&keys[..end]).as_bytes();
    keys[end..].copy_from_slice(&checksum[..16]);
    assert_eq!(KeyParts::decode(gates.context(), &keys).err().unwrap().code(), "HUSH-B004");
}

/// The bit above messages is set: no honest server makes such a thing.
#[test]
fn falsified_answers_are_no_messages() {
    let secret = secret(&INTEGERS);
    let mut words = vec![0; INTEGERS.dimension() + 1];
    words[INTEGERS.dimension()] = 1 << 31;
    let answer = SmallLwe::from_words(secret.context(), words).unwrap();
    let bytes = Answers(vec![answer]).encode(secret.context());
    assert!(matches!(secret.decrypt(1, &bytes), Err(DecryptError::Beyond)));
    assert!(matches!(secret.decrypt(2, &bytes), Err(DecryptError::Tfhe(_))));
}
