//! The binary; all code is in the library.

/// With glibc's allocator, memory grows while pods are replaced, because it keeps most of the gaps
/// that they leave.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    // Other tasks would go on by what the one that panicked last knew.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
    evenkeel::cli::main()
}
