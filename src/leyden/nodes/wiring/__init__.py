"""Wiring of nodes: from settings to services."""
