// SPDX-License-Identifier: Apache-2.0
//! Roots that live in the owner's key file and nowhere else, so that they can be forgotten.
//!
//! What is derived from such a root opens as long as the key file has it. Once it is gone from the file and its copies, every copy of the
//! ciphertexts is noise, to the owner too.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use age::secrecy::SecretString;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Names the root of an encryption of a table: table id, identifier of the encryption. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RootName {
    /// The table.
    pub table_id: [u8; 16],
    /// The encryption, or the domain of it that a rotation has begun.
    pub encryption: [u8; 16],
}

/// A root: 32 random bytes. Secret, wiped on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Root(pub(crate) Box<[u8; 32]>);

impl Root {
    pub(crate) fn copied(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Where a key's roots are kept.
pub(crate) enum Home {
    /// With the key, which ends with this process.
    Memory,
    /// In a file that this process only reads.
    Fixed(PathBuf),
    /// In a file that this process changes.
    File(KeyFile),
}

/// A key file that its owner may change.
pub(crate) struct KeyFile {
    pub(crate) path: PathBuf,
    pub(crate) passphrase: Known,
}

/// How its passphrase is known when it is needed again.
pub(crate) enum Known {
    /// In memory, for as long as this lives. Secret, wiped on drop.
    Kept(SecretString),
    /// As the first line of a file, which is read again.
    InFile(PathBuf),
}

/// The roots of a key file, as they are known to this process.
#[derive(Default)]
pub(crate) struct KeptRoots(RwLock<BTreeMap<RootName, Root>>);

impl KeptRoots {
    pub(crate) fn of(roots: BTreeMap<RootName, Root>) -> Self {
        Self(RwLock::new(roots))
    }

    /// A copy of a root.
    pub(crate) fn get(&self, name: &RootName) -> Option<Root> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).map(Root::copied)
    }

    /// A copy of all.
    pub(crate) fn all(&self) -> BTreeMap<RootName, Root> {
        let roots = self.0.read().unwrap_or_else(PoisonError::into_inner);
        roots.iter().map(|(name, root)| (*name, root.copied())).collect()
    }

    /// Takes the roots of another look at the file.
    pub(crate) fn replace(&self, roots: BTreeMap<RootName, Root>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = roots;
    }
}
