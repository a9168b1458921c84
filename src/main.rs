//! The binary; all code is in the library.

fn main() -> std::process::ExitCode {
    evenkeel::cli::main()
}
