"""Benchmarks of harmonium against its peer; every result is written with its provenance."""
