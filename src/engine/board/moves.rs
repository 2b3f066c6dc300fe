//! Legal moves and flips on raw sets of discs, one file per instruction set; [`Position`] is the way to them.
//!
//! [`Position`]: super::position::Position

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
pub(super) mod portable;

#[cfg(test)]
mod tests {
    use super::super::kernel::{Kernel, KernelChoice, kernel_entry, with_kernel};

    kernel_entry! {
        fn answers(boards: &[(u64, u64)]) -> Vec<u64> = answers_body;
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
