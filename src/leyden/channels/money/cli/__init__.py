"""Operators' commands of money."""
