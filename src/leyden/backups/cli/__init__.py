"""Operators' commands of backups."""
