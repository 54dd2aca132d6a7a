"""Channels that are bought from other LSPs, and resold."""
