"""How fast and how accurate, against peers in the same run: `python -m benchmarks`, `make bench`."""
