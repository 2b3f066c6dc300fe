//! Legal moves and flips on raw sets of discs, one file per instruction set; [`Position`] is the
//! way to them.
//!
//! [`Position`]: super::position::Position

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::kernel::{Instructions, Kernel};

/// The empty squares on which `player` may play.
#[inline(always)]
pub(super) fn legal_moves<K: Kernel>(player: u64, opponent: u64) -> u64 {
    match K::INSTRUCTIONS {
        Instructions::Any => portable::legal_moves(player, opponent),
        // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 | Instructions::Avx512 => unsafe { avx2::legal_moves(player, opponent) },
    }
}

/// The discs of `opponent` that `player` turns over by a move on `square`, which is below 64.
#[inline(always)]
pub(super) fn flips<K: Kernel>(player: u64, opponent: u64, square: usize) -> u64 {
    match K::INSTRUCTIONS {
        Instructions::Any => portable::flips(player, opponent, square),
        // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => unsafe { avx2::flips(player, opponent, square) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => unsafe { avx512::flips(player, opponent, square) },
    }
}

/// The number of discs that `player` turns over on `square`, the only empty one.
#[inline(always)]
pub(super) fn last_flip_count<K: Kernel>(player: u64, square: usize) -> u32 {
    match K::INSTRUCTIONS {
        Instructions::Any => portable::last_flip_count(player, square),
        // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 | Instructions::Avx512 => unsafe {
            avx2::last_flip_count(player, square)
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{Kernel, KernelChoice, kernel_entry, with_kernel};

    kernel_entry! {
        fn answers(boards: &[(u64, u64)]) -> Vec<u64> = answers_body;
    }

    fn answers_body<K: Kernel>(boards: &[(u64, u64)]) -> Vec<u64> {
        let mut answers = Vec::new();
        for &(player, opponent) in boards {
            answers.push(super::legal_moves::<K>(player, opponent));
            answers.extend((0..64).map(|square| super::flips::<K>(player, opponent, square)));
            answers.extend((0..64).map(|square| {
                u64::from(super::last_flip_count::<K>(player & !(1 << square), square))
            }));
        }
        answers
    }

    #[test]
    fn kernels_agree_on_random_boards() {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state ^ (state >> 29)
        };
        let boards: Vec<(u64, u64)> = (0..20_000)
            .map(|turn| {
                let (player, mask) = (next(), if turn % 2 == 0 { next() } else { u64::MAX });
                (player & mask, next() & !player)
            })
            .collect();
        let plain = with_kernel!(KernelChoice::PORTABLE, answers(&boards));
        for kernel in KernelChoice::all() {
            assert!(
                plain == with_kernel!(kernel, answers(&boards)),
                "{kernel:?}"
            );
        }
    }
}
