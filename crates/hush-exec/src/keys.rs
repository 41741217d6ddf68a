// SPDX-License-Identifier: Apache-2.0
//! The evaluation keys of a table: read once, compared with the manifest, kept while the version stays the same.
//!
//! Sums of products use those for the powers of a secret, conditions with encrypted constants those over a chain.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hush_params::{ChainParams, Named};
use hush_ring::{Chain, Ring};
use hush_rlwe::{EvaluationKeys, PowerKeys, UncheckedEvaluationKeys};
use hush_table::{KeyEntry, KeyKind, Manifest, SecretId, TableStore};

use crate::error::ExecError;
use crate::machine::cpu;

/// Names keys of a table: all those of one chain, one unit of errors and one secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeySet {
    /// Name of the chain, as the manifest has it.
    pub params: String,
    /// Unit of errors: the plaintext modulus in BGV, 1 in BFV and CKKS.
    pub unit: u64,
    /// Name of the secret.
    pub secret: SecretId,
}

/// Keys in memory, with their chain. They are public.
#[derive(Debug)]
pub struct LoadedKeys {
    chain: Chain,
    keys: EvaluationKeys,
}

impl LoadedKeys {
    /// The chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The keys: relinearisation, Galois elements, or both.
    pub fn keys(&self) -> &EvaluationKeys {
        &self.keys
    }
}

/// The keys of one version of a table, as far as they were asked for.
#[derive(Debug, Default)]
pub(crate) struct KeyCache(Mutex<HashMap<KeySet, Arc<Slot>>>);

/// The keys for powers of one version of a table, of each ring and plaintext modulus.
#[derive(Debug, Default)]
pub(crate) struct PowerCache(Mutex<HashMap<(u16, u64), Arc<PowerKeys>>>);

impl PowerCache {
    /// The keys that bring sums of this degree back to two components, loaded on first use.
    ///
    /// # Errors
    /// [`ExecError::NoKeys`] where the table has none for that degree, or rows under other secrets than theirs; otherwise as [`KeyCache::get`].
    pub(crate) fn get(
        &self,
        (store, manifest): (&TableStore, &Manifest),
        (ring, unit): (&Ring, u64),
        degree: usize,
        memory_bytes: u64,
    ) -> Result<Arc<PowerKeys>, ExecError> {
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (ring.param_code(), unit);
        if let Some(keys) = loaded.get(&place).filter(|keys| degree <= keys.highest()) {
            return Ok(keys.clone());
        }
        let name = ring.set().map(hush_params::ParamSet::name).ok_or(ExecError::NoKeys)?;
        // They are of the first domain's secret.
        let is_of_first = manifest.domains().iter().all(|domain| *domain == 0);
        let of_ring = manifest.keys.iter().filter(|entry| entry.params == name && entry.unit == unit);
        let mut found = of_ring.filter_map(|entry| match entry.kind {
            KeyKind::Powers { highest } => Some((entry, highest as usize)),
            KeyKind::Galois { .. } | KeyKind::Relinearisation => None,
        });
        let fitting = found.next().filter(|(_, highest)| degree <= *highest && is_of_first);
        let (entry, highest) = fitting.ok_or(ExecError::NoKeys)?;
        let polynomials = 2 * highest.saturating_sub(1) * ring.limb_count();
        let needed = (polynomials * ring.poly_words() * size_of::<u64>()) as u64;
        if needed.saturating_add(entry.file.bytes) > memory_bytes {
            return Err(ExecError::MemoryLimit);
        }
        let bytes = store.read_key(entry)?;
        let keys = PowerKeys::decode(&bytes, ring, highest)
            .map_err(|fault| ExecError::BadKey { file: entry.file.digest, fault: Box::new(fault) })?;
        Ok(loaded.entry(place).or_insert(Arc::new(keys)).clone())
    }
}

/// Keys of one set. One thread loads them while others that want them wait.
type Slot = Mutex<OnceLock<Arc<LoadedKeys>>>;

impl KeyCache {
    /// The keys of a set, loaded on first use. A failure is not remembered.
    ///
    /// # Cost
    /// The first time: a pass over the files and the expansion of every mask, with about twice the files' size in memory.
    /// Later nothing.
    ///
    /// # Errors
    /// [`ExecError::NoKeys`], [`ExecError::MemoryLimit`] beyond `memory_bytes`, [`ExecError::BadKey`], [`ExecError::Corrupt`],
    /// [`ExecError::Io`].
    pub(crate) fn get(
        &self,
        store: &TableStore,
        manifest: &Manifest,
        set: &KeySet,
        memory_bytes: u64,
    ) -> Result<Arc<LoadedKeys>, ExecError> {
        let slot =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(set.clone()).or_default().clone();
        let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = slot.get() {
            return Ok(loaded.clone());
        }
        let loaded = Arc::new(load(store, manifest, set, memory_bytes)?);
        Ok(slot.get_or_init(|| loaded).clone())
    }
}

fn load(
    store: &TableStore,
    manifest: &Manifest,
    set: &KeySet,
    memory_bytes: u64,
) -> Result<LoadedKeys, ExecError> {
    let is_meant = |entry: &&KeyEntry| {
        entry.params == set.params && entry.unit == set.unit && entry.secret == set.secret
    };
    let entries: Vec<&KeyEntry> = manifest.keys.iter().filter(is_meant).collect();
    if entries.is_empty() {
        return Err(ExecError::NoKeys);
    }
    // A checked manifest has neither of these faults.
    let definitions = manifest.definitions().map_err(|_| ExecError::NoKeys)?;
    let params = definitions.resolve(Named::Name(&set.params)).map_err(|_| ExecError::NoKeys)?;
    let params = params.chain().map_err(|_| ExecError::NoKeys)?;
    let count: u64 = entries.iter().map(|entry| entry.kind.elements().len() as u64).sum();
    let largest = entries.iter().map(|entry| entry.file.bytes).max().unwrap_or(0);
    let needed = count.saturating_mul(key_memory_bytes(params)).saturating_add(largest);
    if needed > memory_bytes {
        return Err(ExecError::MemoryLimit);
    }
    // The numbers that a file defines may not be prime.
    let chain = Chain::new(params, set.unit, cpu()?).map_err(|_| ExecError::BadChain)?;
    let mut keys = EvaluationKeys::new();
    for entry in entries {
        let bytes = store.read_key(entry)?;
        let conforming = UncheckedEvaluationKeys::decode(&bytes)
            .and_then(|unchecked| unchecked.conform(&chain, entry.kind.elements()));
        let conforming = conforming
            .map_err(|fault| ExecError::BadKey { file: entry.file.digest, fault: Box::new(fault) })?;
        conforming.iter().for_each(|key| keys.insert(key.clone()));
    }
    Ok(LoadedKeys { chain, keys })
}

/// Bytes of one key in memory: a body and a mask for each digit, 8 bytes a residue.
fn key_memory_bytes(chain: &ChainParams) -> u64 {
    let limbs = chain.universe().len() + chain.special().len();
    2 * (chain.digit_count() * limbs * chain.degree() * size_of::<u64>()) as u64
}
