"""What we remember."""
