//! Micro-benchmarks of the engine: move generation, flips, evaluation and small searches.
//!
//! `cargo bench --bench engine`

use divan::Bencher;
use renma::artifact::{Builtin, NEVER};
use renma::engine::board::perft::perft;
use renma::engine::eval::builtin;
use renma::engine::{
    Depth, Evaluation, KernelChoice, Limits, MpcLevel, MpcTable, Position, Searcher, Squares,
    VectorShape,
};
use std::sync::Arc;

const TABLE_BITS: u8 = 16;

fn main() {
    divan::main();
}

fn kernels() -> Vec<KernelChoice> {
    KernelChoice::all()
}

/// The position after `moves` moves, the middle one of those possible each time.
fn position(moves: u8) -> Position {
    let mut position = Position::START;
    for _ in 0..moves {
        let children = position.children();
        let middle = children.size_hint().0 / 2;
        position = position
            .children()
            .nth(middle)
            .map_or(position.pass(), |(_, next)| next);
    }
    position
}

/// Legal moves and flips: 390,216 paths.
#[divan::bench(args = kernels())]
fn perft_8(kernel: KernelChoice) -> u64 {
    perft(kernel, Position::START, 8, &NEVER).unwrap_or(0)
}

/// One position after each number of moves.
fn positions() -> Vec<Position> {
    (0..50).map(position).collect()
}

/// Legal moves of 50 positions, each behind the run-time choice of a kernel.
#[divan::bench]
fn legal_moves_50(bencher: Bencher<'_, '_>) {
    let positions = positions();
    bencher.bench(|| {
        let sets = positions.iter().map(|position| position.legal_moves());
        sets.fold(0, |all, set| all ^ set)
    });
}

/// Flips of every legal move of 50 positions, each behind the run-time choice of a kernel.
#[divan::bench]
fn flips_of_50(bencher: Bencher<'_, '_>) {
    let positions = positions();
    let moves: Vec<_> = positions
        .iter()
        .flat_map(|position| Squares(position.legal_moves()).map(move |square| (position, square)))
        .collect();
    bencher
        .counter(divan::counter::ItemsCount::new(moves.len()))
        .bench(|| {
            let sets = moves
                .iter()
                .map(|&(position, square)| position.flips(square));
            sets.fold(0, |all, set| all ^ set)
        });
}

/// The plain walk over the features of the shipped model.
#[divan::bench]
fn static_value_of_champion(bencher: Bencher<'_, '_>) {
    let (model, position) = (Builtin::Champion.model(), position(25));
    bencher.bench(|| model.evaluation.static_value(divan::black_box(position)));
}

/// Depth 1 with the shipped model: indices kept from the root to each child, and each child's
/// value.
#[divan::bench(args = kernels())]
fn depth_1_of_champion(bencher: Bencher<'_, '_>, kernel: KernelChoice) {
    let (model, position) = (Builtin::Champion.model(), position(25));
    let mut searcher = Searcher::with_kernel(&model.evaluation, &model.mpc, TABLE_BITS, kernel);
    bencher.bench_local(|| {
        searcher.clear();
        searcher
            .search(position, Limits::full_width(Depth(1)))
            .nodes
    });
}

/// Vectors of 0 to 32 components beside the shipped weights, at random and as long as learned ones:
/// what a node costs. Zeros would lie in one page of memory. Twelve positions to depth 10 with
/// selective cuts, as in a match.
#[divan::bench(args = [0, 8, 16, 32])]
fn depth_10_with_vectors(bencher: Bencher<'_, '_>, size: u8) {
    let model = Builtin::Champion.model();
    let set = (**model.evaluation.set())
        .clone()
        .with_vectors(VectorShape {
            size,
            ..VectorShape::none()
        });
    let set = set.expect("it has 57 terms");
    let component = |&canonical: &u32, number: u8| {
        let mixed = (canonical * 32 + u32::from(number)).wrapping_mul(0x9E37_79B9);
        (mixed >> 16) as i8 % 8
    };
    let vector = |canonical| (0..size).map(move |number| component(canonical, number));
    let vectors = set.canonical().iter().flat_map(vector).collect();
    let evaluation = Evaluation::with_vectors(
        Arc::new(set.clone()),
        model.evaluation.weights().to_vec(),
        vectors,
    );
    let evaluation = evaluation.expect("its mirrors are equal");
    let mut searcher = Searcher::new(&evaluation, &model.mpc, TABLE_BITS);
    let mut search = || {
        let positions = (20..32).map(position);
        let searched = positions.map(|position| {
            searcher.clear();
            searcher
                .search(
                    position,
                    Limits {
                        mpc: MpcLevel::P87,
                        ..Limits::full_width(Depth(10))
                    },
                )
                .nodes
        });
        searched.sum::<u64>()
    };
    let nodes = search();
    bencher
        .counter(divan::counter::ItemsCount::new(nodes))
        .bench_local(search);
}

/// The plain walk of a position in the middle of the game.
#[divan::bench]
fn static_value(bencher: Bencher<'_, '_>) {
    let (evaluation, position) = (builtin::square_weights(), position(25));
    bencher.bench(|| evaluation.static_value(divan::black_box(position)));
}

/// Depth 6 with square weights, table cleared.
#[divan::bench(args = kernels())]
fn depth_6(bencher: Bencher<'_, '_>, kernel: KernelChoice) {
    let (evaluation, mpc, position) = (builtin::square_weights(), MpcTable::empty(), position(25));
    let mut searcher = Searcher::with_kernel(&evaluation, &mpc, TABLE_BITS, kernel);
    bencher.bench_local(|| {
        searcher.clear();
        searcher
            .search(position, Limits::full_width(Depth(6)))
            .nodes
    });
}

/// An exact score with 12 empty squares, table cleared.
#[divan::bench(args = kernels())]
fn exact_12(bencher: Bencher<'_, '_>, kernel: KernelChoice) {
    let (evaluation, mpc, position) = (builtin::square_weights(), MpcTable::empty(), position(48));
    let mut searcher = Searcher::with_kernel(&evaluation, &mpc, TABLE_BITS, kernel);
    bencher.bench_local(|| {
        searcher.clear();
        searcher.solve(position).nodes
    });
}
