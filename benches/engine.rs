//! Micro-benchmarks of the engine: move generation, flips, evaluation and small searches.

use renma::engine::board::kernel::KernelChoice;
use renma::engine::board::perft::perft_with;
use renma::engine::board::position::Position;

fn main() {
    divan::main();
}

#[divan::bench(args = [KernelChoice::PORTABLE, KernelChoice::detect()])]
fn perft_9(kernel: KernelChoice) -> u64 {
    perft_with(kernel, Position::START, 9)
}
