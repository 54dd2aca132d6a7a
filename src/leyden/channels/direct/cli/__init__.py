"""Operators' commands of direct channels."""
