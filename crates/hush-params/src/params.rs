// SPDX-License-Identifier: Apache-2.0
//! One reference to parameters: a ring of the list, or a modulus chain of the list or of a file.
//!
//! Files name parameters and do not bring their own: a name or a code stands for a preset of this version, a fingerprint for
//! a chain that the same file defines ([`Definitions`]). [`Definitions::resolve`] is the one function that turns what a file says into
//! parameters. A definition is checked when it is read, because files are untrusted: it must be well-formed, and within the
//! security table at 128 bits.
//!
//! A new kind of parameters is a variant of [`Params`]; the compiler then lists what it has to say about itself.

use std::sync::{Arc, OnceLock};

use crate::chain::presets::{ChainPreset, chain_presets};
use crate::presets::{preset, preset_by_code};
use crate::security::{SecurityLevel, max_log_q};
use crate::{ChainParams, Fingerprint, ParamSet, ParamsError};

/// Parameters that ciphertexts and keys are over. Cheap to clone. Public.
#[derive(Clone, Debug, PartialEq)]
pub enum Params {
    /// A modulus chain: leveled ciphertexts and evaluation keys.
    Chain(Arc<ChainParams>),
    /// One ring with a fixed modulus: the columns of tables.
    Ring(&'static ParamSet),
}

/// What a file says to name parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'a> {
    /// The code of a preset.
    Code(u16),
    /// The fingerprint of a preset or of a chain that the file defines.
    Fingerprint(Fingerprint),
    /// The name of a preset, or `chain:` and the 64 digits of a fingerprint.
    Name(&'a str),
}

/// The chains that a file defines, beside the presets that every file can name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definitions(Vec<(Fingerprint, Arc<ChainParams>)>);

impl Definitions {
    /// Checks the definition of a chain ([`ChainParams::canonical_bytes`]) and takes it in.
    ///
    /// # Errors
    /// [`ParamsError::Definition`] for bytes that are no definition, or define a chain that is malformed or insecure;
    /// [`ParamsError::Repeated`] for one that is there already, or is a preset, which has a name.
    pub fn define(&mut self, definition: &[u8]) -> Result<Fingerprint, ParamsError> {
        let chain = ChainParams::from_canonical_bytes(definition)
            .map_err(|fault| ParamsError::Definition { fault })?;
        let fingerprint = chain.fingerprint();
        if self.find(fingerprint).is_some() {
            return Err(ParamsError::Repeated { found: fingerprint });
        }
        self.0.push((fingerprint, Arc::new(chain)));
        Ok(fingerprint)
    }

    /// The parameters that a file names.
    ///
    /// # Errors
    /// [`ParamsError::UnknownName`], [`ParamsError::UnknownCode`], [`ParamsError::UnknownFingerprint`].
    pub fn resolve(&self, named: Named<'_>) -> Result<Params, ParamsError> {
        match named {
            // Rings first: bodies of tables are read by the thousand, and name one.
            Named::Code(code) => preset_by_code(code)
                .map(Params::Ring)
                .or_else(|unknown| known(|preset| preset.code() == code).ok_or(unknown)),
            Named::Fingerprint(found) => self.find(found).ok_or(ParamsError::UnknownFingerprint { found }),
            Named::Name(name) => {
                if let Some(digits) = name.strip_prefix(CHAIN_PREFIX) {
                    let found = Fingerprint::from_hex(digits);
                    let unknown = || ParamsError::UnknownName { found: name.chars().take(80).collect() };
                    return self.resolve(Named::Fingerprint(found.ok_or_else(unknown)?));
                }
                let ring = preset(name).map(Params::Ring);
                ring.or_else(|unknown| known(|preset| preset.name() == name).ok_or(unknown))
            }
        }
    }

    /// A chain that the file defines, or a preset.
    fn find(&self, fingerprint: Fingerprint) -> Option<Params> {
        let defined = self.0.iter().find(|(known, _)| *known == fingerprint);
        let defined = defined.map(|(_, chain)| Params::Chain(chain.clone()));
        defined
            .or_else(|| known_chains().iter().find(|known| known.fingerprint == fingerprint).map(Into::into))
    }
}

impl Params {
    /// Parameters of the lists, by name: what a file means that defines none.
    ///
    /// # Errors
    /// As [`Definitions::resolve`].
    pub fn named(name: &str) -> Result<Self, ParamsError> {
        Definitions::default().resolve(Named::Name(name))
    }

    /// The name by which files refer to them: of the preset, or else `chain:` and the fingerprint in hexadecimal digits.
    pub fn name(&self) -> String {
        match self {
            Self::Chain(_) => match self.chain_preset() {
                Some(preset) => preset.name().to_owned(),
                None => format!("{CHAIN_PREFIX}{}", self.fingerprint()),
            },
            Self::Ring(set) => set.name().to_owned(),
        }
    }

    /// The code by which binary headers refer to them; `None` where only the fingerprint names them.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Chain(_) => self.chain_preset().map(ChainPreset::code),
            Self::Ring(set) => Some(set.code()),
        }
    }

    /// What identifies them, whether or not they have a name.
    pub fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Chain(chain) => chain.fingerprint(),
            Self::Ring(set) => set.fingerprint(),
        }
    }

    /// Ring degree `N`.
    pub fn degree(&self) -> usize {
        match self {
            Self::Chain(chain) => chain.degree(),
            Self::Ring(set) => set.degree(),
        }
    }

    /// log2 of the largest modulus in use, rounded up: what the security table is asked with.
    pub fn modulus_bits(&self) -> u32 {
        match self {
            Self::Chain(chain) => chain.log_qp_ceil(),
            Self::Ring(set) => set.log_q_ceil(),
        }
    }

    /// Labelled security in bits: 128, 192 or 256; 0 for parameters of tests.
    pub fn security_bits(&self) -> u32 {
        match self {
            Self::Chain(chain) => chain.security_bits(),
            Self::Ring(set) => set.security_bits(),
        }
    }

    /// Whether they are within the security table at 128 bits.
    pub fn is_secure(&self) -> bool {
        let most = u32::try_from(self.degree()).ok().and_then(|n| max_log_q(n, SecurityLevel::Bits128));
        self.security_bits() > 0 && most.is_some_and(|most| self.modulus_bits() <= most)
    }

    /// The ring, where one is expected.
    ///
    /// # Errors
    /// [`ParamsError::NotARing`].
    pub fn ring(&self) -> Result<&'static ParamSet, ParamsError> {
        match self {
            Self::Chain(_) => Err(ParamsError::NotARing { found: self.name() }),
            Self::Ring(set) => Ok(set),
        }
    }

    /// The chain, where one is expected.
    ///
    /// # Errors
    /// [`ParamsError::NotAChain`].
    pub fn chain(&self) -> Result<&Arc<ChainParams>, ParamsError> {
        match self {
            Self::Chain(chain) => Ok(chain),
            Self::Ring(set) => Err(ParamsError::NotAChain { found: set.name() }),
        }
    }

    fn chain_preset(&self) -> Option<&'static ChainPreset> {
        let Self::Chain(chain) = self else { return None };
        let fingerprint = chain.fingerprint();
        known_chains().iter().find(|known| known.fingerprint == fingerprint).map(|known| known.preset)
    }
}

/// A chain of the list, with what it takes to find it.
struct KnownChain {
    preset: &'static ChainPreset,
    fingerprint: Fingerprint,
    chain: Arc<ChainParams>,
}

impl From<&KnownChain> for Params {
    fn from(known: &KnownChain) -> Self {
        Self::Chain(known.chain.clone())
    }
}

/// The chains of the list, made once.
fn known_chains() -> &'static [KnownChain] {
    static KNOWN: OnceLock<Vec<KnownChain>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        // A test makes every chain of the list: none is left out.
        let made = chain_presets().iter().filter_map(|preset| Some((preset, preset.params().ok()?)));
        made.map(|(preset, chain)| {
            let fingerprint = chain.fingerprint();
            KnownChain { preset, fingerprint, chain: Arc::new(chain) }
        })
        .collect()
    })
}

/// The chain of the first preset that `is_meant` takes.
fn known(is_meant: impl Fn(&ChainPreset) -> bool) -> Option<Params> {
    known_chains().iter().find(|known| is_meant(known.preset)).map(Into::into)
}

/// What stands before the fingerprint of a chain that is no preset.
const CHAIN_PREFIX: &str = "chain:";

#[cfg(test)]
mod tests;
