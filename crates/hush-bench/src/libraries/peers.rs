// SPDX-License-Identifier: Apache-2.0
//! Peers, each through its adapter.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::cases;
use super::given::Given;
use super::row::Answer;
use super::{Case, Options, Outcome, Skipped};
use crate::BenchError;
use crate::adapters::{self, complaint, succeeds};

const PYTHON: [(&str, &str); 4] = [
    ("libraries.py", include_str!("../peers/python/libraries.py")),
    ("engines.py", include_str!("../peers/python/engines.py")),
    ("pyfhel_engine.py", include_str!("../peers/python/pyfhel_engine.py")),
    ("programs.py", include_str!("../peers/python/programs.py")),
];
const LATTIGO: [(&str, &str); 4] = [
    ("main.go", include_str!("../peers/lattigo/main.go")),
    ("programs.go", include_str!("../peers/lattigo/programs.go")),
    ("go.mod", include_str!("../peers/lattigo/go.mod")),
    ("go.sum", include_str!("../peers/lattigo/go.sum")),
];
/// A peer and how to reach it.
struct Peer {
    name: &'static str,
    kind: Kind,
    cases: fn(u32) -> Vec<Case>,
}

/// The language of an adapter.
enum Kind {
    /// Imported by the interpreter under this name.
    Python(&'static str),
    Go,
    /// The target of this name.
    Cpp(&'static str),
}

const PEERS: [Peer; 8] = [
    Peer { name: "SEAL", kind: Kind::Cpp("seal_adapter"), cases: cases::seal },
    Peer { name: "OpenFHE", kind: Kind::Cpp("openfhe_adapter"), cases: cases::openfhe },
    Peer { name: "HElib", kind: Kind::Cpp("helib_adapter"), cases: cases::helib },
    Peer { name: "Lattigo", kind: Kind::Go, cases: cases::lattigo },
    Peer { name: "TenSEAL (Python)", kind: Kind::Python("tenseal"), cases: cases::tenseal },
    Peer { name: "seal-python (Python)", kind: Kind::Python("seal"), cases: cases::seal },
    Peer { name: "openfhe (Python)", kind: Kind::Python("openfhe"), cases: cases::openfhe },
    Peer { name: "Pyfhel (Python)", kind: Kind::Python("Pyfhel"), cases: cases::pyfhel },
];

/// Runs every peer that is there; the others are named in `outcome` with what they lack.
///
/// # Errors
/// The directory of the adapters cannot be written.
pub(super) fn run(
    options: &Options,
    given: &Given,
    progress: &mut dyn FnMut(&str),
    outcome: &mut Outcome,
) -> Result<(), BenchError> {
    let temporary = tempfile::tempdir()?;
    let build = options.build.as_deref().unwrap_or(temporary.path());
    for peer in PEERS.iter().filter(|peer| options.wants(peer.name)) {
        let command = match prepare(&peer.kind, options, build, progress)? {
            Ok(command) => command,
            Err(reason) => {
                outcome.skipped.push(Skipped { library: peer.name.to_owned(), reason });
                continue;
            }
        };
        for case in options.chosen((peer.cases)(options.repetitions)) {
            let arguments = case.arguments().join(" ");
            progress(&format!("{} {arguments}", peer.name));
            match answer(&command, &case, given.text(&case)) {
                Ok(answer) => outcome.push(&case, answer, given),
                Err(reason) => {
                    let library = format!("{} {arguments}", peer.name);
                    outcome.skipped.push(Skipped { library, reason });
                }
            }
        }
    }
    Ok(())
}

/// The command of an adapter, or what it lacks.
fn prepare(
    kind: &Kind,
    options: &Options,
    build: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Result<Vec<PathBuf>, String>, BenchError> {
    match *kind {
        Kind::Python(module) => {
            let program = adapters::write(&build.join("python"), &PYTHON)?.join("libraries.py");
            let python = adapters::importer(&options.pythons, module);
            Ok(python.map(|python| vec![python.into(), program, module.into()]))
        }
        Kind::Go => {
            let directory = adapters::write(&build.join("lattigo"), &LATTIGO)?;
            progress("building the adapter to Lattigo");
            let mut command = Command::new(&options.go);
            command.args(["build", "-o", "lattigo_adapter", "."]).current_dir(&directory);
            Ok(succeeds(command).map(|()| vec![directory.join("lattigo_adapter")]))
        }
        Kind::Cpp(target) => {
            let Some(prefix) = &options.cmake_prefix else {
                return Ok(Err("give --cmake-prefix, the directory that it is installed in".to_owned()));
            };
            progress(&format!("building {target}"));
            Ok(adapters::cpp(prefix, build, target)?.map(|program| vec![program]))
        }
    }
}

/// One row of a peer, or the end of what it said.
fn answer(command: &[PathBuf], case: &Case, input: &str) -> Result<Answer, String> {
    let (program, first) = command.split_first().ok_or("no command")?;
    let mut adapter = Command::new(program);
    adapter.args(first).args(case.arguments());
    if let (Some(directory), []) = (program.parent(), first) {
        // A built adapter runs in its build directory: HElib keeps a log in its working directory.
        adapter.current_dir(directory);
    }
    let output = exchange(adapter, case.threads, input).map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(complaint(&output));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("unreadable answer: {error}"))
}

/// Runs a program on so many threads, with `input` on its standard input.
pub(super) fn exchange(mut command: Command, threads: usize, input: &str) -> std::io::Result<Output> {
    let threads = threads.to_string();
    let mut child = command
        .env("OMP_NUM_THREADS", &threads)
        .env("GOMAXPROCS", &threads)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // An adapter that refuses its case has closed its end: its own message says more than the broken pipe.
        drop(pipe.write_all(input.as_bytes()));
    }
    child.wait_with_output()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::{Scheme, Table};

    fn options() -> Options {
        Options {
            repetitions: 1,
            table: Some(Table::Workload),
            only: None,
            skip_peers: false,
            pythons: vec!["no-such-python".into()],
            go: "no-such-go".into(),
            cmake_prefix: None,
            build: None,
            programs: 2,
            seed: 1,
        }
    }

    #[test]
    fn absent_peers_are_named_with_a_reason() {
        let mut outcome = Outcome::default();
        run(&options(), &Given::new(16, 2, 2, 1), &mut |_| {}, &mut outcome).unwrap();
        assert_eq!((outcome.rows.len(), outcome.skipped.len()), (0, PEERS.len()));
        assert!(outcome.skipped.iter().all(|skipped| !skipped.reason.is_empty()));
        assert!(outcome.skipped[0].reason.contains("--cmake-prefix"), "{:?}", outcome.skipped);
        assert!(outcome.skipped[3].reason.starts_with("no-such-go"), "{:?}", outcome.skipped);
    }

    /// An interpreter with every library; each answers as `script` says.
    #[cfg(unix)]
    fn python(directory: &Path, script: &str) -> String {
        use std::os::unix::fs::PermissionsExt as _;
        let path = directory.join("python");
        std::fs::write(&path, format!("#!/bin/sh\n[ \"$1\" = -c ] && exit 0\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_string_lossy().into_owned()
    }

    #[cfg(unix)]
    #[test]
    fn a_library_with_wrong_results_is_told_from_one_that_fails_and_one_that_offers_less() {
        let given = Given::new(16, 2, 2, 1);
        let head = r#"cat >/dev/null; echo '{"library":"Wrong 1","degree":16,"slots":16,"q_primes":0,"p_primes":0,
            "log_q":0,"log_p":0,"repetitions":1,"times_ms":{"programs":1},"peak_mb":1,
            "ciphertext_bytes":null,"key_bytes":null,"#;
        for (body, wrong, left_out, skipped) in [
            (r#""values":{"0":[1,2],"1":[]}}'"#, 2, 0, 0),
            (r#""values":{}}'"#, 2, 0, 0),
            (r#""values":{},"left_out":{"0":"no","1":"no"}}'"#, 0, 2, 0),
            (r#""values":{},"left_out":{"0":"no"}}'; exit 1"#, 0, 0, 1),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let pythons = vec![python(directory.path(), &format!("{head}{body}"))];
            let (table, only) = (Some(Table::Programs), Some("pyfhel".into()));
            let options = Options { pythons, table, only, ..options() };
            let mut outcome = Outcome::default();
            run(&options, &given, &mut |_| {}, &mut outcome).unwrap();
            let rows = 3 - 3 * skipped;
            assert_eq!((outcome.programs.len(), outcome.skipped.len()), (rows, 3 * skipped), "{body}");
            assert_eq!(outcome.disagreements(), 3 * wrong, "{body}");
            let counted: usize = outcome.programs.iter().map(|tally| tally.left_out.len()).sum();
            assert_eq!(counted, 3 * left_out, "{body}");
        }
    }

    #[test]
    fn an_adapter_is_told_the_case_and_its_complaint_is_kept() {
        let case = crate::libraries::row::tests::case(Table::Workload, Scheme::Bgv);
        let shell = |script: &str| ["sh", "-c", script].map(PathBuf::from);
        let echo = r#"read n; printf '{"library":"%s %s","degree":4096,"slots":1,"q_primes":1,"p_primes":0,'  "$0" "$n"
            printf '"log_q":1,"log_p":0,"repetitions":1,"times_ms":{},"peak_mb":1,"values":{},'
            printf '"ciphertext_bytes":null,"key_bytes":null}'"#;
        let found = answer(&shell(echo), &case, "2760\n").unwrap();
        assert_eq!(found.library, "workload 2760");
        let refused = answer(&shell("echo one >&2; echo no such ring >&2; exit 3"), &case, "").unwrap_err();
        assert_eq!(refused, "no such ring");
        assert!(answer(&shell("echo nonsense"), &case, "").unwrap_err().starts_with("unreadable answer"));
    }
}
