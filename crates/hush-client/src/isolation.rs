// SPDX-License-Identifier: Apache-2.0
//! The server as a process of its own, searched from outside: neither its memory nor its files hold a secret of the
//! owner or a plaintext of a protected column.
//!
//! The search is tried on things that must be there: clear values and the API token in the server, the secrets in
//! this process, which holds the key.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hush_keys::keyfile::{MIN_WORK_LOG2, NewPassphrase, Passphrase, WorkFactor, load, store};
use hush_keys::{OwnerSeed, SecretKey};
use hush_ring::{SecretRng, TERNARY_BYTES, sample_ternary};
use hush_table::Manifest;
use hush_table::source::{OpenOptions, Source};

use crate::columns::keys_of;
use crate::owner::{self, EncryptOptions, OwnerKey};
use crate::packing::ColumnKey;
use crate::pins::Pins;
use crate::roots::open_roots;
use crate::table::OwnedTable;
use hush_remote::Silent;
use hush_remote::{ApiToken, RemoteServer};

const DIRECTORY: &str = "HUSH_TEST_ISOLATION";
const ROWS: i64 = 9000;
const CLEAR_CANARY: &str = "clear-canary-51ab";
const SEALED_CANARY: &str = "sealed-canary-93cd";
/// Encrypted values; eight distinctive bytes each.
const NUMBER_CANARY: i64 = 0x0123_4567_89ab_cdef;

/// The server; run as a process by the test below.
#[test]
#[ignore = "the child process of another test"]
fn serve() {
    use clap::Parser;
    let directory = PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    let data = directory.join("data");
    let arguments = ["hush-server", "--listen", "127.0.0.1:0", "--threads", "2", "--data"];
    let config = hush_server::Config::parse_from(arguments.into_iter().chain([data.to_str().unwrap()]));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = hush_server::Server::bind(&config).await.unwrap();
        std::fs::write(directory.join("partial"), format!("http://{}", server.address().unwrap())).unwrap();
        std::fs::rename(directory.join("partial"), directory.join("address")).unwrap();
        let (_stop, stopped) = tokio::sync::watch::channel(false);
        server.run(stopped).await;
    });
}

/// The child, killed on drop.
struct Served {
    child: Child,
    client: RemoteServer,
}

impl Served {
    fn start(directory: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["isolation::serve", "--exact", "--ignored"])
            .env(DIRECTORY, directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let address = directory.join("address");
        let start = Instant::now();
        while !address.exists() {
            assert!(start.elapsed() < Duration::from_secs(60), "the server does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        let token = ApiToken::from_file(&directory.join("data/token")).unwrap();
        let url = std::fs::read_to_string(address).unwrap();
        Self { child, client: RemoteServer::new(&url, Some(token)).unwrap() }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_servers_memory_and_files_hold_no_secret_and_no_protected_plaintext() {
    let directory = tempfile::tempdir().unwrap();
    let (key, seed) = key_with_known_seed(directory.path());
    encrypt(directory.path(), &key);
    let served = Served::start(directory.path());
    served.client.push(&directory.path().join("T"), &Silent).unwrap();
    let remote = RemoteServer::new(served.client.url(), Some(token(directory.path()))).unwrap();
    let table = OwnedTable::open_remote(remote, "canaries", &key, &Pins::forgetful()).unwrap();
    for query in [
        "SELECT ward, COUNT(x), SUM(x), AVG(y) FROM canaries WHERE ward <> 'none' GROUP BY ward",
        "SELECT y * y AS p, x FROM canaries WHERE n < 100",
        "SELECT MAX(n), SUM(x) FROM canaries",
    ] {
        table.ask(query, &Silent).unwrap();
    }

    let root = root_of(key.seed(), table.manifest.manifest());
    let mut secrets = vec![("the owner's seed", seed.to_vec()), ("the root of a domain", root.to_vec())];
    for column in table.keys.present().columns.iter() {
        let small = ternary(&root, table.manifest.manifest(), column);
        secrets.push(("a secret's coefficients", small.iter().take(64).map(|&s| s as u8).collect()));
        secrets.push(("a secret's residues", residues(&column.secret, &small)));
    }
    let plaintext = [
        ("a sealed text", SEALED_CANARY.as_bytes().to_vec()),
        ("an encrypted number", NUMBER_CANARY.to_le_bytes().to_vec()),
        ("an encrypted number's digits", NUMBER_CANARY.to_string().into_bytes()),
        ("an encrypted column's name", b"salary_of_person".to_vec()),
    ];
    let mine = Memory::of(std::process::id());
    for (what, needle) in &secrets {
        assert!(mine.holds(needle), "the search does not find {what} where it is");
    }
    let memory = Memory::of(served.child.id());
    let token = std::fs::read(directory.path().join("data/token")).unwrap();
    assert!(memory.holds(token.trim_ascii()) && memory.holds(CLEAR_CANARY.as_bytes()), "the search works");
    let files = files_below(&directory.path().join("data"));
    assert!(contains(&files, CLEAR_CANARY.as_bytes()));
    for (what, needle) in secrets.iter().chain(&plaintext) {
        assert!(!memory.holds(needle), "{what} is in the server's memory");
        assert!(!contains(&files, needle), "{what} is in the server's files");
    }
}

fn token(directory: &Path) -> ApiToken {
    ApiToken::from_file(&directory.join("data/token")).unwrap()
}

/// A key, and the seed in its file as anyone with file and passphrase reads it.
fn key_with_known_seed(directory: &Path) -> (OwnerKey, [u8; 32]) {
    let path = directory.join("owner.hushkey");
    let passphrase = || Passphrase::new("a passphrase".to_owned());
    let new = NewPassphrase::new(passphrase()).unwrap();
    store(&path, &OwnerSeed::generate().unwrap(), &new, WorkFactor::Log2(MIN_WORK_LOG2)).unwrap();
    let identity = age::scrypt::Identity::new("a passphrase".to_owned().into());
    let plain = age::decrypt(&identity, &std::fs::read(&path).unwrap()).unwrap();
    let seed = plain[plain.len() - 32..].try_into().unwrap();
    let opened = load(&path, &passphrase()).unwrap();
    (OwnerKey::of_seed(opened), seed)
}

fn encrypt(directory: &Path, key: &OwnerKey) {
    let row =
        |n: i64| format!("{CLEAR_CANARY},{},{},{},{SEALED_CANARY}\n", n % 300, NUMBER_CANARY - n % 2, n % 50);
    let rows: String = (0..ROWS).map(row).collect();
    let (file, schema_file) = (directory.join("canaries.csv"), directory.join("schema.toml"));
    std::fs::write(&file, format!("ward,n,x,y,salary_of_person\n{rows}")).unwrap();
    let schema = "format = 1\ntable = \"canaries\"\nstatus = \"approved\"\n\
        [columns.ward]\ntype = \"category\"\nprotect = \"clear\"\n\
        [columns.n]\ntype = \"int(16)\"\nrange = [0, 1000]\nprotect = \"clear\"\n\
        [columns.x]\ntype = \"int(64)\"\nprotect = \"encrypt\"\nfor = [\"sum\"]\nnullable = true\n\
        [columns.y]\ntype = \"int(8)\"\nrange = [0, 100]\nprotect = \"encrypt\"\nfor = [\"sum\", \"product\"]\n\
        [columns.salary_of_person]\ntype = \"text\"\nprotect = \"seal\"\n";
    std::fs::write(&schema_file, schema).unwrap();
    let options = EncryptOptions {
        source: Source::open(&file, &OpenOptions::default()).unwrap(),
        schema: crate::read_approved_schema(&schema_file).unwrap(),
        output: directory.join("T"),
        workload: None,
        threads: 2,
        memory_limit: None,
        pins: Pins::forgetful(),
        replace: false,
    };
    owner::encrypt(&options, key, &Silent).unwrap();
}

/// The root of a table's first domain, as docs/security/randomness.md lays it out.
pub(crate) fn root_of(owner: &OwnerSeed, manifest: &Manifest) -> [u8; 32] {
    let roots = open_roots(&manifest.sealed_roots, keys_of(owner, manifest)).unwrap().to_bytes();
    assert_eq!(roots[..5], [0; 5], "no batch key, domain 0");
    roots[5..].try_into().unwrap()
}

/// A column's secret, computed again from the definition in docs/security/randomness.md.
pub(crate) fn ternary(root: &[u8; 32], manifest: &Manifest, column: &ColumnKey) -> Vec<i8> {
    let ring = column.ring();
    let context = match column.encoding.public.packing.name() {
        "approx_slots" => "hushtable v2 RLWE ternary secret of approximate slots",
        "approx_sum" => "hushtable v2 RLWE ternary secret of an approximate sum column",
        "slots" => "hushtable v2 RLWE ternary secret of exact slots",
        "sum" => "hushtable v2 RLWE ternary secret of an exact sum column",
        other => panic!("{other} has no secret in docs/security/randomness.md"),
    };
    let identity = [manifest.table_id.as_bytes().as_slice(), manifest.encryption.as_bytes()].concat();
    let (code, id) = (ring.param_code().to_le_bytes(), hex(&column.encoding.secret_id));
    let material = [root.as_slice(), &identity, &code, &id].concat();
    let mut random = vec![0; TERNARY_BYTES * ring.degree()];
    SecretRng::derive(context, &material).fill(&mut random);
    let mut small = vec![0; ring.degree()];
    sample_ternary(ring.cpu(), &random, &mut small);
    small
}

/// The first residues of a secret in the evaluation domain, as they lie in memory.
fn residues(secret: &SecretKey, small: &[i8]) -> Vec<u8> {
    let limb = &secret.ring().limbs()[0];
    let wide: Vec<i64> = small.iter().map(|&s| i64::from(s)).collect();
    let mut words = vec![0; wide.len()];
    limb.lift_signed(&wide, &mut words);
    limb.forward(&mut words);
    words.iter().take(8).flat_map(|word| word.to_le_bytes()).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().map(|digit| (digit as char).to_digit(16).unwrap() as u8).collect();
    digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
}

/// The readable memory of a process, region by region.
struct Memory(Vec<Vec<u8>>);

impl Memory {
    fn of(process: u32) -> Self {
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
        let mut memory = std::fs::File::open(format!("/proc/{process}/mem")).unwrap();
        let mut regions = Vec::new();
        for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|how| how.starts_with('r')))
        {
            let (from, to) = line.split(' ').next().and_then(|range| range.split_once('-')).unwrap();
            let [from, to] = [from, to].map(|address| u64::from_str_radix(address, 16).unwrap());
            // Program text and libraries hold constants of the program, not data.
            let is_file = line.contains(" /");
            let mut bytes = vec![0; if is_file { 0 } else { (to - from) as usize }];
            // Special regions of the kernel cannot be read.
            if memory.seek(SeekFrom::Start(from)).is_ok() && memory.read_exact(&mut bytes).is_ok() {
                regions.push(bytes);
            }
        }
        assert!(regions.iter().map(Vec::len).sum::<usize>() > 1 << 20, "memory of process {process}");
        Self(regions)
    }

    fn holds(&self, needle: &[u8]) -> bool {
        self.0.iter().any(|region| contains(region, needle))
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

fn files_below(directory: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        bytes.extend(if path.is_dir() { files_below(&path) } else { std::fs::read(&path).unwrap() });
    }
    bytes
}
