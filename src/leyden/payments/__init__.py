"""Payments to us."""
