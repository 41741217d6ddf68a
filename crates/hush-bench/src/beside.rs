// SPDX-License-Identifier: Apache-2.0
//! Bootstrappings of other libraries, through adapters of ours that are built where their tools are: Lattigo by Go, tfhe-rs by Cargo.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::adapters::{complaint, succeeds, write};

const LATTIGO: [(&str, &str); 3] = [
    ("main.go", include_str!("peers/lattigo_bootstraps/main.go")),
    ("go.mod", include_str!("peers/lattigo/go.mod")),
    ("go.sum", include_str!("peers/lattigo/go.sum")),
];
const TFHE_RS: [(&str, &str); 2] = [
    ("Cargo.toml", include_str!("peers/tfhe_rs/Cargo.toml.in")),
    ("main.rs", include_str!("peers/tfhe_rs/main.rs")),
];

/// How adapters are built.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The Go command.
    pub go: String,
    /// The Cargo command.
    pub cargo: String,
    /// Where what is built stays; a temporary directory if there is none.
    pub build: Option<PathBuf>,
}

/// Lattigo's bootstrapping of slots.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Slots {
    /// The library with its version.
    pub library: String,
    /// The parameter set.
    pub params: String,
    /// log2 of complex slots.
    pub slots_log2: u32,
    /// Levels that a bootstrapped ciphertext has.
    pub levels: u32,
    /// Bits of each.
    pub level_bits: f64,
    /// log2 of all primes, special ones included.
    pub log_qp: f64,
    /// Seconds for the keys, on one thread.
    pub keys_s: f64,
    /// Median milliseconds of complex slots, on one thread.
    pub ms: f64,
    /// log2 of the largest error of a slot, for random slots.
    pub random_log2: f64,
    /// The same where every slot is as large as it may be.
    pub extreme_log2: f64,
}

/// Operations of tfhe-rs under our names.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Operations {
    /// The library with its version.
    pub library: String,
    /// The parameter sets.
    pub params: String,
    /// Median milliseconds of each, on one thread.
    pub ms: BTreeMap<String, f64>,
}

/// An adapter that is built.
#[derive(Debug)]
pub(crate) struct Adapter {
    library: &'static str,
    program: PathBuf,
    /// Removed with what was built in it.
    _directory: Option<tempfile::TempDir>,
}

impl Tools {
    /// The adapter to Lattigo.
    ///
    /// # Errors
    /// [`BenchError::Child`] with what the Go command complains of.
    pub(crate) fn lattigo(&self) -> Result<Adapter, BenchError> {
        self.built("Lattigo", &LATTIGO, |directory| {
            let mut command = Command::new(&self.go);
            command.args(["build", "-o", "adapter", "."]).current_dir(directory);
            (command, directory.join("adapter"))
        })
    }

    /// The adapter to tfhe-rs.
    ///
    /// # Errors
    /// [`BenchError::Child`] with what the Cargo command complains of.
    pub(crate) fn tfhe_rs(&self) -> Result<Adapter, BenchError> {
        self.built("tfhe-rs", &TFHE_RS, |directory| {
            let target = directory.join("target");
            let mut command = Command::new(&self.cargo);
            command.args(["build", "--release", "--target-dir"]).arg(&target).current_dir(directory);
            (command, target.join("release/tfhe_rs_adapter"))
        })
    }

    fn built(
        &self,
        library: &'static str,
        files: &[(&str, &str)],
        command: impl Fn(&Path) -> (Command, PathBuf),
    ) -> Result<Adapter, BenchError> {
        let (place, temporary) = match &self.build {
            Some(place) => (place.clone(), None),
            None => {
                let temporary = tempfile::tempdir()?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        let directory = write(&place.join(format!("{library}-bootstraps")), files)?;
        let (build, program) = command(&directory);
        let failed =
            |message| BenchError::Child { what: format!("building the adapter to {library}"), message };
        succeeds(build).map_err(failed)?;
        Ok(Adapter { library, program, _directory: temporary })
    }
}

impl Adapter {
    /// Runs it on one thread, and reads the JSON that it prints.
    ///
    /// # Errors
    /// [`BenchError::Child`] with what it complains of.
    pub(crate) fn run<T: DeserializeOwned>(&self, arguments: &[String]) -> Result<T, BenchError> {
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::null());
        for threads in ["GOMAXPROCS", "RAYON_NUM_THREADS"] {
            command.env(threads, "1");
        }
        let failed = |message| BenchError::Child { what: self.library.to_owned(), message };
        let output = command.output()?;
        if !output.status.success() {
            return Err(failed(complaint(&output)));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tool in place of Go and Cargo, which makes a program of ours.
    #[cfg(unix)]
    fn tools(directory: &Path, says: &str) -> Tools {
        use std::os::unix::fs::PermissionsExt;

        let make = directory.join("make");
        let program = format!("#!/bin/sh\necho '{says}'\n");
        let text = format!(
            "#!/bin/sh\nmkdir -p target/release\nfor out in adapter target/release/tfhe_rs_adapter; do\n\
             cat > $out <<'END'\n{program}END\nchmod +x $out; done\n"
        );
        std::fs::write(&make, text).unwrap();
        std::fs::set_permissions(&make, std::fs::Permissions::from_mode(0o755)).unwrap();
        let tool = make.to_str().unwrap().to_owned();
        Tools { go: tool.clone(), cargo: tool, build: Some(directory.join("build")) }
    }

    #[cfg(unix)]
    #[test]
    fn adapters_are_built_and_their_answers_read() {
        let directory = tempfile::tempdir().unwrap();
        let tools = tools(directory.path(), r#"{"library": "L 1", "params": "P", "ms": {"NAND": 2.5}}"#);
        let found: Operations = tools.tfhe_rs().unwrap().run(&["1".to_owned()]).unwrap();
        assert_eq!((found.library.as_str(), found.ms["NAND"]), ("L 1", 2.5));
        let unread = tools.lattigo().unwrap().run::<Slots>(&[]).unwrap_err().to_string();
        assert!(unread.starts_with("Lattigo failed: invalid type"), "{unread}");
        // Sources lie where they are built.
        assert!(directory.path().join("build/Lattigo-bootstraps/go.sum").exists());
    }

    #[test]
    fn what_is_not_there_is_named() {
        let tools = Tools { go: "no-such-go".into(), cargo: "no-such-cargo".into(), build: None };
        let [go, cargo] = [tools.lattigo(), tools.tfhe_rs()].map(|built| built.unwrap_err().to_string());
        assert!(go.contains("Lattigo") && go.contains("no-such-go"), "{go}");
        assert!(cargo.contains("tfhe-rs") && cargo.contains("no-such-cargo"), "{cargo}");
    }
}
