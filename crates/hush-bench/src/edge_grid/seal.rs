// SPDX-License-Identifier: Apache-2.0
//! SEAL beside ours: as it is installed for C++, or through its Python bindings.

use std::ffi::OsString;
use std::process::Command;

use tempfile::TempDir;

use super::Options;
use super::cell::Cell;
use super::row::Answer;
use super::watch::{self, Watched};
use crate::BenchError;
use crate::adapters::{self, complaint};

/// The adapter to the bindings.
const PYTHON: &str = include_str!("../peers/python/edge_grid.py");
/// The one to the library itself.
const CPP: &str = "seal_edge_grid";

/// SEAL, to be asked for cells.
pub(super) struct Seal {
    command: Vec<OsString>,
    /// Removes its adapter on drop, unless it is kept.
    _build: TempDir,
}

impl Seal {
    /// The library below `cmake_prefix` if there is one, its adapter built; the bindings of the first interpreter that has
    /// them otherwise; or what is missing.
    ///
    /// # Errors
    /// The directory of the adapter cannot be written.
    pub(super) fn find(
        options: &Options,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Result<Self, String>, BenchError> {
        let temporary = tempfile::tempdir()?;
        let command = match &options.cmake_prefix {
            Some(prefix) => {
                progress(&format!("building {CPP}"));
                let build = options.build.as_deref().unwrap_or(temporary.path());
                adapters::cpp(prefix, build, CPP)?.map(|program| vec![program.into()])
            }
            None => {
                let python = adapters::importer(&options.pythons, "seal");
                python.map(|python| vec![python.into(), "-c".into(), PYTHON.into()])
            }
        };
        Ok(command.map(|command| Self { command, _build: temporary }))
    }

    /// Measures a cell in a process of its own, or says why it could not.
    pub(super) fn measure(&self, cell: &Cell, options: &Options) -> Result<(Answer, Watched), String> {
        let (program, first) = self.command.split_first().ok_or("no command")?;
        let profile = options.profile;
        let limits = [
            options.peer_limit_s.to_string(),
            profile.cores().unwrap_or(0).to_string(),
            profile.memory_bytes().unwrap_or(0).to_string(),
        ];
        let mut command = Command::new(program);
        command.args(first).args(cell.arguments()).args(limits);
        let watched = watch::run(&mut command).map_err(|error| error.to_string())?;
        if !watched.output.status.success() {
            return Err(complaint(&watched.output));
        }
        let answer: Answer = serde_json::from_slice(&watched.output.stdout)
            .map_err(|error| format!("unreadable answer: {error}"))?;
        let peak_bytes = answer.peak_mb * 1e6;
        match profile.memory_bytes() {
            Some(limit) if peak_bytes > limit as f64 => {
                Err(format!("it took {:.0} MB of {:.0}", answer.peak_mb, limit as f64 / 1e6))
            }
            _ => Ok((answer, watched)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Profile;
    use super::super::cell::{Key, Packing};
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_adapter_gets_its_cell_and_complaints_are_kept() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("python");
        let python = path.to_string_lossy().into_owned();
        let answers = |script: &str| {
            std::fs::write(
                &path,
                format!("#!/bin/sh\n[ \"$2\" = 'import seal' ] && exit 0\nshift 2\n{script}\n"),
            )
            .unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            let cell =
                Cell { way: Packing::Packed, key: Key::Public, degree: 4096, count: 7, repetitions: 2 };
            let pythons = vec!["no-such-python".to_owned(), python.clone()];
            let options =
                Options { profile: Profile::Edge, peer_limit_s: 1.5, pythons, ..Options::default() };
            let seal = Seal::find(&options, &mut |_| {}).unwrap().unwrap();
            seal.measure(&cell, &options).map(|(answer, _)| answer)
        };
        let body = r#"printf '{"library":"%s","moduli":[3],"special_count":0,"ciphertext_bytes":1,"repetitions":[],'"#;
        let rest = r#"printf '"checked":0,"wrong":0,"peak_mb":%s,"cpu_s":1}'"#;
        let found = answers(&format!("{body} \"$*\"\n{rest} 12")).unwrap();
        assert_eq!(found.library, "packed public 4096 7 2 1.5 1 268435456");
        let large = answers(&format!("{body} x\n{rest} 300")).unwrap_err();
        assert_eq!(large, "it took 300 MB of 268");
        assert_eq!(answers("echo one >&2; echo no memory >&2; exit 1").unwrap_err(), "no memory");
        assert!(answers("kill -ALRM $$").unwrap_err().starts_with("ended by"));
        assert!(answers("echo nonsense").unwrap_err().starts_with("unreadable answer"));
    }
}
