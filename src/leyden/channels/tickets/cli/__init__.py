"""Operators' commands of tickets."""
