"""Operators' commands of people."""
