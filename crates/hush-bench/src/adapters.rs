// SPDX-License-Identifier: Apache-2.0
//! Adapters of ours to other libraries: found or built where the libraries are.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::BenchError;

const CPP: [(&str, &str); 7] = [
    ("CMakeLists.txt", include_str!("peers/cpp/CMakeLists.txt")),
    ("answer.hpp", include_str!("peers/cpp/answer.hpp")),
    ("programs.hpp", include_str!("peers/cpp/programs.hpp")),
    ("seal_adapter.cpp", include_str!("peers/cpp/seal_adapter.cpp")),
    ("seal_edge_grid.cpp", include_str!("peers/cpp/seal_edge_grid.cpp")),
    ("openfhe_adapter.cpp", include_str!("peers/cpp/openfhe_adapter.cpp")),
    ("helib_adapter.cpp", include_str!("peers/cpp/helib_adapter.cpp")),
];

/// The C++ adapter `target` to a library installed below `prefix`, built with CMake in `build`; or what it lacks.
///
/// # Errors
/// The directory cannot be written.
pub(crate) fn cpp(prefix: &Path, build: &Path, target: &str) -> Result<Result<PathBuf, String>, BenchError> {
    let (source, binary) = (write(&build.join("cpp"), &CPP)?, std::path::absolute(build.join("cpp-build"))?);
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(&binary).arg("-DCMAKE_BUILD_TYPE=Release");
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", std::path::absolute(prefix)?.display()));
    let mut compile = Command::new("cmake");
    compile.arg("--build").arg(&binary).args(["--target", target]);
    let built = succeeds(configure).and_then(|()| succeeds(compile));
    Ok(built.map(|()| binary.join(target)))
}

/// The first interpreter that can import `module`, or why the last cannot.
pub(crate) fn importer<'a>(pythons: &'a [String], module: &str) -> Result<&'a str, String> {
    let mut found = Err("no interpreter given".to_owned());
    for python in pythons {
        let mut import = Command::new(python);
        import.args(["-c", &format!("import {module}")]);
        found = succeeds(import).map(|()| python.as_str());
        if found.is_ok() {
            break;
        }
    }
    found
}

/// Writes the sources of an adapter, leaving those that are there already, so that nothing is built twice.
pub(crate) fn write(directory: &Path, files: &[(&str, &str)]) -> Result<PathBuf, BenchError> {
    std::fs::create_dir_all(directory)?;
    for (name, text) in files {
        let path = directory.join(name);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(*text) {
            std::fs::write(path, text)?;
        }
    }
    Ok(std::path::absolute(directory)?)
}

/// Runs a command to its end, or tells what it complained of.
pub(crate) fn succeeds(mut command: Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
    if output.status.success() { Ok(()) } else { Err(complaint(&output)) }
}

/// The last line of what a program complained of, or of what it printed, or how it ended.
pub(crate) fn complaint(output: &Output) -> String {
    let last = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    };
    let said = last(&output.stderr).or_else(|| last(&output.stdout));
    said.unwrap_or_else(|| format!("ended by {}", output.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_without_a_module_is_told_from_none() {
        assert_eq!(importer(&[], "seal"), Err("no interpreter given".to_owned()));
        let absent = ["no-such-python".to_owned()];
        assert!(importer(&absent, "seal").unwrap_err().starts_with("no-such-python"));
    }

    #[cfg(unix)]
    #[test]
    fn complaints_are_last_lines_or_how_a_program_ended() {
        let said = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            succeeds(command)
        };
        assert_eq!(said("exit 0"), Ok(()));
        assert_eq!(said("echo x; echo one >&2; echo two >&2; exit 1").unwrap_err(), "two");
        assert_eq!(said("echo one; echo; exit 1").unwrap_err(), "one");
        assert!(said("kill -ALRM $$").unwrap_err().starts_with("ended by"));
    }

    #[test]
    fn what_is_written_again_keeps_its_time() {
        let directory = tempfile::tempdir().unwrap();
        let stamp = |text: &str| {
            let path = write(directory.path(), &[("a", text)]).unwrap().join("a");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            std::fs::metadata(path).unwrap().modified().unwrap()
        };
        let first = stamp("1");
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(stamp("1"), first);
        assert!(stamp("2") > first);
    }
}
