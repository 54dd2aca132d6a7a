"""Operators' commands of events."""
