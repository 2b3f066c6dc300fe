//! Legal moves and flips on raw sets of discs, behind the run-time choice of a kernel; [`Position`] is the way to them.
//!
//! [`Position`]: super::position::Position

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
pub(super) mod portable;

use super::kernel::{Kernel, KernelChoice, kernel_entry, with_kernel};
use super::square::Square;

#[inline]
pub(super) fn legal_moves(player: u64, opponent: u64) -> u64 {
    with_kernel!(KernelChoice::detect(), legal_moves_entry(player, opponent))
}

#[inline]
pub(super) fn flips(player: u64, opponent: u64, square: Square) -> u64 {
    with_kernel!(KernelChoice::detect(), flips_entry(player, opponent, square))
}

kernel_entry! {
    fn legal_moves_entry(player: u64, opponent: u64) -> u64 = legal_moves_body
}

#[inline(always)]
fn legal_moves_body<K: Kernel>(player: u64, opponent: u64) -> u64 {
    K::legal_moves(player, opponent)
}

kernel_entry! {
    fn flips_entry(player: u64, opponent: u64, square: Square) -> u64 = flips_body
}

#[inline(always)]
fn flips_body<K: Kernel>(player: u64, opponent: u64, square: Square) -> u64 {
    K::flips(player, opponent, square.index())
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{Kernel, KernelChoice, kernel_entry, with_kernel};

    kernel_entry! {
        fn answers(boards: &[(u64, u64)]) -> Vec<u64> = answers_body
    }

    fn answers_body<K: Kernel>(boards: &[(u64, u64)]) -> Vec<u64> {
        let mut answers = Vec::new();
        for &(player, opponent) in boards {
            answers.push(K::legal_moves(player, opponent));
            answers.extend((0..64).map(|square| K::flips(player, opponent, square)));
            answers.extend((0..64).map(|square| u64::from(K::last_flip_count(player & !(1 << square), square))));
        }
        answers
    }

    #[test]
    fn kernels_agree_on_random_boards() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
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
            assert!(plain == with_kernel!(kernel, answers(&boards)), "{kernel:?}");
        }
    }
}
