"""Frozen values and pure functions: the rules of direct channels."""
