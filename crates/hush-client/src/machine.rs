// SPDX-License-Identifier: Apache-2.0
//! This machine's profile: measured on demand and kept in a file; without one, a built-in profile.
//!
//! The file is `$XDG_CACHE_HOME/hushtable/machine.json`, else `~/.cache/hushtable/machine.json`. It holds times and the
//! kernels' name, nothing of any table, and can be deleted at any time.

mod measure;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hush_plan::predict::{MachineProfile, ProfileError};

pub use measure::calibrate;

use crate::columns::kernels;
use crate::error::ClientError;

/// Largest profile that is read.
const FILE_MAX_BYTES: u64 = 64 << 10;

/// The profile that predictions use, and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileInUse {
    /// The profile.
    pub profile: MachineProfile,
    /// Its file, where one is used.
    pub path: Option<PathBuf>,
    /// A file that exists but is not used.
    pub unused: Option<UnusedProfile>,
}

/// A profile that exists but is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedProfile {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

impl UnusedProfile {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        "HUSH-C044"
    }
}

impl std::fmt::Display for UnusedProfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.code(), self.path.display(), self.reason)
    }
}

impl ProfileInUse {
    /// The profile in this user's cache if it is sound and was measured with the kernels in use; else the built-in one.
    pub fn of_user() -> Self {
        profile_path().map_or_else(Self::built_in, |path| Self::at(&path))
    }

    /// The profile at `path`, or the built-in one.
    pub fn at(path: &Path) -> Self {
        match read(path) {
            Ok(None) => Self::built_in(),
            Ok(Some(profile)) => Self { profile, path: Some(path.to_owned()), unused: None },
            Err(reason) => {
                let unused = Some(UnusedProfile { path: path.to_owned(), reason });
                Self { unused, ..Self::built_in() }
            }
        }
    }

    fn built_in() -> Self {
        Self { profile: MachineProfile::built_in(), path: None, unused: None }
    }

    /// Seconds since it was measured; `None` for the built-in one.
    pub fn age_s(&self) -> Option<u64> {
        Some(now().saturating_sub(self.profile.measured_at?))
    }
}

fn read(path: &Path) -> Result<Option<MachineProfile>, String> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(facts) if facts.len() > FILE_MAX_BYTES || !facts.is_file() => {
            return Err("it is no profile: too long, or no file".to_owned());
        }
        Ok(_) => {}
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let profile = MachineProfile::from_json(&bytes).map_err(|error| error.to_string())?;
    let expected = kernels().map_err(|error| error.to_string())?.0;
    if profile.kernels != expected {
        return Err(ProfileError::Kernels { found: profile.kernels, expected }.to_string());
    }
    Ok(Some(profile))
}

/// The path of this user's profile; `None` without a home directory.
pub fn profile_path() -> Option<PathBuf> {
    Some(cache_directory()?.join("machine.json"))
}

/// The directory of what can be had again, `$XDG_CACHE_HOME/hushtable`, else `~/.cache/hushtable`; `None` without a home directory.
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let from_env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = from_env("XDG_CACHE_HOME").or_else(|| from_env("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("hushtable"))
}

/// Writes a profile, replacing an earlier one at once.
///
/// # Errors
/// [`ClientError::File`].
pub fn save_profile(path: &Path, profile: &MachineProfile) -> Result<(), ClientError> {
    let failed = |source| ClientError::File { path: path.to_owned(), source };
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    file.write_all(profile.to_json().as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_used_only_if_it_is_sound_and_of_these_kernels() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache/machine.json");
        assert_eq!(ProfileInUse::at(&path), ProfileInUse::built_in());
        let mut profile = MachineProfile::built_in();
        profile.kernels = kernels().unwrap().0;
        profile.measured_at = Some(now() - 100);
        save_profile(&path, &profile).unwrap();
        let found = ProfileInUse::at(&path);
        assert_eq!((&found.profile, &found.unused), (&profile, &None));
        assert!((100..200).contains(&found.age_s().unwrap()));

        std::fs::write(&path, b"{\"format\": 1").unwrap();
        let found = ProfileInUse::at(&path);
        assert_eq!(found.profile, MachineProfile::built_in());
        assert!(found.unused.unwrap().reason.contains("damaged"));

        profile.kernels = "another".to_owned();
        save_profile(&path, &profile).unwrap();
        assert!(ProfileInUse::at(&path).unused.unwrap().reason.contains("kernels another"));
        std::fs::write(&path, vec![b' '; 1 << 20]).unwrap();
        assert!(ProfileInUse::at(&path).unused.is_some());
    }

    #[test]
    fn what_calibration_measures_is_a_profile() {
        let profile = calibrate().unwrap();
        // The reader of JSON may miss the last bit of a double.
        let again = MachineProfile::from_json(profile.to_json().as_bytes()).unwrap();
        let same = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-12;
        for ((name, cost), (_, again)) in profile.units.named().iter().zip(again.units.named()) {
            assert!(same(*cost, again), "{name}");
        }
        assert!(same(profile.crowding, again.crowding), "crowding");
        let (units, crowding) = (again.units, again.crowding);
        assert_eq!(again, MachineProfile { units, crowding, ..profile.clone() });
        assert!(profile.units.named().iter().all(|(_, seconds)| *seconds > 0.0), "{profile:?}");
    }
}
