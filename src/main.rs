//! The binary; all code is in the library.

/// With the allocators of glibc and musl, memory grows while pods are replaced, because few of the
/// gaps that they leave can be returned. `tests/load/run.sh` shows it.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    evenkeel::cli::main()
}
