//! A game: every position since its start, with passes where the rules force them, and what was
//! taken back.

use super::board::notation::{ColoredPosition, NotationError, moves_text, parse_moves};
use super::board::square::Square;
use super::score::Discs;

/// Half-moves played since the start, passes included.
///
/// ```
/// use renma::engine::game::{Game, Ply};
/// let ply: Ply = Game::default().ply();
/// assert_eq!(ply, Ply(0));
/// ```
///
/// ```compile_fail,E0308
/// use renma::engine::game::{Game, Ply};
/// use renma::engine::search::depth::Depth;
/// let ply: Depth = Game::default().ply();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ply(pub u8);

/// More plies than any game has. Protocols let the sides pass after its end, up to this number.
const PLIES_MAX: usize = 200;

/// The positions of a game from any start, one per ply; a pass is a ply.
///
/// A pass that the rules force may be played as a ply, or left out: then the next move plays it.
///
/// ```
/// use renma::engine::{Game, Ply};
///
/// //   a b c d e f g h
/// // 3 - - X - - - - -
/// // 4 - - - X X - - -
/// // 5 - - - O X X - -
/// // 6 - - - O - - - -      white (O) to move
/// let mut game = Game::from_transcript("f5d6c3")?;
/// assert_eq!((game.ply(), game.to_move().side_text()), (Ply(3), "O"));
/// assert_eq!(&game.to_move().board_text()[16..24], "--X-----");
///
/// game.play("d3".parse()?)?;
/// assert_eq!(game.transcript(), "f5d6c3d3");
/// assert!(game.play("a1".parse()?).is_err());
/// game.undo();
/// assert_eq!(game.transcript(), "f5d6c3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Game {
    /// The first one is the start, so there is at least one.
    positions: Vec<ColoredPosition>,
    /// The plies between the positions; `None` is a pass.
    plies: Vec<Option<Square>>,
    /// Plies that were taken back, the next one to play again last.
    undone: Vec<Option<Square>>,
}

/// A move of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Plies before it.
    pub ply: Ply,
    /// The position before it.
    pub colored: ColoredPosition,
    #[expect(missing_docs, reason = "the name says it")]
    pub square: Square,
}

/// A ply that the rules forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// A move.
    #[error("{0} is illegal")]
    Move(Square),
    /// A pass.
    #[error("a pass is illegal: there is a legal move")]
    Pass,
    /// A ply of a color that is not to move.
    #[error("it is the other side's turn")]
    Turn,
}

/// A ply in a list that the rules forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("move {number}: {reason}")]
pub struct IllegalMove {
    /// Its number in the list, counted from 1.
    pub number: usize,
    #[expect(missing_docs, reason = "the name says it")]
    pub reason: Forbidden,
}

impl Default for Game {
    fn default() -> Self {
        Self::new(ColoredPosition::START)
    }
}

impl Game {
    /// A game before its first move.
    pub fn new(start: ColoredPosition) -> Self {
        Self {
            positions: vec![start],
            plies: Vec::new(),
            undone: Vec::new(),
        }
    }

    /// The game from the usual start in which these moves were played.
    ///
    /// # Errors
    ///
    /// The first move that the rules forbid.
    pub fn from_moves(moves: impl IntoIterator<Item = Square>) -> Result<Self, IllegalMove> {
        let mut game = Self::default();
        for (number, square) in (1..).zip(moves) {
            game.play(square)
                .map_err(|reason| IllegalMove { number, reason })?;
        }
        Ok(game)
    }

    /// The game from the usual start with the transcript `f5d6c3…`; passes may be left out, and
    /// blanks are ignored.
    ///
    /// # Errors
    ///
    /// The first byte that is not a move, or not one that the rules allow.
    pub fn from_transcript(text: &str) -> Result<Self, NotationError> {
        let mut game = Self::default();
        game.play_transcript(text)?;
        Ok(game)
    }

    /// One more than there are plies.
    pub fn positions(&self) -> &[ColoredPosition] {
        &self.positions
    }

    /// Moves and passes (`None`) in order.
    pub fn plies(&self) -> &[Option<Square>] {
        &self.plies
    }

    /// The moves in order, passes left out.
    pub fn moves(&self) -> impl Iterator<Item = Square> {
        self.plies.iter().copied().flatten()
    }

    /// The moves in order, each with the position before it.
    pub fn turns(&self) -> impl Iterator<Item = Turn> {
        let plies = (0..).zip(self.positions.iter().zip(&self.plies));
        plies.filter_map(|(ply, (&colored, &square))| {
            Some(Turn {
                ply: Ply(ply),
                colored,
                square: square?,
            })
        })
    }

    /// The moves as `f5d6c3…`.
    pub fn transcript(&self) -> String {
        moves_text(self.moves())
    }

    /// Whether it keeps no more passes after its end.
    pub fn is_full(&self) -> bool {
        self.plies.len() == PLIES_MAX
    }

    /// The position in which the game began.
    pub fn start(&self) -> ColoredPosition {
        self.positions[0]
    }

    /// The position after the last ply, whose side to move may have to pass.
    pub fn latest(&self) -> ColoredPosition {
        self.positions[self.plies.len()]
    }

    /// The position of the next move: the latest, or the one after the pass that the rules force.
    pub fn to_move(&self) -> ColoredPosition {
        let latest = self.latest();
        if self.must_pass() {
            passed(latest)
        } else {
            latest
        }
    }

    /// Plies before the next move, a forced pass included.
    pub fn ply(&self) -> Ply {
        Ply((self.plies.len() + usize::from(self.must_pass())) as u8)
    }

    /// Whether the side to move has no move and the other side has.
    pub fn must_pass(&self) -> bool {
        let position = self.latest().position;
        position.legal_moves() == 0 && position.pass().legal_moves() != 0
    }

    /// Whether neither side has a move.
    pub fn is_over(&self) -> bool {
        self.latest().position.is_over()
    }

    /// The difference for black if the game ended now.
    pub fn black_discs(&self) -> Discs {
        let ColoredPosition {
            position,
            black_to_move,
        } = self.latest();
        if black_to_move {
            position.final_discs()
        } else {
            -position.final_discs()
        }
    }

    /// Whether this game begins with all of another.
    pub fn continues(&self, other: &Self) -> bool {
        self.positions.starts_with(&other.positions)
    }

    /// Plays a move, after the pass that the rules may force before it.
    ///
    /// # Errors
    ///
    /// A move that the rules forbid; the game stays as it was.
    pub fn play(&mut self, square: Square) -> Result<(), Forbidden> {
        let mover = self.to_move();
        let next = mover.position.play(square).ok_or(Forbidden::Move(square))?;
        self.pass_if_forced();
        self.push(
            Some(square),
            ColoredPosition {
                position: next,
                black_to_move: !mover.black_to_move,
            },
        );
        Ok(())
    }

    /// Plays a move or a pass (`None`). After the end of the game passes are legal, up to a bound.
    ///
    /// # Errors
    ///
    /// An illegal move; the game is unchanged.
    pub fn play_ply(&mut self, square: Option<Square>) -> Result<(), Forbidden> {
        let Some(square) = square else {
            if self.latest().position.legal_moves() != 0 || self.is_full() {
                return Err(Forbidden::Pass);
            }
            self.push(None, passed(self.latest()));
            return Ok(());
        };
        self.play(square)
    }

    /// [`Game::play_ply`], by a color; a forced pass of the other color may be left out.
    ///
    /// # Errors
    ///
    /// An illegal move, or the other side's turn.
    pub fn play_as(&mut self, black: bool, square: Option<Square>) -> Result<(), Forbidden> {
        let mover = if square.is_some() {
            self.to_move()
        } else {
            self.latest()
        };
        if black == mover.black_to_move {
            self.play_ply(square)
        } else {
            Err(Forbidden::Turn)
        }
    }

    /// Plays the moves `f5d6c3…` of a transcript; passes may be left out, and blanks are ignored.
    ///
    /// # Errors
    ///
    /// The first byte that is not a move, or not one that the rules allow; the moves before it are
    /// played.
    pub fn play_transcript(&mut self, text: &str) -> Result<(), NotationError> {
        for (number, found) in (1..).zip(parse_moves(text)) {
            let (byte, square) = found?;
            let illegal = |reason| NotationError {
                byte,
                reason: IllegalMove { number, reason }.to_string(),
            };
            self.play_ply(square).map_err(illegal)?;
        }
        Ok(())
    }

    /// Plays the pass that the rules may force.
    pub fn pass_if_forced(&mut self) {
        if self.must_pass() {
            self.push(None, passed(self.latest()));
        }
    }

    /// Takes back the last ply, which is returned; there is none at the start.
    pub fn undo(&mut self) -> Option<Option<Square>> {
        let ply = self.plies.pop()?;
        self.positions.pop();
        self.undone.push(ply);
        Some(ply)
    }

    /// Plays the ply that was taken back last, which is returned; there is none after another ply
    /// was played.
    pub fn redo(&mut self) -> Option<Option<Square>> {
        let mut undone = std::mem::take(&mut self.undone);
        let ply = undone.pop()?;
        self.play_ply(ply).expect("it was played before");
        self.undone = undone;
        Some(ply)
    }

    fn push(&mut self, ply: Option<Square>, position: ColoredPosition) {
        self.plies.push(ply);
        self.positions.push(position);
        self.undone.clear();
    }
}

/// The same board with the other side to move.
const fn passed(colored: ColoredPosition) -> ColoredPosition {
    ColoredPosition {
        position: colored.position.pass(),
        black_to_move: !colored.black_to_move,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};

    fn game(moves: &str) -> Game {
        Game::from_transcript(moves).unwrap()
    }

    /// After these moves black must pass.
    const BEFORE_PASS: &str = "d3c3e6d2d1e1b2c1";

    #[test]
    fn a_pass_may_be_played_or_left_out() {
        let before = game(BEFORE_PASS);
        assert!(before.latest().black_to_move && before.must_pass() && !before.is_over());
        assert!(!before.to_move().black_to_move);
        assert_eq!((before.plies().len(), before.ply()), (8, Ply(9)));
        let reply = before.to_move().position.children().next().unwrap().0;
        let (mut written, mut left_out) = (before.clone(), before.clone());
        written.play_ply(None).unwrap();
        written.play(reply).unwrap();
        left_out.play(reply).unwrap();
        assert_eq!(written, left_out);
        assert_eq!((written.positions().len(), written.plies()[8]), (11, None));
        let last = Turn {
            ply: before.ply(),
            colored: before.to_move(),
            square: reply,
        };
        assert_eq!(
            (written.turns().count(), written.turns().last()),
            (9, Some(last))
        );
        assert!(written.continues(&before) && !before.continues(&written));
        // The color that moves decides as well as the order.
        let mut by_color = before.clone();
        by_color.play_as(false, Some(reply)).unwrap();
        assert_eq!(by_color, written);
        assert_eq!(
            before.clone().play_as(true, Some(reply)),
            Err(Forbidden::Turn)
        );
        assert_eq!(before.clone().play_as(false, None), Err(Forbidden::Turn));
        let (mut forced, mut once) = (before.clone(), before);
        forced.pass_if_forced();
        forced.pass_if_forced();
        once.play_ply(None).unwrap();
        assert_eq!(forced, once);
    }

    #[test]
    fn what_the_rules_forbid_changes_nothing() {
        let mut game = game("f5");
        game.undo();
        let before = game.clone();
        let a1: Square = "a1".parse().unwrap();
        assert_eq!(game.play(a1), Err(Forbidden::Move(a1)));
        assert_eq!(game.play_ply(None), Err(Forbidden::Pass));
        assert_eq!(game.play_as(false, Some(a1)), Err(Forbidden::Turn));
        assert_eq!(game, before);
    }

    #[test]
    fn the_shortest_wipe_out_ends_after_nine_moves() {
        let game = game("e6f4e3f6g5d6e7f5c5");
        assert!(game.is_over() && !game.must_pass());
        assert_eq!(game.black_discs(), Discs(64));
        assert_eq!(game.transcript(), "e6f4e3f6g5d6e7f5c5");
        assert_eq!(Game::from_moves(game.moves()), Ok(game));
    }

    #[test]
    fn passes_after_the_end_are_bounded() {
        let mut game = game("e6f4e3f6g5d6e7f5c5");
        let passes = (0..1000).filter(|_| game.play_ply(None).is_ok()).count();
        assert!(game.is_full() && !Game::default().is_full());
        assert_eq!((9 + passes, game.ply()), (PLIES_MAX, Ply(PLIES_MAX as u8)));
        assert_eq!((game.turns().count(), game.transcript().len()), (9, 18));
        assert!(
            Game::from_transcript(&format!("{}{}", game.transcript(), "--".repeat(300))).is_err()
        );
    }

    #[test]
    fn a_list_of_moves_names_the_first_illegal_one() {
        let error = Game::from_transcript("f5 d6 a1").unwrap_err();
        assert_eq!(
            (error.byte, &error.reason[..]),
            (6, "move 3: a1 is illegal")
        );
        let twice = game("f5")
            .moves()
            .chain(game("f5").moves())
            .collect::<Vec<_>>();
        assert_eq!(
            Game::from_moves(twice).unwrap_err().to_string(),
            "move 2: f5 is illegal"
        );
    }

    fn random_game() -> impl Strategy<Value = Game> {
        proptest::collection::vec(any::<u8>(), 0..70).prop_map(|choices| {
            let mut game = Game::default();
            for choice in choices {
                let moves: Vec<_> = game.latest().position.children().collect();
                let ply = moves
                    .get(usize::from(choice) % moves.len().max(1))
                    .map(|(square, _)| *square);
                if game.is_over() {
                    break;
                }
                game.play_ply(ply).unwrap();
            }
            game
        })
    }

    proptest! {
        #[test]
        fn what_is_undone_can_be_redone(game in random_game(), count in 0_usize..80) {
            let mut changed = game.clone();
            let undone = (0..count).map_while(|_| changed.undo()).count();
            prop_assert_eq!(undone, count.min(game.plies().len()));
            prop_assert_eq!(changed.positions(), &game.positions()[..game.positions().len() - undone]);
            while changed.redo().is_some() {}
            prop_assert_eq!(&changed, &game);
            // Another ply ends it.
            changed.undo();
            let again = game.plies().last().copied();
            if let Some(ply) = again {
                changed.play_ply(ply).unwrap();
                prop_assert_eq!(changed.redo(), None);
                prop_assert_eq!(changed, game);
            }
        }

        #[test]
        fn a_game_is_its_moves_and_the_passes_between(game in random_game()) {
            prop_assert_eq!(game.moves().count() + usize::from(game.latest().position.empties()), 60);
            let mut replayed = Game::from_transcript(&game.transcript()).unwrap();
            if replayed.plies().len() < game.plies().len() {
                replayed.pass_if_forced();
            }
            prop_assert_eq!(replayed, game);
        }
    }
}
