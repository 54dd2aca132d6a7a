"""Hosted nodes: created, run, watched, reached and backed up."""
