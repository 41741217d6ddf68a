// SPDX-License-Identifier: Apache-2.0
//! Programs that are installed together.

use std::env::consts::EXE_SUFFIX;
use std::io;
use std::path::PathBuf;

/// Where the program `name` (without the platform's suffix) is if it is installed: in the directory of the running program.
/// Whether there is such a file is for the caller to ask.
///
/// # Errors
/// The system does not tell where the running program is.
pub fn beside(name: &str) -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(format!("{name}{EXE_SUFFIX}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_lie_in_one_directory() {
        let own = std::env::current_exe().unwrap();
        let found = beside("hush-lab").unwrap();
        assert_eq!(found.parent(), own.parent());
        assert_eq!(found.file_stem().unwrap(), "hush-lab");
    }
}
