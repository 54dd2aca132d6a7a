"""Where a machine keeps whom it trusts: the system's store and those of browsers."""
