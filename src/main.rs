//! The renma command.

fn main() -> std::process::ExitCode {
    renma::cli::main()
}
