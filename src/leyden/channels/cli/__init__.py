"""Operators' commands of channels."""
