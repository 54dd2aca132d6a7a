"""What machines call."""
