"""Frozen values and pure functions: the rules of all rooms."""
