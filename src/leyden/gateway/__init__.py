"""How a node is reached."""
