"""What crosses the API: its shapes, and the one table of node settings."""
