// SPDX-License-Identifier: Apache-2.0
//! Which kernels run: found once, then carried by value.

use std::fmt;

use crate::{KernelError, Path};
#[cfg(target_arch = "x86_64")]
use crate::{avx2::Avx2, avx512::Avx512};

/// The environment variable that overrides detection: `scalar`, `avx2` or `avx512`.
pub const CPU_ENV: &str = "HUSH_CPU";

/// A path that this machine can run.
///
/// *Invariant.* A value holds the path's proof, which only detection makes: so kernels are called without a doubt, and
/// without `unsafe`. Copying is free; detect once and hand it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cpu {
    proof: Proof,
}

/// The paths, each with its proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Proof {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
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
            None => Ok(Self::available().into_iter().max_by_key(|cpu| cpu.path()).unwrap_or(Self::scalar())),
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
        Self::of_path(path).ok_or(KernelError::CpuFeatureMissing { path })
    }

    /// The path that every machine has.
    pub const fn scalar() -> Self {
        Self { proof: Proof::Scalar }
    }

    /// Every path that this machine can run, the scalar one first.
    pub fn available() -> Vec<Self> {
        Path::ALL.into_iter().filter_map(Self::of_path).collect()
    }

    /// The path, if this machine and its operating system can run it.
    fn of_path(path: Path) -> Option<Self> {
        let proof = match path {
            Path::Scalar => Some(Proof::Scalar),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => Avx2::detect().map(Proof::Avx2),
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => Avx512::detect().map(Proof::Avx512),
            #[cfg(not(target_arch = "x86_64"))]
            Path::Avx2 | Path::Avx512 => None,
        };
        proof.map(|proof| Self { proof })
    }

    /// The path proven.
    #[inline]
    pub const fn path(self) -> Path {
        match self.proof {
            Proof::Scalar => Path::Scalar,
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(_) => Path::Avx2,
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(_) => Path::Avx512,
        }
    }

    #[inline]
    pub(crate) const fn proof(self) -> Proof {
        self.proof
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().fmt(f)
    }
}

/// Calls a kernel on the path of a [`Cpu`], from a function that is compiled with the instructions of the path. Arguments are variables,
/// and stand with their types: as parameters of a function, slices are known not to overlap.
///
/// `module::function` is looked up in the folder of the path, where it takes the path's proof first and is `#[inline(always)]` all
/// through. `plain module::function` is a loop that gains from wider registers alone: the scalar code, compiled for each path.
macro_rules! dispatch {
    ($cpu:expr, plain $module:ident :: $function:ident ( $($name:ident: $type:ty),* ) $(-> $output:ty)?) => {
        match $cpu.proof() {
            $crate::cpu::Proof::Scalar => $crate::scalar::$module::$function($($name),*),
            #[cfg(target_arch = "x86_64")]
            $crate::cpu::Proof::Avx2(_) => {
                $crate::avx2::compiled! {
                    fn kernel($($name: $type),*) $(-> $output)? {
                        $crate::scalar::$module::$function($($name),*)
                    }
                }
                // SAFETY: the proof shows that the machine has the features that the kernel is compiled with.
                unsafe { kernel($($name),*) }
            }
            #[cfg(target_arch = "x86_64")]
            $crate::cpu::Proof::Avx512(_) => {
                $crate::avx512::compiled! {
                    fn kernel($($name: $type),*) $(-> $output)? {
                        $crate::scalar::$module::$function($($name),*)
                    }
                }
                // SAFETY: as above.
                unsafe { kernel($($name),*) }
            }
        }
    };
    ($cpu:expr, $module:ident :: $function:ident ( $($name:ident: $type:ty),* ) $(-> $output:ty)?) => {
        match $cpu.proof() {
            $crate::cpu::Proof::Scalar => $crate::scalar::$module::$function($($name),*),
            #[cfg(target_arch = "x86_64")]
            $crate::cpu::Proof::Avx2(simd) => {
                $crate::avx2::compiled! {
                    fn kernel(simd: $crate::avx2::Avx2, $($name: $type),*) $(-> $output)? {
                        $crate::avx2::$module::$function(simd, $($name),*)
                    }
                }
                // SAFETY: the proof shows that the machine has the features that the kernel is compiled with.
                unsafe { kernel(simd, $($name),*) }
            }
            #[cfg(target_arch = "x86_64")]
            $crate::cpu::Proof::Avx512(simd) => {
                $crate::avx512::compiled! {
                    fn kernel(simd: $crate::avx512::Avx512, $($name: $type),*) $(-> $output)? {
                        $crate::avx512::$module::$function(simd, $($name),*)
                    }
                }
                // SAFETY: as above.
                unsafe { kernel(simd, $($name),*) }
            }
        }
    };
}
pub(crate) use dispatch;

/// Makes and uses the state of a kernel, an enum that [`states`] defines: `States::new(cpu)` calls `module::function` of the
/// path's folder and keeps its result with the path's proof; `States::at(&states)` calls the function with
/// the proof and the state. These functions are plain code; the kernels in them are compiled for the path by `Isa::run` or by
/// features of their own.
macro_rules! with_state {
    ($states:ident :: new($cpu:expr), $module:ident :: $function:ident ( $($argument:expr),* )) => {
        match $cpu.proof() {
            $crate::cpu::Proof::Scalar => $states::Scalar($crate::scalar::$module::$function($($argument),*)),
            #[cfg(target_arch = "x86_64")]
            $crate::cpu::Proof::Avx2(simd) => {
                $states::Avx2(simd, $crate::avx2::$module::$function(simd, $($argument),*))
            }
            #[cfg(target_arch = "x86_64")]
            $crate::cpu::Proof::Avx512(simd) => {
                $states::Avx512(simd, $crate::avx512::$module::$function(simd, $($argument),*))
            }
        }
    };
    ($states:ident :: at($state:expr), $module:ident :: $function:ident ( $($argument:expr),* )) => {
        match $state {
            $states::Scalar(state) => $crate::scalar::$module::$function(state, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            $states::Avx2(simd, state) => $crate::avx2::$module::$function(*simd, state, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            $states::Avx512(simd, state) => $crate::avx512::$module::$function(*simd, state, $($argument),*),
        }
    };
}
pub(crate) use with_state;

/// Defines the state of a kernel: for each path, its proof and a state of its own type. [`with_state`] makes and uses it.
macro_rules! states {
    ($(#[$doc:meta])* enum $name:ident { scalar: $scalar:ty, avx2: $avx2:ty, avx512: $avx512:ty $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone)]
        enum $name {
            Scalar($scalar),
            #[cfg(target_arch = "x86_64")]
            Avx2($crate::avx2::Avx2, $avx2),
            #[cfg(target_arch = "x86_64")]
            Avx512($crate::avx512::Avx512, $avx512),
        }
    };
}
pub(crate) use states;

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
