"""Buying of capacity."""
