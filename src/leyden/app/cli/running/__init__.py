"""What commands do that need much: imported once they run, see `base/cli/bodies.py`."""
