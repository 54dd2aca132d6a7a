"""Routing of connections to nodes."""
