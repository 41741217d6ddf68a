// SPDX-License-Identifier: Apache-2.0
//! Lets the linker pack the relocations of a program, 4 MB of 64, where the C library that it is linked with reads them packed
//! (`docs/adr/0008-build-profile.md`). The crates of the server and of the functions share this file.

use std::env;
use std::process::Command;

/// The first glibc that reads packed relocations.
const READS_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=../hush-server/build.rs");
    let set = |name| env::var(name).unwrap_or_default();
    let is_gnu = set("CARGO_CFG_TARGET_OS") == "linux" && set("CARGO_CFG_TARGET_ENV") == "gnu";
    if is_gnu && set("HOST") == set("TARGET") && glibc().is_some_and(|found| found >= READS_PACKED) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
