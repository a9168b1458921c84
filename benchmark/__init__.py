"""A benchmark with public data: evenkeel, its peers and the optimum. See docs/benchmark.md."""
