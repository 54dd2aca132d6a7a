"""Operators' commands of nodes."""
