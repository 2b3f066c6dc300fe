//! Move generation in plain 64-bit arithmetic for any machine; faster backends are tested against
//! it.

/// Columns b to g: a disc that is flanked along a row or a diagonal stands on one of them.
const INNER_COLUMNS: u64 = 0x7E7E_7E7E_7E7E_7E7E;

#[inline]
pub fn legal_moves(player: u64, opponent: u64) -> u64 {
    let inner = opponent & INNER_COLUMNS;
    let reached = reach::<1>(player, inner)
        | reach::<7>(player, inner)
        | reach::<8>(player, opponent)
        | reach::<9>(player, inner);
    reached & !(player | opponent)
}

#[inline]
pub fn flips(player: u64, opponent: u64, square: usize) -> u64 {
    let inner = opponent & INNER_COLUMNS;
    let from = 1 << square;
    line::<1>(from, player, inner)
        | line::<7>(from, player, inner)
        | line::<8>(from, player, opponent)
        | line::<9>(from, player, inner)
}

#[inline]
pub fn last_flip_count(player: u64, square: usize) -> u32 {
    flips(player, !(player | 1 << square), square).count_ones()
}

/// The squares just behind runs of `flanked` that start at `from`, both ways along one line
/// (parallel prefix fill).
#[inline]
fn reach<const STEP: u32>(from: u64, flanked: u64) -> u64 {
    let pairs_up = flanked & (flanked << STEP);
    let pairs_down = flanked & (flanked >> STEP);
    let mut up = flanked & (from << STEP);
    let mut down = flanked & (from >> STEP);
    up |= flanked & (up << STEP);
    down |= flanked & (down >> STEP);
    for _ in 0..2 {
        up |= pairs_up & (up << (2 * STEP));
        down |= pairs_down & (down >> (2 * STEP));
    }
    (up << STEP) | (down >> STEP)
}

/// The run of `flanked` next to `from` that ends at a disc of `player`, both ways along one line.
#[inline]
fn line<const STEP: u32>(from: u64, player: u64, flanked: u64) -> u64 {
    let mut up = flanked & (from << STEP);
    let mut down = flanked & (from >> STEP);
    for _ in 0..5 {
        up |= flanked & (up << STEP);
        down |= flanked & (down >> STEP);
    }
    let up = if player & (up << STEP) != 0 { up } else { 0 };
    let down = if player & (down >> STEP) != 0 {
        down
    } else {
        0
    };
    up | down
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::board::square::Square;

    /// Walks the board square by square, as one would with fingers.
    fn flips_by_walking(player: u64, opponent: u64, square: Square) -> u64 {
        let mut flips = 0;
        for (columns, rows) in [
            (-1, -1),
            (-1, 0),
            (-1, 1),
            (0, -1),
            (0, 1),
            (1, -1),
            (1, 0),
            (1, 1),
        ] {
            let mut run = 0;
            let (mut column, mut row) = (square.number() as i8 % 8, square.number() as i8 / 8);
            loop {
                (column, row) = (column + columns, row + rows);
                let next = u8::try_from(column).ok().zip(u8::try_from(row).ok());
                let Some(next) = next.and_then(|(column, row)| Square::at(column, row)) else {
                    break;
                };
                if opponent & next.bit() != 0 {
                    run |= next.bit();
                    continue;
                }
                if player & next.bit() != 0 {
                    flips |= run;
                }
                break;
            }
        }
        flips
    }

    #[test]
    fn flips_and_moves_agree_with_walking_the_board() {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state ^ (state >> 29)
        };
        for _ in 0..2_000 {
            let (player, mask) = (next(), next());
            let opponent = next() & !player;
            let (player, opponent) = (player & mask, opponent);
            let mut moves = 0;
            for square in Square::all().filter(|square| (player | opponent) & square.bit() == 0) {
                let expected = flips_by_walking(player, opponent, square);
                assert_eq!(
                    flips(player, opponent, square.index()),
                    expected,
                    "{player:#x} {opponent:#x} {square}"
                );
                if expected != 0 {
                    moves |= square.bit();
                }
            }
            assert_eq!(
                legal_moves(player, opponent),
                moves,
                "{player:#x} {opponent:#x}"
            );
        }
    }
}
