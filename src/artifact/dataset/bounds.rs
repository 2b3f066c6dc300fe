//! What a dataset can hold at most.

/// Parts of a dataset: five digits number them.
pub const PARTS_MAX: u64 = 100_000;

/// Games, or pairs of them, in a part that a stage has made.
pub const PART_ITEMS_MAX: u64 = 100_000;

/// Positions with a legal move in a game: each has another number of empty squares.
pub const GAME_ROWS_MAX: u64 = 60;

/// Rows of the positions table in any part.
pub const PART_ROWS_MAX: u64 = PART_ITEMS_MAX * GAME_ROWS_MAX;
