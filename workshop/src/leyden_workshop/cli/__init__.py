"""The commands that the workshop adds to `leyden`."""
