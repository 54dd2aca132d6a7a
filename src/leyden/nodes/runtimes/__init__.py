"""The runtimes that nodes run in."""
