// SPDX-License-Identifier: Apache-2.0
//! The same bits on every kernel path and any number of threads.

use hush_rlwe::{LeveledSetId, UncheckedEvaluationKeys, UncheckedLeveledSet, encode_leveled};
use hush_schemes::ckks::Ckks;

use super::*;

const DEGREE: u32 = 4096;
const PAIR: LeveledSetId = LeveledSetId { level: Level(4), components: 2, count: 2 };

/// Words of everything that the schemes compute with key switching, for one path.
fn evaluate(params: &ChainParams, cpu: Cpu, keys: &[u8], ciphertexts: &[u8]) -> Vec<Vec<u64>> {
    let rotation = rotation_element(DEGREE as usize, 3);
    let elements = [0, rotation as u32];
    let ckks = Ckks::new(params, 45.99, cpu).unwrap();
    let load = |chain: &Chain| {
        let keys = UncheckedEvaluationKeys::decode(keys).unwrap().conform(chain, &elements).unwrap();
        let pair = UncheckedLeveledSet::decode(ciphertexts).unwrap().conform(chain, PAIR).unwrap();
        (keys, pair)
    };
    let (keys, pair) = load(ckks.chain());
    let [a, b] = [0, 1].map(|index| ckks.ciphertext(pair[index].clone()).unwrap());
    let product = ckks.mul_rescale(&a, &b, &keys).unwrap();
    let rotated = ckks.rotate(&product, 3, &keys).unwrap();
    let hoisted = ckks.rotate_many(&product, &[3], &keys).unwrap().remove(0);
    assert_eq!(rotated, hoisted);
    let bfv = Bfv::new(params, T, cpu).unwrap();
    let exact = bfv.mul_relinearize(&pair[0], &pair[1], &keys).unwrap();
    let results = [product.inner(), rotated.inner(), &exact];
    let words = |ciphertext: &RlweCiphertext| {
        ciphertext.components().iter().flat_map(|component| component.words().to_vec()).collect()
    };
    results.into_iter().map(words).collect()
}

#[test]
fn results_are_equal_on_every_path_and_any_number_of_threads() {
    let params = toy(DEGREE, 2);
    let cpu = Cpu::scalar();
    let ckks = Ckks::new(&params, 45.99, cpu).unwrap();
    let secret = ChainSecret::generate(ckks.chain()).unwrap();
    let keys = secret.evaluation_keys(true, &[rotation_element(DEGREE as usize, 3)]).unwrap();
    let encrypt = |value: f64| {
        let message = ckks.encode_real(&vec![value; 100], Level(4)).unwrap();
        secret.encrypt(message).unwrap().expand().unwrap()
    };
    let pair = [encrypt(0.25), encrypt(-3.0)];
    let keys = keys.encode(ckks.chain()).unwrap();
    let ciphertexts = encode_leveled(ckks.chain(), PAIR, &pair).unwrap();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let specified = pool(1).install(|| evaluate(&params, cpu, &keys, &ciphertexts));
    for cpu in Cpu::available() {
        for threads in [1, 2, 5] {
            let found = pool(threads).install(|| evaluate(&params, cpu, &keys, &ciphertexts));
            assert!(found == specified, "{cpu}, {threads} threads");
        }
    }
}
