"""Downloading, building and caching lnd, btcd and poold."""
