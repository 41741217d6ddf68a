// SPDX-License-Identifier: Apache-2.0
//! A modulus chain with everything that is precomputed for it: a ring for each level, and the ways between them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hush_arith::Modulus;
use hush_kernels::{BitWidth, Cpu, NttPlan};
use hush_params::{ChainParams, Level};

use crate::{Automorphism, BaseConverter, BasisSwitch, Ring, RingError, RingLimb};

/// A modulus chain, shared and cheap to clone.
///
/// *Secrecy.* Public.
#[derive(Clone)]
pub struct Chain(Arc<Inner>);

struct Inner {
    params: ChainParams,
    unit: u64,
    cpu: Cpu,
    /// Over the universe and the special primes.
    key_ring: Ring,
    levels: Vec<ChainLevel>,
    automorphisms: Mutex<HashMap<usize, Arc<Automorphism>>>,
}

/// One level: its ring, its ring during key switching, and the divisions that start from it.
#[derive(Debug)]
pub struct ChainLevel {
    ring: Ring,
    extended: Ring,
    places: Vec<usize>,
    special_product: Vec<u64>,
    digits: Vec<Digit>,
    drop_special: BasisSwitch,
    mod_switch: Option<BasisSwitch>,
    drop_special_and_mod_switch: Option<BasisSwitch>,
}

/// The primes of one key-switching digit at one level.
#[derive(Debug)]
pub struct Digit {
    limbs: Vec<usize>,
    converter: BaseConverter,
}

impl Chain {
    /// Tables for a chain with messages modulo `unit`: the plaintext modulus for BGV, 1 for BFV and CKKS.
    ///
    /// # Cost
    /// `2N` products for each prime, and for each level `O(limbs²)` inversions.
    ///
    /// # Errors
    /// A [`RingError`] if a number of the chain is no prime or `unit` shares a factor with one.
    pub fn new(params: &ChainParams, unit: u64, cpu: Cpu) -> Result<Self, RingError> {
        let limb = |&q: &u64| {
            let modulus = Modulus::new(q)?;
            let plan = NttPlan::new(modulus, params.degree(), cpu)?;
            Ok::<_, RingError>(RingLimb::new(plan, BitWidth::of_modulus(modulus)))
        };
        let all = params.universe().iter().chain(params.special());
        let limbs: Vec<RingLimb> = all.map(limb).collect::<Result<_, _>>()?;
        let rings = |places: &[u8], special: usize| {
            let first = params.universe().len();
            let places = places.iter().map(|&place| usize::from(place)).chain(first..first + special);
            Ring::of_limbs(places.map(|place| limbs[place].clone()).collect(), params.degree(), cpu)
        };
        let ring = |places: &Vec<u8>| rings(places, 0);
        let level_rings: Vec<Ring> = params.levels().iter().map(ring).collect::<Result<_, _>>()?;
        let mut levels = Vec::with_capacity(level_rings.len());
        for (index, (places, ring)) in params.levels().iter().zip(&level_rings).enumerate() {
            let extended = rings(places, params.special().len())?;
            let below = index.checked_sub(1).map(|below| &level_rings[below]);
            let switch = |from: &Ring| below.map(|to| BasisSwitch::new(from, to, unit)).transpose();
            levels.push(ChainLevel {
                digits: digits(params, places, ring, &extended)?,
                drop_special: BasisSwitch::new(&extended, ring, unit)?,
                mod_switch: switch(ring)?,
                drop_special_and_mod_switch: switch(&extended)?,
                places: places.iter().map(|&place| usize::from(place)).collect(),
                special_product: ring
                    .limbs()
                    .iter()
                    .map(|limb| product_mod(limb, params.special()))
                    .collect(),
                ring: ring.clone(),
                extended,
            });
        }
        let key_ring = Ring::of_limbs(limbs, params.degree(), cpu)?;
        let automorphisms = Mutex::default();
        Ok(Self(Arc::new(Inner { params: params.clone(), unit, cpu, key_ring, levels, automorphisms })))
    }

    /// The parameters.
    pub fn params(&self) -> &ChainParams {
        &self.0.params
    }
    /// Ring degree `N`.
    pub fn degree(&self) -> usize {
        self.0.params.degree()
    }
    /// The modulus of messages that divisions keep: `t` for BGV, else 1.
    pub fn unit(&self) -> u64 {
        self.0.unit
    }
    /// The kernels that run.
    pub fn cpu(&self) -> Cpu {
        self.0.cpu
    }
    /// The level of fresh ciphertexts.
    pub fn top(&self) -> Level {
        self.0.params.top()
    }
    /// The ring over every prime, the special ones last: where secrets and evaluation keys live.
    pub fn key_ring(&self) -> &Ring {
        &self.0.key_ring
    }
    /// The primes that exist during key switching only.
    pub fn special(&self) -> &[RingLimb] {
        &self.0.key_ring.limbs()[self.0.params.universe().len()..]
    }

    /// A level's tables.
    ///
    /// # Errors
    /// [`RingError::Level`] if the chain has no such level.
    pub fn level(&self, level: Level) -> Result<&ChainLevel, RingError> {
        let missing = RingError::Level { found: level, top: self.top() };
        self.0.levels.get(level.index()).ok_or(missing)
    }

    /// The ring of a level.
    ///
    /// # Errors
    /// As [`Chain::level`].
    pub fn ring(&self, level: Level) -> Result<&Ring, RingError> {
        Ok(&self.level(level)?.ring)
    }

    /// The level of this ring.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`] if it is none of this chain's.
    pub fn level_of(&self, ring: &Ring) -> Result<Level, RingError> {
        // The number of limbs tells levels of most chains apart, and comparing rings by address is quick.
        let found = self.0.levels.iter().rposition(|level| &level.ring == ring);
        match found {
            Some(index) => Ok(Level(index as u8)),
            None => Err(RingError::RingMismatch { left: 0, right: ring.param_code() }),
        }
    }

    /// The tables of `X ↦ X^element`, computed once.
    ///
    /// # Errors
    /// [`RingError::GaloisElement`] unless `element` is odd and below `2N`.
    pub fn automorphism(&self, element: usize) -> Result<Arc<Automorphism>, RingError> {
        let mut known = self.0.automorphisms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&element) {
            return Ok(found.clone());
        }
        let limb = &self.0.key_ring.limbs()[0];
        let automorphism = Arc::new(Automorphism::new(limb, self.degree(), element)?);
        known.insert(element, automorphism.clone());
        Ok(automorphism)
    }
}

impl PartialEq for Chain {
    /// The same primes, levels and unit; which kernels compute makes no difference.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.params == other.0.params && self.0.unit == other.0.unit
    }
}

impl Eq for Chain {}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let params = &self.0.params;
        let (limbs, special) = (params.universe().len(), params.special().len());
        write!(f, "Chain(N = {}, {limbs} + {special} primes, levels 0 to {})", params.degree(), params.top())
    }
}

impl ChainLevel {
    /// The ring of ciphertexts at this level.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }
    /// The ring during key switching: the level's primes, then the special ones.
    pub fn extended(&self) -> &Ring {
        &self.extended
    }
    /// Place in the universe of each prime of the level's ring.
    pub fn places(&self) -> &[usize] {
        &self.places
    }
    /// `P`, the product of the special primes, modulo each prime of the level's ring.
    pub fn special_product(&self) -> &[u64] {
        &self.special_product
    }
    /// The digits, those without a prime at this level included, up to the last that has one.
    pub fn digits(&self) -> &[Digit] {
        &self.digits
    }
    /// Division by `P`.
    pub fn drop_special(&self) -> &BasisSwitch {
        &self.drop_special
    }
    /// Division to the level below; `None` at level 0.
    pub fn mod_switch(&self) -> Option<&BasisSwitch> {
        self.mod_switch.as_ref()
    }
    /// Division by `P` and to the level below at once.
    pub fn drop_special_and_mod_switch(&self) -> Option<&BasisSwitch> {
        self.drop_special_and_mod_switch.as_ref()
    }
}

impl Digit {
    /// Places of its primes in the level's ring.
    pub fn limbs(&self) -> &[usize] {
        &self.limbs
    }
    /// From its primes to every prime of the extended ring.
    pub fn converter(&self) -> &BaseConverter {
        &self.converter
    }
}

fn product_mod(limb: &RingLimb, factors: &[u64]) -> u64 {
    let q = limb.modulus();
    factors.iter().fold(q.reduce_u64(1), |product, &factor| q.mul(product, q.reduce_u64(factor)))
}

fn digits(
    params: &ChainParams,
    places: &[u8],
    ring: &Ring,
    extended: &Ring,
) -> Result<Vec<Digit>, RingError> {
    let digit_of = |place: u8| usize::from(place) / params.digit_limbs();
    let count = places.last().map_or(0, |&last| digit_of(last) + 1);
    let digit = |digit: usize| {
        let limbs: Vec<usize> = (0..places.len()).filter(|&index| digit_of(places[index]) == digit).collect();
        let source: Vec<RingLimb> = limbs.iter().map(|&index| ring.limbs()[index].clone()).collect();
        // The integer nearest to zero: the digits of a message need not be multiples of anything.
        Ok(Digit { limbs, converter: BaseConverter::new(&source, extended.limbs())? })
    };
    (0..count).map(digit).collect()
}

#[cfg(test)]
mod tests;
