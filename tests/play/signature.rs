//! The nodes of fixed searches with a small model: what a change of the engine does to the tree.

use renma::artifact::LoadedModel;
use renma::engine::board::notation::parse_board;
use renma::engine::{Depth, KernelChoice, Limits, MpcLevel, Position, Searcher};
use std::path::Path;

/// The FFO positions with these numbers.
fn positions(first: usize, last: usize) -> Vec<Position> {
    let text = include_str!("../data/ffo.csv");
    let rows = text
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let numbered = rows.map(|line| line.split(',').collect::<Vec<_>>());
    let wanted = numbered.filter(|fields| (first..=last).contains(&fields[0].parse().unwrap()));
    wanted
        .map(|fields| {
            parse_board(&format!("{} {}", fields[1], fields[2]))
                .unwrap()
                .position
        })
        .collect()
}

/// The nodes that a line of `bench.txt` without its last word asks for.
fn nodes(model: &LoadedModel, kernel: KernelChoice, line: &[&str]) -> u64 {
    let [what, first, last, depth, level] = line else {
        panic!("{line:?}: expected five words and a count")
    };
    let (evaluation, mpc) = (&model.model.evaluation, &model.model.mpc);
    let mut searcher = Searcher::with_kernel(evaluation, mpc, 16, kernel);
    let limits = match *what {
        "search" => Limits {
            mpc: MpcLevel::from_percent(level.parse().unwrap()).unwrap(),
            ..Limits::full_width(Depth(depth.parse().unwrap()))
        },
        "solve" => Limits {
            exact_empties: depth.parse().unwrap(),
            ..Limits::full_width(Depth(1))
        },
        other => panic!("{other}: expected search or solve"),
    };
    let searches = positions(first.parse().unwrap(), last.parse().unwrap())
        .into_iter()
        .map(|position| {
            searcher.clear();
            searcher.search(position, limits).nodes
        });
    searches.sum()
}

#[test]
fn searches_visit_the_nodes_on_record_with_every_kernel() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/model");
    let model = LoadedModel::read(&folder).unwrap();
    let mut found = String::new();
    for line in include_str!("../data/bench.txt").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with('#') {
            found.push_str(line);
        } else {
            let words = &words[..words.len() - 1];
            let plain = nodes(&model, KernelChoice::PORTABLE, words);
            for kernel in KernelChoice::all() {
                assert_eq!(
                    nodes(&model, kernel, words),
                    plain,
                    "{words:?}: {kernel:?} differs from portable"
                );
            }
            found.push_str(&format!("{} {plain}", words.join(" ")));
        }
        found.push('\n');
    }
    let expected = include_str!("../data/bench.txt");
    assert!(
        found == expected,
        "the search visits other nodes; if that is meant, tests/data/bench.txt is now\n{found}"
    );
}
