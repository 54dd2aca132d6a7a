"""Organizations, their members, and how people sign in."""
