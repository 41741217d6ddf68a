// SPDX-License-Identifier: Apache-2.0
//! Energy, where the machine tells: the counters of Linux's power capping framework.

use std::path::{Path, PathBuf};

/// The energy counters of the processor packages.
#[derive(Debug)]
pub(super) struct Meter {
    packages: Vec<Package>,
}

/// One counter, in microjoules, which starts again at its range.
#[derive(Debug)]
struct Package {
    energy: PathBuf,
    range: u64,
}

impl Meter {
    /// The counters of this machine, or why there are none.
    pub(super) fn of_machine() -> Result<Self, String> {
        Self::below(Path::new("/sys/class/powercap"))
    }

    fn below(directory: &Path) -> Result<Self, String> {
        let absent = |_| format!("the machine does not tell: no {}", directory.display());
        let mut packages = Vec::new();
        let mut unreadable = None;
        for entry in std::fs::read_dir(directory).map_err(absent)?.flatten() {
            // `intel-rapl:0` is a package (of other makers' processors too), `intel-rapl:0:1` a part of one.
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.strip_prefix("intel-rapl:").is_none_or(|rest| rest.contains(':')) {
                continue;
            }
            let energy = entry.path().join("energy_uj");
            match (read(&energy), read(&entry.path().join("max_energy_range_uj"))) {
                (Ok(_), Ok(range)) => packages.push(Package { energy, range }),
                (Err(error), _) | (_, Err(error)) => unreadable = Some(format!("{name}: {error}")),
            }
        }
        match unreadable {
            Some(reason) => Err(format!("the machine does not tell: {reason}")),
            None if packages.is_empty() => Err("the machine does not tell: no energy counters".to_owned()),
            None => Ok(Self { packages }),
        }
    }

    /// The counters now; none if one cannot be read any more.
    pub(super) fn reading(&self) -> Option<Vec<u64>> {
        self.packages.iter().map(|package| read(&package.energy).ok()).collect()
    }

    /// Joules between two readings, of everything that ran on the packages.
    pub(super) fn joules(&self, before: &[u64], after: &[u64]) -> f64 {
        let used = |(package, (&before, &after)): (&Package, (&u64, &u64))| {
            if after >= before { after - before } else { package.range.saturating_sub(before) + after }
        };
        self.packages.iter().zip(before.iter().zip(after)).map(used).sum::<u64>() as f64 * 1e-6
    }
}

fn read(path: &Path) -> std::io::Result<u64> {
    let text = std::fs::read_to_string(path)?;
    text.trim().parse().map_err(std::io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_added_up_and_wrap_around() {
        let directory = tempfile::tempdir().unwrap();
        let package = |name: &str, energy: &str| {
            let path = directory.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("energy_uj"), energy).unwrap();
            std::fs::write(path.join("max_energy_range_uj"), "1000000\n").unwrap();
        };
        assert!(Meter::below(directory.path()).unwrap_err().contains("no energy counters"));
        package("intel-rapl:0", "400000\n");
        package("intel-rapl:1", "900000\n");
        package("intel-rapl:0:0", "123\n");
        let meter = Meter::below(directory.path()).unwrap();
        let before = meter.reading().unwrap();
        package("intel-rapl:0", "500000\n");
        package("intel-rapl:1", "200000\n");
        assert!((meter.joules(&before, &meter.reading().unwrap()) - 0.4).abs() < 1e-9);
        package("intel-rapl:1", "denied\n");
        assert_eq!(meter.reading(), None);
        assert!(Meter::below(directory.path()).unwrap_err().contains("intel-rapl:1"));
        let absent = directory.path().join("absent");
        assert!(Meter::below(&absent).unwrap_err().starts_with("the machine does not tell"));
    }
}
