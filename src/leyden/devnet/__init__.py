"""A network on your laptop."""
