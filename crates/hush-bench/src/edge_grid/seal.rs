// SPDX-License-Identifier: Apache-2.0
//! SEAL through its Python bindings, where an interpreter has them.

use std::process::{Command, Output, Stdio};

use super::Options;
use super::cell::Cell;
use super::row::Answer;
use super::watch::{self, Watched};

/// The adapter.
const ADAPTER: &str = include_str!("../peers/python/edge_grid.py");

/// The first interpreter that has SEAL, or why the last has not.
pub(super) fn find(pythons: &[String]) -> Result<&str, String> {
    let mut reason = "no interpreter given".to_owned();
    for python in pythons {
        let import = Command::new(python).args(["-c", "import seal"]).stdin(Stdio::null()).output();
        match import {
            Ok(output) if output.status.success() => return Ok(python),
            Ok(output) => reason = complaint(&output),
            Err(error) => reason = format!("{python}: {error}"),
        }
    }
    Err(reason)
}

/// Measures a cell in a process of its own, or says why it could not.
pub(super) fn measure(python: &str, cell: &Cell, options: &Options) -> Result<(Answer, Watched), String> {
    let mut command = Command::new(python);
    command.args(["-c", ADAPTER]).args(cell.arguments());
    let profile = options.profile;
    let limits = [
        options.peer_limit_s.to_string(),
        profile.cores().unwrap_or(0).to_string(),
        profile.memory_bytes().unwrap_or(0).to_string(),
    ];
    let watched = watch::run(command.args(limits)).map_err(|error| error.to_string())?;
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

/// The last line that a program complained with, or how it ended.
fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map_or_else(|| format!("ended by {}", output.status), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::Profile;
    use super::super::cell::{Key, Way};
    use super::*;

    #[test]
    fn an_interpreter_without_seal_is_told_from_none() {
        assert_eq!(find(&[]), Err("no interpreter given".to_owned()));
        assert!(find(&["no-such-python".to_owned()]).unwrap_err().starts_with("no-such-python"));
    }

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
            let cell = Cell { way: Way::Packed, key: Key::Public, degree: 4096, count: 7, repetitions: 2 };
            let options = Options { profile: Profile::Edge, peer_limit_s: 1.5, ..Options::default() };
            assert_eq!(find(std::slice::from_ref(&python)), Ok(python.as_str()));
            measure(&python, &cell, &options).map(|(answer, _)| answer)
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
