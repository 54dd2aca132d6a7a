"""Sellers: where direct channels come from."""
