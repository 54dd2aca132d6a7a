"""What stands before every handler: who calls, and what may be repeated."""
