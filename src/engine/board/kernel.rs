//! The ways to run the inner loops: portable code for any machine and its twins for AVX2 and
//! AVX-512, chosen once at run time.
//!
//! A function that should run fast is written as an `#[inline(always)]` body, generic over
//! `Kernel`, and entered through `kernel_entry!`, which compiles the body once for each kernel.
//! Everything that a body calls must be inlined into it or be an entry itself: a plain function
//! would be compiled for the oldest machine.
//!
//! A new instruction set, such as NEON, is a variant of `Instructions`, a `Kernel` and an arm of
//! each macro in this file, and one file each in `board/moves/`, `eval/incremental/` and
//! `eval/features/`.

use std::fmt;

/// Instructions beyond those of every machine of the architecture; each set includes those before
/// it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Instructions {
    /// Available on every machine.
    Any,
    /// AVX2, BMI1, BMI2, LZCNT and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, VL and CD, on vectors of 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// One way to run the inner loops. All kernels give the same results.
pub(in crate::engine) trait Kernel: Copy + 'static {
    /// The instructions for which entries compile their body.
    const INSTRUCTIONS: Instructions;
}

/// Runs on any machine.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Portable;

impl Kernel for Portable {
    const INSTRUCTIONS: Instructions = Instructions::Any;
}

/// Runs with AVX2, BMI1, BMI2, LZCNT and POPCNT; named only by the macros here, for choices that
/// found them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(in crate::engine) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Kernel for Avx2 {
    const INSTRUCTIONS: Instructions = Instructions::Avx2;
}

/// [`Avx2`], with AVX-512 F, VL and CD on vectors of 256 bits.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(in crate::engine) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Kernel for Avx512 {
    const INSTRUCTIONS: Instructions = Instructions::Avx512;
}

/// A kernel that this machine can run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelChoice(Instructions);

impl KernelChoice {
    /// Plain code, which the fast kernels are tested against.
    pub const PORTABLE: Self = Self(Instructions::Any);

    /// Every kernel that this machine runs, the fastest last.
    pub fn all() -> Vec<Self> {
        let all = [
            Instructions::Any,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512,
        ];
        all.map(Self)
            .into_iter()
            .filter(|kernel| *kernel <= Self::detect())
            .collect()
    }

    /// The fastest kernel that this machine runs.
    #[inline]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
        {
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512cd");
            return Self(if avx512 {
                Instructions::Avx512
            } else {
                Instructions::Avx2
            });
        }
        Self::PORTABLE
    }

    pub(in crate::engine) const fn instructions(self) -> Instructions {
        self.0
    }

    /// `portable`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Instructions::Any => "portable",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => "avx512",
        }
    }
}

impl fmt::Debug for KernelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines functions `fn name<K: Kernel>(arguments)`, each of which runs `body::<K>(arguments)`
/// compiled for the instructions of `K`; more type parameters are passed on.
macro_rules! kernel_entry {
    ($($(#[$meta:meta])* $visibility:vis fn $name:ident$(<$($parameter:ident: $bound:path),+>)?($($argument:ident: $type:ty),* $(,)?) -> $result:ty = $($body:ident)::+;)+) => {$(
        $(#[$meta])*
        #[inline(always)]
        $visibility fn $name<K: $crate::engine::board::kernel::Kernel $($(, $parameter: $bound)+)?>($($argument: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2$(<$($parameter: $bound),+>)?($($argument: $type),*) -> $result {
                $($body)::+::<$crate::engine::board::kernel::Avx2 $($(, $parameter)+)?>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512vl,avx512cd")]
            fn avx512$(<$($parameter: $bound),+>)?($($argument: $type),*) -> $result {
                $($body)::+::<$crate::engine::board::kernel::Avx512 $($(, $parameter)+)?>($($argument),*)
            }
            fn portable$(<$($parameter: $bound),+>)?($($argument: $type),*) -> $result {
                $($body)::+::<$crate::engine::board::kernel::Portable $($(, $parameter)+)?>($($argument),*)
            }
            match K::INSTRUCTIONS {
                $crate::engine::board::kernel::Instructions::Any => portable$(::<$($parameter),+>)?($($argument),*),
                // SAFETY: `Avx2` is used only where `KernelChoice` found that the machine runs it.
                #[cfg(target_arch = "x86_64")]
                $crate::engine::board::kernel::Instructions::Avx2 => unsafe { avx2$(::<$($parameter),+>)?($($argument),*) },
                // SAFETY: `Avx512` is used only where `KernelChoice` found that the machine runs
                // it.
                #[cfg(target_arch = "x86_64")]
                $crate::engine::board::kernel::Instructions::Avx512 => unsafe { avx512$(::<$($parameter),+>)?($($argument),*) },
            }
        }
    )+};
}

/// Calls `$entry::<K>(…)` with the kernel of a [`KernelChoice`].
macro_rules! with_kernel {
    ($choice:expr, $entry:ident$(::<$policy:ty>)?($($argument:expr),* $(,)?)) => {
        match $choice.instructions() {
            $crate::engine::board::kernel::Instructions::Any => {
                $entry::<$crate::engine::board::kernel::Portable $(, $policy)?>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            $crate::engine::board::kernel::Instructions::Avx2 => {
                $entry::<$crate::engine::board::kernel::Avx2 $(, $policy)?>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            $crate::engine::board::kernel::Instructions::Avx512 => {
                $entry::<$crate::engine::board::kernel::Avx512 $(, $policy)?>($($argument),*)
            }
        }
    };
}

pub(in crate::engine) use {kernel_entry, with_kernel};
