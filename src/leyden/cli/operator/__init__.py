"""Operator commands: they use the database directly.

A running server is not required.
"""
