"""Comparing methods: suites of rows, each trained and measured from its configuration."""
