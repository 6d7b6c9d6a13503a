"""Slips that break a law, one at a time, and whether the unit tests notice each: `make mutants`."""
