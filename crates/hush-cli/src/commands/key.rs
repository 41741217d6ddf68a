// SPDX-License-Identifier: Apache-2.0
//! `hush key`: another passphrase, copies of the key file.

use hush::{Error, NewPassphrase, OwnerKey, WorkFactor};

use super::{key_path, key_source};
use crate::args::{Backup, ChangePassphrase, Key, KeyCommand};
use crate::passphrase;
use crate::terminal::say;

pub(super) fn key(args: &Key) -> Result<(), Error> {
    match &args.command {
        KeyCommand::Passphrase(args) => change_passphrase(args),
        KeyCommand::Backup(args) => backup(args),
    }
}

/// Puts the key under another passphrase.
fn change_passphrase(args: &ChangePassphrase) -> Result<(), Error> {
    let path = key_path(&args.key)?;
    let old = passphrase::read(&key_source(&args.key))?;
    let source =
        passphrase::Source { file: args.new_passphrase_file.as_deref(), descriptor: args.new_passphrase_fd };
    let given = passphrase::read_new(&source, "New passphrase: ")?;
    let new = if args.weak_passphrase { NewPassphrase::weak(given) } else { NewPassphrase::new(given) };
    let work = args.opens_in.map_or(WorkFactor::Calibrated, WorkFactor::Memory);
    let key = OwnerKey::change_passphrase(&path, &old, &new?, work)?;
    say(&format!(
        "Key {} at {} opens with the new passphrase.\n\
         ! Copies of the file still open with the old one: replace each by hush key backup",
        key.id(),
        path.display()
    ));
    Ok(())
}

/// Copies the key file, or checks a copy.
fn backup(args: &Backup) -> Result<(), Error> {
    let (path, passphrase) = (key_path(&args.key)?, passphrase::read(&key_source(&args.key))?);
    let (id, done) = match args.verify {
        true => {
            let key = OwnerKey::open(&path, &passphrase)?;
            key.check_backup(&passphrase, &args.copy)?;
            (key.id(), "opens with this passphrase and is a copy of it")
        }
        false => (OwnerKey::back_up(&path, &passphrase, &args.copy)?.id(), "is a copy of it, and opens"),
    };
    say(&format!("Key {id} at {}: {} {done}.", path.display(), args.copy.display()));
    Ok(())
}
