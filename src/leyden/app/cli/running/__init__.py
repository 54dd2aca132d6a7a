"""What commands do that need much: imported once they run, see `cli/bodies.py`."""
