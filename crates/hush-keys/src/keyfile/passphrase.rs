// SPDX-License-Identifier: Apache-2.0
//! Passphrases: read without leaving copies, and refused for a new key where they are short.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use age::secrecy::{ExposeSecret, SecretString};
use hush_system::harden_process;
use zeroize::Zeroizing;

use super::{KeyFileError, check_access};

/// Fewest characters of the passphrase of a new key.
///
/// An attacker who has the file guesses at the price of one scrypt each. Twelve characters drawn from letters and digits are 2^71
/// guesses; twelve that a person makes up are fewer, but no list of common passwords holds them all.
pub const MIN_PASSPHRASE_CHARS: usize = 12;
/// Most bytes of a passphrase.
const MAX_BYTES: usize = 4096;

/// A passphrase that opens a key.
///
/// *Secrecy.* Wiped on drop, with the buffers that it was read into; never shown.
pub struct Passphrase(SecretString);

impl Passphrase {
    /// Takes over `text`, which is wiped.
    pub fn new(text: String) -> Self {
        let text = Zeroizing::new(text);
        Self::copied(&text)
    }

    /// The first line of a file, without its end. The file must be the user's own, and closed to group and others, as key files are;
    /// that is not asked of pipes and terminals, which keep nothing.
    ///
    /// # Errors
    /// [`KeyFileError::ForeignOwner`], [`KeyFileError::Permissions`]; [`KeyFileError::Unreadable`] where it cannot be read, is not
    /// UTF-8, or has more than 4096 bytes; [`KeyFileError::Empty`].
    pub fn from_file(path: &Path) -> Result<Self, KeyFileError> {
        harden_process();
        let place = path.display().to_string();
        let unreadable = |error: std::io::Error| KeyFileError::Unreadable {
            place: place.clone(),
            reason: error.to_string(),
        };
        let mut file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.is_file() {
            check_access(path, &file)?;
        }
        Self::first_line(&mut file, &place)
    }

    /// The first line of an open descriptor; what follows it is left there to be read.
    ///
    /// # Errors
    /// As [`Passphrase::from_file`], without the check of access: the opener had it.
    pub fn from_descriptor(number: u32) -> Result<Self, KeyFileError> {
        harden_process();
        let place = format!("descriptor {number}");
        let file = File::open(format!("/dev/fd/{number}"));
        let mut file = file
            .map_err(|error| KeyFileError::Unreadable { place: place.clone(), reason: error.to_string() })?;
        Self::first_line(&mut file, &place)
    }

    /// Byte by byte, so that nothing but the line is read, into a buffer that never grows.
    fn first_line(source: &mut dyn Read, place: &str) -> Result<Self, KeyFileError> {
        let unreadable = |reason: String| KeyFileError::Unreadable { place: place.to_owned(), reason };
        let mut line = Zeroizing::new(Vec::with_capacity(MAX_BYTES));
        let mut byte = Zeroizing::new([0_u8; 1]);
        loop {
            match source.read(byte.as_mut_slice()) {
                Ok(0) => break,
                Ok(_) if byte[0] == b'\n' => break,
                Ok(_) if line.len() == MAX_BYTES => {
                    return Err(unreadable(format!("the first line has more than {MAX_BYTES} bytes")));
                }
                Ok(_) => line.push(byte[0]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(error.to_string())),
            }
        }
        let text = std::str::from_utf8(&line).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
        let passphrase = Self::copied(text.trim_end_matches('\r'));
        if passphrase.is_empty() { Err(KeyFileError::Empty) } else { Ok(passphrase) }
    }

    /// A copy of exactly the text's length: making it secret does not move it again.
    fn copied(text: &str) -> Self {
        Self(SecretString::from(text.to_owned()))
    }

    /// Whether it has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.expose_secret().is_empty()
    }

    /// Whether two are the same: typed once more, for instance.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }

    /// For the library that stretches it.
    pub(super) fn secret(&self) -> SecretString {
        Self::copied(self.0.expose_secret()).0
    }
}

/// A passphrase that a key may be stored under.
pub struct NewPassphrase(Passphrase);

impl NewPassphrase {
    /// One of [`MIN_PASSPHRASE_CHARS`] characters or more.
    ///
    /// # Errors
    /// [`KeyFileError::Empty`], [`KeyFileError::WeakPassphrase`].
    pub fn new(passphrase: Passphrase) -> Result<Self, KeyFileError> {
        let Self(passphrase) = Self::weak(passphrase)?;
        let found = passphrase.0.expose_secret().chars().count();
        if found < MIN_PASSPHRASE_CHARS {
            return Err(KeyFileError::WeakPassphrase { found, expected: MIN_PASSPHRASE_CHARS });
        }
        Ok(Self(passphrase))
    }

    /// Any passphrase but an empty one, for callers that ask for it.
    ///
    /// # Errors
    /// [`KeyFileError::Empty`].
    pub fn weak(passphrase: Passphrase) -> Result<Self, KeyFileError> {
        if passphrase.is_empty() { Err(KeyFileError::Empty) } else { Ok(Self(passphrase)) }
    }

    /// One that was accepted before.
    pub(super) fn of_secret(secret: SecretString) -> Self {
        Self(Passphrase(secret))
    }

    /// The passphrase that will open the key.
    pub fn opens(&self) -> &Passphrase {
        &self.0
    }

    pub(super) fn secret(&self) -> SecretString {
        self.0.secret()
    }
}
