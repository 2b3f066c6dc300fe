//! Whether datasets repeat each other's games. A game counts once: the second time, it would only
//! weigh more.

use crate::artifact::GameId;
use crate::artifact::publish::exists;
use crate::artifact::{ArtifactError, Dataset, PositionRow};
use crate::engine::Position;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use std::ops::Range;
use std::path::PathBuf;
use std::ptr;

/// About as many games are compared at most. Of more, those with the smallest keys in every dataset
/// are.
const COMPARED_MAX: u64 = 1 << 18;

/// Fewer games of a larger dataset may be the same as others by chance.
const STRETCH_GAMES: usize = 8;

/// The name of a game in every dataset that holds it: its last position with a legal move, up to
/// symmetry and color.
///
/// So a game has one name with and without its moves, with other labels, and where its first
/// positions have no rows.
pub(super) fn game_name(game: &[(Position, PositionRow)]) -> [u8; 16] {
    let last = game[game.len() - 1].0.canonical();
    let mut name = [0; 16];
    name[..8].copy_from_slice(&last.player().to_le_bytes());
    name[8..].copy_from_slice(&last.opponent().to_le_bytes());
    name
}

/// A game as it is compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComparedGame {
    id: GameId,
    /// The hash of its name.
    key: u64,
}

/// Which games are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparison {
    key_max: u64,
}

impl Comparison {
    /// Of the games of these datasets.
    pub(super) fn new(datasets: &[Dataset]) -> Self {
        let games: u64 = datasets.iter().map(|dataset| dataset.manifest().done).sum();
        Self {
            key_max: u64::MAX / games.div_ceil(COMPARED_MAX).max(1),
        }
    }

    /// A game, if it is compared.
    pub(super) fn game(self, id: GameId, name: &[u8; 16]) -> Option<ComparedGame> {
        let key = u64::from_le_bytes(
            *blake3::hash(name)
                .as_bytes()
                .first_chunk()
                .expect("a hash has 32 bytes"),
        );
        (key <= self.key_max).then_some(ComparedGame { id, key })
    }
}

/// Neighboring games: those of a part, or of several small ones.
#[derive(Debug)]
struct Stretch<'d> {
    dataset: &'d Dataset,
    /// Their places among all games.
    games: Range<usize>,
}

impl Stretch<'_> {
    /// The place of a game elsewhere, if three quarters of these games are there too, in the same
    /// order. `elsewhere` has the place of an equal game for each game.
    fn repeated(&self, elsewhere: &[Option<usize>]) -> Option<usize> {
        let (mut in_order, mut last) = (0, None);
        for place in elsewhere[self.games.clone()]
            .iter()
            .filter(|place| place.is_some())
        {
            in_order += usize::from(last < *place);
            last = *place;
        }
        let count = self.games.len();
        let is_telling = STRETCH_GAMES.min(self.dataset.manifest().done as usize) <= count;
        last.filter(|_| is_telling && count - count / 4 <= in_order)
    }
}

/// Refuses a dataset that repeats games, those of another or those it has already. `parts` has the
/// games of all parts, in order.
///
/// # Errors
///
/// The first stretch of games that is repeated, and where.
pub(super) fn refuse_repeated(
    datasets: &[Dataset],
    parts: &[Vec<ComparedGame>],
) -> Result<(), ArtifactError> {
    let games = parts.concat();
    let stretches = stretches(datasets, parts);
    let stretch_at = |place: usize| stretches.partition_point(|stretch| stretch.games.end <= place);
    let mut by_key: Vec<usize> = (0..games.len()).collect();
    by_key.sort_unstable_by_key(|&place| (games[place].key, place));
    let (mut before, mut after) = (vec![None; games.len()], vec![None; games.len()]);
    for pair in by_key.windows(2) {
        let (left, right) = (pair[0], pair[1]);
        // A game that comes again within its stretch says nothing about others: openings may be
        // few.
        if games[left].key == games[right].key && stretch_at(left) != stretch_at(right) {
            before[right] = Some(left);
            after[left] = Some(right);
        }
    }
    for stretch in &stretches {
        let Some(place) = stretch
            .repeated(&before)
            .or_else(|| stretch.repeated(&after))
        else {
            continue;
        };
        let other = stretches[stretch_at(place)].dataset;
        let (there, remedy) = if ptr::eq(stretch.dataset, other) {
            (
                "occur in it twice".to_owned(),
                "train on a dataset without the second copy",
            )
        } else {
            (
                format!("are also in {}", other.folder().display()),
                "train on one of the two datasets only",
            )
        };
        let (first, last) = (
            games[stretch.games.start].id,
            games[stretch.games.end - 1].id,
        );
        let reason = format!(
            "its games {first} to {last}, or most of them, {there}: a game counts once\n{remedy}"
        );
        return Err(ArtifactError::unfit(stretch.dataset.folder(), reason));
    }
    Ok(())
}

/// The games of each dataset, part by part; parts with few games are joined.
fn stretches<'d>(datasets: &'d [Dataset], parts: &[Vec<ComparedGame>]) -> Vec<Stretch<'d>> {
    let mut stretches: Vec<Stretch<'d>> = Vec::new();
    let mut parts = parts.iter();
    let mut end = 0;
    for dataset in datasets {
        let mut is_open = false;
        for part in parts.by_ref().take(dataset.part_count()) {
            if !is_open {
                stretches.push(Stretch {
                    dataset,
                    games: end..end,
                });
            }
            end += part.len();
            let stretch = stretches.last_mut().expect("one is open");
            stretch.games.end = end;
            is_open = stretch.games.len() < STRETCH_GAMES;
        }
    }
    stretches.retain(|stretch| !stretch.games.is_empty());
    stretches
}

/// Refuses, as a training does, datasets that repeat games, so that no other is made for it in
/// vain. Those that are not there yet are left out.
///
/// # Errors
///
/// Games that are repeated, a damaged dataset, or an interruption.
pub fn refuse_repeated_games(folders: &[PathBuf], context: Context<'_>) -> Result<(), StageError> {
    let mut datasets = Vec::new();
    for folder in folders {
        if exists(&folder.join("manifest.json"))? {
            datasets.push(Dataset::open(folder)?);
        }
    }
    let comparison = Comparison::new(&datasets);
    let read = |(dataset, part): &(&Dataset, usize)| -> Result<Vec<ComparedGame>, StageError> {
        context.check()?;
        let rows = dataset.positions(*part, context.stop)?;
        let games = rows.chunk_by(|left, right| left.1.game_id == right.1.game_id);
        Ok(games
            .filter_map(|game| comparison.game(game[0].1.game_id, &game_name(game)))
            .collect())
    };
    let parts = parts_of(&datasets);
    let games: Result<Vec<_>, StageError> = context
        .pool()?
        .install(|| parts.par_iter().map(read).collect());
    Ok(refuse_repeated(&datasets, &games?)?)
}

/// Every part of datasets, in order.
pub(super) fn parts_of(datasets: &[Dataset]) -> Vec<(&Dataset, usize)> {
    datasets
        .iter()
        .flat_map(|dataset| (0..dataset.part_count()).map(move |part| (dataset, part)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{ContentHash, DatasetKind, FileEntry, Manifest, POSITIONS, Part};
    use crate::random::{RandomStream, Stream, stream};
    use std::path::Path;

    /// A dataset with this number of games in each part.
    fn dataset(name: &str, counts: impl Iterator<Item = usize>) -> Dataset {
        let hash = ContentHash::of(name.as_bytes());
        let mut parts: Vec<Part> = Vec::new();
        for count in counts.map(|count| count as u64) {
            let file = FileEntry {
                rows: count,
                bytes: 1,
                hash,
                content: hash,
            };
            let first = parts.last().map_or(0, |last| last.first + last.count);
            parts.push(Part {
                first,
                count,
                files: [(POSITIONS.name.to_owned(), file)].into(),
            });
        }
        Dataset::unpublished(
            Path::new(name),
            Manifest::new(DatasetKind::Imported, hash, u64::MAX, parts),
        )
        .unwrap()
    }

    /// What is said of datasets with games of these names, part by part; nothing if no game is
    /// repeated.
    fn refusal(datasets: &[(&str, Vec<Vec<u64>>)]) -> String {
        let parts: Vec<&Vec<u64>> = datasets.iter().flat_map(|(_, parts)| parts).collect();
        let datasets: Vec<Dataset> = datasets
            .iter()
            .map(|(name, parts)| dataset(name, parts.iter().map(Vec::len)))
            .collect();
        let comparison = Comparison::new(&datasets);
        let game =
            |(id, name): (u64, &u64)| comparison.game(GameId(id), &u128::from(*name).to_le_bytes());
        let parts: Vec<Vec<ComparedGame>> = parts
            .iter()
            .map(|part| (0..).zip(*part).filter_map(game).collect())
            .collect();
        refuse_repeated(&datasets, &parts)
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    fn games(range: Range<u64>) -> Vec<u64> {
        range.collect()
    }

    #[test]
    fn what_repeats_games_in_their_order_is_refused_and_named() {
        let two_parts = || vec![games(0..20), games(20..40)];
        let third = || games(0..60).into_iter().step_by(3).collect::<Vec<u64>>();
        for (first, second, expected) in [
            (
                two_parts(),
                two_parts(),
                "cannot use a: its games 0 to 19, or most of them, are also in b",
            ),
            (
                two_parts(),
                vec![games(0..40)],
                "cannot use a: its games 0 to 19, or most of them, are also in b",
            ),
            (
                vec![games(0..20), games(20..23)],
                two_parts(),
                "cannot use a: its games 0 to 19, or most of them, are also in b",
            ),
            (
                vec![games(0..60)],
                vec![third()],
                "cannot use b: its games 0 to 19, or most of them, are also in a",
            ),
            (
                vec![games(90..99), games(0..20)],
                vec![games(0..40)],
                "cannot use a: its games 0 to 19, or most of them, are also in b",
            ),
            // Some games of a copy may have lost their last rows.
            (
                vec![games(0..16)],
                vec![[games(0..12), games(96..100)].concat()],
                "its games 0 to 15, or most of them, are also in b",
            ),
            // Small parts are joined.
            (
                (0..3).map(|part| games(3 * part..3 * part + 3)).collect(),
                vec![games(0..9)],
                "its games 0 to 2, or most of them, are also in b",
            ),
            (
                vec![games(0..20), games(50..70), games(0..20)],
                vec![games(70..80)],
                "its games 0 to 19, or most of them, occur in it twice",
            ),
            // All games of a small dataset.
            (
                vec![vec![7]],
                vec![games(0..20)],
                "cannot use a: its games 0 to 0, or most of them, are also in b",
            ),
        ] {
            let found = refusal(&[("a", first), ("b", second)]);
            assert!(found.contains(expected), "{expected}: {found}");
            assert!(
                found
                    .lines()
                    .nth(1)
                    .is_some_and(|remedy| remedy.starts_with("train on ")),
                "{found}"
            );
        }
        let copies = ["a", "b", "c"].map(|name| (name, two_parts()));
        assert!(refusal(&copies).starts_with("cannot use a: "));
    }

    #[test]
    fn games_that_are_equal_by_chance_are_not() {
        let draw = |random: &mut RandomStream, openings: u32| -> Vec<Vec<u64>> {
            (0..5)
                .map(|_| {
                    (0..100)
                        .map(|_| u64::from(random.below(openings)))
                        .collect()
                })
                .collect()
        };
        let mut random = stream(1, Stream::Remake);
        for openings in [1, 2, 10, 60, 300, 1000] {
            for _ in 0..20 {
                let [first, second] = [(); 2].map(|()| draw(&mut random, openings));
                assert_eq!(
                    refusal(&[("a", first), ("b", second)]),
                    "",
                    "{openings} openings"
                );
            }
        }
        for (first, second) in [
            // Fewer than three quarters of the games.
            (vec![games(0..40)], vec![games(11..51)]),
            (
                vec![games(0..20)],
                vec![games(0..20).into_iter().rev().collect()],
            ),
            // A few games at the end of a dataset.
            (vec![games(0..20), games(99..100)], vec![games(80..120)]),
        ] {
            assert_eq!(refusal(&[("a", first), ("b", second)]), "");
        }
    }

    #[test]
    fn of_many_games_some_are_compared_the_same_ones_in_each_dataset() {
        let parts = |first: u64, count: u64| {
            (0..count)
                .map(|part| games(first + 1000 * part..first + 1000 * (part + 1)))
                .collect()
        };
        let many = || ("many", parts(0, 600));
        let found = refusal(&[many(), ("copy", parts(100_000, 1))]);
        assert!(found.contains("many") && found.contains("copy"), "{found}");
        assert_eq!(refusal(&[many(), ("other", parts(600_000, 1))]), "");
        let datasets = [dataset("many", [1000; 600].into_iter())];
        let comparison = Comparison::new(&datasets);
        let compared = (0..600_000_u128)
            .filter(|name| comparison.game(GameId(0), &name.to_le_bytes()).is_some())
            .count();
        assert!((195_000..205_000).contains(&compared), "{compared}");
    }
}
