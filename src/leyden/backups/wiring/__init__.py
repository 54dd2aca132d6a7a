"""Wiring of backups: from settings to services."""
