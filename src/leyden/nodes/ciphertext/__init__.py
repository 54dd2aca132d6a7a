"""Checks that backups are encrypted; pure."""
