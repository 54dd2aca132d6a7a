"""Wiring of channels: from settings to services."""
