// SPDX-License-Identifier: Apache-2.0
//! Which kernels run: found once, then carried by value.

use std::fmt;

use crate::{KernelError, Path};

/// The environment variable that overrides detection: `scalar`, `avx2` or `avx512`.
pub const CPU_ENV: &str = "HUSH_CPU";

/// A path that this machine can run.
///
/// *Invariant.* Every constructor has checked that the machine supports the path, so a value is the proof that the
/// dispatcher's `unsafe` calls need. Copying is free; detect once and hand it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cpu {
    path: Path,
}

impl Cpu {
    /// The widest path of this machine, or the one that the environment variable [`CPU_ENV`] names.
    ///
    /// # Errors
    /// [`KernelError::UnknownPath`] if the variable names no path, [`KernelError::CpuFeatureMissing`] if it names one that
    /// this machine cannot run.
    pub fn detect() -> Result<Self, KernelError> {
        match std::env::var_os(CPU_ENV) {
            Some(name) => Self::named(&name.to_string_lossy()),
            None => Ok(Self::available().into_iter().max_by_key(|cpu| cpu.path).unwrap_or(Self::scalar())),
        }
    }

    /// The path with this name.
    ///
    /// # Errors
    /// As [`Cpu::detect`].
    pub fn named(name: &str) -> Result<Self, KernelError> {
        let path = Path::ALL
            .into_iter()
            .find(|path| path.name() == name)
            .ok_or_else(|| KernelError::UnknownPath { found: name.to_owned() })?;
        if is_supported(path) { Ok(Self { path }) } else { Err(KernelError::CpuFeatureMissing { path }) }
    }

    /// The path that every machine has.
    pub const fn scalar() -> Self {
        Self { path: Path::Scalar }
    }

    /// Every path that this machine can run, the scalar one first.
    pub fn available() -> Vec<Self> {
        Path::ALL.into_iter().filter(|&path| is_supported(path)).map(|path| Self { path }).collect()
    }

    /// The path proven.
    #[inline]
    pub const fn path(self) -> Path {
        self.path
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

/// Whether this machine, and its operating system, can run the path.
fn is_supported(path: Path) -> bool {
    match path {
        Path::Scalar => true,
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 => crate::avx2::is_supported(),
        #[cfg(target_arch = "x86_64")]
        Path::Avx512 => crate::avx512::is_supported(),
        #[cfg(not(target_arch = "x86_64"))]
        Path::Avx2 | Path::Avx512 => false,
    }
}

/// Calls `module::function` of the folder that belongs to the path of a [`Cpu`].
macro_rules! dispatch {
    ($cpu:expr, $module:ident :: $function:ident ( $($argument:expr),* $(,)? )) => {
        match $cpu.path() {
            #[cfg(target_arch = "x86_64")]
            #[allow(unused_unsafe, reason = "a kernel without a version of its own is the safe scalar one")]
            // SAFETY: the `Cpu` proves that the machine has the features that the kernel is compiled with.
            $crate::Path::Avx2 => unsafe { $crate::avx2::$module::$function($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            #[allow(unused_unsafe, reason = "a kernel without a version of its own is the safe scalar one")]
            // SAFETY: as above.
            $crate::Path::Avx512 => unsafe { $crate::avx512::$module::$function($($argument),*) },
            _ => $crate::scalar::$module::$function($($argument),*),
        }
    };
}
pub(crate) use dispatch;

#[cfg(test)]
mod tests {
    use super::{CPU_ENV, Cpu};
    use crate::{KernelError, Path};

    #[test]
    fn names_are_checked() {
        assert_eq!(Cpu::named("scalar"), Ok(Cpu::scalar()));
        assert_eq!(Cpu::named("sse9"), Err(KernelError::UnknownPath { found: "sse9".to_owned() }));
        for path in Path::ALL {
            match Cpu::named(path.name()) {
                Ok(cpu) => assert!(cpu.path() == path && Cpu::available().contains(&cpu)),
                Err(error) => assert_eq!(error, KernelError::CpuFeatureMissing { path }),
            }
        }
    }

    #[test]
    fn detection_takes_the_named_path_or_the_widest() {
        let expected = match std::env::var(CPU_ENV) {
            Ok(name) => Cpu::named(&name),
            Err(_) => Ok(*Cpu::available().last().unwrap()),
        };
        assert_eq!(Cpu::detect(), expected);
    }

    #[test]
    fn scalar_is_always_there_and_first() {
        assert_eq!(Cpu::available().first(), Some(&Cpu::scalar()));
        assert_eq!(Cpu::scalar().to_string(), "scalar");
    }
}
