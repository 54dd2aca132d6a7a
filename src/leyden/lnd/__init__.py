"""What a node is."""
