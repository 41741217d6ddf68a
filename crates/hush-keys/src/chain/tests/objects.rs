// SPDX-License-Identifier: Apache-2.0
//! Keys of bootstrapping, written by the owner and read by a server that knows the parameters alone.

use hush_params::bootstrap::{BootstrapShape, N15, N16};
use hush_rlwe::{
    UncheckedEncapsulationKeys, UncheckedLeveledKeys, encapsulation_keys_bytes, leveled_keys_bytes,
};

use super::*;

/// The toy chain with digits of one prime and of two, and those of the sets, on rings far too small.
fn chains() -> Vec<ChainParams> {
    let shape = |like: &BootstrapShape| BootstrapShape { degree: 64, program: 2, ..*like };
    let of_shape = |like| ChainParams::insecure_toy(shape(like).chain_spec().unwrap()).unwrap();
    vec![toy(64, 1), toy(64, 2), of_shape(N16.shape()), of_shape(N15.shape())]
}

fn chain(params: &ChainParams) -> Chain {
    Chain::new(params, 1, Cpu::detect().unwrap()).unwrap()
}

#[test]
fn keys_with_levels_survive_the_way_to_a_server() {
    for params in chains() {
        let secret = ChainSecret::generate(&chain(&params)).unwrap();
        let top = params.top();
        let levels =
            BTreeMap::from([(0, top), (1, top), (5, Level(1)), (25, Level(0)), (127, Level(top.0 - 1))]);
        let keys = secret.evaluation_keys_up_to(&levels).unwrap();
        let bytes = keys.encode_up_to(secret.chain()).unwrap();
        let server = chain(&params);
        assert_eq!(bytes.len(), leveled_keys_bytes(&server, &levels).unwrap());
        let back = UncheckedLeveledKeys::decode(&bytes).unwrap().conform(&server, &levels).unwrap();
        assert_eq!(back, keys);
        assert_eq!(back.memory_bytes(), keys.memory_bytes());
        // They lead where the originals lead.
        let message = Poly::zero(server.ring(Level(1)).unwrap());
        let a = secret.encrypt(message).unwrap().expand().unwrap();
        assert_eq!(a.automorphism(&back, 5).unwrap(), a.automorphism(&keys, 5).unwrap());
    }
}

#[test]
fn raised_ciphertexts_are_equal_under_keys_that_were_stored() {
    let mut draw = Draw::new();
    for params in chains() {
        let secret = ChainSecret::generate(&chain(&params)).unwrap();
        let keys = secret.encapsulation_keys().unwrap();
        let bytes = keys.encode().unwrap();
        let server = chain(&params);
        assert_eq!(bytes.len(), encapsulation_keys_bytes(&server).unwrap());
        let back = UncheckedEncapsulationKeys::decode(&bytes).unwrap().conform(&server).unwrap();
        assert_eq!(back, keys);
        assert_eq!(back.to_sparse().chain().params(), &params.sparse_chain().unwrap());
        let ring = server.ring(Level(0)).unwrap();
        let values: Vec<i128> = draw.values(64).into_iter().map(i128::from).collect();
        let message = Poly::from_signed(ring, &values).unwrap();
        let a = secret.encrypt(message).unwrap().expand().unwrap();
        let raised = back.raise(&a).unwrap();
        assert_eq!(raised, keys.raise(&a).unwrap());
        assert_eq!(raised.ring(), server.ring(server.top()).unwrap());
    }
}
