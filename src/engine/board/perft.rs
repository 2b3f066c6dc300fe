//! Counts move paths, the usual check of a move generator.

use super::position::Position;

/// The number of paths of `depth` plies. A pass is a ply; a game that has ended counts once.
///
/// From the start: 4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288, 24571284, 212258800.
#[must_use]
pub fn perft(position: Position, depth: u8) -> u64 {
    let moves = position.legal_moves();
    if depth == 0 {
        return 1;
    }
    if moves == 0 {
        let passed = position.pass();
        return if passed.legal_moves() == 0 { 1 } else { perft(passed, depth - 1) };
    }
    if depth == 1 {
        return u64::from(moves.count_ones());
    }
    position.children().map(|(_, next)| perft(next, depth - 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_from_the_start_are_the_known_ones() {
        let known = [1, 4, 12, 56, 244, 1396, 8200, 55092, 390_216, 3_005_288];
        for (depth, &count) in (0..).zip(&known) {
            assert_eq!(perft(Position::START, depth), count, "depth {depth}");
        }
    }
}
