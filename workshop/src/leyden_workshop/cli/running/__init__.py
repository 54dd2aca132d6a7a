"""The bodies of commands, imported once they run."""
