//! The renma command.

use renma::cli::memory::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> std::process::ExitCode {
    renma::cli::main()
}
