//! The ways to run the inner loops: portable code for any machine and its twin for AVX2, chosen once at run time.
//!
//! A function that should run fast is written as an `#[inline(always)]` body, generic over `Kernel`, and entered through
//! `kernel_entry!`, which compiles the body once for each kernel. Everything that a body calls must be inlined into it or
//! be an entry itself: a plain function would be compiled for the oldest machine.

use super::moves::portable;
use std::fmt;

#[cfg(target_arch = "x86_64")]
use super::moves::avx2;

/// One way to run the inner loops. All kernels give the same results.
pub(in crate::engine) trait Kernel: Copy + 'static {
    /// Whether entries run the AVX2 variant of their body.
    const AVX2: bool;

    /// See [`super::moves::legal_moves`].
    fn legal_moves(player: u64, opponent: u64) -> u64;

    /// See [`super::moves::flips`]; `square` is below 64.
    fn flips(player: u64, opponent: u64, square: usize) -> u64;

    /// The number of discs that `player` turns over on `square`, the last empty one.
    fn last_flip_count(player: u64, square: usize) -> u32;
}

/// Runs anywhere.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Portable;

impl Kernel for Portable {
    const AVX2: bool = false;

    #[inline(always)]
    fn legal_moves(player: u64, opponent: u64) -> u64 {
        portable::legal_moves(player, opponent)
    }

    #[inline(always)]
    fn flips(player: u64, opponent: u64, square: usize) -> u64 {
        portable::flips(player, opponent, square)
    }

    #[inline(always)]
    fn last_flip_count(player: u64, square: usize) -> u32 {
        portable::flips(player, !(player | 1 << square), square).count_ones()
    }
}

/// Runs with AVX2, BMI1, BMI2, LZCNT and POPCNT; named only inside [`kernel_entry!`] and for choices that found them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(in crate::engine) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Kernel for Avx2 {
    const AVX2: bool = true;

    #[inline(always)]
    fn legal_moves(player: u64, opponent: u64) -> u64 {
        // SAFETY: `Avx2` is used only where `KernelChoice` found that the machine runs it.
        unsafe { avx2::legal_moves(player, opponent) }
    }

    #[inline(always)]
    fn flips(player: u64, opponent: u64, square: usize) -> u64 {
        // SAFETY: `Avx2` is used only where `KernelChoice` found that the machine runs it.
        unsafe { avx2::flips(player, opponent, square) }
    }

    #[inline(always)]
    fn last_flip_count(player: u64, square: usize) -> u32 {
        // SAFETY: `Avx2` is used only where `KernelChoice` found that the machine runs it.
        unsafe { avx2::last_flip_count(player, square) }
    }
}

/// A kernel that this machine can run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KernelChoice {
    avx2: bool,
}

impl KernelChoice {
    /// Plain code; the twin that the fast kernel is tested against.
    pub const PORTABLE: Self = Self { avx2: false };

    /// The fastest that this machine runs.
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        #[cfg(not(target_arch = "x86_64"))]
        let avx2 = false;
        Self { avx2 }
    }

    /// Whether this is the AVX2 kernel.
    #[must_use]
    pub const fn is_avx2(self) -> bool {
        self.avx2
    }

    /// `portable` or `avx2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        if self.avx2 { "avx2" } else { "portable" }
    }
}

impl fmt::Debug for KernelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines `fn name<K: Kernel>(arguments)` that runs `body::<K>(arguments)` compiled for the instructions of `K`.
macro_rules! kernel_entry {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty = $body:ident) => {
        $(#[$meta])*
        #[inline(always)]
        $visibility fn $name<K: $crate::engine::board::kernel::Kernel>($($argument: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2($($argument: $type),*) -> $result {
                $body::<$crate::engine::board::kernel::Avx2>($($argument),*)
            }
            fn portable($($argument: $type),*) -> $result {
                $body::<$crate::engine::board::kernel::Portable>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            if K::AVX2 {
                // SAFETY: `Avx2` is used only where `KernelChoice` found that the machine runs it.
                return unsafe { avx2($($argument),*) };
            }
            portable($($argument),*)
        }
    };
}

/// Calls `$entry::<K>(…)` with the kernel of a [`KernelChoice`].
macro_rules! with_kernel {
    ($choice:expr, $entry:ident($($argument:expr),* $(,)?)) => {{
        #[cfg(target_arch = "x86_64")]
        let result = if $choice.is_avx2() {
            $entry::<$crate::engine::board::kernel::Avx2>($($argument),*)
        } else {
            $entry::<$crate::engine::board::kernel::Portable>($($argument),*)
        };
        #[cfg(not(target_arch = "x86_64"))]
        let result = {
            let _ = $choice;
            $entry::<$crate::engine::board::kernel::Portable>($($argument),*)
        };
        result
    }};
}

pub(in crate::engine) use {kernel_entry, with_kernel};
