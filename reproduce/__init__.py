"""Reproducing the published tables: suites, benchmarks, results and their pages. Not part of the package."""
