// SPDX-License-Identifier: Apache-2.0
//! Raising the modulus of a ciphertext: the first step of bootstrapping.
//!
//! # Math
//! A ciphertext modulo `q0` with phase `m` has, read modulo a larger `Q`, the phase `m + q0·I`: the integer `c_0 + c_1·s` is `m` modulo `q0` and nothing more. With
//! coefficients of `c` nearest to zero, `I` is a sum of as many numbers between −1/2 and 1/2 as the secret has coefficients that are not zero, rounded. So that
//! it stays small the ciphertext is first switched to a sparse secret, modulo `q0` times one prime, raised, and switched back modulo `Q·P`.
//!
//! # References
//! \[BTH22\] Bossuat, Troncoso-Pastoriza and Hubaux, "Bootstrapping for approximate homomorphic encryption with negligible failure-probability by using
//! sparse-secret encapsulation", ePrint 2022/024.

use hush_ring::parallel::for_each_row;
use hush_ring::{BaseConverter, Chain, Eval, Level, Poly, Ring};

use crate::{KeySwitchKey, RlweCiphertext, RlweError};

/// The keys to a sparse secret and back.
///
/// *Secrecy.* Public, under circular security and the hardness of the sparse secret at the modulus of its own chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncapsulationKeys {
    to_sparse: KeySwitchKey,
    to_dense: KeySwitchKey,
}

impl EncapsulationKeys {
    /// From a key to the sparse secret and one back to the dense secret: each over its own chain.
    ///
    /// # Errors
    /// [`RlweError::ChainMismatch`] unless the chain of the first has level 0 of the other's for its only level and one special prime, and the second serves all
    /// levels.
    pub fn new(to_sparse: KeySwitchKey, to_dense: KeySwitchKey) -> Result<Self, RlweError> {
        let (small, large) = (to_sparse.chain(), to_dense.chain());
        let is_level_0 = small.top() == Level(0)
            && small.ring(Level(0))? == large.ring(Level(0))?
            && small.special().len() == 1;
        if !is_level_0 || to_dense.level() != large.top() {
            return Err(RlweError::ChainMismatch);
        }
        Ok(Self { to_sparse, to_dense })
    }

    /// The chain whose modulus ciphertexts are raised to.
    pub fn chain(&self) -> &Chain {
        self.to_dense.chain()
    }

    /// The key to the sparse secret, over the chain for that secret.
    pub fn to_sparse(&self) -> &KeySwitchKey {
        &self.to_sparse
    }

    /// The key from the sparse secret back, for all levels of the chain.
    pub fn to_dense(&self) -> &KeySwitchKey {
        &self.to_dense
    }

    /// Bytes in memory, masks included.
    pub fn memory_bytes(&self) -> usize {
        self.to_sparse.memory_bytes() + self.to_dense.memory_bytes()
    }

    /// A ciphertext at the top level with phase `m + q0·I`, for one at level 0 with phase `m`.
    ///
    /// # Cost
    /// Two key switches, of which one at the top level.
    ///
    /// # Errors
    /// [`RlweError::Ring`] for a ciphertext that is not at level 0; [`RlweError::Components`] unless it has two components.
    pub fn raise(&self, a: &RlweCiphertext) -> Result<RlweCiphertext, RlweError> {
        let top = self.chain().ring(self.chain().top())?;
        let sparse = switched(&self.to_sparse, a)?;
        let raised = sparse.components().iter().map(|component| raise(component, top));
        switched(&self.to_dense, &RlweCiphertext::new(raised.collect::<Result<_, _>>()?)?)
    }
}

/// The ciphertext under the secret that a key leads to.
fn switched(key: &KeySwitchKey, a: &RlweCiphertext) -> Result<RlweCiphertext, RlweError> {
    let (body, mask) = a.pair()?;
    let (mut switched, mask) = key.apply(mask)?.drop_special()?;
    switched.add_assign(body)?;
    RlweCiphertext::new(vec![switched, mask])
}

/// The polynomial nearest to zero that is this one modulo its own ring's modulus, over another ring.
fn raise(poly: &Poly<Eval>, to: &Ring) -> Result<Poly<Eval>, RlweError> {
    let (from, degree) = (poly.ring().clone(), poly.ring().degree());
    let converter = BaseConverter::new(from.limbs(), to.limbs())?;
    let mut rows = hush_ring::Words::recycled(converter.row_count() * degree);
    for_each_row(&mut rows, degree, |index, row| {
        row.copy_from_slice(poly.limb(index));
        from.limbs()[index].inverse(row);
    });
    converter.prepare(&mut rows);
    let mut raised = Poly::recycled(to);
    for_each_row(raised.words_mut(), degree, |index, row| {
        converter.convert(index, &rows, row);
        to.limbs()[index].forward(row);
    });
    Ok(raised)
}
