"""What is true: frozen values and pure functions."""
