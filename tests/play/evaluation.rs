//! The evaluation against a plain sum by squares, and the patterns against the list of the source.

use crate::support::edax::EdaxEval;
use crate::support::es_cube::{
    INSTANCES, PARITY, PATTERNS, WEIGHT_COUNT, configuration, digit, instances, square_index,
};
use renma::artifact::model::features_file::parse_features;
use renma::engine::eval::builtin;
use renma::engine::{
    Evaluation, Game, Number, Opponent, PatternKind, PatternSet, Player, Position, Score, Squares,
};
use renma::exchange::edax_eval::edax_eval_bytes;
use renma::random::{RandomStream, Stream, stream};
use std::collections::BTreeSet;
use std::sync::Arc;

const ES_CUBE: &str = include_str!("../../configs/features/es-cube.toml");

const EDAX: &str = include_str!("../../configs/features/edax.toml");

const SEED: u64 = 20_261;

fn rng(id: u64) -> RandomStream {
    stream(SEED, Stream::Game(1, id))
}

fn set_of(phase_empties_max: &str) -> Arc<PatternSet> {
    let text = ES_CUBE.replace(
        "phase_empties_max = [60]",
        &format!("phase_empties_max = [{phase_empties_max}]"),
    );
    Arc::new(parse_features(&text).unwrap())
}

/// Random weights, mirrors equal.
fn random_evaluation(set: &Arc<PatternSet>) -> Evaluation {
    let mut rng = rng(0);
    let draws: Vec<i16> = (0..set.phase_count() * set.feature_count())
        .map(|_| (rng.below(40_001) as i32 - 20_000) as i16)
        .collect();
    let weights = draws
        .chunks_exact(set.feature_count())
        .flat_map(|draws| {
            set.canonical()
                .iter()
                .map(|&canonical| draws[canonical as usize])
        })
        .collect();
    Evaluation::new(Arc::clone(set), weights).unwrap()
}

/// Every position of random games, the last ones of each included.
fn random_positions(games: u64) -> Vec<Position> {
    let mut positions = Vec::new();
    for id in 1..=games {
        let mut rng = rng(id);
        let mut game = Game::default();
        while !game.is_over() {
            positions.push(game.to_move().position);
            let square = rng
                .pick(Squares(game.to_move().position.legal_moves()))
                .unwrap();
            game.play(square).unwrap();
        }
        positions.push(game.to_move().position);
    }
    positions
}

/// The sum of the weights by squares, without anything of the engine but the numbers.
fn plain_value(weights: &[i16], position: Position) -> i32 {
    let (player, opponent) = (position.player(), position.opponent());
    let features = instances().into_iter().map(|instance| {
        let index = configuration(player, opponent, &instance.squares);
        i32::from(weights[instance.offset + index])
    });
    let parity = (64 - (player | opponent).count_ones()) as usize % 2;
    features.sum::<i32>() + i32::from(weights[PARITY + parity])
}

/// Where a symmetry moves a column and row.
type Move = fn(usize, usize) -> (usize, usize);

/// The eight images of a board, each disc moved by its column and row.
fn images(position: Position) -> Vec<Position> {
    let symmetries: [Move; 8] = [
        |column, row| (column, row),
        |column, row| (7 - column, row),
        |column, row| (column, 7 - row),
        |column, row| (7 - column, 7 - row),
        |column, row| (row, column),
        |column, row| (7 - row, column),
        |column, row| (row, 7 - column),
        |column, row| (7 - row, 7 - column),
    ];
    let image = |set: u64, symmetry: Move| {
        (0..64)
            .filter(|square| set >> square & 1 == 1)
            .fold(0, |image, square| {
                let (column, row) = symmetry(square % 8, square / 8);
                image | 1_u64 << (row * 8 + column)
            })
    };
    symmetries
        .into_iter()
        .map(|symmetry| {
            let [player, opponent] =
                [position.player(), position.opponent()].map(|set| image(set, symmetry));
            Position::new(Player(player), Opponent(opponent)).unwrap()
        })
        .collect()
}

fn check(evaluation: &Evaluation, positions: &[Position], plain: impl Fn(Position) -> i32) {
    for &position in positions {
        let value = evaluation.static_value(position);
        assert_eq!(value, Score(plain(position)), "{position:?}");
        for image in images(position) {
            assert_eq!(
                evaluation.static_value(image),
                value,
                "{position:?} as {image:?}"
            );
        }
    }
}

#[test]
fn the_instances_of_es_cube_are_the_forty_two_of_the_source_and_parity() {
    let set = set_of("60");
    let listed: BTreeSet<(&str, BTreeSet<&str>)> = INSTANCES
        .iter()
        .map(|(pattern, squares)| (*pattern, squares.split(' ').collect()))
        .collect();
    assert_eq!(listed.len(), 42);
    let names: Vec<(String, Vec<String>)> = set
        .instances()
        .iter()
        .map(|instance| {
            let name = set.patterns()[instance.pattern].name.clone();
            (
                name,
                instance.squares.iter().map(ToString::to_string).collect(),
            )
        })
        .collect();
    let derived: BTreeSet<(&str, BTreeSet<&str>)> = names
        .iter()
        .map(|(pattern, squares)| {
            (
                pattern.as_str(),
                squares.iter().map(String::as_str).collect(),
            )
        })
        .collect();
    assert_eq!(names.len(), 42);
    assert_eq!(derived, listed);
    assert_eq!(set.feature_count(), WEIGHT_COUNT);
    for (place, (name, offset, square_count)) in PATTERNS.into_iter().enumerate() {
        let pattern = &set.patterns()[place];
        assert_eq!((pattern.name.as_str(), set.offset(place)), (name, offset));
        assert!(
            matches!(&pattern.kind, PatternKind::Squares(squares) if squares.len() == square_count),
            "{name}"
        );
    }
    assert_eq!(set.patterns().len(), 11);
    assert_eq!(set.patterns()[10].kind, PatternKind::Number(Number::Parity));
    assert_eq!(set.numbers(), [(Number::Parity, PARITY)]);
}

#[test]
fn each_board_feature_is_at_the_index_its_squares_spell() {
    let player = Player(1 << square_index("a1") | 1 << square_index("b2"));
    let position = Position::new(player, Opponent(1 << square_index("b1"))).unwrap();
    let corner: Vec<usize> = ["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3"]
        .map(square_index)
        .into();
    assert_eq!(
        digit(position.player(), position.opponent(), square_index("b1")),
        2
    );
    assert_eq!(
        configuration(position.player(), position.opponent(), &corner),
        3_usize.pow(7) + 2 * 3_usize.pow(6) + 27
    );
}

#[test]
fn a_static_value_is_the_plain_sum_by_squares_on_every_image_of_the_board() {
    let evaluation = random_evaluation(&set_of("60"));
    check(&evaluation, &random_positions(20), |position| {
        plain_value(evaluation.weights(), position)
    });
}

#[test]
fn every_phase_has_weights_of_its_own() {
    let evaluation = random_evaluation(&set_of("60, 44, 31, 0"));
    check(&evaluation, &random_positions(10), |position| {
        let discs = (position.player() | position.opponent()).count_ones();
        let phase = [4, 20, 33, 64]
            .iter()
            .filter(|&&start| start <= discs)
            .count()
            - 1;
        plain_value(&evaluation.weights()[phase * WEIGHT_COUNT..], position)
    });
}

#[test]
fn the_built_in_evaluations_are_plain_sums_over_the_squares() {
    #[rustfmt::skip]
    const SQUARES: [i32; 64] = [
        120, -20, 20,  5,  5, 20, -20, 120,
        -20, -40, -5, -5, -5, -5, -40, -20,
         20,  -5, 15,  3,  3, 15,  -5,  20,
          5,  -5,  3,  3,  3,  3,  -5,   5,
          5,  -5,  3,  3,  3,  3,  -5,   5,
         20,  -5, 15,  3,  3, 15,  -5,  20,
        -20, -40, -5, -5, -5, -5, -40, -20,
        120, -20, 20,  5,  5, 20, -20, 120,
    ];
    let positions = random_positions(10);
    let sum = |set: u64| {
        (0..64)
            .filter(|square| set >> square & 1 == 1)
            .map(|square| SQUARES[square])
            .sum::<i32>()
    };
    check(&builtin::square_weights(), &positions, |position| {
        50 * (sum(position.player()) - sum(position.opponent()))
    });
    check(&builtin::disc_count(), &positions, |position| {
        1000 * (position.player().count_ones() as i32 - position.opponent().count_ones() as i32)
    });
}

/// The sum of the weights by squares, each rounded to 1/128 disc.
fn rounded_sum(evaluation: &Evaluation, position: Position) -> i32 {
    let (set, empties) = (evaluation.set(), usize::from(position.empties()));
    let weights = &evaluation.weights()[set.phase(position.empties()) * set.feature_count()..];
    let features = set.instances().iter().map(|instance| {
        let squares: Vec<usize> = instance
            .squares
            .iter()
            .map(|square| square.index())
            .collect();
        instance.offset + configuration(position.player(), position.opponent(), &squares)
    });
    let parity = set.numbers()[0].1 + empties % 2;
    features
        .chain([parity])
        .map(|feature| (f64::from(weights[feature]) * 0.128).round() as i32)
        .sum()
}

#[test]
fn edax_reads_the_sum_of_the_rounded_weights_from_its_eval_dat() {
    let shipped = parse_features(EDAX).unwrap();
    let positions = random_positions(8);
    for phase_empties_max in [shipped.phase_empties_max(), &[60, 44, 31, 12], &[60]] {
        let set = PatternSet::new(
            "phases",
            shipped.patterns().to_vec(),
            phase_empties_max.to_vec(),
        )
        .unwrap();
        let evaluation = random_evaluation(&Arc::new(set));
        let edax = EdaxEval::read(&edax_eval_bytes(&evaluation).unwrap());
        for &position in &positions {
            let value = edax.value(position.player(), position.opponent());
            assert_eq!(value, rounded_sum(&evaluation, position), "{position:?}");
            // 47 weights, each rounded by at most half a unit.
            let difference =
                f64::from(value) / 0.128 - f64::from(evaluation.static_value(position).0);
            assert!(
                difference.abs() <= 47.0 / 0.256,
                "{position:?}: {difference} millidiscs"
            );
        }
    }
}
