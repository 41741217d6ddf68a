// SPDX-License-Identifier: Apache-2.0
use hush_params::chain::ChainSpec;
use hush_params::primes::primes_of;

use super::*;

fn toy(levels: Vec<Vec<u8>>) -> Chain {
    let universe = [primes_of(30)[0], primes_of(40)[0], primes_of(46)[0], primes_of(46)[1]].to_vec();
    let special = primes_of(47)[..2].to_vec();
    let spec = ChainSpec { degree: 64, universe, special, levels, digit_limbs: 2 };
    Chain::new(&ChainParams::insecure_toy(spec).unwrap(), 65537, Cpu::detect().unwrap()).unwrap()
}

#[test]
fn levels_have_the_primes_that_the_parameters_say() {
    let chain = toy(vec![vec![2], vec![0, 1, 2], vec![1, 2, 3]]);
    assert_eq!(chain.top(), Level(2));
    for (index, places) in [vec![2_usize], vec![0, 1, 2], vec![1, 2, 3]].iter().enumerate() {
        let level = chain.level(Level(index as u8)).unwrap();
        let moduli: Vec<u64> = level.ring().limbs().iter().map(|limb| limb.modulus().value()).collect();
        let expected: Vec<u64> = places.iter().map(|&place| chain.params().universe()[place]).collect();
        assert_eq!(moduli, expected);
        assert_eq!(level.extended().limb_count(), places.len() + 2);
        assert_eq!(chain.level_of(level.ring()), Ok(Level(index as u8)));
        assert_eq!(level.mod_switch().is_some(), index > 0);
    }
    let digits: Vec<Vec<usize>> =
        chain.level(Level(0)).unwrap().digits().iter().map(|digit| digit.limbs().to_vec()).collect();
    assert_eq!(digits, [vec![], vec![0]]);
    let refused = RingError::Level { found: Level(3), top: Level(2) };
    assert_eq!(chain.level(Level(3)).unwrap_err(), refused);
    assert!(chain.level_of(chain.level(Level(1)).unwrap().extended()).is_err());
}
