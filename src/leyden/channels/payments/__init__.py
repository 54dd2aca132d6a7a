"""Receiving payments over Lightning and on-chain."""
