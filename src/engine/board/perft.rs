//! Counts move paths, the usual check of a move generator.

use super::kernel::{Kernel, KernelChoice, kernel_entry, with_kernel};
use super::position::Position;
use super::square::Squares;
use std::sync::atomic::{AtomicBool, Ordering};

/// Depths up to this are counted without checking the stop flag: a few milliseconds of work.
const DEPTH_UNSTOPPED: u8 = 6;

/// The number of paths of `depth` plies, or `None` if `stop` is raised before the end. A pass is a
/// ply; a game that has ended counts once.
///
/// The last ply is counted without being played. From the start: 4, 12, 56, 244, 1396, 8200, 55092,
/// 390216, 3005288, 24571284, 212258800.
pub fn perft(
    kernel: KernelChoice,
    position: Position,
    depth: u8,
    stop: &AtomicBool,
) -> Option<u64> {
    if stop.load(Ordering::Relaxed) {
        return None;
    }
    if depth == 0 || position.is_over() {
        return Some(1);
    }
    if depth <= DEPTH_UNSTOPPED {
        return Some(with_kernel!(kernel, paths(position, depth)));
    }
    if position.legal_moves() == 0 {
        return perft(kernel, position.pass(), depth - 1, stop);
    }
    position
        .children()
        .map(|(_, next)| perft(kernel, next, depth - 1, stop))
        .sum()
}

kernel_entry! {
    /// The paths of `depth` plies, at least one.
    fn paths(position: Position, depth: u8) -> u64 = paths_body;
}

#[inline(always)]
fn paths_body<K: Kernel>(position: Position, depth: u8) -> u64 {
    let moves = position.legal_moves_by::<K>();
    if moves == 0 {
        let over = position.pass().legal_moves_by::<K>() == 0;
        return if over || depth == 1 {
            1
        } else {
            paths::<K>(position.pass(), depth - 1)
        };
    }
    if depth == 1 {
        return u64::from(moves.count_ones());
    }
    let mut count = 0;
    for square in Squares(moves) {
        let next = position.play_unchecked(square, position.flips_by::<K>(square));
        if depth == 2 {
            let replies = u64::from(next.legal_moves_by::<K>().count_ones());
            // A position without a move counts once, passed or over.
            count += replies.max(1);
        } else {
            count += paths::<K>(next, depth - 1);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_from_the_start_are_the_known_ones() {
        let known = [
            1, 4, 12, 56, 244, 1396, 8200, 55092, 390_216, 3_005_288, 24_571_284,
        ];
        let [never, raised] = [false, true].map(AtomicBool::new);
        for kernel in KernelChoice::all() {
            for (depth, &count) in (0..).zip(&known) {
                let found = perft(kernel, Position::START, depth, &never);
                assert_eq!(found, Some(count), "{} depth {depth}", kernel.name());
            }
        }
        assert_eq!(
            perft(KernelChoice::detect(), Position::START, 60, &raised),
            None
        );
    }

    fn plain(position: Position, depth: u8) -> u64 {
        match (depth, position.legal_moves()) {
            (0, _) => 1,
            (_, 0) if position.is_over() => 1,
            (_, 0) => plain(position.pass(), depth - 1),
            _ => position
                .children()
                .map(|(_, next)| plain(next, depth - 1))
                .sum(),
        }
    }

    #[test]
    fn passes_and_ends_of_games_are_counted_at_every_depth() {
        let never = AtomicBool::new(false);
        let mut early_passes = 0;
        // Games by the seeds 0 to 199.
        for seed in 0..200 {
            let mut position = Position::START;
            while !position.is_over() {
                // A pass before more plies than are counted without a look at `stop`.
                let is_early =
                    position.legal_moves() == 0 && (8..=10).contains(&position.empties());
                early_passes += u8::from(is_early);
                if is_early || position.empties() <= 5 {
                    for depth in 0..12 {
                        let found = perft(KernelChoice::detect(), position, depth, &never);
                        assert_eq!(
                            found,
                            Some(plain(position, depth)),
                            "{position:?} to {depth}"
                        );
                    }
                }
                let children: Vec<Position> = position.children().map(|(_, next)| next).collect();
                let number = (position.player() ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
                position = if children.is_empty() {
                    position.pass()
                } else {
                    children[number as usize % children.len()]
                };
            }
        }
        assert!(0 < early_passes, "no game with such a pass");
    }
}
