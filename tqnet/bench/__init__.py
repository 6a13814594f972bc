"""Comparing methods: rows of a table, each trained and measured by configuration alone."""
