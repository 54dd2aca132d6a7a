"""A private chain on one machine, for development."""
