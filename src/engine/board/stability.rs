//! Discs that no sequence of moves can turn over.

/// The distance between neighbors on rows, columns, falling and rising diagonals.
const STEPS: [u32; 4] = [1, 8, 7, 9];

/// Per line, the squares without a neighbour 1, 2 and 4 steps up, then down.
const EDGES: [[[u64; 4]; 3]; 2] = edges();

const fn edges() -> [[[u64; 4]; 3]; 2] {
    const DIRECTIONS: [(i8, i8); 4] = [(1, 0), (0, 1), (-1, 1), (1, 1)];
    let mut table = [[[0; 4]; 3]; 2];
    let mut place = 0;
    while place < 24 * 64 {
        let (square, line) = ((place % 64) as i8, place / 64 % 4);
        let (power, side) = (place / 256 % 3, place / 768);
        let distance = if side == 0 { 1 << power } else { -(1 << power) };
        let column = square % 8 + DIRECTIONS[line].0 * distance;
        let row = square / 8 + DIRECTIONS[line].1 * distance;
        if column < 0 || 7 < column || row < 0 || 7 < row {
            table[side][power][line] |= 1 << square;
        }
        place += 1;
    }
    table
}

/// Discs of `player` that are certainly stable: each of the four lines through them is full, ends
/// there, or continues with a stable disc.
///
/// A subset: full lines aside, stable discs that depend on discs of both colors are not found.
#[inline(always)]
pub fn stable_discs(player: u64, occupied: u64) -> u64 {
    let full = full_lines(occupied);
    let mut stable = 0;
    loop {
        let mut safe = player;
        for line in 0..4 {
            let ends = EDGES[0][0][line] | EDGES[1][0][line];
            safe &= full[line] | ends | stable << STEPS[line] | stable >> STEPS[line];
        }
        if safe == stable {
            return stable;
        }
        stable = safe;
    }
}

/// Per line, the squares whose whole line holds discs.
#[inline(always)]
fn full_lines(discs: u64) -> [u64; 4] {
    let (mut up, mut down) = ([discs; 4], [discs; 4]);
    for (power, (edges_up, edges_down)) in EDGES[0].iter().zip(&EDGES[1]).enumerate() {
        for line in 0..4 {
            up[line] &= up[line] >> (STEPS[line] << power) | edges_up[line];
            down[line] &= down[line] << (STEPS[line] << power) | edges_down[line];
        }
    }
    [
        up[0] & down[0],
        up[1] & down[1],
        up[2] & down[2],
        up[3] & down[3],
    ]
}

#[cfg(test)]
mod tests {
    use super::super::position::Position;

    /// Discs of the side to move that survive every continuation.
    fn survivors(position: Position) -> u64 {
        if position.is_over() {
            return position.player();
        }
        if position.legal_moves() == 0 {
            return position.player() & survivors_of_opponent(position.pass());
        }
        position
            .children()
            .fold(position.player(), |kept, (_, next)| {
                kept & survivors_of_opponent(next)
            })
    }

    /// Discs of the side not to move that survive every continuation.
    fn survivors_of_opponent(position: Position) -> u64 {
        if position.is_over() {
            return position.opponent();
        }
        if position.legal_moves() == 0 {
            return position.opponent() & survivors(position.pass());
        }
        position
            .children()
            .fold(position.opponent(), |kept, (_, next)| {
                kept & survivors(next)
            })
    }

    #[test]
    fn stable_discs_survive_every_continuation() {
        let mut found = 0;
        for game in 0..60_usize {
            let mut position = Position::START;
            while 5 < position.empties() && !position.is_over() {
                let count = position.children().count();
                let turn = game * 31 + usize::from(position.empties()) * 7;
                position = match count {
                    0 => position.pass(),
                    _ => position.children().nth(turn % count).unwrap().1,
                };
            }
            let stable = position.stable_discs();
            assert_eq!(stable & !survivors(position), 0, "{position:?}");
            found += stable.count_ones();
        }
        assert!(500 < found, "only {found} stable discs found");
    }
}
